"""scipy.stats: distributions on integers, differentiated by their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special as sc
from scipy import stats

from tracejit.ops.scipy.stats.families import Discrete, Formula

_COUNTS: Any = lambda *shapes: (0.0, np.inf)  # noqa: E731
_ZERO: Any = lambda *shapes: 0.0  # noqa: E731


def _exp_of(formula: Formula) -> Formula:
    return lambda *args: np.exp(formula(*args))


def _family(distribution: Any, **fields: Any) -> Discrete:
    own = {key: fields.pop(key) for key in ("bounds", "inside", "valid")}
    fields["pmf"] = _exp_of(fields["logpmf"])
    family = Discrete(distribution, fields, **own)
    family.declare()
    return family


_family(
    stats.poisson,
    bounds=_COUNTS,
    inside=_ZERO,
    valid=lambda mu: mu >= 0,
    logpmf=lambda k, mu: sc.xlogy(k, mu) - sc.gammaln(k + 1) - mu,
    cdf=lambda k, mu: sc.gammaincc(k + 1, mu),
    sf=lambda k, mu: sc.gammainc(k + 1, mu),
    mean=lambda mu: mu,
    var=lambda mu: mu,
)


def _binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    ways = sc.gammaln(n + 1) - (sc.gammaln(k + 1) + sc.gammaln(n - k + 1))
    return ways + sc.xlogy(k, p) + sc.xlog1py(n - k, -p)


def _probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


_family(
    stats.binom,
    bounds=lambda n, p: (0.0, n),
    inside=lambda n, p: 0.0,
    valid=lambda n, p: (n >= 0) & (np.floor(n) == n) & _probability(p),
    logpmf=_binom_logpmf,
    cdf=lambda k, n, p: sc.betainc(n - k, k + 1, 1 - p),
    sf=lambda k, n, p: sc.betainc(k + 1, n - k, p),
    mean=lambda n, p: n * p,
    var=lambda n, p: n * p * (1 - p),
)
_family(
    stats.bernoulli,
    bounds=lambda p: (0.0, 1.0),
    inside=_ZERO,
    valid=_probability,
    logpmf=lambda k, p: sc.xlogy(k, p) + sc.xlog1py(1 - k, -p),
    cdf=lambda k, p: 1 - p + 0 * k,
    sf=lambda k, p: p + 0 * k,
    mean=lambda p: p,
    var=lambda p: p * (1 - p),
)


def _nbinom_logpmf(k: Any, n: Any, p: Any) -> Any:
    ways = sc.gammaln(n + k) - sc.gammaln(k + 1) - sc.gammaln(n)
    return ways + n * np.log(p) + sc.xlog1py(k, -p)


_family(
    stats.nbinom,
    bounds=_COUNTS,
    inside=_ZERO,
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    logpmf=_nbinom_logpmf,
    cdf=lambda k, n, p: sc.betainc(n, k + 1, p),
    sf=lambda k, n, p: sc.betaincc(n, k + 1, p),
)
_family(
    stats.geom,
    bounds=lambda p: (1.0, np.inf),
    inside=lambda p: 1.0,
    valid=lambda p: (p > 0) & (p <= 1),
    logpmf=lambda k, p: sc.xlog1py(k - 1, -p) + np.log(p),
    cdf=lambda k, p: -np.expm1(np.log1p(-p) * k),
    sf=lambda k, p: np.exp(k * np.log1p(-p)),
    logsf=lambda k, p: k * np.log1p(-p),
    mean=lambda p: 1.0 / p,
)


_family(
    stats.randint,
    bounds=lambda low, high: (low, high - 1),
    inside=lambda low, high: low,
    valid=lambda low, high: (high > low) & (np.floor(low) == low) & (np.floor(high) == high),
    logpmf=lambda k, low, high: -np.log(high - low + 0.0 * k),
    cdf=lambda k, low, high: (k - low + 1.0) / (high - low),
    sf=lambda k, low, high: 1.0 - (k - low + 1.0) / (high - low),
    mean=lambda low, high: (high + low - 1.0) / 2,
)
_family(
    stats.logser,
    bounds=lambda p: (1.0, np.inf),
    inside=lambda p: 1.0,
    valid=lambda p: (p > 0) & (p < 1),
    logpmf=lambda k, p: k * np.log(p) - np.log(k) - np.log(-np.log1p(-p)),
)
_family(
    stats.planck,
    bounds=_COUNTS,
    inside=_ZERO,
    valid=lambda rate: rate > 0,
    logpmf=lambda k, rate: np.log(-np.expm1(-rate)) - rate * k,
    cdf=lambda k, rate: -np.expm1(-rate * (k + 1)),
    sf=lambda k, rate: np.exp(-rate * (k + 1)),
    logsf=lambda k, rate: -rate * (k + 1),
)
_family(
    stats.dlaplace,
    bounds=lambda a: (-np.inf, np.inf),
    inside=_ZERO,
    valid=lambda a: a > 0,
    logpmf=lambda k, a: np.log(np.tanh(a / 2.0)) - a * np.abs(k),
)


def _betabinom_logpmf(k: Any, n: Any, a: Any, b: Any) -> Any:
    ways = -np.log(n + 1) - sc.betaln(n - k + 1, k + 1)
    return ways + sc.betaln(k + a, n - k + b) - sc.betaln(a, b)


_family(
    stats.betabinom,
    bounds=lambda n, a, b: (0.0, n),
    inside=lambda n, a, b: 0.0,
    valid=lambda n, a, b: (n >= 0) & (np.floor(n) == n) & (a > 0) & (b > 0),
    logpmf=_betabinom_logpmf,
)
