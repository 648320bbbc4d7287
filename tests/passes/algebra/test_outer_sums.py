"""Sums of outer products as one product: the same numbers, and what stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close_to_exact
from tests.interpret import interpret, record
from tests.support.graphs import ops_of
from tracejit.ir.verify import verify
from tracejit.passes.algebra.outer_sums import join_outers
from tracejit.passes.framework.dce import drop_dead

outer = np.outer
FOUND = {
    "two": lambda a, b, c, d, m: outer(a, b) + outer(c, d),
    "a difference": lambda a, b, c, d, m: outer(a, b) - outer(c, d),
    "what is subtracted first": lambda a, b, c, d, m: m - outer(a, b) - outer(c, d),
    "three and another term": lambda a, b, c, d, m: outer(a, b) + m - outer(c, d) + outer(c, b),
    "one vector twice": lambda a, b, c, d, m: outer(a, b) + outer(a, d),
    "in a longer sum": lambda a, b, c, d, m: np.sin(m) + (outer(a, b) + (m + outer(c, d))),
}
STAYS = {
    "one": lambda a, b, c, d, m: m + outer(a, b),
    "one that is read elsewhere": lambda a, b, c, d, m: ((p := outer(a, b)) + outer(c, d)) * p,
    "a sum that is a function's": lambda a, b, c, d, m: np.exp(outer(a, b)) + outer(c, d),
    "another shape": lambda a, b, c, d, m: outer(a, b) + outer(c[:1], d),
}


def arguments(dtype: Any = float) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=n).astype(dtype) for n in (5, 4, 5, 4, (5, 4))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND)
def test_one_product(program: Any, dtype: Any) -> None:
    given = arguments(dtype)
    graph, _ = record(program, *given)
    new = drop_dead(join_outers(graph))
    verify(new)
    assert "outer" not in ops_of(new)
    assert ops_of(new).count("matmul") == 1
    (expected,), (found,) = interpret(graph, *given), interpret(new, *given)
    assert found.dtype == expected.dtype
    limit = 8 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(found, expected, rtol=limit, atol=8 * limit)


@pytest.mark.parametrize("program", STAYS.values(), ids=STAYS)
def test_what_stays(program: Any) -> None:
    graph, _ = record(program, *arguments())
    assert ops_of(join_outers(graph)) == ops_of(graph)


def test_integers_stay() -> None:
    graph, _ = record(FOUND["two"], *arguments(int))
    assert ops_of(join_outers(graph)) == ops_of(graph)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_gradients(size: int) -> None:
    """Of two products with one matrix, at special values and sizes, of order two as well."""

    def loss(m: Any, x: Any, y: Any) -> Any:
        return np.sum(np.sin(m @ x)) - np.sum(np.cos(m @ y)) + np.sum(x @ m)

    rng = np.random.default_rng(size)
    given = [rng.normal(size=shape) for shape in ((size, size), size, size)]
    assert_close_to_exact(loss, given, grad=3)
    tj.check_grads(loss, given, order=2 if size else 1)
    if size > 1:
        given[1][:2] = np.inf, np.nan
        assert_close_to_exact(loss, given, grad=3)
