"""Records of libraries that tracejit does not import are read when they are first needed."""

from __future__ import annotations

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
assert "tracejit.ops.scipy" in sys.modules
"""


def test_special_functions_are_recorded_once_scipy_is_there() -> None:
    assert abs(float(python(SCRIPT)) + 0.5772156649015329) < 1e-15
