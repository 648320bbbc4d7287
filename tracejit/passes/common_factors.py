"""Common factors: terms of a sum that share a factor are the factor times the sum of the rest.

`a * b + c - d * a` is `a * (b - d) + c`. A divisor that terms share divides their sum. A term that
has all factors of another's factor shares that one: `p * c + a * d * b`, with a `p = a * b` that
something else reads, is `p * (c + d)`. It is done where operations are saved; what has a name or
another reader stays.

The factor must have a limit (tracejit/passes/magnitudes.py), as `tanh(x)` has: with an infinite one
`a * (b - d)` is infinite where `a * b - a * d` is nan. Of the factors that a term keeps all but one
must have a limit: their product overflows where that one is near the largest number there is, and
so may a sum of such; it underflows where the term does, too. What overflows to infinity or nan in
NumPy's order alone may be finite, and infinite what is nan for an infinity times an underflow.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[9], y: f8[9], z: f8[9]) -> d: f8[9]
...   a  f8[9] = tanh x
...   b  f8[9] = multiply a y
...   c  f8[9] = multiply 2.0 a
...   c  f8[9] = multiply c z
...   d  f8[9] = subtract b x
...   d  f8[9] = subtract d c
... ''', OPS)
>>> for value in graph.values():
...     value.label = ""
>>> print(print_graph(drop_dead(take_out_factors(graph))), end="")
graph f(x: f8[9], y: f8[9], z: f8[9]) -> d: f8[9]
  a    f8[9] = tanh x
  c_1  f8[9] = multiply 2.0 z
  d_1  f8[9] = subtract y c_1
  d_2  f8[9] = multiply a d_1
  d    f8[9] = subtract d_2 x
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.addends import (
    SUMS,
    Signed,
    added_up,
    addends_of,
    inner_sums,
    is_beside,
    is_step,
)
from tracejit.passes.emission import (
    OutOfRange,
    check_merged,
    emit,
    for_decisions,
    is_real,
    made_by,
    number_of,
    readers_of,
)
from tracejit.passes.factors import LARGEST, SMALLEST
from tracejit.passes.magnitudes import least_of, limit_of, limits_of
from tracejit.passes.rebuild import rebuild

Product = tuple[float, Counter[Value]]
"""A number and factors."""
MOST_FACTORS = 16
MOST_TERMS = 8
"""Up to as many terms are searched for the factors of another's factor."""
PRODUCTS = ("multiply", "divide", "negative")


class Factor(NamedTuple):
    """A value that multiplies or divides."""

    value: Value
    divides: bool = False


class Term(NamedTuple):
    """A term of a sum with its sign: the product of `factors`, made by the operations `steps`,
    which nothing else reads."""

    sign: float
    value: Value
    factors: Counter[Factor]
    steps: frozenset[Value]


class Rest(NamedTuple):
    """What is left of a term without a common factor: `number` times `factors`, or the term as it
    stands but for that factor, where these are None; and how many operations that saves."""

    saved: int
    number: float = 1.0
    factors: tuple[Value, ...] | None = None

    @property
    def sign(self) -> float:
        """The sign that is not in the number."""
        return self.number if abs(self.number) == 1.0 else 1.0


class Shared(NamedTuple):
    """A factor, and the rests of the terms that share it, by their number."""

    factor: Factor
    rests: dict[int, Rest]

    @property
    def saved(self) -> int:
        """How many operations taking it out saves."""
        return sum(rest.saved for rest in self.rests.values()) - 1


class Found(NamedTuple):
    """The terms of a sum, and what some of them share."""

    terms: list[Term]
    shared: list[Shared]


def take_out_factors(graph: Graph) -> Graph:
    """`graph` with common factors of terms taken out of sums."""
    found = _Search(graph).found()
    if not found:
        return graph
    return rebuild(graph, _Rewriting(found).rewrite, ops=(*PRODUCTS, *SUMS))


class _Search:
    """What there is to take out of a graph's sums."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.limits = limits_of(graph)
        divisors = [node.operands[1] for node in graph.nodes if node.op.name == "divide"]
        made = {value for value in divisors if value.node is not None}
        self.least = {value: least for value in made if (least := least_of(value))}
        self.readers = readers_of(graph) if self.limits or self.least else Counter[Value]()
        self.spelled: dict[Value, Product] = {}

    def found(self) -> dict[Node, Found]:
        """The sums that get shorter, by their last step."""
        if not self.readers:
            return {}
        kept = for_decisions(self.graph)
        sums = [
            node
            for node in self.graph.nodes
            if node.op.name in SUMS and node not in kept and is_real(node.results[0])
        ]
        inner = inner_sums(sums, self._is_inner)
        found: dict[Node, Found] = {}
        for node in sums:
            if node.results[0] not in inner and _has_products(node):
                terms = self._terms(node)
                shared = self._shared(terms, node)
                if shared:
                    found[node] = Found(terms, shared)
        return found

    def _terms(self, node: Node) -> list[Term]:
        """The terms of the sum that `node` is the last step of; none where fewer than two are
        products."""
        addends = addends_of(node, node.operands, lambda value: self._is_inner(value, node))
        products = [value for _, value in addends if made_by(value, *PRODUCTS)]
        if sum([self._is_inner(value, node) for value in products]) < 2:
            return []
        return [self._term(sign, value, node) for sign, value in addends]

    def _is_inner(self, value: Value, reader: Node) -> bool:
        return self.readers[value] == 1 and is_step(value, reader)

    def _term(self, sign: float, value: Value, reader: Node) -> Term:
        """A term taken apart as far as nothing else reads its steps."""
        factors, steps, pending = Counter[Factor](), set[Value](), [value]
        dtype = value.type.dtype
        while pending:
            one = pending.pop()
            made = made_by(one, *PRODUCTS) if len(steps) < MOST_FACTORS else None
            if made is None or not self._is_inner(one, reader) or one.type.dtype != dtype:
                factors[Factor(one)] += 1
                continue
            steps.add(one)
            if made.op.name == "divide":
                factors[Factor(made.operands[1], divides=True)] += 1
                pending.append(made.operands[0])
            else:
                pending += made.operands[::-1]
        return Term(sign, value, factors, frozenset(steps))

    def _shared(self, terms: list[Term], node: Node) -> list[Shared]:
        """What is best taken out of a sum, one factor at most of each term."""
        self.spelled.clear()
        having: dict[Factor, list[int]] = {}
        for number, term in enumerate(terms):
            for factor in term.factors if term.steps else ():
                if factor.value in (self.least if factor.divides else self.limits):
                    having.setdefault(factor, []).append(number)
        offers = [
            Shared(factor, self._rests(factor, terms, numbers, node))
            for factor, numbers in having.items()
            if (len(numbers) > 1 or _is_product(factor, terms))
            and factor.value.type is node.results[0].type
            and self._limit(factor) <= LARGEST
        ]
        chosen: list[Shared] = []
        used: set[int] = set()
        for offer in sorted(offers, key=lambda offer: -offer.saved):
            left = {n: rest for n, rest in offer.rests.items() if n not in used}
            offer = Shared(offer.factor, left)
            negative = all(terms[n].sign * rest.sign < 0 for n, rest in left.items())
            least = 1 if negative and len(left) == len(terms) else 0
            if len(left) > 1 and offer.saved > least:
                chosen.append(offer)
                used.update(left)
        return chosen

    def _rests(
        self, factor: Factor, terms: list[Term], having: list[int], node: Node
    ) -> dict[int, Rest]:
        """What is left of the terms that have a factor, or all of its factors."""
        rests = {number: self._rest(terms[number], factor) for number in having}
        if _is_product(factor, terms):
            for number, term in enumerate(terms):
                if number not in rests:
                    rests[number] = self._product_left(term, factor.value, node)
        return {n: rest for n, rest in sorted(rests.items()) if rest is not None and rest.saved > 0}

    def _rest(self, term: Term, factor: Factor) -> Rest | None:
        left = term.factors - Counter((factor,))
        if not self._is_safe(left, term.value):
            return None
        above = sum(count for one, count in term.factors.items() if not one.divides)
        return Rest(saved=1 if factor.divides or above > 1 else 0)

    def _product_left(self, term: Term, factor: Value, node: Node) -> Rest | None:
        """The product of the factors that a term has besides those of `factor`."""
        if not term.steps:
            return None
        number, factors = self._factors(term.value, node)
        divisor, others = self._factors(factor, node)
        if not others <= factors or not divisor:
            return None
        left, number = factors - others, number / divisor
        if not term.steps.isdisjoint(left):
            return None
        if not SMALLEST <= abs(number) <= LARGEST:
            return None
        if not self._is_safe(Counter({Factor(one): n for one, n in left.items()}), term.value):
            return None
        if not any(self._bounds(factor, step, node) for step in term.steps):
            return None
        made = max(left.total() - 1, 0) + (abs(number) != 1.0 and left.total() > 0)
        return Rest(len(term.steps) - made, number, tuple(left.elements()))

    def _factors(self, value: Value, node: Node) -> Product:
        """A number and the factors that a value is a product of, whoever reads its steps."""
        known = self.spelled.get(value)
        if known is None:
            known = self.spelled[value] = _spelled(value, node)
        return known

    # Magnitudes

    def _limit(self, factor: Factor) -> float:
        if not factor.divides:
            return limit_of(self.limits, factor.value)
        least = self.least.get(factor.value)
        return 1.0 / least if least else math.inf

    def _is_safe(self, factors: Counter[Factor], like: Value) -> bool:
        """Tell if no product of some of the factors is much larger than one of them, and all are
        of the dtype of `like`. What is one over a small number is not."""
        product, unlimited = 1.0, 0
        for factor, count in factors.items():
            value, limit = factor.value, self._limit(factor)
            if not (number_of(value) is not None or _has_dtype(value, like)):
                return False
            if limit <= LARGEST:
                product *= max(limit, 1.0) ** count
            else:
                unlimited += 2 if factor.divides else count
        return unlimited <= 1 and product <= LARGEST

    def _bounds(self, factor: Value, step: Value, node: Node) -> bool:
        """Tell if a step has all factors of `factor`, and besides these nothing that makes it much
        larger: where the factor underflows, so does the step."""
        number, factors = self._factors(step, node)
        divisor, others = self._factors(factor, node)
        if not others <= factors or abs(number) > LARGEST * abs(divisor):
            return False
        return all(one in self.limits for one in factors - others)


class _Rewriting:
    """The sums with their common factors taken out."""

    def __init__(self, found: dict[Node, Found]) -> None:
        self.found = found
        self.known: dict[Value, Value] = {}
        steps = [step for one in found.values() for term in one.terms for step in term.steps]
        self.operands = {step: step.node.operands for step in steps if step.node is not None}

    def rewrite(
        self, new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        """The sum that `node` is the last step of, if there is something to take out."""
        self.known.update(zip(node.operands, operands, strict=True))
        found = self.found.get(node)
        if found is None:
            return None
        try:
            total = added_up(new, node, list(self._addends(new, node, found)))
        except OutOfRange:
            return None
        return (total,) if total.type is node.results[0].type else None

    def _addends(self, new: Graph, node: Node, found: Found) -> Iterator[Signed]:
        """The terms that share nothing, and in the place of the first of those that share a factor
        their sum times it."""
        firsts = {min(shared.rests): shared for shared in found.shared}
        within = {number for shared in found.shared for number in shared.rests}
        is_added_to = any(t.sign > 0 for n, t in enumerate(found.terms) if n not in within)
        for number, term in enumerate(found.terms):
            if number in firsts:
                yield self._taken_out(new, node, found.terms, firsts[number], is_added_to)
            elif number not in within:
                yield term.sign, self.known[term.value]

    def _taken_out(
        self, new: Graph, node: Node, terms: list[Term], shared: Shared, is_added_to: bool
    ) -> Signed:
        """A factor times the sum of what it is multiplied by, numbers as one: where that is not
        added to anything, the number has a sign."""
        factor = shared.factor
        rests = [self._left(new, terms[n], factor, rest) for n, rest in shared.rests.items()]
        numbers = [sign * (number_of(value) or 0.0) for sign, value in rests]
        number = sum(numbers)
        if number:  # else they cancel
            check_merged(filter(None, numbers), number, node.results[0].type.dtype)
        rests = [(sign, value) for sign, value in rests if number_of(value) is None]
        if number or not rests:
            sign = math.copysign(1.0, number) if is_added_to else 1.0
            rests.append((sign, new.constant(sign * number)))
        sign = max(sign for sign, _ in rests)
        value = added_up(new, node, [(sign * other, rest) for other, rest in rests])
        if factor.divides:
            return sign, emit(new, node, "divide", (value, self.known[factor.value]))
        return sign, emit(new, node, "multiply", (self.known[factor.value], value))

    def _left(self, new: Graph, term: Term, factor: Factor, rest: Rest) -> Signed:
        """What is left of a term, with its sign."""
        if rest.factors is None:
            return term.sign, self._without(new, term.value, factor)
        sign = rest.sign
        value: Value = new.constant(sign * rest.number)
        assert term.value.node is not None
        for one in rest.factors:
            value = _product(new, term.value.node, value, self.known[one])
        return sign * term.sign, value

    def _without(self, new: Graph, value: Value, factor: Factor) -> Value:
        """A product of steps without the factor, which is one of its own."""
        if value is factor.value and not factor.divides:
            return new.constant(1.0)
        node, operands = value.node, self.operands[value]
        assert node is not None
        first, second = operands[0], operands[-1]
        if node.op.name == "negative":
            return _product(new, node, new.constant(-1.0), self._without(new, first, factor))
        if factor == Factor(second, divides=node.op.name == "divide"):
            return self.known[first]
        if node.op.name == "divide":
            left = self._without(new, first, factor)
            return emit(new, node, "divide", (left, self.known[second]))
        if self._has_factor(first, factor):
            return _product(new, node, self._without(new, first, factor), self.known[second])
        return _product(new, node, self.known[first], self._without(new, second, factor))

    def _has_factor(self, value: Value, factor: Factor) -> bool:
        """Tell if a value, if it is one of the steps, has a factor."""
        pending = [value]
        while pending:
            one = pending.pop()
            if one is factor.value and not factor.divides:
                return True
            if one in self.operands and one.node is not None:
                operands = self.operands[one]
                is_quotient = one.node.op.name == "divide"
                if is_quotient and factor == Factor(operands[1], divides=True):
                    return True
                pending += operands[:1] if is_quotient else operands
        return False


def _product(new: Graph, node: Node, first: Value, second: Value) -> Value:
    """The product of two values, of which 1.0 and -1.0 make no product."""
    numbers = number_of(first), number_of(second)
    if numbers[0] is not None and numbers[1] is not None:
        check_merged(numbers, numbers[0] * numbers[1], node.results[0].type.dtype)
        return new.constant(numbers[0] * numbers[1])
    for number, other in zip(numbers, (second, first), strict=True):
        if number == 1.0:
            return other
        if number == -1.0:
            return emit(new, node, "negative", (other,))
    return emit(new, node, "multiply", (first, second))


def _has_products(node: Node) -> bool:
    """Tell if two terms of a sum may be products."""
    names = [value.node.op.name if value.node else "" for value in node.operands]
    return names[0] in SUMS or names[1] in SUMS or (names[0] in PRODUCTS and names[1] in PRODUCTS)


def _spelled(value: Value, node: Node) -> Product:
    """A number and the factors that a value is a product of, as far as they are multiplied beside
    `node`."""
    number, factors, steps, pending = 1.0, Counter[Value](), 0, [value]
    while pending:
        one = pending.pop()
        made = made_by(one, "multiply", "negative")
        known = number_of(one) if one.node is None else None
        if known is not None:
            number *= known
        elif made is None or steps == MOST_FACTORS or not is_beside(one, node):
            factors[one] += 1
        elif one.type.dtype != value.type.dtype:
            factors[one] += 1
        else:
            steps += 1
            number = -number if made.op.name == "negative" else number
            pending += made.operands[::-1]
    return number, factors


def _is_product(factor: Factor, terms: list[Term]) -> bool:
    """Tell if it is looked for all factors of a factor in other terms."""
    is_for_it = not factor.divides and len(terms) <= MOST_TERMS
    return is_for_it and made_by(factor.value, "multiply") is not None


def _has_dtype(value: Value, like: Value) -> bool:
    return is_real(value) and value.type.dtype == like.type.dtype
