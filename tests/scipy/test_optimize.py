"""tracejit.scipy.optimize: SciPy's functions by the same names."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import tracejit as tj
from tracejit.scipy import optimize


def test_plain_calls_are_scipys_own() -> None:
    found = optimize.root(lambda x: x**2 - 2.0, 1.0)
    assert found.nfev == scipy.optimize.root(lambda x: x**2 - 2.0, 1.0).nfev
    assert optimize.linear_sum_assignment is not None
    assert "minimize" in dir(optimize)


def test_code_that_is_not_converted_solves() -> None:
    solved = tj.as_is(lambda a: optimize.brentq(lambda x: x**2 - a, 0.0, 2.0))
    assert tj.grad(solved)(2.0) == pytest.approx(0.5 / np.sqrt(2.0))
