"""Train a classifier of handwritten digits: one hidden layer and a softmax, float32, mini-batches.

Needs scikit-learn for the images: pip install 'tracejit[demo]'. Run: python examples/digits.py
"""

import numpy as np
from sklearn.datasets import load_digits

import tracejit as tj


def scores(p, x):
    h = np.tanh(x @ p["w1"] + p["b1"])
    return h @ p["w2"] + p["b2"]


def loss(p, x, y):
    """Mean cross-entropy of one-hot labels `y`, and a penalty on large weights."""
    logits = scores(p, x)
    logits = logits - tj.stop_gradient(np.max(logits, axis=1, keepdims=True))
    log_total = np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    error = np.mean(np.sum(y * (log_total - logits), axis=1))
    return error + 2e-4 * (np.sum(p["w1"] ** 2) + np.sum(p["w2"] ** 2))


@tj.function  # recorded twice: for the first learning rate, and for all others
def step(p, x, y, rate):
    value, slope = tj.value_and_grad(loss)(p, x, y)
    new = {}
    for name in p:
        new[name] = p[name] - rate * slope[name]
    return value, new


def main(epochs=60, batch=32):
    rng = np.random.default_rng(0)
    x, digit = load_digits(return_X_y=True)
    x = np.float32(x / 16)
    y = np.eye(10, dtype=np.float32)[digit]
    train, test = np.split(rng.permutation(len(x)), [1440])
    p = {
        "w1": rng.normal(0, 1 / 8, (64, 64)).astype(np.float32),
        "b1": np.zeros(64, np.float32),
        "w2": rng.normal(0, 1 / 8, (64, 10)).astype(np.float32),
        "b2": np.zeros(10, np.float32),
    }
    for epoch in range(epochs):
        rate = 0.25 * (1 + np.cos(np.pi * epoch / epochs))
        for rows in rng.permutation(train).reshape(-1, batch):
            value, p = step(p, x[rows], y[rows], float(rate))
    accuracy = np.mean(np.argmax(scores(p, x[test]), axis=1) == digit[test])
    print(f"loss of the last batch {value:.4f}, test accuracy {accuracy:.1%}")
    print(f"{len(step.kernels)} kernels; the newest: {step.kernels[-1].path}")
    return accuracy, p


if __name__ == "__main__":
    main()
