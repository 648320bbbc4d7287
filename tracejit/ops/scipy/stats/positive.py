"""scipy.stats: continuous distributions of positive numbers, of times and extremes.

Formulas are of their standard forms, as in `continuous`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sc
from scipy import stats

from tracejit.ops.scipy.stats.continuous import HALF_LINE, LOG_2, LOG_2PI, POSITIVE, family

_ONE: Any = lambda *shapes: 1.0  # noqa: E731
_BOTH_POSITIVE: Any = lambda a, b: (a > 0) & (b > 0)  # noqa: E731
_positive: Any = lambda distribution, **fields: family(  # noqa: E731
    distribution, bounds=HALF_LINE, inside=_ONE, **fields
)


_positive(
    stats.invgamma,
    valid=POSITIVE,
    logpdf=lambda x, a: -(a + 1) * np.log(x) - sc.gammaln(a) - 1.0 / x,
    cdf=lambda x, a: sc.gammaincc(a, 1.0 / x),
    sf=lambda x, a: sc.gammainc(a, 1.0 / x),
    ppf=lambda q, a: 1.0 / sc.gammainccinv(a, q),
    isf=lambda q, a: 1.0 / sc.gammaincinv(a, q),
)


def _f_logpdf(x: Any, n: Any, m: Any) -> Any:
    scale = m / 2 * np.log(m) + n / 2 * np.log(n) - sc.betaln(n / 2, m / 2)
    return scale + sc.xlogy(n / 2 - 1, x) - (n + m) / 2 * np.log(m + n * x)


_positive(
    stats.f,
    valid=_BOTH_POSITIVE,
    logpdf=_f_logpdf,
    cdf=lambda x, n, m: sc.betainc(n / 2, m / 2, n / (n + m / x)),
    sf=lambda x, n, m: sc.betainc(m / 2, n / 2, m / (m + n * x)),
)
_positive(
    stats.chi,
    valid=POSITIVE,
    logpdf=lambda x, df: (
        LOG_2 - LOG_2 * df / 2 - sc.gammaln(df / 2) + sc.xlogy(df - 1, x) - x * x / 2
    ),
    cdf=lambda x, df: sc.gammainc(df / 2, x * x / 2),
    sf=lambda x, df: sc.gammaincc(df / 2, x * x / 2),
    ppf=lambda q, df: np.sqrt(2 * sc.gammaincinv(df / 2, q)),
    isf=lambda q, df: np.sqrt(2 * sc.gammainccinv(df / 2, q)),
)
_positive(
    stats.rayleigh,
    finite=True,
    logpdf=lambda x: np.log(x) - x * x / 2,
    cdf=lambda x: -np.expm1(-(x * x) / 2),
    logsf=lambda x: -(x * x) / 2,
    ppf=lambda q: np.sqrt(-2 * np.log1p(-q)),
    isf=lambda q: np.sqrt(-2 * np.log(q)),
    mean=lambda: math.sqrt(math.pi / 2),
    var=lambda: (4 - math.pi) / 2,
)
_positive(
    stats.maxwell,
    logpdf=lambda x: 0.5 * math.log(2 / math.pi) + 2 * np.log(x) - x * x / 2,
    cdf=lambda x: sc.gammainc(1.5, x * x / 2),
    sf=lambda x: sc.gammaincc(1.5, x * x / 2),
    ppf=lambda q: np.sqrt(2 * sc.gammaincinv(1.5, q)),
    isf=lambda q: np.sqrt(2 * sc.gammainccinv(1.5, q)),
)
_positive(
    stats.halfcauchy,
    logpdf=lambda x: math.log(2 / math.pi) - np.log1p(x * x),
    cdf=lambda x: 2 / math.pi * np.arctan(x),
    sf=lambda x: 2 / math.pi * np.arctan2(1.0, x),
    ppf=lambda q: np.tan(math.pi / 2 * q),
    isf=lambda q: 1.0 / np.tan(math.pi / 2 * q),
)
_positive(
    stats.halflogistic,
    logpdf=lambda x: LOG_2 - x - 2.0 * np.log1p(np.exp(-x)),
    cdf=lambda x: np.tanh(x / 2),
    sf=lambda x: 2 * sc.expit(-x),
    ppf=lambda q: 2 * np.arctanh(q),
    isf=lambda q: -sc.logit(q / 2),
)
_positive(
    stats.lomax,
    valid=POSITIVE,
    logpdf=lambda x, c: np.log(c) - (c + 1) * np.log1p(x),
    cdf=lambda x, c: -np.expm1(-c * np.log1p(x)),
    logsf=lambda x, c: -c * np.log1p(x),
    ppf=lambda q, c: np.expm1(-np.log1p(-q) / c),
    isf=lambda q, c: np.expm1(-np.log(q) / c),
)
_positive(
    stats.fisk,
    finite=True,
    valid=POSITIVE,
    logpdf=lambda x, c: np.log(c) + sc.xlogy(c - 1, x) - 2 * np.log1p(x**c),
    cdf=lambda x, c: sc.expit(c * np.log(x)),
    sf=lambda x, c: sc.expit(-c * np.log(x)),
    ppf=lambda q, c: np.exp(sc.logit(q) / c),
    isf=lambda q, c: np.exp(-sc.logit(q) / c),
)
_positive(
    stats.burr12,
    valid=_BOTH_POSITIVE,
    logpdf=lambda x, c, d: np.log(c) + np.log(d) + sc.xlogy(c - 1, x) - (d + 1) * np.log1p(x**c),
    cdf=lambda x, c, d: -np.expm1(-d * np.log1p(x**c)),
    logsf=lambda x, c, d: -d * np.log1p(x**c),
    ppf=lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (1 / c),
    isf=lambda q, c, d: np.expm1(-np.log(q) / d) ** (1 / c),
)


def _invgauss_parts(x: Any, mu: Any) -> tuple[Any, Any]:
    """The arguments of the two normal tails."""
    scale = 1.0 / np.sqrt(x)
    return scale * (x / mu - 1), -scale * (x / mu + 1)


def _invgauss_logcdf(x: Any, mu: Any) -> Any:
    inner, outer = _invgauss_parts(x, mu)
    first = sc.log_ndtr(inner)
    return first + np.log1p(np.exp(2 / mu + sc.log_ndtr(outer) - first))


def _invgauss_logsf(x: Any, mu: Any) -> Any:
    inner, outer = _invgauss_parts(x, mu)
    first = sc.log_ndtr(-inner)
    return first + np.log1p(-np.exp(2 / mu + sc.log_ndtr(outer) - first))


_positive(
    stats.invgauss,
    finite=True,
    valid=POSITIVE,
    logpdf=lambda x, mu: -0.5 * LOG_2PI - 1.5 * np.log(x) - ((x - mu) / mu) ** 2 / (2 * x),
    logcdf=_invgauss_logcdf,
    logsf=_invgauss_logsf,
    mean=lambda mu: mu,
    var=lambda mu: mu**3,
)
_positive(
    stats.gompertz,
    valid=POSITIVE,
    logpdf=lambda x, c: np.log(c) + x - c * np.expm1(x),
    cdf=lambda x, c: -np.expm1(-c * np.expm1(x)),
    logsf=lambda x, c: -c * np.expm1(x),
    ppf=lambda q, c: np.log1p(-np.log1p(-q) / c),
    isf=lambda q, c: np.log1p(-np.log(q) / c),
)
_positive(
    stats.exponpow,
    valid=POSITIVE,
    logpdf=lambda x, b: 1 + np.log(b) + sc.xlogy(b - 1, x) + x**b - np.exp(x**b),
    cdf=lambda x, b: -np.expm1(-np.expm1(x**b)),
    logsf=lambda x, b: -np.expm1(x**b),
    ppf=lambda q, b: np.log1p(-np.log1p(-q)) ** (1 / b),
    isf=lambda q, b: np.log1p(-np.log(q)) ** (1 / b),
)
_positive(
    stats.nakagami,
    valid=POSITIVE,
    logpdf=lambda x, nu: (
        LOG_2 + sc.xlogy(nu, nu) - sc.gammaln(nu) + sc.xlogy(2 * nu - 1, x) - nu * x * x
    ),
    cdf=lambda x, nu: sc.gammainc(nu, nu * x * x),
    sf=lambda x, nu: sc.gammaincc(nu, nu * x * x),
    ppf=lambda q, nu: np.sqrt(sc.gammaincinv(nu, q) / nu),
    isf=lambda q, nu: np.sqrt(sc.gammainccinv(nu, q) / nu),
)
_positive(
    stats.betaprime,
    finite=True,
    valid=_BOTH_POSITIVE,
    logpdf=lambda x, a, b: sc.xlogy(a - 1, x) - sc.xlog1py(a + b, x) - sc.betaln(a, b),
    cdf=lambda x, a, b: sc.betainc(a, b, x / (1 + x)),
    sf=lambda x, a, b: sc.betainc(b, a, 1 / (1 + x)),
)
_positive(
    stats.levy,
    logpdf=lambda x: -0.5 * LOG_2PI - 1.5 * np.log(x) - 1 / (2 * x),
    cdf=lambda x: sc.erfc(np.sqrt(0.5 / x)),
    sf=lambda x: sc.erf(np.sqrt(0.5 / x)),
    ppf=lambda q: 1.0 / sc.ndtri(q / 2) ** 2,
    isf=lambda q: 1.0 / (2 * sc.erfinv(q) ** 2),
)
_positive(
    stats.rice,
    valid=lambda b: b >= 0,
    logpdf=lambda x, b: np.log(x) - (x - b) * (x - b) / 2.0 + np.log(sc.i0e(x * b)),
)


# Extremes


_positive(
    stats.invweibull,
    valid=POSITIVE,
    logpdf=lambda x, c: np.log(c) - (c + 1) * np.log(x) - x**-c,
    logcdf=lambda x, c: -(x**-c),
    sf=lambda x, c: -np.expm1(-(x**-c)),
    ppf=lambda q, c: (-np.log(q)) ** (-1.0 / c),
    isf=lambda q, c: (-np.log1p(-q)) ** (-1.0 / c),
)
family(
    stats.weibull_max,
    bounds=lambda c: (-np.inf, 0.0),
    inside=lambda c: -1.0,
    valid=POSITIVE,
    logpdf=lambda x, c: np.log(c) + sc.xlogy(c - 1, -x) - (-x) ** c,
    logcdf=lambda x, c: -((-x) ** c),
    sf=lambda x, c: -np.expm1(-((-x) ** c)),
    ppf=lambda q, c: -((-np.log(q)) ** (1.0 / c)),
    isf=lambda q, c: -((-np.log1p(-q)) ** (1.0 / c)),
)


def _scaled_log(x: Any, c: Any) -> Any:
    """log(1 + c x) / c, which is x for c = 0."""
    return x / sc.exprel(np.log1p(c * x))


def _end(c: Any) -> Any:
    """-1 / c where c is negative, else infinity."""
    is_negative = c < 0
    return np.where(is_negative, -1.0 / np.where(is_negative, c, -1.0), np.inf)


family(
    stats.genpareto,
    finite=True,
    bounds=lambda c: (0.0, _end(c)),
    inside=lambda c: np.where(c < 0, -0.5 / np.where(c < 0, c, -1.0), 1.0),
    valid=np.isfinite,
    logpdf=lambda x, c: -_scaled_log(x, c) - np.log1p(c * x),
    cdf=lambda x, c: -np.expm1(-_scaled_log(x, c)),
    logsf=lambda x, c: -_scaled_log(x, c),
    ppf=lambda q, c: -np.log1p(-q) * sc.exprel(-c * np.log1p(-q)),
    isf=lambda q, c: -np.log(q) * sc.exprel(-c * np.log(q)),
)


def _genextreme_logpdf(x: Any, c: Any) -> Any:
    t = -_scaled_log(x, -c)
    return t - np.exp(t) - np.log1p(-c * x)


family(
    stats.genextreme,
    finite=True,
    bounds=lambda c: (-_end(c), _end(-c)),
    inside=lambda c: 0.0,
    valid=np.isfinite,
    logpdf=_genextreme_logpdf,
    logcdf=lambda x, c: -np.exp(-_scaled_log(x, -c)),
    sf=lambda x, c: -np.expm1(-np.exp(-_scaled_log(x, -c))),
    ppf=lambda q, c: -np.log(-np.log(q)) * sc.exprel(c * np.log(-np.log(q))),
    isf=lambda q, c: -np.log(-np.log1p(-q)) * sc.exprel(c * np.log(-np.log1p(-q))),
)
