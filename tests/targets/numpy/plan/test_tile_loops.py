"""Sweeps: bodies for the rows of a tile, and those that are one function."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import tracejit as tj


def test_steps_that_do_the_same_are_one_function() -> None:
    """Thirty steps of a state have a function or two for their tiles, not one each."""

    def flow(u: Any, c: Any) -> Any:
        for _ in range(30):
            inner = u[1:-1] + c * np.tanh(u[:-2] + u[2:] - 2.0 * u[1:-1])
            u = np.concatenate([u[:1], inner, u[-1:]])
        return np.mean(u * u)

    u, c = np.random.default_rng(0).normal(size=(2, 200_000))
    both = tj.value_and_grad(tj.function(flow, cache=False), argnums=(0, 1))
    exact = tj.value_and_grad(tj.function(flow, cache=False, exact=True), argnums=(0, 1))
    found, expected = both(u, c[1:-1]), exact(u, c[1:-1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.max(np.abs(other)))
    text = both.kernels[-1].source
    assert 1 <= text.count("\ndef tile_") <= 6
    assert len(re.findall(r"in_turn\(\s*tile_", text)) >= 30


def test_steps_of_different_lines_have_functions_of_their_own() -> None:
    def both(x: Any) -> Any:
        y = np.sort(np.exp(np.tanh(x) * 0.5 + np.sin(x)))
        return np.sort(np.exp(np.tanh(y) * 0.5 + np.sin(y)))

    x = np.random.default_rng(0).normal(size=400_000)
    made = tj.function(both, cache=False)
    np.testing.assert_allclose(made(x), both(x), rtol=1e-12)
    text = made.kernels[-1].source
    assert text.count("\ndef tile_") == 2
    assert "both:1" in text and "both:2" in text


def test_a_sum_that_was_a_product_with_ones_is_a_sum() -> None:
    """The last tile has fewer rows than there are ones."""

    def rows(x: Any, w: Any) -> Any:
        return np.sum(np.tanh(x @ w), axis=0) * np.sum(np.exp(-x * x))

    x, w = np.random.default_rng(0).normal(size=(30_001, 8)), np.ones((8, 3))
    made = tj.function(rows, cache=False)
    np.testing.assert_allclose(made(x, w), rows(x, w), rtol=1e-11)
    text = made.kernels[-1].source.partition("def forward")[0]
    assert "def tile_" in text and "ones_30001" not in text


def test_short_rows_are_summed_by_dot() -> None:
    def bias(w: Any, b: Any, x: Any) -> Any:
        return np.mean(np.tanh(x @ w + b) ** 2)

    rng = np.random.default_rng(0)
    w, b, x = rng.normal(size=(8, 20)), rng.normal(size=20), rng.normal(size=(30_001, 8))
    both = tj.value_and_grad(tj.function(bias, cache=False), argnums=(0, 1))
    exact = tj.value_and_grad(tj.function(bias, cache=False, exact=True), argnums=(0, 1))
    for one, other in zip(both(w, b, x)[1], exact(w, b, x)[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.max(np.abs(other)))
    text = both.kernels[-1].source
    assert "[:stop - start].dot(" in text
    assert len(re.findall(r"^ones_\d+", text, re.M)) == 1
