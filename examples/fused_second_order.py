"""Newton's method on a logistic regression whose value, gradient and Hessian are fused by hand.

All three need the same exponentials. `fused` computes them once; nested custom gradients hand out
the gradient to the first differentiation and the Hessian to the second. The rule's own rule says
how the gradient depends on its argument, so nothing of the body is differentiated at any order.
Run: python examples/fused_second_order.py
"""

import numpy as np

import tracejit as tj


def fused(w, x, y):
    """Value, gradient and Hessian of the mean of log(1 + exp(-y x.w)), with a small penalty."""
    margin = y * (x @ w)
    wrong = 0.5 - 0.5 * np.tanh(0.5 * margin)  # how much each point says otherwise
    n = len(x)
    value = np.mean(np.logaddexp(0.0, -margin)) + 0.5e-3 * (w @ w)
    slope = 1e-3 * w - x.T @ (y * wrong) / n
    curvature = 1e-3 * np.eye(len(w)) + (x.T * (wrong * (1 - wrong))) @ x / n
    return value, slope, curvature


@tj.custom_gradient
def loss(w, x, y):
    value, slope, curvature = fused(w, x, y)

    def first(upstream):
        @tj.custom_gradient
        def gradient(w):
            return slope, lambda cotangent: curvature @ cotangent

        return upstream * gradient(w), None, None

    return value, first


def plain(w, x, y):
    return fused(w, x, y)[0]


@tj.function
def derivatives(w, x, y, f=loss):
    """The value of `f`, its gradient and its Hessian, by two tapes."""
    with tj.GradientTape() as outer:
        outer.watch(w)
        with tj.GradientTape() as inner:
            inner.watch(w)
            value = f(w, x, y)
        slope = inner.gradient(value, w)
    return value, slope, outer.jacobian(slope, w)


def main(steps=8):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(300, 5)), np.ones((300, 1))], axis=1)
    y = np.where(x @ rng.normal(size=6) + rng.logistic(size=300) > 0, 1.0, -1.0)

    w, largest = np.zeros(6), []
    for _ in range(steps):
        value, slope, curvature = derivatives(w, x, y)
        w = w - np.linalg.solve(curvature, slope)
        largest.append(float(np.max(np.abs(slope))))
        print(f"loss {value:.12f}, largest slope {largest[-1]:.1e}")
    assert largest[-1] < 1e-15

    for found, expected in zip(derivatives(w, x, y), derivatives(w, x, y, plain), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-16)
    kernels = [derivatives.kernel(w, x, y, f) for f in (loss, plain)]
    lines = [len(kernel.source.splitlines()) for kernel in kernels]
    print(f"generated lines: {lines[0]} fused, {lines[1]} differentiated")
    return largest, kernels


if __name__ == "__main__":
    main()
