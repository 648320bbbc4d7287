"""Elements of recorded arrays that generators pick: values as NumPy's, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([1.0, 2.0, 4.0, 8.0])


def drawn(x: Any, rng: Any) -> Any:
    rows = x * np.arange(1.0, 4.0)[:, None]
    parts = [rng.choice(x), rng.choice(x, (2, 3)), rng.choice(x, 2, False), rng.permutation(x)[:2]]
    parts += [rng.choice(x, 3, p=[0.1, 0.2, 0.3, 0.4]), rng.permutation(rows)[0]]
    return sum(np.sum(part * part) for part in parts)


def with_axes(x: Any, rng: Any) -> Any:
    rows = x * np.arange(1.0, 4.0)[:, None]
    picked = rng.choice(rows, 2, axis=1, replace=False, shuffle=False)
    return np.sum(picked**2) + np.sum(rng.permutation(rows, axis=1)[:, 0])


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_made_inside_picks_elements(make: Any) -> None:
    def bootstrap(x: Any) -> Any:
        return drawn(x, make(3))

    assert tj.function(bootstrap)(X) == bootstrap(X)
    tj.check_grads(bootstrap, (X,))


@pytest.mark.parametrize("f", [drawn, with_axes])
def test_a_generator_that_is_passed_picks_elements(f: Any) -> None:
    value, x_bar = tj.value_and_grad(f)(X, np.random.default_rng(3))
    assert value == pytest.approx(f(X, np.random.default_rng(3)), rel=1e-14)
    step = 1e-6 * np.eye(4)
    ends = [[f(X + sign * e, np.random.default_rng(3)) for e in step] for sign in (1.0, -1.0)]
    np.testing.assert_allclose(x_bar, np.subtract(*ends) / 2e-6, rtol=1e-7)


def test_integers_are_picked_by_the_generator_itself() -> None:
    f = tj.function(lambda x, rng: rng.choice(x, 3))
    assert f(np.arange(5), np.random.default_rng(0)).tolist() == [4, 3, 2]
    assert "choice(x, 3)" in f.source
