"""The strength of a ridge regression, chosen by the gradient of its error on rows left out.

Heat of 13 cements by four ingredients, which add up to nearly the same in each (Woods, Steinour and
Starke, Industrial and Engineering Chemistry 24, 1932, page 1207). The weights are the solution of
SciPy's least_squares inside of the function; its derivative by the strength is one linear system.
Needs SciPy: pip install 'tracejit[scipy]'.
Run: python examples/hyperparameter.py
"""

import numpy as np
from scipy.optimize import least_squares, minimize

import tracejit as tj

INGREDIENTS = np.array([
    [7, 26, 6, 60], [1, 29, 15, 52], [11, 56, 8, 20], [11, 31, 8, 47], [7, 52, 6, 33],
    [11, 55, 9, 22], [3, 71, 17, 6], [1, 31, 22, 44], [2, 54, 18, 22], [21, 47, 4, 26],
    [1, 40, 23, 34], [11, 66, 9, 12], [10, 68, 8, 12],
])  # fmt: skip
"""Percent of 3CaO.Al2O3, 3CaO.SiO2, 4CaO.Al2O3.Fe2O3 and 2CaO.SiO2 in each cement."""
HEAT = np.array(
    [78.5, 74.3, 104.3, 87.6, 95.9, 109.2, 102.7, 72.5, 93.1, 115.9, 83.8, 113.3, 109.4]
)
"""The heat after 180 days, in calories / gram."""
X = (INGREDIENTS - INGREDIENTS.mean(axis=0)) / INGREDIENTS.std(axis=0)
Y = HEAT - HEAT.mean()
ROWS, COLUMNS = X.shape


def fitted(log_strength, is_used):
    """The weights that fit the rows that are used, shrunk by the strength."""
    shrink = np.exp(0.5 * log_strength)

    def residuals(weights):
        return np.concatenate([is_used * (X @ weights - Y), shrink * weights])

    return least_squares(residuals, np.zeros(COLUMNS)).x


def error(log_strength):
    """The mean square of the errors of each row, by weights that are fitted without it."""
    total = 0.0
    for row in range(ROWS):
        weights = fitted(log_strength, np.arange(ROWS) != row)
        total += (X[row] @ weights - Y[row]) ** 2
    return total / ROWS


def main():
    slope = tj.value_and_grad(error)
    found = minimize(lambda x: slope(x[0]), [0.0], jac=True, tol=1e-6)
    strength = np.exp(found.x[0])
    weights = fitted(found.x[0], np.ones(ROWS))
    print(f"strength {strength:.4f}, error {found.fun:.4f}; without any {error(-50.0):.4f}")
    print(f"weights {np.round(weights, 3)}; {found.nfev} gradients of {ROWS} fits each")
    print(slope.source)
    return strength, found, weights


if __name__ == "__main__":
    main()
