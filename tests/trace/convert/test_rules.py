"""The table of rules."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import os
import traceback
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.convert import numbers as numbers
from tracejit.trace.convert.rules import RULES

X = np.array([1.5, 0.4, 2.25])


def test_rules_do_what_is_plain_without_anything_recorded() -> None:
    assert RULES[float]("1.5") == 1.5
    assert RULES[int]("11", 2) == 3
    assert RULES[float]() == 0.0
    assert RULES[round](2.5) == 2


def test_what_is_handed_a_function_calls_it_converted() -> None:
    def half(v: Any) -> Any:
        return np.asarray([v, 1.0])[0] / 2.0

    def loss(x: Any) -> Any:
        halves = [*map(half, x), *map(float, x)]
        total = functools.reduce(lambda a, b: np.asarray([a, b]).sum(), halves)
        longest = sorted(x, key=lambda v: -np.asarray([v])[0])[0]
        return total * longest + [*itertools.accumulate(x, operator.mul)][-1]

    value, slope = tj.value_and_grad(loss)(X)
    assert value == pytest.approx(loss(X))
    steps = 1e-6 * np.eye(3)
    expected = [(loss(X + step) - loss(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


def test_transforms_and_control_flow_call_functions_converted() -> None:
    def row(v: Any) -> Any:
        return float(v[0]) * np.array([v[0], v[1]]).sum()

    def chosen(v: Any) -> Any:
        return tj.cond(v[0] > 0, row, lambda t: np.asarray([t[0]])[0] * 1.0, v)

    rows = np.array([[1.5, 0.4], [2.0, 3.0]])
    np.testing.assert_allclose(tj.vmap(row)(rows), [row(v) for v in rows])
    np.testing.assert_allclose(tj.jacobian(row)(X), [3.4, 1.5, 0.0])
    assert tj.function(chosen)(X) == pytest.approx(row(X))
    assert tj.function(chosen)(-X) == -1.5


MISFITS = {
    "zeros": lambda x: np.zeros(3, foo=1) + x,
    "mean": lambda x: np.mean(),
    "math": lambda x: math.exp(x[0], 2),
    "an array": lambda x: math.exp(x),
    "float": lambda x: float(x[0], 2),
    "int": lambda x: int(x[0], foo=1),
    "scalar": lambda x: np.float64(x[0], 1, 2),
    "ufunc": lambda x: np.add(x),
    "round": lambda x: round(x, 1),
    "sorted": lambda x: sorted(x, foo=1),
    "attribute": lambda x: x.foo,
    "decided": lambda x: np.zeros(2)[x.sum()],
    "truth": lambda x: bool(x),
}


@pytest.mark.parametrize("name", MISFITS)
def test_what_python_refuses_is_refused_in_its_words_at_the_users_line(name: str) -> None:
    program: Any = MISFITS[name]
    with pytest.raises(Exception) as plain:
        program(X)
    with pytest.raises(Exception) as caught:
        tj.function(program)(X)
    if not isinstance(caught.value, tj.TracejitError):
        assert type(caught.value) is type(plain.value)
        assert str(caught.value) == str(plain.value)
    trace = traceback.extract_tb(caught.value.__traceback__)
    assert trace[-1].filename == __file__
    rooms = (os.sep + "convert" + os.sep, os.sep + "specialise" + os.sep + "t")
    frames = {frame.filename for frame in trace} - {__file__}
    assert not [name for name in frames if any(room in name for room in rooms)]
