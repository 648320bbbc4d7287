"""Factors: constant factors and signs are gathered, and applied where that is cheapest.

`2.0 * (a * (0.5 * b))` is `a * b`; `x + (-y) * z` is `x - y * z`; `c * x + c * y` is `c * (x + y)`;
`sum(c * x)` is `c * sum(x)`, and so is every linear operation; `a * (1.0 / b)` is `a / b`. A factor
moves where an operation over an array is saved, not otherwise; it never moves out of a value that
the user has named or that is read elsewhere, too.

Every factor, and every product of factors, lies between 2 ** -24 and 2 ** 24: below 1e-300 and
above 1e300 (float64) nothing that NumPy computes in between overflows or underflows unless the
rewritten form does; constants are merged only where the result is a normal number. Within 1 ulp of
the largest term for each factor that has moved. What may change is the sign of a zero to which
terms of a sum cancel.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[9], y: f8[9]) -> c: f8[9]
...   a  f8[9] = multiply 2.0 x
...   b  f8[9] = negative y
...   b  f8[9] = multiply b a
...   c  f8[9] = add x b
... ''', OPS)
>>> for value in graph.values():
...     value.label = ""
>>> print(print_graph(drop_dead(gather_factors(graph))), end="")
graph f(x: f8[9], y: f8[9]) -> c: f8[9]
  b_2  f8[9] = multiply 2.0 y
  b_3  f8[9] = multiply b_2 x
  c    f8[9] = subtract x b_3
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.passes.emission import (
    OutOfRange,
    Places,
    check_scaled,
    emit,
    for_decisions,
    has_constant,
    is_real,
    made_by,
    note_of,
    number_of,
    readers_of,
)
from tracejit.passes.rebuild import rebuild
from tracejit.passes.simplify import PRODUCTS
from tracejit.passes.terms import NUMBER, Term, cost, fits, number_term

SMALLEST, LARGEST = 2.0**-24, 2.0**24
DEEPEST = 10
LINEAR = (
    "sum", "reshape", "expand_dims", "squeeze", "transpose", "broadcast_to", "ravel", "getitem",
    "put_slice", "take_at", "add_at",
)  # fmt: skip
INDEXED = ("take_at", "add_at")
"""Linear in the first operand; the others say where."""
SUMS = ("add", "subtract")
SCALING = ("multiply", "divide", "where")
REWRITTEN = frozenset((*SUMS, "multiply", "divide", "negative", "sum", *PRODUCTS))


def gather_factors(graph: Graph) -> Graph:
    """`graph` with constant factors and signs where they cost least."""
    gathering = _Gathering(graph)
    new = rebuild(graph, gathering.rewrite)
    if new is not graph:
        gathering.places.sort(new.nodes)
    return new


class _Gathering:
    """One pass: how often each value is read, the terms found so far, and where nodes stand."""

    def __init__(self, graph: Graph) -> None:
        self.places = Places(graph)
        self.before = readers_of(graph)
        self.kept = for_decisions(graph)
        self.negated = {n.operands[0] for n in graph.nodes if n.op.name == "negative"}
        self.negatives: set[Value] = set()
        self.factored: set[Value] = set()
        self.readers = self.before.copy()
        self.terms: dict[Value, Term] = {}

    def rewrite(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
        """The results of `node`, copied or better."""
        if not self.negated.isdisjoint(node.operands):
            pairs = zip(node.operands, operands, strict=True)
            self.negatives.update(after for before, after in pairs if before in self.negated)
        start = len(new.nodes)
        value = None
        if node.op.name in REWRITTEN:
            with suppress(OutOfRange):
                value = self._gathered(new, node, operands)
        if value is not None and value.type is node.results[0].type:
            results: Sequence[Value] = (value,)
            for made in new.nodes[start:]:
                for operand in made.operands:
                    self.readers[operand] += 1
            self._forget(operands)
            self._note_factors(new.nodes[start:])
        else:
            copy = new.take(node, operands)
            self.places.put(copy, node)
            results = copy.results
            self._note_factors((copy,))
        if results is not node.results:
            for before, after in zip(node.results, results, strict=True):
                self.readers[after] += self.before[before]
        return results

    def _emit(
        self, new: Graph, like: Node, op: str, operands: tuple[Value, ...], **params: Any
    ) -> Value:
        """The value of a node in the line of `like`."""
        value = emit(new, like, op, operands, **params)
        if value.node is not None:
            self.places.put(value.node, like)
        return value

    def _note_factors(self, nodes: Iterable[Node]) -> None:
        """Keep in mind which of the results of `nodes` may have a factor in their expression."""
        for node in nodes:
            if node.op.name in SPLITS and self._has_factor(node):
                self.factored.add(node.results[0])

    def _has_factor(self, node: Node) -> bool:
        """Tell if there may be a factor in the expression of `node`."""
        if node.op.name == "negative" or not self.factored.isdisjoint(node.operands):
            return True
        return node.op.name in SCALING and has_constant(node.operands)

    def _forget(self, operands: Sequence[Value]) -> None:
        """`operands` have one reader less; nor is anything read by what nothing reads any more."""
        pending = list(operands)
        while pending:
            value = pending.pop()
            self.readers[value] -= 1
            if not self.readers[value] and value.node is not None:
                pending.extend(value.node.operands)

    def _gathered(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
        """A better form of the result of `node`."""
        name = node.op.name
        if node in self.kept or not node.results[0].type.is_real:
            return None
        is_scaled = name == "negative" or has_constant(operands)
        if is_scaled and name == "multiply" and self._is_apart(node, operands):
            return self._quotient(new, node, operands)
        if not is_scaled and not self.factored.isdisjoint(operands):
            factored = [value for value in operands if value in self.factored]
            is_scaled = any([self._is_inner(value, node) for value in factored])
        if name in SUMS:
            better = self._signs_in_sum(new, node, operands) if is_scaled else None
            return self._twice(new, node, operands) if better is None else better
        term = self._split(new, node, operands) if is_scaled else None
        if term is not None and term.gain > 0:
            return self._whole(term)
        if name == "negative":
            return self._negative_shared(new, node, operands[0])
        if name == "multiply":
            return self._quotient(new, node, operands)
        return None

    def _is_apart(self, node: Node, operands: tuple[Value, ...]) -> bool:
        """Tell if `node` multiplies by a number what others read, too: nothing is cheaper."""
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

    def _twice(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
        """(a + b) + b is a + 2 * b, where the factor costs less than the addition."""
        first, second = operands
        made = made_by(first, node.op.name)
        if made is None or not self._is_inner(first, node):
            return None
        rest, again = made.operands
        if rest is second and node.op.name == "add":
            rest, again = again, rest
        if again is not second or not fits(rest, node):
            return None
        term = self._as_it_stands(new, second, node)
        if second.node is not None and not second.label and self.readers[second] == 2:
            if (second.node.region, second.node.segment) == (node.region, node.segment):
                term = self._split(new, second.node, second.node.operands) or term
        doubled = term.scaled(2.0 * term.factor, 0)
        if doubled.gain + cost(node.results[0].type) <= 0 or abs(doubled.factor) > LARGEST:
            return None
        return self._emit(new, node, node.op.name, (rest, doubled.whole()))

    def _signs_in_sum(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
        """A sum or difference with the factor that both have, or with fewer signs."""
        if not all([fits(operand, node) for operand in operands]):
            return None
        first, second = [self._term(new, value, node) for value in operands]
        if first.factor == second.factor == 1.0 and not first.saved + second.saved:
            return None
        term = self._of_both(new, node, first, second)
        if term is not None and term.gain > 0:
            return self._whole(term)
        if second.factor < 0:
            positive = second.scaled(-second.factor, 0)
            if positive.gain >= 0:
                opposite = "subtract" if node.op.name == "add" else "add"
                return self._emit(new, node, opposite, (operands[0], positive.whole()))
        if first.factor < 0 and node.op.name == "add":
            positive = first.scaled(-first.factor, 0)
            if positive.gain > 0:
                return self._emit(new, node, "subtract", (operands[1], positive.whole()))
        return None

    # Terms

    def _is_inner(self, value: Value, reader: Node) -> bool:
        """Tell if a value is nothing but a step on the way to its only reader."""
        node = value.node
        return (
            node is not None
            and not value.label
            and self.readers[value] <= 1
            and node.region == reader.region
            and node.segment == reader.segment
            and (node.where is reader.where or note_of(node) == note_of(reader))
        )

    def _term(self, new: Graph, value: Value, reader: Node) -> Term:
        """A value as a factor times the rest; as it stands, where it cannot be taken apart."""
        if not self._is_inner(value, reader):
            return self._as_it_stands(new, value, reader)
        known = self.terms.get(value)
        if known is None:
            node = value.node
            assert node is not None
            split = self._split(new, node, node.operands)
            known = self.terms[value] = split or self._as_it_stands(new, value, node)
        return known

    def _as_it_stands(self, new: Graph, value: Value, like: Node) -> Term:
        def times(number: float) -> Value:
            return self._times(new, like, number, value)

        return Term(1.0, 0, cost(value.type), 0, times)

    def _times(self, new: Graph, like: Node, number: float, value: Value) -> Value:
        if number == 1.0:
            return value
        if number == -1.0:
            return self._emit(new, like, "negative", (value,))
        if isinstance(value, Constant):
            check_scaled(number, value, like.results[0].type.dtype)
        return self._emit(new, like, "multiply", (new.constant(number), value))

    def _whole(self, term: Term) -> Value:
        """The value of a term, which is known to be that term when it is read again."""
        value = term.whole()
        if term.depth and value not in self.terms:
            self.terms[value] = term.placed()
        return value

    def _split(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Term | None:
        """The result of `node` as a factor times the rest; None where none can be told apart."""
        split = SPLITS.get(node.op.name)
        if split is None or not is_real(node.results[0]):
            return None
        term = split(self, new, node, operands)
        if term is None or term.depth > DEEPEST or not SMALLEST <= abs(term.factor) <= LARGEST:
            return None
        return term

    def _split_negative(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Term | None:
        if not fits(operands[0], node):
            return None
        term = self._term(new, operands[0], node)
        return term.scaled(-term.factor, cost(node.results[0].type))

    def _split_multiply(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Term | None:
        for constant, value in (operands, operands[::-1]):
            number = number_of(constant)
            if number is not None and fits(value, node):
                term = self._term(new, value, node)
                return term.scaled(number * term.factor, cost(node.results[0].type))
        return self._split_bilinear(new, node, operands)

    def _split_divide(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Term | None:
        above, below = operands
        number = number_of(below)
        if number is not None:
            if not number or not fits(above, node):
                return None
            term = self._term(new, above, node)
            return term.scaled(term.factor / number, cost(node.results[0].type))
        if not fits(below, node):
            return None
        number = number_of(above)
        if number is None and not fits(above, node):
            return None
        first = self._term(new, above, node) if number is None else number_term(new, above, node)
        second = self._term(new, below, node)

        def times(number: float) -> Value:
            quotient = first.times(number), second.times(1.0)
            return self._emit(new, node, "divide", quotient)

        place = min(first.place, cost(node.results[0].type))
        factor, saved = first.factor / second.factor, first.saved + second.saved
        return Term(factor, saved, place, 1 + max(first.depth, second.depth), times)

    def _split_bilinear(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Term | None:
        """A product: a factor of either operand is one of the result. One of the result goes into a
        matrix product only where a number is."""
        if not all([fits(operand, node) for operand in operands]):
            return None
        first, second = [self._term(new, operand, node) for operand in operands]
        outside = cost(node.results[0].type)
        within = min(first.place, second.place)
        goes_in = within <= (outside if node.op.name == "multiply" else NUMBER)
        place = within if goes_in else outside

        def times(number: float) -> Value:
            inside = number if goes_in else 1.0
            numbers = (inside, 1.0) if first.place == within else (1.0, inside)
            factors = first.times(numbers[0]), second.times(numbers[1])
            product = self._quotient(new, node, factors) if node.op.name == "multiply" else None
            product = product or self._emit(new, node, node.op.name, factors, **node.params)
            return product if inside == number else self._times(new, node, number, product)

        depth = 1 + max(first.depth, second.depth)
        factor, saved = first.factor * second.factor, first.saved + second.saved
        return Term(factor, saved, place, depth, times)

    def _split_linear(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Term | None:
        """A linear operation: a factor of the operand is one of the result."""
        if len(operands) != 1 and node.op.name not in INDEXED:
            return None
        if not fits(operands[0], node) or "dtype" in node.params:
            return None
        inner = self._term(new, operands[0], node)
        outside = cost(node.results[0].type)

        def times(number: float) -> Value:
            within = number if inner.place < outside else 1.0
            scaled = inner.times(within), *operands[1:]
            value = self._emit(new, node, node.op.name, scaled, **node.params)
            return value if within == number else self._times(new, node, number, value)

        place = min(inner.place, outside)
        return Term(inner.factor, inner.saved, place, 1 + inner.depth, times)

    def _split_sum(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Term | None:
        """A sum or difference of two values with one factor, but for its sign."""
        if not all([fits(operand, node) for operand in operands]):
            return None
        first, second = [self._term(new, operand, node) for operand in operands]
        return self._of_both(new, node, first, second)

    def _of_both(self, new: Graph, node: Node, first: Term, second: Term) -> Term | None:
        """The sum or difference of two terms."""
        sign = 1.0 if node.op.name == "add" else -1.0
        other = sign * second.factor
        if abs(first.factor) != abs(other):
            return None
        outside, inside = cost(node.results[0].type), first.place + second.place

        def times(number: float) -> Value:
            within = number if inside < outside else 1.0
            terms = first.times(within), second.times(within)
            if first.factor == other:
                value = self._emit(new, node, "add", terms)
            else:
                value = self._emit(
                    new, node, "subtract", terms if first.factor > 0 else terms[::-1]
                )
            return value if within == number else self._times(new, node, number, value)

        factor = first.factor if first.factor == other else abs(other)
        saved, depth = first.saved + second.saved, 1 + max(first.depth, second.depth)
        return Term(factor, saved, min(inside, outside), depth, times)

    def _split_where(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Term | None:
        """A choice: a number in it is multiplied at no cost, and zero stays zero."""
        mask, *values = operands
        numbers = [number_of(value) for value in values]
        if not all(n is not None or fits(v, node) for n, v in zip(numbers, values, strict=True)):
            return None
        terms = [
            self._term(new, value, node) if number is None else number_term(new, value, node)
            for number, value in zip(numbers, values, strict=True)
        ]
        scales = {term.factor for term, n in zip(terms, numbers, strict=True) if n is None}
        scale = scales.pop() if scales else max((term.factor for term in terms), key=abs)
        if scales or not scale:
            return None
        parts = [1.0 if n is None else n / scale for n in numbers]

        def times(number: float) -> Value:
            chosen = [
                value if part == 0.0 else term.times(number * part)
                for value, term, part in zip(values, terms, parts, strict=True)
            ]
            return self._emit(new, node, "where", (mask, *chosen))

        place, saved = sum(term.place for term in terms), sum(term.saved for term in terms)
        return Term(scale, saved, place, 1 + max(term.depth for term in terms), times)


Split = Callable[[_Gathering, Graph, Node, tuple[Value, ...]], Term | None]
SPLITS: dict[str, Split] = {
    "negative": _Gathering._split_negative,
    "multiply": _Gathering._split_multiply,
    "divide": _Gathering._split_divide,
    "add": _Gathering._split_sum,
    "subtract": _Gathering._split_sum,
    "where": _Gathering._split_where,
    **dict.fromkeys(LINEAR, _Gathering._split_linear),
    **dict.fromkeys(PRODUCTS, _Gathering._split_bilinear),
}
