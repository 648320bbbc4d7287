"""scipy.stats: distributions of vectors.

A covariance counts with its lower triangle, as SciPy reads it, and has to be positive definite;
with `allow_singular` a density is nan where an eigenvalue is negative, and its gradient is that of
covariances of the same rank. What SciPy checks of the numbers of a Dirichlet variable is not
checked here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sc
from scipy import stats

from tracejit.ops.base.creation import as_array, is_recorded
from tracejit.ops.base.op import answer
from tracejit.ops.scipy.stats.families import as_real, settled_form

LOG_2PI = math.log(2 * math.pi)


def _normal_parameters(mean: Any, cov: Any) -> tuple[Any, Any, int]:
    """Mean, covariance matrix, and number of dimensions, as SciPy reads them."""
    if not is_recorded(cov) and isinstance(cov, stats.Covariance):
        raise TypeError("a Covariance object is not supported")
    cov = as_array(cov)
    mean = None if mean is None else as_array(mean)
    size = np.size(mean) if mean is not None else np.shape(cov)[0] if np.ndim(cov) else 1
    if np.ndim(cov) == 0:
        cov = cov * np.eye(size)
    elif np.ndim(cov) == 1:
        cov = np.diag(cov) if np.size(cov) > 1 else np.reshape(cov, (1, 1))
    mean = np.zeros(size) if mean is None else np.reshape(mean, (size,))
    if np.shape(cov) != (size, size):
        raise ValueError(
            f"Array 'mean' is a vector of length {size}, 'cov' has the shape {np.shape(cov)}."
        )
    return mean, cov, size


def _factor(cov: Any) -> tuple[Any, Any]:
    """The Cholesky factor, and the logarithm of the determinant."""
    factor = np.linalg.cholesky(cov)
    return factor, 2.0 * np.sum(np.log(np.diagonal(factor)))


def _regular(cov: Any, rows: Any) -> Any:
    """The logarithms of densities at deviations from the mean."""
    factor, log_det = _factor(cov)
    distances = np.sum(np.square(np.linalg.solve(factor, rows.T)), axis=0)
    return -0.5 * (np.shape(cov)[0] * LOG_2PI + log_det + distances)


def _singular(cov: Any, rows: Any) -> Any:
    """The same on the space that the covariance spans, whose other eigenvalues are rounding by
    SciPy's measure: -inf elsewhere."""
    values, vectors = np.linalg.eigh(cov)
    limit = 1e6 * np.finfo(values.dtype).eps
    tolerance = limit * np.max(np.abs(values))
    spanned = values > tolerance
    log_det = np.sum(np.log(np.where(spanned, values, 1.0)))
    inverse = np.linalg.pinv(cov, limit, hermitian=True)
    distances = np.sum((rows @ inverse) * rows, axis=-1)
    density = -0.5 * (np.sum(spanned) * LOG_2PI + log_det + distances)
    outside = np.sum(np.square(rows @ vectors * ~spanned), axis=-1) >= (1e3 * tolerance) ** 2
    density = np.where(outside & ~np.all(spanned), -np.inf, density)
    return np.where(np.min(values) < -tolerance, np.nan, density)


def normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """The logarithm of the density of a normal vector."""
    mean, cov, size = _normal_parameters(mean, cov)
    x = as_real(x)
    if np.ndim(x) == 0:
        x = np.reshape(x, (1, 1))
    elif np.ndim(x) == 1:
        x = np.reshape(x, (-1, 1) if size == 1 else (1, -1))
    rows = np.reshape(x - mean, (-1, size))
    result = (_singular if allow_singular else _regular)(cov, rows)
    return settled_form(np.squeeze(np.reshape(result, np.shape(x)[:-1])))


def normal_pdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """The density of a normal vector."""
    return np.exp(normal_logpdf(x, mean, cov, allow_singular))


def normal_entropy(mean: Any = None, cov: Any = 1) -> Any:
    """The differential entropy of a normal vector."""
    _, cov, size = _normal_parameters(mean, cov)
    return 0.5 * (size * (LOG_2PI + 1.0) + _factor(cov)[1])


answer(stats.multivariate_normal.logpdf, normal_logpdf)
answer(stats.multivariate_normal.pdf, normal_pdf)
answer(stats.multivariate_normal.entropy, normal_entropy)


def _log_beta(alpha: Any) -> Any:
    return np.sum(sc.gammaln(alpha)) - sc.gammaln(np.sum(alpha))


def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density of probabilities; the last may be left out."""
    x, alpha = as_real(x), as_array(alpha)
    if np.ndim(alpha) != 1:
        raise ValueError(f"Parameter vector 'a' must be one dimensional, not {np.shape(alpha)}.")
    count = np.shape(alpha)[0]
    if np.shape(x)[0] == count - 1:
        x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
    if np.shape(x)[0] != count:
        raise ValueError(f"Vector 'x' must have {count} entries, or one less.")
    terms = sc.xlogy(np.reshape(alpha - 1, (count,) + (1,) * (np.ndim(x) - 1)), x)
    return settled_form(np.squeeze(np.sum(terms, axis=0) - _log_beta(alpha)))


def dirichlet_pdf(x: Any, alpha: Any) -> Any:
    """The density of probabilities."""
    return np.exp(dirichlet_logpdf(x, alpha))


answer(stats.dirichlet.logpdf, dirichlet_logpdf)
answer(stats.dirichlet.pdf, dirichlet_pdf)


def multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of counts; the last of `p` is what the others leave."""
    x, p = as_real(x), as_real(p)
    p = np.concatenate([p[..., :-1], 1.0 - np.sum(p[..., :-1], axis=-1, keepdims=True)], axis=-1)
    terms = sc.xlogy(x, p) - sc.gammaln(x + 1)
    y = sc.gammaln(np.asarray(n) + 1.0) + np.sum(terms, axis=-1)
    wrong = np.any((x < 0) | (np.floor(x) != x), axis=-1) | (np.sum(x, axis=-1) != n)
    invalid = np.any((p < 0) | (p > 1), axis=-1)
    return settled_form(np.where(invalid, np.nan, np.where(wrong, -np.inf, y)))


def multinomial_pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of counts."""
    return np.exp(multinomial_logpmf(x, n, p))


answer(stats.multinomial.logpmf, multinomial_logpmf)
answer(stats.multinomial.pmf, multinomial_pmf)
