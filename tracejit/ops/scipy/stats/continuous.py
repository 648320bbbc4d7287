"""scipy.stats: continuous distributions, by formulas of their standard forms.

`logpdf`, or `pdf` where that has a shorter formula, gives both; cdf and sf give their logarithms
unless these have formulas of their own; ppf and isf follow from each other by symmetry.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sc
from scipy import stats

from tracejit.ops.scipy.stats.families import Family, Formula

LOG_2 = math.log(2)
LOG_2PI = math.log(2 * math.pi)
HALF_LINE: Any = lambda *shapes: (0.0, np.inf)  # noqa: E731
UNIT: Any = lambda *shapes: (0.0, 1.0)  # noqa: E731
POSITIVE: Any = lambda shape: shape > 0  # noqa: E731


def _exp_of(formula: Formula) -> Formula:
    return lambda *args: np.exp(formula(*args))


def _log_of(formula: Formula) -> Formula:
    return lambda *args: np.log(formula(*args))


def _rest_of(formula: Formula) -> Formula:
    return lambda *args: 1.0 - formula(*args)


def _mirrored(formula: Formula) -> Formula:
    return lambda x, *shapes: formula(-x, *shapes)


def _complete(formulas: dict[str, Formula], symmetric: bool) -> dict[str, Formula]:
    """The formulas, with those that follow."""
    made = dict(formulas)
    if symmetric:
        if "cdf" in made:
            made.setdefault("sf", _mirrored(made["cdf"]))
        if "logcdf" in made:
            made.setdefault("logsf", _mirrored(made["logcdf"]))
        if "ppf" in made:
            ppf = made["ppf"]
            made.setdefault("isf", lambda q, *shapes: -ppf(q, *shapes))
    if "logpdf" in made:
        made.setdefault("pdf", _exp_of(made["logpdf"]))
    else:
        made["logpdf"] = _log_of(made["pdf"])
    for name, other in (("cdf", "sf"), ("sf", "cdf")):
        if f"log{name}" in made:
            made.setdefault(name, _exp_of(made[f"log{name}"]))
        if other in made:
            made.setdefault(name, _rest_of(made[other]))
        if name in made:
            made.setdefault(f"log{name}", _log_of(made[name]))
    if "var" in made:
        var = made["var"]
        made.setdefault("std", lambda *shapes: np.sqrt(var(*shapes)))
    return made


def family(distribution: Any, symmetric: bool = False, **fields: Any) -> Family:
    """Declare a distribution by the formulas of its standard form, and those that follow."""
    own = {key: fields.pop(key) for key in ("bounds", "inside", "valid", "finite") if key in fields}
    declared = Family(distribution, _complete(fields, symmetric), **own)
    declared.declare()
    return declared


family(
    stats.norm,
    symmetric=True,
    logpdf=lambda x: -(x * x) / 2 - LOG_2PI / 2,
    cdf=sc.ndtr,
    logcdf=sc.log_ndtr,
    ppf=sc.ndtri,
    mean=lambda: 0.0,
    var=lambda: 1.0,
    entropy=lambda: 0.5 * (LOG_2PI + 1),
)
family(
    stats.halfnorm,
    bounds=HALF_LINE,
    inside=lambda: 1.0,
    logpdf=lambda x: 0.5 * math.log(2 / math.pi) - x * x / 2,
    cdf=lambda x: sc.erf(x / math.sqrt(2)),
    sf=lambda x: 2 * sc.ndtr(-x),
)
family(
    stats.beta,
    bounds=UNIT,
    inside=lambda a, b: 0.5,
    valid=lambda a, b: (a > 0) & (b > 0),
    logpdf=lambda x, a, b: sc.xlog1py(b - 1, -x) + sc.xlogy(a - 1, x) - sc.betaln(a, b),
    cdf=lambda x, a, b: sc.betainc(a, b, x),
    sf=lambda x, a, b: sc.betainc(b, a, 1.0 - x),
    ppf=lambda q, a, b: sc.betaincinv(a, b, q),
    isf=lambda q, a, b: 1.0 - sc.betaincinv(b, a, q),
    mean=lambda a, b: a / (a + b),
    var=lambda a, b: a * b / ((a + b) * (a + b) * (a + b + 1)),
)
family(
    stats.gamma,
    bounds=HALF_LINE,
    inside=lambda a: 1.0,
    valid=POSITIVE,
    logpdf=lambda x, a: sc.xlogy(a - 1, x) - x - sc.gammaln(a),
    cdf=lambda x, a: sc.gammainc(a, x),
    sf=lambda x, a: sc.gammaincc(a, x),
    ppf=lambda q, a: sc.gammaincinv(a, q),
    isf=lambda q, a: sc.gammainccinv(a, q),
    mean=lambda a: a,
    var=lambda a: a,
    entropy=lambda a: a + sc.gammaln(a) + (1 - a) * sc.psi(a),
)
family(
    stats.chi2,
    bounds=HALF_LINE,
    inside=lambda df: 1.0,
    valid=POSITIVE,
    logpdf=lambda x, df: sc.xlogy(df / 2 - 1, x) - x / 2 - sc.gammaln(df / 2) - (LOG_2 * df) / 2,
    cdf=lambda x, df: sc.gammainc(df / 2, x / 2),
    sf=lambda x, df: sc.gammaincc(df / 2, x / 2),
    ppf=lambda q, df: 2 * sc.gammaincinv(df / 2, q),
    isf=lambda q, df: 2 * sc.gammainccinv(df / 2, q),
    mean=lambda df: df,
    var=lambda df: 2 * df,
)


def _t_logpdf(x: Any, df: Any) -> Any:
    scale = sc.gammaln((df + 1) / 2) - sc.gammaln(df / 2) - 0.5 * np.log(df * math.pi)
    return scale - (df + 1) / 2 * np.log1p(x * x / df)


family(
    stats.t,
    symmetric=True,
    valid=POSITIVE,
    logpdf=_t_logpdf,
    cdf=lambda x, df: sc.stdtr(df, x),
    ppf=lambda q, df: sc.stdtrit(df, q),
)
family(
    stats.expon,
    bounds=HALF_LINE,
    inside=lambda: 1.0,
    logpdf=lambda x: -x,
    cdf=lambda x: -np.expm1(-x),
    logsf=lambda x: -x,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
    mean=lambda: 1.0,
    var=lambda: 1.0,
    entropy=lambda: 1.0,
)


def _laplace_ppf(q: Any) -> Any:
    upper = q > 0.5
    return np.where(upper, -np.log(2 * (1 - q)), np.log(2 * q))


family(
    stats.laplace,
    symmetric=True,
    logpdf=lambda x: -np.abs(x) - LOG_2,
    cdf=lambda x: np.where(x > 0, 1.0 - 0.5 * np.exp(-np.abs(x)), 0.5 * np.exp(-np.abs(x))),
    ppf=_laplace_ppf,
    mean=lambda: 0.0,
    var=lambda: 2.0,
    entropy=lambda: LOG_2 + 1,
)
family(
    stats.logistic,
    symmetric=True,
    logpdf=lambda x: -np.abs(x) - 2.0 * np.log1p(np.exp(-np.abs(x))),
    cdf=sc.expit,
    logcdf=sc.log_expit,
    ppf=sc.logit,
    mean=lambda: 0.0,
    var=lambda: math.pi**2 / 3.0,
    entropy=lambda: 2.0,
)
family(
    stats.cauchy,
    symmetric=True,
    pdf=lambda x: 1.0 / math.pi / (1.0 + x * x),
    logpdf=lambda x: -math.log(math.pi) - np.log1p(x * x),
    cdf=lambda x: np.arctan2(1.0, -x) / math.pi,
    ppf=lambda q: np.tan(math.pi * q - math.pi / 2.0),
    entropy=lambda: math.log(4 * math.pi),
)
family(
    stats.uniform,
    bounds=UNIT,
    pdf=lambda x: np.where(np.isnan(x), np.nan, 1.0),
    logpdf=lambda x: np.where(np.isnan(x), np.nan, 0.0),
    cdf=lambda x: x,
    ppf=lambda q: q,
    isf=lambda q: 1.0 - q,
    mean=lambda: 0.5,
    var=lambda: 1.0 / 12,
    entropy=lambda: 0.0,
)


def _lognorm_logpdf(x: Any, s: Any) -> Any:
    """Zero has no density."""
    at_zero = x == 0
    x = np.where(at_zero, 1.0, x)
    log = np.log(x)
    y = -(log * log) / (2 * s * s) - np.log(s * x * math.sqrt(2 * math.pi))
    return np.where(at_zero, -np.inf, y)


family(
    stats.lognorm,
    bounds=HALF_LINE,
    inside=lambda s: 1.0,
    valid=POSITIVE,
    logpdf=_lognorm_logpdf,
    cdf=lambda x, s: sc.ndtr(np.log(x) / s),
    sf=lambda x, s: sc.ndtr(-np.log(x) / s),
    logcdf=lambda x, s: sc.log_ndtr(np.log(x) / s),
    logsf=lambda x, s: sc.log_ndtr(-np.log(x) / s),
    ppf=lambda q, s: np.exp(s * sc.ndtri(q)),
    isf=lambda q, s: np.exp(s * -sc.ndtri(q)),
    mean=lambda s: np.exp(s * s / 2),
    var=lambda s: np.exp(s * s) * np.expm1(s * s),
    entropy=lambda s: 0.5 * (1 + LOG_2PI + 2 * np.log(s)),
)
family(
    stats.pareto,
    bounds=lambda b: (1.0, np.inf),
    inside=lambda b: 2.0,
    valid=POSITIVE,
    logpdf=lambda x, b: np.log(b) - (b + 1) * np.log(x),
    cdf=lambda x, b: 1 - x ** (-b),
    sf=lambda x, b: x ** (-b),
    ppf=lambda q, b: (1 - q) ** (-1.0 / b),
    isf=lambda q, b: q ** (-1.0 / b),
)
family(
    stats.gumbel_r,
    logpdf=lambda x: -x - np.exp(-x),
    logcdf=lambda x: -np.exp(-x),
    sf=lambda x: -np.expm1(-np.exp(-x)),
    ppf=lambda q: -np.log(-np.log(q)),
    isf=lambda q: -np.log(-np.log1p(-q)),
)
family(
    stats.gumbel_l,
    logpdf=lambda x: x - np.exp(x),
    cdf=lambda x: -np.expm1(-np.exp(x)),
    logsf=lambda x: -np.exp(x),
    ppf=lambda q: np.log(-np.log1p(-q)),
    isf=lambda q: np.log(-np.log(q)),
)
family(
    stats.weibull_min,
    bounds=HALF_LINE,
    inside=lambda c: 1.0,
    valid=POSITIVE,
    logpdf=lambda x, c: np.log(c) + sc.xlogy(c - 1, x) - x**c,
    cdf=lambda x, c: -np.expm1(-(x**c)),
    logsf=lambda x, c: -(x**c),
    ppf=lambda q, c: (-np.log1p(-q)) ** (1.0 / c),
    isf=lambda q, c: (-np.log(q)) ** (1 / c),
)


def _modulus(x: Any, power: Any) -> Any:
    """|x|**power, of slope zero at zero."""
    at_zero = x == 0
    return np.where(at_zero, 0.0, np.abs(np.where(at_zero, 1.0, x)) ** power)


def _gennorm_cdf(x: Any, beta: Any) -> Any:
    half = 0.5 * np.sign(x)
    return (0.5 + half) - half * sc.gammaincc(1.0 / beta, _modulus(x, beta))


family(
    stats.gennorm,
    symmetric=True,
    valid=POSITIVE,
    logpdf=lambda x, beta: np.log(0.5 * beta) - sc.gammaln(1.0 / beta) - _modulus(x, beta),
    cdf=_gennorm_cdf,
)


def _log_difference(large: Any, small: Any) -> Any:
    """log(exp(large) - exp(small))."""
    return large + np.log(-np.expm1(small - large))


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of what the normal distribution has between a and b, by the tail that is
    exact."""
    right = a > 0
    first, last = np.where(right, -b, a), np.where(right, -a, b)
    tail = last <= 0
    in_tail = _log_difference(
        sc.log_ndtr(np.where(tail, last, -1.0)), sc.log_ndtr(np.where(tail, first, -2.0))
    )
    around = np.log1p(-sc.ndtr(np.where(tail, -1.0, a)) - sc.ndtr(np.where(tail, -1.0, -b)))
    return np.where(tail, in_tail, around)


def _truncnorm_logcdf(x: Any, a: Any, b: Any) -> Any:
    return _log_mass(a, x) - _log_mass(a, b)


def _truncnorm_logsf(x: Any, a: Any, b: Any) -> Any:
    return _log_mass(x, b) - _log_mass(a, b)


family(
    stats.truncnorm,
    bounds=lambda a, b: (a, b),
    inside=lambda a, b: _between(a, b),
    valid=lambda a, b: a < b,
    logpdf=lambda x, a, b: -(x * x) / 2 - LOG_2PI / 2 - _log_mass(a, b),
    logcdf=_truncnorm_logcdf,
    logsf=_truncnorm_logsf,
)


def _between(a: Any, b: Any) -> Any:
    """A point between two, each of which may be infinite."""
    low, high = np.maximum(a, -1e3), np.minimum(b, 1e3)
    return 0.5 * (low + high)


family(
    stats.vonmises,
    valid=lambda kappa: kappa >= 0,
    pdf=lambda x, kappa: np.exp(kappa * sc.cosm1(x)) / (2 * math.pi * sc.i0e(kappa)),
    logpdf=lambda x, kappa: kappa * sc.cosm1(x) - LOG_2PI - np.log(sc.i0e(kappa)),
)
family(
    stats.wrapcauchy,
    bounds=lambda c: (0.0, 2 * math.pi),
    inside=lambda c: 1.0,
    valid=lambda c: (c > 0) & (c < 1),
    pdf=lambda x, c: (1.0 - c * c) / (2 * math.pi * (1 + c * c - 2 * c * np.cos(x))),
)
