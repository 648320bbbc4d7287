"""BLAS thread policy: decide if a kernel runs the BLAS on one thread or on several.

OpenBLAS waits until each of its threads has done its part. If another process holds the second
processor, it waits until the system takes that away: 20 ms and more for a product of 0.1 ms. Its
threads also spin for a tenth of a second after a product, which slows down other programs. So a
product has several threads only where it repays the hand-over: one in a hundred waits for 20 ms,
which is 0.2 ms on average, and two threads save a part of the time that one takes. Factorizations
hand over once for each block of columns, so each block must repay it.

The work of a product is its multiplications times the bytes of a number. `BlasThreads` in
support/cost_model.py has the figures.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from tracejit.ir.dims import estimated, key_of
from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType
from tracejit.ops.indexing.indexing import take_at
from tracejit.ops.linalg.contractions import work_of
from tracejit.ops.linalg.einsum import einsum, split_subscripts
from tracejit.support.cost_model import costs


def is_for_one_blas_thread(nodes: Iterable[Node], in_tiles: Container[Node]) -> bool:
    """Return whether a kernel of these nodes is faster with one thread of the BLAS. Those
    `in_tiles` run on the threads of the tiles."""
    products = {node: product_of(node) if _may_be_product(node) else None for node in nodes}
    found = [product for product in products.values() if product is not None]
    if not in_tiles and not any([product.is_threaded for product in found]):
        return False
    large = others = 0.0
    for node, product in products.items():
        if product is not None and product.is_large and node not in in_tiles:
            large += product.multiplications * product.cost
        elif product is not None:
            others += product.multiplications * product.cost
        elif node.op.elementwise:
            others += elements_of(node, node.results[0].type)
    return large <= others


def elements_of(node: Node, widest: ArrayType) -> float:
    """The cost of an elementwise operation, in elements of a plain one; `widest` is its iteration
    space."""
    one = ArrayType((1,), widest.dtype)
    per_element: int = node.op.cost(*[one] * len(node.operands), **node.params)
    return min(max(per_element, 1), costs().slowest_element) * widest.estimated_size


def cost_of(node: Node, widest: ArrayType) -> float:
    """The cost of a node, in elements of a plain operation; `widest` is its iteration space."""
    product = product_of(node)
    if node.op is take_at:
        return costs().gathered_element * widest.estimated_size
    if product is None:
        return max(elements_of(node, widest), _cost_of_rows(node, widest))
    return max(int(product.multiplications * product.cost), widest.estimated_size)


def _cost_of_rows(node: Node, widest: ArrayType) -> float:
    """The extra cost where an operand is broadcast along the rows: NumPy loops row by row."""
    shapes = [value.type.shape for value in node.operands]
    columns = [shape for shape in shapes if len(shape) > 1 and key_of(shape[-1]) == 1]
    if widest.ndim < 2 or not columns or key_of(widest.shape[-1]) == 1:
        return 0
    return costs().spread_row * _estimated(widest, slice(-1))


class MatrixProduct(NamedTuple):
    """A product of matrices or a factorization: the number of its multiplications, whether it gains
    by threads, whether the BLAS would use them, and the cost of a multiplication."""

    multiplications: int
    is_large: bool
    is_threaded: bool
    cost: float


def product_of(node: Node) -> MatrixProduct | None:
    """`node` as a product of matrices; None if it is none."""
    if not _may_be_product(node):
        return None
    if node.op.factorization is not None:
        return _factorization(node)
    model = costs()
    if node.op is einsum:
        return MatrixProduct(_products_of_einsum(node), False, False, model.einsum_multiplication)
    first, second = (value.type for value in node.operands[:2])
    result = node.results[0].type
    if min(first.ndim, second.ndim) < 2:
        count = max(first.estimated_size, second.estimated_size)
        is_large = count * result.dtype.itemsize >= model.repaid_vector_product_bytes
        is_threaded = count >= model.threaded_multiplications
        return MatrixProduct(count, is_large, is_threaded, model.vector_multiplication)
    count = result.estimated_size * _estimated(first, slice(-1, None))
    at_once = count // max(_estimated(result, slice(None, -2)), 1)
    is_large = at_once * result.dtype.itemsize >= model.repaid_product_bytes
    is_threaded = at_once >= model.threaded_multiplications
    return MatrixProduct(count, is_large, is_threaded, model.multiplication)


def _may_be_product(node: Node) -> bool:
    op = node.op
    return op.factorization is not None or (op.linear_in == "each" and not op.elementwise)


def _factorization(node: Node) -> MatrixProduct:
    model = costs()
    type = node.operands[0].type
    rows = _estimated(type, slice(-1, None))
    stack = max(_estimated(type, slice(None, -2)), 1)
    per_block = type.estimated_size * model.factorization_columns // stack
    is_svd = node.op.factorization == "svd"
    unthreaded = model.unthreaded_svd_rows if is_svd else model.unthreaded_factor_rows
    is_large = per_block * type.dtype.itemsize >= model.repaid_product_bytes
    count = type.estimated_size * rows
    return MatrixProduct(count, is_large, rows > unthreaded, model.multiplication)


def _products_of_einsum(node: Node) -> int:
    """The number of products that NumPy computes in its own loops, without the BLAS."""
    labels, _ = split_subscripts(node.params["subscripts"])
    shapes = [[estimated((size,)) for size in value.type.shape] for value in node.operands]
    return work_of(labels, [tuple(shape) for shape in shapes], ())[0]


def _estimated(type: ArrayType, axes: slice) -> int:
    """The number of elements that planners expect in some of the axes."""
    return ArrayType(type.shape[axes], type.dtype).estimated_size
