"""A restricted Boltzmann machine, trained by contrastive divergence without writing its gradient.

The loss is the free energy of the data minus that of their reconstructions. Reconstructions come
from the model itself, so without `stop_gradient` the gradient would also run through the sampler;
with it, it is the well-known rule: correlations of the data minus those of the reconstructions.
Run: python examples/rbm.py
"""

import numpy as np

import tracejit as tj


def sigmoid(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def free_energy(p, v):
    return np.mean(-v @ p["b"] - np.sum(np.logaddexp(0.0, v @ p["w"] + p["c"]), axis=1))


def reconstruct(p, v, noise):
    """Hidden units drawn given `v`; the probabilities of the visible ones given these."""
    hidden = sigmoid(v @ p["w"] + p["c"])
    drawn = np.where(noise < hidden, 1.0, 0.0)
    return sigmoid(drawn @ p["w"].T + p["b"])


def loss(p, v, noise):
    again = tj.stop_gradient(reconstruct(p, v, noise))
    return free_energy(p, v) - free_energy(p, again)


def by_hand(p, v, noise):
    """The gradient of `loss`, as the textbook has it."""
    again = reconstruct(p, v, noise)
    h, h_again = sigmoid(v @ p["w"] + p["c"]), sigmoid(again @ p["w"] + p["c"])
    return {
        "w": (again.T @ h_again - v.T @ h) / len(v),
        "b": np.mean(again - v, axis=0),
        "c": np.mean(h_again - h, axis=0),
    }


def bars(rng, count, size=4):
    """Pictures of full rows, or of full columns."""
    lines = rng.integers(0, 2, (count, size, 1)) * np.ones((1, 1, size))
    flip = rng.integers(0, 2, count).astype(bool)
    return np.where(flip[:, None, None], lines, lines.transpose(0, 2, 1)).reshape(count, -1)


@tj.function
def step(p, v, noise, rate):
    slope = tj.grad(loss)(p, v, noise)
    return {name: p[name] - rate * slope[name] for name in p}


def main(steps=1500, hidden=16, batch=50, rate=0.2):
    rng = np.random.default_rng(0)
    p = {"w": rng.normal(0, 0.1, (16, hidden)), "b": np.zeros(16), "c": np.zeros(hidden)}
    test, noise = bars(rng, 200), rng.random((200, hidden))
    before = np.mean((reconstruct(p, test, noise) - test) ** 2)
    for _ in range(steps):
        p = step(p, bars(rng, batch), rng.random((batch, hidden)), rate)
    after = np.mean((reconstruct(p, test, noise) - test) ** 2)
    assert after < 0.2 * before

    slope, rule = tj.grad(loss)(p, test, noise), by_hand(p, test, noise)
    gap = max(np.max(np.abs(slope[name] - rule[name])) for name in p)
    assert gap < 1e-14, "the gradient is the rule of contrastive divergence"
    through = tj.grad(lambda p, v: free_energy(p, v) - free_energy(p, reconstruct(p, v, noise)))
    assert np.max(np.abs(through(p, test)["b"] - rule["b"])) > 1e-3

    print(f"squared error of reconstructions {before:.4f} -> {after:.4f}")
    print(f"largest difference from the rule by hand {gap:.0e}")
    return before, after, p


if __name__ == "__main__":
    main()
