"""Functions without source: what they call under a name is recorded, and classes stay classes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same

HEAD = """
import math
import numpy as np
from math import exp as e
from numpy.linalg import inv
scale = np.array([1.0, 2.0, 3.0])
def helper(v): return math.sin(v)
"""
X = np.array([0.3, 0.4, 0.5])
PROGRAMS = {
    "array": "return np.sum(np.array([x[0], x[1] * x[1]]))",
    "filled": "z = np.zeros(3, dtype=np.float64); z[0] = x[1]; return np.sum(z * scale)",
    "math": "return math.exp(x[0]) * helper(x[1])",
    "imported": "from math import cos\n    return cos(x[0]) + e(x[1])",
    "list": "return np.mean([x[0], x[2]])",
    "module": "return inv(np.eye(2) * x[1])[0, 0] + np.linalg.det(np.eye(2) * x[0])",
    "asked": "return x[0] if isinstance(x, np.ndarray) else 0.0",
    "comprehension": "return sum([e(v) for v in [x[0], x[1]]])",
    "one module": "import numpy as other; return x[0] if other is np else 0.0 * x[0]",
    "handed": "return sum(map(math.sin, [x[0], x[1]]))",
}


def without_source(text: str) -> Any:
    """The function `f` of a text that is in no file."""
    names: dict[str, Any] = {"__name__": "program"}
    exec(f"{HEAD}def f(x):\n    {text}\n", names)
    return names["f"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_called_under_a_name_is_recorded(name: str) -> None:
    f = without_source(PROGRAMS[name])
    value, slope = tj.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    steps = 1e-6 * np.eye(3)
    assert slope == pytest.approx([(f(X + h) - f(X - h)) / 2e-6 for h in steps], abs=1e-8)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code of Python 3.10 does not tell calls")
def test_a_class_is_recorded_where_it_is_called_alone() -> None:
    f = without_source("return float(x[0]) ** 2")
    assert_same(tj.grad(f)(X), np.array([0.6, 0.0, 0.0]))
    both = without_source("return np.zeros(2, dtype=float).sum() + float(x[0])")
    with pytest.raises(tj.TracejitError, match="float"):
        tj.grad(both)(X)


def test_a_module_that_is_seen_is_the_module() -> None:
    f = without_source("math.seen = 1; found = math.seen; del math.seen; return x[0] * found")
    assert tj.function(f)(X) == X[0]
    assert not hasattr(sys.modules["math"], "seen")
