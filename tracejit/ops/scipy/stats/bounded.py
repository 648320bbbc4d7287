"""scipy.stats: continuous distributions between two bounds, and skew ones.

Formulas are of their standard forms, as in `continuous`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sc
from scipy import stats

from tracejit.ops.scipy.stats.continuous import LOG_2, LOG_2PI, POSITIVE, UNIT, family

_HALF: Any = lambda *shapes: 0.5  # noqa: E731


def _triang_pdf(x: Any, c: Any) -> Any:
    rises, falls = x < c, c < 1
    up = 2 * x / np.where(rises, c, 1.0)
    return np.where(rises, up, np.where(falls, 2 * (1 - x) / np.where(falls, 1 - c, 1.0), 2 * x))


def _triang_cdf(x: Any, c: Any) -> Any:
    rises, falls = x < c, c < 1
    up = x * x / np.where(rises, c, 1.0)
    down = 1 - (1 - x) ** 2 / np.where(falls, 1 - c, 1.0)
    return np.where(rises, up, np.where(falls, down, x * x))


family(
    stats.triang,
    bounds=UNIT,
    inside=_HALF,
    valid=lambda c: (c >= 0) & (c <= 1),
    pdf=_triang_pdf,
    cdf=_triang_cdf,
    ppf=lambda q, c: np.where(q < c, np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q))),
    isf=lambda q, c: np.where(1 - q < c, np.sqrt(c * (1 - q)), 1 - np.sqrt((1 - c) * q)),
    mean=lambda c: (c + 1.0) / 3.0,
    var=lambda c: (1.0 - c + c * c) / 18,
)
family(
    stats.arcsine,
    bounds=UNIT,
    inside=_HALF,
    pdf=lambda x: 1.0 / math.pi / np.sqrt(x * (1 - x)),
    cdf=lambda x: 2.0 / math.pi * np.arcsin(np.sqrt(x)),
    ppf=lambda q: np.sin(math.pi / 2.0 * q) ** 2,
    isf=lambda q: np.cos(math.pi / 2.0 * q) ** 2,
    mean=lambda: 0.5,
    var=lambda: 1.0 / 8,
)
family(
    stats.powerlaw,
    bounds=UNIT,
    inside=_HALF,
    valid=POSITIVE,
    logpdf=lambda x, a: np.log(a) + sc.xlogy(a - 1, x),
    logcdf=lambda x, a: a * np.log(x),
    sf=lambda x, a: -np.expm1(a * np.log(x)),
    ppf=lambda q, a: q ** (1.0 / a),
    isf=lambda q, a: np.exp(np.log1p(-q) / a),
    mean=lambda a: a / (a + 1.0),
    var=lambda a: a / (a + 2.0) / (a + 1.0) ** 2,
)
for _distribution in (stats.loguniform, stats.reciprocal):
    family(
        _distribution,
        bounds=lambda a, b: (a, b),
        inside=lambda a, b: np.sqrt(a * b),
        valid=lambda a, b: (a > 0) & (b > a),
        logpdf=lambda x, a, b: -np.log(x) - np.log(np.log(b) - np.log(a)),
        cdf=lambda x, a, b: (np.log(x) - np.log(a)) / (np.log(b) - np.log(a)),
        sf=lambda x, a, b: (np.log(b) - np.log(x)) / (np.log(b) - np.log(a)),
        ppf=lambda q, a, b: np.exp(np.log(a) + q * (np.log(b) - np.log(a))),
        isf=lambda q, a, b: np.exp(np.log(b) - q * (np.log(b) - np.log(a))),
    )
family(
    stats.truncexpon,
    bounds=lambda b: (0.0, b),
    inside=lambda b: 0.5 * b,
    valid=POSITIVE,
    logpdf=lambda x, b: -x - np.log(-np.expm1(-b)),
    cdf=lambda x, b: np.expm1(-x) / np.expm1(-b),
    sf=lambda x, b: (np.exp(-b) - np.exp(-x)) / np.expm1(-b),
    ppf=lambda q, b: -np.log1p(q * np.expm1(-b)),
    isf=lambda q, b: -np.log1p((1 - q) * np.expm1(-b)),
)
family(
    stats.semicircular,
    symmetric=True,
    bounds=lambda: (-1.0, 1.0),
    inside=lambda: 0.0,
    pdf=lambda x: 2.0 / math.pi * np.sqrt(1 - x * x),
    cdf=lambda x: 0.5 + 1.0 / math.pi * (x * np.sqrt(1 - x * x) + np.arcsin(x)),
    mean=lambda: 0.0,
    var=lambda: 0.25,
)
family(
    stats.johnsonsb,
    bounds=UNIT,
    inside=_HALF,
    valid=lambda a, b: b > 0,
    logpdf=lambda x, a, b: (
        np.log(b) - np.log(x) - np.log1p(-x) - (a + b * sc.logit(x)) ** 2 / 2 - LOG_2PI / 2
    ),
    cdf=lambda x, a, b: sc.ndtr(a + b * sc.logit(x)),
    sf=lambda x, a, b: sc.ndtr(-(a + b * sc.logit(x))),
    ppf=lambda q, a, b: sc.expit((sc.ndtri(q) - a) / b),
    isf=lambda q, a, b: sc.expit((-sc.ndtri(q) - a) / b),
)


# Skew ones


family(
    stats.johnsonsu,
    valid=lambda a, b: b > 0,
    logpdf=lambda x, a, b: (
        np.log(b) - np.log1p(x * x) / 2 - (a + b * np.arcsinh(x)) ** 2 / 2 - LOG_2PI / 2
    ),
    cdf=lambda x, a, b: sc.ndtr(a + b * np.arcsinh(x)),
    sf=lambda x, a, b: sc.ndtr(-(a + b * np.arcsinh(x))),
    ppf=lambda q, a, b: np.sinh((sc.ndtri(q) - a) / b),
    isf=lambda q, a, b: np.sinh((-sc.ndtri(q) - a) / b),
)
family(
    stats.skewnorm,
    valid=np.isfinite,
    logpdf=lambda x, a: LOG_2 - x * x / 2 - LOG_2PI / 2 + sc.log_ndtr(a * x),
)
family(
    stats.hypsecant,
    symmetric=True,
    logpdf=lambda x: LOG_2 - math.log(math.pi) - np.abs(x) - np.log1p(np.exp(-2 * np.abs(x))),
    cdf=lambda x: 2.0 / math.pi * np.arctan(np.exp(x)),
    ppf=lambda q: np.log(np.tan(math.pi / 2.0 * q)),
)
family(
    stats.moyal,
    logpdf=lambda x: -0.5 * (x + np.exp(-x)) - LOG_2PI / 2,
    cdf=lambda x: sc.erfc(np.exp(-0.5 * x) / math.sqrt(2)),
    sf=lambda x: sc.erf(np.exp(-0.5 * x) / math.sqrt(2)),
    ppf=lambda q: -np.log(2 * sc.erfcinv(q) ** 2),
    isf=lambda q: -np.log(2 * sc.erfinv(q) ** 2),
)
family(
    stats.genlogistic,
    finite=True,
    valid=POSITIVE,
    logpdf=lambda x, c: np.log(c) - x + (c + 1) * sc.log_expit(x),
    logcdf=lambda x, c: c * sc.log_expit(x),
    sf=lambda x, c: -np.expm1(c * sc.log_expit(x)),
    ppf=lambda q, c: -np.log(np.expm1(-np.log(q) / c)),
    isf=lambda q, c: -np.log(np.expm1(-np.log1p(-q) / c)),
)
family(
    stats.loggamma,
    valid=POSITIVE,
    logpdf=lambda x, c: c * x - np.exp(x) - sc.gammaln(c),
    cdf=lambda x, c: sc.gammainc(c, np.exp(x)),
    sf=lambda x, c: sc.gammaincc(c, np.exp(x)),
    ppf=lambda q, c: np.log(sc.gammaincinv(c, q)),
    isf=lambda q, c: np.log(sc.gammainccinv(c, q)),
)


def _laplace_tail(x: Any, kappa: Any) -> Any:
    """The probability beyond |x| on its side."""
    rate = np.where(x >= 0, kappa, 1 / kappa)
    return np.exp(-np.abs(x) * rate) / rate / (kappa + 1 / kappa)


family(
    stats.laplace_asymmetric,
    valid=POSITIVE,
    logpdf=lambda x, kappa: (
        -np.abs(x) * np.where(x >= 0, kappa, 1 / kappa) - np.log(kappa + 1 / kappa)
    ),
    cdf=lambda x, kappa: np.where(x >= 0, 1 - _laplace_tail(x, kappa), _laplace_tail(x, kappa)),
    sf=lambda x, kappa: np.where(x >= 0, _laplace_tail(x, kappa), 1 - _laplace_tail(x, kappa)),
)


family(
    stats.cosine,
    bounds=lambda: (-math.pi, math.pi),
    inside=lambda: 0.0,
    pdf=lambda x: 1.0 / (2 * math.pi) * (1 + np.cos(x)),
)
