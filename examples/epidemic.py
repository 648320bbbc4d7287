"""An influenza in a boarding school, fitted with SciPy's solve_ivp inside of the loss.

The numbers of boys in bed on 14 days, of 763, are those of British Medical Journal 1978, 1:587. The
gradient goes backwards through the solver's steps; the Hessian gives the standard errors. Needs
SciPy: pip install 'tracejit[scipy]'.
Run: python examples/epidemic.py
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import tracejit as tj

IN_BED = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4.0])
BOYS = 763.0
DAYS = np.arange(14.0)


def spread(t, state, contagion, recovery):
    """The rates at which the numbers of the susceptible and of the ill change, in boys / day."""
    susceptible, ill = state
    infected = contagion * susceptible * ill / BOYS
    return [-infected, infected - recovery * ill]


def misfit(rates):
    """The sum of squares of predicted minus counted boys in bed; rates are in 1 / day."""
    contagion, recovery = rates
    start = [BOYS - IN_BED[0], IN_BED[0]]
    found = solve_ivp(
        spread, (0.0, 13.0), start, args=(contagion, recovery), t_eval=DAYS, rtol=1e-8, atol=1e-8
    )
    return np.sum((found.y[1] - IN_BED) ** 2)


def main():
    slope = tj.value_and_grad(misfit)
    fit = minimize(slope, [1.5, 0.5], jac=True)
    spread_of_errors = fit.fun / (len(DAYS) - len(fit.x))
    covariance = 2.0 * spread_of_errors * np.linalg.inv(tj.hessian(misfit)(fit.x))
    errors = np.sqrt(np.diag(covariance))
    for name, value, error in zip(("contagion", "recovery"), fit.x, errors, strict=True):
        print(f"{name:9s} {value:.4f} +- {error:.4f} a day")
    print(f"one ill boy infects {fit.x[0] / fit.x[1]:.2f} others; {fit.nfev} solutions")
    print(slope.source)
    return fit, errors


if __name__ == "__main__":
    main()
