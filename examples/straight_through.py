"""Quantisation-aware training: weights of a few levels, rounded in the loop and trained through it.

np.round has no slope worth following, so nothing flows through it. `grad_pass_through` rounds in
the forward direction and lets gradients pass as if it did not: full-precision weights settle where
their rounded versions work. Rounding after the training loses far more.
Run: python examples/straight_through.py
"""

import numpy as np

import tracejit as tj

LEVELS = 3  # on each side of zero: three bits


round_through = tj.grad_pass_through(np.round)


def rounded(w, through=round_through):
    """`w` on a grid of 2 LEVELS + 1 values, as wide as its largest entry."""
    unit = tj.stop_gradient(np.max(np.abs(w))) / LEVELS
    return through(w / unit) * unit


def network(w1, w2, x, quantise):
    return np.tanh(x @ quantise(w1)) @ quantise(w2)


def trained(start, x, y, quantise, steps=2000, rate=0.05, momentum=0.9):
    """The weights after gradient descent on the squared error, quantised or not."""
    weights = [tj.Variable(w, name=f"w{k}") for k, w in enumerate(start, 1)]
    speeds = [tj.Variable(0.0 * w, trainable=False, name=f"speed{k}") for k, w in enumerate(start)]

    @tj.function
    def step(x, y, rate):
        with tj.GradientTape() as tape:
            loss = np.mean((network(*weights, x, quantise) - y) ** 2)
        for w, speed, slope in zip(weights, speeds, tape.gradient(loss, weights), strict=True):
            w.assign_sub(rate * speed.assign(momentum * speed + slope))
        return loss

    for k in range(steps):
        step(x, y, rate * (1 - k / steps))
    return [w.numpy() for w in weights], step


def main():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 2))
    y = np.sin(3 * x[:, 0]) * x[:, 1]
    x = np.concatenate([x, np.ones((200, 1))], axis=1)
    start = [rng.normal(0, 1, (3, 32)), rng.normal(0, 0.2, 32)]

    float_weights, _ = trained(start, x, y, quantise=lambda w: w)
    aware_weights, step = trained(start, x, y, quantise=rounded)
    errors = {
        "full precision": np.mean((network(*float_weights, x, lambda w: w) - y) ** 2),
        "rounded afterwards": np.mean((network(*float_weights, x, rounded) - y) ** 2),
        "rounded in training": np.mean((network(*aware_weights, x, rounded) - y) ** 2),
    }
    assert errors["rounded in training"] < 0.5 * errors["rounded afterwards"]
    levels = len(np.unique(rounded(aware_weights[0])))
    assert levels <= 2 * LEVELS + 1

    w = tj.Variable(start[1])
    with tj.GradientTape() as tape:
        lost = np.sum(rounded(w, through=np.round))
    print(f"gradient of a sum of plainly rounded weights: {tape.gradient(lost, w)}")
    for name, error in errors.items():
        print(f"{name:>20}: mean squared error {error:.4f}")
    print(f"{levels} different weights in the first layer")
    return errors, step


if __name__ == "__main__":
    main()
