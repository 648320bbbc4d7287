"""Re-rolling: the steps of a recorded loop of Python's become one node, which owns its body.

A Python loop leaves a copy of its body at each step in a recording. After the function has run, and
before it is differentiated, `reroll` looks for these copies. `periods.py` finds where nodes repeat,
`step_columns.py` proves which of the repetitions are loops. The nodes of the first step become the
body, and those of the other steps go. Results of steps that something else reads are results of
the loop: the last ones, or rows of what it stacks. Loops in loops become nodes first, and are then
parts of the steps around them.

A Tensor that the user still holds stands for its value wherever that is now: `reroll` finds what is
held by counting references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.location import Location
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.arithmetic import add
from tracejit.ops.branches import may_raise
from tracejit.ops.control_flow import LOOP, element_type, stacked_type
from tracejit.ops.indexing import getitem
from tracejit.ops.joining import stack
from tracejit.ops.marker_ops import OVERRIDE, is_ruled
from tracejit.ops.weak import BINARY_OPS
from tracejit.support.cost_model import costs
from tracejit.trace.loops import (
    LoopInputs,
    LoopRange,
    Side,
    emit_loop,
    placeholder,
    step_number,
)
from tracejit.trace.periods import Repetition, Word
from tracejit.trace.record import Recording
from tracejit.trace.step_columns import (
    Along,
    Body,
    Carried,
    Column,
    Fixed,
    Inside,
    Listed,
    Misfit,
    Steps,
)
from tracejit.trace.tensor import Tensor

PERIODS = 4


class LoopNote(NamedTuple):
    """A loop: a line of a step, and the number of steps of the node that it has become; or the
    reason why it is written out. Without a line, it is all loops."""

    where: Location | None
    steps: int
    reason: str = ""


def reroll(recording: Recording, start: int, results: Sequence[Any]) -> None:
    """Let loops among the nodes from number `start` on be one node each. `results` are Tensors that
    stand for their values afterwards; so do those that the user holds."""
    graph = recording.graph
    if len(graph.nodes) - start < costs().least_rolled_nodes:
        return
    problem = _problem(recording)
    if problem:
        recording.loop_notes.append(LoopNote(None, 0, problem))
        return
    recording.settle_names()
    held = _held(recording, graph.nodes[start:])
    events = [value for event in recording.events for value in event.values]
    places = {value: value for value in (*held, *events, *[t._value for t in results])}
    while True:
        search = _Search(recording, graph.nodes[start:], places)
        bodies = search.bodies()
        recording.loop_notes += search.notes
        if not bodies:
            break
        _Replacement(recording, search, bodies, places).run(start)
    for tensor in results:
        tensor._held = places.get(tensor._held, tensor._held)
    for event in recording.events:
        event.values[:] = [places.get(value, value) for value in event.values]
    recording.move({old: new for old, new in places.items() if old is not new})


def _problem(recording: Recording) -> str:
    """Why no loop of a recording becomes one node; empty where loops may."""
    sizes = recording.graph.sizes
    if recording.exact:
        return "with exact=True every sum is in NumPy's order"
    if len(recording.decisions):
        return "the function decides by values"
    if recording.probes or recording.reopened_by is not None:
        return "a derivative is being recorded"
    if sizes is not None and sizes.free():
        return "sizes of arrays are free"
    return ""


def _held(recording: Recording, nodes: Sequence[Node]) -> list[Value]:
    """The results of nodes that something refers to besides nodes."""
    uses = _uses(recording, nodes)
    own = _references([Node(getitem, (), {}, (WEAK_TYPES[int],), None, 0, ())])[0]
    found = iter(_references(nodes))
    return [
        value
        for node in nodes
        for value in node.results
        if next(found) > own + (uses[value] + 1 if value in uses else 0)
    ]


def _uses(recording: Recording, nodes: Sequence[Node]) -> dict[Value, int]:
    """How often nodes and names refer to values, and what the recording knows of them."""
    tuples = {id(node.operands): node.operands for node in nodes}
    pairs = {id(x.derived): x.derived for node in nodes for x in node.results if x.derived}
    stores = (recording.known, recording.shared, recording.out_of_order)
    counted = Counter(value for operands in tuples.values() for value in operands)
    counted.update(primal for primal, _ in pairs.values())
    counted.update(value for store in stores for value in store)
    return counted


def _references(nodes: Sequence[Node]) -> list[int]:
    return [getrefcount(value) for node in nodes for value in node.results]


class _Search:
    """A search for loops among `nodes`; `places` are the values that something holds."""

    def __init__(
        self, recording: Recording, nodes: Sequence[Node], places: dict[Value, Value]
    ) -> None:
        """Find out what is needed, and spell the nodes."""
        self.nodes = nodes
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
        self.word = Word(nodes, alone)
        self.is_taken = np.zeros(len(nodes), dtype=bool)
        self.notes = [
            LoopNote(where, 0, reason)
            for (where, reason), count in Counter(_note_of(node) for node in alone).items()
            if where is not None and reason and count >= costs().least_rolled_steps
        ]

    def bodies(self) -> list[Body]:
        """The loops that pay, in their order."""
        found: list[Body] = []
        misfits: list[tuple[Repetition, Misfit]] = []
        for repetition in self.word.repetitions(costs().least_rolled_steps):
            start, stop, _ = repetition
            large = stop - start >= costs().least_rolled_nodes
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
            where = self.nodes[int(body.positions[0, body.kept[0]])].where
            self.notes.append(LoopNote(where, body.length))
        if not found:
            self._note(misfits)
        return sorted(found, key=lambda body: int(body.positions[0].min()))

    def _pays(self, body: Body) -> bool:
        """Return whether one node is better than the steps written out, for which passes find more:
        large arrays go through several steps in tiles."""
        if not body.kept or self.adds_rows(body):
            return bool(body.kept)
        model = costs()
        pattern = [self.nodes[k] for k in body.positions[0, body.kept].tolist()]
        most = max(value.type.size for node in pattern for value in node.results)
        least = model.least_rolled_nodes
        if most > model.most_rolled_elements:
            least *= model.rolled_nodes_of_large
        return body.length * len(body.kept) >= least and self._recurs(body)

    def _note(self, misfits: Sequence[tuple[Repetition, Misfit]]) -> None:
        """Note why the longest repetitions are no loops."""
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
        """The loop of this period, with the step before it where that one has more nodes."""
        start, stop, period = repetition
        first = self.word.boundary(repetition)
        count = (stop - first) // period
        steps = first + np.arange(count)[:, None] * period + np.arange(period)
        before = self.word.step_before(first, period)
        if before is not None:
            numbers, extras = before
            whole = np.concatenate(([numbers], steps))
            found = self._checked(Steps(self.word, whole, self.needed, extras).fitted())
            if type(found) is Body:
                return found
        return self._checked(Steps(self.word, steps, self.needed).fitted())

    def _checked(self, body: Body | Misfit) -> Body | Misfit:
        """A body, unless rows of what it computes would not be what the user's program has."""
        if not isinstance(body, Body):
            return body
        for number, slot in self.read_outside(body):
            column = body.column_of(slot)
            if column in body.rows:
                continue
            node = self.nodes[int(body.positions[0, column])]
            type = node.results[slot - body.slots[column]].type
            last = number == body.length - 1 and any(slot == one.slot for one in body.carried)
            if not last and element_type(stacked_type(type, body.length)) is not type:
                return Misfit(node, "a Python number of each step is read after the loop")
        carried = {one.slot for one in body.carried}
        for slot in carried:
            column = body.column_of(slot)
            node = self.nodes[int(body.positions[0, column])]
            if node.results[slot - body.slots[column]].type.form in ("weak", "handle"):
                return Misfit(node, "a Python number is handed on from step to step")
        return body

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
        is_stacked = array is not None and array.op is LOOP
        own = {one, Inside(body.slots[number])}
        if not is_stacked or own != set(body.operands[column]) or len(rows.index) > 1:
            return False
        return all(key == (body.length - 1, one.slot) for key in self.read_outside(body))

    def _recurs(self, body: Body) -> bool:
        """Return whether steps depend on earlier ones in another way than by a sum of what each
        adds. Where they do not, they are computed for all steps at once."""
        for one in body.carried:
            column = body.column_of(one.slot)
            readers = [n for n in body.kept if one in body.operands[n]]
            op = self.nodes[int(body.positions[0, column])].op
            if readers != [column] or op is not add or body.operands[column].count(one) > 1:
                return True
            inside = [n for n in body.kept if Inside(one.slot) in body.operands[n]]
            if inside:
                return True
        return False

    def read_outside(self, body: Body) -> dict[tuple[int, int], Value]:
        """The results of steps, by step and number in it, that something else reads or holds."""
        word = self.word
        inside = np.zeros(len(self.nodes), dtype=bool)
        inside[body.positions.ravel()] = True
        readers = np.repeat(np.arange(len(self.nodes)), np.diff(word.offsets))
        entries = word.operands[~inside[readers] & self.needed[readers]]
        entries = np.unique(entries[entries >= 0])
        numbers = entries[inside[word.owners[entries]]].tolist()
        numbers += [
            number
            for value in self.roots
            if (number := word.numbers.get(value, -1)) >= 0 and inside[word.owners[number]]
        ]
        place = np.full((len(self.nodes), 2), -1)
        steps, columns = np.indices(body.positions.shape)
        place[body.positions.ravel(), 0] = steps.ravel()
        place[body.positions.ravel(), 1] = columns.ravel()
        found: dict[tuple[int, int], Value] = {}
        for number in numbers:
            owner = int(word.owners[number])
            step, column = place[owner].tolist()
            slot = body.slots[column] + number - int(word.first_results[owner])
            found[step, slot] = word.values[number]
        return found


def _note_of(node: Node) -> tuple[Location | None, str]:
    """The line of a node that may be in no loop, and why."""
    if node.op.effect:
        return node.where, "something takes place at each step"
    if node.region:
        return node.where, "steps are computed again"
    if node.tapes:
        return node.where, "a tape records it"
    return node.where, "each step has a rule of its own" if is_ruled(node) else ""


def _is_alone(node: Node) -> bool:
    """Return whether a node may be in no loop: it has an effect, is recorded by a tape or computed
    again, or has a rule of the user's for this one place."""
    if node.op.effect or node.region or node.tapes:
        return True
    return node.op is OVERRIDE and is_ruled(node)


class _Row(NamedTuple):
    """Element `number` of a stacked array."""

    stacked: Tensor
    number: int


def _stretches(rows: Sequence[_Row | None]) -> list[list[int]]:
    """Rows of one array with consecutive numbers, up or down, by their numbers; in between, what is
    no such row."""
    parts: list[list[int]] = []
    before: _Row | None = None
    for row in rows:
        last = parts[-1] if parts else []
        follows = (
            row is not None
            and before is not None
            and row.stacked is before.stacked
            and row.number - before.number in ((1, -1) if len(last) < 2 else (last[1] - last[0],))
        )
        number = -1 if row is None else row.number
        if follows or (parts and row is None and before is None):
            last.append(number)
        else:
            parts.append([number])
        before = row
    return parts


def _part(stacked: Any, numbers: Sequence[int]) -> Any:
    """These elements of an array, whose numbers go up or down by one."""
    first, last = numbers[0], numbers[-1]
    stride = 1 if last > first else -1
    if (first, last) == (0, len(stacked) - 1):
        return stacked
    stop: int | None = last + stride
    return stacked[first : None if stop == -1 else stop : stride]


class _Replacement:
    """The replacement of steps by loops."""

    def __init__(
        self,
        recording: Recording,
        search: _Search,
        bodies: Sequence[Body],
        places: dict[Value, Value],
    ) -> None:
        """Nothing is replaced yet."""
        self.recording = recording
        self.search = search
        self.bodies = bodies
        self.places = places
        self.known: dict[Value, Value] = {}
        self.rows: dict[Value, _Row] = {}

    def run(self, start: int) -> None:
        """Replace the nodes of the graph from number `start` on, and the values that are held."""
        recording, search = self.recording, self.search
        graph = recording.graph
        nodes = search.nodes
        graph.cut(start)
        outside = [search.read_outside(body) for body in self.bodies]
        gone = np.zeros(len(nodes), dtype=bool)
        for body in self.bodies:
            gone[body.positions.ravel()] = True
            gone[body.extras] = True
        begins = {int(body.positions[0].min()): k for k, body in enumerate(self.bodies)}
        for number, node in enumerate(nodes):
            if number in begins:
                body = self.bodies[begins[number]]
                for extra in body.extras:
                    self._keep(nodes[extra])
                self._emit(body, outside[begins[number]])
            if not gone[number] and search.needed[number]:
                self._keep(node)
        for value, now in self.places.items():
            self.places[value] = self._resolved(now)
        graph.cut(len(graph.nodes))

    def _keep(self, node: Node) -> None:
        """Put a node that is in no loop at the end of the graph."""
        if node.op is stack and self._is_stacked(node):
            return
        node.operands = self._all_resolved(node.operands)
        self.recording.graph.nodes.append(node)

    def _all_resolved(self, values: Iterable[Value]) -> tuple[Value, ...]:
        return tuple([self._resolved(value) for value in values])

    def _resolved(self, value: Value) -> Value:
        """A value, or what stands in its place; a row is read here."""
        found = self.known.get(value)
        if found is None:
            row = self.rows.get(value)
            if row is None:
                return value
            with self.recording.at(row.stacked._value.node.where):  # type: ignore[union-attr]
                element: Any = row.stacked[row.number]
            found = self.known[value] = element._value
            if value.is_named:
                found.take_name(value)
        return found

    def _is_stacked(self, node: Node) -> bool:
        """Let rows of a loop that are stacked anew be taken from the array that the loop stacks;
        whether that is what the node does."""
        rows = [self.rows.get(value) for value in node.operands]
        parts = _stretches(rows)
        if max(len(part) for part in parts) < costs().least_rolled_steps:
            return False
        axis, made, at = node.params["axis"], [], 0
        with self.recording.at(node.where):
            for part in parts:
                row = rows[at]
                if row is not None and len(part) > 1:
                    made.append(np.moveaxis(_part(row.stacked, part), 0, axis))
                else:
                    values = self._all_resolved(node.operands[at : at + len(part)])
                    made.append(stack(*[Tensor(one, self.recording) for one in values], axis=axis))
                at += len(part)
            whole: Any = made[0] if len(made) == 1 else np.concatenate(made, axis=axis)
        result = node.results[0]
        if whole.type is not result.type:
            return False
        self.known[result] = whole._value
        if result.is_named and whole._value.node is not None:
            whole._value.take_name(result)
        return True

    def _emit(self, body: Body, outside: dict[tuple[int, int], Value]) -> None:
        """Record the loop, and what it takes rows of."""
        _Emission(self, body, outside).run()


class _Emission:
    """The recording of one loop."""

    def __init__(
        self, around: _Replacement, body: Body, outside: dict[tuple[int, int], Value]
    ) -> None:
        """Begin without inputs."""
        self.around = around
        self.recording = around.recording
        self.body = body
        self.outside = outside
        nodes = around.search.nodes
        self.pattern = [nodes[k] for k in body.positions[0].tolist()]
        self.step = step_number(self.recording)._value
        self.carried: list[Value] = []
        self.initial: list[Tensor] = []
        self.following: list[Value] = []
        self.sliced: list[Value] = []
        self.arrays: list[Tensor] = []
        self.inner: dict[Column, Value] = {}
        self.taken: dict[Value, Value] = {}
        self.nodes: list[Node] = []
        self.counts: dict[tuple[int, int], Value] = {}

    def run(self) -> None:
        """Record the loop; know what stands for the results of its steps."""
        body, recording = self.body, self.recording
        where = self.pattern[body.kept[0]].where
        with recording.at(where):
            if self.around.search.adds_rows(body) and self._add_rows():
                return
            self._keep_rows()
            finals: list[tuple[int, int]] = []
            for one in body.carried:
                finals += self._carry(one)
            for number in body.kept:
                self._take_node(number)
            read = {key[1] for key in self.outside if key not in finals}
            slots = sorted(slot for slot in read if not self._is_row(slot))
            returned = [self.taken.get(value, value) for value in self.following]
            outputs = [*returned, *[self._result(slot) for slot in slots]]
            inputs = LoopInputs(self.carried, self.sliced, self.step)
            steps = LoopRange(body.length, False)
            made = emit_loop(
                recording,
                "step",
                steps,
                inputs,
                Side(self.nodes, outputs),
                self.initial,
                self.arrays,
            )
        stacked = dict(zip(slots, made[len(self.carried) :], strict=True))
        last = dict(zip(finals, made, strict=False))
        for slot, tensor in stacked.items():
            value = self._result(slot)
            if tensor._value.node is not None and not tensor._value.is_named:
                tensor._value.derived = value, "_all"
        for (step, slot), value in self.outside.items():
            if slot in stacked:
                self.around.rows[value] = _Row(stacked[slot], step)
            if (step, slot) in last:
                result = last[step, slot]._value
                self.around.known[value] = result
                if value.is_named:
                    result.take_name(value)

    def _is_row(self, slot: int) -> bool:
        return self.body.column_of(slot) in self.body.rows

    def _result(self, slot: int) -> Value:
        """The result of the body."""
        column = self.body.column_of(slot)
        value = self.pattern[column].results[slot - self.body.slots[column]]
        return self.taken.get(value, value)

    def _add_rows(self) -> bool:
        """Let the sum of all rows be one sum, if that has the same type."""
        ((_, rows),) = self.body.rows.items()
        (one,) = self.body.carried
        ((_, value),) = self.outside.items()
        total: Any = np.sum(self._sliced(rows), axis=0)
        whole = Tensor(self.around._resolved(one.initial[0]), self.recording) + total
        if whole.type is not value.type:
            return False
        self.around.known[value] = whole._value
        if value.is_named:
            whole._value.take_name(value)
        return True

    def _keep_rows(self) -> None:
        """Keep the nodes that take rows which something else reads."""
        nodes = self.around.search.nodes
        for step, slot in sorted(self.outside):
            if self._is_row(slot):
                self.around._keep(nodes[int(self.body.positions[step, self.body.column_of(slot)])])

    def _carry(self, one: Carried) -> list[tuple[int, int]]:
        """Inputs for a result of an earlier step; the steps whose results they are in the end."""
        column = self.body.column_of(one.slot)
        result = self.pattern[column].results[one.slot - self.body.slots[column]]
        distance = len(one.initial)
        following = result
        finals = []
        for number in range(distance):
            made = placeholder(self.recording, result.type, result.label)._value
            self.carried.append(made)
            self.following.append(following)
            initial = self.around._resolved(one.initial[distance - 1 - number])
            self.initial.append(Tensor(initial, self.recording))
            finals.append((self.body.length - 1 - number, one.slot))
            following = made
        self.inner[one] = following
        return finals

    def _take_node(self, number: int) -> None:
        """Let the like of a node of the first step be in the body, or an element of what is
        sliced."""
        node = self.pattern[number]
        if number in self.body.rows:
            self.taken[node.results[0]] = self._element(self.body.rows[number], node.results[0])
            return
        operands = [self._operand(column, node) for column in self.body.operands[number]]
        params = node.params
        if number in self.body.moving:
            entry, first, stride = self.body.moving[number]
            index = params["index"]
            params = {**params, "index": (*index[:entry], "{1}", *index[entry + 1 :])}
            operands.insert(1, self._count(first, stride))
        types = [value.type for value in node.results]
        made = Node(node.op, tuple(operands), params, types, node.where, 0, ())
        for old, new in zip(node.results, made.results, strict=True):
            new.label, new.derived = old.label, old.derived
            self.taken[old] = new  # a Tensor that stands for the old one may still be held
        self.nodes.append(made)

    def _operand(self, column: Column, node: Node) -> Value:
        if type(column) is Inside:
            return self._result(column.slot)
        if type(column) is Carried:
            return self.inner[column]
        if type(column) is Fixed:
            return self.around._resolved(column.value)
        if type(column) is Along:
            return self._element(column, None)
        assert type(column) is Listed
        return self._listed(column)

    def _element(self, rows: Along, value: Value | None) -> Value:
        """The input that is one row of an array after the other."""
        known = self.inner.get(rows)
        if known is not None:
            return known
        sliced = self._sliced(rows)
        return self._slice(rows, sliced, element_type(sliced.type), value)

    def _sliced(self, rows: Along) -> Any:
        """The rows as an array, in the order of the steps."""
        array: Any = Tensor(self.around._resolved(rows.array), self.recording)
        entries = [*rows.index]
        axis = sum(entry is not None for entry in entries[: rows.place])
        size = array.shape[axis]
        first = entries[rows.place] % size
        last = first + rows.stride * (self.body.length - 1)
        stop: int | None = last + (1 if rows.stride > 0 else -1)
        entries[rows.place] = slice(first, None if stop == -1 else stop, rows.stride)
        items = [slice(*one[1:]) if type(one) is tuple else one for one in entries]
        whole = items == [slice(0, size, 1)]
        sliced: Any = array if whole else array[tuple(items)]
        ahead = sum(type(one) is slice or one is None for one in items[: rows.place])
        return np.moveaxis(sliced, ahead, 0) if ahead else sliced

    def _slice(self, key: Column, array: Tensor, type: ArrayType, value: Value | None) -> Value:
        label = value.label if value is not None else ""
        made = self.inner[key] = placeholder(self.recording, type, label)._value
        self.sliced.append(made)
        self.arrays.append(array)
        return made

    def _listed(self, column: Listed) -> Value:
        """The input that is one constant after the other; integers that go on by one number are
        computed from the number of the step."""
        known = self.inner.get(column)
        if known is not None:
            return known
        data = [constant.data for constant in column.constants]
        type = column.constants[0].type
        if type is WEAK_TYPES[int]:
            stride = data[1] - data[0]
            if data == [data[0] + stride * k for k in range(len(data))]:
                made = self.inner[column] = self._count(data[0], stride)
                return made
        table = self.recording.graph.constant(np.array(data, dtype=type.dtype))
        return self._slice(column, Tensor(table, self.recording), type, None)

    def _count(self, first: int, stride: int) -> Value:
        """A number that begins as `first` and goes on by `stride`, as nodes of the body."""
        if (first, stride) not in self.counts:
            found = self.step
            if stride != 1:
                found = self._computed("*", found, stride)
            if first:
                found = self._computed("+", found, first)
            self.counts[first, stride] = found
        return self.counts[first, stride]

    def _computed(self, symbol: str, left: Value, right: int) -> Value:
        operands = left, self.recording.graph.constant(right)
        where = self.recording.where
        node = Node(BINARY_OPS[symbol], operands, {}, (WEAK_TYPES[int],), where, 0, ())
        self.nodes.append(node)
        return node.results[0]
