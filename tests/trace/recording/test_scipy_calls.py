"""Functions of SciPy's that are called by their own names: the error says what to write instead."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.special
import scipy.stats

import tracejit as tj
import tracejit.scipy.linalg
from tests.support.compare import assert_same

VECTOR = np.arange(3.0)
SPD = np.diag([4.0, 3.0, 2.0]) + 1.0
T = "tracejit.scipy"

CALLS: dict[str, tuple[Any, str, str]] = {
    "cho_factor": (lambda x: scipy.linalg.cho_factor(x)[0], "linalg.cho_factor",
                   f"write `{T}.linalg.cho_factor(x)`, after `import {T}.linalg`"),
    "cho_solve": (lambda x: scipy.linalg.cho_solve((x, True), VECTOR), "linalg.cho_solve",
                  f"write `{T}.linalg.cho_solve((x, True), VECTOR)`"),
    "solve_triangular": (lambda x: scipy.linalg.solve_triangular(x, VECTOR, lower=True),
                         "linalg.solve_triangular",
                         f"write `{T}.linalg.solve_triangular(x, VECTOR, lower=True)`"),
    "inv": (lambda x: scipy.linalg.inv(x), "linalg.inv", f"write `{T}.linalg.inv(x)`"),
    "special": (lambda x: scipy.special.logsumexp(x), "special.logsumexp",
                f"write `{T}.special.logsumexp(x)`"),
    "fft": (lambda x: scipy.fft.fft(x), "fft.fft", f"write `{T}.fft.fft(x)`"),
    "stats": (lambda x: scipy.stats.norm.logpdf(x), "stats", f"take it from {T}.stats"),
    "another class": (lambda x: scipy.interpolate.BarycentricInterpolator(VECTOR, x),
                      "interpolate.BarycentricInterpolator", "tj.primitive"),
    "not recorded": (lambda x: scipy.linalg.null_space(x), "linalg.null_space",
                     "tj.primitive"),
    "calling back": (lambda x: scipy.integrate.quad(lambda t: t * x[0], 0, 1), "integrate.quad",
                     "in a function under @tj.function or tj.grad"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_tape_names_the_same_cure(name: str) -> None:
    f, called, fix = CALLS[name]
    x = tj.constant(SPD)
    with pytest.raises(tj.TracejitError) as caught, tj.GradientTape() as tape:
        tape.watch(x)
        f(x)
    what, line, *_, advice = str(caught.value).splitlines()
    assert what.startswith(f"scipy.{called} would take ")
    assert line.startswith("  test_scipy_calls.py:")
    if sys.version_info >= (3, 11):
        assert fix in advice


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_scipy_is_refused_at_the_users_line(name: str) -> None:
    f, called, fix = CALLS[name]
    with pytest.raises(tj.TracejitError) as caught:
        tj.function(f)(SPD)
    what, line, *_, advice = str(caught.value).splitlines()
    assert what.startswith(f"scipy.{called} needs a value")
    assert line.startswith("  test_scipy_calls.py:")
    if sys.version_info >= (3, 11):
        assert fix in advice
    else:
        assert fix.partition("(")[0] in advice


@pytest.mark.parametrize("name", [*[*CALLS][:7], "not recorded"])
def test_converted_they_are_recorded(name: str) -> None:
    f = CALLS[name][0]
    np.testing.assert_allclose(tj.function(f)(SPD), f(SPD), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "told"),
    [("another class", "BarycentricInterpolator")],
)
def test_others_are_refused(name: str, told: str) -> None:
    with pytest.raises(tj.TracejitError, match=told):
        tj.function(CALLS[name][0])(SPD)


def test_the_line_that_is_named_is_right() -> None:
    def f(x: Any, b: Any) -> Any:
        factor = tracejit.scipy.linalg.cho_factor(x)
        return tracejit.scipy.linalg.cho_solve(factor, b)

    assert_same(tj.function(f)(SPD, VECTOR), f(SPD, VECTOR))
    expected = scipy.linalg.cho_solve(scipy.linalg.cho_factor(SPD), np.ones(3))
    np.testing.assert_allclose(tj.grad(lambda b: np.sum(f(SPD, b)))(VECTOR), expected)
