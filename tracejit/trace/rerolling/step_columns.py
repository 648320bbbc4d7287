"""The steps of a repetition, column by column: each operand of a step in relation to the steps.

An operand is computed in the same step, or some steps before, always in the same place; or it is
the same at each step; or it is a constant, another at each; or a row of one array, further on by
the same number at each step. Numbers in an index are the same at each step, or go on by one number;
where sizes may differ, so do bounds of slices and sizes. Where a column does not go on like that,
the repetition is cut: what remains is a loop, by proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.subgraph import bodies_of
from tracejit.ops.indexing.indexing import getitem
from tracejit.support.cost_model import costs
from tracejit.trace.rerolling.inner_loops import is_inner
from tracejit.trace.rerolling.moving_numbers import (
    INDEXED,
    Moving,
    course,
    entries_of,
    longest,
    middle_of,
)
from tracejit.trace.rerolling.periods import Word
from tracejit.trace.rerolling.step_operands import (
    Along,
    Carried,
    Column,
    Fixed,
    Inside,
    Listed,
    flags_of,
    index_course,
    listed,
    may_be_promoted,
    stretch,
)

FAR = 1 << 40  # beyond every number of a value
ROUNDS = 8


class Body(NamedTuple):
    """The steps of a loop: the nodes of each, by their numbers in a row of `positions`.

    `kept` are the columns of the nodes that the results need, `operands` those of each of them.
    `rows` are what nodes take of arrays that do not change, by column; `moving` are numbers that go
    on in other parameters, `sizes` those in the shapes of results, by slot. `slots` is the number
    of the first result of each column in a step. `extras` are nodes of the first step that are in
    no other.
    """

    positions: np.ndarray
    slots: list[int]
    kept: list[int]
    operands: dict[int, list[Column]]
    rows: dict[int, Along]
    moving: dict[int, Moving]
    sizes: dict[int, Moving]
    extras: list[int]

    @property
    def length(self) -> int:
        """The number of steps."""
        return len(self.positions)

    def column_of(self, slot: int) -> int:
        """The column of the node whose result this is."""
        return int(np.searchsorted(self.slots, slot, side="right")) - 1

    @property
    def carried(self) -> dict[Carried, None]:
        """The results of earlier steps that a step reads."""
        columns = [column for number in self.kept for column in self.operands[number]]
        return dict.fromkeys(column for column in columns if type(column) is Carried)


class Misfit(NamedTuple):
    """The reason why a repetition is not a loop, and the node that does not go on like the
    others."""

    node: Node
    reason: str


class Steps:
    """Candidates for the steps of a loop: row k of `positions` holds the nodes of step k."""

    def __init__(
        self, word: Word, positions: np.ndarray, needed: np.ndarray, extras: Sequence[int] = ()
    ) -> None:
        """Steps in a word; `needed` says which nodes the results need."""
        self.word = word
        self.positions = positions
        self.extras = list(extras)
        self.needed = needed
        nodes = word.nodes
        self.pattern = [nodes[k] for k in positions[-1].tolist()]
        counts = [len(node.results) for node in self.pattern]
        self.slots = np.concatenate(([0], np.cumsum(counts)))
        self.count = int(self.slots[-1])

    def fitted(self, least: int = 0) -> Body | Misfit:
        """The longest stretch of the steps that is a loop, of at `least` so many."""
        least = least or costs().least_rolled_steps
        first, last = 0, len(self.positions)
        for _ in range(ROUNDS):
            fits, problem = self._checked(first, last)
            start, stop = longest(fits)
            if stop - start < least:
                return problem or Misfit(self.pattern[0], "few steps are alike")
            if stop - start == last - first:
                return self._body(first, last)
            first, last = first + start, first + stop
        return Misfit(self.pattern[0], "few steps are alike")

    def like(self, known: Body) -> Body | Misfit:
        """One step as a loop like a `known` one, by whose strides its numbers would go on."""
        local = self._local(0, 1)[0].tolist()
        if np.flatnonzero(self.needed[self.positions[0]]).tolist() != known.kept:
            return Misfit(self.pattern[0], "the results need other parts of it")
        operands: dict[int, list[Column]] = {}
        starts = np.cumsum([0, *[len(node.operands) for node in self.pattern]]).tolist()
        for number in known.kept:
            places = local[starts[number] : starts[number + 1]]
            columns = map(self._column_like, known.operands[number], places)
            operands[number] = [one for one in columns if one is not None]
            if len(operands[number]) < len(places):
                return Misfit(self.pattern[number], "an operand is of another kind")
        rows = {}
        for number, row in known.rows.items():
            (source,), index = operands[number], self.pattern[number].params["index"]
            assert type(source) is Fixed
            rows[number] = row._replace(array=source.value, entries=index)
        moving = {
            number: Moving(tuple(self._numbers(number, 0, 1)[0]), numbers.strides)
            for number, numbers in known.moving.items()
        }
        sizes = {}
        for slot, shape in known.sizes.items():
            column = known.column_of(slot)
            type_ = self.pattern[column].results[slot - known.slots[column]].type
            sizes[slot] = Moving(type_.shape, shape.strides)
        return Body(self.positions, known.slots, known.kept, operands, rows, moving, sizes, [])

    def _column_like(self, known: Column, local: int) -> Column | None:
        """An operand of the one step, in the relation of a `known` one."""
        if type(known) is Inside:
            return known if local == known.slot else None
        value = self._value(local)
        if local >= 0:
            return None
        if type(known) is Fixed:
            return Fixed(value)
        if type(known) is Carried and len(known.initial) == 1:
            is_same = value.type is self._value(known.slot).type
            return Carried(known.slot, (value,)) if is_same else None
        if type(known) is Listed and isinstance(value, Constant) and known.stride is not None:
            return Listed((value,), known.stride)
        return None

    def _local(self, first: int, last: int) -> np.ndarray:
        """The operands of all steps: those computed in the steps by step and slot, others by their
        number less FAR."""
        word, positions = self.word, self.positions[first:last]
        low = int(word.first_results[positions.min()])
        high = int(word.first_results[positions.max() + 1])
        local = np.full(high - low + 2, -1, dtype=np.int64)  # with one before and one behind
        for slot in range(self.count):
            column = int(np.searchsorted(self.slots, slot, side="right")) - 1
            numbers = word.first_results[positions[:, column]] + (slot - self.slots[column])
            local[numbers - low + 1] = np.arange(len(positions)) * self.count + slot
        starts = word.offsets[positions]
        columns = []
        for number, node in enumerate(self.pattern):
            columns += [word.operands[starts[:, number] + q] for q in range(len(node.operands))]
        if not columns:
            return np.zeros((len(positions), 0), dtype=np.int64)
        numbers = np.stack(columns, axis=1)
        found = local[np.clip(numbers - low + 1, 0, high - low + 1)]
        return np.where(found >= 0, found, numbers - FAR)

    def _middle(self, first: int, last: int) -> int:
        """The middle of the longest stretch of steps in which all numbers go on by the same: in
        loops in loops, the inner one begins again with each step of the outer one."""
        tables = [
            self._numbers(number, first, last)
            for number, node in enumerate(self.pattern)
            if self._has_numbers(node)
        ]
        return middle_of(np.concatenate(tables, axis=1)) if tables else (last - first) // 2

    def _checked(self, first: int, last: int) -> tuple[np.ndarray, Misfit | None]:
        """The steps that go on as the middle one does, as flags, and the worst column."""
        local = self._local(first, last)
        steps = np.arange(last - first)
        middle = self._middle(first, last)
        flags = self.needed[self.positions[first:last]]
        fits = (flags <= flags[middle]).all(axis=1)
        worst: tuple[int, Misfit | None] = (0, None)

        def note(column: np.ndarray, node: Node, reason: str) -> None:
            nonlocal worst
            missing = int(len(column) - column.sum())
            if missing > worst[0]:
                worst = missing, Misfit(node, reason)
            np.logical_and(fits, column, out=fits)

        place = 0
        for number, node in enumerate(self.pattern):
            if not flags[middle][number]:
                place += len(node.operands)
                continue
            moves = self._numbers_fit(number, first, last, middle)
            if moves is not None:
                note(moves, node, "an index does not change by the same number at each step")
            for result in range(len(node.results)) if self.word.sizes_differ else ():
                sizes = self._sizes_fit(number, result, first, last, middle)
                note(sizes, node, "a size does not change by the same number at each step")
            for _ in node.operands:
                column = local[:, place]
                note(
                    self._operand_fits(column, steps, middle, node.op.elementwise),
                    node,
                    "an operand does not follow from one step to the next",
                )
                place += 1
        return fits, worst[1]

    def _operand_fits(
        self, column: np.ndarray, steps: np.ndarray, middle: int, is_elementwise: bool
    ) -> np.ndarray:
        before, here = int(column[middle - 1]), int(column[middle])
        fits: np.ndarray = column == here
        if before == here and (fits.all() or not self._is_constant(here)):
            if here >= 0:
                fits[: here // self.count + 1] = False
            return fits
        distance = middle - here // self.count
        follows = here - before == self.count or 0 < distance == middle
        if here >= 0 and follows and distance >= 0:
            fits = column == (steps - distance) * self.count + here % self.count
            type = self._value(here).type
            for k in range(min(distance, len(steps))):
                number = int(column[k])
                initial = self._value(number).type
                is_number = is_elementwise and may_be_promoted(self._value(number), type)
                fits[k] = number < 0 and (initial is type or is_number)
            return fits
        values = [self._value(int(number)) if number < 0 else None for number in column]
        return flags_of(len(steps), *stretch(values, middle))

    def _is_constant(self, local: int) -> bool:
        return local < 0 and isinstance(self._value(local), Constant)

    def _value(self, local: int) -> Value:
        """The value of a local number; of a result, that of any step."""
        if local < 0:
            return self.word.value(local + FAR)
        column = int(np.searchsorted(self.slots, local % self.count, side="right")) - 1
        value: Value = self.pattern[column].results[local % self.count - int(self.slots[column])]
        return value

    def _has_numbers(self, node: Node) -> bool:
        """Return whether numbers in the parameters of a node may go on from step to step."""
        if self.word.sizes_differ:
            return "index" in node.params or "shape" in node.params or is_inner(node)
        return node.op in INDEXED

    def _numbers(self, number: int, first: int, last: int) -> list[list[int]]:
        """The numbers in the parameters of a node of each step."""
        return [self.word.numbers_in(k) for k in self.positions[first:last, number].tolist()]

    def _numbers_fit(self, number: int, first: int, last: int, middle: int) -> np.ndarray | None:
        """The steps whose numbers follow from those of the middle one, as flags."""
        node = self.pattern[number]
        if not self._has_numbers(node):
            return None
        fits, moving = course(self._numbers(number, first, last), middle)
        is_entry = entries_of(node) or [False] * len(moving.strides)
        if any(stride and is_entry[k] for k, stride in enumerate(moving.strides)):
            if node.op not in INDEXED or len(node.operands) != INDEXED[node.op]:
                fits[:] = False
        return fits

    def _shapes(self, number: int, result: int, first: int, last: int) -> list[Any]:
        """The shapes of a result of each step."""
        nodes = self.word.nodes
        places = self.positions[first:last, number].tolist()
        return [nodes[k].results[result].type.shape for k in places]

    def _sizes_fit(
        self, number: int, result: int, first: int, last: int, middle: int
    ) -> np.ndarray:
        """The steps at which a result has the shape that follows from that of the middle one."""
        fits, moving = course(self._shapes(number, result, first, last), middle)
        if any(moving.strides) and any(bodies_of(self.pattern[number])):
            fits[:] = False
        return fits

    def _body(self, first: int, last: int) -> Body:
        local = self._local(first, last)
        positions = self.positions[first:last]
        flags = self.needed[positions].any(axis=0)
        kept = [number for number in range(len(self.pattern)) if flags[number]]
        operands: dict[int, list[Column]] = {}
        rows: dict[int, Along] = {}
        moving: dict[int, Moving] = {}
        sizes: dict[int, Moving] = {}
        place = 0
        for number, node in enumerate(self.pattern):
            columns = [local[:, place + q] for q in range(len(node.operands))]
            place += len(columns)
            if not flags[number]:
                continue
            operands[number] = [self._column(column) for column in columns]
            for result in range(len(node.results)) if self.word.sizes_differ else ():
                shapes = course(self._shapes(number, result, first, last), 0)[1]
                if any(shapes.strides):
                    sizes[int(self.slots[number]) + result] = shapes
            if not self._has_numbers(node):
                continue
            numbers = course(self._numbers(number, first, last), 0)[1]
            if not any(numbers.strides):
                continue
            row = self._row(number, positions, operands[number][0], numbers)
            if row is not None:
                rows[number] = row
            else:
                moving[number] = numbers
        extras = self.extras if not first else []
        slots = self.slots.tolist()
        return Body(positions, slots, kept, operands, rows, moving, sizes, extras)

    def _row(
        self, number: int, positions: np.ndarray, source: Column, numbers: Moving
    ) -> Along | None:
        """A node as the rows of an array that does not change, if that is what it takes."""
        nodes = self.word.nodes
        indices = [nodes[k].params.get("index") for k in positions[[0, -1], number].tolist()]
        if self.pattern[number].op is not getitem or type(source) is not Fixed:
            return None
        moving = [k for k, stride in enumerate(numbers.strides) if stride]
        places = [k for k, one in enumerate(indices[0]) if one != indices[1][k]]
        if len(moving) != 1 or "..." in indices[0] or type(indices[0][places[0]]) is not int:
            return None
        (place,) = places
        if (indices[0][place] < 0) != (indices[1][place] < 0):
            return None
        return Along(source.value, indices[0], place, numbers.strides[moving[0]])

    def _column(self, column: np.ndarray) -> Column:
        before, here = int(column[-2]), int(column[-1])
        if (column == here).all():
            return Fixed(self._value(here))
        distance = len(column) - 1 - here // self.count
        if here >= 0 and (here - before == self.count or distance == len(column) - 1):
            slot = here % self.count
            if not distance:
                return Inside(slot)
            return Carried(slot, tuple([self._value(int(n)) for n in column[:distance]]))
        values = [self._value(int(number)) for number in column]
        if isinstance(values[0], Constant):
            return listed(values)  # type: ignore[arg-type]
        assert values[0].node is not None
        indices = [value.node.params["index"] for value in values]  # type: ignore[union-attr]
        _, _, entry, stride = index_course(indices, 0)
        return Along(values[0].node.operands[0], indices[0], entry, stride)
