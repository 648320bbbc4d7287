"""Expectation maximisation for a mixture of Gaussians: the M-step holds the E-step fixed.

The E-step asks which component each point came from; the M-step improves the expected log
likelihood of points and components as if these answers were data: `stop_gradient`. By Fisher's
identity the gradient of that is the gradient of the true log likelihood, at the same parameters.
Run: python examples/gaussian_mixture.py
"""

import numpy as np

import tracejit as tj


def log_joint(p, x):
    """log p(x, component) for each point and component, [n, k]."""
    z = (x[:, None, :] - p["mean"]) * np.exp(-p["log_scale"])
    log_density = -0.5 * np.sum(z * z + np.log(2 * np.pi), axis=2) - np.sum(p["log_scale"], axis=1)
    return log_density + p["logit"] - logsumexp(p["logit"][None])


def logsumexp(rows):
    top = tj.stop_gradient(np.max(rows, axis=1, keepdims=True))
    return np.log(np.sum(np.exp(rows - top), axis=1)) + top[:, 0]


def log_likelihood(p, x):
    return np.mean(logsumexp(log_joint(p, x)))


def expected(p, x):
    """The M-step's objective; differentiating the answers of the E-step too would spoil it."""
    joint = log_joint(p, x)
    answers = tj.stop_gradient(np.exp(joint - logsumexp(joint)[:, None]))
    return np.mean(np.sum(answers * joint, axis=1))


@tj.function
def climb(p, x, rate):
    """One gradient step of the M-step, and the log likelihood before it."""
    slope = tj.grad(expected)(p, x)
    return log_likelihood(p, x), {name: p[name] + rate * slope[name] for name in p}


def main(steps=250, rate=0.5):
    rng = np.random.default_rng(3)
    truth = np.array([[-2.0, 0.0], [2.0, 1.0], [0.0, -3.0]])
    component = np.repeat([0, 1, 2], [90, 60, 30])
    x = truth[component] + rng.normal(0, (0.5, 1.0), (180, 2))
    p = {"mean": x[[0, 100, 160]], "log_scale": np.zeros((3, 2)), "logit": np.zeros(3)}

    def gap(p):
        """How far the two gradients are apart."""
        pair = [tj.grad(f)(p, x) for f in (expected, log_likelihood)]
        return max(np.max(np.abs(pair[0][name] - pair[1][name])) for name in p)

    gaps, history = [gap(p)], []
    for _ in range(steps):
        value, p = climb(p, x, rate)
        history.append(float(value))
    gaps.append(gap(p))
    assert max(gaps) < 1e-14
    assert np.all(np.diff(history) > -1e-12), "EM never loses likelihood"
    assert np.max(np.abs(p["mean"] - truth)) < 0.35

    print(f"mean log likelihood {history[0]:.4f} -> {history[-1]:.4f}")
    print(f"Fisher's identity holds to {max(gaps):.0e}")
    print("means found:", *np.round(p["mean"], 2).tolist())
    return history, p


if __name__ == "__main__":
    main()
