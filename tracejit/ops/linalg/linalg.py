"""numpy.linalg: systems of equations, inverses, determinants, powers and chains of products.

All work on stacks of matrices. Integers and booleans count as float64, float32 stays float32. A
singular matrix raises NumPy's LinAlgError when the code runs. The gradient of `slogdet`, and that
of `det` beyond three rows, divides by the matrix, so it raises it where the value alone is -inf or
zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tracejit.ir.types import ArrayType
from tracejit.ops.base.batching import Moved, aligned
from tracejit.ops.base.infer import broadcast_shapes
from tracejit.ops.base.op import answer, composite, defop
from tracejit.ops.linalg.products import array_or_scalar, check_sizes, conj
from tracejit.support.cost_model import costs


def linalg_dtype(*types: ArrayType) -> np.dtype[Any]:
    """The dtype that numpy.linalg computes in; TypeError for those it does not know."""
    for type in types:
        if type.is_inexact and type.dtype.char not in "fdFD":
            raise TypeError(f"array type {type.dtype.name} is unsupported in linalg")
    return np.result_type(*[type.dtype if type.is_inexact else np.float64 for type in types])


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the absolute value."""
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def check_matrix(a: ArrayType) -> None:
    """Raise what NumPy raises unless `a` is a matrix or a stack of them."""
    if a.ndim < 2:
        raise LinAlgError(
            f"{a.ndim}-dimensional array given. Array must be at least two-dimensional"
        )


def check_square(a: ArrayType) -> None:
    """Raise what NumPy raises unless `a` is a square matrix or a stack of them."""
    check_matrix(a)
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def square_type(a: ArrayType) -> ArrayType:
    """The infer of a function of square matrices whose values are matrices of the same shape."""
    check_square(a)
    return ArrayType(a.shape, linalg_dtype(a))


def each(x: Any) -> Any:
    """A number for each matrix of a stack, to be multiplied with the matrices."""
    return np.expand_dims(x, (-2, -1)) if x.ndim else x


def identity_like(a: Any) -> Any:
    """The identity for each matrix in a stack."""
    return np.triu(np.tril(np.ones_like(a)))


def added(*terms: Any) -> Any:
    """The sum of the terms that are not None; None without."""
    known = [term for term in terms if term is not None]
    return sum(known[1:], known[0]) if known else None


def times_cubic(times: int) -> Callable[..., int]:
    """The cost of several decompositions."""
    return lambda *types, **params: times * cubic(*types)


def cubic(*types: ArrayType, **params: Any) -> int:
    """The cost of a decomposition: some operations for each element and each row."""
    return 2 * types[0].size * max(types[0].shape[-1:], default=1)


of_matrices = partial(
    defop, batch="leading", cost=cubic, factorization="blocked", axes="...__->...__"
)
"""The op of a function of each matrix of a stack, which LAPACK computes in blocks."""


# Systems of equations and inverses


def _solve_type(a: ArrayType, b: ArrayType) -> ArrayType:
    check_square(a)
    if not b.ndim:
        raise ValueError("the right side has no dimensions")
    check_sizes(a, b, a.shape[-1], b.shape[max(b.ndim - 2, 0)])
    stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = b.shape if b.ndim == 1 else (*stack, *b.shape[-2:])
    return ArrayType(shape, linalg_dtype(a, b))


def _batched_solve(moved: Moved, a: Any, b: Any) -> Any:
    """With one matrix, one system with all right sides."""
    if moved[0] or a.ndim > 2 or b.ndim > 3:
        return np.linalg.solve(*aligned(moved, (a, b)))
    size, rows, columns = b.shape
    sides = np.reshape(np.moveaxis(b, 0, 1), (rows, size * columns))
    return np.moveaxis(np.reshape(np.linalg.solve(a, sides), (rows, size, columns)), 1, 0)


def _batched_solve_vector(moved: Moved, a: Any, b: Any) -> Any:
    if not moved[0]:
        return np.linalg.solve(a, b.mT).mT
    return np.squeeze(np.linalg.solve(a, np.expand_dims(b, -1)), -1)


def _solve_turned(a: Any, g: Any) -> Any:
    """The solution for a transposed matrix; of a Cholesky factor, whose own gradient needs its
    inverse, a product with that."""
    if type(a) is not np.ndarray and a._value.node is not None:
        if a._value.node.op.name == "cholesky":
            return lower_inverse(a).mT @ g
    return np.linalg.solve(a.mT, g)


solve = defop(
    name="solve",
    infer=_solve_type,
    vjp=(
        lambda g, x, a, b: -(_solve_turned(a, g) @ x.mT),
        lambda g, x, a, b: _solve_turned(a, g),
    ),
    linear_in=(1,),
    batch=_batched_solve,
    source="np.linalg.solve({0}, {1})",
    cost=cubic,
    factorization="blocked",
    axes="...__,..._a->..._a",
)
solve_vector = defop(
    name="solve_vector",
    infer=_solve_type,
    vjp=(
        lambda g, x, a, b: -np.outer(_solve_turned(a, g), x),
        lambda g, x, a, b: _solve_turned(a, g),
    ),
    linear_in=(1,),
    batch=_batched_solve_vector,
    source="np.linalg.solve({0}, {1})",
    cost=cubic,
    factorization="blocked",
    axes="__,_->_",
)


def _solve_call(a: Any, b: Any) -> Any:
    """solve as NumPy 2 reads it: b is a vector only if it has one dimension, else matrices."""
    if np.ndim(b) != 1:
        return solve(a, b)
    if np.ndim(a) <= 2:
        return solve_vector(a, b)
    return np.squeeze(solve(a, np.expand_dims(b, -1)), -1)


answer(np.linalg.solve, _solve_call)

inv = of_matrices(
    np.linalg.inv,
    canonical=lambda a: ((a,), {}),
    infer=square_type,
    vjp=lambda g, y, a: -(y.mT @ g @ y.mT),
    source="np.linalg.inv({0})",
)


def _lower_inverse_lines(types: Sequence[ArrayType]) -> tuple[str, ...]:
    """The inverse by blocks of rows: each is the inverse of its last block times what the rows
    before it leave."""
    size, rest = types[0].shape[-1], "..., " if types[0].ndim > 2 else ""
    block_rows = costs().inverse_rows
    if size <= block_rows:
        return ("{out} = np.linalg.inv({0})",)
    block = f"[{rest}rows, rows]"
    return (
        "{out} = np.zeros_like({0})",
        f"for start in range(0, {size}, {block_rows}):",
        f"    rows = slice(start, start + {block_rows})",
        f"    {{out}}{block} = np.linalg.inv({{0}}{block})",
        f"    above = {{0}}[{rest}rows, :start] @ {{out}}[{rest}:start, :start]",
        f"    {{out}}[{rest}rows, :start] = -{{out}}{block} @ above",
    )


lower_inverse = of_matrices(
    name="lower_inverse",
    infer=square_type,
    vjp=lambda g, y, a: -np.tril(y.mT @ np.tril(g) @ y.mT),
    statements=_lower_inverse_lines,
    cost=lambda a: cubic(a) // 3,
)
"""The inverse of lower triangular matrices, of which zeros above the diagonal are treated as
granted: in derivatives only, as NumPy computes an inverse by other steps."""


@composite(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """solve for a tensor equation, its axes flattened."""
    if axes is not None:
        order = [k for k in range(np.ndim(a)) if k not in axes] + list(axes)
        a = np.transpose(a, order)
    shape = np.shape(a)[np.ndim(b) :]
    size = math.prod(shape)
    if np.size(a) != size**2:
        raise LinAlgError(
            "the shape of a, after the dimensions of b, has another product than b has elements: "
            f"{np.shape(a)} and {np.shape(b)}"
        )
    solution = np.linalg.solve(np.reshape(a, (size, size)), np.reshape(b, (size,)))
    return np.reshape(solution, shape)


@composite(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """A product of n equal matrices, in NumPy's order; of inverses where n is negative."""
    power = operator.index(n)
    shape = np.shape(a)
    if len(shape) < 2:
        raise LinAlgError(
            f"{len(shape)}-dimensional array given. Array must be at least two-dimensional"
        )
    if shape[-1] != shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if power == 0:
        return identity_like(a)
    if power < 0:
        a, power = np.linalg.inv(a), -power
    if power == 3:
        return (a @ a) @ a
    square, result = a, None
    while power:
        power, odd = divmod(power, 2)
        if odd:
            result = square if result is None else result @ square
        if power:
            square = square @ square
    return result


# Determinants and the trace


def _det_type(a: ArrayType) -> ArrayType:
    check_square(a)
    return array_or_scalar(a.shape[:-2], linalg_dtype(a))


def _slogdet_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    sign = _det_type(a)
    return sign, sign.with_dtype(real_dtype(sign.dtype))


def _cofactors(y: Any, a: Any) -> Any:
    """The derivative of the determinant y: of products up to three rows, y * a^-T beyond."""
    size = a.shape[-1]
    if size == 1:
        return np.ones_like(a)
    if size == 2:
        return a[..., ::-1, ::-1] * np.array([[1, -1], [-1, 1]], a.dtype)
    if size == 3:
        return _rolled(a, 1, 1) * _rolled(a, 2, 2) - _rolled(a, 1, 2) * _rolled(a, 2, 1)
    return each(y) * np.linalg.inv(a).mT


def _rolled(a: Any, down: int, right: int) -> Any:
    return np.roll(a, (down, right), (-2, -1))


def _imaginary(z: Any) -> Any:
    """The imaginary part times i."""
    return 0.5 * (z - conj(z))


def _slogdet_vjp(g: Any, y: Any, a: Any) -> Any:
    """Of both results; a real sign is constant, a complex one turns with the imaginary part."""
    turned, g_log = g
    if turned is not None and y[0].dtype.kind == "c":
        turn = _imaginary(turned * y[0])
        g_log = turn if g_log is None else g_log + turn
    return None if g_log is None else each(g_log) * np.linalg.inv(a).mT


det = of_matrices(
    np.linalg.det,
    canonical=lambda a: ((a,), {}),
    infer=_det_type,
    vjp=lambda g, y, a: each(g) * _cofactors(y, a),
    source="np.linalg.det({0})",
    axes="...__->...",
)
slogdet = of_matrices(
    name="slogdet",
    infer=_slogdet_type,
    vjp=_slogdet_vjp,
    source="np.linalg.slogdet({0})",
    axes="...__->...,...",
)
SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))
answer(np.linalg.slogdet, lambda a: SlogdetResult(*slogdet(a)))
