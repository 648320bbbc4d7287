"""Dependencies: find which elements of results depend on which elements of a source.

A pattern is a matrix of truth values in rows, with a row for each element of a value and a column
for each of the source. What is not known makes a pattern larger, never smaller. A condition has the
patterns of all its sides; a loop of few steps is followed step by step, any other until nothing new
comes in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.autodiff.sparsity.incidence import Incidences, Numbers
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.subgraph import Subgraph
from tracejit.ir.types import ArrayType
from tracejit.ops.control.control_flow import (
    ControlFlow,
    is_condition,
    is_loop,
    loop_inputs,
    loop_operands,
)
from tracejit.support.cost_model import costs


class TooDense(Exception):
    """A pattern has more entries than are worth listing."""


class Dependencies:
    """The patterns of values, by a source of so many elements; `sparse` is scipy.sparse."""

    def __init__(self, sparse: Any, columns: int, numbers: Numbers) -> None:
        """Nothing depends on the source yet."""
        self.sparse = sparse
        self.columns = columns
        self.numbers = numbers
        self.patterns: dict[Value, Any] = {}
        self._incidences = Incidences(sparse, numbers)

    def of_source(self, source: Value) -> None:
        """Each element of the source depends on itself."""
        self.patterns[source] = self.sparse.eye_array(self.columns, dtype=bool, format="csr")

    def of(self, value: Value) -> Any:
        """The pattern of a value."""
        found = self.patterns.get(value)
        return self._nothing(_rows(value.type)) if found is None else found

    def follow(self, nodes: Sequence[Node], outputs: Sequence[Value]) -> None:
        """Walk through nodes as far as `outputs` need them; what is needed for nothing else is
        forgotten."""
        wanted = set(outputs)
        needed: list[Node] = []
        for node in reversed(nodes):
            if not wanted.isdisjoint(node.results):
                needed.append(node)
                wanted.update(node.operands)
        needed.reverse()
        last: dict[Value, Node] = {}
        for node in needed:
            last.update(dict.fromkeys(node.operands, node))
        kept = {*self.patterns, *outputs}
        for node in needed:
            if not self.patterns.keys().isdisjoint(node.operands):
                self._step(node)
            for value in node.operands:
                if last[value] is node and value not in kept:
                    self.patterns.pop(value, None)

    def _nothing(self, rows: int) -> Any:
        return self.sparse.csr_array((rows, self.columns), dtype=bool)

    def _step(self, node: Node) -> None:
        if isinstance(node.op, ControlFlow):
            found = self._sides(node) if is_condition(node) else self._loop(node)
            self.patterns |= zip(node.results, found, strict=True)
            return
        for number, result in enumerate(node.results):
            parts = []
            for k, operand in enumerate(node.operands):
                if operand in self.patterns:
                    factors = self._incidences.of(node, number, k)
                    if factors is not None:
                        parts.append(self._through(factors, self.patterns[operand]))
            if parts:
                self.patterns[result] = self._union(parts)

    def _through(self, factors: Sequence[Any], pattern: Any) -> Any:
        for factor in reversed(factors):
            counts = np.diff(pattern.indptr)
            if counts[factor.indices].sum() > costs().pattern_entries:
                raise TooDense
            pattern = factor @ pattern
        return pattern

    def _union(self, parts: Sequence[Any]) -> Any:
        whole = parts[0]
        for one, part in enumerate(parts):
            if not any(part is other for other in parts[:one]):
                whole = whole + part
        return whole

    # Control flow

    def _body(self, numbers: Numbers) -> Dependencies:
        return Dependencies(self.sparse, self.columns, numbers)

    def _sides(self, node: Node) -> list[Any]:
        """The patterns of a condition: those of its sides together."""
        found: list[list[Any]] = []
        for body in node.params["bodies"]:
            side = self._body(NumbersInside(self.numbers, body, node.operands[1:], {}))
            for inside, outside in zip(body.inputs, node.operands[1:], strict=True):
                side._take(inside, self.patterns.get(outside))
            side.follow(body.nodes, body.outputs)
            found.append([side.of(value) for value in body.outputs])
        return [self._union(parts) for parts in zip(*found, strict=True)]

    def _take(self, value: Value, pattern: Any) -> None:
        if pattern is not None:
            self.patterns[value] = pattern

    def _loop(self, node: Node) -> list[Any]:
        """The patterns of what a loop carries and stacks."""
        assert is_loop(node)
        length, body = node.params.get("length"), node.params["body"]
        if node.params.get("size") is not None:  # sizes differ from step to step
            return [self._everything(node, _rows(value.type)) for value in node.results]
        sizes = [value.type for value in (*node.operands, *node.results)]
        if length is not None and all(type.form != "list" for type in sizes):
            if length * len(body.nodes) <= costs().followed_nodes:
                return self._steps(node, length)
        return self._closure(node)

    def _round(
        self, node: Node, known: Mapping[Value, Any], given: Mapping[Value, Any]
    ) -> tuple[list[Any], NumbersInside]:
        """The patterns of what one step returns, its inputs having these patterns."""
        body: Subgraph = node.params["body"]
        count = len(loop_operands(node).invariants)
        numbers = NumbersInside(self.numbers, body, node.operands[:count], known)
        step = self._body(numbers)
        for inside, outside in zip(body.inputs, node.operands[:count], strict=False):
            step._take(inside, self.patterns.get(outside))
        for value, pattern in given.items():
            step._take(value, pattern)
        step.follow(body.nodes, body.outputs)
        return [step.of(value) for value in body.outputs], numbers

    def _steps(self, node: Node, length: int) -> list[Any]:
        """One step after the other, each with its number."""
        body, inputs, operands = node.params["body"], loop_inputs(node), loop_operands(node)
        carried = [self.of(value) for value in operands.carried]
        counters = [self._integers(value) for value in operands.carried]
        sliced = [self.of(value) for value in operands.sliced]
        tables = [self._integers(value) for value in operands.sliced]
        rows: list[list[Any]] = [[] for _ in body.outputs[len(carried) :]]
        steps = range(length)
        for t in reversed(steps) if node.params["reverse"] else steps:
            known = dict(zip(inputs.carried, counters, strict=True)) | {body.inputs[-1]: t}
            given = dict(zip(inputs.carried, carried, strict=True))
            for value, whole, table in zip(inputs.sliced, sliced, tables, strict=True):
                size = value.type.size
                given[value] = whole[t * size : (t + 1) * size]
                known[value] = None if table is None else table[t]
            found, numbers = self._round(node, known, given)
            carried = found[: len(carried)]
            counters = [
                None if value is None else numbers.integers(out)
                for value, out in zip(counters, body.outputs, strict=False)
            ]
            for row, pattern in zip(rows, found[len(carried) :], strict=True):
                row.append(pattern)
        if node.params["reverse"]:
            rows = [row[::-1] for row in rows]
        return [*carried, *[self.sparse.vstack(row, format="csr") for row in rows]]

    def _integers(self, value: Value) -> Any:
        return self.numbers.integers(value) if value.type.dtype.kind in "biu" else None

    def _closure(self, node: Node) -> list[Any]:
        """The patterns after any number of steps. Where these take many rounds to become no larger,
        all that is carried depends on all that comes in."""
        inputs, operands = loop_inputs(node), loop_operands(node)
        carried = [self.of(value) for value in operands.carried]
        given: dict[Value, Any] = {}
        for value, outside in zip(inputs.sliced, operands.sliced, strict=True):
            if outside in self.patterns:
                row = self._any_row(self.patterns[outside])
                given[value] = self._repeated(row, _rows(value.type))
        for number in range(costs().pattern_rounds + 1):
            if number == costs().pattern_rounds:
                carried = [self._everything(node, pattern.shape[0]) for pattern in carried]
            found, _ = self._round(
                node, {}, given | dict(zip(inputs.carried, carried, strict=True))
            )
            pairs = zip(carried, found, strict=False)
            merged = [self._union([before, after]) for before, after in pairs]
            if all(one.nnz == other.nnz for one, other in zip(merged, carried, strict=True)):
                break
            carried = merged
        stacks = [
            self._repeated(self._any_row(pattern), _rows(value.type))
            for pattern, value in zip(
                found[len(carried) :], node.results[len(carried) :], strict=True
            )
        ]
        return [*carried, *stacks]

    def _everything(self, node: Node, rows: int) -> Any:
        """So many elements, each of which depends on all that a node reads."""
        read = [self.patterns[value] for value in node.operands if value in self.patterns]
        return self._repeated(self._union([self._any_row(part) for part in read]), rows)

    def _any_row(self, pattern: Any) -> Any:
        """One row that has all that is in any."""
        columns = np.unique(pattern.indices)
        parts = np.ones(columns.size, bool), columns, np.array([0, columns.size])
        return self.sparse.csr_array(parts, shape=(1, self.columns))

    def _repeated(self, row: Any, count: int) -> Any:
        factor = np.ones(count, bool), np.zeros(count, np.intp), np.arange(count + 1)
        return self._through([self.sparse.csr_array(factor, shape=(count, 1))], row)


def _rows(type: ArrayType) -> int:
    """The number of rows of a pattern: a list has one for all that is in it."""
    return 1 if type.form == "list" else type.size


class NumbersInside:
    """The data of values in a body; its inputs have those that are `known`."""

    def __init__(
        self,
        outer: Numbers,
        body: Subgraph,
        around: Sequence[Value],
        known: Mapping[Value, Any],
    ) -> None:
        """`around` are the values that the first inputs stand for."""
        self._outer = outer
        self._around = dict(zip(body.inputs, around, strict=False))
        self._inside = {value for node in body.nodes for value in node.results}
        self._inside.update(body.inputs[len(around) :])
        self._known = dict(known)

    def integers(self, value: Value) -> Any:
        """The elements of an array of integers or truth values; None if a step differs."""
        if isinstance(value, Constant):
            return value.data
        if value not in self._inside:
            return self._outer.integers(self._around.get(value, value))
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: Value) -> Any:
        node = value.node
        if node is None or node.op.effect or isinstance(node.op, ControlFlow):
            return None
        operands = [self.integers(operand) for operand in node.operands]
        if len(node.results) > 1 or any(operand is None for operand in operands):
            return None
        return node.op.evaluate(*operands, **node.params)

    def places(self, value: Value) -> Any:
        """The places of a matrix; None of one that is made inside."""
        is_inside = value in self._inside or isinstance(value, Constant)
        return None if is_inside else self._outer.places(self._around.get(value, value))
