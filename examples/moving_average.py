"""Centring by a moving average: kept in a Variable, trained through as the mean of the batch.

A layer centred by the mean of its batch depends on the batch; one centred by a moving average can
do without. `grad_pass_through(layer.update)` gives the average in the forward direction and lets
the gradient pass to the mean of this batch, as if the layer were centred by that. The update is an
effect: it happens once per step, in order.
Run: python examples/moving_average.py
"""

import numpy as np

import tracejit as tj


class Centred:
    """A linear layer whose outputs are centred by a moving average of their mean."""

    def __init__(self, weights, decay=0.9):
        self.w = tj.Variable(weights, name="w")
        self.mean = tj.Variable(np.zeros(weights.shape[1]), trainable=False, name="mean")
        self.decay = decay

    def update(self, mean):
        return self.mean.assign(self.decay * self.mean + (1 - self.decay) * mean)

    def training(self, x):
        h = x @ self.w
        return h - tj.grad_pass_through(self.update)(np.mean(h, axis=0))

    def prediction(self, x):
        return x @ self.w - self.mean

    def by_hand(self, x):
        """What `training` answers, its gradient spelled as a mean corrected by a constant."""
        h = x @ self.w
        mean = np.mean(h, axis=0)
        average = self.decay * self.mean + (1 - self.decay) * mean
        return h - (mean + tj.stop_gradient(average - mean))


def loss_and_slopes(layer, v, x, y):
    with tj.GradientTape() as tape:
        loss = np.mean((np.tanh(layer(x)) @ v - y) ** 2)
    return loss, tape.gradient(loss, tape.watched_variables())


def main(steps=600, rate=0.05):
    rng = np.random.default_rng(0)
    layer = Centred(rng.normal(0, 0.3, (5, 16)))
    v = tj.Variable(np.zeros(16), name="v")
    offset, truth = rng.normal(0, 5, 5), rng.normal(size=5)

    def batch(count=64):
        z = rng.normal(size=(count, 5))
        return z + offset, np.tanh(z @ truth)

    @tj.function
    def step(x, y):
        loss, slopes = loss_and_slopes(layer.training, v, x, y)
        for weights, slope in zip((layer.w, v), slopes, strict=True):
            weights.assign_sub(rate * slope)
        return loss

    losses = [float(step(*batch())) for _ in range(steps)]

    # One more batch, without a step: what the marker does is what the formula says.
    x, y = batch()
    before = layer.mean.numpy()
    loss_by_hand, slopes_by_hand = loss_and_slopes(layer.by_hand, v, x, y)
    loss, slopes = loss_and_slopes(layer.training, v, x, y)
    assert float(loss) == float(loss_by_hand)
    for slope, by_hand in zip(slopes, slopes_by_hand, strict=True):
        np.testing.assert_allclose(slope.numpy(), by_hand.numpy(), rtol=1e-12, atol=1e-15)
    once = 0.9 * before + 0.1 * np.mean(x @ layer.w.numpy(), axis=0)
    np.testing.assert_allclose(layer.mean.numpy(), once, rtol=1e-15, atol=1e-15)

    x, y = batch(1000)
    alone = [float(np.tanh(layer.prediction(row)) @ v) for row in x]  # no batch is needed now
    error = np.mean((alone - y) ** 2)
    print(f"training loss {losses[0]:.4f} -> {losses[-1]:.4f}, one example at a time {error:.4f}")
    gap = np.max(np.abs(layer.mean.numpy() - offset @ layer.w.numpy()))
    print(f"the moving mean is within {gap:.3f} of the true one")
    assert error < 0.1 * losses[0]
    return losses, error, step


if __name__ == "__main__":
    main()
