"""Calls of SciPy's routines: each a function of arrays, and where it is tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate as si
import scipy.optimize as so

P = np.array([2.0, 1.5, 1.2])
TIMES = np.linspace(0.0, 2.0, 5)
POINTS = np.linspace(0.0, 2.0, 12)
MEASURED = 2.0 * np.exp(-1.5 * POINTS) + 0.1 * np.sin(7.0 * POINTS)
TIGHT = {"rtol": 1e-9, "atol": 1e-9}


class Sample(NamedTuple):
    """A function, its arguments, and the relative difference to SciPy's own value that is its
    tolerance. Differences of the function are as wrong as `noise`."""

    f: Callable[..., Any]
    xs: tuple[Any, ...]
    rtol: float = 1e-7
    noise: float = 2e-5


def balance(x: Any, p: Any) -> Any:
    inflow = np.array([1.0, 0.0, 0.0])
    passed_on = p * x / (1.0 + x)
    return inflow - passed_on + np.concatenate([[0.0], passed_on[:-1]]) - 0.1 * x


def kepler(anomaly: Any, e: Any) -> Any:
    return anomaly - e * np.sin(anomaly) - 1.0


def rosenbrock(x: Any, a: Any) -> Any:
    return np.sum(a[1] * (x[1:] - x[:-1] ** 2) ** 2 + (a[0] - x[:-1]) ** 2)


def decay(t: Any, a: Any, b: Any) -> Any:
    return a * np.exp(-b * t)


def oscillator(t: Any, y: Any, p: Any) -> Any:
    return [y[1], p[0] * (1.0 - y[0] ** 2) * y[1] - p[1] * y[0]]


def falling(t: Any, y: Any, drag: Any = 0.1) -> Any:
    return [y[1], -9.81 - drag * y[1]]


def ground(t: Any, y: Any, drag: Any = 0.1) -> Any:
    return y[0]


ground.terminal = True  # type: ignore[attr-defined]
ground.direction = -1  # type: ignore[attr-defined]


def top(t: Any, y: Any, drag: Any = 0.1) -> Any:
    return y[1]


def swinging(p: Any, events: Any, **options: Any) -> Any:
    """A damped oscillator that comes through its middle three times in eight units of time."""

    def rate(t: Any, y: Any) -> Any:
        return [y[1], -p[0] * y[0] - 0.1 * p[1] * y[1]]

    return si.solve_ivp(rate, (0.0, 8.0), [1.0, 0.0], events=events, **TIGHT, **options)


def middle(t: Any, y: Any) -> Any:
    return y[0]


def ends(event: Callable[..., Any], terminal: Any = True) -> Any:
    """The event, which ends the solution."""
    event.terminal = terminal  # type: ignore[attr-defined]
    return event


def minimum(method: Any = None, **options: Any) -> Callable[[Any], Any]:
    def f(a: Any) -> Any:
        return so.minimize(rosenbrock, np.zeros(3), args=(a,), method=method, **options).x

    return f


def last_state(method: str, **options: Any) -> Callable[[Any], Any]:
    def f(p: Any) -> Any:
        found = si.solve_ivp(
            oscillator, (0.0, 2.0), [2.0, 0.0], args=(p,), method=method, **options
        )
        return found.y[:, -1]

    return f


def fitted(y: Any) -> Any:
    def residuals(x: Any) -> Any:
        return x[0] * np.exp(-x[1] * POINTS) - y

    return so.least_squares(residuals, np.ones(2), ftol=1e-12, xtol=1e-12, gtol=1e-12).x


def curve(y: Any) -> Any:
    found, covariance = so.curve_fit(decay, POINTS, y)
    return np.concatenate([found, covariance.ravel()])


def inner_fit(strength: Any) -> Any:
    """The validation error of a ridge regression, whose weights are a minimum."""
    x = np.vander(POINTS, 4)

    def loss(w: Any) -> Any:
        return np.sum((x[::2] @ w - MEASURED[::2]) ** 2) + np.exp(strength) * np.sum(w**2)

    weights = so.minimize(loss, np.zeros(4), tol=1e-10, method="L-BFGS-B").x
    return np.sum((x[1::2] @ weights - MEASURED[1::2]) ** 2)


def shooting(a: Any) -> Any:
    """The slope at which an oscillator reaches one at the time one."""

    def miss(slope: Any) -> Any:
        found = si.solve_ivp(lambda t, y: [y[1], -a * y[0]], (0.0, 1.0), [0.0, slope], **TIGHT)
        return found.y[0, -1] - 1.0

    return so.brentq(miss, 0.1, 5.0)


def paraboloid(x: Any, a: Any) -> Any:
    return np.sum((x - a) ** 2) + 0.3 * x[0] * x[1]


def held(method: str, *constraints: Any, **options: Any) -> Callable[[Any], Any]:
    """The least of a paraboloid under constraints that are functions of the parameters."""

    def f(a: Any) -> Any:
        given = [make(a) for make in constraints]
        return so.minimize(
            paraboloid, np.full(3, 0.5), (a,), method, constraints=given, **options
        ).x

    return f


def sphere(x: Any, radius: Any = 1.0) -> Any:
    return x @ x - radius


ON_SPHERE = {"type": "eq", "fun": sphere}


def robust(loss: str, **options: Any) -> Callable[[Any], Any]:
    def f(y: Any) -> Any:
        found = so.least_squares(
            lambda x: x[0] * np.exp(-x[1] * POINTS) - y,
            np.ones(2),
            loss=loss,
            f_scale=0.3,
            ftol=1e-15,
            xtol=1e-15,
            gtol=1e-15,
            **options,
        )
        return np.concatenate([found.x, found.grad, [found.cost], 1e-3 * found.jac.ravel()])

    return f


ROOTS = {
    "root": Sample(lambda p: so.root(balance, np.ones(3), args=(p,), tol=1e-12).x, (P,)),
    "root by lm": Sample(
        lambda p: so.root(balance, np.ones(3), args=(p,), tol=1e-12, method="lm").x, (P,)
    ),
    "root by broyden": Sample(
        lambda p: so.root(balance, np.ones(3), args=(p,), tol=1e-10, method="broyden1").x, (P,)
    ),
    "residuals": Sample(lambda p: 3.0 + so.root(balance, np.ones(3), args=(p,)).fun, (P,)),
    "fsolve": Sample(lambda p: so.fsolve(balance, np.ones(3), args=(p,), xtol=1e-12), (P,)),
    "brentq": Sample(lambda e: so.brentq(kepler, 0.0, 5.0, args=(e,)), (0.3,)),
    "brenth": Sample(lambda e: so.brenth(kepler, 0.0, 5.0, args=(e,)), (0.3,)),
    "ridder": Sample(lambda e: so.ridder(kepler, 0.0, 5.0, args=(e,)), (0.3,)),
    "bisect": Sample(lambda e: so.bisect(kepler, 0.0, 5.0, args=(e,)), (0.3,)),
    "toms748": Sample(lambda e: so.toms748(kepler, 0.0, 5.0, args=(e,)), (0.3,)),
    "newton": Sample(lambda e: so.newton(kepler, 1.0, args=(e,), tol=1e-12), (0.3,)),
    "newton of an array": Sample(
        lambda e: so.newton(kepler, np.ones(3), args=(e,), tol=1e-12), (0.1 * P,)
    ),
    "root_scalar": Sample(
        lambda e: so.root_scalar(kepler, args=(e,), bracket=[0.0, 5.0]).root, (0.3,)
    ),
    "root_scalar by newton": Sample(
        lambda e: so.root_scalar(kepler, args=(e,), x0=1.0, xtol=1e-12).root, (0.3,)
    ),
    "root_scalar by secants": Sample(
        lambda e: so.root_scalar(kepler, args=(e,), x0=1.0, x1=1.5, xtol=1e-12).root, (0.3,)
    ),
    "fixed_point": Sample(
        lambda a: so.fixed_point(lambda x: np.sqrt(a / (x + 3.0)), np.array([1.2, 1.3, 1.4])),
        (10.0 * P,),
    ),
    "a start that is recorded": Sample(lambda a: so.fsolve(lambda x: x**2 - a, a), (P,)),
    "two arguments": Sample(
        lambda a, b: so.root(lambda x, a, b: a * x + np.sin(x) - b, np.zeros(3), (a, b)).x,
        (P, 0.1 * P),
    ),
    "shooting": Sample(shooting, (1.5,)),
}
MINIMA = {
    "BFGS": Sample(minimum(tol=1e-7), (P,), 1e-4),
    "L-BFGS-B": Sample(minimum("L-BFGS-B", tol=1e-12), (P,), 1e-4),
    "SLSQP": Sample(minimum("SLSQP", tol=1e-12), (P,), 1e-4),
    "Nelder-Mead": Sample(
        minimum("Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-10, "maxiter": 4000}), (P,)
    ),
    "bounds": Sample(
        minimum("L-BFGS-B", bounds=[(None, 0.9), (-5.0, 0.7), (-np.inf, np.inf)], tol=1e-12),
        (P,),
        1e-4,
    ),
    "bounds that move": Sample(
        lambda a, low, high: (
            so.minimize(rosenbrock, a / 3, args=(a,), bounds=so.Bounds(low, high), tol=1e-12).x
        ),
        (P, np.array([-1.0, 0.9, -1.0]), np.array([0.5, 2.0, 9.0])),
        1e-4,
    ),
    "pairs of bounds": Sample(
        lambda a: (
            so.minimize(
                rosenbrock,
                np.full(3, 0.1),
                args=(a,),
                bounds=[(0.0, 0.2 * a[1]), (None, a[2]), (0.4 * a[0], 0.4 * a[0])],
                tol=1e-14,
            ).x
        ),
        (P,),
        1e-4,
    ),
    "an equality": Sample(held("SLSQP", lambda a: ON_SPHERE, tol=1e-13), (P,), 1e-5),
    "an inequality": Sample(
        held(
            "SLSQP",
            lambda a: {"type": "ineq", "fun": lambda x: a[0] - x[0] - x[1] ** 2},
            lambda a: {"type": "ineq", "fun": lambda x, b: x + 5.0 * b, "args": (a,)},
            tol=1e-13,
        ),
        (P,),
        1e-5,
    ),
    "constraints and bounds": Sample(
        held(
            "SLSQP",
            lambda a: {"type": "eq", "fun": lambda x: np.sum(x) - 2.0},
            bounds=[(None, None), (0.0, 0.3), (None, None)],
            tol=1e-13,
        ),
        (P,),
        1e-5,
    ),
    "linear constraints": Sample(
        held(
            "SLSQP",
            lambda a: so.LinearConstraint(a[None, :], 1.0, 1.0),
            lambda a: so.LinearConstraint([[1.0, -1.0, 0.0]], -np.inf, 0.1 * a[2]),
            tol=1e-13,
        ),
        (P,),
        1e-5,
    ),
    "the least value under constraints": Sample(
        lambda a: so.minimize(paraboloid, P, (a,), "SLSQP", constraints=ON_SPHERE, tol=1e-10).fun,
        (P,),
        1e-5,
    ),
    "the least value": Sample(
        lambda a: (
            so.minimize(
                rosenbrock,
                np.zeros(3),
                args=(a,),
                tol=1e-9,
                method="L-BFGS-B",
                bounds=[(0, 0.5)] * 3,
            ).fun
        ),
        (P,),
        1e-4,
    ),
    "minimize_scalar": Sample(
        lambda a: so.minimize_scalar(lambda x: (x - a) ** 2 + 0.1 * np.cos(x * a)).x, (0.7,), 1e-5
    ),
    "minimize_scalar between bounds": Sample(
        lambda a: (
            so.minimize_scalar(
                lambda x: (x - a) ** 2,
                bounds=(0, 0.6 * a),
                method="bounded",
                options={"xatol": 1e-9},
            ).x
        ),
        (0.7,),
        1e-5,
    ),
    "minimize_scalar inside of bounds": Sample(
        lambda a: (
            so.minimize_scalar(
                lambda x: (x - a) ** 2 + 0.1 * np.cos(x * a),
                bounds=(0.0, 2.0),
                options={"xatol": 1e-10},
            ).x
        ),
        (0.7,),
        1e-5,
    ),
    "a bracket": Sample(
        lambda a: so.minimize_scalar(lambda x: (x - a) ** 4 + (x - a) ** 2, bracket=(0.0, a)).x,
        (0.7,),
        1e-5,
    ),
    "soft_l1": Sample(robust("soft_l1"), (MEASURED,), 1e-5),
    "huber": Sample(robust("huber"), (MEASURED,), 1e-5),
    "cauchy": Sample(robust("cauchy", x_scale="jac"), (MEASURED,), 1e-5, 2e-4),
    "arctan": Sample(robust("arctan", x_scale=np.array([1.0, 2.0])), (MEASURED,), 1e-5, 2e-4),
    "a loss between bounds": Sample(
        lambda y: (
            so.least_squares(
                lambda x: x[0] * np.exp(-x[1] * POINTS) - y,
                np.ones(2),
                loss="soft_l1",
                bounds=so.Bounds([0.0, 0.0], [y[0] - 0.2, 5.0]),
                xtol=1e-14,
                ftol=1e-14,
                gtol=1e-14,
            ).x
        ),
        (MEASURED,),
        1e-5,
    ),
    "least_squares": Sample(fitted, (MEASURED,), 1e-5),
    "least_squares between bounds": Sample(
        lambda y: (
            so.least_squares(
                lambda x: x[0] * np.exp(-x[1] * POINTS) - y, [1.0, 1.0], bounds=([0, 0], [1.9, 5.0])
            ).x
        ),
        (MEASURED,),
        1e-5,
    ),
    "curve_fit": Sample(curve, (MEASURED,), 1e-4),
    "curve_fit with deviations": Sample(
        lambda y, s: so.curve_fit(decay, POINTS, y, p0=[1.0, 1.0], sigma=s, absolute_sigma=True)[0],
        (MEASURED, 1.0 + POINTS),
        1e-4,
    ),
    "curve_fit between bounds": Sample(
        lambda y: so.curve_fit(decay, POINTS, y, bounds=(0.0, [y[0] - 0.2, np.inf]))[0],
        (MEASURED,),
        1e-4,
    ),
    "curve_fit with covariances": Sample(
        lambda y, c: np.concatenate(
            [x.ravel() for x in so.curve_fit(decay, POINTS, y, sigma=c + np.eye(12))]
        ),
        (MEASURED, 0.1 * np.ones((12, 12))),
        1e-4,
    ),
    "an inner fit": Sample(inner_fit, (-1.0,), 1e-4),
}
INTEGRALS = {
    "quad": Sample(
        lambda p: si.quad(lambda x: np.exp(-p[0] * x**2) * np.cos(p[1] * x), 0.0, 3.0)[0], (P,)
    ),
    "quad of one parameter": Sample(
        lambda p: si.quad(lambda x, q: np.exp(-q * x**2), 0.0, 3.0, args=(p,))[0], (1.5,)
    ),
    "quad of a line": Sample(
        lambda p: si.quad(lambda x: np.exp(-p * x**2), -np.inf, np.inf)[0], (1.5,)
    ),
    "limits": Sample(lambda b: si.quad(lambda x: np.sin(b * x), -b, b + 1.0)[0], (1.5,)),
    "points": Sample(
        lambda p: si.quad(lambda x: np.abs(x - 0.5) * p[0] ** x, 0.0, 1.0, points=[0.5])[0], (P,)
    ),
    "dblquad": Sample(
        lambda p: si.dblquad(
            lambda y, x: p[0] * x * y**2 + p[1] * np.sin(x * y), 0, 2, 0, lambda x: p[1] * x
        )[0],
        (P,),
    ),
    "tplquad": Sample(
        lambda p: si.tplquad(
            lambda z, y, x: p * x * y + z, 0, 1, 0, lambda x: x, 0, lambda x, y: x * y + p
        )[0],
        (1.3,),
    ),
    "nquad": Sample(
        lambda p: si.nquad(
            lambda x, y: p[0] * x * y**2 + np.sin(p[1] * x * y), [[0, 1], [0, p[2]]]
        )[0],
        (P,),
    ),
    "nquad of ranges": Sample(
        lambda p: si.nquad(
            lambda x, y, q: q[0] * x * y, [lambda y, q: (0, q[1] * y), (0, 1)], args=(p,)
        )[0],
        (P,),
    ),
    "fixed_quad": Sample(
        lambda p: si.fixed_quad(lambda x: np.exp(-p * x**2), 0, 1, n=7)[0], (1.5,)
    ),
}
INITIAL_VALUES = {
    "RK23": Sample(last_state("RK23", rtol=1e-7, atol=1e-8), (P,)),
    "RK45": Sample(last_state("RK45", **TIGHT), (P,)),
    "DOP853": Sample(last_state("DOP853", **TIGHT), (P,)),
    "LSODA": Sample(last_state("LSODA", **TIGHT), (P,)),
    "Radau": Sample(last_state("Radau", rtol=1e-7, atol=1e-8), (P,)),
    "BDF": Sample(last_state("BDF", rtol=1e-7, atol=1e-8), (P,)),
    "initial state": Sample(
        lambda y: si.solve_ivp(oscillator, (0.0, 2.0), y, args=(P,), **TIGHT).y[:, -1],
        (np.array([2.0, 0.1]),),
    ),
    "from the last time": Sample(
        lambda t: si.solve_ivp(oscillator, (2.0, t), [2.0, 0.0], args=(P,), **TIGHT).y[0, -1],
        (1.0,),
    ),
    "first and last time": Sample(
        lambda a, b: si.solve_ivp(oscillator, (a, b), [2.0, 0.0], args=(P,), **TIGHT).y.T[-1],
        (0.2, 1.5),
    ),
    "at times": Sample(
        lambda p: (
            si.solve_ivp(oscillator, (0.0, 2.0), [2.0, 0.0], args=(p,), t_eval=TIMES, **TIGHT).y
        ),
        (P,),
    ),
    "times as far as the end": Sample(
        lambda t: (
            si.solve_ivp(
                oscillator,
                (0.0, t),
                [2.0, 0.0],
                args=(P,),
                t_eval=t * np.linspace(0.1, 1, 3),
                **TIGHT,
            ).y
        ),
        (1.5,),
    ),
    "at times that move": Sample(
        lambda t: si.solve_ivp(oscillator, (0.0, 2.0), [2.0, 0.0], args=(P,), t_eval=t, **TIGHT).y,
        (np.array([0.3, 0.7, 1.9]),),
    ),
    "stiff at times": Sample(
        lambda p: (
            si.solve_ivp(
                oscillator, (0.0, 2.0), [2.0, 0.0], args=(p,), t_eval=TIMES, method="LSODA", **TIGHT
            ).y
        ),
        (P,),
    ),
    "dense": Sample(
        lambda p: si.solve_ivp(
            oscillator, (0.0, 2.0), [2.0, 0.0], args=(p,), dense_output=True, **TIGHT
        ).sol(0.7),
        (P,),
    ),
    "time in the rate": Sample(
        lambda p: si.solve_ivp(lambda t, y: -p * y + np.sin(t), (0.0, 2.0), [1.0], **TIGHT).y[
            0, -1
        ],
        (1.5,),
    ),
    "tolerances of each": Sample(
        lambda p: si.solve_ivp(
            oscillator, (0.0, 2.0), [2.0, 0.0], args=(p,), rtol=1e-9, atol=[1e-9, 1e-10]
        ).y[:, -1],
        (P,),
    ),
    "many states": Sample(
        lambda p: si.solve_ivp(
            lambda t, y: p[0] * (np.roll(y, 1) - 2.0 * y + np.roll(y, -1)) - p[1] * y**3,
            (0.0, 0.5),
            np.cos(np.arange(40.0)),
            rtol=1e-8,
            atol=1e-8,
        ).y[:2, -1],
        (P,),
    ),
    "the time of an event": Sample(
        lambda p: si.solve_ivp(falling, (0.0, 9.0), [p[0], p[1]], events=ground, **TIGHT).t[-1],
        (P,),
    ),
    "the state at an event": Sample(
        lambda p: si.solve_ivp(
            falling, (0.0, 9.0), [p[0], p[1]], events=[top, ground], args=(p[2],), **TIGHT
        ).y_events[0][0],
        (P,),
    ),
    "a later event": Sample(
        lambda p: swinging(p, middle).t_events[0][1] + swinging(p, middle).t_events[0][-1], (P,)
    ),
    "the state at a later event": Sample(lambda p: swinging(p, middle).y_events[0][1], (P,)),
    "the third of an event ends it": Sample(
        lambda p: swinging(p, ends(lambda t, y: y[0], 3)).y[:, -1], (P,)
    ),
    "one of two events ends it": Sample(
        lambda p: swinging(
            p, [ends(lambda t, y: y[0] + 0.5 * p[2]), ends(lambda t, y: t - 3 * p[0])]
        ).y[:, -1],
        (P,),
    ),
    "none of two events ends it": Sample(
        lambda p: (
            swinging(p, [ends(lambda t, y: y[0] + 2.0), ends(lambda t, y: t - 9.0)]).t[-1]
            * swinging(p, ends(lambda t, y: y[0] + 2.0)).y[:, -1]
        ),
        (P,),
    ),
    "a problem that has no solution after its end": Sample(
        lambda p: si.solve_ivp(
            lambda t, y: -p * np.sqrt(y),
            (0.0, 20.0),
            [1.0],
            events=ends(lambda t, y: y[0] - 1e-3),
            dense_output=True,
            **TIGHT,
        ).sol(1.2),
        (1.3,),
    ),
    "a stiff event": Sample(
        lambda p: si.solve_ivp(
            falling, (0.0, 9.0), [p[0], 1.0], method="LSODA", events=ground, args=(p[1],), **TIGHT
        ).y[1, -1],
        (P,),
    ),
    "odeint": Sample(
        lambda p: si.odeint(oscillator, [2.0, 0.0], TIMES, args=(p,), tfirst=True, **TIGHT), (P,)
    ),
    "odeint of a state first": Sample(
        lambda p: si.odeint(lambda y, t: [y[1], -p * y[0] + t], [2.0, 0.0], TIMES, **TIGHT), (1.5,)
    ),
    "odeint at times that move": Sample(
        lambda t: si.odeint(oscillator, [2.0, 0.0], t, args=(P,), tfirst=True, **TIGHT)[1:],
        (TIMES,),
    ),
}
SAMPLES = {**ROOTS, **MINIMA, **INTEGRALS, **INITIAL_VALUES}
