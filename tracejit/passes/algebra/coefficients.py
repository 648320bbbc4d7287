"""Coefficients: constant factors and signs are gathered, and applied where that is cheapest.

`2.0 * (a * (0.5 * b))` is `a * b`; `x + (-y) * z` is `x - y * z`; `c * x + c * y` is `c * (x + y)`;
`sum(c * x)` is `c * sum(x)`, and so is every linear operation; `a * (1.0 / b)` is `a / b`. A factor
moves where that saves an operation over an array (tracejit/passes/algebra/sum_of_products.py), not
otherwise; it never moves out of a value that the user has named or that is read elsewhere, too.

Every factor, and every product of factors, lies between 2 ** -24 and 2 ** 24: below 1e-300 and
above 1e300 (float64) nothing that NumPy computes in between overflows or underflows unless the
rewritten form does; constants are merged only where the result is a normal number. Within 1 ulp of
the largest term for each factor that has moved. What may change is the sign of a zero to which
terms of a sum cancel.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[9], y: f8[9]) -> c: f8[9]
...   a  f8[9] = multiply 2.0 x
...   b  f8[9] = negative y
...   b  f8[9] = multiply b a
...   c  f8[9] = add x b
... ''', OPS)
>>> for value in graph.values():
...     value.label = ""
>>> print(print_graph(drop_dead(gather_coefficients(graph))), end="")
graph f(x: f8[9], y: f8[9]) -> c: f8[9]
  b_2  f8[9] = multiply 2.0 y
  b_3  f8[9] = multiply b_2 x
  c    f8[9] = subtract x b_3
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ops.base.op import Op
from tracejit.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tracejit.ops.elementwise.choices import where
from tracejit.ops.reductions import reductions
from tracejit.passes.algebra.sum_of_products import LARGEST, SMALLEST, Scaled, cost, is_linear
from tracejit.passes.framework.emission import (
    OutOfRange,
    Places,
    check_merged,
    check_scaled,
    emit,
    has_constant,
    made_by,
    note_of,
    number_of,
    readers_of,
)
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs

SCALING = (multiply, divide, where)
REWRITTEN = (add, subtract, multiply, divide, negative, reductions.sum)


def gather_coefficients(graph: Graph) -> Graph:
    """`graph` with constant factors and signs where they cost least."""
    gathering = _Gathering(graph)
    origin: dict[Value, Value] = {}
    new = rebuild(graph, gathering.rewrite, origin=origin)
    if new is not graph:
        gathering.places.sort(new.nodes, origin)
    return new


class _Gathering:
    """One pass: how often each value is read, what it is found to be, and where nodes stand."""

    def __init__(self, graph: Graph) -> None:
        self.places = Places(graph)
        self.before = readers_of(graph)
        self.negated = {n.operands[0] for n in graph.nodes if n.op is negative}
        self.negatives: set[Value] = set()
        self.factored: set[Value] = set()
        self.readers = self.before.copy()
        self.known: dict[Value, Scaled] = {}
        self.found: Scaled | None = None
        """The last node's result, where it is not worth while to write it so."""

    def rewrite(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
        """The results of `node`, copied or better."""
        if not self.negated.isdisjoint(node.operands):
            pairs = zip(node.operands, operands, strict=True)
            self.negatives.update(after for before, after in pairs if before in self.negated)
        start, better = len(new.nodes), None
        has_factor = node.op is negative or (node.op in SCALING and has_constant(operands))
        is_factored = has_factor or not self.factored.isdisjoint(operands)
        if is_factored or node.op is multiply:
            try:
                better = self._gathered(new, node, operands, has_factor)
            except OutOfRange:
                pass  # it stays as it is
        if better is not None and better.type is node.results[0].type:
            results: Sequence[Value] = (better,)
            made = new.nodes[start:]
            for one in made:
                for operand in one.operands:
                    self.readers[operand] += 1
            self._forget(operands)
            self._note_factors(made)
        else:
            copy = new.take(node, operands)
            results = copy.results
            if copy is not node:
                self.places.put(copy, node)
            if is_factored:
                self._note_factors((copy,))
            if self.found is not None:
                self.known.setdefault(results[0], self.found)
        self.found = None
        if results is not node.results:
            for before, after in zip(node.results, results, strict=True):
                self.readers[after] += self.before[before]
        return results

    def _emit(
        self, new: Graph, like: Node, op: str | Op, operands: tuple[Value, ...], **params: Any
    ) -> Value:
        """The value of a node in the line of `like`."""
        value = emit(new, like, op, operands, **params)
        if value.node is not None:
            self.places.put(value.node, like)
        return value

    def _note_factors(self, nodes: Iterable[Node]) -> None:
        """Keep in mind which of the results of `nodes` may have a factor in their expression."""
        for node in nodes:
            is_factored = not self.factored.isdisjoint(node.operands) or (
                node.op in SCALING and has_constant(node.operands)
            )
            if node.op is negative or (is_factored and _splitting(node) is not None):
                self.factored.add(node.results[0])

    def _forget(self, operands: Sequence[Value]) -> None:
        """`operands` have one reader less; nor is anything read by what nothing reads any more."""
        pending = list(operands)
        while pending:
            value = pending.pop()
            self.readers[value] -= 1
            if not self.readers[value] and value.node is not None:
                pending.extend(value.node.operands)

    def _gathered(
        self, new: Graph, node: Node, operands: tuple[Value, ...], has_factor: bool
    ) -> Value | None:
        """A better form of the result of `node`, which `has_factor`, or may have one in its
        operands."""
        op = node.op
        if (op not in REWRITTEN and op.product is None) or not node.results[0].type.is_real:
            return None
        if has_factor:
            has_factor = op is not multiply or not self._is_apart(node, operands)
        else:
            factored = [value for value in operands if value in self.factored]
            has_factor = any([self._is_inner(value, node) for value in factored])
        if op is add or op is subtract:
            return self._signs_in_sum(new, node, operands) if has_factor else None
        found = self._split(new, node, operands) if has_factor else None
        if found is not None and found.gain > 0:
            return self._whole(found)
        self.found = found
        if op is negative:
            return self._negative_shared(new, node, operands[0])
        return self._quotient(new, node, operands) if op is multiply else None

    def _is_apart(self, node: Node, operands: tuple[Value, ...]) -> bool:
        """Return whether `node` multiplies by a number what others read, too."""
        number, value = number_of(operands[0]), operands[1]
        if number is None:
            number, value = number_of(operands[1]), operands[0]
        return number not in (None, 1.0) and not self._is_inner(value, node)

    def _negative_shared(self, new: Graph, node: Node, value: Value) -> Value | None:
        """-(a * b) is (-a) * b, to the bit, where -a is there anyway."""
        made = made_by(value, "multiply")
        if made is None or not self._is_inner(value, node):
            return None
        for one, other in (made.operands, made.operands[::-1]):
            if one in self.negatives and one.type is value.type:
                opposite = self._emit(new, node, "negative", (one,))
                return self._emit(new, node, "multiply", (opposite, other))
        return None

    def _quotient(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
        """a * (1 / b) is a / b, within 1 ulp."""
        for value, other in (operands, operands[::-1]):
            made = made_by(value, "divide")
            if made is None or not self._is_inner(value, node):
                continue
            one, below = made.operands
            if number_of(one) == 1.0 and below.type is other.type is node.results[0].type:
                return self._emit(new, node, "divide", (other, below))
        return None

    def _signs_in_sum(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
        """A sum or difference with the factor that both have, or with fewer signs."""
        if not all([fits(operand, node) for operand in operands]):
            return None
        first, second = [self._scaled(new, value, node) for value in operands]
        if first.number == second.number == 1.0 and not first.saved + second.saved:
            return None
        both = self._split_sum(new, node, operands)
        if both is not None and both.gain > 0:
            return self._whole(both)
        if second.number < 0:
            positive = second.scaled(-second.number)
            if positive.gain >= 0:
                opposite = "subtract" if node.op is add else "add"
                return self._emit(new, node, opposite, (operands[0], positive.whole()))
        if first.number < 0 and node.op is add:
            positive = first.scaled(-first.number)
            if positive.gain > 0:
                return self._emit(new, node, "subtract", (operands[1], positive.whole()))
        return None

    # Numbers times values

    def _is_inner(self, value: Value, reader: Node) -> bool:
        """Return whether a value is only an intermediate step of its one reader."""
        node = value.node
        return (
            node is not None
            and not value.label
            and self.readers[value] <= 1
            and node.region == reader.region
            and node.segment == reader.segment
            and (node.where is reader.where or note_of(node) == note_of(reader))
        )

    def _scaled(self, new: Graph, value: Value, reader: Node) -> Scaled:
        """A value as a number times the rest; as it stands, where it cannot be taken apart."""
        if not self._is_inner(value, reader):
            return self._as_it_stands(new, value, reader)
        known = self.known.get(value)
        if known is None:
            node = value.node
            assert node is not None
            split = self._split(new, node, node.operands)
            known = self.known[value] = split or self._as_it_stands(new, value, node)
        return known

    def _number_or_scaled(self, new: Graph, value: Value, reader: Node) -> Scaled:
        """A value as a number times the rest; a number as itself times one, at no cost."""
        if not isinstance(value, Constant) or number_of(value) is None:
            return self._scaled(new, value, reader)
        weak, dtype = value.type.form == "weak", reader.results[0].type.dtype

        def times(number: float) -> Value:
            check_merged((value.data,), number, dtype)
            return new.constant(number if weak else dtype.type(number))

        return Scaled(float(value.data), 0, 0, 0, times)

    def _as_it_stands(self, new: Graph, value: Value, like: Node) -> Scaled:
        def times(number: float) -> Value:
            return self._times(new, like, number, value)

        return Scaled(1.0, 0, cost(value.type), 0, times)

    def _times(self, new: Graph, like: Node, number: float, value: Value) -> Value:
        if number == 1.0:
            return value
        if number == -1.0:
            return self._emit(new, like, "negative", (value,))
        if isinstance(value, Constant):
            check_scaled(number, value, like.results[0].type.dtype)
        return self._emit(new, like, "multiply", (new.constant(number), value))

    def _whole(self, found: Scaled) -> Value:
        """The value, which is known to be that when it is read again."""
        value = found.whole()
        if found.depth and value not in self.known:
            self.known[value] = found.placed()
        return value

    def _split(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Scaled | None:
        """The result of `node` as a number times the rest; None if it has no such number."""
        split = _splitting(node)
        if split is None or not node.results[0].type.is_real:
            return None
        found = split(self, new, node, operands)
        if found is None or found.depth > costs().coefficient_depth:
            return None
        return found if SMALLEST <= abs(found.number) <= LARGEST else None

    def _applied(
        self,
        new: Graph,
        node: Node,
        number: float,
        parts: Sequence[Scaled],
        scales: Sequence[bool],
        at_most: float,
        make: Callable[..., Value] | None = None,
    ) -> Scaled:
        """An operation on parts. A number is applied to those that it `scales`, where that costs
        `at_most` so much, else to the result."""
        place = sum([part.place for part, one in zip(parts, scales, strict=True) if one])
        goes_in = place <= at_most

        def times(number: float) -> Value:
            inside = [number if goes_in and one else 1.0 for one in scales]
            values = [part.times(one) for part, one in zip(parts, inside, strict=True)]
            if make is not None:
                value = make(*values)
            else:
                value = self._emit(new, node, node.op, tuple(values), **node.params)
            return value if goes_in else self._times(new, node, number, value)

        saved, depth = sum([part.saved for part in parts]), 1 + max(part.depth for part in parts)
        place = place if goes_in else cost(node.results[0].type)
        return Scaled(number, saved, place, depth, times)

    def _split_multiple(self, new: Graph, node: Node, number: float, value: Value) -> Scaled | None:
        """A number times a value."""
        if not fits(value, node):
            return None
        found = self._scaled(new, value, node)
        return found.scaled(number * found.number, cost(node.results[0].type))

    def _split_negative(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Scaled | None:
        return self._split_multiple(new, node, -1.0, operands[0])

    def _split_multiply(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Scaled | None:
        for constant, value in (operands, operands[::-1]):
            number = number_of(constant)
            if number is not None and fits(value, node):
                return self._split_multiple(new, node, number, value)
        return self._split_bilinear(new, node, operands)

    def _split_divide(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Scaled | None:
        above, below = operands
        number = number_of(below)
        if number is not None:
            found = self._split_multiple(new, node, 1.0, above) if number else None
            return found and found.scaled(found.number / number)
        if not fits(below, node) or not (fits(above, node) or number_of(above) is not None):
            return None
        first = self._number_or_scaled(new, above, node)
        second = self._scaled(new, below, node)
        quotient = first.number / second.number
        return self._applied(new, node, quotient, (first, second), (True, False), math.inf)

    def _split_bilinear(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Scaled | None:
        """A product: a factor of either operand is one of the result. One of the result goes into a
        matrix product only where a number is."""
        if not all([fits(operand, node) for operand in operands]):
            return None
        first, second = [self._scaled(new, operand, node) for operand in operands]
        scales = first.place <= second.place, first.place > second.place
        product = first.number * second.number
        if node.op is not multiply:
            number = costs().call_elements + 1
            return self._applied(new, node, product, (first, second), scales, number)

        def make(*factors: Value) -> Value:
            quotient = self._quotient(new, node, factors)
            return quotient or self._emit(new, node, "multiply", factors)

        at_most = cost(node.results[0].type)
        return self._applied(new, node, product, (first, second), scales, at_most, make)

    def _split_linear(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Scaled | None:
        """A linear operation: a factor of the operand is one of the result."""
        first, *others = operands
        if not fits(first, node):
            return None
        inner = self._scaled(new, first, node)

        def make(value: Value) -> Value:
            return self._emit(new, node, node.op, (value, *others), **node.params)

        at_most = cost(node.results[0].type) - 1
        return self._applied(new, node, inner.number, (inner,), (True,), at_most, make)

    def _split_sum(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Scaled | None:
        """A sum or difference of two values with one factor, but for its sign."""
        if not all([fits(operand, node) for operand in operands]):
            return None
        first, second = [self._scaled(new, operand, node) for operand in operands]
        other = second.number if node.op is add else -second.number
        if abs(first.number) != abs(other):
            return None
        is_sum = first.number == other

        def make(*terms: Value) -> Value:
            ordered = terms if is_sum or first.number > 0 else terms[::-1]
            return self._emit(new, node, "add" if is_sum else "subtract", ordered)

        number, at_most = first.number if is_sum else abs(other), cost(node.results[0].type) - 1
        return self._applied(new, node, number, (first, second), (True, True), at_most, make)

    def _split_where(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Scaled | None:
        """A choice: a number in it is multiplied at no cost, and zero stays zero."""
        mask, *values = operands
        if not all(number_of(v) is not None or fits(v, node) for v in values):
            return None
        found = [self._number_or_scaled(new, value, node) for value in values]
        numbers = [one.number for one in found]
        scales = {one.number for one, v in zip(found, values, strict=True) if number_of(v) is None}
        scale = scales.pop() if scales else max(numbers, key=abs)
        if scales or not scale:
            return None
        parts = [
            one if number_of(value) is None else one.relative_to(scale)
            for one, value in zip(found, values, strict=True)
        ]

        def make(*chosen: Value) -> Value:
            return self._emit(new, node, "where", (mask, *chosen))

        return self._applied(new, node, scale, parts, (True, True), math.inf, make)


def fits(value: Value, node: Node) -> bool:
    """Return whether a value has the dtype of the result of `node`, so that a factor of either is
    one of the other."""
    type, result = value.type, node.results[0].type
    return type.is_real and (type is result or type.dtype == result.dtype)


Split = Callable[[_Gathering, Graph, Node, tuple[Value, ...]], Scaled | None]
SPLITS: dict[Op, Split] = {
    negative: _Gathering._split_negative,
    multiply: _Gathering._split_multiply,
    divide: _Gathering._split_divide,
    add: _Gathering._split_sum,
    subtract: _Gathering._split_sum,
    where: _Gathering._split_where,
}


def _splitting(node: Node) -> Split | None:
    """The rule that splits a number off the result of a node; None if there is none."""
    found = SPLITS.get(node.op)
    if found is None and is_linear(node):
        return _Gathering._split_linear
    if found is None and node.op.product is not None:
        return _Gathering._split_bilinear
    return found
