"""SciPy's optimisers take what the transforms make as it is."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy.integrate import solve_ivp

import tracejit as tj

START = np.array([-1.2, 1.0, 0.5])


def rosen(x: Any, scale: Any = 100.0) -> Any:
    """Rosenbrock's valley: least at ones."""
    return np.sum(scale * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def residuals(x: Any, scale: Any = 10.0) -> Any:
    """Its square roots."""
    return np.concatenate([scale * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])


def plain(array: Any, shape: tuple[int, ...]) -> None:
    """A new contiguous array of doubles."""
    assert type(array) is np.ndarray and array.dtype == np.float64 and array.shape == shape
    assert array.flags.c_contiguous and array.flags.writeable and array.base is None


def test_what_the_optimisers_get() -> None:
    value, gradient = tj.value_and_grad(rosen)(START)
    assert isinstance(value, float)
    plain(gradient, (3,))
    plain(tj.grad(rosen)(START), (3,))
    plain(tj.hessian(rosen)(START), (3, 3))
    for mode in ("auto", "fwd", "rev"):
        plain(tj.jacobian(residuals, mode=mode)(START), (4, 3))
    plain(tj.hvp(rosen, START, START), (3,))
    assert isinstance(tj.function(rosen)(START), float)


def test_numbers_against_scipys_own() -> None:
    np.testing.assert_allclose(tj.grad(rosen)(START), optimize.rosen_der(START), rtol=1e-12)
    np.testing.assert_allclose(tj.hessian(rosen)(START), optimize.rosen_hess(START), rtol=1e-12)
    product = optimize.rosen_hess_prod(START, np.ones(3))
    np.testing.assert_allclose(tj.hvp(rosen, START, np.ones(3)), product, rtol=1e-12)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "SLSQP"])
def test_minimize_with_gradients(method: str) -> None:
    found = optimize.minimize(tj.value_and_grad(rosen), START, jac=True, method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


@pytest.mark.parametrize(
    "method", ["Newton-CG", "trust-ncg", "trust-exact", "trust-krylov", "trust-constr"]
)
def test_minimize_with_hessians(method: str) -> None:
    one = functools.partial(rosen)  # whose transforms have no kernels yet
    slope, curvature = tj.value_and_grad(one), tj.hessian(one)
    found = optimize.minimize(slope, START, jac=True, hess=curvature, args=(90.0,), method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)
    assert len(curvature.kernels) == 1


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov"])
def test_minimize_with_products_of_the_hessian(method: str) -> None:
    def product(x: Any, p: Any) -> Any:
        return tj.hvp(rosen, x, p)

    slope = tj.value_and_grad(rosen)
    found = optimize.minimize(slope, START, jac=True, hessp=product, method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


def test_constraints() -> None:
    circle = tj.function(lambda x: np.sum(x**2) - 1.0)
    constraint = {"type": "eq", "fun": circle, "jac": tj.grad(circle)}
    found = optimize.minimize(
        tj.value_and_grad(rosen), START, jac=True, constraints=[constraint], method="SLSQP"
    )
    assert abs(np.sum(found.x**2) - 1.0) < 1e-6


@pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
def test_least_squares(method: str) -> None:
    slope = tj.jacobian(residuals)
    found = optimize.least_squares(
        residuals, START, jac=slope, method=method, kwargs={"scale": 9.0}
    )
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method: str) -> None:
    equations = tj.function(lambda x: np.stack([x[0] + 0.5 * x[1] ** 3, np.cos(x[0]) - x[1]]))
    found = optimize.root(equations, np.zeros(2), jac=tj.jacobian(equations), method=method)
    np.testing.assert_allclose(equations(found.x), 0.0, atol=1e-10)

    def both(x: Any) -> Any:
        return equations(x), tj.jacobian(equations)(x)

    assert optimize.root(both, np.zeros(2), jac=True, method=method).success


def test_roots_of_a_scalar_function() -> None:
    f = tj.function(lambda x: x**3 - 2.0)
    found = optimize.newton(f, 1.0, fprime=tj.deriv(f), fprime2=tj.deriv(tj.deriv(f)))
    np.testing.assert_allclose(found, 2.0 ** (1 / 3))
    found = optimize.root_scalar(tj.value_and_grad(f), x0=1.0, fprime=True, method="newton")
    np.testing.assert_allclose(found.root, 2.0 ** (1 / 3))


def test_curve_fit() -> None:
    def model(t: Any, a: Any, b: Any) -> Any:
        return a * np.exp(-b * t)

    def slope(t: Any, *parameters: Any) -> Any:
        return np.stack(tj.jacobian(model, argnums=(1, 2))(t, *parameters), axis=1)

    t = np.linspace(0.0, 3.0, 20)
    found, _ = optimize.curve_fit(model, t, model(t, 2.0, 0.7), (1.0, 1.0), jac=slope)
    np.testing.assert_allclose(found, [2.0, 0.7])


def test_stiff_equations() -> None:
    def reaction(t: Any, y: Any) -> Any:
        fast = 1e4 * y[1] * y[2]
        slow = 0.04 * y[0]
        last = 3e7 * y[1] ** 2
        return np.stack([fast - slow, slow - fast - last, last])

    slope = tj.jacobian(reaction, argnums=1)
    found = solve_ivp(reaction, (0.0, 40.0), [1.0, 0.0, 0.0], method="BDF", jac=slope, rtol=1e-8)
    np.testing.assert_allclose(found.y[:, -1], [0.7158, 9.1855e-6, 0.2842], rtol=1e-3)
