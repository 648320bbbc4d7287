"""The gamma function and its family: beta, polygamma, incomplete gamma and beta functions.

The incomplete functions have no known derivative by their parameters.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.base.creation import as_array, known
from tracejit.ops.base.op import Op, answer, defop
from tracejit.ops.scipy.base.ufuncs import UNKNOWN, function, is_complex, sampled_type, special

# Gamma and polygamma


def _rgamma_slope(y: Any, x: Any) -> Any:
    """The derivative of 1 / gamma(x), reflected left of 1/2, where psi has the poles of gamma:
    https://dlmf.nist.gov/5.5.E3, https://dlmf.nist.gov/5.5.E4."""
    left = np.real(x) < 0.5
    if is_complex(x):
        left = left & (np.absolute(np.imag(x)) < 1.0)
    z = np.where(left, x, 0.5)
    angle = np.pi * z
    turned = np.cos(angle) - np.sin(angle) / np.pi * sc.psi(1.0 - z)
    return np.where(left, sc.gamma(1.0 - z) * turned, -y * sc.psi(np.where(left, 0.5, x)))


# The coefficients of 1 / w ** (2 k + 1): https://dlmf.nist.gov/5.15.E8
BERNOULLI = (1.0, 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
SHIFT = 10


def _complex_trigamma(z: Any) -> Any:
    """The derivative of psi: reflected to the right, shifted by recurrence, then the asymptotic
    series. https://dlmf.nist.gov/5.15.E5, https://dlmf.nist.gov/5.15.E6"""
    left = (np.real(z) < 0) & (np.absolute(np.imag(z)) < 20.0)
    right = np.where(left, 1.0 - z, z)
    steps = [1.0 / (right + k) ** 2 for k in range(SHIFT)]
    inverse = 1.0 / (right + SHIFT)
    square = inverse * inverse
    series: Any = 0.0
    for coefficient in reversed(BERNOULLI):
        series = series * square + coefficient
    total = sum(steps, inverse * series + 0.5 * square)
    turn = np.pi / np.sin(np.pi * np.where(left, z, 0.5))
    return np.where(left, turn * turn - total, total)


def _psi_slope(y: Any, x: Any) -> Any:
    return _complex_trigamma(x) if is_complex(x) else zeta(2.0, x)


gamma = special(sc.gamma, deriv=lambda y, x: y * sc.psi(x), cost=40)
gammaln = special(sc.gammaln, deriv=lambda y, x: sc.psi(x))
loggamma = special(sc.loggamma, deriv=lambda y, x: sc.psi(x))
rgamma = special(sc.rgamma, deriv=_rgamma_slope, cost=40)
gammasgn = special(sc.gammasgn, vjp=(), cost=10)
psi = special(sc.psi, deriv=_psi_slope)

zeta: Op = function(
    sc.zeta,
    source="scipy.special.zeta({0}, {1})",
    deriv=(UNKNOWN, lambda y, s, q: -s * zeta(s + 1.0, q)),
)
riemann_zeta = function(sc.zeta, name="riemann_zeta", source="scipy.special.zeta({0})")
zetac = special(sc.zetac)


def _zeta_call(x: Any, q: Any = None) -> Any:
    return riemann_zeta(as_array(x)) if q is None else zeta(as_array(x), as_array(q))


answer(sc.zeta, _zeta_call)

polygamma: Op = function(
    sc.polygamma,
    source="scipy.special.polygamma({0}, {1})",
    deriv=(UNKNOWN, lambda y, n, x: polygamma(n + 1, x)),
    canonical=lambda n, x: ((as_array(n), as_array(x)), {}),
)


def _multigammaln_slope(g: Any, y: Any, a: Any, d: int) -> Any:
    slopes = [sc.psi(a - 0.5 * j) for j in range(d)]
    return g * sum(slopes[1:], slopes[0])


multigammaln = defop(
    sc.multigammaln,
    canonical=lambda a, d: ((as_array(a),), {"d": operator.index(known(d, "d"))}),
    infer=lambda a, d: sampled_type(lambda x: sc.multigammaln(x + d, d))(a),
    vjp=_multigammaln_slope,
    batch="elementwise",
    source="scipy.special.multigammaln({0}, {d})",
    library="scipy",
    cost=lambda a, d: 60 * d * a.size,
)


# Beta and binomial coefficients

beta = special(
    sc.beta,
    deriv=(
        lambda y, a, b: y * (sc.psi(a) - sc.psi(a + b)),
        lambda y, a, b: y * (sc.psi(b) - sc.psi(a + b)),
    ),
)
betaln = special(
    sc.betaln,
    deriv=(
        lambda y, a, b: sc.psi(a) - sc.psi(a + b),
        lambda y, a, b: sc.psi(b) - sc.psi(a + b),
    ),
)


def _poch_by_z(y: Any, z: Any, m: Any) -> Any:
    """y (psi(z + m) - psi(z)), where y is zero by the poles that then meet."""
    zero = y == 0
    place = np.where(zero, 1.0, z)
    slope = _rgamma_slope(sc.rgamma(z), z)
    at_zero = y * sc.psi(z + m) + sc.gamma(np.where(zero, z + m, 1.0)) * slope
    return np.where(zero, at_zero, y * (sc.psi(place + m) - sc.psi(place)))


poch = special(sc.poch, deriv=(_poch_by_z, lambda y, z, m: y * sc.psi(z + m)))


def _inverse_slope(x: Any) -> Any:
    return _rgamma_slope(sc.rgamma(x), x)


def _binom_by_n(y: Any, n: Any, k: Any) -> Any:
    zero = y == 0
    top = np.where(zero, 1.0, n - k + 1.0)
    at_zero = sc.gamma(n + 1.0) * sc.rgamma(k + 1.0) * _inverse_slope(n - k + 1.0)
    return y * sc.psi(n + 1.0) + np.where(zero, at_zero, -y * sc.psi(top))


def _binom_by_k(y: Any, n: Any, k: Any) -> Any:
    zero = y == 0
    low, high = k + 1.0, n - k + 1.0
    at_zero = sc.gamma(n + 1.0) * (
        _inverse_slope(low) * sc.rgamma(high) - sc.rgamma(low) * _inverse_slope(high)
    )
    gap = sc.psi(np.where(zero, 1.0, high)) - sc.psi(np.where(zero, 1.0, low))
    return np.where(zero, at_zero, y * gap)


binom = special(sc.binom, deriv=(_binom_by_n, _binom_by_k))


def _counted(y: Any, n: Any, k: Any) -> Any:
    """True where SciPy counts, and does not answer 0."""
    return (k <= n) & (n >= 0) & (k >= 0)


def _inexact(function: Any) -> Any:
    """The call of `function` as operands; exact counts are Python numbers."""

    def canonical(n: Any, k: Any, exact: bool = False) -> tuple[tuple[Any, Any], dict[str, Any]]:
        if exact:
            raise TypeError("exact=True returns Python numbers, which are not recorded")
        return (as_array(n), as_array(k)), {}

    return canonical


comb = function(
    sc.comb,
    source="scipy.special.comb({0}, {1})",
    deriv=(
        lambda y, n, k: np.where(_counted(y, n, k), _binom_by_n(y, n, k), 0.0),
        lambda y, n, k: np.where(_counted(y, n, k), _binom_by_k(y, n, k), 0.0),
    ),
    canonical=_inexact(sc.comb),
)


def _above(n: Any, k: Any) -> Any:
    """n - k + 1, and 1 where that may be a pole."""
    return np.where(_counted(None, n, k), n - k + 1.0, 1.0)


perm = function(
    sc.perm,
    source="scipy.special.perm({0}, {1})",
    deriv=(
        lambda y, n, k: y * (sc.psi(np.where(n >= 0, n, 0) + 1.0) - sc.psi(_above(n, k))),
        lambda y, n, k: y * sc.psi(_above(n, k)),
    ),
    canonical=_inexact(sc.perm),
)


def _factorial_call(n: Any, exact: bool = False) -> tuple[tuple[Any], dict[str, Any]]:
    if exact:
        raise TypeError("exact=True returns integers whose dtype depends on their size")
    return (as_array(n),), {}


factorial = function(
    sc.factorial,
    source="scipy.special.factorial({0})",
    deriv=lambda y, n: y * sc.psi(np.where(n < 0, 0, n) + 1.0),
    canonical=_factorial_call,
)


# Incomplete functions


def gamma_density(a: Any, x: Any) -> Any:
    """The derivative of gammainc(a, x) by x."""
    return np.exp(sc.xlogy(a - 1.0, x) - x - sc.gammaln(a))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """The derivative of betainc(a, b, x) by x."""
    return np.exp(sc.xlogy(a - 1.0, x) + sc.xlog1py(b - 1.0, -x) - sc.betaln(a, b))


gammainc = special(sc.gammainc, deriv=(UNKNOWN, lambda y, a, x: gamma_density(a, x)))
gammaincc = special(sc.gammaincc, deriv=(UNKNOWN, lambda y, a, x: -gamma_density(a, x)))
gammaincinv = special(sc.gammaincinv, deriv=(UNKNOWN, lambda y, a, p: 1.0 / gamma_density(a, y)))
gammainccinv = special(sc.gammainccinv, deriv=(UNKNOWN, lambda y, a, p: -1.0 / gamma_density(a, y)))
betainc = special(
    sc.betainc, deriv=(UNKNOWN, UNKNOWN, lambda y, a, b, x: beta_density(a, b, x)), cost=100
)
betaincc = special(
    sc.betaincc, deriv=(UNKNOWN, UNKNOWN, lambda y, a, b, x: -beta_density(a, b, x)), cost=100
)
betaincinv = special(
    sc.betaincinv,
    deriv=(UNKNOWN, UNKNOWN, lambda y, a, b, p: 1.0 / beta_density(a, b, y)),
    cost=200,
)
betainccinv = special(
    sc.betainccinv,
    deriv=(UNKNOWN, UNKNOWN, lambda y, a, b, p: -1.0 / beta_density(a, b, y)),
    cost=200,
)
