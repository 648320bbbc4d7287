"""Find how well a plate conducts heat, from 60 temperatures: a Poisson problem with a sparse solve.

The plate has nine tiles, each of a conductivity of its own. The matrix of the problem is made of
SciPy's sparse matrices and solved with `splu`. The gradient takes one more solution, by the same
factors. Needs SciPy: pip install 'tracejit[scipy]'. Run: python examples/poisson.py
"""

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.linalg import splu

import tracejit as tj

SIDE = 40
RNG = np.random.default_rng(0)


def differences(size):
    """The differences of neighbours on a line whose ends are kept at zero."""
    return sparse.diags_array([1.0, -1.0], offsets=[0, -1], shape=(size + 1, size))


LINE, ONE = differences(SIDE), sparse.eye_array(SIDE)
GRADIENT = sparse.vstack([sparse.kron(LINE, ONE), sparse.kron(ONE, LINE)], format="csr")


def tile(rows, columns):
    """The number of the tile in which each point lies."""
    places = [np.clip(3 * x // SIDE, 0, 2) for x in (rows, columns)]
    return 3 * places[0][:, None] + places[1]


ALONG, ACROSS = np.arange(SIDE + 1), np.arange(SIDE)
EDGES = np.concatenate([tile(ALONG, ACROSS).ravel(), tile(ACROSS, ALONG).ravel()])
HEAT = np.full(SIDE * SIDE, 1.0 / SIDE**2)
SENSORS = RNG.choice(SIDE * SIDE, 60, replace=False)


def temperatures(logarithms):
    """The temperature at each point, of the logarithm of the conductivity of each tile."""
    conductivity = np.exp(logarithms)[EDGES]
    matrix = GRADIENT.T @ sparse.diags_array(conductivity) @ GRADIENT
    return splu(matrix.tocsc()).solve(HEAT)


TRUTH = np.log([1.0, 4.0, 1.0, 0.3, 2.0, 0.5, 1.0, 0.2, 3.0])
MEASURED = temperatures(TRUTH)[SENSORS] * (1.0 + 0.01 * RNG.standard_normal(60))


def misfit(logarithms):
    """The mean square of what is measured beyond what is computed, in units of the noise."""
    found = temperatures(logarithms)[SENSORS]
    return np.mean(((found - MEASURED) / (0.01 * MEASURED)) ** 2)


def main():
    loss = tj.value_and_grad(misfit)
    fit = minimize(loss, np.zeros(9), jac=True, method="L-BFGS-B")
    print(f"{fit.nfev} evaluations, misfit {fit.fun:.2f}")
    for row in np.exp(np.stack([TRUTH, fit.x])).reshape(2, 3, 3).transpose(1, 0, 2):
        print("  ".join(" ".join(f"{k:5.2f}" for k in part) for part in row))
    return fit, loss


if __name__ == "__main__":
    main()
