"""scipy.sparse: products and systems of equations with matrices whose data are recorded.

The first operands of an op are the parts of its matrix: a handle, which is SciPy's own object, or
the data and two integer arrays of the places. `form` says which:

    handle, handle.T   the object, or its transpose
    csr, csc           data, indices, indptr
    coo                data, rows, columns, where a place may occur twice
    csr*, csc*         the same, of which SciPy makes a matrix in that format
    factors            nothing: factors that were made before are all that is known

`shape` is that of the matrix. A gradient by data is one number for each of them: what a matrix has
elsewhere is zero, and stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse.linalg

from tracejit.ir.types import HANDLE, WEAK_TYPES, ArrayType, Shape
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.op import Each, Op, defop
from tracejit.ops.indexing.sparse import product_dtype

Matrix = Sequence[Any]
LIBRARY = scipy
_TURNED = {
    "handle": "handle.T", "handle.T": "handle", "csr": "csc", "csc": "csr", "coo": "coo",
    "csr*": "csc*", "csc*": "csr*",
}  # fmt: skip


def count_of(form: str) -> int:
    """The number of operands that are parts of a matrix."""
    return 0 if form == "factors" else 1 if form.startswith("handle") else 3


def matrix_text(form: str, shape: Shape, copy: bool = False) -> str:
    """The matrix in Python, of the first operands. SciPy's direct solvers put the elements in order
    in place, so that they need a `copy`."""
    if form.startswith("handle"):
        return f"{{0}}{form[6:]}"
    data, one, two = "{0}", "{1}", "{2}"
    inside = f"{data}, {one}, {two}" if form in ("csr", "csc") else f"{data}, ({one}, {two})"
    words = ", copy=True" if copy and form in ("csr", "csc") else ""
    family = "matrix" if form == "coo" else "array"  # a product of an array of one row is a number
    return f"scipy.sparse.{form[:3]}_{family}(({inside}), shape={tuple(map(int, shape))}{words})"


def turned(matrix: Matrix, form: str, shape: Shape) -> tuple[Matrix, dict[str, Any]]:
    """The transpose: its parts, and the parameters that say what they are."""
    if form.endswith("*") or form == "coo":
        matrix = matrix[0], matrix[2], matrix[1]
    return matrix, {"form": _TURNED[form], "shape": shape[::-1]}


def entries_of(matrix: Matrix, form: str, shape: Shape) -> tuple[Any, Any]:
    """The row and the column of each number."""
    data, one, two = matrix
    if form not in ("csr", "csc"):
        return one, two
    lines = entry_lines(two, size=data.shape[0], count=shape[form == "csc"])
    return (lines, one) if form == "csr" else (one, lines)


def sampled(g: Any, x: Any, matrix: Matrix, form: str, shape: Shape) -> Any:
    """The outer product of two vectors, or of the columns of two arrays, where a matrix has
    numbers."""
    rows, columns = entries_of(matrix, form, shape)
    found = np.take(g, rows, axis=0) * np.take(x, columns, axis=0)
    return found if found.ndim == 1 else np.sum(found, axis=1)


entry_lines: Op = defop(
    name="entry_lines",
    infer=lambda starts, size, count: ArrayType((size,), np.dtype(np.intp)),
    vjp=(),
    source="np.repeat(np.arange({count}), np.diff({0}))",
)
"""The row of each number of a matrix by rows, of which there are `count`."""

has_places_once: Op = defop(
    name="has_places_once",
    infer=lambda *matrix, form, shape: WEAK_TYPES[bool],
    vjp=(),
    source=lambda types, form, shape: f"{matrix_text(form, shape)}.has_canonical_format",
    library="scipy",
)
"""True if no place of a matrix by rows or by columns occurs twice, and they are in order."""


def _by_operand(matrix_rule: Any, right_rule: Any) -> Each:
    """The rule of an op by the data of its matrix, and by the last operand."""

    def rule(k: int, g: Any, y: Any, *operands: Any, form: str, **params: Any) -> Any:
        count = count_of(form)
        given = operands[:count], operands[count:], form, params
        if k == 0 and count > 1:
            return matrix_rule(g, y, *given)
        return right_rule(g, y, *given) if k == count else None

    return Each(rule)


# Products


def _product_type(*types: ArrayType, form: str, shape: Shape) -> ArrayType:
    x = types[-1]
    if x.ndim not in (1, 2):
        raise ValueError(f"a sparse matrix multiplies vectors and matrices, not {x.ndim} axes")
    if x.shape[0] != shape[1]:
        raise ValueError(f"matmul: dimension mismatch of {tuple(shape)} and {x.shape}")
    return ArrayType((shape[0], *x.shape[1:]), product_dtype(str(types[0].dtype), x.dtype))


def _columns(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A batch of vectors or of matrices as the columns of one matrix, and the way back."""
    size, rows, *rest = x.shape
    joined = np.reshape(np.moveaxis(x, 0, 1), (rows, -1))

    def back(found: Any) -> Any:
        return np.moveaxis(np.reshape(found, (found.shape[0], size, *rest)), 0, 1)

    return joined, back


def _in_columns(name: str, last: int = -1) -> Callable[..., Any]:
    """The batching rule of an op that takes columns one by one, its matrix being one."""

    def batch(moved: Moved, *operands: Any, **params: Any) -> Any:
        from_last = len(operands) + last
        others = [there for k, there in enumerate(moved) if k != from_last]
        if any(others) or not operands[from_last].size:
            return NotImplemented
        joined, back = _columns(operands[from_last])
        given = (*operands[:from_last], joined, *operands[from_last + 1 :])
        return back(_OPS[name](*given, **params))

    return batch


def _product_slope(g: Any, y: Any, matrix: Matrix, right: Any, form: str, params: Any) -> Any:
    return sampled(g, right[0], matrix, form, params["shape"])


def _product_back(g: Any, y: Any, matrix: Matrix, right: Any, form: str, params: Any) -> Any:
    other, kinds = turned(matrix, form, params["shape"])
    return matrix_product(*other, g, **kinds)


def _product_reads(
    k: int, types: Sequence[ArrayType], integers: Sequence[Any], form: str, shape: Shape
) -> tuple[Any, Any]:
    """The elements of the product, and of data or of the other factor, that belong together."""
    data, x = types[0], types[-1]
    rows, columns = entries_of((np.empty(data.shape), *integers[1:3]), form, shape)
    beside = np.arange(x.shape[1] if x.ndim == 2 else 1)
    places = [np.ravel(np.asarray(one)[:, None] * beside.size + beside) for one in (rows, columns)]
    return places[0], places[1] if k else np.repeat(np.arange(data.size), beside.size)


matrix_product: Op = defop(
    name="matrix_product",
    infer=_product_type,
    vjp=_by_operand(_product_slope, _product_back),
    jvp="bilinear",
    batch=_in_columns("matrix_product"),
    reads=_product_reads,
    source=lambda types, form, shape: f"{matrix_text(form, shape)} @ {{{len(types) - 1}}}",
    library="scipy",
    cost=lambda *types, **params: 16 * types[-1].estimated_size,
)


# Direct solvers


def _floating(*types: ArrayType) -> np.dtype[Any]:
    found = np.result_type(*[type.dtype for type in types])
    return found if found.kind in "fc" else np.dtype(float)


def _check_square(shape: Shape, b: ArrayType) -> None:
    if shape[0] != shape[1]:
        raise ValueError(f"matrix must be square (has shape {tuple(shape)})")
    if b.ndim not in (1, 2) or b.shape[0] != shape[0]:
        raise ValueError(f"matrix of shape {tuple(shape)} and right side of shape {b.shape}")


def _solved_type(
    *types: ArrayType, form: str, shape: Shape, dtype: str, triangle: str = "", **options: Any
) -> ArrayType:
    b = types[-1]
    _check_square(shape, b)
    kept = b.shape if triangle or b.ndim == 1 or b.shape[1] != 1 else b.shape[:1]
    return ArrayType(kept, _floating(ArrayType((), np.dtype(dtype)), b))


def _options(options: dict[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in options.items())


def _solve_source(
    types: Sequence[ArrayType],
    form: str,
    shape: Shape,
    dtype: str,
    triangle: str = "",
    **options: Any,
) -> str:
    matrix, b = matrix_text(form, shape, copy=True), f"{{{len(types) - 1}}}"
    if triangle:
        words = _options({"lower": triangle == "lower"})
        return f"scipy.sparse.linalg.spsolve_triangular({matrix}.tocsc(), {b}{words})"
    return f"scipy.sparse.linalg.spsolve({matrix}, {b}{_options(options)})"


def _solve_adjoint(g: Any, matrix: Matrix, form: str, params: Any) -> Any:
    other, kinds = turned(matrix, form, params["shape"])
    if "triangle" in params:
        kinds["triangle"] = "upper" if params["triangle"] == "lower" else "lower"
    return sparse_solve(*other, g, **{**params, **kinds})


def _solve_slope(g: Any, y: Any, matrix: Matrix, right: Any, form: str, params: Any) -> Any:
    adjoint = _solve_adjoint(g, matrix, form, params)
    return -sampled(adjoint, y, matrix, form, params["shape"])


def _solve_back(g: Any, y: Any, matrix: Matrix, right: Any, form: str, params: Any) -> Any:
    return np.reshape(_solve_adjoint(g, matrix, form, params), right[0].shape)


def _moved_matrix(solve: Callable[..., Any]) -> Callable[..., Any]:
    """The tangent of a solution for that of the data: the solution for minus their product with
    it."""

    def rule(v: Any, y: Any, matrix: Matrix, right: Any, form: str, params: Any) -> Any:
        product = matrix_product(v, *matrix[1:], y, form=form, shape=params["shape"])
        return -solve(product, y, matrix, right, form, params)

    return rule


def _solved(v: Any, y: Any, matrix: Matrix, right: Any, form: str, params: Any) -> Any:
    return sparse_solve(*matrix, v, form=form, **params)


def _solve_batch(moved: Moved, *operands: Any, **params: Any) -> Any:
    if operands[-1].shape[0] == 1 and operands[-1].ndim == 2 and not any(moved[:-1]):
        found = sparse_solve(*operands[:-1], operands[-1][0], **params)
        return np.expand_dims(found, 0)
    columns = operands[-1].ndim == 3 and operands[-1].shape[2] == 1
    return NotImplemented if columns else _in_columns("sparse_solve")(moved, *operands, **params)


sparse_solve: Op = defop(
    name="sparse_solve",
    infer=_solved_type,
    vjp=_by_operand(_solve_slope, _solve_back),
    jvp=_by_operand(_moved_matrix(_solved), _solved),
    batch=_solve_batch,
    source=_solve_source,
    library="scipy",
    cost=lambda *types, **params: 1000 * types[-1].estimated_size,
)

"""The solution by `spsolve`, or by `spsolve_triangular` of a lower or upper `triangle`."""

factors: Op = defop(
    name="sparse_factors",
    infer=lambda *matrix, form, shape, **options: HANDLE,
    vjp=(),
    source=lambda types, form, shape, **options: (
        f"scipy.sparse.linalg.splu({matrix_text(form, shape, copy=True)}{_options(options)})"
    ),
    library="scipy",
    cost=lambda *types, **params: 1000 * types[0].estimated_size,
)
"""The factors of a matrix, by which `factors_solve` solves; that has the derivative by data."""


def _factored_type(*types: ArrayType, form: str, shape: Shape, dtype: str, trans: str) -> ArrayType:
    b = types[-1]
    _check_square(shape, b)
    kind = _floating(ArrayType((), np.dtype(dtype)))
    if b.dtype.kind == "c" and kind.kind != "c":
        raise TypeError("the factors of a real matrix solve only for real right sides")
    return ArrayType(b.shape, kind)


def _factored_rule(k: int, g: Any, y: Any, lu: Any, *operands: Any, **params: Any) -> Any:
    form = params["form"]
    count = count_of(form)
    matrix = operands[:count]
    if k != count + 1 and (k != 1 or count < 3):
        return None
    trans = "N" if params["trans"] == "T" else "T"
    adjoint = factors_solve(lu, *matrix, g, **{**params, "trans": trans})
    if k == count + 1:
        return adjoint
    pair = (adjoint, y) if trans == "T" else (y, adjoint)
    return -sampled(*pair, matrix, form, params["shape"])


def _factored_push(k: int, v: Any, y: Any, lu: Any, *operands: Any, **params: Any) -> Any:
    form, shape = params["form"], params["shape"]
    count = count_of(form)
    matrix = operands[:count]
    if k == count + 1:
        return factors_solve(lu, *matrix, v, **params)
    if k != 1 or count < 3:
        return None
    moved: Matrix = (v, *matrix[1:])
    kinds: dict[str, Any] = {"form": form, "shape": shape}
    if params["trans"] == "T":
        moved, kinds = turned(moved, form, shape)
    return -factors_solve(lu, *matrix, matrix_product(*moved, y, **kinds), **params)


factors_solve: Op = defop(
    name="factors_solve",
    infer=_factored_type,
    vjp=Each(_factored_rule),
    jvp=Each(_factored_push),
    batch=_in_columns("factors_solve"),
    source=lambda types, trans, **params: (
        f"{{0}}.solve({{{len(types) - 1}}}" + (")" if trans == "N" else ", 'T')")
    ),
    library="scipy",
    cost=lambda *types, **params: 100 * types[-1].estimated_size,
)
"""The solution by factors, the first operand; the matrix is there for its derivative alone."""


# Iterative solvers: the solution and Python's number that says if it is one


def _iterated_types(
    *types: ArrayType, form: str, shape: Shape, dtype: str, solver: str, start: bool, **options: Any
) -> tuple[ArrayType, ArrayType]:
    b = types[count_of(form)]
    _check_square(shape, b)
    kept = (shape[0],) if b.ndim == 1 else b.shape
    return ArrayType(kept, _floating(ArrayType((), np.dtype(dtype)), b)), WEAK_TYPES[int]


def _iterated_text(
    types: Sequence[ArrayType],
    form: str,
    shape: Shape,
    dtype: str,
    solver: str,
    start: bool,
    **options: Any,
) -> str:
    count = count_of(form)
    first = f", {{{count + 1}}}" if start else ""
    matrix = matrix_text(form, shape)
    return f"scipy.sparse.linalg.{solver}({matrix}, {{{count}}}{first}{_options(options)})"


def _iterated_rule(k: int, gs: Any, ys: Any, *operands: Any, **params: Any) -> Any:
    g, y = (one[0] if isinstance(one, (tuple, list)) else one for one in (gs, ys))
    info = ys[1] if isinstance(ys, (tuple, list)) else operands[-1]
    form, shape = params["form"], params["shape"]
    count = count_of(form)
    if g is None or (k != count and (k or count == 1)):
        return None
    other, kinds = turned(operands[:count], form, shape)
    adjoint = converged(*other, g, info, **{**params, **kinds, "start": False})
    return adjoint if k else -sampled(adjoint, y, operands[:count], form, shape)


def _iterated_push(k: int, v: Any, ys: Any, *operands: Any, **params: Any) -> Any:
    several = isinstance(ys, (tuple, list))
    y, info = ys if several else (ys, operands[-1])
    form, shape = params["form"], params["shape"]
    count = count_of(form)
    matrix = operands[:count]
    if k != count and (k or count == 1):
        return None
    if not k:
        v = -matrix_product(v, *matrix[1:], y, form=form, shape=shape)
    found = converged(*matrix, v, info, **{**params, "start": False})
    return (found, None) if several else found


iterated: Op = defop(
    name="iterated_solve",
    infer=_iterated_types,
    vjp=Each(_iterated_rule),
    jvp=Each(_iterated_push),
    source=_iterated_text,
    library="scipy",
    cost=lambda *types, **params: 1000 * types[0].estimated_size,
)
converged: Op = defop(
    name="converged_solve",
    infer=lambda *types, **params: _iterated_types(*types, **params)[0],
    vjp=Each(_iterated_rule),
    jvp=Each(_iterated_push),
    source=lambda types, **params: (
        f"helpers.converged({params['solver']!r}, {{{len(types) - 1}}}, "
        f"*{_iterated_text(types, **params)})"
    ),
    library="scipy",
    cost=lambda *types, **params: 1000 * types[0].estimated_size,
)
"""The solution alone, for a derivative; the last operand says if what is differentiated is one."""


# exp(A) @ b


def _block(matrix: Matrix, dot: Any, size: int) -> tuple[Matrix, dict[str, Any]]:
    """The matrix [[A, dot], [0, A]], for the elements of A and of dot."""
    data, rows, columns = matrix
    block = (
        np.concatenate((data, dot, data)),
        np.concatenate((rows, rows, rows + size)),
        np.concatenate((columns, columns + size, columns + size)),
    )
    return block, {"form": "coo", "shape": (2 * size, 2 * size)}


def _expm_moved(matrix: Matrix, dot: Any, b: Any, size: int, dtype: str) -> Any:
    """The tangent of exp(A) @ b for that of the elements of A."""
    block, kinds = _block(matrix, dot, size)
    below = np.concatenate((np.zeros_like(b), b))
    return expm_multiply(*block, below, **kinds, dtype=dtype)[:size]


def _elements(matrix: Matrix, form: str, shape: Shape) -> Matrix:
    return matrix[0], *entries_of(matrix, form, shape)


def _expm_slope(g: Any, y: Any, matrix: Matrix, right: Any, form: str, params: Any) -> Any:
    elements = _elements(matrix, form, params["shape"])
    return expm_slope(*elements, right[0], g, size=params["shape"][0], dtype=params["dtype"])


def _expm_push(v: Any, y: Any, matrix: Matrix, right: Any, form: str, params: Any) -> Any:
    elements = _elements(matrix, form, params["shape"])
    return _expm_moved(elements, v, right[0], params["shape"][0], params["dtype"])


def _slope_along(matrix: Matrix, dot: Any, b: Any, g: Any, size: int, dtype: str) -> Any:
    """The tangent of the slopes for that of the elements, which is their cotangent as well."""
    block, _ = _block(matrix, dot, size)
    below = np.concatenate((np.zeros_like(b), b))
    above = np.concatenate((g, np.zeros_like(g)))
    found = expm_slope(*block, below, above, size=2 * size, dtype=dtype)
    count = dot.shape[0]
    return found[:count] + found[2 * count :]


def _slope_pull(
    k: int, w: Any, y: Any, data: Any, rows: Any, columns: Any, b: Any, g: Any, **params: Any
) -> Any:
    if k == 0:
        return _slope_along((data, rows, columns), w, b, g, **params)
    if k == 3:
        return _expm_moved((data, columns, rows), w, g, **params)
    return _expm_moved((data, rows, columns), w, b, **params) if k == 4 else None


def _slope_push(
    k: int, v: Any, y: Any, data: Any, rows: Any, columns: Any, b: Any, g: Any, **params: Any
) -> Any:
    matrix = (data, rows, columns)
    if k == 0:
        return _slope_along(matrix, v, b, g, **params)
    if k == 3:
        return expm_slope(*matrix, v, g, **params)
    return expm_slope(*matrix, b, v, **params) if k == 4 else None


expm_slope: Op = defop(
    name="sparse_expm_slope",
    infer=lambda data, rows, columns, b, g, size, dtype: ArrayType(
        data.shape, _floating(ArrayType((), np.dtype(dtype)), b, g)
    ),
    vjp=Each(_slope_pull),
    jvp=Each(_slope_push),
    source=lambda types, size, dtype: (
        f"helpers.exponential_slope({matrix_text('coo', (size, size))}, {{3}}, {{4}})"
    ),
    library="scipy",
    cost=lambda *types, **params: 4000 * types[0].estimated_size,
)
"""The slopes of sum(g * (exp(A) @ b)) by the elements of A: data, rows, columns."""


def _expm_back(g: Any, y: Any, matrix: Matrix, right: Any, form: str, params: Any) -> Any:
    other, kinds = turned(matrix, form, params["shape"])
    return expm_multiply(*other, g, **{**params, **kinds})


def _expm_type(*types: ArrayType, form: str, shape: Shape, dtype: str) -> ArrayType:
    _check_square(shape, types[-1])
    return ArrayType(types[-1].shape, _floating(ArrayType((), np.dtype(dtype)), types[-1]))


expm_multiply: Op = defop(
    name="sparse_expm_multiply",
    infer=_expm_type,
    vjp=_by_operand(_expm_slope, _expm_back),
    jvp=_by_operand(
        _expm_push,
        lambda v, y, matrix, right, form, params: expm_multiply(*matrix, v, form=form, **params),
    ),
    batch=_in_columns("sparse_expm_multiply"),
    source=lambda types, form, shape, dtype: (
        f"scipy.sparse.linalg.expm_multiply({matrix_text(form, shape)}, {{{len(types) - 1}}})"
    ),
    library="scipy",
    cost=lambda *types, **params: 1000 * types[-1].estimated_size,
)
_OPS = {op.name: op for op in (matrix_product, sparse_solve, factors_solve, expm_multiply)}
