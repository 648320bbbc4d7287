"""Functions of Python floats: values and gradients are those of the floats that Python computes
with, through conversions, `math`, markers, tapes and transforms."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracejit as tj
from tests.support.compare import assert_same


def by_tape(x: Any) -> Any:
    """The slope of a cube, by a tape inside."""
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x
    return tape.gradient(y, x)


def power(n: int, x: Any) -> Any:
    """A power by recursion."""
    return x if n == 0 else power(n - 1, x) * x


@tj.custom_gradient
def square(x: Any) -> Any:
    """A square whose rule knows its slope from a tape."""
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    slope = tape.gradient(y, x)
    return y, lambda g: g * slope


Program = tuple[Callable[[Any], Any], float, float]
SLOPES: dict[str, Program] = {
    "stopped": (lambda x: tj.stop_gradient(x) * x, 1.3, 1.3),
    "stopped float": (lambda x: tj.stop_gradient(float(x)) * x, 1.3, 1.3),
    "constant": (lambda x: tj.constant(x) * x, 2.0, 2.0),
    "tape": (by_tape, 2.0, 12.0),
    "gradients": (lambda x: tj.gradients(x**3, [x])[0] * x, 2.0, 36.0),
    "rule with a tape": (square, 3.0, 6.0),
    "cond": (lambda x: tj.cond(x > 1, lambda: x * x, lambda: x), 2.0, 4.0),
    "while": (
        lambda x: tj.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * x), (0, 1.0))[1],
        2.0,
        12.0,
    ),
    "scan": (lambda x: tj.scan(lambda c, _: (c * x, c), x, length=3)[0], 2.0, 32.0),
    "scan from an int": (lambda x: tj.scan(lambda c, _: (c * x, c), 1, length=3)[0], 2.0, 12.0),
    "branch": (lambda x: x * x if x > 0 else -x, 3.0, 6.0),
    "other branch": (lambda x: x * x if x > 0 else -x, -3.0, -1.0),
    "range": (lambda x: sum(x * k for k in range(int(x))), 3.5, 3.0),
    "recursion": (lambda x: power(3, x), 2.0, 32.0),
    "maximum": (lambda x: max(x, 2.0) * x, 3.0, 6.0),
    "root": (lambda x: x**0.5, 4.0, 0.25),
    "cube root": (lambda x: x ** (1 / 3), 8.0, 1 / 12),
    "exponent": (lambda x: 2.0**x, 3.0, 8 * math.log(2)),
    "both": (lambda x: x**x, 3.0, 27 * (math.log(3) + 1)),
    "inverse": (lambda x: x**-1, 2.0, -0.25),
    "remainder": (lambda x: x % 3.0, 4.0, 1.0),
    "divmod": (lambda x: divmod(x, 3.0)[1], 4.0, 1.0),
    "abs": (lambda x: abs(-x), 4.0, 1.0),
    "float32": (lambda x: np.sum(np.ones(3, "f4") * x), 2.0, 3.0),
    "nested": (lambda x: tj.grad(lambda y: y**3 * x)(x), 1.5, 9 * 1.5**2),
}


@pytest.mark.parametrize("disable", [False, True], ids=["kernel", "python"])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_are_those_of_the_floats(name: str, disable: bool) -> None:
    f, x, slope = SLOPES[name]
    with tj.config(disable=disable):
        value, found = tj.value_and_grad(f)(x)
    assert found == pytest.approx(slope, rel=1e-12)
    assert type(found) is np.float64
    assert value == pytest.approx(tj.function(f)(np.float64(x)), rel=1e-12)


def test_values_have_the_dtype_of_the_plain_call() -> None:
    ones = np.ones(3, "f4")
    for f in (lambda x: np.sum(ones * x), lambda x: np.sum(ones / (x * x)) + ones[0] * x):
        assert_same(tj.value_and_grad(f)(2.0)[0], f(2.0))


def test_a_float_of_an_array_is_one_to_differentiate_through() -> None:
    x = np.array([1.0, 2.0])
    total = tj.grad(lambda x: float(np.sum(x)) ** 2 + x[0].item() * math.exp(x[1].item()))
    assert_same(total(x), np.array([6.0 + math.exp(2.0), 6.0 + math.exp(2.0)]))
    assert tj.function(lambda x: by_tape(float(np.sum(x))))(x) == 27.0


def test_python_may_not_go_by_a_float_that_is_differentiated_by_unseen() -> None:
    with pytest.raises(tj.TracejitError, match="hash"):
        tj.grad(lambda x: {1.0: 2.0}.get(x, 3.0) * x)(1.0)


def test_a_power_that_python_makes_complex_is_none_of_a_gradient() -> None:
    with np.errstate(invalid="ignore"):
        value, slope = tj.value_and_grad(lambda x: x ** (1 / 3))(-8.0)
    assert np.isnan(value) and np.isnan(slope)


def test_draws_follow_the_floats_that_they_are_made_of() -> None:
    def drawn(x: Any, rng: Any) -> Any:
        return rng.normal(x, 2.0) * 3 + np.sum(rng.normal(float(x), x, size=3))

    found = tj.grad(drawn)(1.0, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    rng.normal()
    assert found == pytest.approx(3 + 3 + rng.normal(size=3).sum())


def test_threads_that_call_while_another_records_have_gradients_too() -> None:
    def f(x: Any) -> Any:
        y = x
        for _ in range(30):
            y = y * math.exp(-float(x[0])) + np.array([x[0], x[1]])
        return np.sum(y) * float(np.sum(x))

    slope = tj.grad(f)
    barrier = threading.Barrier(4)

    def called() -> Any:
        barrier.wait()
        return slope(np.ones(2))

    with ThreadPoolExecutor(4) as pool:
        found = [one.result() for one in [pool.submit(called) for _ in range(4)]]
    for one in found:
        np.testing.assert_allclose(one, slope(np.ones(2)), rtol=1e-12)


def test_the_error_of_a_kernel_is_the_users() -> None:
    with pytest.raises(ValueError, match="math domain error"):
        tj.grad(lambda x: math.log(x))(-1.0)


# Random programs

NUMBERS = st.sampled_from([0.5, 1.0, 2.0, 3.0, -1.5])
STEPS = st.lists(
    st.tuples(st.sampled_from(sorted("+-*/")), NUMBERS)
    | st.tuples(st.sampled_from(["x+", "x*", "**2", "**3", "sin", "exp", "np.cos", "sum", "f4"]),
                st.just(0.0)),
    min_size=1,
    max_size=7,
)  # fmt: skip
DATA = np.linspace(0.5, 1.5, 4)


def program(steps: Any) -> Callable[[Any], Any]:
    """A function that does these steps in turn, in Python and NumPy."""

    def f(x: Any) -> Any:
        y = x
        for step, number in steps:
            if step in "+-*/":
                y = {"+": y + number, "-": number - y, "*": y * number, "/": y / number}[step]
            elif step == "x+":
                y = y + x
            elif step == "x*":
                y = x * y
            elif step in ("**2", "**3"):
                y = y ** int(step[-1])
            elif step == "sin":
                y = math.sin(y)
            elif step == "exp":
                y = math.exp(math.sin(y))
            elif step == "np.cos":
                y = np.cos(y)
            elif step == "sum":
                y = float(np.sum(DATA * y))
            else:
                y = np.sum(np.ones(2, "f4") * y) * 0.125
        return y

    return f


@given(STEPS, st.sampled_from([0.3, -0.7, 1.1]))
def test_random_programs_of_floats(steps: Any, x: float) -> None:
    f = program(steps)
    wanted = f(x)
    value, slope = tj.value_and_grad(f)(x)
    with tj.config(disable=True):
        assert tj.grad(f)(x) == pytest.approx(slope, rel=1e-5, abs=1e-9)
    single = any(step == "f4" for step, _ in steps)
    assert value == pytest.approx(wanted, rel=1e-4 if single else 1e-11, abs=1e-11)
    if isinstance(wanted, np.generic):
        assert type(value) is type(wanted)
    if not single:
        h = 1e-6 * max(1.0, abs(x))
        change = (f(x + h) - f(x - h)) / (2 * h)
        assert slope == pytest.approx(change, rel=1e-5, abs=1e-6 * max(1.0, abs(wanted)))
