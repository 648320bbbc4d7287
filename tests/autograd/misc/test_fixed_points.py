"""Fixed points have the gradient of the solution."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit.autograd as ag
import tracejit.autograd.numpy as anp
from tracejit.autograd.misc.fixed_points import fixed_point


def distance(x: Any, y: Any) -> Any:
    return anp.max(anp.abs(x - y))


def test_gradients_of_two_orders() -> None:
    def root(a: Any) -> Any:
        return fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 10.0, distance, 1e-12)

    np.testing.assert_allclose(root(2.0), np.sqrt(2.0))
    np.testing.assert_allclose(ag.grad(root)(2.0), 0.5 / np.sqrt(2.0))
    np.testing.assert_allclose(ag.grad(ag.grad(root))(2.0), -0.25 * 2.0**-1.5, rtol=1e-6)


def test_parameters_in_a_container() -> None:
    def solved(pair: Any) -> Any:
        step = lambda pair: lambda x: anp.tanh(pair[0] @ x) * 0.5 + pair[1]  # noqa: E731
        return anp.sum(fixed_point(step, pair, np.zeros(2), distance, 1e-13))

    pair = np.array([[0.3, 0.1], [0.2, -0.4]]), np.array([0.5, -0.2])
    found = ag.grad(solved)(pair)
    for k in range(2):
        step = 1e-6 * np.eye(2)[k]
        difference = solved((pair[0], pair[1] + step)) - solved((pair[0], pair[1] - step))
        np.testing.assert_allclose(found[1][k], difference / 2e-6, rtol=1e-7)
