'''Gradients of Cholesky factors, taken apart.

Such a gradient is inverse.T @ S @ inverse, S being the symmetric matrix of the lower half of
factor.T @ cotangent. Where the cotangent is a sum of a diagonal d and of outer products
-(inverse.T @ v) u.T, as from a log-determinant and from solutions, S is diag(diag(factor) * d) and
-v u.T, if that is symmetric. Its product with the inverse then takes no product of matrices, and
nothing is multiplied by the factor that had been divided by it.

It is not a pattern: the cotangent is a sum of any number of terms, in any order and with any sign.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph("""graph f(l: f8[3,3], d: f8[3]) -> z: f8[3,3]
...   i  f8[3,3] = lower_inverse l
...   c  f8[3,3] = put_diagonal d  offset=0
...   h  f8[3,3] = lower_half_product l c
...   t  f8[3,3] = transpose h  axes=(1, 0)
...   s  f8[3,3] = add h t
...   z  f8[3,3] = matmul s i
... """, OPS)
>>> print(print_graph(drop_dead(take_factors_apart(graph))), end="")
graph f(l: f8[3,3], d: f8[3]) -> z: f8[3,3]
  i    f8[3,3] = lower_inverse l
  z_1  f8[3]   = diagonal l  offset=0 axis1=0 axis2=1
  z_2  f8[3]   = multiply z_1 d
  z_3  f8[3,1] = expand_dims z_2  axis=(1,)
  z    f8[3,3] = multiply z_3 i
'''

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.framework.emission import emit, is_real, made_by
from tracejit.passes.framework.rebuild import rebuild

FACTORS = ("cholesky", "cholesky_upper")
SOLVES = ("solve", "solve_vector")
SUBSTITUTED = (*SOLVES, "substitute")
SCALED = ("multiply", "negative")
SUMS = ("add", "subtract")
DEEPEST = 6


def take_factors_apart(graph: Graph) -> Graph:
    """`graph` with gradients of Cholesky factors without products that can be spared."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        value = _product_with_inverse(new, node, operands)
        return None if value is None or value.type is not node.results[0].type else (value,)

    return rebuild(graph, rewrite, ops=("matmul",))


def _turned(value: Value) -> Value | None:
    """The matrix of which `value` is the transpose, if it is made so."""
    made = made_by(value, "transpose")
    return made.operands[0] if made is not None and made.params["axes"] == (1, 0) else None


def _is_turned(one: Value, other: Value) -> bool:
    """Return whether two values are each other's transpose."""
    return _turned(one) is other or _turned(other) is one


class OuterProduct(NamedTuple):
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
    """The terms of which the cotangent of a factor is the sum, in the place of `node`."""

    def __init__(self, node: Node, factor: Value) -> None:
        self.place = node.region, node.segment
        self.factor = factor

    def of(self, value: Value, sign: int = 1, turned: bool = False) -> list[OuterProduct] | None:
        """The terms of S that come from `value`, or from its transpose; None if some other part
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
                return [OuterProduct(sign, one, None)]
            case "outer", (one, other) if one.type.ndim == other.type.ndim == 1:
                left, right = (other, one) if turned else (one, other)
            case "matmul", (one, other) if not turned and (lying := _turned(other)):
                left, right = one, lying
            case _:
                return None
        solved = self._multiplied(left)
        return None if solved is None else [OuterProduct(sign, solved, right)]

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


def _are_symmetric(terms: Sequence[OuterProduct]) -> bool:
    """Return whether the sum of the terms is symmetric, each by itself or with another one."""
    left: Counter[OuterProduct] = Counter()
    right: Counter[OuterProduct] = Counter()
    for sign, first, second in terms:
        if second is not None and _base(first) is not _base(second):
            left[OuterProduct(sign, first, second)] += 1
            right[OuterProduct(sign, second, first)] += 1
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


def _by_rows(graph: Graph, node: Node, left: Value, factor: Value) -> Value:
    """The diagonal of the factor times `left`, as a column or a number; a quotient by that diagonal
    is not multiplied by it."""
    quotient = made_by(left, "divide")
    if quotient is not None and (below := made_by(quotient.operands[1], "diagonal")) is not None:
        if below.operands[0] is factor and not below.params["offset"]:
            left = quotient.operands[0]
            return emit(graph, node, "expand_dims", (left,), axis=(1,)) if left.type.shape else left
    diagonal = emit(graph, node, "diagonal", (factor,), offset=0, axis1=0, axis2=1)
    scale = emit(graph, node, "multiply", (diagonal, left))
    return emit(graph, node, "expand_dims", (scale,), axis=(1,))


def _sum(
    graph: Graph, node: Node, terms: Sequence[OuterProduct], factor: Value, inverse: Value
) -> Value:
    """The sum of the products of the terms with the inverse."""

    def product(left: Value, right: Value | None) -> Value:
        if right is None:
            column = _by_rows(graph, node, left, factor)
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
