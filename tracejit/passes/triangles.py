"""Triangles: what is known of a Cholesky factor spares most of what is computed with it.

- `np.linalg.solve(factor, y)`, or of the transposed factor, is a substitution by blocks of rows. A
  block of the diagonal is solved for as NumPy solves, and what is not finite is left to NumPy: the
  error and the infinities and nan are those of `np.linalg.solve`. In float32 NumPy computes it in
  double precision, so it stays.
- The gradient is inverse.T @ S @ inverse, S being the symmetric matrix of the lower half of
  factor.T @ cotangent. Where the cotangent is a sum of a diagonal d and of outer products
  -(inverse.T @ v) u.T, as from a log-determinant and from solutions, S is diag(diag(factor) * d)
  and -v u.T, if that is symmetric. Its product with the inverse then takes no product of matrices,
  and nothing is multiplied by the factor that had been divided by it.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph f(a: f8[200,200], y: f8[200]) -> x: f8[200]
...   l  f8[200,200] = cholesky a
...   x  f8[200]     = solve_vector l y
... ''', OPS)
>>> print(print_graph(substitute_factors(graph)), end="")
graph f(a: f8[200,200], y: f8[200]) -> x: f8[200]
  l  f8[200,200] = cholesky a
  x  f8[200]     = substitute l y  upper=False turned=False
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.triangles import pays_in_blocks
from tracejit.passes.emission import Rule, emit, for_decisions, is_real, made_by
from tracejit.passes.rebuild import rebuild

FACTORS = ("cholesky", "cholesky_upper")
SOLVES = ("solve", "solve_vector")
SUBSTITUTED = (*SOLVES, "substitute")
SCALED = ("multiply", "negative")
SUMS = ("add", "subtract")
DEEPEST = 6


def substitute_factors(graph: Graph) -> Graph:
    """`graph` with systems of Cholesky factors by substitution."""
    return _rewritten(graph, SOLVES, _substitution)


def take_factors_apart(graph: Graph) -> Graph:
    """`graph` with gradients of Cholesky factors without products that can be spared."""
    return _rewritten(graph, ("matmul",), _product_with_inverse)


def _rewritten(graph: Graph, names: Sequence[str], rule: Rule) -> Graph:
    kept = for_decisions(graph)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        value = rule(new, node, operands) if node.op.name in names and node not in kept else None
        return None if value is None or value.type is not node.results[0].type else (value,)

    return rebuild(graph, rewrite)


def _turned(value: Value) -> Value | None:
    """The matrix of which `value` is the transpose, if it is made so."""
    made = made_by(value, "transpose")
    return made.operands[0] if made is not None and made.params["axes"] == (1, 0) else None


def _is_turned(one: Value, other: Value) -> bool:
    """Tell if two values are each other's transpose."""
    return _turned(one) is other or _turned(other) is one


# Solutions


def _substitution(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    matrix, side = operands
    factor = _turned(matrix) or matrix
    made = made_by(factor, *FACTORS)
    if made is None or factor.type.ndim != 2 or side.type.ndim > 2:
        return None
    if any(v.type.sizes is not None or v.type.dtype != np.float64 for v in operands):
        return None
    if not side.type.size or not pays_in_blocks(factor.type.shape[0]):
        return None
    upper, turned = made.op.name == "cholesky_upper", factor is not matrix
    return emit(graph, node, "substitute", (factor, side), upper=upper, turned=turned)


# The gradient of a factor


class Term(NamedTuple):
    """A part of the symmetric matrix: the outer product of two vectors, or the product of a matrix
    with the transpose of another; a diagonal where `right` is None."""

    sign: int
    left: Value
    right: Value | None


def _product_with_inverse(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """S @ inverse without S, where it can be taken apart."""
    whole, inverse = operands
    inverted, total = made_by(inverse, "lower_inverse"), made_by(whole, "add")
    if inverted is None or total is None or whole.type.ndim != 2 or not is_real(whole):
        return None
    half = made_by(total.operands[0], "lower_half_product")
    if half is None or not _is_turned(*total.operands) or half.operands[0] not in inverted.operands:
        return None
    factor, cotangent = half.operands
    terms = _Terms(node, factor).of(cotangent)
    if terms is None or not _are_symmetric(terms):
        return None
    return _sum(graph, node, terms, factor, inverse)


class _Terms:
    """What the cotangent of a factor is the sum of, in the place of `node`."""

    def __init__(self, node: Node, factor: Value) -> None:
        self.place = node.region, node.segment
        self.factor = factor

    def of(self, value: Value, sign: int = 1, turned: bool = False) -> list[Term] | None:
        """The terms of S that come from `value`, or from its transpose; None where some other part
        is in it."""
        node = value.node
        if node is None or (node.region, node.segment) != self.place or value.type.ndim != 2:
            return None
        match node.op.name, node.operands:
            case "negative", (one,):
                return self.of(one, -sign, turned)
            case "transpose", (one,):
                return self.of(one, sign, not turned)
            case "add" | "subtract", (one, other):
                signs = sign, sign if node.op.name == "add" else -sign
                first, second = self.of(one, signs[0], turned), self.of(other, signs[1], turned)
                return None if first is None or second is None else first + second
            case "put_diagonal", (one,) if not node.params["offset"]:
                return [Term(sign, one, None)]
            case "outer", (one, other) if one.type.ndim == other.type.ndim == 1:
                left, right = (other, one) if turned else (one, other)
            case "matmul", (one, other) if not turned and (lying := _turned(other)):
                left, right = one, lying
            case _:
                return None
        solved = self._multiplied(left)
        return None if solved is None else [Term(sign, solved, right)]

    def _multiplied(self, value: Value) -> Value | None:
        """The transposed factor times `value`, where that is such a solution."""
        node = value.node
        if node is None or len(node.operands) != 2:
            return None
        matrix, side = node.operands
        if node.op.name in ("matmul", "matmul_vector"):
            inverse = _turned(matrix)
            inverted = made_by(inverse, "lower_inverse") if inverse else None
            is_solution = inverted is not None and inverted.operands[0] is self.factor
        elif node.op.name == "substitute" and node.params["turned"]:
            is_solution = matrix is self.factor
        else:
            is_solution = node.op.name in SUBSTITUTED and _is_turned(matrix, self.factor)
        return side if is_solution else None


def _are_symmetric(terms: Sequence[Term]) -> bool:
    """Tell if the sum of the terms is symmetric, each by itself or with another one."""
    left: Counter[Term] = Counter()
    right: Counter[Term] = Counter()
    for sign, first, second in terms:
        if second is not None and _base(first) is not _base(second):
            left[Term(sign, first, second)] += 1
            right[Term(sign, second, first)] += 1
    return left == right


def _base(value: Value, depth: int = DEEPEST) -> Value:
    """The array that `value` is a multiple of, or a sum of multiples."""
    made = made_by(value, *SCALED, *SUMS) if depth else None
    if made is None:
        return value
    arrays = [one for one in made.operands if one.type.shape]
    bases = {_base(one, depth - 1) for one in arrays}
    is_multiple = len(bases) == 1 and len(arrays) == (1 if made.op.name in SCALED else 2)
    return bases.pop() if is_multiple else value


def _sum(graph: Graph, node: Node, terms: Sequence[Term], factor: Value, inverse: Value) -> Value:
    """The sum of the products of the terms with the inverse."""

    def product(left: Value, right: Value | None) -> Value:
        if right is None:
            diagonal = emit(graph, node, "diagonal", (factor,), offset=0, axis1=0, axis2=1)
            scale = emit(graph, node, "multiply", (diagonal, left))
            column = emit(graph, node, "expand_dims", (scale,), axis=(1,))
            return emit(graph, node, "multiply", (column, inverse))
        if right.type.ndim == 1:
            row = emit(graph, node, "vector_matmul", (right, inverse))
            return emit(graph, node, "outer", (left, row))
        lying = emit(graph, node, "transpose", (right,), axes=(1, 0))
        return emit(graph, node, "matmul", (left, emit(graph, node, "matmul", (lying, inverse))))

    (sign, left, right), *others = sorted(terms, key=lambda term: -term.sign)
    total = product(left if sign > 0 else emit(graph, node, "negative", (left,)), right)
    for sign, left, right in others:
        name = "add" if sign > 0 else "subtract"
        total = emit(graph, node, name, (total, product(left, right)))
    return total
