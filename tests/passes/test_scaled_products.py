"""Scaled rows and products with triangles as one product: the same numbers, and what stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.against_exact import assert_close_to_exact
from tests.interpret import interpret, record
from tests.passes.test_lower import normal, ops_of
from tracejit.ir.verify import verify
from tracejit.passes.dce import drop_dead
from tracejit.passes.rewrites import reduce_strength
from tracejit.passes.scaled_products import scale_once

N = 4000
EDGES = [0.0, -0.0, 1e-300, 1e200, -1e200, np.inf, -np.inf, np.nan]
FOUND = {
    "rows": (lambda e, t, c: e[:, None] * c + np.tril(t, -1) @ c, (5,), (5, 5), (5, N)),
    "rows, turned": (lambda e, t, c: c * e[:, None] + np.triu(t, 1) @ c, (5,), (5, 5), (5, N)),
    "the product first": (lambda e, t, c: np.tril(t, -2) @ c + e[:, None] * c,
                          (5,), (5, 5), (5, N)),
    "a transposed triangle": (lambda e, t, c: e[:, None] * c + np.tril(t, -1).T @ c,
                              (5,), (5, 5), (5, N)),
    "columns": (lambda e, t, c: e * c + c @ np.tril(t, -1).T, (5,), (5, 5), (N, 5)),
    "columns as a matrix": (lambda e, t, c: e[None] * c + c @ np.triu(t, 1), (5,), (5, 5), (N, 5)),
    "stacks": (lambda e, t, c: e[..., None] * c + np.tril(t, -1) @ c,
               (3, 4), (3, 4, 4), (3, 4, N)),
    "stacks, one scale": (lambda e, t, c: e[:, None] * c + np.tril(t, -1).mT @ c,
                          (4,), (3, 4, 4), (3, 4, N)),
    "stacks of columns": (lambda e, t, c: e[:, None] * c + c @ np.tril(t, -1),
                          (3, 4), (3, 4, 4), (3, N, 4)),
    "a stack for one triangle": (lambda e, t, c: e[:, None] * c + np.tril(t, -1) @ c,
                                 (4,), (4, 4), (3, 4, N)),
}  # fmt: skip
STAYS = {
    "few elements": (lambda e, t, c: e[:, None] * c + np.tril(t, -1) @ c, (5,), (5, 5), (5, 300)),
    "a triangle with its diagonal": (lambda e, t, c: e[:, None] * c + np.tril(t) @ c,
                                     (5,), (5, 5), (5, N)),
    "any matrix": (lambda e, t, c: e[:, None] * c + t @ c, (5,), (5, 5), (5, N)),
    "another array": (lambda e, t, c: e[:, None] * np.sin(c) + np.tril(t, -1) @ c,
                      (5,), (5, 5), (5, N)),
    "scaled columns": (lambda e, t, c: e * c + np.tril(t, -1) @ c, (N,), (5, 5), (5, N)),
    "scaled rows of columns": (lambda e, t, c: e[:, None] * c + c @ np.tril(t, -1),
                               (N,), (5, 5), (N, 5)),
    "a number": (lambda e, t, c: e[0] * c + np.tril(t, -1) @ c, (5,), (5, 5), (5, N)),
    "a difference": (lambda e, t, c: e[:, None] * c - np.tril(t, -1) @ c, (5,), (5, 5), (5, N)),
    "one scale for each of a stack": (lambda e, t, c: e[..., None] * c + np.tril(t, -1) @ c,
                                      (3, 5), (5, 5), (3, 5, N)),
    "an upper part of ones": (lambda e, t, c: e[:, None] * c
                              + np.where(np.tri(5, k=-1, dtype=bool), t, 1.0) @ c,
                              (5,), (5, 5), (5, N)),
    "what tiles go through": (lambda e, t, c: e[:, None] * c + np.tril(t, -1) @ c,
                              (5,), (5, 5), (5, 300_000)),
}  # fmt: skip


def prepared(f: Any, *args: Any) -> Any:
    """The graph as it comes to the pass."""
    return drop_dead(reduce_strength(record(f, *args)[0]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("case", FOUND.values(), ids=FOUND)
@settings(max_examples=12, deadline=None)
@given(special=st.lists(st.sampled_from(EDGES), max_size=3), random=st.randoms())
def test_one_product(case: Any, dtype: str, special: list[float], random: Any) -> None:
    f, *shapes = case
    args = [normal(*shape, dtype=dtype) for shape in shapes]
    with np.errstate(all="ignore"):
        for number in special:
            array = random.choice(args).reshape(-1)
            array[random.randrange(array.size)] = number
        graph = prepared(f, *args)
        found = drop_dead(scale_once(graph))
        verify(found)
        assert "add" not in ops_of(found)
        assert ops_of(found).count("matmul") == 1
        (one,), (other,) = interpret(found, *args), interpret(graph, *args)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        for test in (np.isnan, np.isposinf, np.isneginf):
            np.testing.assert_array_equal(test(one), test(other))
        terms = f(*[np.abs(arg) for arg in args])
        finite = np.isfinite(terms)
        close = np.abs(one - other) <= 16 * np.finfo(dtype).eps * terms
        assert np.all(close[finite])


@pytest.mark.parametrize("case", STAYS.values(), ids=STAYS)
def test_what_stays(case: Any) -> None:
    f, *shapes = case
    graph = prepared(f, *[normal(*shape) for shape in shapes])
    assert "scaled_if_not_finite" not in ops_of(scale_once(graph))


def test_parts_that_are_read_elsewhere_stay() -> None:
    def f(e: Any, t: Any, c: Any) -> Any:
        scaled = e[:, None] * c
        return scaled + np.tril(t, -1) @ c, scaled

    graph = prepared(f, normal(5), normal(5, 5), normal(5, N))
    assert "scaled_if_not_finite" not in ops_of(scale_once(graph))


@pytest.mark.parametrize("special", [0.0, np.inf, -np.inf, np.nan, 1e200])
def test_gradients(special: float) -> None:
    """Forward and backward, with NumPy's nan where the one product has infinities."""

    def loss(e: Any, t: Any, c: Any) -> Any:
        return np.sum(np.tanh(np.exp(e)[:, None] * c + np.tril(t, -1) @ c) ** 2)

    args = [normal(5), normal(5, 5), normal(5, N)]
    args[2][2, 7] = special
    assert_close_to_exact(loss, args, grad=3)
    gradient = tj.value_and_grad(tj.function(loss, cache=False), (0, 1, 2))
    with np.errstate(all="ignore"):
        gradient(*args)
    text = gradient.source.partition("def value_and_grad")[2]
    assert text.count("isfinite(") == 2
    assert "eye_5" in text


def test_free_sizes_stay() -> None:
    f = tj.function(lambda e, t, c: e[:, None] * c + np.tril(t, -1) @ c, cache=False)
    for n in (N, N + 1, N + 2):
        args = normal(5), normal(5, 5), normal(5, n)
        np.testing.assert_allclose(f(*args), f.python(*args), rtol=1e-12, atol=1e-12)
    assert "isfinite" not in f.source
