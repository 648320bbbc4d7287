"""Calls of SciPy's routines: what is recorded, what is SciPy's own, and what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.integrate as si
import scipy.optimize as so
import scipy.sparse as sparse

import tracejit as tj
from tests.solvers.samples import ends, middle, swinging
from tracejit.ops.control.routines import Routine, functions_of, is_routine
from tracejit.scipy import integrate, optimize
from tracejit.solvers.roots import BRACKETED


def kepler(e: Any) -> Any:
    return so.brentq(lambda anomaly: anomaly - e * np.sin(anomaly) - 1.0, 0.0, 5.0)


def source_of(f: Any, *xs: Any) -> str:
    slope: Any = tj.value_and_grad(f)
    slope(*xs)
    return str(slope.kernel(*xs).source)


def test_the_text_has_the_function_and_the_call() -> None:
    text = source_of(kepler, 0.3)
    assert "from scipy.optimize import brentq" in text
    assert "def residual(x):" in text
    assert "= brentq(residual, 0.0, 5.0)" in text
    assert "import tracejit" not in text


def test_the_text_has_the_options_that_were_given() -> None:
    def f(a: Any) -> Any:
        options = {"maxiter": 50}
        found = so.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), tol=1e-6, options=options)
        return found.fun + np.sum(found.x)

    text = source_of(f, np.ones(2))
    assert "jac=True, tol=1e-06, options=dict(maxiter=50))" in text


def test_functions_for_derivatives_alone_are_not_written() -> None:
    compiled: Any = tj.function(kepler)
    kernel = compiled.kernel(np.float64(0.3))
    assert kernel.source.count("def residual") == 1
    (node,) = [node for node in kernel.graph.nodes if is_routine(node)]
    assert set(functions_of(node)) == {"residual"}


def test_a_call_without_anything_recorded_is_scipys_own() -> None:
    def f(x: Any) -> Any:
        found = so.root(lambda v: v**3 - 2.0, np.ones(1))
        assert found.nfev > 0
        return x * found.x

    np.testing.assert_allclose(tj.function(f)(np.ones(1)), 2.0 ** (1 / 3))
    assert "root" not in source_of(lambda x: np.sum(f(x)), np.ones(1)).partition("SIGNATURE")[0]


def test_a_solver_that_finds_nothing_raises_where_a_gradient_is_wanted() -> None:
    def f(a: Any) -> Any:
        return so.root(lambda x: np.exp(x) + a, np.zeros(1)).x[0]

    with pytest.raises(RuntimeError, match="not making good progress"):
        tj.grad(f)(1.0)
    assert tj.function(f)(1.0) == f(1.0)  # as SciPy answers it


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_a_problem_that_has_no_end_raises(method: str) -> None:
    def f(a: Any) -> Any:
        return si.solve_ivp(lambda t, y: a * y**2, (0.0, 2.0), [1.0], method=method).y[0, -1]

    with pytest.raises((RuntimeError, ValueError)), np.errstate(all="ignore"):
        tj.grad(f)(1.0)


def test_what_the_function_raises_is_raised() -> None:
    def f(a: Any) -> Any:
        return so.brentq(lambda x: x**2 + a, 0.0, 5.0)

    with pytest.raises(ValueError, match="different signs"):
        tj.grad(f)(1.0)
    assert tj.grad(f)(-4.0) == pytest.approx(-0.25)


PRECISE = {"xtol": 1e-12, "gtol": 1e-12, "barrier_tol": 1e-12, "maxiter": 3000}
BETWEEN = {
    "L-BFGS-B": {"tol": 1e-14},
    "TNC": {"options": {"ftol": 0.0, "gtol": 0.0, "xtol": 1e-14}},
    "Powell": {"tol": 1e-12},
    "Nelder-Mead": {"tol": 1e-10, "options": {"maxiter": 4000}},
    "SLSQP": {"tol": 1e-14},
    "trust-constr": {"options": PRECISE},
}
UNDER = {
    "SLSQP": {"tol": 1e-14},
    "COBYLA": {"tol": 1e-9, "options": {"maxiter": 4000}},
    "trust-constr": {"options": PRECISE},
}


def least(x: Any, a: Any) -> Any:
    return np.sum((x - a) ** 2) + 0.3 * x[0] * x[1]


@pytest.mark.parametrize("method", BETWEEN)
def test_every_method_between_bounds_has_the_derivative(method: str) -> None:
    def f(a: Any) -> Any:
        bounds = [(0.0, 0.8 * a[1]), (0.0, None), (None, None)]
        found = so.minimize(least, np.full(3, 0.1), (a,), method, bounds=bounds, **BETWEEN[method])
        return found.x

    # Of x, the first is at its bound; the second solves 2 (x[1] - a[1]) + 0.3 x[0] = 0.
    exact = [[0.0, 0.8, 0.0], [0.0, 1.0 - 0.15 * 0.8, 0.0], [0.0, 0.0, 1.0]]
    found = tj.jacobian(f)(np.array([2.0, 1.5, 1.2]))
    np.testing.assert_allclose(found, exact, atol=1e-7)


@pytest.mark.parametrize("method", UNDER)
def test_every_method_under_constraints_has_the_derivative(method: str) -> None:
    def f(a: Any) -> Any:
        within = so.NonlinearConstraint(lambda x: x @ x, -np.inf, a[0])
        above = so.LinearConstraint(np.eye(3)[:1], 0.1, np.inf)
        found = so.minimize(
            lambda x: np.sum((x - a) ** 2),
            np.full(3, 0.5),
            method=method,
            constraints=[within, above],
            **UNDER[method],
        )
        return found.x

    # The point of the sphere in the direction of a.
    a = np.array([2.0, 1.5, 1.2])
    length = np.sqrt(a @ a)
    exact = np.sqrt(2.0) * (np.eye(3) - np.outer(a, a) / length**2) / length
    exact[:, 0] += a / length / np.sqrt(8.0)
    np.testing.assert_allclose(tj.jacobian(f)(a), exact, rtol=1e-5, atol=1e-6)


def test_a_bound_without_a_multiplier_has_no_derivative() -> None:
    def f(a: Any) -> Any:
        bounds = [(1.0, None)] * 2
        return so.minimize(lambda x: np.sum((x - a) ** 2), 2.0 * np.ones(2), bounds=bounds).x

    a = np.array([1.0, 3.0])
    with pytest.raises(RuntimeError, match="multiplier of zero"):
        tj.jacobian(f)(a)
    np.testing.assert_allclose(tj.function(f)(a), f(a))
    np.testing.assert_allclose(tj.jacobian(f)(a - 0.5), [[0.0, 0.0], [0.0, 1.0]], atol=1e-7)


def constrained(*constraints: Any) -> Any:
    def f(a: Any) -> Any:
        start = np.array([2.0, 0.5])
        options: Any = {"method": "SLSQP", "constraints": constraints, "tol": 1e-12}
        return so.minimize(lambda x: np.sum((x - a) ** 2), start, **options).x

    return f


def test_a_constraint_without_a_multiplier_has_no_derivative() -> None:
    f = constrained({"type": "ineq", "fun": lambda x: x[0] + x[1] - 1.0})
    with pytest.raises(RuntimeError, match="multiplier of zero"):
        tj.jacobian(f)(np.array([0.5, 0.5]))
    np.testing.assert_allclose(tj.jacobian(f)(np.zeros(2)), [[0.5, -0.5], [-0.5, 0.5]], atol=1e-9)
    np.testing.assert_allclose(tj.jacobian(f)(np.ones(2)), np.eye(2), atol=1e-9)


@pytest.mark.filterwarnings("ignore:Singular Jacobian")
def test_constraints_that_depend_on_each_other_have_no_derivative() -> None:
    once = {"type": "ineq", "fun": lambda x: x[0] + x[1] - 1.0}
    twice = {"type": "ineq", "fun": lambda x: 2.0 * (x[0] + x[1]) - 2.0}
    equal = {"type": "eq", "fun": lambda x: np.array([x[0] - x[1], 2.0 * (x[0] - x[1])])}
    f = constrained(once, twice)
    with pytest.raises(RuntimeError, match=r"multiplier of zero|depend on each other"):
        tj.jacobian(f)(np.zeros(2))
    options: Any = {"method": "trust-constr", "options": PRECISE}

    def g(a: Any) -> Any:
        return so.minimize(
            lambda x: np.sum((x - a) ** 2), np.zeros(2), constraints=equal, **options
        ).x

    with pytest.raises(RuntimeError, match="depend on each other"):
        tj.jacobian(g)(np.array([1.0, 2.0]))


def test_constraints_that_cannot_be_met_raise() -> None:
    f = constrained(
        {"type": "eq", "fun": lambda x: x[0] - 1.0}, {"type": "eq", "fun": lambda x: x[0] - 2.0}
    )
    with pytest.raises(RuntimeError):
        tj.jacobian(f)(np.zeros(2))


def test_a_constraint_may_decide_and_loop() -> None:
    def longest(x: Any) -> Any:
        total = x[0] * 0.0
        for k in range(2):
            total = total + x[k] if x[k] > -5.0 else total - x[k]
        return 1.0 - total

    f = constrained({"type": "ineq", "fun": longest})
    np.testing.assert_allclose(tj.jacobian(f)(np.ones(2)), [[0.5, -0.5], [-0.5, 0.5]], atol=1e-9)


def test_limits_may_be_lists_that_hold_parameters() -> None:
    def f(a: Any, b: Any) -> Any:
        bounds = so.Bounds([0.05 * a, 0.0], [b, np.inf])
        sums = so.LinearConstraint([[1.0, b]], lb=[a], ub=a)
        options: Any = {"method": "SLSQP", "tol": 1e-12}
        start = np.ones(2)
        return so.minimize(
            lambda x: x @ x + x[0] * b, start, bounds=bounds, constraints=sums, **options
        ).x

    # The first is at its bound, and the second is (a - 0.05 a) / b.
    by_a, by_b = tj.jacobian(f, argnums=(0, 1))(0.3, 2.0)
    np.testing.assert_allclose(by_a, [0.05, 0.475], atol=1e-9)
    np.testing.assert_allclose(by_b, [0.0, -0.07125], atol=1e-9)


def test_the_text_has_the_constraints() -> None:
    f = constrained({"type": "eq", "fun": lambda x: x[0] - x[1]})
    text = source_of(lambda a: np.sum(f(a) ** 2), np.ones(2))
    assert 'dict(type="eq", fun=' in text
    assert "on_constraints(" in text


REFUSED = {
    "a sparse constraint": lambda a: (
        so.minimize(
            lambda x: np.sum((x - a) ** 2),
            [0.0],
            constraints=so.LinearConstraint(sparse.csr_array([[1.0]]), 0.0, 1.0),
        ).x
    ),
    "callback": lambda a: so.minimize(lambda x: np.sum((x - a) ** 2), [0.0], callback=print).x,
    "feasible at all steps": lambda a: (
        so.minimize(
            lambda x: np.sum((x - a) ** 2), [0.0], bounds=so.Bounds(0.0, 1.0, keep_feasible=True)
        ).x
    ),
    "a loss of the user's": lambda a: so.least_squares(lambda x: x - a, [0.0], loss=np.vstack).x,
    "weights": lambda a: si.quad(lambda x: x * a, 0.0, 1.0, weight="cos", wvar=1.0)[0],
    "the times of steps": lambda a: si.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [1.0]).t[1],
    "halley": lambda a: (
        so.root_scalar(
            lambda x: x**2 - a,
            x0=1.0,
            fprime=lambda x: 2 * x,
            fprime2=lambda x: 2.0,
            method="halley",
        ).root
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_recorded_is_refused(name: str) -> None:
    with pytest.raises(tj.TracejitError, match="cannot be recorded in this form"):
        tj.grad(lambda a: np.sum(REFUSED[name](a)))(2.0)


MALFORMED: dict[str, tuple[Any, str]] = {
    "no type": ([{}], "has no 'type'"),
    "an unknown type": ({"type": "le", "fun": np.sum}, "has the type 'le'"),
    "no function": ({"type": "eq"}, "has no 'fun'"),
    "a number as function": ({"type": "eq", "fun": 3.0}, "has the function 3.0"),
    "a number as limited function": (so.NonlinearConstraint(3.0, 0, 1), "has the function 3.0"),
    "args": ({"type": "eq", "fun": np.sum, "args": 3.0}, "has args of the class float"),
    "text": ("eq", "is of the class str"),
    "a function alone": (np.sum, "is of the class"),
    "a matrix": ({"type": "eq", "fun": lambda x: np.outer(x, x)}, "returns more than one axis"),
    "None": ({"type": "eq", "fun": lambda x: None}, "returns None"),
    "limits": (so.NonlinearConstraint(lambda x: x, np.zeros(3), 1.0), "has 2 numbers and 3 limits"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_constraint_is_refused_in_words(name: str) -> None:
    constraints, words = MALFORMED[name]
    start: Any = np.ones(2)

    def f(a: Any) -> Any:
        return so.minimize(lambda x: np.sum((x - a) ** 2), start, constraints=constraints).x[0]

    with pytest.raises(tj.TracejitError, match=f"a constraint {words}"):
        tj.grad(f)(2.0)


def test_all_events_are_recorded_for_the_number_of_this_call() -> None:
    def f(p: Any) -> Any:
        found = swinging(p, [middle, lambda t, y: y[1] - 9.0])
        times, states = found.t_events[0], found.y_events[0]
        assert isinstance(found.t_events[1].size, int)
        gaps = np.diff(times) * 2.0 + np.sum(states, axis=0)[1]
        return np.sum(gaps) / len(times) + sum(t for t in times) + found.t_events[1].size

    once: Any = tj.value_and_grad(f)
    step = 1e-5 * np.eye(3)
    for stiffness in (2.0, 0.9, 2.1):  # come through the middle four and two times
        p = np.array([stiffness, 1.5, 1.2])
        value, slope = once(p)
        assert value == pytest.approx(f(p), rel=1e-12)
        compiled: Any = tj.function(f)
        expected = [(compiled(p + dp) - compiled(p - dp)) / 2e-5 for dp in step]
        np.testing.assert_allclose(slope, expected, atol=1e-6)


def test_times_that_an_event_cuts_off() -> None:
    def f(p: Any) -> Any:
        event = ends(lambda t, y: y[0] + 0.5 * p[2])
        found = swinging(p, event, t_eval=np.linspace(0.0, 8.0, 33))
        return np.sum(found.y[0] * found.t) + found.t[-1] + found.status

    compiled: Any = tj.function(f)
    for last in (1.2, 0.4):
        p = np.array([2.0, 1.5, last])
        assert compiled(p) == f(p)
        tj.check_grads(f, (p,), order=1)


def test_the_event_that_ends_it_is_known_by_its_status() -> None:
    def f(p: Any) -> Any:
        found = swinging(p, ends(lambda t, y: y[0] + p[2]))
        return found.t[-1] * p[0] if found.status == 1 else found.y[0, -1] * p[1]

    compiled, slope = tj.function(f), tj.grad(f)
    for depth in (0.5, 2.0):
        p = np.array([2.0, 1.5, depth])
        assert compiled(p) == f(p)
        expected = [(compiled(p + dp) - compiled(p - dp)) / 2e-5 for dp in 1e-5 * np.eye(3)]
        np.testing.assert_allclose(slope(p), expected, atol=1e-6)


def test_an_event_that_does_not_take_place_so_often() -> None:
    def f(p: Any) -> Any:
        return swinging(p, middle).t_events[0][7]

    with pytest.raises(IndexError):
        tj.function(f)(np.ones(3))
    with pytest.raises(RuntimeError, match="took place 3 times"):
        tj.grad(f)(np.ones(3))


def test_random_numbers_in_a_function_are_refused() -> None:
    def f(a: Any, rng: Any) -> Any:
        return si.quad(lambda x: a * x + 0.0 * rng.normal(), 0.0, 1.0)[0]

    with pytest.raises(tj.TracejitError, match="random numbers"):
        tj.grad(f)(2.0, np.random.default_rng(0))


def test_a_function_may_decide_and_loop() -> None:
    def f(p: Any) -> Any:
        def residual(x: Any) -> Any:
            total = 0.0
            for k in range(3):
                total = total + p[k] * x ** (k + 1)
            return total - 1.0 if x > 0.2 else x - p[0]

        return so.brentq(residual, 0.0, 5.0)

    p = np.array([0.5, 0.3, 0.2])
    assert tj.function(f)(p) == f(p)
    tj.check_grads(f, (p,), order=1)


def test_a_method_of_an_object_is_solved() -> None:
    class Model:
        def __init__(self, a: Any) -> None:
            self.a = a

        def residual(self, x: Any) -> Any:
            return np.array([x[0] ** 2 + self.a * x[1] - 1.0, x[1] - self.a * x[0]])

    tj.check_grads(lambda a: so.fsolve(Model(a).residual, [1.0, 1.0]), (0.7,), order=1)


def test_a_loop_of_solutions_is_recorded_once() -> None:
    def f(p: Any) -> Any:
        total = 0.0
        for k in range(30):
            total = total + so.brentq(lambda x, k=k: x**3 + x - p * (k + 1), 0.0, 20.0)
        return total

    slope: Any = tj.grad(f)
    expected = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    assert slope(0.7) == pytest.approx(expected, rel=1e-6)
    assert len(slope.kernel(0.7).source.splitlines()) < 120


def test_what_a_loop_has_solved_is_not_solved_again_for_the_gradient() -> None:
    def f(p: Any) -> Any:
        total = 0.0
        for k in range(30):
            total = total + so.brentq(lambda x, k=k: x**3 + x - p * (k + 1), 0.0, 20.0) ** 2
        return total

    text = source_of(f, 0.7)
    assert text.partition("def value_and_grad")[2].count("= brentq(") == 1
    tj.check_grads(f, (0.7,), order=2)


def test_second_derivatives_of_two_states_of_one_problem() -> None:
    tight = {"rtol": 1e-8, "atol": 1e-9}

    def f(p: Any) -> Any:
        found = si.solve_ivp(lambda t, y: [y[1], -p[0] * y[0]], (0.0, 1.0), [p[1], 0.0], **tight)
        first = found.y[0, -1]
        again = si.solve_ivp(lambda t, y: [y[1], -p[0] * y[0]], (0.0, 1.0), [p[1], 0.0], **tight)
        return first * first + 3.0 * again.y[1, -1]

    p = np.array([2.0, 1.5])
    forward, backward = tj.hessian(f)(p), tj.jacrev(tj.grad(f))(p)
    np.testing.assert_allclose(backward, forward, rtol=1e-7)
    w = np.sqrt(2.0)
    exact = 1.5**2 * np.cos(w) ** 2 - 3.0 * 1.5 * w * np.sin(w)
    assert f(p) == pytest.approx(exact, rel=1e-7)


def test_nested_routines() -> None:
    def f(a: Any) -> Any:
        def mean(x: Any) -> Any:
            return si.quad(lambda t: np.exp(-t * x), 0.0, 1.0)[0]

        return so.brentq(lambda x: x**2 - a * mean(x), 0.1, 3.0)

    tj.check_grads(f, (0.9,), order=1)


@pytest.mark.parametrize("limits", [(0.0, 1.0), (0.0, lambda x: x)])
def test_errors_of_nested_integrals_are_scipys(limits: Any) -> None:
    def f(p: Any) -> Any:
        once = si.dblquad(lambda y, x: np.exp(-p * x * y) * abs(x - y), 0.0, 1.0, *limits)
        twice = si.nquad(lambda y, x: np.sqrt(np.abs(y - p * x)), [[0.0, 1.0], [0.0, 2.0]])
        return *once, *twice

    np.testing.assert_array_equal(tj.function(f)(np.float64(0.7)), f(0.7))


def test_tolerances_of_nested_integrals_are_handed_over() -> None:
    def f(p: Any) -> Any:
        return si.dblquad(lambda y, x: np.abs(y - p * x) ** 1.5, 0, 1, 0, 1, epsabs=1e-2)[0]

    assert tj.function(f)(np.float64(0.7)) == f(0.7)
    assert "opts=dict(epsabs=0.01)" in source_of(f, 0.7)


def test_kernels_are_exported_and_read_from_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "orbit.py"
    tj.export(tj.value_and_grad(kepler), 0.3, path=path)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import orbit; "
    code += "assert 'tracejit' not in sys.modules; print(repr(orbit.kepler(0.3)))"
    names = [line for line in path.read_text().splitlines() if line.startswith("def ")]
    code = code.replace("orbit.kepler", f"orbit.{names[-1].split('(')[0][4:]}")
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    value, slope = tj.value_and_grad(kepler)(0.3)
    assert repr(float(value))[:12] in found.stdout
    assert repr(float(slope))[:12] in found.stdout


def test_threads_solve_at_once() -> None:
    slope: Any = tj.grad(kepler)
    found: dict[int, float] = {}

    def run(k: int) -> None:
        found[k] = float(slope(0.1 * (k % 8)))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: float(slope(0.1 * k)) for k in range(8)}


def test_routines_are_pickled_by_name() -> None:
    assert isinstance(BRACKETED, Routine)
    assert pickle.loads(pickle.dumps(BRACKETED)) is BRACKETED


def test_a_number_that_is_differentiated_is_no_constant() -> None:
    def f(b: Any) -> Any:
        return si.quad(lambda x: x, 0.0, b)[0]

    assert tj.vjp(f, 1.5)[1](1.0)[0] == pytest.approx(1.5)
    assert tj.grad(lambda b: tj.grad(f)(2.0) * b)(1.0) == pytest.approx(2.0)


ON_TAPES = {
    "root": lambda a: so.root(lambda x: x**2 - a, np.ones(2)).x,
    "brentq": lambda a: so.brentq(lambda x: x**2 - a[0], 0.0, 5.0),
    "minimize": lambda a: so.minimize(lambda x: np.sum((x - a) ** 2), np.ones(2), tol=1e-9).x,
    "least_squares": lambda a: so.least_squares(lambda x: x * x - a, np.ones(2), xtol=1e-12).x,
    "quad": lambda a: si.quad(lambda x: x * a[1], 0.0, a[0])[0],
    "solve_ivp": lambda a: si.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), np.ones(2)).y[:, -1],
    "odeint": lambda a: si.odeint(lambda y, t: -a * y, np.ones(2), [0.0, 1.0])[-1],
}


@pytest.mark.parametrize("name", ON_TAPES)
def test_a_tape_records_a_function_that_solves(name: str) -> None:
    """The Variable is an argument, or enclosed by the function."""
    solve = ON_TAPES[name]
    v = tj.Variable(np.array([2.0, 1.5]))
    expected = tj.grad(lambda a: np.sum(np.sin(solve(3.0 * a))))(v.numpy())

    @tj.function
    def of_argument(a: Any) -> Any:
        return solve(a)

    with tj.GradientTape(persistent=True) as tape:
        y = np.sum(np.sin(of_argument(3.0 * v)))
        scaled = 3.0 * v

        @tj.function
        def of_what_it_encloses() -> Any:
            return solve(scaled)

        z = np.sum(np.sin(of_what_it_encloses()))
    np.testing.assert_allclose(tape.gradient(y, v), expected, rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(z, v), expected, rtol=1e-12)


@pytest.mark.parametrize("name", [*ON_TAPES])
def test_a_solver_on_a_tape_says_what_to_do(name: str) -> None:
    v = tj.Variable(np.array([2.0, 1.5]))
    with pytest.raises(tj.TracejitError, match="on a tape, call such a function"):
        with tj.GradientTape():
            ON_TAPES[name](v)


@pytest.mark.parametrize("name", ["root", "quad"])
def test_a_recordable_solver_on_a_tape_says_what_to_do(name: str) -> None:
    v = tj.Variable(np.array([2.0, 1.5]))
    solvers: dict[str, Any] = {
        "root": lambda: optimize.root(lambda x: x**2 - v, np.ones(2)),
        "quad": lambda: integrate.quad(lambda x, a: x * a, 0.0, 1.0, args=(v[0],)),
    }
    with pytest.raises(tj.TracejitError, match="on a tape, call such a function"):
        with tj.GradientTape():
            solvers[name]()
    assert np.all(np.isfinite(optimize.root(lambda x: x**2 - 2.0, np.ones(2)).x))


COMPLEX = {
    "root": lambda a: so.root(lambda x: x**2 - 1j * a, np.ones(1)).x,
    "start": lambda a: so.root(lambda x: x**2 - a, np.ones(1) * 1j * a).x,
    "minimize": lambda a: so.minimize(lambda x: (x[0] - 1j * a) ** 2, [0.0]).x,
    "newton": lambda a: so.newton(lambda x: x**2 + a, 1j),
    "quad": lambda a: si.quad(lambda x: np.exp(1j * a * x), 0.0, 1.0)[0],
    "solve_ivp": lambda a: si.solve_ivp(lambda t, y: 1j * a * y, (0.0, 1.0), [1.0 + 0j]).y[:, -1],
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_are_refused(name: str) -> None:
    with pytest.raises(tj.TracejitError, match="it has complex numbers"):
        tj.grad(lambda a: np.sum(np.real(COMPLEX[name](a))))(1.5)


def test_success_is_that_of_the_call() -> None:
    def f(a: Any) -> Any:
        found = so.root(lambda x: np.exp(x) - a, np.zeros(1))
        return 2.0 * a if found.success else 5.0 * a

    compiled: Any = tj.function(f)
    for a in (1.0, -1.0):
        assert compiled(np.float64(a)) == f(a)
    assert tj.grad(f)(1.0) == 2.0
    with pytest.raises(RuntimeError, match="not making good progress"):
        tj.grad(f)(-1.0)
    np.testing.assert_array_equal(tj.vmap(f)(np.array([1.0, 3.0])), [2.0, 6.0])


def test_attributes_that_are_not_recorded_are_refused() -> None:
    def f(a: Any) -> Any:
        found = so.minimize(lambda x: np.sum((x - a) ** 2), [0.0])
        return a * found.nit if hasattr(found, "x") else a

    with pytest.raises(tj.TracejitError, match="nit of its result is not recorded"):
        tj.grad(f)(1.5)
    assert not hasattr(so.OptimizeResult(), "nit")


def test_a_result_that_is_read_is_recorded_once() -> None:
    def f(p: Any) -> Any:
        found = swinging(p, ends(lambda t, y: y[0]))
        return found.t[-1] + found.y[1, -1] + found.status if found.success else p[0]

    compiled: Any = tj.function(f)
    p = np.array([2.0, 1.5, 1.2])
    for _ in range(3):
        assert compiled(p) == f(p)
    assert "without keeping" not in str(compiled.explain())


def test_a_rule_of_the_users_has_the_derivative_by_a_number() -> None:
    @tj.custom_gradient
    def square(x: Any) -> Any:
        return x**2, lambda g: 5.0 * g

    def f(a: Any) -> Any:
        return so.brentq(lambda x: square(x) - a, 0.0, 50.0)

    def stopped(a: Any) -> Any:
        return so.brentq(lambda x: x**3 + tj.stop_gradient(x) - a, -5.0, 5.0)

    assert tj.grad(f)(1.5) == pytest.approx(0.2)
    assert tj.grad(stopped)(2.0) == pytest.approx(1.0 / 3.0)


@pytest.mark.parametrize("name", ["solve_ivp", "odeint"])
def test_a_sum_over_a_batch_is_differentiated_backwards(name: str) -> None:
    solve = ON_TAPES[name]
    batch = np.array([[2.0, 1.5], [1.2, 0.3], [0.8, 2.5]])
    found = tj.grad(lambda b: np.sum(np.sin(tj.vmap(solve)(b))))(batch)
    each = tj.grad(lambda a: np.sum(np.sin(solve(a))))
    np.testing.assert_allclose(found, [each(a) for a in batch], rtol=1e-9)


@pytest.mark.parametrize("given", ["bounds", "constraints"])
def test_what_a_method_ignores_has_no_part_in_the_derivative(given: str) -> None:
    options: Any = {
        "bounds": [(0.0, 1.0)] * 2,
        "constraints": {"type": "ineq", "fun": lambda x: 1.0 - x @ x},
    }

    def f(a: Any) -> Any:
        only = {given: options[given]}
        return so.minimize(
            lambda x: np.sum((x - a) ** 2), np.zeros(2), method="BFGS", tol=1e-9, **only
        ).x

    with pytest.warns(RuntimeWarning, match=f"cannot handle {given}"):
        found = tj.jacobian(f)(np.array([2.0, 1.5]))
    np.testing.assert_allclose(found, np.eye(2), atol=1e-7)


def test_options_of_curve_fit_are_handed_over() -> None:
    x = np.linspace(0.0, 1.0, 7)
    y = np.exp(-x) + 0.1 * np.sin(9.0 * x)

    def f(y: Any) -> Any:
        precise = dict.fromkeys(("ftol", "xtol", "gtol"), 1e-15)
        options: Any = {"loss": "soft_l1", "f_scale": 0.3, "maxfev": 90, **precise}
        found, covariance = so.curve_fit(
            lambda x, p, q: p * np.exp(-q * x), x, y, p0=[1.0, 1.0], method="trf", **options
        )
        return np.concatenate([found, covariance.ravel()])

    compiled: Any = tj.function(f)
    np.testing.assert_allclose(compiled(y), f(y), rtol=1e-5)
    steps = 1e-5 * np.eye(7)
    expected = np.stack([(compiled(y + dy) - compiled(y - dy)) / 2e-5 for dy in steps], axis=-1)
    np.testing.assert_allclose(tj.jacobian(f)(y), expected, atol=2e-3)
