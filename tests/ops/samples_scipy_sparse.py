"""Samples of scipy.sparse: matrices of recorded data, and systems of equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg
from table import Sample, normal, positive, unit

from tracejit.trace.convert import sparse as _records  # noqa: F401
from tracejit.trace.convert.rules import RULES

SIZE = 4
ROWS = np.array([0, 0, 1, 2, 2, 3, 3, 3])
COLUMNS = np.array([0, 2, 1, 0, 2, 3, 1, 3])  # the last place occurs twice
STARTS = np.array([0, 2, 3, 5, 7])
INSIDE = np.array([0, 2, 1, 0, 2, 3, 1])  # the last row is not in order
LARGE = np.where(ROWS == COLUMNS, 3.0, 0.5)
SHAPE = SIZE, SIZE


def quarters(array: Any) -> Any:
    """Numbers whose sums are exact in any order, as SciPy has another one than the formulas."""
    return np.round(4.0 * array) / 4.0 + np.where(array > 0.0, 0.25, -0.25)


def call(function: Any) -> Any:
    """The rule that records a function or class of scipy.sparse, as converted code calls it."""
    return lambda *args, **options: RULES[function](*args, **options)


def coo(data: Any) -> Any:
    return call(sparse.coo_array)((data, (ROWS, COLUMNS)), shape=SHAPE)


def csr(data: Any) -> Any:
    """By rows, of arrays that SciPy may put in order."""
    return call(sparse.csr_array)((1.0 * data[:7], INSIDE.copy(), STARTS), shape=SHAPE)


def csc(data: Any) -> Any:
    return call(sparse.csc_array)((data, (ROWS, COLUMNS)), shape=SHAPE)


def symmetric(data: Any) -> Any:
    """A positive definite matrix."""
    return call(sparse.diags_array)([data[1:4], 3.0 + data[:4], data[1:4]], offsets=[-1, 0, 1])


def row(op: str, function: Any, *args: Any, order: int = 2, **fields: Any) -> Sample:
    """A sample whose matrices are real: SciPy's are not asked for complex steps."""
    return Sample(op, function, args, order=order, holomorphic=False, **fields)


def product(matrix: Any) -> Sample:
    """A sample of the product of a matrix, made of data and a vector, with the vector."""
    return row("matrix_product", lambda d, x: matrix(d, x) @ x, DATA, LINE)


def solution(op: str, solve: Any, make: Any, *right: Any, **fields: Any) -> Sample:
    """A sample of a system of equations."""
    right = right or (normal(SIZE),)
    return row(
        op, lambda d, b: solve(make(d), b), LARGE + quarters(0.5 * unit(8)), *right, **fields
    )


DATA, LINE, LONG = quarters(positive(8)), quarters(normal(SIZE)), quarters(normal(2 * SIZE))

MADE = [
    *[product(lambda d, x, make=make: make(d)) for make in (coo, csr, csc)],
    *[product(lambda d, x, make=make: make(d).T) for make in (coo, csr, csc)],
    *[
        row("matrix_product", lambda d, x: call(sparse.csr_matrix)(
            (d, (ROWS, COLUMNS)), shape=SHAPE) * x, DATA, x)
        for x in (LINE, quarters(normal(SIZE, 2)))
    ],
    row("matrix_product", lambda d, x: x @ csr(d), DATA, quarters(normal(2, SIZE))),
    row("matrix_product", lambda d, x: csr(d).dot(x), DATA, quarters(normal(SIZE, 0))),
    product(lambda d, x: call(sparse.diags_array)([d[:3], x, -d[:3]], offsets=[-1, 0, 1])),
    product(lambda d, x: call(sparse.diags)(x) @ csr(d)),
    product(lambda d, x: call(sparse.dia_array)((d[None, :4], [1]), shape=SHAPE)),
    product(lambda d, x: call(sparse.spdiags)(np.reshape(d, (2, 4)), [0, -1], SIZE, SIZE)),
]  # fmt: skip
COMBINED = [
    product(lambda d, x: x[0] * csr(d)),
    product(lambda d, x: csc(d) / 2.0 - coo(d) * x[0]),
    product(lambda d, x: csr(d) + csr(2.0 * d) - csc(d)),
    product(lambda d, x: csr(d).multiply(x)),
    product(lambda d, x: csc(d).multiply(x[:, None])),
    product(lambda d, x: csr(d).multiply(csc(d).T)),
    product(lambda d, x: coo(d).multiply(csr(d))),
    product(lambda d, x: csr(d) @ csc(d)),
    product(lambda d, x: coo(d).power(3)),
    product(lambda d, x: abs(csc(-d)).sqrt()),
    product(lambda d, x: csr(d)[[2, 0, 0, 1]]),
    product(lambda d, x: csc(d)[:, ::-1][1:]),
    product(lambda d, x: call(sparse.tril)(coo(d)) - call(sparse.triu)(csr(d), 1)),
    row("take", lambda d: csr(d)[[0, 3], [2, 1]], DATA),
    row("add_at", lambda d: csc(d).toarray(), DATA),
    row("add_at", lambda d: csr(d).sum(axis=0) * csr(d).sum(axis=1), DATA),
    row("sum", lambda d: csr(d).sum() * csr(d).diagonal() + coo(d).trace(), DATA),
    row("matrix_product", lambda d, x: call(sparse.kron)(csr(d), coo(-d)) @ x, DATA,
        quarters(normal(SIZE**2))),
    row("matrix_product", lambda d, x: call(sparse.kron)(
        call(sparse.diags_array)(d[:2]), csc(d)) @ x, DATA, LONG),
    row("matrix_product", lambda d, x: call(sparse.block_array)(
        [[csr(d), None], [csc(d), coo(d)]]) @ x, DATA, LONG),
    row("matrix_product", lambda d, x: call(sparse.block_diag)([csr(d), d[None, :2]]) @ x,
        DATA, quarters(normal(SIZE + 2))),
    row("matrix_product", lambda d, x: call(sparse.hstack)([csr(d), csc(d)]) @ x, DATA,
        LONG),
]  # fmt: skip


def converged(solver: Any) -> Any:
    """The solution by an iterative solver."""
    return lambda a, b: call(solver)(a, b, rtol=1e-12)[0]


SPSOLVE, TRIANGULAR = call(linalg.spsolve), call(linalg.spsolve_triangular)
SOLVED = [
    *[solution("sparse_solve", SPSOLVE, make) for make in (csc, csr)],
    solution("sparse_solve", SPSOLVE, csc, normal(SIZE, 2)),
    solution("sparse_solve", SPSOLVE, csc, normal(SIZE, 1)),
    solution("sparse_solve", lambda a, b: SPSOLVE(a.T, b), csr),
    solution("sparse_solve", TRIANGULAR, lambda d: call(sparse.tril)(csr(d))),
    solution("sparse_solve", lambda a, b: TRIANGULAR(a, b, lower=False),
             lambda d: call(sparse.triu)(csc(d)), normal(SIZE, 2)),
    solution("sparse_solve", lambda a, b: TRIANGULAR(a, b, unit_diagonal=True),
             lambda d: call(sparse.tril)(csc(d)), normal(SIZE, 1)),
    *[
        solution("iterated_solve", converged(solver), make, float32=False)
        for solver, make in (
            (linalg.cg, symmetric), (linalg.minres, symmetric), (linalg.gmres, csr),
        )
    ],
]  # fmt: skip

SAMPLES = [*MADE, *COMBINED, *SOLVED]
