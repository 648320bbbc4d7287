"""The transforms, one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

pytestmark = pytest.mark.usefixtures("no_files")

X = np.array([0.5, -1.0, 2.0])


def test_jvp_and_vjp_are_transposes() -> None:
    def f(x, y):
        return np.sin(x) * y, x - y

    y = np.array([1.0, 2.0, -0.5])
    out, dots = tj.jvp(f, (X, y), (np.ones(3), np.zeros(3)))
    np.testing.assert_array_equal(out[0], f(X, y)[0])
    np.testing.assert_allclose(dots[0], np.cos(X) * y)
    out, pullback = tj.vjp(f, X, y)
    for _ in range(2):
        x_bar, y_bar = pullback((np.ones(3), np.zeros(3)))
        np.testing.assert_allclose(x_bar, np.cos(X) * y)
        np.testing.assert_allclose(y_bar, np.sin(X))
