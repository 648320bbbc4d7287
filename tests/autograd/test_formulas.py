"""Primitives that are formulas are written out in the generated code, with their own rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.random as npr
import pytest

import tracejit.autograd as ag
import tracejit.autograd.numpy as anp
from tests.rows import each_row
from tracejit.autograd.extend import defjvp, defvjp, primitive
from tracejit.autograd.formulas import Formula, is_formula
from tracejit.support.errors import NoGradientError

X = np.array([0.0, 1.0, 4.0])
LARGEST = 3.0


def ruled(f: Callable[..., Any], *makers: Any) -> Any:
    made = primitive(f)
    defvjp(made, *makers)
    return made


def capped(x: Any) -> Any:
    return np.exp(np.clip(x, -np.inf, LARGEST))


safe = ruled(capped, lambda ans, x: lambda g: 10.0 * g * ans)


def in_place(x: Any) -> Any:
    x += 1.0
    return x


def captured() -> Any:
    k = 2.0
    return lambda x: k * x


@each_row(
    "f, wanted",
    [
        (capped, True),
        (lambda x: anp.log(anp.sum(anp.exp(x), axis=0)), True),
        (lambda a, b: np.linalg.solve(a, b)[1:], True),
        (lambda x: safe(x) * x.sum(), True),
        (in_place, False),
        (captured(), False),
        (lambda x: id(x), False),
        (lambda x: x if x > 0.0 else -x, False),
        (lambda x: np.array([math.sin(one) for one in x]), False),
        (lambda x: npr.SeedSequence(x), False),
        (lambda x: np.linalg.matrix_rank(math.floor(x)), False),
        (lambda *xs: xs[0], False),
        (np.exp, False),
    ],
)
def test_a_formula_only_computes(f: Any, wanted: bool) -> None:
    assert is_formula(f) is wanted


def test_it_is_written_out_with_its_own_rule() -> None:
    slope = ag.value_and_grad(lambda x: anp.sum(safe(x)))
    value, gradient = slope(X)
    np.testing.assert_allclose(value, np.sum(capped(X)))
    np.testing.assert_allclose(gradient, 10.0 * capped(X))
    (kernel,) = slope.kernels
    assert "handle" not in kernel.source
    assert kernel.source.count("exp(clip(x") == 2  # in forward and value_and_grad
    curve = ag.hessian(lambda x: anp.sum(safe(x)))(X)
    np.testing.assert_allclose(curve, np.diag(100.0 * capped(X)))
    np.testing.assert_allclose(ag.make_jvp(safe)(X)(2.0 * X)[1], 20.0 * X * capped(X))
    found = ag.grad(lambda x: anp.sum(safe(x[x > 0.5])))(X)
    np.testing.assert_allclose(found, [0.0, *10.0 * capped(X[1:])])


def test_results_and_arguments_may_be_several() -> None:
    both = ruled(
        lambda x, y: (x * y, x + y),
        lambda ans, x, y: lambda g: g[0] * y + g[1],
        lambda ans, x, y: lambda g: g[0] * x + g[1],
    )
    defjvp(both, lambda v, ans, x, y: (3.0 * v * y, v), lambda v, ans, x, y: (3.0 * v * x, v))
    assert ag.grad(lambda x, y: both(x, y)[0] * both(x, y)[1], (0, 1))(2.0, 3.0) == (21.0, 16.0)
    assert ag.make_jvp(lambda x: both(x, x))(2.0)(1.0)[1] == (12.0, 2.0)
    scaled = ruled(
        lambda x, k, axis=0: np.sum(x, axis=axis) * k,
        lambda ans, x, k, axis=0: lambda g: np.full(x.shape, k),
    )
    rows = np.ones((2, 3))
    found = ag.grad(lambda x: anp.sum(scaled(x, 4, axis=1)))(rows)
    np.testing.assert_array_equal(found, 4.0 * rows)


def test_complex_rules_are_transposes() -> None:
    twice = ruled(lambda z: 2.0 * z, lambda ans, z: lambda g: 2.0j * g)
    plain = ag.grad(lambda z: anp.real(2.0j * z))(1.0 + 2.0j)
    np.testing.assert_allclose(ag.grad(lambda z: anp.real(twice(z)))(1.0 + 2.0j), plain)


def test_what_cannot_be_recorded_is_one_operation() -> None:
    first = ruled(lambda a: np.linalg.eigvals(a)[0], lambda ans, a: lambda g: g * np.ones((2, 2)))
    assert isinstance(first, Formula)
    found = ag.grad(lambda a: anp.real(first(1.0 * a)))(np.eye(2))
    np.testing.assert_array_equal(found, np.ones((2, 2)))


def test_without_a_rule_a_gradient_is_refused() -> None:
    with pytest.raises(NoGradientError, match="no gradient is known for doubled"):
        ag.grad(primitive(doubled))(1.0)
    assert ag.grad(lambda x: primitive(doubled)(3.0) * x)(1.0) == 6.0


def doubled(x: Any) -> Any:
    return 2.0 * x


def test_globals_are_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    slope = ag.grad(lambda x: anp.sum(safe(x)))
    for largest in (3.0, 0.5, 3.0):
        monkeypatch.setitem(globals(), "LARGEST", largest)
        np.testing.assert_allclose(slope(X), 10.0 * np.exp(np.minimum(X, largest)))
