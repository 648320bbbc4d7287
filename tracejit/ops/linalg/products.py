"""Products of vectors, matrices and stacks of matrices.

NumPy has two families whose results differ in the last bits where an operand is strided: `@` and
`matmul`, spelled `{0} @ {1}`, and `dot`, `inner` and `tensordot`, spelled `{0}.dot({1})`. Each has
an op for two matrices, for a matrix and a vector, a vector and a matrix, and two vectors, so that
what runs is the user's own call; the families share their rules. `matmul` broadcasts stacks of
matrices against each other, `dot` pairs each with each.

A rule may answer a stack where the operand is one matrix: the reverse pass sums it. Where that
would first store a large stack, the rule makes one product of the flattened stacks instead. No op
writes into an operand.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tracejit.ir.dims import key_of
from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.batching import broadcasting
from tracejit.ops.base.creation import as_array, type_in_call
from tracejit.ops.base.forms import as_array as number_as_array
from tracejit.ops.base.infer import broadcast_shapes, strict_axis
from tracejit.ops.base.loops import with_keywords
from tracejit.ops.base.op import Op, Rules, answer, composite, defop
from tracejit.ops.base.ufuncs import operands_of
from tracejit.ops.linalg import batched_products
from tracejit.support.cost_model import costs


def conj(x: Any) -> Any:
    """The complex conjugate; a real operand itself, without a node."""
    return np.conjugate(x) if x.dtype.kind == "c" else x


def common_dtype(*types: ArrayType) -> np.dtype[Any]:
    """The dtype of a product. Python numbers count as arrays here: np.dot(2.0, x32) is float64."""
    return np.result_type(*[type.dtype for type in types])


def array_or_scalar(shape: Shape, dtype: np.dtype[Any]) -> ArrayType:
    """The type of a result that NumPy hands out as a scalar where it has no axes."""
    return ArrayType(shape, dtype, "array" if shape else "scalar")


def check_sizes(a: ArrayType, b: ArrayType, size: int, other: int) -> None:
    """Raise ValueError unless the two sizes that are summed over agree."""
    if size != other:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not fit: {size} is not {other}")


def _product_type(a: ArrayType, b: ArrayType, paired: bool) -> ArrayType:
    """The infer of a product over a's last axis and b's last but one (a vector's only one)."""
    check_sizes(a, b, a.shape[-1], b.shape[max(b.ndim - 2, 0)])
    first, second = a.shape[:-2], b.shape[:-2]
    stack = () if paired else broadcast_shapes(first, second)
    left = a.shape[:-1] if paired else a.shape[-2:-1]
    right = (*second, *b.shape[-1:]) if paired else b.shape[-1:]
    shape = (*stack, *left, *(right if b.ndim > 1 else ()))
    return array_or_scalar(shape, common_dtype(a, b))


_matmul_type = partial(_product_type, paired=False)
_dot_type = partial(_product_type, paired=True)


def flatten_rows(x: Any, kept: int = 1) -> Any:
    """`x` with all axes but the last `kept` made one."""
    split = x.ndim - kept
    shape = (math.prod(x.shape[:split]), *x.shape[split:])
    return x if x.shape == shape else np.reshape(x, shape)


def _second_of_matrices(g: Any, c: Any, a: Any, b: Any) -> Any:
    """The cotangent of one matrix b, or of each in a stack."""
    return flatten_rows(a).T @ flatten_rows(g) if b.ndim == 2 else a.mT @ g


def _columns(matrix: Any, vector: Any) -> Any:
    """matrix @ vector, for every pair in stacks of both."""
    if matrix.ndim == 2:
        return matrix @ vector
    return np.squeeze(matrix @ np.expand_dims(vector, -1), -1)


def _outer(x: Any, y: Any) -> Any:
    """The matrices x y^T of vectors, or of stacks of vectors."""
    if x.ndim == 1 and y.ndim == 1:
        return np.outer(x, y)
    return np.expand_dims(x, -1) * np.expand_dims(y, -2)


RULES: dict[str, Rules] = {
    "matrices": (lambda g, c, a, b: g @ b.mT, _second_of_matrices),
    "matrix_vector": (
        lambda g, y, a, x: _outer(g, x),
        lambda g, y, a, x: flatten_rows(a).T @ flatten_rows(g, 0),
    ),
    "vector_matrix": (lambda g, y, x, b: _columns(b, g), lambda g, y, x, b: _outer(x, g)),
    "vectors": (lambda g, s, x, y: g * y, lambda g, s, x, y: g * x),
}
"""The rules of products of matrices and vectors."""


def _bilinear(*numpy: Any, infer: Any, **more: Any) -> Op:
    """A product: linear in each operand; two operations for each pair of elements multiplied."""
    more.setdefault("cost", lambda a, b: 2 * infer(a, b).size * max(a.shape[-1:], default=1))
    more.setdefault("sign", "kept")
    if "vjp" not in more:
        more["vjp"] = RULES[more["product"]]
    return defop(*numpy, infer=infer, jvp="bilinear", **more)


def _stacks_axes(types: Sequence[ArrayType]) -> str:
    """Each matrix of the one stack with each of the other."""
    a, b = types
    first, second = axes.letters_of(a), axes.letters_of(b, a.ndim)
    second[-2] = first[-1]
    return axes.text_of([first, second], [*first[:-1], *second[:-2], second[-1]])


def _vdot_axes(types: Sequence[ArrayType]) -> str | None:
    """All elements, of operands of one shape."""
    a, b = types
    same = list(map(key_of, a.shape)) == list(map(key_of, b.shape))
    return axes.text_of([axes.letters_of(a)] * 2, []) if same else None


_at = partial(_bilinear, infer=_matmul_type, source="{0} @ {1}")
_dot = partial(_bilinear, infer=_dot_type, source="{0}.dot({1})")
matmul = _at(name="matmul", product="matrices", batch=broadcasting("matmul"))
matmul_vector = _at(
    name="matmul_vector", product="matrix_vector", batch=batched_products.matrix_vector
)
vector_matmul = _at(
    name="vector_matmul", product="vector_matrix", batch=batched_products.vector_matrix
)
vectors_matmul = _at(name="vectors_matmul", product="vectors", batch=batched_products.vectors)
dot = _dot(name="dot", product="vectors", batch=batched_products.vectors)
dot_matrix = _dot(name="dot_matrix", product="matrices", batch=batched_products.dot_matrix)
dot_vector = _dot(name="dot_vector", product="matrix_vector", batch=batched_products.matrix_vector)
vector_dot = _dot(name="vector_dot", product="vector_matrix", batch=batched_products.vector_matrix)
dot_stacks = _dot(
    name="dot_stacks",
    batch=batched_products.dot_stacks,
    vjp=(
        lambda g, c, a, b: np.tensordot(
            g, b, (range(a.ndim - 1, g.ndim), [*range(b.ndim - 2), b.ndim - 1])
        ),
        lambda g, c, a, b: np.moveaxis(
            np.tensordot(a, g, (range(a.ndim - 1), range(a.ndim - 1))), 0, -2
        ),
    ),
    axes=_stacks_axes,
)
dot_number = _bilinear(
    name="dot_number",
    infer=lambda a, b: array_or_scalar(a.shape or b.shape, common_dtype(a, b)),
    vjp=RULES["vectors"],
    batch=batched_products.dot_number,
    source="np.dot({0}, {1})",
    axes="...,...->...",
)


def _matmul_call(x1: Any, x2: Any, /) -> Any:
    """matmul of two arrays: the op for their numbers of axes."""
    x1, x2 = as_array(x1), as_array(x2)
    match np.ndim(x1), np.ndim(x2):
        case (0, _) | (_, 0):
            raise ValueError(
                "matmul takes arrays of at least one dimension; multiply by a number with *"
            )
        case 1, 1:
            return vectors_matmul(x1, x2)
        case 1, _:
            return vector_matmul(x1, x2)
        case _, 1:
            return matmul_vector(x1, x2)
    return matmul(x1, x2)


def without_out(out: Any) -> None:
    """Refuse an array to write to, where a call may name it by position."""
    if out is not None:
        raise TypeError("out= is not supported")


def _dot_call(a: Any, b: Any, out: None = None) -> Any:
    """np.dot or ndarray.dot of two operands: the op for their numbers of axes."""
    without_out(out)
    a, b = as_array(a), as_array(b)
    match np.ndim(a), np.ndim(b):
        case (0, _) | (_, 0):
            return dot_number(a, b)
        case 1, 1:
            return dot(a, b)
        case 1, _:
            return vector_dot(a, b)
        case _, 1:
            return dot_vector(a, b)
        case _, 2:
            return dot_matrix(a, b)
    return dot_stacks(a, b)


answer(np.matmul, lambda *xs, **words: _matmul_call(*with_keywords(np.matmul, xs, words)))
answer(np.linalg.matmul, _matmul_call)
answer(np.dot, _dot_call)


def not_a_number(x: Any) -> Any:
    """`x`, an array also where it is a number or a list."""
    x = as_array(x)
    return x if type_in_call(x).form == "array" else number_as_array(x)


def _vdot_type(a: ArrayType, b: ArrayType) -> ArrayType:
    check_sizes(a, b, a.size, b.size)
    return ArrayType((), common_dtype(a, b), "scalar")


vdot = _bilinear(
    np.vdot,
    canonical=lambda a, b: ((not_a_number(a), not_a_number(b)), {}),
    infer=_vdot_type,
    vjp=(
        lambda g, s, a, b: conj(g * np.reshape(b, a.shape)),
        lambda g, s, a, b: g * np.reshape(conj(a), b.shape),
    ),
    batch=batched_products.vdot,
    source="np.vdot({0}, {1})",
    cost=lambda a, b: 2 * a.size,
    axes=_vdot_axes,
)


def _vecdot_type(a: ArrayType, b: ArrayType) -> ArrayType:
    if not a.ndim or not b.ndim:
        raise ValueError("vecdot takes arrays of at least one dimension")
    check_sizes(a, b, a.shape[-1], b.shape[-1])
    return array_or_scalar(broadcast_shapes(a.shape[:-1], b.shape[:-1]), common_dtype(a, b))


def _vecdot_call(
    *operands: Any, axis: int = -1, **keywords: Any
) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """vecdot along the last axis: any other is moved there."""
    x1, x2 = with_keywords(np.vecdot, operands, keywords)
    strict_axis(axis, np.ndim(x1))
    return (_last(x1, axis), _last(x2, axis)), {}


vecdot = _bilinear(
    np.vecdot,
    np.linalg.vecdot,
    canonical=_vecdot_call,
    infer=_vecdot_type,
    vjp=(
        lambda g, s, a, b: conj(np.expand_dims(g, -1) * b),
        lambda g, s, a, b: np.expand_dims(g, -1) * conj(a),
    ),
    batch=broadcasting("vecdot"),
    source="np.vecdot({0}, {1})",
    product="vectors",
)


dot_in_rows = _bilinear(
    name="dot_in_rows",
    infer=lambda a, b, rows: array_or_scalar((), common_dtype(a, b)),
    vjp=(lambda g, s, a, b, rows: g * b, lambda g, s, a, b, rows: g * a),
    source=lambda types, rows: (
        f"np.add.reduce(np.vecdot({_in_rows(0, types, rows)}, {_in_rows(1, types, rows)}))"
        if rows
        else _rows_as_they_are(types[0])
    ),
    cost=lambda a, b, rows: 2 * a.size,
)
"""The sum of the products of two arrays of one shape, in C order: row by row, the `rows` being a
shape of as many elements, or None if it is not known. Passes make it; it is the same for any
number of threads."""


def _rows_as_they_are(type: ArrayType) -> str:
    """The source of the sum for operands of unknown rows, which may be long enough as they are."""
    least, most = costs().vecdot_row, costs().blas_elements
    fits = type.ndim > 1 and type.sizes is None and least <= type.shape[-1] <= most
    products = "np.vecdot({0}, {1})" if fits else "{0} * {1}"
    return f"np.add.reduce({products}, axis=None)"


def _in_rows(position: int, types: Sequence[ArrayType], rows: Shape) -> str:
    """Operand number `position` in the shape `rows`."""
    is_already = types[position].shape == rows
    return f"{{{position}}}" if is_already else f"{{{position}}}.reshape{rows}"


def _stacked_type(a: ArrayType, x: ArrayType, summed: int, result: int) -> ArrayType:
    """The infer of a matrix and a vector, or of stacks; `summed` and `result` are a's axes."""
    if a.ndim < 2 or not x.ndim:
        raise ValueError("takes a matrix and a vector, or stacks of them")
    check_sizes(a, x, a.shape[summed], x.shape[-1])
    stack = broadcast_shapes(a.shape[:-2], x.shape[:-1])
    return ArrayType((*stack, a.shape[result]), common_dtype(a, x))


if hasattr(np, "matvec"):  # NumPy 2.2
    matvec = _bilinear(
        np.matvec,
        canonical=operands_of(np.matvec),
        infer=lambda a, x: _stacked_type(a, x, -1, -2),
        vjp=(
            lambda g, y, a, x: _outer(g, x),
            lambda g, y, a, x: np.matvec(a.mT, g),
        ),
        batch=batched_products.matvec,
        source="np.matvec({0}, {1})",
        axes="...ab,...b->...a",
        since="2.2",
    )
    vecmat = _bilinear(
        np.vecmat,
        canonical=operands_of(np.vecmat),
        infer=lambda x, a: _stacked_type(a, x, -2, -1),
        vjp=(
            lambda g, y, x, a: conj(np.matvec(a, g)),
            lambda g, y, x, a: _outer(conj(x), g),
        ),
        batch=batched_products.vecmat,
        source="np.vecmat({0}, {1})",
        axes="...a,...ab->...b",
        since="2.2",
    )


@composite(np.inner)
def inner(a: Any, b: Any) -> Any:
    """Sums of products over the last axes: as NumPy makes it, np.dot with b transposed."""
    a, b = as_array(a), as_array(b)
    if np.ndim(a) and np.ndim(b) > 1:
        dtype = np.result_type(a.dtype, b.dtype)
        b = b if b.dtype == dtype else np.astype(b, dtype)  # cast before it is transposed
        return np.dot(a, np.swapaxes(b, -1, -2))
    return np.dot(a, b)


def as_vector(x: Any) -> Any:
    """The elements of `x`, a Python number too, in one axis."""
    x = not_a_number(x)
    return x if np.ndim(x) == 1 else np.reshape(x, (np.size(x),))


def _outer_call(a: Any, b: Any, out: None = None) -> tuple[tuple[Any, Any], dict[str, Any]]:
    without_out(out)
    return (as_vector(a), as_vector(b)), {}


outer = _bilinear(
    np.outer,
    canonical=_outer_call,
    infer=lambda a, b: ArrayType((a.size, b.size), common_dtype(a, b)),
    vjp=(lambda g, c, a, b: g @ b, lambda g, c, a, b: a @ g),
    batch=batched_products.outer,
    source="np.outer({0}, {1})",
    cost=lambda a, b: a.size * b.size,
    product="outer",
)


@composite(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Each element of `a` times the whole of `b`, as blocks of one array."""
    a, b = not_a_number(a), not_a_number(b)
    if not np.ndim(a) or not np.ndim(b):
        return a * b
    axes = max(np.ndim(a), np.ndim(b))
    sizes = [(1,) * (axes - np.ndim(x)) + np.shape(x) for x in (a, b)]
    blocks = np.reshape(a, [n for size in sizes[0] for n in (size, 1)])
    within = np.reshape(b, [n for size in sizes[1] for n in (1, size)])
    return np.reshape(blocks * within, [n * m for n, m in zip(*sizes, strict=True)])


cross3 = _bilinear(
    name="cross",
    infer=lambda a, b: ArrayType(broadcast_shapes(a.shape, b.shape), common_dtype(a, b)),
    vjp=(lambda g, c, a, b: np.cross(b, g), lambda g, c, a, b: np.cross(g, a)),
    batch=broadcasting("cross"),
    source="np.cross({0}, {1})",
    cost=lambda a, b: 3 * max(a.size, b.size),
    sign=None,
    axes="..._,..._->..._",
)


def _cross_call(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Cross products along the last axes, any other axis moved there; of three elements only."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _last(a, axisa), _last(b, axisb)
    sizes = (np.shape(a)[-1], np.shape(b)[-1])
    if sizes != (3, 3):
        raise ValueError(
            f"cross products need vectors of 3 elements, not of {sizes[0]} and {sizes[1]}; "
            "for two elements write a[0] * b[1] - a[1] * b[0]"
        )
    product = cross3(a, b)
    return product if axisc == -1 else np.moveaxis(product, -1, axisc)


def _last(x: Any, axis: int) -> Any:
    x = as_array(x)
    return x if axis == -1 else np.moveaxis(x, operator.index(axis), -1)


answer(np.cross, _cross_call)
