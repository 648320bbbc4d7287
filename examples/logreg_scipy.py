"""Logistic regression on the breast-cancer data of scikit-learn, fitted by SciPy's L-BFGS.

`tj.value_and_grad(loss)` is what `scipy.optimize.minimize` asks for with jac=True: a float, and a
float64 gradient of the shape of `w`. Needs scikit-learn and SciPy:
pip install 'tracejit[demo,scipy]'. Run: python examples/logreg_scipy.py
"""

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

import tracejit as tj


def loss(w, x, y):
    """Mean of log(1 + exp(-margin)) for labels y of -1 and 1, and a penalty on large weights."""
    margin = y * (x @ w[1:] + w[0])
    return np.mean(np.logaddexp(0.0, -margin)) + 1e-3 * np.sum(w[1:] ** 2)


def main():
    x, benign = load_breast_cancer(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    y = np.where(benign == 1, 1.0, -1.0)

    fit = tj.value_and_grad(loss)
    w0 = np.zeros(x.shape[1] + 1)
    result = minimize(fit, w0, args=(x, y), jac=True, method="L-BFGS-B")

    w = result.x
    accuracy = np.mean(np.sign(x @ w[1:] + w[0]) == y)
    print(result.message)
    print(f"{result.nit} iterations, {result.nfev} calls, {len(fit.kernels)} kernel")
    print(f"loss {result.fun:.6f}, accuracy on the same data {accuracy:.1%}")
    return result, accuracy


if __name__ == "__main__":
    main()
