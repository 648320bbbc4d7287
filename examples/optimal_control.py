"""Swing a pendulum up: 1,000 torques found by gradient, through 1,000 steps of Runge and Kutta.

`tj.scan` records one step. The module has one loop forward and one backward, and neither it nor the
first call grows with the number of steps. Needs SciPy: pip install 'tracejit[scipy]'.
Run: python examples/optimal_control.py
"""

import numpy as np
from scipy.optimize import minimize

import tracejit as tj

STEPS, SECONDS = 1000, 5.0
DT = SECONDS / STEPS


def acceleration(angle, speed, torque):
    """The angular acceleration of a damped pendulum; it hangs at angle 0."""
    return -9.81 * np.sin(angle) - 0.1 * speed + torque


def step(state, torque):
    """One step of Runge and Kutta's method of fourth order."""
    angle, speed = state
    a1 = acceleration(angle, speed, torque)
    v2 = speed + 0.5 * DT * a1
    a2 = acceleration(angle + 0.5 * DT * speed, v2, torque)
    v3 = speed + 0.5 * DT * a2
    a3 = acceleration(angle + 0.5 * DT * v2, v3, torque)
    v4 = speed + DT * a3
    a4 = acceleration(angle + DT * v3, v4, torque)
    angle = angle + DT / 6.0 * (speed + 2.0 * v2 + 2.0 * v3 + v4)
    speed = speed + DT / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return (angle, speed), angle


def cost(torques):
    """Be upright and at rest in the end, with little torque on the way."""
    (angle, speed), _ = tj.scan(step, (0.0, 0.0), torques)
    effort = DT * np.sum(torques**2)
    return 100.0 * ((angle - np.pi) ** 2 + speed**2) + 0.1 * effort


def main():
    loss = tj.value_and_grad(cost)
    start = np.sin(np.linspace(0.0, 4.0 * np.pi, STEPS))
    fit = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    (angle, speed), _ = tj.scan(step, (0.0, 0.0), fit.x)
    print(f"angle {angle / np.pi:.4f} pi, speed {speed:.4f}, largest torque {abs(fit.x).max():.2f}")
    print(f"{fit.nfev} evaluations, {len(loss.source.splitlines())} lines for {STEPS} steps")
    return angle, speed, loss


if __name__ == "__main__":
    main()
