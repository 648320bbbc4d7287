"""Search for loops in a recording: which repetitions of its nodes are loops that pay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.location import Location
from tracejit.ops.control.branches import may_raise
from tracejit.ops.control.control_flow import (
    element_type,
    is_condition,
    is_counted,
    stacked_type,
)
from tracejit.ops.control.marker_ops import OVERRIDE, is_ruled
from tracejit.ops.elementwise.arithmetic import add
from tracejit.ops.indexing.indexing import getitem
from tracejit.ops.indexing.updates import set_item
from tracejit.support.cost_model import costs
from tracejit.trace.recording.record import Recording
from tracejit.trace.rerolling.inner_loops import is_inner
from tracejit.trace.rerolling.periods import Repetition, Word
from tracejit.trace.rerolling.step_columns import Body, Misfit, Steps
from tracejit.trace.rerolling.step_operands import Inside

PERIODS = 4


class LoopNote(NamedTuple):
    """A loop: a line of a step, and the number of steps of the node that it has become; or the
    reason why it is written out. Without a line, it is all loops."""

    where: Location | None
    steps: int
    reason: str = ""


class LoopSearch:
    """A search for loops among `nodes`; `places` are the values that something holds."""

    def __init__(
        self,
        recording: Recording,
        nodes: Sequence[Node],
        places: Mapping[Value, Value],
        sizes_differ: bool = False,
    ) -> None:
        """Find out what is needed, and spell the nodes; whether `sizes_differ` in steps."""
        self.nodes = nodes
        self.known = recording.known
        self.roots = set(places.values())
        self.needed = np.zeros(len(nodes), dtype=bool)
        alone: set[Node] = set()
        live = set(self.roots)
        assigned = {value for event in recording.events for value in event.values}
        for number in range(len(nodes) - 1, -1, -1):
            node = nodes[number]
            if node.op.effect or not live.isdisjoint(node.results):
                self.needed[number] = True
            elif may_raise(node):
                self.needed[number] = True
                alone.add(node)
            else:
                continue
            live.update(node.operands)
            if _is_alone(node) or not assigned.isdisjoint(node.results):
                alone.add(node)
        del live  # of many steps these are many
        self.word = Word(nodes, alone, sizes_differ)
        model = costs()
        self.weights = np.bincount(self.word.letters, [*map(weight_of, nodes)])
        self.least = model.least_sized_nodes if sizes_differ else model.least_rolled_nodes
        self.is_taken = np.zeros(len(nodes), dtype=bool)
        held = [self.word.numbers.get(value, -1) for value in self.roots]
        self.is_held = np.zeros(len(self.word.values), dtype=bool)
        self.is_held[[number for number in held if number >= 0]] = True
        self.notes = [
            LoopNote(where, 0, reason)
            for (where, reason), count in Counter(_note_of(node) for node in alone).items()
            if where is not None and reason and count >= costs().least_rolled_steps
        ]

    def bodies(self) -> list[Body]:
        """The loops that pay, in their order."""
        found: list[Body] = []
        misfits: list[tuple[Repetition, Misfit]] = []
        steps = costs().least_rolled_steps
        pending = [*self.word.repetitions(steps)][::-1]
        while pending:
            repetition = pending.pop()
            start, stop, period = repetition
            if stop - start < steps * period:
                continue
            large = self._written(np.arange(start, start + period)) >= self.least
            if self.is_taken[start:stop].any() or not (large or self._may_add_rows(repetition)):
                continue
            body = self._body(repetition)
            if isinstance(body, Misfit):
                misfits.append((repetition, body))
                continue
            low, high = int(body.positions.min()), int(body.positions.max()) + 1
            if self.is_taken[low:high].any() or not self._pays(body):
                continue
            self.is_taken[low:high] = True
            found.append(body)
            pending += [repetition._replace(start=high), repetition._replace(stop=low)]
            where = self.nodes[int(body.positions[0, body.kept[0]])].where
            self.notes.append(LoopNote(where, body.length))
        if not found:
            self._note(misfits)
        if self.word.sizes_differ:
            alike = {tuple(self.word.letters[one.positions[1]].tolist()): one for one in found}
            found += [body for known in alike.values() for body in self._short(known)]
        return sorted(found, key=lambda body: int(body.positions[0].min()))

    def _short(self, known: Body) -> Iterator[Body]:
        """Loops of fewer steps that are like a `known` one: `for j in range(i)` has few at
        first."""
        row = known.positions[1]
        period = len(row)
        places = np.flatnonzero(self.word.letters[: len(self.nodes) - period + 1] >= 0)
        for number, letter in enumerate(self.word.letters[row].tolist()):
            places = places[self.word.letters[places + number] == letter]
        runs = np.split(places, np.flatnonzero(np.diff(places) != period) + 1)
        lengths = [len(run) for run in runs]
        for number, run in enumerate(runs):
            if not len(run) or self.is_taken[run[0] : run[-1] + period].any():
                continue
            steps = Steps(self.word, run[:, None] + np.arange(period), self.needed)
            if len(run) > 1:
                found = self._checked(steps.fitted(least=2))
            elif _goes_on(lengths[number : number + 3]) or _goes_on(lengths[: number + 1][:-4:-1]):
                found = self._checked(steps.like(known))
            else:
                continue
            if type(found) is Body and found.kept and found.length == len(run):
                self.is_taken[run[0] : run[-1] + period] = True
                yield found

    def _pays(self, body: Body) -> bool:
        """Return whether one node is better than the steps written out, for which passes find more:
        large arrays go through several steps in tiles."""
        if len(body.kept) == len(body.rows) or self.adds_rows(body):
            return len(body.kept) > len(body.rows)
        written = self._written(body.positions[0, body.kept])
        if self.word.sizes_differ:
            return written >= self.least
        model = costs()
        pattern = [self.nodes[k] for k in body.positions[0, body.kept].tolist()]
        made = [node for node in pattern if node.op is not set_item]
        most = max((value.type.size for node in made for value in node.results), default=0)
        least = model.least_rolled_nodes
        if most > model.most_rolled_elements:
            least *= model.rolled_nodes_of_large
        return written >= least

    def _written(self, numbers: np.ndarray) -> int:
        """The nodes of the recording that are like these, with those of their bodies: in loops in
        loops, those of all steps."""
        return int(self.weights[np.unique(self.word.letters[numbers])].sum())

    def _note(self, misfits: Sequence[tuple[Repetition, Misfit]]) -> None:
        """Note why the longest repetitions are not loops."""
        is_told = self.is_taken.copy()
        for repetition, misfit in sorted(misfits, key=lambda one: one[0].start - one[0].stop):
            where = misfit.node.where
            nodes = is_told[repetition.start : repetition.stop]
            if where is not None and not nodes.any():
                nodes[:] = True
                self.notes.append(LoopNote(where, 0, misfit.reason))

    def _body(self, repetition: Repetition) -> Body | Misfit:
        """The loop that a repetition is, by its own period or a few of them."""
        found: Body | Misfit | None = None
        for count in range(1, PERIODS + 1):
            longer = repetition._replace(period=count * repetition.period)
            steps = (repetition.stop - repetition.start) // longer.period
            if steps < costs().least_rolled_steps:
                break
            one = self._of_period(longer)
            if type(one) is Body:
                return one
            found = found or one
        assert found is not None
        return found

    def _of_period(self, repetition: Repetition) -> Body | Misfit:
        """The loop of this period: with the step before it, which may have more nodes, where that
        makes it longer."""
        first, *others = self.word.boundaries(repetition)
        found = self._with_step_before(first, repetition)
        if found is not None:
            return found
        plain = self._checked(Steps(self.word, _steps(first, repetition), self.needed).fitted())
        for other in others:
            found = self._with_step_before(other, repetition)
            if found is not None and (isinstance(plain, Misfit) or found.length > plain.length):
                return found
        return plain

    def _with_step_before(self, first: int, repetition: Repetition) -> Body | None:
        """The loop of the step before node `first` and all from there on, if it is one."""
        before = self.word.step_before(first, repetition.period)
        if before is None:
            return None
        numbers, extras = before
        whole = np.concatenate(([numbers], _steps(first, repetition)))
        found = self._checked(Steps(self.word, whole, self.needed, extras).fitted())
        return found if type(found) is Body else None

    def _checked(self, body: Body | Misfit) -> Body | Misfit:
        """A body, unless rows of what it computes would not be what the user's program has, or
        nothing else needs what it begins with."""
        if not isinstance(body, Body):
            return body
        for value in [value for one in body.carried for value in one.initial]:
            # A loop computes steps that nothing needs, too. What they begin with would be lost.
            if value.node is not None and not self._is_kept(value):
                return Misfit(value.node, "the results of some steps are not used")
        for number, slot in self.read_outside(body):
            column = body.column_of(slot)
            if column in body.rows:
                continue
            node = self.nodes[int(body.positions[0, column])]
            type = node.results[slot - body.slots[column]].type
            if slot in body.sizes:
                return Misfit(node, "an array whose size differs in steps is read after the loop")
            last = number == body.length - 1 and any(slot == one.slot for one in body.carried)
            if not last and element_type(stacked_type(type, body.length)) is not type:
                return Misfit(node, "a Python number of each step is read after the loop")
        carried = {one.slot for one in body.carried}
        for slot in carried:
            column = body.column_of(slot)
            node = self.nodes[int(body.positions[0, column])]
            if slot in body.sizes:
                return Misfit(node, "a value that a step passes to the next changes its size")
            if self._is_known(body, slot, column):
                return Misfit(node, "a step passes a Python number to the next")
        return body

    def _is_known(self, body: Body, slot: int, column: int) -> bool:
        """Return whether Python knows what is handed on from step to step."""
        place = slot - body.slots[column]
        nodes = [self.nodes[k] for k in body.positions[:, column].tolist()]
        type = nodes[0].results[place].type
        if type.form == "weak":
            return any(node.results[place] in self.known for node in nodes)
        is_handle: bool = type.form == "handle"
        return is_handle

    def _is_kept(self, value: Value) -> bool:
        """Return whether a value comes from outside, or of a node that the results need."""
        number = self.word.numbers.get(value, -1)
        return number < 0 or bool(self.needed[self.word.owners[number]])

    def _may_add_rows(self, found: Repetition) -> bool:
        """Return whether a repetition may be the sum of the rows of an array."""
        ops = [node.op for node in self.nodes[found.start : found.start + found.period]]
        return len(ops) == 2 and getitem in ops and add in ops

    def adds_rows(self, body: Body) -> bool:
        """Return whether a loop adds the rows of what another loop has stacked, and only the whole
        sum is read."""
        if len(body.kept) != 2 or len(body.rows) != 1 or len(body.carried) != 1:
            return False
        ((number, rows),) = body.rows.items()
        (one,) = body.carried
        column = body.column_of(one.slot)
        node = self.nodes[int(body.positions[0, column])]
        if column == number or node.op is not add or len(one.initial) > 1:
            return False
        array = rows.array.node
        is_stacked = is_counted(array)
        own = {one, Inside(body.slots[number])}
        if not is_stacked or own != set(body.operands[column]) or len(rows.entries) > 1:
            return False
        return all(key == (body.length - 1, one.slot) for key in self.read_outside(body))

    def read_outside(self, body: Body) -> dict[tuple[int, int], Value]:
        """The results of steps, by step and number in it, that something else reads or holds."""
        word, slots = self.word, np.array(body.slots)
        columns = np.repeat(np.arange(len(slots) - 1), np.diff(slots))
        firsts = word.first_results[body.positions[:, columns]]
        numbers = (firsts + np.arange(len(columns)) - slots[columns]).ravel()
        readers, entries = word.readers_of(numbers)
        low, high = int(body.positions.min()), int(body.positions.max())
        inside = np.zeros(high - low + 3, dtype=bool)  # with one node before and one behind
        inside[body.positions - low + 1] = True
        is_inside = inside[np.clip(readers - low + 1, 0, high - low + 2)]
        read = np.unique(entries[~is_inside & self.needed[readers]])
        held = np.flatnonzero(self.is_held[numbers])
        in_order = [*read[np.argsort(numbers[read])], *held[np.argsort(numbers[held])]]
        count = len(columns)
        return {
            (place // count, place % count): word.values[number]
            for place, number in ((int(place), int(numbers[place])) for place in in_order)
        }


def _steps(first: int, repetition: Repetition) -> np.ndarray:
    """The nodes of each whole step from node `first` on, a row a step."""
    _, stop, period = repetition
    count = (stop - first) // period
    return first + np.arange(count)[:, None] * period + np.arange(period)


def weight_of(node: Node) -> int:
    """The number of nodes that are written out for one."""
    if is_inner(node):
        return 1 + len(node.params["body"].nodes)
    if not is_condition(node):
        return 1
    return 1 + sum(weight_of(one) for body in node.params["bodies"] for one in body.nodes)


def _goes_on(lengths: Sequence[int]) -> bool:
    """Return whether these are the lengths of three loops in a loop, each longer than the last."""
    return len(lengths) == 3 and lengths[2] - lengths[1] == lengths[1] - lengths[0] > 0


def _note_of(node: Node) -> tuple[Location | None, str]:
    """The line of a node that may be in no loop, and why."""
    if node.op.effect:
        return node.where, "each step has an effect"
    if node.region:
        return node.where, "steps are computed again"
    if node.tapes:
        return node.where, "a tape records it"
    return node.where, "each step has its own gradient rule" if is_ruled(node) else ""


def _is_alone(node: Node) -> bool:
    """Return whether a node may be in no loop: it has an effect, is recorded by a tape or computed
    again, or has a rule of the user's for this one place."""
    if node.op.effect or node.region or node.tapes:
        return True
    return node.op is OVERRIDE and is_ruled(node)
