"""Programs as their users write them, of many fields: what the text of kernels is looked at for.

Each is a function, its arguments, and what is differentiated; of `kmeans` the value is asked alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tracejit.scipy.special import ndtr

Program = Callable[..., Any]
DRAWN = np.random.default_rng(0)


class Everyday(NamedTuple):
    """A function, its arguments, and the numbers of those that are differentiated, if any are."""

    python: Program
    arguments: tuple[Any, ...]
    argnums: int | tuple[int, ...] | None

    def compiled(self, **options: Any) -> tj.Function[..., Any]:
        """The function of the value, with its gradients where these are asked for."""
        function: Any = tj.function(self.python, cache=False, **options)
        return function if self.argnums is None else tj.value_and_grad(function, self.argnums)


PROGRAMS: dict[str, Everyday] = {}


def everyday(
    *arguments: Any, argnums: int | tuple[int, ...] | None = 0
) -> Callable[[Program], Program]:
    """Enter a program with these arguments."""

    def enter(python: Program) -> Program:
        PROGRAMS[python.__name__] = Everyday(python, arguments, argnums)
        return python

    return enter


def data(*shape: int) -> np.ndarray:
    """Normally distributed numbers."""
    return DRAWN.normal(size=shape)


def spread(n: int) -> np.ndarray:
    """A covariance matrix."""
    a = data(n, n)
    return a @ a.T + n * np.eye(n)


def labels(count: int, classes: int) -> np.ndarray:
    """A class for each of `count`."""
    return DRAWN.integers(0, classes, count)


@everyday(np.full(5, 0.2), data(5) * 0.1, spread(5) * 0.01)
def sharpe(w, mu, cov):
    risk = np.sqrt(w @ cov @ w)
    return -(w @ mu) / risk


@everyday(np.full(5, 0.2), spread(5) * 0.01)
def risk_parity(w, cov):
    risk = np.sqrt(w @ cov @ w)
    contribution = w * (cov @ w) / risk
    return np.sum((contribution - risk / len(w)) ** 2)


@everyday(np.full(30, 1 / 30), data(250, 30) * 0.01, 0.5)
def portfolio(w, returns, penalty):
    r = returns @ w
    mean = np.mean(r)
    risk = np.std(r)
    return -mean / risk + penalty * np.sqrt(np.sum(w**2))


@everyday(data(20, 10), data(10), data(64, 20), labels(64, 10), argnums=(0, 1))
def softmax_xent(w, b, x, y):
    z = x @ w + b
    z = z - np.max(z, axis=1, keepdims=True)
    logp = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(logp[np.arange(len(y)), y])


@everyday(data(20, 10), data(10), data(64, 20), labels(64, 10), argnums=(0, 1))
def logsumexp_xent(w, b, x, y):
    z = x @ w + b
    m = z.max(axis=1)
    lse = m + np.log(np.exp(z - m[:, None]).sum(axis=1))
    return np.mean(lse - z[np.arange(x.shape[0]), y]) + 1e-3 * np.sum(w * w)


CNN = {
    "k1": 0.1 * data(3, 3, 1, 8),
    "b1": 0.1 * data(8),
    "k2": 0.1 * data(3, 3, 8, 16),
    "b2": 0.1 * data(16),
    "w": 0.1 * data(576, 10),
    "b": 0.1 * data(10),
}


def conv(x, k, b):
    n, h, w = x.shape[:3]
    kh, kw, _, o = k.shape
    out = np.zeros((n, h - kh + 1, w - kw + 1, o))
    for i in range(kh):
        for j in range(kw):
            out = out + x[:, i : i + h - kh + 1, j : j + w - kw + 1, :] @ k[i, j]
    return out + b


def pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


@everyday(CNN, data(16, 30, 30, 1), labels(16, 10))
def cnn_loops(p, x, y):
    h = pool(np.maximum(conv(x, p["k1"], p["b1"]), 0.0))
    h = pool(np.maximum(conv(h, p["k2"], p["b2"]), 0.0))
    z = h.reshape(len(x), -1) @ p["w"] + p["b"]
    z = z - z.max(axis=1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -np.mean(logp[np.arange(len(y)), y])


def conv_w(x, k, b):
    kh, kw = k.shape[:2]
    win = np.lib.stride_tricks.sliding_window_view(x, (kh, kw), axis=(1, 2))
    return np.einsum("nhwcij,ijco->nhwo", win, k) + b


@everyday(CNN, data(16, 30, 30, 1), labels(16, 10))
def cnn_windows(p, x, y):
    h = pool(np.maximum(conv_w(x, p["k1"], p["b1"]), 0.0))
    h = pool(np.maximum(conv_w(h, p["k2"], p["b2"]), 0.0))
    z = h.reshape(len(x), -1) @ p["w"] + p["b"]
    z = z - z.max(axis=1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -np.mean(logp[np.arange(len(y)), y])


BLUR = np.exp(-0.125 * np.add.outer(np.arange(-32, 32) ** 2, np.arange(-32, 32) ** 2))
BLUR /= BLUR.sum()


@everyday(data(64, 64), data(64, 64), BLUR, 0.01)
def deblur(x, y, psf, lam):
    otf = np.fft.rfft2(np.fft.ifftshift(psf))
    blurred = np.fft.irfft2(np.fft.rfft2(x) * otf, s=x.shape)
    data = 0.5 * np.sum((blurred - y) ** 2)
    dx = x[1:, :] - x[:-1, :]
    dy = x[:, 1:] - x[:, :-1]
    tv = np.sum(np.sqrt(dx[:, :-1] ** 2 + dy[:-1, :] ** 2 + 1e-6))
    return data + lam * tv


@everyday(data(64, 64), data(64, 64), BLUR, 0.01)
def deblur_roll(x, y, psf, lam):
    otf = np.fft.fft2(np.fft.ifftshift(psf))
    blurred = np.real(np.fft.ifft2(np.fft.fft2(x) * otf))
    gx = np.roll(x, -1, axis=0) - x
    gy = np.roll(x, -1, axis=1) - x
    return np.mean((blurred - y) ** 2) + lam * np.mean(np.sqrt(gx**2 + gy**2 + 1e-8))


def lv(s, p):
    x, y = s
    return np.array([p[0] * x - p[1] * x * y, p[3] * x * y - p[2] * y])


@everyday(np.array([1.0, 0.1, 1.5, 0.075]), np.array([10.0, 5.0]), data(25, 2))
def rk4_lv(p, s, data):
    h = 0.1
    loss = 0.0
    for t in range(25):
        k1 = lv(s, p)
        k2 = lv(s + h / 2 * k1, p)
        k3 = lv(s + h / 2 * k2, p)
        k4 = lv(s + h * k3, p)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        loss = loss + np.sum((s - data[t]) ** 2)
    return loss


def net(u, w1, w2):
    return np.tanh(u @ w1) @ w2


@everyday(data(2, 16) * 0.3, data(16, 2) * 0.3, data(8, 2), data(8, 2), argnums=(0, 1))
def rk4_net(w1, w2, u, target):
    h = 0.04
    for _ in range(25):
        k1 = net(u, w1, w2)
        k2 = net(u + 0.5 * h * k1, w1, w2)
        k3 = net(u + 0.5 * h * k2, w1, w2)
        k4 = net(u + h * k3, w1, w2)
        u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.mean((u - target) ** 2)


def pend(s, g, length):
    th, om = s[0], s[1]
    return np.stack([om, -g / length * np.sin(th)])


@everyday(np.array([0.5, 0.0]), 9.81, 1.2, argnums=(0, 1, 2))
def rk4_pendulum(s, g, length):
    dt = 0.02
    for _ in range(25):
        k1 = pend(s, g, length)
        k2 = pend(s + dt / 2 * k1, g, length)
        k3 = pend(s + dt / 2 * k2, g, length)
        k4 = pend(s + dt * k3, g, length)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return s[0] ** 2 + s[1] ** 2


@everyday(
    data(4, 8) * 0.3,
    data(8, 8) * 0.3,
    data(8) * 0.1,
    data(8, 2) * 0.3,
    data(12, 16, 4),
    data(16, 2),
    argnums=(0, 1, 2, 3),
)
def rnn(wx, wh, b, wo, xs, y):
    h = np.zeros((xs.shape[1], wh.shape[0]))
    for x in xs:
        h = np.tanh(x @ wx + h @ wh + b)
    return np.mean((h @ wo - y) ** 2)


@everyday(data(12, 32) * 0.3, data(32) * 0.1, data(10, 16, 4), argnums=(0, 1))
def lstm(w, b, xs):
    h = np.zeros((16, 8))
    c = np.zeros((16, 8))
    for t in range(len(xs)):
        z = np.concatenate([xs[t], h], axis=1) @ w + b
        i, f, g, o = np.split(z, 4, axis=1)
        i = 1 / (1 + np.exp(-i))
        f = 1 / (1 + np.exp(-f))
        o = 1 / (1 + np.exp(-o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
    return np.mean(h**2)


@everyday(np.array([0.1, -0.3]), data(40, 2))
def kalman(theta, ys):
    q, r = np.exp(theta)
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    H = np.eye(2)
    m = np.zeros(2)
    Pc = np.eye(2)
    ll = 0.0
    for y in ys:
        m = F @ m
        Pc = F @ Pc @ F.T + q * np.eye(2)
        S = H @ Pc @ H.T + r * np.eye(2)
        v = y - H @ m
        Si = np.linalg.inv(S)
        ll = ll - 0.5 * (v @ Si @ v + np.linalg.slogdet(2 * np.pi * S)[1])
        K = Pc @ H.T @ Si
        m = m + K @ v
        Pc = Pc - K @ H @ Pc
    return -ll


@everyday(np.array([0.1, -0.3, 0.5]), data(60))
def kalman_local(theta, ys):
    q, r = np.exp(theta[0]), np.exp(theta[1])
    m = theta[2]
    p = 1.0
    ll = 0.0
    for t in range(len(ys)):
        p = p + q
        s = p + r
        k = p / s
        v = ys[t] - m
        ll += -0.5 * (np.log(2 * np.pi * s) + v * v / s)
        m = m + k * v
        p = (1 - k) * p
    return -ll


@everyday(data(5, 3), data(200, 3), argnums=None)
def kmeans(c, x):
    d = ((x[:, None, :] - c[None, :, :]) ** 2).sum(axis=2)
    a = d.argmin(axis=1)
    one = (a[:, None] == np.arange(len(c))).astype(float)
    return (one.T @ x) / np.maximum(one.sum(axis=0), 1.0)[:, None]


@everyday(data(5, 3), data(200, 3))
def kmeans_soft(c, x):
    d = np.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=-1)
    return -np.sum(np.log(np.sum(np.exp(-d), axis=1)))


@everyday(np.array([0.1, 0.2, -1.0]), np.sort(data(50)), data(50))
def gp(theta, x, y):
    ell, sf, sn = np.exp(theta)
    d = x[:, None] - x[None, :]
    K = sf**2 * np.exp(-0.5 * d**2 / ell**2) + sn**2 * np.eye(len(x))
    L = np.linalg.cholesky(K)
    a = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return 0.5 * y @ a + np.sum(np.log(np.diag(L))) + 0.5 * len(x) * np.log(2 * np.pi)


@everyday(np.array([0.1, 0.2, -1.0]), data(40, 3), data(40))
def gp_slogdet(theta, X, y):
    ell, sf, sn = np.exp(theta)
    sq = np.sum(X**2, 1)[:, None] + np.sum(X**2, 1)[None] - 2 * X @ X.T
    K = sf * np.exp(-0.5 * sq / ell**2) + sn * np.eye(len(y))
    _, ld = np.linalg.slogdet(K)
    return 0.5 * (y @ np.linalg.solve(K, y) + ld)


@everyday(data(16), np.linspace(0.01, 0.99, 80), data(80))
def spline(coef, t, y):
    u = np.linspace(-3 / 9, 12 / 9, 16)
    z = np.maximum(t[:, None] - u, 0.0) ** 3
    fit = z @ coef
    curvature = np.diff(coef, 2)
    return np.mean((fit - y) ** 2) + 0.1 * np.sum(curvature**2)


@everyday(data(20), np.linspace(0, 1, 20), np.linspace(0.01, 0.99, 80), data(80))
def interp_fit(v, grid, t, y):
    i = np.clip(np.searchsorted(grid, t) - 1, 0, len(grid) - 2)
    f = (t - grid[i]) / (grid[i + 1] - grid[i])
    pred = (1 - f) * v[i] + f * v[i + 1]
    return np.sum((pred - y) ** 2)


@everyday(
    {
        "w1": data(10, 32) * 0.2,
        "b1": data(32) * 0.1,
        "w2": data(32, 32) * 0.2,
        "b2": data(32) * 0.1,
        "w3": data(32, 1) * 0.2,
        "b3": data(1) * 0.1,
    },
    data(64, 10),
    data(64, 1),
)
def mlp(p, x, y):
    h = np.tanh(x @ p["w1"] + p["b1"])
    h = np.tanh(h @ p["w2"] + p["b2"])
    out = h @ p["w3"] + p["b3"]
    return np.mean((out - y) ** 2)


@everyday(
    data(16, 16) * 0.2, data(16, 16) * 0.2, data(16, 16) * 0.2, data(8, 12, 16), argnums=(0, 1, 2)
)
def attention(wq, wk, wv, x):
    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    s = np.exp(s - s.max(axis=-1, keepdims=True))
    a = s / s.sum(axis=-1, keepdims=True)
    return np.mean((a @ v) ** 2)


@everyday(data(32) * 0.2, data(32) * 0.2, data(100, 32), argnums=(0, 1))
def layernorm(g, b, x):
    mu = x.mean(axis=-1, keepdims=True)
    var = ((x - mu) ** 2).mean(axis=-1, keepdims=True)
    y = (x - mu) / np.sqrt(var + 1e-5) * g + b
    return np.sum(np.maximum(y, 0) ** 2)


@everyday(np.array([0.2, 0.8]), data(100, 3), np.sign(data(100)))
def svm(w, X, y):
    m = y * (X[:, :2] @ w)
    return np.mean(np.maximum(0, 1 - m)) + 0.5 * np.dot(w, w)


@everyday(data(30) * 0.1, data(200, 30), DRAWN.poisson(2, 200))
def poisson(w, X, y):
    eta = X @ w
    return np.sum(np.exp(eta) - y * eta) + 0.5 * np.sum(w**2)


@everyday(data(10, 3))
def lj(pos):
    d = pos[:, None, :] - pos[None, :, :]
    r2 = np.sum(d**2, axis=-1) + np.eye(len(pos))
    i6 = 1.0 / r2**3
    return np.sum(np.triu(4.0 * (i6**2 - i6), 1))


@everyday(data(40), np.array([1.0, 0.3]), argnums=(0, 1))
def wave(u, c):
    v = np.zeros_like(u)
    for _ in range(20):
        lap = np.roll(u, 1) + np.roll(u, -1) - 2 * u
        v = v + 0.1 * c[0] * lap - 0.01 * c[1] * v
        u = u + 0.1 * v
    return np.sum(u**2)


@everyday(data(50, 50), 0.1, argnums=(0, 1))
def heat(u, k):
    for _ in range(10):
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + k * lap
        u = new
    return np.mean(u**2)


@everyday(data(3), data(3), data(3, 3), data(500, 2), argnums=(0, 1, 2))
def gmm(logits, mu, A, x):
    m = mu[:, None] * np.array([1.0, 0.5])
    d = x[:, None, :] - m[None]
    q = np.sum(d**2, axis=-1) * np.exp(A[0])
    lp = logits - np.log(np.sum(np.exp(logits)))
    z = lp - 0.5 * q
    top = z.max(axis=1)
    return -np.sum(top + np.log(np.sum(np.exp(z - top[:, None]), axis=1)))


@everyday(100.0, 105.0, 0.02, 0.2, 1.0, argnums=(0, 3))
def black_scholes(s, k, r, sig, t):
    d1 = (np.log(s / k) + (r + sig**2 / 2) * t) / (sig * np.sqrt(t))
    d2 = d1 - sig * np.sqrt(t)
    return s * ndtr(d1) - k * np.exp(-r * t) * ndtr(d2)


@everyday(
    data(6),
    data(15, 2),
    data(6, 2) + data(6, 2),
    labels(40, 6),
    labels(40, 15),
    data(40),
    argnums=(1, 2),
)
def matfac(bias, U, V, items, users, rating):
    pred = np.sum(U[users] * V[items], axis=1) + bias[items]
    return np.mean((pred - rating) ** 2) + 0.1 * (np.sum(U**2) + np.sum(V**2))


@everyday(data(3) * 0.2, data(3), data(60, 3), data(60, 2), argnums=(0, 1))
def camera(rot, t, X, uv):
    th = np.sqrt(rot @ rot)
    k = rot / th
    Kx = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
    Rm = np.eye(3) + np.sin(th) * Kx + (1 - np.cos(th)) * (Kx @ Kx)
    Y = X @ Rm.T + t + np.array([0.0, 0.0, 8.0])
    p = Y[:, :2] / Y[:, 2:]
    return np.sum((p - uv) ** 2)


@everyday(data(30, 4) * 0.3, data(10, 30), data(4))
def normalised(w, x, target):
    v = x @ w
    v = v / np.linalg.norm(v, axis=1, keepdims=True)
    t = target / np.linalg.norm(target)
    return -np.sum(v @ t)
