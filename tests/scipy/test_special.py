"""tracejit.scipy.special is scipy.special, recordable."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose

import tracejit as tj
from tests.rows import each_row
from tracejit.scipy import special
from tracejit.support.errors import NoGradientError, UnsupportedError

ONES = np.ones(2)


def test_ufuncs_are_scipys_own() -> None:
    assert special.gammaln is scipy.special.gammaln


def test_a_kernel_imports_what_it_calls() -> None:
    f = tj.value_and_grad(lambda x: np.sum(special.erf(x)))
    value, slope = f(np.zeros(2))
    assert value == 0.0
    assert np.allclose(slope, 2 / np.sqrt(np.pi))
    assert "\nfrom scipy.special import erf\n" in f.source
    assert "scipy" in f.source.split('"""')[1]


def test_a_kernel_calls_what_the_user_called() -> None:
    f = tj.value_and_grad(lambda x: np.sum(special.softmax(x, axis=0) * x))
    f(np.ones((3, 2)))
    assert "softmax(x, axis=0)" in f.source
    f = tj.value_and_grad(lambda x: np.sum(special.i0(x)))
    f(np.ones(2))
    assert "from scipy.special import i1, i0 as special_i0" in f.source


# Derivatives where formulas cancel, overflow or divide by zero: from mpmath, or exact.

SLOPES: list[tuple[str, Callable[[Any], Any], float, float]] = [
    ("erfcx", special.erfcx, 1e8, -1e-16 / math.sqrt(math.pi)),
    ("dawsn", special.dawsn, 1e3, -5.0000075000187500e-07),
    ("log_ndtr", special.log_ndtr, -40.0, 40.024968847207263),
    ("log_ndtr", special.log_ndtr, -1e8, 1e8),
    ("log_ndtr", special.log_ndtr, 40.0, 0.0),
    ("expit", special.expit, 50.0, math.exp(-50.0)),
    ("log_expit", special.log_expit, 50.0, math.exp(-50.0)),
    ("i0e", special.i0e, 1e8, -0.5e-12 / math.sqrt(2.0 * math.pi)),
    ("k0e", special.k0e, 1e8, -0.5e-12 * math.sqrt(math.pi / 2.0)),
    ("ellipk", special.ellipk, 0.0, math.pi / 8.0),
    ("ellipe", special.ellipe, 0.0, -math.pi / 8.0),
    ("agm", lambda a: special.agm(a, 2.0), 2.0, 0.5),
    ("exprel", special.exprel, 0.0, 0.5),
    ("spence", special.spence, 1.0, -1.0),
    ("rgamma", special.rgamma, -2.0, 2.0),
    ("boxcox", lambda lmbda: special.boxcox(3.0, lmbda), 0.0, 0.5 * math.log(3.0) ** 2),
    ("gammainc", lambda x: special.gammainc(1.0, x), 0.0, 1.0),
    ("betainc", lambda x: special.betainc(1.0, 1.0, x), 1.0, 1.0),
    ("xlogy", lambda y: special.xlogy(0.0, y), 0.0, 0.0),
    ("rel_entr", lambda y: special.rel_entr(0.0, y), 0.0, 0.0),
    ("kl_div", lambda y: special.kl_div(0.0, y), 0.0, 1.0),
    ("binom", lambda n: special.binom(n, 7.0), 5.0, -1.0 / 42.0),
    ("j1", special.j1, 0.0, 0.5),
    ("sici", lambda x: special.sici(x)[0], 0.0, 1.0),
    ("shichi", lambda x: special.shichi(x)[0], 0.0, 1.0),
    ("lambertw", lambda z: np.real(special.lambertw(z)), 0.0, 1.0),
    ("pseudo_huber", lambda r: special.pseudo_huber(0.0, r), 0.0, 0.0),
    ("voigt_profile", lambda x: special.voigt_profile(x, 0.0, 1.0), 1.0, -0.5 / math.pi),
    ("logsumexp", lambda x: special.logsumexp(np.stack([x, -np.inf * np.ones_like(x)])), 2.0, 1.0),
]


@each_row(
    ("function", "at", "slope"),
    [case[1:] for case in SLOPES],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slopes_are_exact_in_the_tails_and_finite_at_singular_points(
    function: Callable[[Any], Any], at: float, slope: float
) -> None:
    assert_allclose(tj.grad(lambda x: function(x))(at), slope, rtol=1e-7 if at == 1e8 else 1e-13)


SECOND: list[tuple[str, Callable[[Any], Any], float, float]] = [
    ("log_ndtr", special.log_ndtr, 40.0, 0.0),
    ("ellipk", special.ellipk, 0.0, 9.0 * math.pi / 64.0),
    ("ellipe", special.ellipe, 0.0, -3.0 * math.pi / 64.0),
    ("spence", special.spence, 1.0, 0.5),
    ("exprel", special.exprel, 0.0, 1.0 / 3.0),
    ("bei", special.bei, 0.0, 0.5),
    ("binom", lambda n: special.binom(n, 7.0), 5.0, -0.061111111111111109),
]


@pytest.mark.parametrize(
    ("function", "at", "curvature"),
    [case[1:] for case in SECOND],
    ids=[name for name, *_ in SECOND],
)
def test_second_derivatives_hold_at_singular_points(
    function: Callable[[Any], Any], at: float, curvature: float
) -> None:
    slope = tj.grad(lambda x: function(x))
    assert_allclose(tj.grad(lambda x: slope(x))(at), curvature, rtol=1e-9)


# What is refused


@pytest.mark.parametrize(
    ("function", "at", "words"),
    [
        (lambda v: special.jv(v, 1.3), 0.5, "jv by its first argument"),
        (lambda s: special.zeta(s, 2.0), 3.5, "zeta by its first argument"),
        (special.zeta, 3.5, "riemann_zeta"),
        (lambda a: special.gammainc(a, 2.0), 3.5, "gammainc by its first argument"),
        (lambda b: special.betainc(1.0, b, 0.5), 3.5, "betainc by its second argument"),
        (lambda n: special.polygamma(n, 2.0), 3.0, "polygamma by its first argument"),
        (lambda x: special.pbdv(x, 1.0)[0], 0.5, "pbdv by its first argument"),
        (lambda x: special.obl_rad2(1, 2, 1.5, x)[0], 0.5, "obl_rad2 by its fourth argument"),
        (lambda x: np.real(special.jve(1.0, x + 1j)), 0.5, "jve of complex numbers"),
        (lambda x: np.real(special.airye(x + 1j)[2]), 0.5, "airye of complex numbers"),
        (
            lambda x: special.logsumexp(ONES * x + 1j, return_sign=True)[0],
            0.5,
            "complex numbers with return_sign=True",
        ),
        (lambda x: special.nctdtr(3.0, 0.5, x), 0.5, "nctdtr"),
    ],
)
def test_what_has_no_known_derivative_is_refused(
    function: Callable[[Any], Any], at: float, words: str
) -> None:
    with pytest.raises(NoGradientError, match=words):
        tj.grad(lambda x: function(x))(at)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: special.comb(x, 2, exact=True), "exact=True answers Python numbers"),
        (lambda x: special.comb(x, 2, repetition=True), "the keyword repetition"),
        (lambda x: special.factorial(x, exact=True), "exact=True"),
        (lambda x: special.factorial(x, extend="complex"), "the keyword extend"),
        (lambda x: special.factorial2(x), "factorial2"),
        (lambda x: special.multigammaln(x, 2.5), "cannot be interpreted as an integer"),
        (lambda x: special.jv(1.0, x, where=x > 0), "where"),
        (lambda x: special.jv(1.0), "2"),
        (lambda x: special.airy(x, where=x > 0)[0], "where"),
    ],
)
def test_what_cannot_be_recorded_is_refused(function: Callable[[Any], Any], words: str) -> None:
    with pytest.raises((UnsupportedError, TypeError), match=words):
        tj.grad(lambda x: np.sum(function(x)))(np.array([3.0]))


@pytest.mark.skipif(not hasattr(special, "sph_harm_y"), reason="new in SciPy 1.15")
def test_legendre_functions_are_differentiated_twice() -> None:
    with pytest.raises(UnsupportedError, match="the keyword diff_n"):
        tj.grad(lambda z: np.sum(special.legendre_p(2, z, diff_n=1)[0]))(0.5)
    slope = tj.grad(lambda z: np.sum(special.legendre_p(3, z)))
    curvature = tj.grad(lambda z: slope(z))
    assert_allclose(curvature(0.5), 7.5)
    with pytest.raises(NoGradientError, match="more than twice"):
        tj.grad(lambda z: curvature(z))(0.5)
