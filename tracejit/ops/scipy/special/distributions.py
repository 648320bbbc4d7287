"""Distribution functions, their complements and their inverses.

The derivative of a distribution function is its density. No derivative is known with respect to
shape parameters, except if they only scale, or SciPy rounds them down. An inverse has the
derivative of the function it inverts, turned over.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.base.infer import ufunc_type
from tracejit.ops.base.op import Op, defop
from tracejit.ops.scipy.base.ufuncs import UNKNOWN, special
from tracejit.ops.scipy.special.gamma import beta_density, gamma_density

# Gamma, chi square and Poisson


def _gdtr_slope(a: Any, b: Any, x: Any) -> Any:
    """The derivative of gdtr by a * x."""
    return gamma_density(b, a * x)


gdtr = special(
    sc.gdtr,
    deriv=(
        lambda y, a, b, x: x * _gdtr_slope(a, b, x),
        UNKNOWN,
        lambda y, a, b, x: a * _gdtr_slope(a, b, x),
    ),
)
gdtrc = special(
    sc.gdtrc,
    deriv=(
        lambda y, a, b, x: -x * _gdtr_slope(a, b, x),
        UNKNOWN,
        lambda y, a, b, x: -a * _gdtr_slope(a, b, x),
    ),
)
gdtrix = special(
    sc.gdtrix,
    deriv=(
        lambda x, a, b, p: -x / a,
        UNKNOWN,
        lambda x, a, b, p: 1.0 / (a * _gdtr_slope(a, b, x)),
    ),
)
gdtria = special(
    sc.gdtria,
    deriv=(
        lambda a, p, b, x: 1.0 / (x * _gdtr_slope(a, b, x)),
        UNKNOWN,
        lambda a, p, b, x: -a / x,
    ),
)
gdtrib = special(sc.gdtrib)


def _chi_square_density(v: Any, x: Any) -> Any:
    return 0.5 * gamma_density(0.5 * v, 0.5 * x)


chdtr = special(sc.chdtr, deriv=(UNKNOWN, lambda y, v, x: _chi_square_density(v, x)))
chdtrc = special(sc.chdtrc, deriv=(UNKNOWN, lambda y, v, x: -_chi_square_density(v, x)))
chdtri = special(sc.chdtri, deriv=(UNKNOWN, lambda x, v, p: -1.0 / _chi_square_density(v, x)))
chdtriv = special(sc.chdtriv)


def _poisson_mass(k: Any, m: Any) -> Any:
    return gamma_density(np.floor(k) + 1.0, m)


pdtr = special(sc.pdtr, deriv=(None, lambda y, k, m: -_poisson_mass(k, m)))
pdtrc = special(sc.pdtrc, deriv=(None, lambda y, k, m: _poisson_mass(k, m)))
pdtri = special(sc.pdtri, deriv=(None, lambda m, k, y: -1.0 / _poisson_mass(k, m)))
pdtrik = special(sc.pdtrik)


# Binomial, negative binomial and beta


def _binomial_slope(k: Any, n: Any, p: Any) -> Any:
    """The derivative of bdtrc by p; none where k < 0 or k = n."""
    k = np.floor(k)
    inside = (k >= 0) & (k < n)
    low, high = np.where(inside, k + 1.0, 1.0), np.where(inside, n - k, 1.0)
    return np.where(inside, beta_density(low, high, p), 0.0)


bdtr = special(sc.bdtr, deriv=(None, None, lambda y, k, n, p: -_binomial_slope(k, n, p)))
bdtrc = special(sc.bdtrc, deriv=(None, None, lambda y, k, n, p: _binomial_slope(k, n, p)))
bdtri = special(sc.bdtri, deriv=(None, None, lambda p, k, n, y: -1.0 / _binomial_slope(k, n, p)))
bdtrik = special(sc.bdtrik)
bdtrin = special(sc.bdtrin)


def _negative_binomial_slope(k: Any, n: Any, p: Any) -> Any:
    return beta_density(np.floor(n), np.floor(k) + 1.0, p)


nbdtr = special(sc.nbdtr, deriv=(None, None, lambda y, k, n, p: _negative_binomial_slope(k, n, p)))
nbdtrc = special(
    sc.nbdtrc, deriv=(None, None, lambda y, k, n, p: -_negative_binomial_slope(k, n, p))
)
nbdtri = special(
    sc.nbdtri, deriv=(None, None, lambda p, k, n, y: 1.0 / _negative_binomial_slope(k, n, p))
)
nbdtrik = special(sc.nbdtrik)
nbdtrin = special(sc.nbdtrin)
btdtria = special(sc.btdtria)
btdtrib = special(sc.btdtrib)


# F and Student's t


def _f_density(n: Any, d: Any, x: Any) -> Any:
    total = d + n * x
    share = n * x / total
    rest = d / total
    log = sc.xlogy(0.5 * n - 1.0, share) + sc.xlogy(0.5 * d - 1.0, rest)
    return np.exp(log - sc.betaln(0.5 * n, 0.5 * d)) * (n / total) * rest


fdtr = special(sc.fdtr, deriv=(UNKNOWN, UNKNOWN, lambda y, n, d, x: _f_density(n, d, x)))
fdtrc = special(sc.fdtrc, deriv=(UNKNOWN, UNKNOWN, lambda y, n, d, x: -_f_density(n, d, x)))
fdtri = special(sc.fdtri, deriv=(UNKNOWN, UNKNOWN, lambda x, n, d, p: 1.0 / _f_density(n, d, x)))
fdtridfd = special(sc.fdtridfd)


def _t_density(df: Any, t: Any) -> Any:
    """(1 + t ** 2 / df) ** (-(df + 1) / 2) / (beta(df / 2, 1 / 2) sqrt(df)), normal in the
    limit."""
    limit = np.isinf(df)
    d = np.where(limit, 1.0, df)
    log = -0.5 * (d + 1.0) * np.log1p(t * t / d) - sc.betaln(0.5 * d, 0.5)
    normal = np.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return np.where(limit, normal, np.exp(log) / np.sqrt(d))


stdtr = special(sc.stdtr, deriv=(UNKNOWN, lambda y, df, t: _t_density(df, t)))
stdtrit = special(sc.stdtrit, deriv=(UNKNOWN, lambda t, df, p: 1.0 / _t_density(df, t)))
stdtridf = special(sc.stdtridf)


# Noncentral chi square: https://en.wikipedia.org/wiki/Noncentral_chi-squared_distribution


def _poisson_mixture(x: Any, df: Any, nc: Any) -> Any:
    """The noncentral density as a series in nc, as far as its derivatives at 0 need it."""
    weight: Any = np.exp(-0.5 * nc)
    total = weight * _chi_square_density(df, x)
    for j in range(1, 5):
        weight = weight * nc / (2.0 * j)
        total = total + weight * _chi_square_density(df + 2.0 * j, x)
    return total


def _noncentral_density(x: Any, df: Any, nc: Any) -> Any:
    central = nc == 0
    shift = np.where(central, 1.0, nc)
    order = 0.5 * df - 1.0
    root = np.sqrt(x * shift)
    far = np.exp(-0.5 * (np.sqrt(x) - np.sqrt(shift)) ** 2 + sc.xlogy(0.5 * order, x / shift))
    return np.where(central, _poisson_mixture(x, df, nc), 0.5 * far * sc.ive(order, root))


chndtr = special(
    sc.chndtr,
    deriv=(
        lambda y, x, df, nc: _noncentral_density(x, df, nc),
        UNKNOWN,
        lambda y, x, df, nc: -_noncentral_density(x, df + 2.0, nc),
    ),
)
chndtrix = special(
    sc.chndtrix,
    deriv=(
        lambda x, p, df, nc: 1.0 / _noncentral_density(x, df, nc),
        UNKNOWN,
        lambda x, p, df, nc: _noncentral_density(x, df + 2.0, nc) / _noncentral_density(x, df, nc),
    ),
)
chndtrinc = special(
    sc.chndtrinc,
    deriv=(
        lambda nc, x, df, p: _noncentral_density(x, df, nc) / _noncentral_density(x, df + 2.0, nc),
        UNKNOWN,
        lambda nc, x, df, p: -1.0 / _noncentral_density(x, df + 2.0, nc),
    ),
)
chndtridf = special(sc.chndtridf)
ncfdtr = special(sc.ncfdtr)
ncfdtri = special(sc.ncfdtri)
ncfdtridfd = special(sc.ncfdtridfd)
ncfdtridfn = special(sc.ncfdtridfn)
ncfdtrinc = special(sc.ncfdtrinc)
nctdtr = special(sc.nctdtr)
nctdtridf = special(sc.nctdtridf)
nctdtrinc = special(sc.nctdtrinc)
nctdtrit = special(sc.nctdtrit)


# Kolmogorov and Smirnov, and Tukey's lambda

BORDER = 0.8


def _kolmogorov_slope(y: Any, x: Any) -> Any:
    """By one theta function below `BORDER`, by the other above: https://dlmf.nist.gov/20.7.E32."""
    low = x < BORDER
    above = np.where(low, 1.0, x)
    terms = [
        (-8.0 if k % 2 else 8.0) * k * k * above * np.exp(-2.0 * k * k * above * above)
        for k in range(1, 7)
    ]
    square = np.where(low & (x > 0), x, 1.0) ** 2
    rate = [(2 * k - 1) ** 2 * math.pi**2 / 8.0 for k in range(1, 5)]
    parts = [(1.0 - 2.0 * r / square) * np.exp(-r / square) for r in rate]
    below = math.sqrt(2.0 * math.pi) / square * sum(parts[1:], parts[0])
    return np.where(x > 0, np.where(low, below, sum(terms[1:], terms[0])), 0.0)


kolmogorov = special(sc.kolmogorov, deriv=_kolmogorov_slope)
kolmogi = special(sc.kolmogi, deriv=lambda x, p: 1.0 / _kolmogorov_slope(p, x))

smirnov_slope: Op = defop(
    name="smirnov_slope",
    infer=ufunc_type(sc._ufuncs._smirnovp),
    batch="elementwise",
    source="scipy.special._ufuncs._smirnovp({0}, {1})",
    library="scipy",
)
smirnov = special(sc.smirnov, deriv=(UNKNOWN, lambda y, n, d: smirnov_slope(n, d)))
smirnovi = special(sc.smirnovi, deriv=(UNKNOWN, lambda d, n, p: 1.0 / smirnov_slope(n, d)))


def _tukey_slope(p: Any, x: Any, lmbda: Any) -> Any:
    """None beyond the support."""
    inside = (p > 0) & (p < 1)
    q = np.where(inside, p, 0.5)
    return np.where(inside, 1.0 / (np.power(q, lmbda - 1.0) + np.power(1.0 - q, lmbda - 1.0)), 0.0)


tklmbda = special(sc.tklmbda, deriv=(_tukey_slope, UNKNOWN))
