"""Sums that are read from the diagonal of a product: which, and that they are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close, with_special
from tests.interpret import interpret
from tests.rows import each_row
from tests.support.arrays import normal
from tests.support.graphs import graph_of, ops_of
from tracejit.ir.verify import verify
from tracejit.passes.algebra.rewrites import reuse_results
from tracejit.passes.framework.dce import drop_dead

LONG, STACK = (6, 300), (4, 5, 60)
READ = {
    "rows": (lambda a, b: (a @ b.T, np.sum(a * b, axis=1)), LONG),
    "rows in the other order": (lambda a, b: (a @ b.T, np.sum(b * a, axis=1)), LONG),
    "a product made later": (lambda a, b: (np.sum(a * b, axis=1), b @ a.T), LONG),
    "rows kept": (lambda a, b: (a @ b.T, np.sum(a * b, axis=1, keepdims=True)), LONG),
    "squares": (lambda a, b: (a @ a.T, np.sum(a * a, axis=1) + np.sum(b)), LONG),
    "columns": (lambda a, b: (a.T @ b, np.sum(a * b, axis=0)), LONG[::-1]),
    "columns kept": (lambda a, b: (b.T @ a, np.sum(a * b, axis=0, keepdims=True)), LONG[::-1]),
    "rows of stacks": (lambda a, b: (a @ b.mT, np.sum(a * b, axis=-1)), STACK),
    "columns of stacks": (lambda a, b: (a.mT @ b, np.sum(a * b, axis=-2)), STACK),
}
STAYS = {
    "no product": (lambda a, b: np.sum(a * b, axis=1), LONG),
    "a product of others": (lambda a, b: (a @ (b + 1.0).T, np.sum(a * b, axis=1)), LONG),
    "the other axis": (lambda a, b: (a @ b.T, np.sum(a * b, axis=0)), LONG),
    "both axes": (lambda a, b: (a @ b.T, np.sum(a * b)), LONG),
    "another stack": (lambda a, b: (a @ b[0].T, np.sum(a * b[0], axis=-1)), STACK),
    "few elements": (lambda a, b: (a @ b.T, np.sum(a * b, axis=1)), (6, 10)),
    "no elements": (lambda a, b: (a @ b.T, np.sum(a * b, axis=1)), (6, 0)),
    "complex numbers": (lambda a, b: (1j * a @ b.T, np.sum(1j * a * b, axis=1)), LONG),
}  # fmt: skip


@each_row("is_special", [False, True])
@each_row("dtype", ["f4", "f8"])
@each_row(("f", "shape"), READ.values())
def test_what_is_read(f: Any, shape: Any, dtype: str, is_special: bool) -> None:
    rng = np.random.default_rng(0)
    args = [normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)[::-1].copy()]
    if is_special:
        args = [with_special(rng, x.clip(-1e3, 1e3), 3) for x in args]
        args = [np.where(np.abs(x) > 1e30, np.inf, x).astype(dtype) for x in args]
    graph = graph_of(f, *args)
    read = drop_dead(reuse_results(graph))
    verify(read)
    assert ops_of(read).count("diagonal") == 1
    assert "multiply" not in ops_of(read)
    with np.errstate(all="ignore"):
        pairs = zip(interpret(graph, *args), interpret(read, *args), strict=True)
        for expected, found in pairs:
            assert_close(found, expected, np.float32 if dtype == "f4" else None)


@pytest.mark.parametrize(("f", "shape"), STAYS.values(), ids=STAYS)
def test_what_stays(f: Any, shape: Any) -> None:
    graph = graph_of(f, normal(*shape), normal(*shape))
    assert "diagonal" not in ops_of(drop_dead(reuse_results(graph)))


def test_the_gradient_of_a_triangle_and_a_diagonal() -> None:
    def loss(lower: Any, scale: Any, x: Any) -> Any:
        return np.sum(np.sin(x @ np.tril(lower, -1).T + x * np.exp(scale)))

    args = 0.1 * normal(8, 8), 0.1 * normal(8), normal(500, 8)
    both = tj.value_and_grad(tj.function(loss, cache=False), argnums=(0, 1))
    exact = tj.value_and_grad(tj.function(loss, cache=False, exact=True), argnums=(0, 1))
    (value, found), (number, expected) = both(*args), exact(*args)
    assert ".diagonal()" in both.kernels[-1].source
    assert_close(value, number, None)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, None)
        one += 1.0  # it is the caller's own
