"""A layer with its own rule for its own weights: the gradient of each example is clipped.

A tape hands out sums over the examples of a batch; no single example can be limited afterwards.
The rule of this layer limits each one before the sum, so that a few wild labels cannot steer the
weights. The layer reads its Variables by itself: the rule gets them as `variables` and returns
their gradients beside those of the arguments.
Run: python examples/custom_variables.py
"""

import numpy as np

import tracejit as tj


class RobustLinear:
    """x @ w + b; no example adds more than `limit` to the gradient of (w, b)."""

    def __init__(self, inputs, limit):
        self.w = tj.Variable(np.zeros(inputs), name="w")
        self.b = tj.Variable(0.0, name="b")
        self.limit = limit

    @tj.custom_gradient
    def __call__(self, x):
        w = self.w.read_value()

        def grad(upstream, variables):
            # One example's gradient is upstream * (x, 1), and as long as this:
            length = np.abs(upstream) * np.sqrt(np.sum(x * x, axis=1) + 1)
            clipped = upstream * np.minimum(1.0, self.limit / np.maximum(length, 1e-12))
            slopes = {"w": clipped @ x, "b": np.sum(clipped)}
            return np.outer(upstream, w), [slopes[v.name] for v in variables]

        return x @ w + self.b, grad


def fitted(layer, x, y, steps=300, rate=0.5):
    @tj.function
    def step(x, y):
        with tj.GradientTape() as tape:
            loss = 0.5 * np.mean((layer(x) - y) ** 2)
        w_bar, b_bar = tape.gradient(loss, (layer.w, layer.b))
        layer.w.assign_sub(rate * w_bar)
        layer.b.assign_sub(rate * b_bar)
        return loss

    for _ in range(steps):
        step(x, y)
    return layer, step


def clipped_by_hand(layer, x, y):
    """The sum of the clipped gradients of single examples."""
    total = np.zeros(x.shape[1] + 1)
    for row, label in zip(x, y, strict=True):
        one = np.append(row, 1.0) * (row @ layer.w.numpy() + layer.b.numpy() - label) / len(x)
        total += one * min(1.0, layer.limit / np.linalg.norm(one))
    return total


def main():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=5)
    x = rng.normal(size=(200, 5))
    y = x @ truth + 1.0 + rng.normal(0, 0.1, 200)
    y[:20] += rng.normal(60.0, 30.0, 20)  # wild

    robust, step = fitted(RobustLinear(5, limit=0.002), x, y)
    plain, _ = fitted(RobustLinear(5, limit=np.inf), x, y)
    errors = [np.max(np.abs(layer.w.numpy() - truth)) for layer in (robust, plain)]
    offsets = [float(layer.b) for layer in (robust, plain)]

    layer = RobustLinear(5, limit=0.002)
    with tj.GradientTape() as tape:
        loss = 0.5 * np.mean((layer(x) - y) ** 2)
    w_bar, b_bar = tape.gradient(loss, (layer.w, layer.b))
    by_hand = clipped_by_hand(layer, x, y)
    np.testing.assert_allclose(np.append(w_bar.numpy(), b_bar.numpy()), by_hand, rtol=1e-12)

    for name, error, b in zip(("clipped", "plain"), errors, offsets, strict=True):
        print(f"{name:>8}: weights off by {error:.3f}, offset {b:.3f} (truth 1)")
    assert errors[0] < 0.1 < errors[1] and abs(offsets[0] - 1) < 0.2
    return errors, step


if __name__ == "__main__":
    main()
