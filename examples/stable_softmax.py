"""Softmax regression on logits of any size: the largest is subtracted, and stopped.

The softmax does not change when all logits move by the same amount, so neither does its gradient:
what flows through the maximum cancels, up to rounding. `stop_gradient` says so, and the generated
backward code has no search for the place of the maximum. Nor has it where it is as plain as here
that the maximum has no effect. The step is a tape inside a function.
Run: python examples/stable_softmax.py
"""

import numpy as np

import tracejit as tj


def log_softmax(logits, stop=tj.stop_gradient):
    shifted = logits - stop(np.max(logits, axis=1, keepdims=True))
    return shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))


def cross_entropy(logits, labels):
    return -np.mean(np.sum(labels * log_softmax(logits), axis=1))


def cross_entropy_through_max(logits, labels):
    return -np.mean(np.sum(labels * log_softmax(logits, stop=lambda x: x), axis=1))


def clouds(rng, centers, count):
    """`count` points around each of the centers, and their one-hot labels."""
    classes = np.repeat(np.arange(len(centers)), count)
    points = centers[classes] + rng.normal(size=(len(classes), centers.shape[1]))
    return points, np.eye(len(centers))[classes]


def main(steps=200, rate=0.5):
    rng = np.random.default_rng(0)
    x, labels = clouds(rng, np.array([[0.0, 3.0], [3.0, -2.0], [-3.0, -2.0]]), 50)
    w, b = tj.Variable(np.zeros((2, 3)), name="w"), tj.Variable(np.zeros(3), name="b")

    @tj.function
    def step(x, labels):
        with tj.GradientTape() as tape:
            loss = cross_entropy(x @ w + b, labels)
        w_bar, b_bar = tape.gradient(loss, [w, b])
        w.assign_sub(rate * w_bar)
        b.assign_sub(rate * b_bar)
        return loss

    losses = [float(step(x, labels)) for _ in range(steps)]
    assert losses[-1] < 0.05 < losses[0]

    # Against the formula, softmax - labels, for logits far beyond what exp can take.
    huge = 1000.0 * (x @ w.numpy() + b.numpy())
    slope = tj.grad(cross_entropy)(huge, labels)
    e = np.exp(huge - huge.max(axis=1, keepdims=True))
    formula = (e / e.sum(axis=1, keepdims=True) - labels) / len(x)
    np.testing.assert_allclose(slope, formula, atol=1e-17)
    assert np.ptp(huge) > 709

    through = tj.grad(cross_entropy_through_max)
    np.testing.assert_allclose(through(huge, labels), slope, atol=1e-17)
    kernels = [f.kernel(huge, labels) for f in (tj.grad(cross_entropy), through)]
    sizes = [len(kernel.source.splitlines()) for kernel in kernels]
    assert sizes[0] == sizes[1]
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {steps} steps")
    print(f"largest difference of logits {np.ptp(huge):.0f}, gradient as in the formula")
    print(f"lines of generated code: {sizes[0]} with the stop, {sizes[1]} without")
    return losses, step


if __name__ == "__main__":
    main()
