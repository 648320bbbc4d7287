"""BLAS thread policy of a kernel: the threads of the BLAS, or one, for what takes most of its time.

OpenBLAS waits until each of its threads has done its part. Where another process has the second
processor, that is until the system takes it away: 20 ms and more for a product of 0.1 ms. And
whoever else computes loses, because its threads spin for a tenth of a second after a product. So a
product has several threads only where it repays the hand-over, and factors of matrices, which hand
over once for each block of columns, where their blocks do.

    what two threads save of the time of one      SAVED
    what a hand-over costs on average             one in a hundred waits for 20 ms: 0.2 ms
    so a product repays it from                   0.5 ms on one thread on

That is SMALL_WORK in bytes: multiplications times the bytes of a number, of which a core does 300
in a nanosecond where a product stays in the cache, and 30 where it reads a matrix once. Measured on
two cores (AVX-512) with OpenBLAS 0.3.27 to 0.3.31, also beside two processes that compute: with two
threads the least time of a product of 0.1 to 0.5 ms was 0.6 to 0.8 of that with one, the median or
the 95th percentile 5 to 2,000 times it. `python -m tests.benchmarks.under_load` measures it again.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from tracejit.ir.dims import estimated, key_of
from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType
from tracejit.ops.contractions import work_of
from tracejit.ops.einsum import split_subscripts

SMALL_WORK = 150_000_000
"""Bytes multiplied up to which a product of matrices does not repay a hand-over."""
SMALL_VECTOR_WORK = 15_000_000
"""The same of a product with a vector."""
BLOCK = 32
"""Columns that a factorization computes between two hand-overs."""
THREADED = 200_000
"""Multiplications from which on OpenBLAS uses threads: 262,144, and 460,800 with a vector."""
UNTHREADED_FACTOR = 64
"""Rows up to which a factorization uses none."""
UNTHREADED_SVD = 36
SVD = frozenset(("svd", "svdvals", "cond", "matrix_rank", "lstsq", "pinv"))

# What a multiplication costs, in elements of a plain operation such as an addition.
IN_PRODUCT = 0.1
IN_VECTOR_PRODUCT = 0.5
IN_EINSUM = 2.0
PER_ELEMENT = 6
PER_ROW = 12
GATHERED = 3
GATHERING = ("take_at",)

FACTORIZATIONS = frozenset(
    (
        "cholesky cholesky_upper inv lower_inverse solve solve_vector det slogdet qr qr_r eigh "
        "eigvalsh svd svdvals cond matrix_rank lstsq pinv eig eigvals"
    ).split()
)


def is_for_one_blas_thread(nodes: Iterable[Node], in_tiles: Container[Node]) -> bool:
    """Tell if a kernel of these nodes is better off with one thread of the BLAS. Those `in_tiles`
    have the threads of the tiles."""
    products = {node: product_of(node) for node in nodes}
    found = [product for product in products.values() if product is not None]
    if not in_tiles and not any(product.is_threaded for product in found):
        return False
    large = others = 0.0
    for node, product in products.items():
        if product is not None and product.is_large and node not in in_tiles:
            large += product.multiplications * product.cost
        elif product is not None:
            others += product.multiplications * product.cost
        elif node.op.batch == "elementwise":
            others += elements_of(node, node.results[0].type)
    return large <= others


def elements_of(node: Node, widest: ArrayType) -> int:
    """What an operation on elements costs, in elements of a plain one; `widest` is what it goes
    over."""
    one = ArrayType((1,), widest.dtype)
    per_element: int = node.op.cost(*[one] * len(node.operands), **node.params)
    return min(max(per_element, 1), PER_ELEMENT) * widest.estimated_size


def cost_of(node: Node, widest: ArrayType) -> int:
    """What a node costs, in elements of a plain operation; `widest` is what it goes over."""
    product = product_of(node)
    if node.op.name in GATHERING:
        return GATHERED * widest.estimated_size
    if product is None:
        return max(elements_of(node, widest), _cost_of_rows(node, widest))
    return max(int(product.multiplications * product.cost), widest.estimated_size)


def _cost_of_rows(node: Node, widest: ArrayType) -> int:
    """What it costs that NumPy goes row by row, where an operand is spread along the rows."""
    shapes = [value.type.shape for value in node.operands]
    columns = [shape for shape in shapes if len(shape) > 1 and key_of(shape[-1]) == 1]
    if widest.ndim < 2 or not columns or key_of(widest.shape[-1]) == 1:
        return 0
    return PER_ROW * _estimated(widest, slice(-1))


class MatrixProduct(NamedTuple):
    """A product of matrices or a factorization: its multiplications in all, whether it gains by
    threads, whether the BLAS would use them, and what a multiplication costs."""

    multiplications: int
    is_large: bool
    is_threaded: bool
    cost: float = IN_PRODUCT


def product_of(node: Node) -> MatrixProduct | None:
    """The product that `node` is, if it is one."""
    if node.op.name in FACTORIZATIONS:
        return _factorization(node)
    if node.op.jvp != "bilinear" or node.op.batch == "elementwise":
        return None
    if node.op.name == "einsum":
        return MatrixProduct(_products_of_einsum(node), False, False, IN_EINSUM)
    first, second = (value.type for value in node.operands[:2])
    result = node.results[0].type
    if min(first.ndim, second.ndim) < 2:
        count = max(first.estimated_size, second.estimated_size)
        is_large = count * result.dtype.itemsize >= SMALL_VECTOR_WORK
        return MatrixProduct(count, is_large, count >= THREADED, IN_VECTOR_PRODUCT)
    count = result.estimated_size * _estimated(first, slice(-1, None))
    at_once = count // max(_estimated(result, slice(None, -2)), 1)
    return MatrixProduct(count, at_once * result.dtype.itemsize >= SMALL_WORK, at_once >= THREADED)


def _factorization(node: Node) -> MatrixProduct:
    type = node.operands[0].type
    rows = _estimated(type, slice(-1, None))
    per_block = type.estimated_size * BLOCK // max(_estimated(type, slice(None, -2)), 1)
    unthreaded = UNTHREADED_SVD if node.op.name in SVD else UNTHREADED_FACTOR
    is_large = per_block * type.dtype.itemsize >= SMALL_WORK
    return MatrixProduct(type.estimated_size * rows, is_large, rows > unthreaded)


def _products_of_einsum(node: Node) -> int:
    """How many products NumPy's own loops make: they are of no BLAS."""
    labels, _ = split_subscripts(node.params["subscripts"])
    shapes = [[estimated((size,)) for size in value.type.shape] for value in node.operands]
    return work_of(labels, [tuple(shape) for shape in shapes], ())[0]


def _estimated(type: ArrayType, axes: slice) -> int:
    """The number of elements that planners expect in some of the axes."""
    return ArrayType(type.shape[axes], type.dtype).estimated_size
