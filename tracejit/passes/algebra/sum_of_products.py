"""Sums of products: the form in which arithmetic is reassociated.

A value is read as a sum of terms. A term is a number times a product of factors, and some factors
divide. What is taken apart is what `enters` allows: sums, products, quotients and signs that
nothing else needs, or what is beside a node, whoever needs it. Rewrites of the form say what they
save by one cost model, and what they leave is written as nodes again: small factors are multiplied
first, and what divides divides their product.

>>> from tracejit.ir.printer import parse_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(x: f8[9], y: f8[9]) -> d: f8[9]
...   a  f8[9] = negative x
...   b  f8[9] = multiply 2.0 a
...   c  f8[9] = divide b y
...   d  f8[9] = multiply c x
... ''', OPS)
>>> product = product_of(graph.outputs[0], lambda value: True)
>>> product.number, [(factor.value.name, factor.divides) for factor in product.factors.elements()]
(-2.0, [('x', False), ('x', False), ('y', True)])
>>> product.saved == 4 * cost(graph.outputs[0].type)
True
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tracejit.ops.reductions import reductions
from tracejit.passes.framework.emission import emit, is_real, made_by, number_of
from tracejit.support.cost_model import costs

SUMS = (add.name, subtract.name)
PRODUCTS = (multiply.name, divide.name, negative.name)
SMALLEST, LARGEST = 2.0**-24, 2.0**24
"""Numbers in between move from one factor to another, and from a factor to the product."""
_TINY, _HUGE = 1e-100, 1e100

Signed = tuple[float, Value]
Enters = Callable[[Value], bool]


class Factor(NamedTuple):
    """A value that multiplies or divides."""

    value: Value
    divides: bool = False


class Product(NamedTuple):
    """A number times factors; `steps` are the values that were taken apart."""

    number: float
    factors: Counter[Factor]
    steps: frozenset[Value] = frozenset()

    @property
    def saved(self) -> int:
        """The cost of the operations that were taken apart."""
        return sum([cost(step.type) for step in self.steps])

    @property
    def price(self) -> int:
        """The cost of writing the product."""
        sizes = sorted([one.value.type.estimated_size for one in self.factors.elements()])
        divides_first = all(one.divides for one in self.factors)
        numbers = abs(self.number) != 1.0 or (divides_first and bool(self.factors))
        if numbers and sizes:
            sizes.insert(0, sizes[0])
        return sum([costs().call_elements + size for size in sizes[1:]])


class Scaled(NamedTuple):
    """A value as a number times the rest: how much is saved where the number is left out, how much
    it costs to apply another in its place, and `times(number)`, which makes the rest times a
    number."""

    number: float
    saved: int
    place: int
    depth: int
    times: Callable[[float], Value]

    @property
    def gain(self) -> int:
        """The cost that is saved where the number is applied in the cheapest place."""
        return self.saved - (0 if self.number == 1.0 else self.place)

    def whole(self) -> Value:
        """The value, the number in the cheapest place."""
        return self.times(self.number)

    def scaled(self, number: float, saved: int = 0) -> Scaled:
        """The same with another number, where that saves so much more."""
        return Scaled(number, self.saved + saved, self.place, self.depth, self.times)

    def relative_to(self, number: float) -> Scaled:
        """The same in place of its multiple by a number; nothing stays nothing."""
        ratio = self.number / number
        return self._replace(times=lambda one: self.times(one * ratio if ratio else self.number))

    def placed(self) -> Scaled:
        """The same of the value that it has become: left out, its number saves its place."""
        return self._replace(saved=0 if self.number == 1.0 else self.place)


def cost(type: ArrayType) -> int:
    """The cost of an elementwise operation with a result of this type."""
    return costs().call_elements + type.estimated_size


# Reading


def product_of(value: Value, enters: Enters) -> Product:
    """A value as a product; of itself, where it is none."""
    return expanded(Product(1.0, Counter((Factor(value),))), enters)


def expanded(product: Product, enters: Enters) -> Product:
    """A product with the factors that multiply taken apart."""
    if not any([_is_made(one) for one in product.factors]):
        return product
    number, steps = product.number, set(product.steps)
    factors, most = Counter[Factor](), costs().most_factors
    pending = list(product.factors.elements())[::-1]
    while pending:
        value, divides = factor = pending.pop()
        known, made = number_of(value), made_by(value, *PRODUCTS)
        if known and not divides and _is_number(number, number * known):
            number *= known
        elif made is None or divides or len(steps) == most or not _enters(made, enters):
            factors[factor] += 1
        else:
            steps.add(value)
            first, last = made.operands[0], made.operands[-1]
            divisor = number_of(last) if made.op is divide else None
            if made.op is negative:
                number = -number
            elif divisor and _TINY < abs(number / divisor) < _HUGE:
                number /= divisor
            else:
                pending.append(Factor(last, made.op is divide))
            pending.append(Factor(first))
    return Product(number, factors, frozenset(steps))


def factors_within(term: Value) -> tuple[set[Value], frozenset[Value]]:
    """The values besides numbers that a term is the product of, and those of them that are no
    products themselves."""
    within, leaves, pending = {term}, [], [term]
    while pending:
        value = pending.pop()
        made = made_by(value, *PRODUCTS)
        if made is None:
            leaves.append(value)
            continue
        for one in made.operands:
            if one not in within and number_of(one) is None:
                within.add(one)
                pending.append(one)
    return within, frozenset(leaves)


def _is_made(factor: Factor) -> bool:
    """Return whether a factor is a number, or may be a product."""
    value, divides = factor
    if value.node is None:
        return not divides and isinstance(value, Constant)
    return not divides and value.node.op.name in PRODUCTS


def _is_number(before: float, after: float) -> bool:
    """Return whether a number in a product may become another: none that is lost in between."""
    return math.isfinite(after) and (abs(before) == 1.0 or _TINY < abs(after) < _HUGE)


def _enters(made: Node, enters: Enters) -> bool:
    """Return whether a product is taken apart: all its operands are of its dtype, or numbers."""
    result = made.results[0]
    return enters(result) and all(
        [one.type.dtype == result.type.dtype or number_of(one) is not None for one in made.operands]
    )


def addends_of(last: Node, operands: tuple[Value, ...], enters: Enters) -> list[Signed]:
    """The terms of the sum of which `last` is the last step, in order, each with its sign."""
    addends: list[Signed] = []
    pending = _signed(last, operands, 1.0)[::-1]
    while pending:
        sign, value = pending.pop()
        made = made_by(value, *SUMS)
        if made is not None and enters(value):
            pending += _signed(made, made.operands, sign)[::-1]
        else:
            addends.append((sign, value))
    return addends


def _signed(node: Node, operands: tuple[Value, ...], sign: float) -> list[Signed]:
    """The operands of a sum or difference that has a sign, each with its own."""
    other = sign if node.op is add else -sign
    return list(zip((sign, other), operands, strict=True))


def inner_sums(sums: Iterable[Node], enters: Callable[[Value, Node], bool]) -> set[Value]:
    """The sums that are steps on the way to others."""
    return {
        value
        for node in sums
        for value in node.operands
        if made_by(value, *SUMS) and enters(value, node)
    }


def is_linear(node: Node) -> bool:
    """Return whether the result of a node is linear in its first operand, and the others say
    where."""
    if not node.op.linear_in or "dtype" in node.params:
        return False
    return [one.type.is_inexact for one in node.operands].count(True) == 1 and (
        node.operands[0].type.is_inexact
    )


def multiple_of(value: Value) -> Signed | None:
    """A value as a number times another of its type; None if it is no such product."""
    made = made_by(value, "multiply", "negative")
    if made is None:
        return None
    if made.op is negative:
        return -1.0, made.operands[0]
    for constant, rest in (made.operands, made.operands[::-1]):
        number = number_of(constant)
        if number is not None and rest.type is value.type:
            return number, rest
    return None


def is_step(value: Value, reader: Node) -> bool:
    """Return whether a value without a name is computed beside its reader."""
    return not value.label and is_beside(value, reader)


def is_beside(value: Value, reader: Node) -> bool:
    """Return whether a value is computed in the same part of the function as its reader."""
    node = value.node
    return (
        node is not None
        and node.segment == reader.segment
        and node.region == reader.region
        and node.tapes == reader.tapes
        and is_real(value)
    )


def is_full(node: Node) -> bool:
    """Return whether a sum is one number of all elements."""
    if node.op is not reductions.sum or node.results[0].type.shape:
        return False
    return is_real(node.results[0]) and is_plain(node)


def is_plain(node: Node) -> bool:
    """Return whether a sum is one of an array of the same dtype, with no initial value or mask."""
    return is_real(node.operands[0]) and node.params.keys() <= {"axis", "keepdims"}


# Writing


def written_sum(new: Graph, node: Node, addends: Sequence[Signed]) -> Value:
    """The addends added up in order, from the first that is not subtracted on."""
    first = max(addends, key=lambda addend: addend[0])
    total = first[1] if first[0] > 0 else emit(new, node, "negative", (first[1],))
    for addend in addends:
        if addend is not first:
            step = "add" if addend[0] > 0 else "subtract"
            total = emit(new, node, step, (total, addend[1]))
    return total


def written_product(new: Graph, node: Node, product: Product) -> Value:
    """The product of a positive number and factors, in their order where they are of one size."""
    factors = sorted(product.factors.elements(), key=lambda one: one.value.type.estimated_size)
    first = next((one for one in factors if not one.divides), None)
    value = new.constant(product.number) if first is None else first.value
    if first is not None:
        factors.remove(first)
        if product.number != 1.0:
            value = emit(new, node, "multiply", (new.constant(product.number), value))
    for other, divides in factors:
        value = emit(new, node, "divide" if divides else "multiply", (value, other))
    return value
