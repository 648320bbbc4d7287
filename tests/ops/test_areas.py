"""Records of libraries that tracejit does not import are read when they are first needed."""

from __future__ import annotations

import pytest

from tests.support.processes import python

SCRIPT = """
import sys
import numpy as np
import tracejit as tj
assert "scipy" not in sys.modules and "tracejit.ops.scipy" not in sys.modules
try:
    tj.grad(lambda x: np.frompyfunc(abs, 1, 1)(x))(1.0)
except tj.TracejitError:
    pass
assert "tracejit.ops.scipy" not in sys.modules
from scipy import special
assert "tracejit.ops.scipy" not in sys.modules
print(tj.grad(lambda x: special.gammaln(x))(1.0))
assert "tracejit.ops.scipy.special" in sys.modules
"""


def test_special_functions_are_recorded_once_scipy_is_there() -> None:
    assert abs(float(python(SCRIPT)) + 0.5772156649015329) < 1e-15


@pytest.mark.nightly
def test_a_distribution_reads_no_more_than_its_own_records() -> None:
    script = """
import sys
import numpy as np
import tracejit as tj
from tracejit.scipy import stats
def f(x): return stats.norm.logpdf(x)
def g(x): return stats.norm.logcdf(x)
tj.grad(f)(1.0)
assert "tracejit.ops.scipy.special" not in sys.modules
print(tj.grad(g)(0.0))
"""
    assert abs(float(python(script)) - 0.7978845608028654) < 1e-15
