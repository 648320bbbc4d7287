"""A function that is recorded once, with arguments of its own."""

from __future__ import annotations

import numpy as np

import tracejit.autograd as ag
from tracejit.autograd.misc import const_graph


def test_arguments_are_given_once() -> None:
    f = const_graph(lambda n, x, k: k * x**n, 3, k=2.0)
    assert f(2.0) == 16.0
    np.testing.assert_allclose(ag.grad(f)(2.0), 24.0)
