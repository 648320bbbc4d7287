"""Logistic regression on the O-rings of 23 space shuttle flights, by Newton steps in a region.

The data are those that were known on the eve of the Challenger's last launch, at 31 degrees (Dalal,
Fowlkes and Hoadley 1989): whether any O-ring was damaged, by temperature. `tj.value_and_grad` and
`tj.hessian` are what SciPy's trust-exact asks for; the inverse of the Hessian holds the variances.
Needs SciPy: pip install 'tracejit[scipy]'. Run: python examples/o_rings.py
"""

import numpy as np
from scipy.optimize import minimize

import tracejit as tj

FAHRENHEIT = np.array(
    [53.0, 57, 58, 63, 66, 67, 67, 67, 68, 69, 70, 70, 70, 70, 72, 73, 75, 75, 76, 76, 78, 79, 81]
)
DAMAGED = np.array([1.0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0])


def loss(w, temperature, damaged):
    """Minus the log-likelihood, w[0] + w[1] * temperature being the log-odds of damage."""
    odds = w[0] + w[1] * temperature
    return np.sum(np.logaddexp(0.0, odds) - damaged * odds)


def main():
    slope, curvature = tj.value_and_grad(loss), tj.hessian(loss)
    data = (FAHRENHEIT, DAMAGED)
    fit = minimize(slope, np.zeros(2), args=data, jac=True, hess=curvature, method="trust-exact")

    errors = np.sqrt(np.diag(np.linalg.inv(curvature(fit.x, *data))))
    for name, value, error in zip(("intercept", "slope"), fit.x, errors, strict=True):
        print(f"{name:10s} {value:9.4f} +- {error:.4f}")
    risk = 1.0 / (1.0 + np.exp(-(fit.x[0] + fit.x[1] * 31.0)))
    print(f"{fit.nit} iterations; at 31 degrees the model puts the risk of damage at {risk:.1%}")
    print(curvature.source)
    return fit, errors, risk


if __name__ == "__main__":
    main()
