"""Images, signals, transport, graphs and optimisers, as tutorials have them."""

import cmath
import functools
import heapq
import math
from collections import deque

import numpy as np
import scipy.ndimage
import scipy.signal

from tests.trace.control_flow.flow.program import program


@program(lambda rng: (rng.uniform(0.3, 1.5, 2), rng.random((6, 6))))
def bilateral_filter(sigmas, image):
    sigma_s, sigma_r = sigmas
    radius = 1
    padded = np.pad(image, radius, mode="reflect")
    out = np.zeros_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            total, norm = 0.0, 0.0
            for di in range(-radius, radius + 1):
                for dj in range(-radius, radius + 1):
                    v = padded[i + radius + di, j + radius + dj]
                    w = math.exp(-(di**2 + dj**2) / (2 * sigma_s**2)) * math.exp(
                        -((v - image[i, j]) ** 2) / (2 * sigma_r**2)
                    )
                    total += w * v
                    norm += w
            out[i, j] = total / norm
    return np.std(out) + out[2, 3]


@program(lambda rng: (rng.uniform(0.8, 1.5), rng.random((12, 12)) + 0.1))
def richardson_lucy(width, image):
    x = np.arange(-2, 3)
    psf = np.exp(-(x[:, None] ** 2 + x[None, :] ** 2) / (2 * width**2))
    psf /= psf.sum()
    estimate = np.full(image.shape, 0.5)
    for _ in range(3):
        blurred = scipy.signal.fftconvolve(estimate, psf, mode="same")
        ratio = image / np.maximum(blurred, 1e-6)
        estimate *= scipy.signal.fftconvolve(ratio, psf[::-1, ::-1], mode="same")
    return estimate.var() + estimate[5, 5]


@program(lambda rng: (0.04 + 0.02 * rng.random(), rng.random((8, 8))))
def harris_corners(k, image):
    gx = scipy.ndimage.sobel(image, axis=1)
    gy = scipy.ndimage.sobel(image, axis=0)
    window = np.ones((3, 3)) / 9
    ixx = scipy.signal.convolve2d(gx * gx, window, mode="same")
    iyy = scipy.signal.convolve2d(gy * gy, window, mode="same")
    ixy = scipy.signal.convolve2d(gx * gy, window, mode="same")
    response = ixx * iyy - ixy**2 - k * (ixx + iyy) ** 2
    corners = []
    for i in range(1, 7):
        for j in range(1, 7):
            patch = response[i - 1 : i + 2, j - 1 : j + 2]
            if response[i, j] == patch.max() and response[i, j] > 0.5:
                corners.append((i, j, response[i, j]))
    corners.sort(key=lambda c: c[2], reverse=True)
    return sum(c[2] for c in corners[:3]) + 0.1 * response.mean()


@program(lambda rng: (rng.uniform(0.1, 0.5), rng.random((7, 7))))
def chambolle_denoising(lam, image):
    px, py = np.zeros_like(image), np.zeros_like(image)
    tau, previous = 0.2, None
    for i in range(15):
        div = np.zeros_like(image)
        div[1:, :] += px[1:, :] - px[:-1, :]
        div[0, :] += px[0, :]
        div[:, 1:] += py[:, 1:] - py[:, :-1]
        div[:, 0] += py[:, 0]
        u = image + lam * div
        energy = np.sum((u - image) ** 2)
        if previous is not None and abs(energy - previous) < 1e-3:
            break
        previous = energy
        gx, gy = np.zeros_like(u), np.zeros_like(u)
        gx[:-1, :] = np.diff(u, axis=0)
        gy[:, :-1] = np.diff(u, axis=1)
        norm = 1 + tau / lam * np.hypot(gx, gy)
        px = (px + tau / lam * gx) / norm
        py = (py + tau / lam * gy) / norm
    return u.var() + 0.01 * i


@program(lambda rng: (rng.uniform(0.01, 0.1), rng.normal(size=40), rng.normal(size=3)))
def lms_echo_canceller(mu, x, h):
    d = np.convolve(x, h)[: len(x)]
    w = np.zeros(4)
    buffer = deque([0.0] * 4, maxlen=4)
    errors = []
    for n in range(len(x)):
        buffer.appendleft(x[n])
        u = np.array(buffer)
        y = np.dot(w, u)
        e = d[n] - y
        w += 2 * mu * e * u
        errors.append(e)
    return np.mean(np.array(errors[-10:]) ** 2) + w[0]


def fft(x):
    n = len(x)
    if n <= 1:
        return x
    even, odd = fft(x[0::2]), fft(x[1::2])
    t = [cmath.exp(-2j * cmath.pi * k / n) * odd[k] for k in range(n // 2)]
    return [even[k] + t[k] for k in range(n // 2)] + [even[k] - t[k] for k in range(n // 2)]


@program(lambda rng: (rng.normal(size=8), rng.normal(size=8)))
def recursive_fft(x, y):
    spectrum = np.array(fft(list(x)))
    power = np.abs(spectrum) ** 2
    return power[1] + np.sum(power[:4] * y[:4])


@program(lambda rng: (rng.normal(size=7), rng.normal(size=6)))
def dynamic_time_warping(a, b):
    n, m = len(a), len(b)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = abs(a[i - 1] - b[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    i, j, path = n, m, []
    while i > 0 and j > 0:
        path.append((i - 1, j - 1))
        step = np.argmin([cost[i - 1, j - 1], cost[i - 1, j], cost[i, j - 1]])
        if step == 0:
            i, j = i - 1, j - 1
        elif step == 1:
            i -= 1
        else:
            j -= 1
    return cost[n, m] / len(path)


def mel_filter_bank(n_filters, n_fft, rate, low):
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    to_hertz = lambda m: 700 * (10 ** (m / 2595) - 1)
    points = to_hertz(np.linspace(to_mel(low), to_mel(rate / 2), n_filters + 2))
    bins = np.floor((n_fft + 1) * points / rate).astype(int)
    bank = np.zeros((n_filters, n_fft // 2 + 1))
    for m in range(1, n_filters + 1):
        for k in range(bins[m - 1], bins[m]):
            bank[m - 1, k] = (k - bins[m - 1]) / (bins[m] - bins[m - 1])
        for k in range(bins[m], bins[m + 1]):
            bank[m - 1, k] = (bins[m + 1] - k) / (bins[m + 1] - bins[m])
    return bank


@program(lambda rng: (rng.normal(size=128), 0.9 + 0.1 * rng.random()))
def mel_cepstrum(signal, alpha):
    emphasized = np.append(signal[0], signal[1:] - alpha * signal[:-1])
    length, step = 64, 32
    n_frames = 1 + (len(emphasized) - length) // step
    indices = (
        np.tile(np.arange(length), (n_frames, 1))
        + np.tile(np.arange(n_frames) * step, (length, 1)).T
    )
    frames = emphasized[indices.astype(np.int32, copy=False)]
    frames = frames * np.hamming(length)
    power = np.absolute(np.fft.rfft(frames, 64)) ** 2 / 64
    bank = mel_filter_bank(6, 64, 8000, 0)
    energies = np.dot(power, bank.T)
    energies = np.where(energies == 0, np.finfo(float).eps, energies)
    features = 20 * np.log10(energies)
    n = np.arange(6)
    dct = np.cos(np.pi * np.outer(n, n + 0.5) / 6)
    mfcc = features @ dct.T
    mfcc -= np.mean(mfcc, axis=0) + 1e-8
    return np.mean(mfcc**2) / 100


@program(
    lambda rng: (
        rng.uniform(0.05, 0.5),
        rng.random((5, 4)),
        rng.random(5) + 0.1,
        rng.random(4) + 0.1,
    )
)
def sinkhorn_transport(eps, C, a, b):
    a, b = a / a.sum(), b / b.sum()
    K = np.exp(-C / eps)
    u, v = np.ones(5), np.ones(4)
    for niter in range(100):
        u = a / (K @ v)
        v = b / (K.T @ u)
        P = np.diag(u) @ K @ np.diag(v)
        err = np.linalg.norm(P.sum(1) - a, 1)
        if err < 1e-6:
            break
    return np.sum(P * C) + eps * np.sum(P * np.log(P))


def soft_threshold(x, kappa):
    return np.sign(x) * np.maximum(np.abs(x) - kappa, 0.0)


@program(lambda rng: (rng.uniform(0.1, 0.6), rng.normal(size=(12, 5)), rng.normal(size=12)))
def lasso_by_admm(lam, A, b):
    rho, n = 1.0, A.shape[1]
    x, z, u = np.zeros(n), np.zeros(n), np.zeros(n)
    Atb = A.T @ b
    L = np.linalg.cholesky(A.T @ A + rho * np.eye(n))
    history = {"objective": [], "r_norm": [], "s_norm": []}
    for k in range(60):
        q = Atb + rho * (z - u)
        x = np.linalg.solve(L.T, np.linalg.solve(L, q))
        zold = z.copy()
        z = soft_threshold(x + u, lam / rho)
        u = u + x - z
        history["objective"].append(0.5 * np.sum((A @ x - b) ** 2) + lam * np.sum(np.abs(z)))
        history["r_norm"].append(np.linalg.norm(x - z))
        history["s_norm"].append(np.linalg.norm(-rho * (z - zold)))
        if history["r_norm"][-1] < 1e-3 and history["s_norm"][-1] < 1e-3:
            break
    return history["objective"][-1] + z.sum()


@program(lambda rng: (rng.uniform(0.5, 2.0, 6), rng.normal(size=6)))
def conjugate_gradients_of_stiffness(stiffness, b):
    n = len(b)
    A = np.diag(stiffness) + 0.2 * np.ones((n, n))
    x = np.zeros(n)
    r = b - A @ x
    p = r
    rs_old = r @ r
    k = 0
    while np.sqrt(rs_old) > 1e-8 and k < 2 * n:
        Ap = A @ p
        alpha = rs_old / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rs_new = r @ r
        p = r + (rs_new / rs_old) * p
        rs_old = rs_new
        k += 1
    return x @ b


def nelder_mead(f, x0, max_iter=12):
    n = len(x0)
    simplex = [(x0, f(x0))]
    for i in range(n):
        x = x0.copy()
        x[i] += 0.5
        simplex.append((x, f(x)))
    for _ in range(max_iter):
        simplex.sort(key=lambda point: point[1])
        best, worst, second = simplex[0], simplex[-1], simplex[-2]
        if worst[1] - best[1] < 1e-4:
            break
        center = np.mean([p[0] for p in simplex[:-1]], axis=0)
        xr = center + (center - worst[0])
        fr = f(xr)
        if best[1] <= fr < second[1]:
            simplex[-1] = (xr, fr)
        elif fr < best[1]:
            xe = center + 2 * (center - worst[0])
            fe = f(xe)
            simplex[-1] = (xe, fe) if fe < fr else (xr, fr)
        else:
            xc = center + 0.5 * (worst[0] - center)
            fc = f(xc)
            if fc < worst[1]:
                simplex[-1] = (xc, fc)
            else:
                simplex = [simplex[0]] + [
                    (best[0] + 0.5 * (x - best[0]), f(best[0] + 0.5 * (x - best[0])))
                    for x, _ in simplex[1:]
                ]
    return min(simplex, key=lambda point: point[1])


@program(lambda rng: (rng.uniform(0.5, 2.0, 2), rng.normal(size=2)))
def simplex_search(p, start):
    x, value = nelder_mead(lambda x: p[0] * (x[0] - 1) ** 2 + p[1] * (x[1] - x[0]) ** 2, start)
    return value + x[0]


class Truss:
    def __init__(self, nodes, elements):
        self.nodes = np.array(nodes, dtype=float)
        self.elements = elements

    def solve(self, areas, loads, fixed):
        n = 2 * len(self.nodes)
        K = np.zeros((n, n))
        for (i, j), area in zip(self.elements, areas):
            L = np.linalg.norm(self.nodes[j] - self.nodes[i])
            c, s = (self.nodes[j] - self.nodes[i]) / L
            T = np.array([[c, s, 0, 0], [0, 0, c, s]])
            ke = area / L * np.array([[1, -1], [-1, 1]])
            dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
            K[np.ix_(dofs, dofs)] += T.T @ ke @ T
        free = [d for d in range(n) if d not in fixed]
        u = np.zeros(n)
        u[free] = np.linalg.solve(K[np.ix_(free, free)], loads[free])
        return u


@program(lambda rng: (rng.uniform(0.5, 2.0, 5), rng.normal(size=8)))
def truss_compliance(areas, loads):
    truss = Truss([(0, 0), (1, 0), (0, 1), (1, 1)], [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)])
    u = truss.solve(areas, loads, fixed={0, 1, 4, 5})
    return loads @ u + 0.1 * areas.sum()


@program(lambda rng: (rng.uniform(0.85, 0.96), rng.uniform(0.5, 1.5)))
def bellman_iteration(beta, scale):
    alpha, grid = 0.4, np.linspace(0.1, 2.0, 12)

    def bellman(v):
        new, policy = np.empty_like(v), np.empty_like(v)
        for i, k in enumerate(grid):
            feasible = grid[grid < scale * k**alpha]
            if len(feasible) == 0:
                new[i], policy[i] = -10.0, grid[0]
                continue
            values = np.log(scale * k**alpha - feasible) + beta * v[: len(feasible)]
            best = np.argmax(values)
            new[i], policy[i] = values[best], grid[best]
        return new, policy

    v = np.zeros(len(grid))
    for _ in range(8):
        new, policy = bellman(v)
        if np.max(np.abs(new - v)) < 1e-2:
            break
        v = new
    return new.mean() + policy[-1]


@program(lambda rng: (rng.uniform(0.5, 3.0, 8), int(rng.integers(1, 5))))
def dijkstra_with_a_heap(lengths, target):
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (0, 4)]
    graph = {k: {} for k in range(5)}
    for (a, b), w in zip(edges, lengths):
        graph[a][b] = w
        graph[b][a] = w
    distances = {node: float("inf") for node in graph}
    distances[0] = 0
    queue = [(0, 0)]
    while queue:
        current, node = heapq.heappop(queue)
        if current > distances[node]:
            continue
        for neighbour, weight in graph[node].items():
            distance = current + weight
            if distance < distances[neighbour]:
                distances[neighbour] = distance
                heapq.heappush(queue, (distance, neighbour))
    return distances[target] + 0.1 * sum(distances.values())


@program(lambda rng: (rng.uniform(0.7, 0.95), rng.random((5, 5)) < 0.5))
def page_rank(damping, links):
    M = links.astype(float)
    for j in range(5):
        s = M[:, j].sum()
        if s == 0:
            M[:, j] = 1 / 5
        else:
            M[:, j] /= s
    M_hat = damping * M + (1 - damping) / 5
    v = np.ones(5) / 5
    last = np.zeros(5)
    while np.abs(v - last).sum() > 1e-6:
        last = v
        v = M_hat @ v
    return np.dot(v, np.arange(5))


@program(lambda rng: (rng.uniform(0.5, 1.5, 3), rng.integers(3, 7)))
def memoised_recursion(prices, n):
    @functools.lru_cache(maxsize=None)
    def best(k):
        if k == 0:
            return 0.0
        return max(prices[i] + best(k - i - 1) for i in range(min(k, 3)))

    return best(int(n)) + 0.5 * best(3)
