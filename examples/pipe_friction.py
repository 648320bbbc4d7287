"""The roughness of a pipe, fitted through an equation that Newton's method solves in the model.

Colebrook's equation gives the friction factor only implicitly. The model solves it by a `while`
loop, to convergence. tracejit records one step for any number of trips, and the gradient goes
through the loop. The measurements are those of a pipe of 0.1 m with a roughness of 0.2 mm.
Run: python examples/pipe_friction.py
"""

import numpy as np

import tracejit as tj

DIAMETER = 0.1  # m
REYNOLDS = np.array([1e4, 3e4, 1e5, 3e5, 1e6])


def friction(reynolds, roughness):
    """Darcy's friction factors, from 1 / sqrt(f) = -2 log10(k / (3.7 D) + 2.51 / (Re sqrt(f)))."""
    x = 6.0 * np.ones_like(reynolds)  # 1 / sqrt(f)
    error = 1.0
    while error > 1e-10:
        inside = roughness / (3.7 * DIAMETER) + 2.51 * x / reynolds
        value = x + 2.0 * np.log10(inside)
        slope = 1.0 + 2.0 / np.log(10.0) * 2.51 / reynolds / inside
        x = x - value / slope
        error = np.max(np.abs(value))
    return 1.0 / x**2


def loss(log_roughness, reynolds, measured):
    """The squared relative differences from what was measured."""
    return np.sum((friction(reynolds, np.exp(log_roughness)) / measured - 1.0) ** 2)


def main():
    measured = friction(REYNOLDS, 2e-4)
    slope = tj.grad(loss)
    curvature = tj.grad(slope)
    x = np.log(1e-3)
    for _ in range(20):
        x = x - slope(x, REYNOLDS, measured) / abs(curvature(x, REYNOLDS, measured))
    print(f"roughness {np.exp(x) * 1e3:.4f} mm")
    print(slope.source)
    return np.exp(x), slope


if __name__ == "__main__":
    main()
