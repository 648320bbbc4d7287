"""Elementary functions: entropies, logistic functions, robust losses, powers and degrees.

A derivative with respect to an argument is finite if the function is constant in it, such as x
log(y) in y at x = 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.base.op import composite
from tracejit.ops.elementwise.exponential import LN2, LN10
from tracejit.ops.scipy.base.ufuncs import number, special

DEGREE = math.pi / 180.0


def _over(x: Any, y: Any) -> Any:
    """x / y, which is 0 where both are 0."""
    return x / np.where((x == 0) & (y == 0), 1.0, y)


# Entropies

xlogy = special(sc.xlogy, deriv=(lambda z, x, y: np.log(y), lambda z, x, y: _over(x, y)), cost=20)
xlog1py = special(
    sc.xlog1py, deriv=(lambda z, x, y: np.log1p(y), lambda z, x, y: _over(x, 1.0 + y)), cost=20
)
entr = special(sc.entr, deriv=lambda y, x: -np.log(x) - 1.0, cost=20)


def _log_ratio(x: Any, y: Any) -> Any:
    """log(x / y)."""
    zero = x == 0
    return np.where(zero, -np.inf, sc.rel_entr(x, y) / np.where(zero, 1.0, x))


rel_entr = special(
    sc.rel_entr,
    deriv=(lambda z, x, y: _log_ratio(x, y) + 1.0, lambda z, x, y: -_over(x, y)),
    cost=20,
)
kl_div = special(
    sc.kl_div,
    deriv=(lambda z, x, y: _log_ratio(x, y), lambda z, x, y: 1.0 - _over(x, y)),
    cost=20,
)


# Logistic functions

expit = special(
    sc.expit, deriv=lambda y, x: y * sc.expit(-x), cost=20, sign="nonnegative", bound=1.0
)
log_expit = special(sc.log_expit, deriv=lambda y, x: sc.expit(-x), cost=40)
logit = special(sc.logit, vjp=(lambda g, y, x: g / (x * (1.0 - x)),), cost=20)

if hasattr(sc, "softplus"):

    @composite(sc.softplus)
    def softplus(x: Any) -> Any:
        """log(1 + exp(x))."""
        return np.logaddexp(0, x)


# Robust losses


def _huber_by_delta(z: Any, delta: Any, r: Any) -> Any:
    return np.maximum(np.absolute(r) - delta, 0.0)


def _huber_by_r(z: Any, delta: Any, r: Any) -> Any:
    return np.where(np.absolute(r) <= delta, r, delta * np.sign(r))


def _length(delta: Any, r: Any) -> Any:
    """hypot(delta, r), infinite in place of zero."""
    length = np.hypot(delta, r)
    return np.where(length == 0, np.inf, length)


def _pseudo_huber_by_delta(z: Any, delta: Any, r: Any) -> Any:
    """(length - delta) ** 2 / length, the difference not cancelling."""
    length = _length(delta, r)
    return (r * r / (length + delta)) ** 2 / length


huber = special(sc.huber, deriv=(_huber_by_delta, _huber_by_r), cost=10)
pseudo_huber = special(
    sc.pseudo_huber,
    deriv=(_pseudo_huber_by_delta, lambda z, delta, r: delta * r / _length(delta, r)),
    cost=20,
)


# Powers, exponentials and logarithms


def _exprel_slope(x: Any) -> Any:
    """exprel(x) is 1F1(1, 2, x): https://dlmf.nist.gov/13.6.E2, https://dlmf.nist.gov/13.3.E15."""
    return 0.5 * sc.hyp1f1(number(2.0, x), number(3.0, x), x)


def _boxcox_by_lambda(log: Any, lmbda: Any) -> Any:
    """The Box-Cox transform is log x exprel(lambda log x)."""
    return log * log * _exprel_slope(lmbda * log)


def _powm1_by_x(z: Any, x: Any, y: Any) -> Any:
    return y * np.power(np.where((x == 0) & (y == 0), 1.0, x), y - 1.0)


cbrt = special(sc.cbrt, vjp=(lambda g, y, x: g / (3.0 * y * y),), cost=20)
exp2 = special(sc.exp2, deriv=lambda y, x: LN2 * y, cost=20)
exp10 = special(sc.exp10, deriv=lambda y, x: LN10 * y, cost=20)
expm1 = special(sc.expm1, deriv=lambda y, x: np.exp(x), cost=20)
log1p = special(sc.log1p, vjp=(lambda g, y, x: g / (1.0 + x),), cost=20)
exprel = special(sc.exprel, deriv=lambda y, x: _exprel_slope(x), cost=20)
powm1 = special(sc.powm1, deriv=(_powm1_by_x, lambda z, x, y: sc.xlogy(z + 1.0, x)), cost=40)
boxcox = special(
    sc.boxcox,
    deriv=(
        lambda y, x, lmbda: np.power(x, lmbda - 1.0),
        lambda y, x, lmbda: _boxcox_by_lambda(np.log(x), lmbda),
    ),
    cost=40,
)
boxcox1p = special(
    sc.boxcox1p,
    deriv=(
        lambda y, x, lmbda: np.exp((lmbda - 1.0) * np.log1p(x)),
        lambda y, x, lmbda: _boxcox_by_lambda(np.log1p(x), lmbda),
    ),
    cost=40,
)
inv_boxcox = special(
    sc.inv_boxcox,
    deriv=(
        lambda x, y, lmbda: np.power(x, 1.0 - lmbda),
        lambda x, y, lmbda: -np.power(x, 1.0 - lmbda) * _boxcox_by_lambda(np.log(x), lmbda),
    ),
    cost=40,
)
inv_boxcox1p = special(
    sc.inv_boxcox1p,
    deriv=(
        lambda x, y, lmbda: np.exp((1.0 - lmbda) * np.log1p(x)),
        lambda x, y, lmbda: (
            -np.exp((1.0 - lmbda) * np.log1p(x)) * _boxcox_by_lambda(np.log1p(x), lmbda)
        ),
    ),
    cost=40,
)


# Angles, and rounding

cosm1 = special(sc.cosm1, deriv=lambda y, x: -np.sin(x), cost=20)
sindg = special(sc.sindg, deriv=lambda y, x: DEGREE * sc.cosdg(x), cost=20)
cosdg = special(sc.cosdg, deriv=lambda y, x: -DEGREE * sc.sindg(x), cost=20)
tandg = special(sc.tandg, deriv=lambda y, x: DEGREE * (1.0 + y * y), cost=20)
cotdg = special(sc.cotdg, deriv=lambda y, x: -DEGREE * (1.0 + y * y), cost=20)
radian = special(
    sc.radian,
    vjp=(
        lambda g, y, d, m, s: DEGREE * g,
        lambda g, y, d, m, s: DEGREE / 60.0 * g,
        lambda g, y, d, m, s: DEGREE / 3600.0 * g,
    ),
    cost=5,
)
round = special(sc.round, vjp=(), cost=5)
