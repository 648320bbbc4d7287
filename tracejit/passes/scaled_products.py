"""Scaled products: rows that are scaled and multiplied by a triangle are multiplied once.

With t strictly triangular, `e * c + t @ c` is a product with the triangle that has e on its
diagonal: two operations on large arrays less, and an array. The terms of the sums are the same.
Where c is infinite, NumPy has nan for the zeros on the diagonal of t, and the one product has not:
so where that is not all finite, NumPy's own sum is made. The transposed gradient is such a product
again.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(e: f8[2], t: f8[2,2], c: f8[2,18000]) -> y: f8[2,18000]
...   below b1[2,2] = constant [[False,False],[True,False]]
...   t_1  f8[2,2]    = where below t 0.0
...   e_1  f8[2,1]    = expand_dims e  axis=(1,)
...   a    f8[2,18000] = multiply e_1 c
...   b    f8[2,18000] = matmul t_1 c
...   y    f8[2,18000] = add a b
... ''', OPS)
>>> print(print_graph(drop_dead(scale_once(graph))), end="")
graph f(e: f8[2], t: f8[2,2], c: f8[2,18000]) -> y: f8[2,18000]
  below b1[2,2] = constant [[False,False],[True,False]]
   b1[2,2] = constant [[True,False],[False,True]]
  t_1  f8[2,2]     = where below t 0.0
  e_1  f8[2,1]     = expand_dims e  axis=(1,)
  y_1  f8[2,2]     = where  e_1 t_1
  y_2  f8[2,18000] = matmul y_1 c
  y    f8[2,18000] = scaled_if_not_finite y_2 e_1 c t_1  is_left=True
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.passes.axes import transposed, untransposed
from tracejit.passes.emission import emit, is_real, made_by, number_of, readers_of
from tracejit.passes.lower import is_tiled, tiled_rows
from tracejit.passes.rebuild import rebuild
from tracejit.passes.sum_of_products import is_beside
from tracejit.support.cost_model import costs


def scale_once(graph: Graph) -> Graph:
    """`graph` with scaled rows and products with triangles as one product."""
    readers = readers_of(graph)
    tiled = tiled_rows(graph)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        result = node.results[0]
        if not is_real(result) or result.type.sizes is not None:
            return None
        if result.type.ndim < 2 or result.type.size < costs().least_scaled_elements:
            return None
        if is_tiled(result) or result.type.shape[0] in tiled:
            return None
        if any(readers[old] > 1 for old in node.operands):
            return None
        for scaled, product in (operands, operands[::-1]):
            value = _folded(new, node, scaled, product)
            if value is not None:
                return (value,)
        return None

    return rebuild(graph, rewrite, ops=("add",))


def _folded(graph: Graph, node: Node, scaled: Value, product: Value) -> Value | None:
    """The one product for a sum of `scaled` rows or columns and a `product`; None where it is
    another sum."""
    scaling, made = made_by(scaled, "multiply"), made_by(product, "matmul")
    type = node.results[0].type
    if scaling is None or made is None or not scaled.type is product.type is type:
        return None
    if not (is_beside(scaled, node) and is_beside(product, node)):
        return None
    for scale, c in (scaling.operands, scaling.operands[::-1]):
        for triangle, is_left in ((made.operands[0], True), (made.operands[1], False)):
            if made.operands[is_left] is not c or not _is_scale(scale, triangle, is_left):
                continue
            plain = untransposed(triangle)
            if not _is_strict(plain):
                continue
            eye = graph.constant(np.eye(plain.type.shape[-1], dtype=bool))
            whole = emit(graph, node, "where", (eye, scale, plain))
            if plain is not triangle:
                whole = transposed(graph, node, whole)
            factors = (whole, c) if is_left else (c, whole)
            value = emit(graph, node, "matmul", factors)
            if value.type is not type:
                return None
            parts = value, scale, c, triangle
            return emit(graph, node, "scaled_if_not_finite", parts, is_left=is_left)
    return None


def _is_scale(scale: Value, triangle: Value, is_left: bool) -> bool:
    """Return whether `scale` has one number for each row, or column, of each of the square
    triangles."""
    if not scale.type.ndim:
        return False
    *several, rows, columns = (1, *scale.type.shape) if scale.type.ndim == 1 else scale.type.shape
    *stack, size, width = triangle.type.shape
    if scale.type.dtype != triangle.type.dtype or size != width or size < 2:
        return False
    if (rows, columns) != ((size, 1) if is_left else (1, size)) or len(several) > len(stack):
        return False
    return all(one in (1, other) for one, other in zip(several[::-1], stack[::-1], strict=False))


def _is_strict(value: Value) -> bool:
    """Return whether a matrix is zero on its diagonal, by a mask of those that are not."""
    made = made_by(value, "where")
    if made is None or not isinstance(made.operands[0], Constant):
        return False
    mask = made.operands[0]
    if mask.type.shape != value.type.shape[-2:]:
        return False
    chosen = np.diagonal(mask.data)
    is_zero = [number_of(choice) == 0.0 for choice in made.operands[1:]]
    return bool((is_zero[0] or not chosen.any()) and (is_zero[1] or chosen.all()))
