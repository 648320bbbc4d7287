"""Models, losses, layers, optimisers."""

from __future__ import annotations

import numpy as np

from tests.idioms.table import idiom, labels, normal, positive, spd


@idiom(normal(3), np.float64(0.1), normal(5, 3), normal(5))
def linear_regression(w, b, x, y):
    return np.mean((x @ w + b - y) ** 2)


@idiom(normal(3), normal(6, 3), np.array([0, 1, 1, 0, 1, 0]))
def logistic_regression(w, x, y):
    z = x @ w
    return np.mean(np.logaddexp(0, z) - y * z)


@idiom(normal(3, 4), normal(4), normal(4, 2), normal(5, 3))
def two_layer_network(w1, b1, w2, x):
    return np.maximum(x @ w1 + b1, 0) @ w2


@idiom(normal(3, 4), labels(4, 3))
def cross_entropy(logits, label):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(label)), label].mean()


@idiom(normal(3, 4), labels(4, 3))
def label_smoothing(logits, label):
    target = 0.9 * np.eye(4)[label] + 0.1 / 4
    log_p = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    return -np.mean(np.sum(target * log_p, axis=1))


@idiom(positive(4) / 3, np.array([1, 0, 1, 1]))
def focal_loss(p, y):
    pt = np.where(y == 1, p, 1 - p)
    return -np.mean((1 - pt) ** 2 * np.log(pt))


@idiom(normal(2, 3, 4), positive(4), normal(4))
def layer_norm(x, gain, bias, eps=1e-5):
    mean, var = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(var + eps) + bias


@idiom(normal(6, 3), positive(3), normal(3))
def batch_norm(x, gamma, beta):
    mean, var = np.mean(x, axis=0), np.var(x, axis=0)
    return gamma * (x - mean) / np.sqrt(var + 1e-5) + beta


@idiom(normal(4, 3), normal(5, 3), normal(5, 2))
def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


@idiom(normal(2, 3, 8))
def multi_head_attention(x, heads=2):
    batch, length, width = x.shape
    split = x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)
    scores = np.einsum("bhqd,bhkd->bhqk", split, split)
    scores = np.where(np.tril(np.ones((length, length))) == 0, -1e9, scores)
    p = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    p = p / np.sum(p, axis=-1, keepdims=True)
    return (p @ split).transpose(0, 2, 1, 3).reshape(batch, length, width)


@idiom(normal(5, 3), np.array([[0, 2], [4, 4]]))
def embedding(table, tokens):
    return table[tokens].mean(axis=1)


@idiom(normal(4, 3), normal(4, 4), normal(6, 3))
def recurrent_network(w, u, sequence):
    h = np.zeros(4)
    for x in sequence:
        h = np.tanh(w @ x + u @ h)
    return h


@idiom(normal(8, 5), normal(3), normal(2), normal(2))
def lstm_cell(w, x, h, c):
    z = w @ np.concatenate([x, h])
    i, f, o, g = np.split(z, 4)
    gate = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    c = gate(f) * c + gate(i) * np.tanh(g)
    return gate(o) * np.tanh(c), c


@idiom(normal(3, 4), np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]]))
def dropout(x, keep):
    return x * keep / 0.7


@idiom(normal(8), normal(3))
def convolution_1d(signal, kernel):
    return np.convolve(signal, kernel, mode="same")


@idiom(normal(2, 5, 5), normal(3, 2, 3, 3))
def convolution_2d(image, kernels):
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    return np.einsum("cijkl,ockl->oij", windows, kernels)


@idiom(normal(4, 4, 2))
def max_pooling(x):
    return x.reshape(2, 2, 2, 2, 2).max(axis=(1, 3))


@idiom(normal(4, 2), normal(4, 2), normal(4, 2))
def triplet_loss(anchor, same, other):
    near = np.sum((anchor - same) ** 2, axis=1)
    far = np.sum((anchor - other) ** 2, axis=1)
    return np.mean(np.maximum(near - far + 1.0, 0.0))


@idiom(normal(4, 3), normal(4, 3))
def contrastive_info_nce(a, b):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    s = a @ b.T / 0.1
    return -np.mean(np.diag(s) - np.log(np.sum(np.exp(s), axis=1)))


@idiom(normal(6, 2), normal(3, 2))
def soft_k_means(x, centers):
    d = ((x[:, None] - centers) ** 2).sum(-1)
    r = np.exp(-d) / np.exp(-d).sum(axis=1, keepdims=True)
    return (r.T @ x) / r.sum(axis=0)[:, None]


@idiom(normal(5), normal(2), positive(2), positive(2))
def mixture_log_likelihood(x, mu, sigma, weights):
    log_w = np.log(weights / weights.sum())
    z = (x[:, None] - mu) / sigma
    log_p = log_w - 0.5 * z**2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
    top = log_p.max(axis=1, keepdims=True)
    return np.sum(top[:, 0] + np.log(np.exp(log_p - top).sum(axis=1)))


@idiom(normal(4, 2), normal(4), np.float64(0.9))
def gaussian_process_loss(x, y, scale):
    d2 = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    k = np.exp(-0.5 * d2 / scale**2) + 0.1 * np.eye(len(x))
    root = np.linalg.cholesky(k)
    alpha = np.linalg.solve(root.T, np.linalg.solve(root, y))
    return 0.5 * y @ alpha + np.sum(np.log(np.diagonal(root)))


@idiom(normal(3), normal(4, 3), np.array([2, 0, 1, 5]))
def poisson_regression(w, x, count):
    rate = np.exp(x @ w)
    return np.mean(rate - count * np.log(rate))


@idiom(normal(3), normal(3), np.zeros(3), positive(3))
def adam_step(w, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    return w - 0.01 * (m / (1 - 0.9)) / (np.sqrt(v / (1 - 0.999)) + 1e-8), m, v


@idiom(normal(4, 6))
def positional_encoding(x):
    length, width = x.shape
    position = np.arange(length)[:, None]
    rate = 1 / 10000 ** (np.arange(0, width, 2) / width)
    table = np.concatenate([np.sin(position * rate), np.cos(position * rate)], axis=1)
    return x * np.sqrt(width) + table


@idiom(normal(3), normal(3))
def variational_bound(mu, log_var):
    noise = np.array([0.3, -1.2, 0.5])
    z = mu + np.exp(0.5 * log_var) * noise
    kl = -0.5 * np.sum(1 + log_var - mu**2 - np.exp(log_var))
    return np.sum((z - 1.0) ** 2) + kl


@idiom(normal(4, 2), normal(3, 2), normal(4, 3) > 0)
def matrix_factorisation(users, items, known):
    error = np.where(known, users @ items.T - 1.0, 0.0)
    return np.sum(error**2) + 0.1 * (np.sum(users**2) + np.sum(items**2))


@idiom(positive(4, 4))
def pagerank(links):
    p = links / links.sum(axis=0)
    rank = np.full(4, 0.25)
    for _ in range(6):
        rank = 0.15 / 4 + 0.85 * p @ rank
    return rank


@idiom(normal(3, 3), normal(5, 3))
def hidden_markov_forward(log_transition, log_emission):
    alpha = log_emission[0]
    for t in range(1, 5):
        joint = alpha[:, None] + log_transition
        top = joint.max(axis=0)
        alpha = log_emission[t] + top + np.log(np.exp(joint - top).sum(axis=0))
    return np.logaddexp(np.logaddexp(alpha[0], alpha[1]), alpha[2])


@idiom(normal(3, 3), normal(5, 3))
def viterbi_score(transition, emission):
    best = emission[0]
    for e in emission[1:]:
        best = np.max(best[:, None] + transition, axis=0) + e
    return best.max()


@idiom(normal(4), normal(4))
def elo_update(ratings, results):
    expected = 1 / (1 + 10 ** (-ratings / 400))
    return ratings + 32 * (np.tanh(results) - expected)


@idiom([normal(3, 4), normal(4, 2)], normal(5, 3))
def list_of_weights(weights, x):
    for w in weights[:-1]:
        x = np.tanh(x @ w)
    return x @ weights[-1] + 0.01 * sum(np.sum(w**2) for w in weights)


@idiom(normal(4), spd(4))
def portfolio(weights, cov):
    w = np.exp(weights) / np.sum(np.exp(weights))
    return w @ np.linspace(0.01, 0.04, 4) - 2 * np.sqrt(w @ cov @ w)


@idiom(normal(5))
def gradient_clipping(g):
    return g * np.minimum(1.0, 1.0 / np.linalg.norm(g))
