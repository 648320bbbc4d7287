"""The Michaelis-Menten curve of an enzyme, fitted by SciPy's least_squares with an exact Jacobian.

The data are the velocities measured on cells treated with puromycin (Treloar 1974; Bates and Watts,
"Nonlinear Regression Analysis", A1.3). `tj.jacobian` gives the matrix that least_squares asks for;
standard errors follow from it. Needs SciPy: pip install 'tracejit[scipy]'.
Run: python examples/enzyme_kinetics.py
"""

import numpy as np
from scipy.optimize import least_squares

import tracejit as tj

CONCENTRATION = np.array([0.02, 0.02, 0.06, 0.06, 0.11, 0.11, 0.22, 0.22, 0.56, 0.56, 1.10, 1.10])
VELOCITY = np.array([76.0, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200])


def residuals(parameters, concentration, velocity):
    """Measured minus modelled velocities, in counts / min^2."""
    fastest, half = parameters
    return velocity - fastest * concentration / (half + concentration)


def main():
    slopes = tj.jacobian(residuals)
    tj.check_grads(residuals, (np.array([200.0, 0.1]), CONCENTRATION, VELOCITY))
    start = np.array([200.0, 0.1])
    fit = least_squares(
        residuals, start, jac=slopes, method="lm", x_scale="jac", args=(CONCENTRATION, VELOCITY)
    )

    spread = 2.0 * fit.cost / (len(VELOCITY) - len(start))
    errors = np.sqrt(spread * np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    for name, value, error in zip(("fastest", "half"), fit.x, errors, strict=True):
        print(f"{name:8s} {value:9.5f} +- {error:.5f}")
    print(f"{fit.nfev} evaluations, {fit.njev} Jacobians, {len(slopes.kernels)} kernel")
    print(slopes.source)
    return fit, errors


if __name__ == "__main__":
    main()
