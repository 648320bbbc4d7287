"""Rules of scipy.sparse: matrices made of recorded data, and systems of equations with recorded
matrices or right sides.

A solver is one operation, whose text is the user's call. Its derivative by the right side is the
solution with the transpose; by data, minus the product of both solutions, where the matrix has
numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array, is_recorded, settled
from tracejit.ops.scipy import sparse as ops
from tracejit.support.errors import fail
from tracejit.trace.convert.rules import RULES, rule, where_recorded
from tracejit.trace.recording.recorded_matrix import RecordedMatrix, handle_of, recorded
from tracejit.trace.source import places
from tracejit.trace.source.instead import not_recorded
from tracejit.trace.structure.sparse_products import PARTS, format_of, is_sparse

scipy = ops.LIBRARY

# Making matrices


def _known(value: Any, name: str) -> Any:
    """The numbers of an index or offset, which say where elements are."""
    value = settled(value)
    if is_recorded(value):
        problem = f"its shape depends on {name}, which is recorded"
        raise _refused("a sparse matrix", problem, "give the shape: shape=(m, n).")
    return np.asarray(value)


def _refused(function: str, problem: str, fix: str) -> Exception:
    return fail("unsupported-call", places.here(), function=function, problem=problem, fix=fix)


def _shape_of(lines: Sequence[Any], count: Sequence[int | None]) -> tuple[int, ...]:
    """The shape that indices need, where it is not given."""
    return tuple(
        int(_known(line, "indices").max(initial=-1)) + 1 if size is None else size
        for line, size in zip(lines, count, strict=True)
    )


def _making(cls: type) -> Callable[..., Any]:
    """The rule of a class of matrices by rows, by columns or by coordinates."""
    form = format_of(cls)

    def make(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Any:
        if is_sparse(type(arg1)):
            matrix = recorded(arg1).asformat(form)
        elif type(arg1) is tuple and len(arg1) in (2, 3) and np.ndim(arg1[0]):
            inside = arg1[1] if len(arg1) == 2 else arg1[1:]
            data, one, two = (as_array(part) for part in (arg1[0], *inside))
            names = "data row col".split() if len(arg1) == 2 else "data indices indptr".split()
            if shape is None:
                shape = _implied(form, names, one, two)
            matrix = RecordedMatrix.of_parts(cls, names, (data, one, two), shape)
        else:
            problem = "the places of zeros in an array are not known while the function is recorded"
            fix = "give the data and their places: (data, (rows, columns))."
            raise _refused(cls.__name__, problem, fix)
        operands = matrix.operands
        if dtype is not None and np.dtype(dtype) != matrix.dtype:
            matrix = matrix.astype(np.dtype(dtype))
            operands = matrix.operands
        return RecordedMatrix(cls, matrix.shape, matrix.dtype, matrix.form, operands)

    return make


def _implied(form: str, names: Sequence[str], one: Any, two: Any) -> tuple[int, ...]:
    """The shape of a matrix of these parts, for which none is given."""
    if "row" in names:
        return _shape_of((one, two), (None, None))
    if form == "csr":
        return _shape_of((two, one), (two.shape[0] - 1, None))
    return _shape_of((one, two), (None, two.shape[0] - 1))


for _form, _family in itertools.product(("csr", "csc", "coo"), ("array", "matrix")):
    _class = getattr(scipy.sparse, f"{_form}_{_family}")
    RULES[_class] = where_recorded(_class, _making(_class))


def _kind(form: str | None, family: str) -> Any:
    """The class of a matrix that is made of others; of diagonals or blocks by coordinates."""
    form = form or "coo"
    if form not in ("csr", "csc", "coo"):
        raise _refused(f"the format {form!r}", "it is recorded by rows or columns", "leave it out.")
    return getattr(scipy.sparse, f"{form}_{family}")


def _diagonals(family: str) -> Callable[..., Any]:
    def make(
        diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
    ) -> Any:
        offsets = np.atleast_1d(_known(offsets, "offsets")).tolist()
        if is_recorded(diagonals) and diagonals.ndim == 1:
            diagonals = [diagonals]
        lines = [as_array(line) for line in diagonals]
        lines = [np.reshape(line, 1) if np.ndim(line) == 0 else line for line in lines]
        if len(lines) != len(offsets):
            raise ValueError(f"{len(lines)} diagonals, but {len(offsets)} offsets")
        if shape is None:
            shape = (lines[0].shape[0] + abs(offsets[0]),) * 2
        entries: list[tuple[Any, Any, Any]] = []
        for line, offset in zip(lines, offsets, strict=True):
            size = min(shape[0] + offset, shape[1] - offset, *shape)
            if size < 0 or line.shape[0] not in (1, size):
                raise ValueError(
                    f"Diagonal length (index {len(entries)}: {line.shape[0]} at offset {offset}) "
                    f"does not agree with array size ({shape[0]}, {shape[1]})."
                )
            rows = np.arange(size) + max(-offset, 0)
            entries.append((np.broadcast_to(line, (size,)), rows, rows + offset))
        parts = [np.concatenate(one) for one in zip(*entries, strict=True)]
        if dtype is not None and dtype in (float, complex, np.float32, np.float64):
            parts[0] = parts[0].astype(dtype)
        return RecordedMatrix.of_parts(_kind(format, family), ("data", "row", "col"), parts, shape)

    return make


def _by_diagonals(cls: type) -> Callable[..., Any]:
    """The rule of a class of matrices by diagonals, whose element k of a row is in column k."""

    def make(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Any:
        if not (type(arg1) is tuple and len(arg1) == 2 and shape is not None):
            raise _refused(cls.__name__, "it is recorded of (data, offsets)", "give shape, too.")
        data, offsets = np.atleast_2d(as_array(arg1[0])), _known(arg1[1], "offsets")
        columns = np.broadcast_to(np.arange(data.shape[1]), data.shape)
        rows = columns - np.reshape(offsets, (-1, 1))
        is_there = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
        taken = np.flatnonzero(is_there)
        parts = (np.take(np.reshape(data, -1), taken), rows[is_there], columns[is_there])
        kind = scipy.sparse.coo_matrix if cls is scipy.sparse.dia_matrix else scipy.sparse.coo_array
        return RecordedMatrix.of_parts(kind, PARTS["coo"], parts, shape)

    return make


for _class in (scipy.sparse.dia_array, scipy.sparse.dia_matrix):
    RULES[_class] = where_recorded(_class, _by_diagonals(_class))


@rule(scipy.sparse.spdiags)
def _spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: Any = None) -> Any:
    shape = (data.shape[-1],) * 2 if m is None else m if n is None else (m, n)
    matrix = _by_diagonals(scipy.sparse.dia_matrix)((data, np.atleast_1d(diags)), shape)
    return matrix.asformat(format)


rule(scipy.sparse.diags_array)(_diagonals("array"))
rule(scipy.sparse.diags)(_diagonals("matrix"))


def _blocks(blocks: Sequence[Sequence[Any]], format: Any, dtype: Any) -> Any:
    """One matrix of a table of matrices, some of which may be None."""
    table = [[None if one is None else recorded(one) for one in row] for row in blocks]
    heights = [next(one.shape[0] for one in row if one is not None) for row in table]
    columns = zip(*table, strict=True)
    widths = [next(one.shape[1] for one in column if one is not None) for column in columns]
    tops, lefts = (np.concatenate(([0], np.cumsum(sizes))) for sizes in (heights, widths))
    entries = []
    for i, row in enumerate(table):
        for k, one in enumerate(row):
            if one is not None:
                if one.shape != (heights[i], widths[k]):
                    raise ValueError(f"blocks[{i},{k}] has incompatible dimensions {one.shape}")
                data, rows, places_of = one.entries()
                entries.append((data, rows + int(tops[i]), places_of + int(lefts[k])))
    parts = [np.concatenate(part) for part in zip(*entries, strict=True)]
    shape = int(tops[-1]), int(lefts[-1])
    first = next(one for row in table for one in row if one is not None)
    family = first.kind.__name__.rpartition("_")[2]
    return RecordedMatrix.of_parts(_kind(format, family), ("data", "row", "col"), parts, shape)


@rule(scipy.sparse.block_array, scipy.sparse.bmat)
def _block_array(blocks: Any, *, format: Any = None, dtype: Any = None) -> Any:
    return _blocks(blocks, format, dtype)


@rule(scipy.sparse.block_diag)
def _block_diag(mats: Any, format: Any = None, dtype: Any = None) -> Any:
    matrices = [one if is_sparse(type(one)) else _dense(one) for one in mats]
    count = len(matrices)
    table = [[one if k == j else None for j in range(count)] for k, one in enumerate(matrices)]
    return _blocks(table, format, dtype)


def _dense(array: Any) -> RecordedMatrix:
    """A matrix of all elements of an array."""
    array = np.atleast_2d(as_array(array))
    lines = np.indices(array.shape).reshape(2, -1)
    parts = (np.reshape(array, -1), *lines)
    return RecordedMatrix.of_parts(scipy.sparse.coo_array, PARTS["coo"], parts, array.shape)


@rule(scipy.sparse.kron)
def _kron(A: Any, B: Any, format: Any = None) -> Any:
    one, other = (recorded(x if is_sparse(type(x)) else _dense(x)) for x in (A, B))
    form = format_of(_kind(format, "array"))
    return one.paired(other, lambda a, b: scipy.sparse.kron(a, b, format=form))


def _triangle(side: Any) -> None:
    """Enter the rule of a function that takes a part of a matrix."""

    @rule(side)
    def part(A: Any, k: int = 0, format: Any = None) -> Any:
        return recorded(A).moved(lambda matrix: side(matrix, k, format))


_triangle(scipy.sparse.tril)
_triangle(scipy.sparse.triu)


@rule(scipy.sparse.hstack)
def _hstack(blocks: Any, format: Any = None, dtype: Any = None) -> Any:
    return _blocks([blocks], format, dtype)


@rule(scipy.sparse.vstack)
def _vstack(blocks: Any, format: Any = None, dtype: Any = None) -> Any:
    return _blocks([[one] for one in blocks], format, dtype)


def _multiplying(multiply: Any) -> None:
    """Enter the rule of a method `multiply` of matrices that were made before."""

    @rule(multiply)
    def by_array(self: Any, other: Any) -> Any:
        return recorded(self).multiply(other)


for _class in (scipy.sparse.csr_array, scipy.sparse.dia_array):
    _multiplying(_class.multiply)


# Systems of equations


def _system(A: Any, b: Any, function: str) -> tuple[RecordedMatrix, Any, dict[str, Any]]:
    """The matrix and the right side of a system, and how an op is told of the matrix."""
    if not is_sparse(type(A)):
        fix = "pass a sparse matrix."
        raise _refused(function, "its matrix is not a sparse matrix of SciPy", fix)
    if is_sparse(type(b)):
        raise _refused(function, "its right side is a sparse matrix", "pass b.toarray().")
    matrix = recorded(A)
    words = {"form": matrix.form, "shape": matrix.shape, "dtype": str(matrix.dtype)}
    return matrix, None if b is None else as_array(b), words


def _not_default(given: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Options that are not as by default; none of them is recorded."""
    unknown = [name for name in given if name not in defaults]
    if unknown:
        raise TypeError(f"got an unexpected keyword argument {unknown[0]!r}")
    found = {name: settled(one) for name, one in given.items() if one is not defaults[name]}
    for name, one in found.items():
        if is_recorded(one):
            raise TypeError(f"{name} cannot be a recorded value: it must be known before the call")
    return {
        name: one.item() if isinstance(one, np.generic) else one
        for name, one in found.items()
        if one != defaults[name]
    }


@rule(scipy.sparse.linalg.spsolve)
def _spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: Any = True) -> Any:
    matrix, b, words = _system(A, b, "scipy.sparse.linalg.spsolve")
    given = {"permc_spec": permc_spec, "use_umfpack": use_umfpack}
    options = _not_default(given, permc_spec=None, use_umfpack=True)
    return ops.sparse_solve(*matrix.operands, b, **words, **options)


@rule(scipy.sparse.linalg.spsolve_triangular)
def _spsolve_triangular(
    A: Any, b: Any, lower: bool = True, *overwriting: bool, unit_diagonal: bool = False, **free: Any
) -> Any:
    matrix, b, words = _system(A, b, "scipy.sparse.linalg.spsolve_triangular")
    if unit_diagonal:
        sides = scipy.sparse.tril, scipy.sparse.triu
        matrix = matrix.moved(lambda m: sides[0](m, -1) + sides[1](m, 1))
        matrix = matrix + _diagonals("array")([np.ones(matrix.shape[0], matrix.dtype)])
        words["form"] = matrix.form
    triangle = "lower" if lower else "upper"
    return ops.sparse_solve(*matrix.operands, b, triangle=triangle, **words)


class Factors:
    """The factors of a recorded matrix, as scipy.sparse.linalg.splu returns them."""

    def __init__(self, A: Any, **options: Any) -> None:
        """Record the factorization."""
        self._matrix, _, self._words = _system(A, None, "scipy.sparse.linalg.splu")
        self.shape = self._matrix.shape
        words = {name: self._words[name] for name in ("form", "shape")}
        self._lu = ops.factors(*self._matrix.operands, **words, **options)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The solution for a right side."""
        if trans not in ("N", "T") and self._matrix.dtype.kind == "c":
            raise _refused("solve of a conjugate", "it is recorded with 'N' and 'T'", "conjugate.")
        words = {**self._words, "trans": "N" if trans == "N" else "T"}
        return ops.factors_solve(self._lu, *self._matrix.operands, as_array(rhs), **words)

    def __getattr__(self, name: str) -> Any:
        raise not_recorded(places.here(), f"scipy.sparse.linalg.SuperLU.{name}")


@rule(scipy.sparse.linalg.splu)
def _splu(
    A: Any,
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: Any = None,
) -> Any:
    given = {
        "permc_spec": permc_spec, "diag_pivot_thresh": diag_pivot_thresh, "relax": relax,
        "panel_size": panel_size, "options": options,
    }  # fmt: skip
    return Factors(A, **_not_default(given, **dict.fromkeys(given)))


@rule(scipy.sparse.linalg.factorized)
def _factorized(A: Any) -> Any:
    return Factors(A).solve


def of_factors(called: Any) -> Callable[..., Any] | None:
    """The method `solve` of factors that were made before, for right sides that are recorded."""
    owner = called.__self__
    if type(owner).__name__ != "SuperLU" or called.__name__ != "solve":
        return None

    def solve(rhs: Any, trans: str = "N") -> Any:
        words = {"form": "factors", "shape": owner.shape, "dtype": str(owner.L.dtype)}
        if trans not in ("N", "T") and owner.L.dtype.kind == "c":
            raise _refused("solve of a conjugate", "it is recorded with 'N' and 'T'", "conjugate.")
        trans = "N" if trans == "N" else "T"
        return ops.factors_solve(handle_of(owner), as_array(rhs), **words, trans=trans)

    return where_recorded(called, solve)


def _iterative(solver: Any, **defaults: Any) -> None:
    """Enter the rule of an iterative solver with these options."""
    name = solver.__name__

    @rule(solver)
    def solve(A: Any, b: Any, x0: Any = None, **given: Any) -> Any:
        function = f"scipy.sparse.linalg.{name}"
        matrix, b, words = _system(A, b, function)
        for option in ("M", "M1", "M2", "callback", "callback_type"):
            if given.pop(option, None) is not None:
                raise _refused(
                    function, f"{option} is a function, which is not recorded", "omit it."
                )
        options = _not_default(given, **defaults)
        start = [] if x0 is None else [as_array(x0)]
        words = {**words, "solver": name, "start": bool(start)}
        return ops.iterated(*matrix.operands, b, *start, **words, **options)


_TOLERANCE = {"rtol": 1e-05, "atol": 0.0, "maxiter": None}
_iterative(scipy.sparse.linalg.cg, **_TOLERANCE)
for _name in ("bicg", "bicgstab", "cgs", "qmr"):
    _iterative(getattr(scipy.sparse.linalg, _name), **_TOLERANCE)
_iterative(scipy.sparse.linalg.minres, rtol=1e-05, maxiter=None)
_iterative(scipy.sparse.linalg.gmres, **_TOLERANCE, restart=None)


@rule(scipy.sparse.linalg.expm_multiply)
def _expm_multiply(A: Any, B: Any, *grid: Any, **options: Any) -> Any:
    function = "scipy.sparse.linalg.expm_multiply"
    if grid or options:
        raise _refused(function, "it is recorded for a single time", "multiply A by that time.")
    matrix, B, words = _system(A, B, function)
    return ops.expm_multiply(*matrix.operands, B, **words)
