"""Factoring: merge like terms of a sum, and take out factors that terms share.

`g + g * (x * x) + (g * x) * x` is `g + 2.0 * (g * (x * x))`; `a * b + c - d * a` is `a * (b - d) +
c`; what is left of the terms is a sum again, in which the same is done. A divisor that terms share
divides their sum. A term that has all factors of another's factor shares that one: `p * c + a * d *
b`, with a `p = a * b` that something else reads, is `p * (c + d)`. It is done where that costs less
(tracejit/passes/algebra/sum_of_products.py); what has a name or another reader stays.

Of terms that are alike the one stays that costs least, times a number; they are collected only
where what they are multiples of has one sign, so that inf and nan are where they were, but for
numbers above 1e300 (float64): there a multiple overflows before a sum with other signs does.

A factor that is taken out must be bounded (tracejit/passes/algebra/ranges.py), as `tanh(x)` is:
with an infinite one `a * (b - d)` is infinite where `a * b - a * d` is nan. Of the factors that a
term keeps all but one must be bounded: their product overflows where that one is near the largest
number there is, and so may a sum of such; it underflows where the term does, too. What overflows to
infinity or nan in NumPy's order alone may be finite, and infinite what is nan for an infinity times
an underflow.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
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
>>> print(print_graph(drop_dead(factor_sums(graph))), end="")
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
from collections.abc import Sequence
from typing import NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.passes.algebra.ranges import Range, may_bound, range_of
from tracejit.passes.algebra.sum_of_products import (
    LARGEST,
    PRODUCTS,
    SMALLEST,
    SUMS,
    Factor,
    Product,
    Signed,
    addends_of,
    cost,
    expanded,
    factors_within,
    inner_sums,
    is_beside,
    is_linear,
    is_step,
    multiple_of,
    product_of,
    written_product,
    written_sum,
)
from tracejit.passes.framework.emission import (
    OutOfRange,
    check_merged,
    check_scaled,
    emit,
    is_real,
    made_by,
    number_of,
    readers_of,
)
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs


class Term(NamedTuple):
    """A term of a sum with its sign: `value`, which is `product`, or a product yet to be written,
    in which the number is positive. It stands in the line of `like`."""

    sign: float
    product: Product
    like: Node
    value: Value | None = None

    @property
    def number(self) -> float:
        """The number in the term, with its sign."""
        return self.sign * self.product.number

    @property
    def saved(self) -> int:
        """The cost that is saved without the term."""
        return self.product.price if self.value is None else self.product.saved


class Rest(NamedTuple):
    """The rest of a term without a factor, and the cost of the operations that are left out."""

    term: Term
    saved: int


class Shared(NamedTuple):
    """A factor, and the rests of the terms that share it, by their number."""

    factor: Factor
    rests: dict[int, Rest]

    @property
    def saved(self) -> int:
        """The cost that is saved in the terms."""
        return sum([rest.saved for rest in self.rests.values()])


def factor_sums(graph: Graph) -> Graph:
    """`graph` with like terms collected, and factors taken out of sums."""
    factoring = _Factoring(graph)
    if not any([factoring.related(node, node.operands) for node in factoring.sums]):
        return graph
    return rebuild(graph, factoring.rewrite, ops={*PRODUCTS, *SUMS})


class _Factoring:
    """One pass: how often each value is read, one that is new as often as what it stands for."""

    def __init__(self, graph: Graph) -> None:
        self.readers = readers_of(graph)
        self.ranges: dict[Value, Range] = {}
        self.has_bounds = any([may_bound(node) for node in graph.nodes])
        self.sums = [node for node in graph.nodes if self._is_sum(node)]
        self.inner = inner_sums(
            self.sums, lambda value, node: self.readers[value] == 1 and is_step(value, node)
        )

    def rewrite(
        self, new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        """The sum that `node` is the last step of, if that is cheaper in another form."""
        if operands is not node.operands:
            for old, value in zip(node.operands, operands, strict=True):
                self.readers[value] = max(self.readers[old], self.readers[value])
        addends = self.related(node, operands) if self._is_sum(node) else ()
        if not addends:
            return None
        times = Counter([value for _, value in addends])
        try:
            total = _Sum(self, new, node, times).total(addends)
        except OutOfRange:
            return None
        return (total,) if total is not None and total.type is node.results[0].type else None

    def related(self, node: Node, operands: tuple[Value, ...]) -> Sequence[Signed]:
        """The addends of the sum that `node` is the last step of; none where no two of them are
        alike, or have a factor in common that may be taken out, however far they are taken apart.
        """
        if node.results[0] in self.inner:
            return ()
        addends = addends_of(node, operands, lambda value: self.is_inner(value, node))
        terms = {term for _, term in addends}
        if len(terms) == len(addends) and sum([_is_product(term) for term in terms]) < 2:
            return ()
        seen: set[Value] = set()
        kinds: set[frozenset[Value]] = set()
        for _, term in addends:
            within, leaves = factors_within(term)
            if leaves in kinds or any(self._is_bounded(one) for one in within & seen):
                return addends
            seen |= within
            kinds.add(leaves)
        return ()

    def _is_sum(self, node: Node) -> bool:
        return node.op.name in SUMS and is_real(node.results[0])

    def is_inner(self, value: Value, reader: Node, times: int = 1) -> bool:
        """Return whether nothing but `reader`, so many times, reads a value."""
        return self.readers[value] <= times and is_step(value, reader)

    def _is_bounded(self, value: Value) -> bool:
        """Return whether a value may be taken out as a factor, or as a divisor."""
        if not self.has_bounds:
            return False
        found = range_of(value, self.ranges)
        return found.largest <= LARGEST or found.low >= 1.0 / LARGEST

    def limit(self, factor: Factor) -> float:
        """The bound of the numbers in a factor, which only rounding exceeds."""
        found = range_of(factor.value, self.ranges)
        if not factor.divides:
            return found.largest
        return 1.0 / found.low if found.low > 0.0 else math.inf


class _Sum:
    """One sum, of which `node` is the last step, and how often each of its terms is in it."""

    def __init__(self, pass_: _Factoring, new: Graph, node: Node, times: Counter[Value]) -> None:
        self.factoring, self.new, self.node, self.times = pass_, new, node, times
        self.spelled: dict[Value, Product] = {}

    def total(self, addends: Sequence[Signed]) -> Value | None:
        """The sum of the addends in a cheaper form; None if there is none."""
        terms = [self._term(sign, value) for sign, value in addends]
        better = self._shorter(terms)
        return None if better is terms else written_sum(self.new, self.node, self._written(better))

    def _shorter(self, terms: list[Term], has_others: bool = False) -> list[Term]:
        """The same sum with fewer terms, or cheaper ones: the terms themselves where there is none.
        It may be `has_others`, that something is added to it that is not subtracted."""
        collected = self._collected(terms)
        shared = self._shared(collected)
        if not shared:
            return collected
        firsts = {min(one.rests): one for one in shared}
        within = {number for one in shared for number in one.rests}
        has_others |= any(t.sign > 0 for n, t in enumerate(collected) if n not in within)
        better = [
            self._taken_out(firsts[number], has_others) if number in firsts else term
            for number, term in enumerate(collected)
            if number in firsts or number not in within
        ]
        return self._shorter(better, has_others)

    def _written(self, terms: list[Term]) -> list[Signed]:
        return [(term.sign, self._value_of(term)) for term in terms]

    def _value_of(self, term: Term) -> Value:
        return term.value or written_product(self.new, term.like, term.product)

    # Reading

    def _is_inner(self, value: Value) -> bool:
        return self.factoring.is_inner(value, self.node, self.times[value] or 1)

    def _term(self, sign: float, value: Value) -> Term:
        """A term, taken apart as far as nothing else reads its steps."""
        return Term(sign, product_of(value, self._is_inner), value.node or self.node, value)

    def _spelled(self, product: Product) -> Product:
        """A product taken apart as far as it is computed beside the sum, whoever reads it."""
        return expanded(product, lambda value: is_beside(value, self.node))

    def _spelled_value(self, value: Value) -> Product:
        """A value taken apart in the same way."""
        found = self.spelled.get(value)
        if found is None:
            found = self.spelled[value] = self._spelled(Product(1.0, Counter((Factor(value),))))
        return found

    # Like terms

    def _collected(self, terms: list[Term]) -> list[Term]:
        """The terms, one for those that are alike: multiples with one sign, and numbers."""
        groups: dict[object, list[tuple[Term, float]]] = {}
        for term in terms:
            product = self._spelled(term.product)
            kind: object = frozenset(product.factors.items()), term.sign * product.number > 0
            if not product.factors:
                kind = term.value and (term.value, term.sign)
            groups.setdefault(kind, []).append((term, term.sign * product.number))
        if len(groups) == len(terms):
            return terms
        collected: list[Term] = []
        for group in groups.values():
            one = self._one_of(*zip(*group, strict=True)) if len(group) > 1 else None
            if one is None:
                collected += [term for term, _ in group]
            elif one.product.number or len(groups) == 1:
                collected.append(one)
        return terms if len(collected) == len(terms) else collected

    def _one_of(self, terms: tuple[Term, ...], numbers: tuple[float, ...]) -> Term | None:
        """One term for terms that are these numbers times the same; None if nothing is saved."""
        at, stays = min(enumerate(terms), key=lambda term: term[1].product.price)
        if stays.value is None or not stays.product.factors:
            # The numbers are those of factors spelled out; the factors that stay have another.
            ratio = stays.number / numbers[at] if numbers[at] else 1.0
            numbers = tuple([one * ratio for one in numbers])
            number = sum(numbers)
            if number:  # else they cancel
                check_merged(filter(None, numbers), number, self.node.results[0].type.dtype)
            product = Product(abs(number), stays.product.factors)
            return Term(math.copysign(1.0, number), product, stays.like)
        values = {term.value: term.saved for term in terms}
        if sum([one is None or not self._is_inner(one) for one in values]) > 1:
            return None
        multiple, base = sum([one / numbers[at] for one in numbers]), stays.value
        while (found := multiple_of(base)) is not None and self._is_inner(base):
            multiple, base = multiple * found[0], found[1]
        saved = (len(terms) - 1) * cost(self.node.results[0].type) - stays.saved
        saved += sum(values.values())
        if not SMALLEST <= abs(multiple) <= LARGEST or saved <= self._spent(stays, abs(multiple)):
            return None
        if abs(multiple) != 1.0:
            factor = self.new.constant(abs(multiple))
            if isinstance(base, Constant):
                check_scaled(abs(multiple), base, self.node.results[0].type.dtype)
            base = emit(self.new, self.node, "multiply", (factor, base))
        return self._term(stays.sign * math.copysign(1.0, multiple), base)

    def _spent(self, term: Term, multiple: float) -> int:
        """The cost of multiplying a term by a number, where one is in it at no cost."""
        if multiple == 1.0 or term.product.number != 1.0:
            return 0
        factors = [one.value for one in term.product.factors if not one.divides]
        return min(map(self._place, factors), default=cost(self.node.results[0].type))

    def _place(self, value: Value) -> int:
        """The cost of multiplying a value by a number, or the operand that it is a linear function
        of."""
        here, made = cost(value.type), value.node
        if made is None or not is_linear(made) or not self._is_inner(value):
            return here
        return min(here, self._place(made.operands[0]))

    # Common factors

    def _shared(self, terms: list[Term]) -> list[Shared]:
        """The best factors to take out of a sum, one factor at most of each term."""
        having: dict[Factor, list[int]] = {}
        for number, term in enumerate(terms):
            for factor in term.product.factors if term.saved else ():
                having.setdefault(factor, []).append(number)
        offers = [
            Shared(factor, self._rests(factor, terms, numbers))
            for factor, numbers in having.items()
            if (len(numbers) > 1 or _is_compared(factor, terms)) and self._may_leave(factor)
        ]
        chosen: list[Shared] = []
        used: set[int] = set()
        for offer in sorted(offers, key=lambda offer: -offer.saved):
            left = {n: rest for n, rest in offer.rests.items() if n not in used}
            offer = Shared(offer.factor, left)
            is_negative = all(
                rest.term.sign < 0 and rest.term.product.factors for rest in left.values()
            )
            operations = 2 if is_negative and len(left) == len(terms) else 1
            spent = operations * cost(self.node.results[0].type)
            if len(left) > 1 and offer.saved > spent:
                chosen.append(offer)
                used.update(left)
        return chosen

    def _may_leave(self, factor: Factor) -> bool:
        """Return whether a factor is bounded, and no number."""
        return number_of(factor.value) is None and self.factoring.limit(factor) <= LARGEST

    def _rests(self, factor: Factor, terms: list[Term], having: list[int]) -> dict[int, Rest]:
        """The rests of the terms that have a factor, or all of its factors."""
        rests = {number: self._rest(terms[number], Counter((factor,))) for number in having}
        for number, term in enumerate(terms if _is_compared(factor, terms) else ()):
            if number not in rests:
                rests[number] = self._rest_of_product(term, factor.value)
        return {n: rest for n, rest in sorted(rests.items()) if rest is not None and rest.saved > 0}

    def _rest(self, term: Term, factors: Counter[Factor], divisor: float = 1.0) -> Rest | None:
        """The rest of a term without some of its factors; None if that may be large."""
        left, number = term.product.factors - factors, term.number / divisor
        if not left:
            check_merged((1.0,), number, self.node.results[0].type.dtype)
        elif not SMALLEST <= abs(number) <= LARGEST or not self._is_safe(left):
            return None
        rest = Term(math.copysign(1.0, number), Product(abs(number), left), term.like)
        return Rest(rest, term.saved - rest.product.price)

    def _rest_of_product(self, term: Term, factor: Value) -> Rest | None:
        """The product of the factors that a term has besides those of `factor`. Where this
        underflows, a step of the term does."""
        if not term.product.steps:
            return None
        within, all_of = self._spelled_value(factor), self._spelled(term.product)
        if not within.factors <= all_of.factors or not within.number:
            return None
        if not any(self._bounds(within, self._spelled_value(one)) for one in term.product.steps):
            return None
        spelled = term._replace(product=all_of._replace(steps=term.product.steps))
        return self._rest(spelled, within.factors, within.number)

    def _bounds(self, within: Product, step: Product) -> bool:
        """Return whether a step of a term has all factors of a product, and besides these nothing
        that makes it much larger."""
        if not within.factors <= step.factors:
            return False
        if abs(step.number) > LARGEST * abs(within.number):
            return False
        others = step.factors - within.factors
        return all(self.factoring.limit(one) <= LARGEST for one in others)

    def _is_safe(self, factors: Counter[Factor]) -> bool:
        """Return whether no product of some of the factors is much larger than one of them, and all
        are of the dtype of the sum. One over a small number is much larger."""
        product, unlimited = 1.0, 0
        for factor, count in factors.items():
            value, limit = factor.value, self.factoring.limit(factor)
            if number_of(value) is not None or not is_real(value):
                return False
            if value.type.dtype != self.node.results[0].type.dtype:
                return False
            if limit <= LARGEST:
                product *= max(limit, 1.0) ** count
            else:
                unlimited += 2 if factor.divides else count
        return unlimited <= 1 and product <= LARGEST

    def _taken_out(self, shared: Shared, has_others: bool) -> Term:
        """A factor times the sum of what it is multiplied by: where that is not added to anything,
        a number in it has a sign."""
        rests = self._shorter([rest.term for rest in shared.rests.values()], True)
        addends = sorted(self._written(rests), key=lambda one: number_of(one[1]) is not None)
        sign = max(sign for sign, _ in addends)
        if sign < 0 and not has_others:
            addends = [self._signed(addend) for addend in addends]
            sign = max(sign for sign, _ in addends)
        value = written_sum(self.new, self.node, [(sign * one, rest) for one, rest in addends])
        if shared.factor.divides:
            value = emit(self.new, self.node, "divide", (value, shared.factor.value))
        else:
            value = emit(self.new, self.node, "multiply", (shared.factor.value, value))
        return self._term(sign, value)

    def _signed(self, addend: Signed) -> Signed:
        """A number with its sign."""
        number = number_of(addend[1])
        return addend if number is None else (1.0, self.new.constant(addend[0] * number))


def _is_compared(factor: Factor, terms: list[Term]) -> bool:
    """Return whether terms are searched for the factors of a factor."""
    is_product = not factor.divides and made_by(factor.value, "multiply") is not None
    return is_product and len(terms) <= costs().most_compared_terms


def _is_product(value: Value) -> bool:
    return made_by(value, *PRODUCTS) is not None
