"""Clipping inside a recurrent network, whose gradients explode on their way back through time.

The network has to remember a sign over many steps. Going back, the cotangent of its state is
multiplied by the same matrix again and again. An identity whose rule limits the cotangent's length
stands in the loop, so each step back is limited, not only what comes out at the end. A second
identity scales: the recurrent matrix learns more slowly than the rest.
Run: python examples/clip_gradients.py
"""

import numpy as np

import tracejit as tj


@tj.custom_gradient
def clip_gradient(x, limit):
    """`x`; each row of its gradient is at most `limit` long."""

    def grad(upstream):
        length = np.sqrt(np.sum(upstream * upstream, axis=-1, keepdims=True))
        return upstream * (limit / np.maximum(length, limit))

    return x, grad


@tj.custom_gradient
def scale_gradient(x, factor):
    """`x`; its gradient is `factor` times what it was."""
    return x, lambda upstream: factor * upstream


def scores(p, x, limit):
    h = np.zeros((len(x), len(p["b"])))
    recurrent = scale_gradient(p["recurrent"], 0.1)
    for step in range(x.shape[1]):
        h = np.tanh(clip_gradient(h, limit) @ recurrent + x[:, step, None] * p["inputs"] + p["b"])
    return h @ p["readout"]


def loss(p, x, y, limit):
    return np.mean(np.logaddexp(0.0, -y * scores(p, x, limit)))


@tj.function(static_argnames="limit")
def step(p, x, y, rate, limit):
    value, slopes = tj.value_and_grad(loss)(p, x, y, limit)
    length = np.sqrt(sum(np.sum(slope * slope) for slope in slopes.values()))
    return value, length, {name: p[name] - rate * slopes[name] for name in p}


def trained(x, y, limit, steps=300, rate=0.5, hidden=16):
    rng = np.random.default_rng(0)
    p = {
        "recurrent": rng.normal(0, 3.0 / np.sqrt(hidden), (hidden, hidden)),
        "inputs": rng.normal(0, 0.1, hidden),
        "b": np.zeros(hidden),
        "readout": rng.normal(0, hidden**-0.5, hidden),
    }
    losses, lengths = [], []
    for _ in range(steps):
        value, length, p = step(p, x, y, rate, limit)
        losses.append(float(value))
        lengths.append(float(length))
    return losses, lengths


def main():
    rng = np.random.default_rng(1)
    y = rng.choice([-1.0, 1.0], 64)
    x = 0.05 * rng.normal(size=(64, 25))
    x[:, 0] = y  # what is to be remembered; noise follows
    found = {}
    for name, limit in (("plain", 1e9), ("clipped", 0.1)):
        losses, lengths = found[name] = trained(x, y, limit)
        print(f"{name:>8}: first gradient {lengths[0]:7.1f} long, loss", end=" ")
        print(f"{losses[0]:.4f} -> {losses[-1]:.4f}")
    assert found["plain"][1][0] > 100 * found["clipped"][1][0]
    assert found["plain"][0][-1] > 0.5 and found["clipped"][0][-1] < 0.01

    # The rule by itself: cotangents of length 5 and 0.5, the first of which is clipped.
    upstream = np.array([[3.0, 4.0], [0.3, 0.4]])
    slope = tj.grad(lambda x: np.sum(clip_gradient(x, 1.0) * upstream))(np.zeros((2, 2)))
    np.testing.assert_allclose(slope, [[0.6, 0.8], [0.3, 0.4]], rtol=1e-15)
    return found


if __name__ == "__main__":
    main()
