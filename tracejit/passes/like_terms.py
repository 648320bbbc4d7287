"""Like terms: products of the same factors in one sum are one product, taken several times.

`g + g * (x * x) + (g * x) * x` is `g + 2.0 * (g * (x * x))`. The gradient of a polynomial written
as products, `a * x * x * x`, has a term for each factor, made in an order of its own. Of terms that
are alike the one stays that costs least, with the sum of what they are multiples of; they are
collected only where these have one sign, so that inf and nan are where they were.

The order in which factors are multiplied may be seen besides the last bits where a product of some
of them overflows or underflows: then the term that stays tells.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(g: f8[9], x: f8[9]) -> d: f8[9]
...   a  f8[9] = multiply x x
...   b  f8[9] = multiply g a
...   c  f8[9] = multiply g x
...   c  f8[9] = multiply c x
...   d  f8[9] = add g b
...   d  f8[9] = add d c
... ''', OPS)
>>> for value in graph.values():
...     value.label = ""
>>> print(print_graph(drop_dead(collect_like_terms(graph))), end="")
graph f(g: f8[9], x: f8[9]) -> d: f8[9]
  a    f8[9] = multiply x x
  b    f8[9] = multiply g a
  d_1  f8[9] = multiply 2.0 b
  d    f8[9] = add g d_1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.addends import SUMS, added_up, addends_of, inner_sums, is_beside, is_step
from tracejit.passes.emission import (
    emit,
    for_decisions,
    is_real,
    made_by,
    number_of,
    readers_of,
)
from tracejit.passes.factors import LARGEST, SMALLEST
from tracejit.passes.rebuild import rebuild

MOST_FACTORS = 16
PRODUCTS = ("multiply", "negative")


class Term(NamedTuple):
    """A term of a sum: `value` with its sign. It is `multiple` times `base`, and as a product
    `number` times `factors`, each as often as is said, made by the multiplications `nodes`."""

    sign: float
    value: Value
    multiple: float
    base: Value
    number: float
    factors: frozenset[tuple[Value, int]]
    nodes: frozenset[Node]


def collect_like_terms(graph: Graph) -> Graph:
    """`graph` with like terms of sums as one."""
    return rebuild(graph, _Collecting(graph).rewrite, ops=(*PRODUCTS, *SUMS))


class _Collecting:
    """One pass: how often each value is read, one that is new as often as what it stands for."""

    def __init__(self, graph: Graph) -> None:
        self.readers = readers_of(graph)
        self.kept = for_decisions(graph)
        self.inner = inner_sums(
            filter(self._is_sum, graph.nodes),
            lambda value, node: self.readers[value] == 1 and is_step(value, node),
        )

    def rewrite(
        self, new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        """The sum that `node` is the last step of, if terms of it are alike."""
        if operands is not node.operands:
            for old, value in zip(node.operands, operands, strict=True):
                self.readers[value] = max(self.readers[old], self.readers[value])
        if not self._is_sum(node) or node.results[0] in self.inner:
            return None
        addends = addends_of(node, operands, lambda value: self._is_inner(value, node))
        if sum([made_by(value, *PRODUCTS) is not None for _, value in addends]) < 2:
            return None
        terms = [self._term(sign, value, node) for sign, value in addends]
        if sum([bool(term.nodes) for term in terms]) < 2:
            return None
        collected = self._collected(new, node, terms)
        if len(collected) == len(terms):
            return None
        return (added_up(new, node, [(term.sign, term.value) for term in collected]),)

    def _is_sum(self, node: Node) -> bool:
        return node.op.name in SUMS and node not in self.kept and is_real(node.results[0])

    def _is_inner(self, value: Value, reader: Node) -> bool:
        """Tell if nothing but `reader` reads a value."""
        return self.readers[value] <= 1 and is_step(value, reader)

    # Taking apart

    def _term(self, sign: float, value: Value, reader: Node) -> Term:
        multiple, base = 1.0, value
        while (found := _multiple(base)) is not None and self._is_inner(base, reader):
            multiple, base = multiple * found[0], found[1]
        number, factors, nodes = multiple, dict[Value, int](), set[Node]()
        pending = [base] if base.type.dtype == reader.results[0].type.dtype else []
        while pending:
            factor = pending.pop()
            made = made_by(factor, "multiply")
            known = number_of(factor)
            if known is not None:
                number *= known
            elif made is not None and len(nodes) < MOST_FACTORS and _is_like(factor, base, reader):
                nodes.add(made)
                pending += made.operands
            else:
                factors[factor] = factors.get(factor, 0) + 1
        product = number, frozenset(factors.items()), frozenset(nodes)
        return Term(sign, value, multiple, base, *product)

    # Putting together

    def _collected(self, new: Graph, node: Node, terms: list[Term]) -> list[Term]:
        """The terms, one for those that are alike."""
        groups: dict[object, list[Term]] = {}
        for term in terms:
            is_product = term.nodes and SMALLEST <= abs(term.number) <= LARGEST
            kind = (term.factors, term.sign * term.number > 0) if is_product else term.value
            groups.setdefault(kind, []).append(term)
        collected: list[Term] = []
        for group in groups.values():
            one = self._one_of(new, node, group) if len(group) > 1 else None
            collected += group if one is None else [one]
        return collected

    def _one_of(self, new: Graph, node: Node, group: list[Term]) -> Term | None:
        """One term for those of the group; None where that saves nothing."""
        if sum(not self._is_inner(term.value, node) for term in group) > 1:
            return None
        made = {one for term in group for one in term.nodes}
        within = Counter(value for one in made for value in one.operands)

        def own(term: Term) -> int:
            """The multiplications of a term that nothing else but the group needs."""
            values = (one.results[0] for one in term.nodes)
            return sum(self.readers[value] <= max(within[value], 1) for value in values)

        stays = min(group, key=own)
        times = abs(stays.multiple) * sum(abs(term.number / stays.number) for term in group)
        if times > LARGEST:
            return None
        value = stays.base
        if times != 1.0:
            value = emit(new, node, "multiply", (new.constant(times), value))
        sign = stays.sign if stays.multiple > 0 else -stays.sign
        return stays._replace(sign=sign, value=value)


def _multiple(value: Value) -> tuple[float, Value] | None:
    """A value as a number times another of its type."""
    made = made_by(value, *PRODUCTS)
    if made is None:
        return None
    if made.op.name == "negative":
        return -1.0, made.operands[0]
    for constant, rest in (made.operands, made.operands[::-1]):
        number = number_of(constant)
        if number is not None and rest.type is value.type:
            return number, rest
    return None


def _is_like(factor: Value, base: Value, reader: Node) -> bool:
    """Tell if a factor of `base` may be taken apart with it."""
    return factor.type.dtype == base.type.dtype and is_beside(factor, reader)
