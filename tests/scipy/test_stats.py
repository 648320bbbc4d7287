"""tracejit.scipy.stats against scipy.stats: values, and gradients by differences of its values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import tracejit as tj
from tests.by_day import some_by_day
from tests.support.differences import extrapolated
from tracejit.scipy import stats

DENSITIES = ("pdf", "logpdf")
PROBABILITIES = ("cdf", "sf", "logcdf", "logsf")
QUANTILES = ("ppf", "isf")
Q = np.array([0.1, 0.35, 0.8])
CONTINUOUS = {
    "norm": ((), [-1.2, 0.4, 2.0]),
    "halfnorm": ((), [0.2, 0.9, 2.0]),
    "beta": ((2.5, 1.7), [0.2, 0.55, 0.8]),
    "gamma": ((2.3,), [0.4, 1.6, 3.0]),
    "chi2": ((3.4,), [0.4, 1.6, 3.0]),
    "t": ((4.2,), [-1.2, 0.4, 2.0]),
    "expon": ((), [0.2, 0.9, 2.0]),
    "laplace": ((), [-1.2, 0.4, 2.0]),
    "logistic": ((), [-1.2, 0.4, 2.0]),
    "cauchy": ((), [-1.2, 0.4, 2.0]),
    "uniform": ((), [0.2, 0.55, 0.8]),
    "lognorm": ((0.8,), [0.4, 1.6, 3.0]),
    "pareto": ((2.4,), [1.2, 2.0, 3.0]),
    "gumbel_r": ((), [-1.2, 0.4, 2.0]),
    "gumbel_l": ((), [-1.2, 0.4, 1.0]),
    "weibull_min": ((1.7,), [0.4, 1.1, 2.0]),
    "gennorm": ((1.6,), [-1.2, 0.4, 2.0]),
    "truncnorm": ((-1.5, 2.5), [-1.0, 0.4, 2.0]),
    "vonmises": ((1.8,), [-1.2, 0.4, 2.0]),
    "wrapcauchy": ((0.4,), [0.4, 2.0, 5.0]),
    "invgamma": ((2.3,), [0.4, 1.6, 3.0]),
    "f": ((3.4, 5.2), [0.4, 1.6, 3.0]),
    "chi": ((3.4,), [0.4, 1.6, 3.0]),
    "rayleigh": ((), [0.4, 1.6, 3.0]),
    "maxwell": ((), [0.4, 1.6, 3.0]),
    "halfcauchy": ((), [0.4, 1.6, 3.0]),
    "halflogistic": ((), [0.4, 1.6, 3.0]),
    "lomax": ((2.4,), [0.4, 1.6, 3.0]),
    "fisk": ((2.4,), [0.4, 1.6, 3.0]),
    "burr12": ((2.4, 1.3), [0.4, 1.6, 3.0]),
    "invgauss": ((1.4,), [0.4, 1.6, 3.0]),
    "gompertz": ((0.7,), [0.4, 1.1, 2.0]),
    "exponpow": ((1.7,), [0.4, 0.8, 1.2]),
    "nakagami": ((1.7,), [0.4, 1.1, 2.0]),
    "betaprime": ((1.7, 2.4), [0.4, 1.6, 3.0]),
    "levy": ((), [0.4, 1.6, 3.0]),
    "rice": ((1.2,), [0.4, 1.6, 3.0]),
    "invweibull": ((1.7,), [0.4, 1.1, 3.0]),
    "weibull_max": ((1.7,), [-0.4, -1.1, -2.0]),
    "genpareto": ((0.3,), [0.4, 1.1, 3.0]),
    "genextreme": ((0.3,), [-0.4, 0.3, 2.0]),
    "triang": ((0.4,), [0.2, 0.55, 0.8]),
    "arcsine": ((), [0.2, 0.55, 0.8]),
    "powerlaw": ((1.7,), [0.2, 0.55, 0.8]),
    "loguniform": ((0.3, 2.0), [0.4, 0.9, 1.6]),
    "reciprocal": ((0.3, 2.0), [0.4, 0.9, 1.6]),
    "truncexpon": ((1.7,), [0.2, 0.9, 1.6]),
    "semicircular": ((), [-0.5, 0.1, 0.8]),
    "johnsonsb": ((0.4, 1.3), [0.2, 0.55, 0.8]),
    "johnsonsu": ((0.4, 1.3), [-1.2, 0.4, 2.0]),
    "skewnorm": ((1.4,), [-1.2, 0.4, 2.0]),
    "hypsecant": ((), [-1.2, 0.4, 2.0]),
    "moyal": ((), [-1.2, 0.4, 2.0]),
    "genlogistic": ((1.4,), [-1.2, 0.4, 2.0]),
    "loggamma": ((1.4,), [-1.2, 0.4, 1.0]),
    "laplace_asymmetric": ((1.4,), [-1.2, 0.4, 2.0]),
    "cosine": ((), [-1.2, 0.4, 2.0]),
}
DISCRETE = {
    "poisson": ((2.4,), 1),
    "binom": ((7, 0.3), 2),
    "bernoulli": ((0.3,), 1),
    "nbinom": ((3.5, 0.4), 2),
    "geom": ((0.3,), 1),
    "betabinom": ((7, 1.5, 2.5), 2),
    "randint": ((0, 9), 3),
    "logser": ((0.4,), 1),
    "planck": ((0.7,), 1),
    "dlaplace": ((0.7,), 1),
}
WITHOUT_QUANTILES = (
    "halfnorm", "gennorm", "truncnorm", "f", "invgauss", "betaprime", "laplace_asymmetric",
    "semicircular",
)  # fmt: skip
METHODS = {name: [
    method
    for method in (*DENSITIES, *PROBABILITIES, *QUANTILES)
    if method in DENSITIES or name not in ("vonmises", "wrapcauchy", "rice", "skewnorm", "cosine")
    if method not in QUANTILES or name not in WITHOUT_QUANTILES
] for name in CONTINUOUS}  # fmt: skip
# Derivatives by these parameters are not known of the incomplete functions behind a method.
UNKNOWN = {
    ("beta", 1), ("beta", 2), ("gamma", 1), ("chi2", 1), ("t", 1), ("gennorm", 1), ("nbinom", 1),
    ("invgamma", 1), ("f", 1), ("f", 2), ("chi", 1), ("nakagami", 1), ("betaprime", 1),
    ("betaprime", 2), ("loggamma", 1),
}  # fmt: skip


def slope(function, arguments, position):
    """The derivative of a sum by one argument, by differences."""

    def total(h):
        moved = list(arguments)
        moved[position] = np.asarray(moved[position], float) + h
        return np.sum(function(*moved))

    return extrapolated(total, 1e-3)


def total(function):
    """The sum of what a function answers."""
    return lambda *args: np.sum(function(*args))


def recorded(function):
    """The function as a kernel runs it."""
    return tj.function(lambda *args: function(*args))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_values_are_scipys(name) -> None:
    shapes, points = CONTINUOUS[name]
    for method in METHODS[name]:
        xs = Q if method in QUANTILES else np.array([-np.inf, -9.0, *points, 9.0, np.inf, np.nan])
        xs = xs if method in QUANTILES or name != "vonmises" else np.array(points)
        for loc, scale in ((0.0, 1.0), (0.3, 1.7)):
            arguments = (xs * scale + loc if method not in QUANTILES else xs, *shapes, loc, scale)
            with np.errstate(all="ignore"):
                expected = getattr(getattr(scipy.stats, name), method)(*arguments)
                found = recorded(getattr(getattr(stats, name), method))(*arguments)
            size = 1e-12 if method.startswith("log") else 1e-300
            if method.startswith("log"):  # of a number that SciPy rounds to zero
                found = np.where((expected == -np.inf) & (found < -745.0), expected, found)
            np.testing.assert_allclose(found, expected, rtol=2e-12, atol=size, err_msg=method)
            assert type(found) is type(expected)


@pytest.mark.parametrize("name", some_by_day(CONTINUOUS))
def test_continuous_gradients_are_slopes_of_scipys_values(name) -> None:
    shapes, points = CONTINUOUS[name]
    for method in METHODS[name]:
        xs = Q if method in QUANTILES else np.array(points) * 1.7 + 0.3
        arguments = (xs, *map(np.float64, shapes), np.float64(0.3), np.float64(1.7))
        ours, theirs = (getattr(getattr(library, name), method) for library in (stats, scipy.stats))
        for position in range(len(arguments)):
            if method not in DENSITIES and (name, position) in UNKNOWN:
                continue
            found = tj.grad(total(ours), argnums=position)(*arguments)
            expected = slope(theirs, arguments, position)
            np.testing.assert_allclose(
                np.sum(found), expected, rtol=1e-6, atol=1e-8, err_msg=f"{method} {position}"
            )


@pytest.mark.parametrize("name", CONTINUOUS)
def test_outside_of_the_support_the_gradient_is_zero(name) -> None:
    low, high = getattr(scipy.stats, name).support(*CONTINUOUS[name][0])
    for x in (low - 1.0, high + 1.0):
        if np.isfinite(x):
            shapes = tuple(map(np.float64, CONTINUOUS[name][0]))
            for method in METHODS[name][:2]:
                function = getattr(getattr(stats, name), method)
                assert tj.grad(function)(np.float64(x), *shapes) == 0.0


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_values_and_gradients(name) -> None:
    shapes, first = DISCRETE[name]
    ks = np.array([-1, 0, 1, 3, 7, 12])
    for method in ("pmf", "logpmf", "cdf", "sf"):
        if name in ("betabinom", "logser", "dlaplace") and method in ("cdf", "sf"):
            continue
        ours = getattr(getattr(stats, name), method)
        theirs = getattr(getattr(scipy.stats, name), method)
        for points in (ks, ks + 0.5):
            with np.errstate(all="ignore"):
                found, expected = recorded(ours)(points, *shapes), theirs(points, *shapes)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-300, err_msg=method)
        inside = np.array([1, 2]) if name != "bernoulli" else np.array([0, 1])
        for position in range(first, len(shapes) + 1):
            if position == 0 or (method in ("cdf", "sf") and (name, position) in UNKNOWN):
                continue
            arguments = (inside, *[np.float64(shape) for shape in shapes])
            found = tj.grad(total(ours), argnums=position)(*arguments)
            expected = slope(theirs, arguments, position)
            np.testing.assert_allclose(
                found, expected, rtol=1e-6, atol=1e-9, err_msg=f"{method} {position}"
            )


def test_invalid_parameters_give_nan() -> None:
    f = tj.function(lambda x, scale: stats.norm.logpdf(x, 0.0, scale))
    assert np.isnan(f(0.3, -1.0))
    assert np.isnan(tj.function(lambda x: stats.gamma.pdf(x, -2.0))(0.3))


def test_frozen_distributions() -> None:
    x = np.array([0.3, -0.8])
    frozen = tj.grad(lambda m, s: np.sum(stats.norm(m, scale=s).logpdf(x)), argnums=(0, 1))
    plain = tj.grad(lambda m, s: np.sum(stats.norm.logpdf(x, m, s)), argnums=(0, 1))
    assert frozen(0.2, 1.5) == plain(0.2, 1.5)
    assert stats.norm(0.5).mean() == 0.5
    assert stats.norm(0.5).rvs(3, random_state=1).shape == (3,)
    assert stats.norm.rvs(size=2, random_state=1).shape == (2,)
    assert tj.grad(lambda m: stats.norm(m, 2.0).mean())(0.5) == 1.0
    assert abs(tj.grad(lambda s: stats.norm(0.0, s).entropy())(0.5) - 2.0) < 1e-15


def test_what_is_not_recorded_is_refused_by_name() -> None:
    with pytest.raises(tj.TracejitError, match="rvs"):
        tj.grad(lambda m: np.sum(stats.norm.rvs(m, size=2)))(1.0)
    with pytest.raises(tj.TracejitError, match="cdf"):
        tj.grad(lambda m: stats.multivariate_normal.cdf(m))(1.0)


COVARIANCE = np.array([[1.3, 0.2], [0.2, 0.7]])


@pytest.mark.parametrize("method", ["logpdf", "pdf"])
@pytest.mark.parametrize(
    "arguments",
    [
        (np.array([0.3, -0.5]), np.array([0.1, 0.2]), COVARIANCE),
        (np.array([[0.3, -0.5], [1.0, 0.4]]), np.array([0.1, 0.2]), COVARIANCE),
        (np.array([0.3, -0.5]), np.array([0.1, 0.2]), np.array([0.5, 0.8])),
        (np.float64(0.3), np.float64(0.1), np.float64(0.5)),
    ],
)
def test_multivariate_normal(method, arguments) -> None:
    ours = getattr(stats.multivariate_normal, method)
    theirs = getattr(scipy.stats.multivariate_normal, method)
    found, expected = recorded(ours)(*arguments), theirs(*arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.shape(found) == np.shape(expected)
    for position in range(2):
        found = tj.grad(total(ours), argnums=position)(*arguments)
        np.testing.assert_allclose(np.sum(found), slope(theirs, arguments, position), 1e-7, 1e-9)
    found = tj.grad(lambda s: np.sum(ours(*arguments[:2], arguments[2] * s)))(1.0)
    expected = slope(lambda s: theirs(*arguments[:2], arguments[2] * s), (1.0,), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


SPAN = np.array([[1.0, 0.2], [0.5, -0.7], [0.3, 0.4], [-0.2, 0.1]])


def test_normal_vectors_of_singular_covariance() -> None:
    def logpdf(t, m, s):
        span = s @ np.diag(np.array([1.0, 2.0]))
        return stats.multivariate_normal.logpdf(span @ t, span @ m, span @ span.T, True)

    def theirs(t, m, s):
        span = s @ np.diag([1.0, 2.0])
        density = scipy.stats.multivariate_normal
        return density.logpdf(span @ t, span @ m, span @ span.T, allow_singular=True)

    point = (np.array([0.3, -0.4]), np.array([0.1, 0.2]), SPAN)
    np.testing.assert_allclose(recorded(logpdf)(*point), theirs(*point), rtol=1e-12)
    tj.check_grads(logpdf, point, order=1)
    normal = recorded(lambda x, c: stats.multivariate_normal.logpdf(x, cov=c, allow_singular=True))
    singular = np.diag([1.0, 1.0, 0.0])
    assert normal(np.ones(3), singular) == -np.inf
    assert np.isnan(normal(np.ones(3), -singular))
    expected = scipy.stats.multivariate_normal.logpdf(np.ones(2), cov=COVARIANCE)
    assert abs(normal(np.ones(2), COVARIANCE) - expected) < 1e-14


def test_entropy_of_a_normal_vector() -> None:
    found = tj.grad(lambda s: stats.multivariate_normal.entropy(cov=COVARIANCE * s))(1.0)
    assert abs(found - 1.0) < 1e-14
    value = tj.function(lambda c: stats.multivariate_normal.entropy(cov=c))(COVARIANCE)
    assert abs(value - scipy.stats.multivariate_normal.entropy(cov=COVARIANCE)) < 1e-14


def test_dirichlet_and_multinomial() -> None:
    x, alpha = np.array([0.2, 0.3, 0.5]), np.array([1.5, 2.5, 0.7])
    for points in (x, x[:2]):
        value, grad = tj.value_and_grad(lambda a, p=points: stats.dirichlet.logpdf(p, a))(alpha)
        assert abs(value - scipy.stats.dirichlet.logpdf(points, alpha)) < 1e-13
        expected = slope(scipy.stats.dirichlet.logpdf, (points, alpha), 1)
        assert abs(np.sum(grad) - expected) < 1e-6
    k, p = np.array([2, 3, 1]), np.array([0.2, 0.3, 0.5])
    value, grad = tj.value_and_grad(lambda p: stats.multinomial.logpmf(k, 6, p))(p)
    assert abs(value - scipy.stats.multinomial.logpmf(k, 6, p)) < 1e-13
    np.testing.assert_allclose(grad, [2 / 0.2 - 1 / 0.5, 3 / 0.3 - 1 / 0.5, 0.0], rtol=1e-12)
    assert tj.function(lambda p: stats.multinomial.logpmf(k, 7, p))(p) == -np.inf


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("entropy", lambda f, a, b: f(a)),
        ("entropy", lambda f, a, b: f(a, b, base=2.0, axis=1)),
        ("sem", lambda f, a, b: f(a)),
        ("sem", lambda f, a, b: f(a, axis=None, ddof=0)),
        ("gmean", lambda f, a, b: f(a, axis=1, weights=b)),
        ("hmean", lambda f, a, b: f(a)),
        ("zscore", lambda f, a, b: f(a, axis=1, ddof=1)),
        ("zmap", lambda f, a, b: f(a, b)),
    ],
)
def test_statistics(name, call) -> None:
    rng = np.random.default_rng(3)
    a, b, seed = rng.uniform(0.5, 2.0, (3, 4, 5))[:, :, :].reshape(3, 4, 5)
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    expected = call(theirs, a, b)
    np.testing.assert_allclose(tj.function(lambda a, b: call(ours, a, b))(a, b), expected, 1e-12)
    weights = seed.ravel()[: np.size(expected)].reshape(np.shape(expected))
    grad = tj.grad(lambda a: np.sum(weights * call(ours, a, b)))(a)
    move = rng.normal(size=a.shape)
    expected = slope(lambda h: weights * call(theirs, a + h * move, b), (0.0,), 0)
    np.testing.assert_allclose(np.sum(grad * move), expected, rtol=1e-6)


def test_extremes_are_smooth_where_their_shape_is_zero() -> None:
    def total(c, x):
        densities = stats.genpareto.logpdf(x, c) + stats.genextreme.logpdf(x, c)
        return np.sum(densities + stats.genextreme.ppf(x / 2, c))

    x = np.array([0.5, 1.2])
    for c in (0.0, 0.4):
        expected = slope(total, (c, x), 0)
        np.testing.assert_allclose(tj.grad(total)(c, x), expected, rtol=1e-8)


SAMPLE = np.array([[0.3, 1.2, 0.7, -0.4, 2.1, 1.1], [0.1, 0.4, 1.9, 0.6, -0.3, 0.8]])
DENSITIES_BY_KERNELS = {
    "of numbers": lambda d, q: scipy.stats.gaussian_kde(d[0])(q[0]),
    "of vectors": lambda d, q: scipy.stats.gaussian_kde(d, "silverman").logpdf(q),
    "of one vector": lambda d, q: scipy.stats.gaussian_kde(d, 0.4).pdf(q[:, 0]),
    "weighted": lambda d, q: scipy.stats.gaussian_kde(d[0], weights=np.exp(d[1])).evaluate(q[1]),
    "made beforehand": lambda d, q: KDE(q) + 0.0 * d[0, 0],
}
KDE = scipy.stats.gaussian_kde(SAMPLE)


@pytest.mark.parametrize("name", DENSITIES_BY_KERNELS)
def test_densities_by_kernels(name) -> None:
    call, points = DENSITIES_BY_KERNELS[name], SAMPLE[:, :3] + 0.1
    found, expected = tj.function(call)(SAMPLE, points), call(SAMPLE, points)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    tj.check_grads(call, (SAMPLE, points), order=1)
