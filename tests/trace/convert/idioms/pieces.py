"""Pieces of statistics, learning, signal processing and finance, as libraries write them."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np
from scipy import integrate, interpolate, linalg, signal, special, stats

from tests.trace.convert.idioms.idiom import B, M, P, S, X, Y, idiom

C = np.array([[1.0, 0.2], [0.2, 1.5], [0.4, -0.3], [2.0, 0.7]])


@idiom(C)
def standardize(x: Any) -> Any:
    mean = x.mean(axis=0, keepdims=True)
    std = x.std(axis=0, ddof=1, keepdims=True)
    std[std == 0] = 1.0
    return (x - mean) / std


@idiom(C)
def minmax_scale(x: Any) -> Any:
    lo, hi = (x.min(0), x.max(0))
    scale = hi - lo
    scale = np.where(scale == 0, 1, scale)
    x = x.copy()
    x -= lo
    x /= scale
    return x


@idiom(C)
def row_norms_normalize(x: Any) -> Any:
    norms = np.einsum("ij,ij->i", x, x)
    np.sqrt(norms, norms)
    norms[norms == 0.0] = 1.0
    return x / norms[:, np.newaxis]


@idiom(C, B)
def euclid(x: Any, y: Any) -> Any:
    XX = np.einsum("ij,ij->i", x, x)[:, None]
    YY = np.einsum("ij,ij->i", y, y)[None, :]
    d = -2 * x @ y.T
    d += XX
    d += YY
    np.maximum(d, 0, out=d)
    return np.sqrt(d, out=d)


@idiom(C)
def log_softmax_rows(x: Any) -> Any:
    m = np.max(x, axis=1).reshape((-1, 1))
    x = x - m
    return x - np.log(np.sum(np.exp(x), axis=1)).reshape((-1, 1))


@idiom(C)
def softmax_inplace(x: Any) -> Any:
    x = x.copy()
    x -= x.max(axis=1)[:, np.newaxis]
    np.exp(x, out=x)
    x /= x.sum(axis=1)[:, np.newaxis]
    return x


@idiom(X)
def label_onehot(x: Any) -> Any:
    labels = np.array([0, 2, 1, 2])
    classes = np.unique(labels)
    onehot = (labels[:, None] == classes).astype(float)
    return onehot.T @ x / onehot.sum(0)


@idiom(X)
def group_means_bincount(x: Any) -> Any:
    g = np.array([0, 1, 1, 0])
    return (np.bincount(g, weights=x) / np.bincount(g))[g]


@idiom(X)
def add_at_groups(x: Any) -> Any:
    g = np.array([0, 1, 1, 0])
    out = np.zeros(2)
    np.add.at(out, g, x)
    return out


@idiom(X)
def weighted_quantile(x: Any) -> Any:
    w = np.array([1.0, 2.0, 1.0, 1.0])
    i = np.argsort(x)
    cw = np.cumsum(w[i])
    return np.interp(0.5 * cw[-1], cw, x[i])


@idiom(C)
def poly_feat_cols(x: Any) -> Any:
    cols = [np.ones(x.shape[0])]
    for i in range(x.shape[1]):
        for j in range(i, x.shape[1]):
            cols.append(x[:, i] * x[:, j])
    return np.vstack(cols).T


@idiom(P)
def logit_ll(p: Any) -> Any:
    q = 2 * np.array([0, 1, 1, 0]) - 1
    Xd = C
    z = Xd @ p[:2]
    return np.sum(np.log(1 / (1 + np.exp(-q * z))))


@idiom(P)
def poisson_ll(p: Any) -> Any:
    y = np.array([1, 0, 2, 3])
    eta = C @ p[:2]
    return np.sum(-np.exp(eta) + y * eta - special.gammaln(y + 1))


@idiom(P)
def score_obs(p: Any) -> Any:
    y = np.array([1, 0, 1, 1])
    mu = special.expit(C @ p[:2])
    return (y - mu)[:, None] * C


@idiom(P)
def sandwich(p: Any) -> Any:
    mu = special.expit(C @ p[:2])
    W = np.diag(mu * (1 - mu))
    return linalg.pinv(C.T @ W @ C)


@idiom(X)
def ols_params(x: Any) -> Any:
    pinv = np.linalg.pinv(C)
    b = pinv @ x
    resid = x - C @ b
    s2 = resid @ resid / (len(x) - C.shape[1])
    return np.sqrt(np.diag(s2 * np.linalg.inv(C.T @ C)))


@idiom(X)
def qr_ols(x: Any) -> Any:
    q, r = np.linalg.qr(C)
    return linalg.solve_triangular(r, q.T @ x)


@idiom(X)
def lstsq_res(x: Any) -> Any:
    b, res, rank, sv = np.linalg.lstsq(C, x, rcond=None)
    return b


@idiom(X)
def acf(x: Any) -> Any:
    xo = x - x.mean()
    n = len(x)
    d = n * np.ones(2 * n - 1)
    return np.correlate(xo, xo, "full")[n - 1 :] / d[n - 1 :]


@idiom(X)
def acovf_fft(x: Any) -> Any:
    xo = x - x.mean()
    n = len(x)
    f = np.fft.fft(xo, n=2 * n)
    return np.fft.ifft(f * np.conjugate(f))[:n].real / n


@idiom(X)
def durbin_watson(x: Any) -> Any:
    return np.sum(np.diff(x) ** 2, axis=0) / np.sum(x**2, axis=0)


@idiom(X)
def jarque_bera(x: Any) -> Any:
    s = stats.skew(x)
    k = 3 + stats.kurtosis(x)
    return len(x) / 6 * (s**2 + 0.25 * (k - 3) ** 2)


@idiom(X)
def ewma(x: Any) -> Any:
    out = np.empty_like(x)
    out[0] = x[0]
    for t in range(1, x.shape[0]):
        out[t] = 0.3 * x[t] + (1 - 0.3) * out[t - 1]
    return out


@idiom(X)
def hp_filter(x: Any) -> Any:
    n = len(x)
    K = np.zeros((n - 2, n))
    for i in range(n - 2):
        K[i, i : i + 3] = (1, -2, 1)
    return linalg.solve(np.eye(n) + 1600 * K.T @ K, x)


@idiom(X)
def toeplitz_ar(x: Any) -> Any:
    r = [np.sum(x[: len(x) - k] * x[k:]) for k in range(3)]
    R = linalg.toeplitz(r[:-1])
    return linalg.solve(R, r[1:])


@idiom(X)
def lagmat(x: Any) -> Any:
    n = len(x)
    out = np.zeros((n, 2))
    for k in (1, 2):
        out[k:, k - 1] = x[:-k]
    return out


@idiom(X)
def rolling(x: Any) -> Any:
    w = 3
    c = np.cumsum(np.insert(x, 0, 0.0))
    return (c[w:] - c[:-w]) / float(w)


@idiom(X)
def windows_std(x: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, 2).std(-1)


@idiom(X)
def savgol_like(x: Any) -> Any:
    h = np.array([-1.0, 2.0, -1.0])
    return np.convolve(
        np.concatenate((x[:1] * 2 - x[1:2], x, x[-1:] * 2 - x[-2:-1])), h, mode="valid"
    )


@idiom(X)
def newton_divided(x: Any) -> Any:
    n = len(x)
    coef = np.array(x, dtype=float)
    t = np.arange(n, dtype=float)
    for j in range(1, n):
        coef[j:] = (coef[j:] - coef[j - 1 : -1]) / (t[j:] - t[: n - j])
    return coef


@idiom(X)
def thomas(x: Any) -> Any:
    n = len(x)
    a = np.full(n, -1.0)
    b = np.full(n, 4.0) + x
    c = np.full(n, -1.0)
    d = np.ones(n)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    s = np.zeros(n)
    s[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        s[i] = (d[i] - c[i] * s[i + 1]) / b[i]
    return s


@idiom(X)
def solve_banded(x: Any) -> Any:
    ab = np.zeros((3, 4))
    ab[0, 1:] = -1
    ab[1] = 4 + x
    ab[2, :-1] = -1
    return linalg.solve_banded((1, 1), ab, np.ones(4))


@idiom(M)
def cholesky_handmade(a: Any) -> Any:
    n = a.shape[0]
    L = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - L[i, :j] @ L[j, :j]
            L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
    return L


@idiom(M)
def gram_schmidt(a: Any) -> Any:
    q = []
    for v in a.T:
        w = v - sum((np.dot(v, u) * u for u in q), np.zeros(3))
        q.append(w / np.linalg.norm(w))
    return np.array(q).T


@idiom(M)
def power_iter(a: Any) -> Any:
    v = np.ones(a.shape[0])
    for _ in range(10):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v


@idiom(M)
def expm_taylor(a: Any) -> Any:
    out = np.eye(3)
    term = np.eye(3)
    for k in range(1, 12):
        term = term @ a / k
        out = out + term
    return out


@idiom(M)
def mahalanobis_2(a: Any) -> Any:
    d = np.array([1.0, -0.5, 0.3])
    return math.sqrt(d @ np.linalg.inv(a) @ d)


@idiom(M)
def mvn_logpdf(a: Any) -> Any:
    L = linalg.cholesky(a, lower=True)
    z = linalg.solve_triangular(L, np.array([1.0, -0.5, 0.3]), lower=True)
    return -0.5 * (z @ z) - np.log(np.diag(L)).sum() - 1.5 * np.log(2 * np.pi)


@idiom(M)
def stats_mvn(a: Any) -> Any:
    return stats.multivariate_normal(mean=np.zeros(3), cov=a).logpdf([1.0, -0.5, 0.3])


@idiom(M)
def corr_from_cov(a: Any) -> Any:
    d = np.sqrt(np.diag(a))
    return a / np.outer(d, d)


@idiom(M)
def vech(a: Any) -> Any:
    return a[np.tril_indices(3)]


@idiom(X)
def unvech(x: Any) -> Any:
    n = 2
    out = np.zeros((n, n))
    out[np.tril_indices(n)] = x[:3]
    out = out + out.T - np.diag(np.diag(out))
    return out


@idiom(X)
def rotation_2(x: Any) -> Any:
    c, s = (math.cos(x[0]), math.sin(x[0]))
    R = np.array(((c, -s), (s, c)))
    return R @ x[:2]


@idiom(X)
def quaternion(x: Any) -> Any:
    w, a, b, c = x / np.sqrt(np.dot(x, x))
    return np.array(
        [
            [1 - 2 * (b * b + c * c), 2 * (a * b - w * c)],
            [2 * (a * b + w * c), 1 - 2 * (a * a + c * c)],
        ]
    )


@idiom(X)
def haversine(x: Any) -> Any:
    lat1, lon1, lat2, lon2 = map(math.radians, x)
    h = (
        math.sin((lat2 - lat1) / 2) ** 2
        + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    )
    return 2 * math.asin(math.sqrt(h))


@idiom(X)
def npv(x: Any) -> Any:
    return sum((v / 1.05**i for i, v in enumerate(x)))


@idiom(S)
def black_scholes_2(s: Any) -> Any:
    d1 = (math.log(s / 1.0) + (0.05 + 0.5 * 0.04) * 1.0) / (0.2 * math.sqrt(1.0))
    d2 = d1 - 0.2
    return s * stats.norm.cdf(d1) - math.exp(-0.05) * stats.norm.cdf(d2)


@idiom(X)
def simpson_2(x: Any) -> Any:
    return integrate.simpson(x, dx=0.5) + integrate.trapezoid(x, x=[0.0, 1.0, 2.0, 4.0])


@idiom(X)
def cumtrap(x: Any) -> Any:
    return integrate.cumulative_trapezoid(x, initial=0)


@idiom(S)
def fixed_quad(a: Any) -> Any:
    return integrate.fixed_quad(lambda t: np.exp(-a * t), 0, 1, n=4)[0]


@idiom(S)
def gauss_leg(a: Any) -> Any:
    n, w = np.polynomial.legendre.leggauss(5)
    return np.sum(w * np.exp(-a * n**2))


@idiom(X)
def cheb(x: Any) -> Any:
    return np.polynomial.chebyshev.chebval(0.3, x) + np.polynomial.Polynomial(x)(0.3)


@idiom(X)
def huber(x: Any) -> Any:
    r = x - 1
    return np.where(np.abs(r) <= 1.345, 0.5 * r**2, 1.345 * (np.abs(r) - 0.5 * 1.345)).sum()


@idiom(X)
def pinball(x: Any) -> Any:
    d = np.ones(4) - x
    s = (d >= 0).astype(d.dtype)
    return np.average(0.3 * s * d - (1 - 0.3) * (1 - s) * d)


@idiom(P)
def log_loss(p: Any) -> Any:
    y = np.array([0, 1, 1, 0])
    eps = np.finfo(p.dtype).eps
    p = np.clip(p, eps, 1 - eps)
    pp = np.append(1 - p[:, None], p[:, None], axis=1)
    return -special.xlogy(np.eye(2)[y], pp).sum(axis=1).mean()


@idiom(P)
def entropy(p: Any) -> Any:
    p = p / p.sum()
    return stats.entropy(p) - np.sum(special.xlogy(p, p))


@idiom(X, Y)
def r2(x: Any, y: Any) -> Any:
    num = ((x - y) ** 2).sum(axis=0, dtype=np.float64)
    den = ((x - np.average(x, axis=0)) ** 2).sum(axis=0, dtype=np.float64)
    return 1 - num / den


@idiom(X, Y)
def pearson(x: Any, y: Any) -> Any:
    xm, ym = (x - x.mean(), y - y.mean())
    return np.dot(xm / linalg.norm(xm), ym / linalg.norm(ym))


@idiom(X)
def auc(x: Any) -> Any:
    y = np.array([0, 1, 1, 0])
    o = np.argsort(x, kind="mergesort")[::-1]
    tps = np.cumsum(y[o])
    fps = 1 + np.arange(4) - tps
    return np.trapezoid(tps / tps[-1], fps / fps[-1]) * x.sum()


@idiom(X)
def ndarray_subclass_free(x: Any) -> Any:
    rec = {"a": x[0], "b": x[1:]}
    return rec.get("a", 0.0) * rec.setdefault("c", 2.0) + rec["b"].sum()


@idiom(X)
def kde(x: Any) -> Any:
    g = np.linspace(0, 4, 5)[:, None]
    return (np.exp(-0.5 * ((g - x) / 0.4) ** 2) / (0.4 * np.sqrt(2 * np.pi))).mean(1)


@idiom(X)
def bootstrap_idx(x: Any) -> Any:
    i = np.array([[0, 1, 1, 3], [2, 2, 0, 3]])
    return x[i].mean(axis=1)


@idiom(X)
def ranks(x: Any) -> Any:
    return stats.rankdata(x) * x


@idiom(X)
def trimmed_2(x: Any) -> Any:
    return stats.trim_mean(x, 0.25) + stats.gmean(x) + stats.hmean(x)


@idiom(X)
def zscore(x: Any) -> Any:
    return stats.zscore(x, ddof=1)


@idiom(X)
def mad(x: Any) -> Any:
    return np.median(np.abs(x - np.median(x))) / stats.norm.ppf(3 / 4.0)


@idiom(X)
def iir(x: Any) -> Any:
    return signal.lfilter([1.0, 0.5], [1.0, -0.3], x)


@idiom(X)
def fftconv(x: Any) -> Any:
    return signal.fftconvolve(x, [1.0, 2.0, 1.0], mode="same")


@idiom(X)
def detrend(x: Any) -> Any:
    return signal.detrend(x)


@idiom(X)
def spectrum(x: Any) -> Any:
    f = np.fft.rfft(x * np.hanning(len(x)))
    return np.abs(f) ** 2 / len(x)


@idiom(X)
def hilbert_env(x: Any) -> Any:
    return np.abs(signal.hilbert(x))


@idiom(X)
def linear_interp(x: Any) -> Any:
    return interpolate.interp1d([0.0, 1.0, 2.0, 3.0], x)(1.5)


@idiom(X)
def bary(x: Any) -> Any:
    t = np.arange(4.0)
    w = np.array([1 / np.prod(t[i] - np.delete(t, i)) for i in range(4)])
    d = 0.5 - t
    return np.sum(w * x / d) / np.sum(w / d)


@idiom(X)
def logaddexp_reduce(x: Any) -> Any:
    return np.logaddexp.reduce(x) + functools.reduce(np.logaddexp, x)


@idiom(X)
def forward_alg(x: Any) -> Any:
    logA = np.log(np.array([[0.7, 0.3], [0.4, 0.6]]))
    a = np.log([0.5, 0.5])
    for v in x:
        a = special.logsumexp(a[:, None] + logA, axis=0) + np.array([-v, -2 * v])
    return special.logsumexp(a)


@idiom(X)
def viterbi_like(x: Any) -> Any:
    a = np.zeros(2)
    back = []
    for v in x:
        s = a[:, None] + np.array([[0.0, -1.0], [-1.0, 0.0]]) * v
        back.append(s.argmax(0))
        a = s.max(0)
    return a.max()


@idiom(X)
def dtw(x: Any) -> Any:
    n = len(x)
    D = np.full((n + 1, n + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            D[i, j] = abs(x[i - 1] - Y[j - 1]) + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, n]


@idiom(X)
def kalman_2(x: Any) -> Any:
    m, p = (0.0, 1.0)
    ll = 0.0
    for z in x:
        p += 0.1
        k = p / (p + 0.5)
        ll -= 0.5 * (math.log(2 * math.pi * (p + 0.5)) + (z - m) ** 2 / (p + 0.5))
        m += k * (z - m)
        p *= 1 - k
    return ll


@idiom(X)
def str_keys(x: Any) -> Any:
    params = dict(zip(["a", "b", "c", "d"], x))
    names = sorted(params)
    return np.array([params[n] for n in names]).dot(np.arange(4))


@idiom(X)
def masked_assign_2d(x: Any) -> Any:
    m = np.zeros((3, 3))
    iu = np.triu_indices(3, 1)
    m[iu] = x[:3]
    m.T[iu] = x[:3]
    np.fill_diagonal(m, x[3])
    return np.linalg.slogdet(m)[1]


@idiom(X)
def ix(x: Any) -> Any:
    m = np.outer(x, x)
    return m[np.ix_([0, 2], [1, 3])].sum(1)


@idiom(X)
def broadcasting_meshgrid(x: Any) -> Any:
    a, b = np.meshgrid(x, x[:2], indexing="ij")
    return np.hypot(a, b).sum(0)


@idiom(X)
def nditer(x: Any) -> Any:
    t = 0.0
    for i, v in np.ndenumerate(x):
        t += i[0] * v
    return t


@idiom(X)
def einsum_path(x: Any) -> Any:
    m = x.reshape(2, 2)
    return np.einsum("ij,jk,kl->il", m, m, m, optimize=True)


@idiom(X)
def multi_dot(x: Any) -> Any:
    m = x.reshape(2, 2)
    return np.linalg.multi_dot([m, m, x[:2]])


@idiom(X)
def block(x: Any) -> Any:
    m = x.reshape(2, 2)
    return np.block([[m, np.zeros((2, 1))], [np.ones((1, 2)), x[0]]])


@idiom(X)
def r_c(x: Any) -> Any:
    return np.c_[np.r_[x[:2], 1.0], np.r_[0.0, x[2:]]]


@idiom(X)
def apply_axis(x: Any) -> Any:
    return np.apply_along_axis(lambda r: r / np.linalg.norm(r), 1, x.reshape(2, 2))


@idiom(X)
def nan_handling(x: Any) -> Any:
    y = np.where(x > 2, np.nan, x)
    m = np.isnan(y)
    y[m] = np.nanmean(y)
    return y


@idiom(X)
def digitize(x: Any) -> Any:
    b = np.digitize(x, [1.0, 2.0])
    return np.array([10.0, 20.0, 30.0])[b] * x


@idiom(X)
def searchsorted_spline(x: Any) -> Any:
    k = np.array([0.0, 1.0, 2.0, 4.0])
    i = np.searchsorted(k, x, side="right") - 1
    i = np.clip(i, 0, 2)
    t = (x - k[i]) / (k[i + 1] - k[i])
    return t * t * (3 - 2 * t)


@idiom(X)
def clip_grad(x: Any) -> Any:
    n = np.linalg.norm(x)
    return x * min(1.0, 1.0 / n)


@idiom(X)
def errstate(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(x / np.array([1.0, 0.0, 1.0, 2.0]), posinf=0.0)


@idiom(X)
def try_linalg(x: Any) -> Any:
    try:
        return np.linalg.cholesky(np.diag(x))
    except np.linalg.LinAlgError:
        return np.zeros((4, 4))


@idiom(X)
def broadcast_arrays(x: Any) -> Any:
    a, b = np.broadcast_arrays(x[:, None], x[None])
    return (a - b).ravel()[1:3]


@idiom(X)
def fromfunction(x: Any) -> Any:
    return np.fromfunction(lambda i, j: x[i.astype(int)] + j, (4, 2))


@idiom(X)
def sort_idx(x: Any) -> Any:
    i = np.argsort(-x)
    y = np.empty_like(x)
    y[i] = np.arange(4) * x[i]
    return y


@idiom(X)
def lexsort(x: Any) -> Any:
    return x[np.lexsort((x, np.array([1, 0, 1, 0])))] * np.arange(4)


@idiom(X)
def topk(x: Any) -> Any:
    i = np.argpartition(x, -2)[-2:]
    return np.sort(x[i])


@idiom(X)
def cum_prod_rev(x: Any) -> Any:
    return np.cumprod(x[::-1])[::-1] + np.maximum.accumulate(x)


@idiom(X)
def tensordot(x: Any) -> Any:
    m = x.reshape(2, 2)
    return np.tensordot(m, m, axes=([0], [1]))


@idiom(X)
def kron(x: Any) -> Any:
    return np.kron(np.eye(2), x.reshape(2, 2)).trace()


@idiom(X)
def stats_frozen(x: Any) -> Any:
    d = stats.norm(loc=x[0], scale=x[1])
    return d.logpdf(x) + d.mean() + d.std() + d.cdf(1.0)


@idiom(X)
def partial_2(x: Any) -> Any:
    f = functools.partial(np.sum, axis=0)
    g = operator.itemgetter(1)
    return f(x) * g(x) + operator.attrgetter("T")(x).sum()


@idiom(X)
def any_all(x: Any) -> Any:
    return float(any(v > 3 for v in x)) + sum(1 for v in x if v > 1) + x.sum()


@idiom(X)
def sum_generators(x: Any) -> Any:
    return sum(map(lambda v: v * v, filter(lambda v: v > 1, x)))


@idiom(X)
def walrus_2(x: Any) -> Any:
    return (s := x.sum()) * x / (s + 1)


@idiom(X)
def conjugate_of_a_number(x: Any) -> Any:
    z = complex(x[0], x[1])
    return abs(z) + (z * z.conjugate()).real * math.atan2(z.imag, z.real)
