"""Adversarial training: a small classifier that also sees the points an attacker would make.

The attack (fast gradient) moves each point by `reach` along the slope of its loss. It depends on
the weights; the defender differentiates as if it did not: `stop_gradient`, without which the step
would be of second order. Two tapes, one inside the other, in one compiled step.
Run: python examples/adversarial.py
"""

import numpy as np

import tracejit as tj


class Classifier:
    """One hidden layer; a positive score says class 1, a negative one class -1."""

    def __init__(self, rng, hidden=24):
        self.w1 = tj.Variable(rng.normal(0, 1, (3, hidden)), name="w1")
        self.b1 = tj.Variable(rng.normal(0, 1, hidden), name="b1")
        self.w2 = tj.Variable(rng.normal(0, 0.3, hidden), name="w2")
        self.weights = [self.w1, self.b1, self.w2]

    def scores(self, x):
        return np.tanh(x @ self.w1 + self.b1) @ self.w2

    def losses(self, x, y):
        return np.logaddexp(0.0, -y * self.scores(x))

    def attacked(self, x, y, reach):
        """Each point, moved by `reach` to where its loss grows fastest."""
        with tj.GradientTape() as tape:
            tape.watch(x)
            losses = self.losses(x, y)
        slope = tape.gradient(losses, x)
        length = np.sqrt(np.sum(slope * slope, axis=1, keepdims=True))
        return x + reach * slope / (length + 1e-12)

    def gradients(self, x, y, reach, stop):
        with tj.GradientTape() as tape:
            loss = np.mean(self.losses(stop(self.attacked(x, y, reach)), y))
        return tape.gradient(loss, self.weights)

    @tj.function
    def step(self, x, y, reach, rate):
        slopes = self.gradients(x, y, reach, tj.stop_gradient)
        for weights, slope in zip(self.weights, slopes, strict=True):
            weights.assign_sub(rate * slope)

    @tj.function
    def accuracy(self, x, y, reach):
        """The share of points that keep their class under attack."""
        return np.mean(np.where(y * self.scores(self.attacked(x, y, reach)) > 0, 1.0, 0.0))


def moons(rng, count):
    """Two half circles that reach into each other, labels -1 and 1, and in the third column a faint
    clue of the label: reliable, and easily forged."""
    angle, y = rng.uniform(0, np.pi, count), np.where(np.arange(count) % 2, 1.0, -1.0)
    x = np.stack([np.cos(angle) + 0.5 * y, y * (0.25 - np.sin(angle)), 0.15 * y], axis=1)
    return x + rng.normal(0, (0.1, 0.1, 0.02), x.shape), y


def main(steps=1500, reach=0.3, rate=0.5):
    rng = np.random.default_rng(1)
    (x, y), test = moons(rng, 200), moons(rng, 1000)
    shares = {}
    for name, training in (("plain", 0.0), ("adversarial", reach)):
        model = Classifier(np.random.default_rng(0))
        for _ in range(steps):
            model.step(x, y, training, rate)
        shares[name] = [float(model.accuracy(*test, to)) for to in (0.0, reach)]
        print(f"{name:>11} training: {shares[name][0]:.1%} correct, {shares[name][1]:.1%} attacked")
    assert shares["adversarial"][1] > shares["plain"][1] + 0.5
    assert shares["adversarial"][0] > 0.98

    # A stopped attack is a constant to the defender; one that is not adds terms of second order.
    fixed = model.attacked(tj.constant(x), y, reach).numpy()
    for slope, by_hand, through in zip(
        model.gradients(tj.constant(x), y, reach, tj.stop_gradient),
        model.gradients(tj.constant(fixed), y, 0.0, tj.stop_gradient),
        model.gradients(tj.constant(x), y, reach, lambda attack: attack),
        strict=True,
    ):
        np.testing.assert_allclose(slope.numpy(), by_hand.numpy(), rtol=1e-12, atol=1e-15)
        assert np.max(np.abs(through.numpy() - slope.numpy())) > 1e-4
    return shares, model


if __name__ == "__main__":
    main()
