"""log(1 + e^x), the softplus, with a custom gradient that stays right where autodiff overflows.

Written down as it stands, log(1 + e^x) is inf for x > 709 and its derivative inf / inf. Here the
value takes another form for large x, and the rule reuses the exponential of the forward run. Rules
are ordinary code: the second derivative comes from differentiating this one.
Run: python examples/log1pexp.py
"""

import numpy as np

import tracejit as tj


def plain(x):
    return np.log(1 + np.exp(x))


@tj.custom_gradient
def log1pexp(x):
    """Beyond 40 the 1 is lost in float64: log(1 + e^x) is x there."""
    e = np.exp(np.minimum(x, 40.0))

    def grad(upstream):
        return upstream * e / (1 + e)

    return np.where(x > 40.0, x, np.log1p(e)), grad


def derivatives(f):
    """The first and second derivative of an elementwise `f`."""
    first = tj.grad(lambda x: np.sum(f(x)))
    return first, tj.grad(lambda x: np.sum(first(x)))


def main():
    x = np.array([-1000.0, -700.0, -30.0, -1.0, 0.0, 2.5, 36.0, 100.0, 709.0, 710.0, 1000.0])
    first, second = derivatives(log1pexp)
    with np.errstate(over="ignore", invalid="ignore"):
        broken = derivatives(plain)[0](x)

    small = np.exp(-np.abs(x))  # for the closed forms: the slope is the sigmoid
    sigmoid = np.where(x < 0, small, 1.0) / (1 + small)
    np.testing.assert_allclose(log1pexp(x), np.logaddexp(0, x), rtol=1e-15)
    np.testing.assert_allclose(first(x), sigmoid, rtol=1e-15, atol=0)
    np.testing.assert_allclose(second(x), small / (1 + small) ** 2, rtol=1e-15, atol=3e-16)
    assert np.isnan(broken[-1])

    print(f"{'x':>7} {'plain slope':>12} {'custom slope':>12}")
    for row in zip(x, broken, first(x), strict=True):
        print("{:7.0f} {:12.4g} {:12.4g}".format(*row))
    return first, second


if __name__ == "__main__":
    main()
