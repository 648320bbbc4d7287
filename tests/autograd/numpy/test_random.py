"""Draws inside a recorded function take place at each call, with NumPy's numbers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracejit.autograd as ag
import tracejit.autograd.numpy as anp
import tracejit.autograd.numpy.random as npr
from tracejit.support.errors import TracejitError

X = np.ones(3)


def test_a_captured_random_state_draws_at_each_call() -> None:
    rs, again = npr.RandomState(3), np.random.RandomState(3)
    slope = ag.grad(lambda x: anp.sum(x * rs.randn(*x.shape)) * rs.uniform())
    for _ in range(3):
        np.testing.assert_array_equal(slope(X), again.randn(3) * again.uniform())
    assert slope.tracing_count == 1
    curve = ag.hessian(lambda x: anp.sum(x**3 * rs.normal(size=3)))
    for _ in range(2):
        np.testing.assert_array_equal(np.diag(curve(X)), 6.0 * again.normal(size=3))


def test_functions_of_the_module_draw_from_numpys_state() -> None:
    slope = ag.grad(lambda x: anp.sum(x * npr.rand(3)) + x[0] * npr.randint(5))
    npr.seed(4)
    again = np.random.RandomState(4)
    for _ in range(2):
        wanted = again.rand(3)
        wanted[0] += again.randint(5)
        np.testing.assert_array_equal(slope(X), wanted)


def test_functions_that_capture_other_states_draw_from_their_own() -> None:
    def slope_of(rs: Any) -> Any:
        return ag.grad(lambda x: anp.sum(x * rs.randn(3)))

    for seed in (1, 2, 1):
        wanted = np.random.RandomState(seed).randn(3)
        np.testing.assert_array_equal(slope_of(npr.RandomState(seed))(X), wanted)


def test_outside_of_functions_it_is_numpys() -> None:
    rs, again = npr.RandomState(0), np.random.RandomState(0)
    assert isinstance(rs, np.random.RandomState)
    assert type(rs.randn()) is float
    rs.seed(0)
    order = np.arange(4)
    rs.shuffle(order)
    other = np.arange(4)
    again.shuffle(other)
    np.testing.assert_array_equal(order, other)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rs)).randn(2), again.randn(2))


def test_parameters_that_are_recorded_are_refused() -> None:
    rs = npr.RandomState(0)
    with pytest.raises(TracejitError, match="needs a value"):
        ag.grad(lambda x: anp.sum(rs.normal(x)))(X)
