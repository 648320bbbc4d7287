"""Means, deviations, orders, running values."""

from __future__ import annotations

import numpy as np

from tests.idioms.table import idiom, normal, positive

WEIGHTS = np.array([0.2, 0.5, 0.1, 0.9, 0.3])
MISSING = np.array([[1.0, np.nan, 2.5], [0.5, -1.0, np.nan]])


@idiom(normal(5))
def root_mean_square(x):
    return np.sqrt(np.mean(x**2))


@idiom(normal(4), normal(4))
def mean_absolute_error(y, y_hat):
    return np.abs(y - y_hat).mean()


@idiom(normal(5), normal(5))
def r_squared(y, y_hat):
    residual = np.sum((y - y_hat) ** 2)
    total = np.sum((y - y.mean()) ** 2)
    return 1 - residual / total


@idiom(normal(4, 3))
def standardise_columns(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


@idiom(normal(4, 3))
def min_max_scale(x):
    low, high = x.min(axis=0), x.max(axis=0)
    return (x - low) / (high - low)


@idiom(normal(3, 4))
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@idiom(normal(3, 4))
def logsumexp(x):
    m = np.max(x, axis=1, keepdims=True)
    return np.squeeze(m, 1) + np.log(np.sum(np.exp(x - m), axis=1))


@idiom(normal(5))
def weighted_average(x):
    return np.average(x, weights=WEIGHTS)


@idiom(normal(3, 4), normal(3, 4) > 0)
def masked_mean(x, mask):
    return np.sum(x * mask) / np.sum(mask)


@idiom(normal(3, 4), normal(3, 4) > -0.5)
def mean_with_where(x, mask):
    return np.mean(x, where=mask)


@idiom(positive(5))
def geometric_mean(x):
    return np.exp(np.mean(np.log(x)))


@idiom(positive(5))
def harmonic_mean(x):
    return len(x) / np.sum(1 / x)


@idiom(normal(8))
def skewness(x):
    d = x - np.mean(x)
    return np.mean(d**3) / np.mean(d**2) ** 1.5


@idiom(normal(6, 3))
def covariance_by_hand(x):
    d = x - x.mean(axis=0)
    return d.T @ d / (len(x) - 1)


@idiom(normal(3, 6))
def correlation_matrix(x):
    return np.corrcoef(x)


@idiom(normal(3, 6))
def covariance_matrix(x):
    return np.cov(x, ddof=0)


@idiom(normal(7))
def median_absolute_deviation(x):
    return np.median(np.abs(x - np.median(x)))


@idiom(normal(6))
def interquartile_range(x):
    q75, q25 = np.percentile(x, [75, 25])
    return q75 - q25


@idiom(normal(9))
def trimmed_mean(x):
    return np.sort(x)[2:-2].mean()


@idiom(normal(5), normal(5))
def pinball_loss(y, y_hat, q=0.9):
    d = y - y_hat
    return np.mean(np.maximum(q * d, (q - 1) * d))


@idiom(positive(4))
def entropy(weights):
    p = weights / weights.sum()
    return -np.sum(p * np.log(p))


@idiom(positive(4), positive(4))
def kl_divergence(p, q):
    p, q = p / np.sum(p), q / np.sum(q)
    return np.sum(p * np.log(p / q))


@idiom(MISSING)
def mean_of_what_is_known(x):
    return np.nanmean(x, axis=1)


@idiom(MISSING)
def impute_column_means(x):
    return np.where(np.isnan(x), np.nanmean(x, axis=0), x)


@idiom(MISSING)
def median_of_what_is_known(x):
    return np.nanmedian(x, axis=1)


@idiom(normal(6))
def running_total(x):
    return np.cumsum(x)


@idiom(normal(6) / 10)
def cumulative_returns(r):
    return np.cumprod(1 + r) - 1


@idiom(positive(6))
def largest_drawdown(prices):
    peak = np.maximum.accumulate(prices)
    return np.max((peak - prices) / peak)


@idiom(positive(6))
def gini(x):
    """The Gini coefficient, by ranks."""
    x = np.sort(x)
    n = len(x)
    ranks = np.arange(1, n + 1)
    return np.sum((2 * ranks - n - 1) * x) / (n * np.sum(x))


@idiom(normal(8))
def moving_average(x):
    return np.convolve(x, np.ones(3) / 3, mode="valid")


@idiom(normal(8))
def moving_average_by_cumsum(x, width=3):
    total = np.cumsum(np.concatenate([[0.0], x]))
    return (total[width:] - total[:-width]) / width


@idiom(normal(6))
def exponential_moving_average(x, alpha=0.3):
    smoothed = [x[0]]
    for value in x[1:]:
        smoothed.append(alpha * value + (1 - alpha) * smoothed[-1])
    return np.stack(smoothed)


@idiom(normal(8))
def autocorrelation(x):
    d = x - x.mean()
    full = np.correlate(d, d, mode="full")
    return full[len(x) - 1 :] / full[len(x) - 1]


@idiom(normal(4, 5))
def cosine_similarity_of_rows(x):
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit @ unit.T


@idiom(normal(6), np.array([0, 1, 0, 2, 1, 0]))
def group_means(x, group):
    """The mean of each group, by one-hot rows."""
    member = np.equal.outer(np.arange(3), group)
    return member @ x / member.sum(axis=1)


@idiom(positive(6), np.array([0, 1, 0, 2, 1, 0]))
def weighted_bincount(w, group):
    return np.bincount(group, weights=w, minlength=4)


@idiom(positive(6))
def weighted_histogram(w):
    places = np.array([0.1, 0.4, 0.35, 0.8, 0.99, 0.5])
    counts, _ = np.histogram(places, bins=4, range=(0.0, 1.0), weights=w)
    return counts / counts.sum()


@idiom(normal(6))
def soft_histogram(x):
    centers = np.linspace(-2, 2, 5)
    return np.exp(-0.5 * ((x[:, None] - centers) / 0.5) ** 2).sum(axis=0)


@idiom(normal(7))
def quantile_normalised(x):
    return (x - np.quantile(x, 0.5)) / (np.quantile(x, 0.9) - np.quantile(x, 0.1))


@idiom(normal(5))
def variance_two_ways(x):
    return np.var(x, ddof=1), np.mean(x**2) - np.mean(x) ** 2


@idiom(normal(2, 3, 4))
def reductions_over_several_axes(x):
    return x.sum(axis=(0, 2)), np.mean(x, axis=(1, -1)), x.max(axis=-1).min()


@idiom(normal(5))
def peak_to_peak(x):
    return np.ptp(x) / np.std(x)


@idiom(normal(3, 4))
def log_softmax_by_logaddexp(x):
    return x - np.logaddexp.reduce(x, axis=1, keepdims=True)
