"""Derivatives of loops against those of the same programs unrolled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.loop_programs import PROGRAMS
from tests.rows import each_row
from tests.unrolled import LOOPS, UNROLLED, left_unrolled
from tracejit.trace.structure.trees import flatten

X = np.array([0.3, -1.2, 0.7])


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every pass is verified, bodies as well."""
    monkeypatch.setenv("TRACEJIT_VERIFY", "1")
    with np.errstate(all="ignore"):
        yield


def _direction(x: np.ndarray) -> np.ndarray:
    return np.cos(np.arange(x.size)).reshape(x.shape).astype(x.dtype)


def _squares(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: np.sum(np.abs(f(*args)) ** 2)


def _gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: tj.value_and_grad(_squares(f), argnums=tuple(range(len(args))))(*args)


def _pushed(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: tj.jvp(f, args, tuple(map(_direction, args)))


def _curved(f: Callable[..., Any]) -> Callable[..., Any]:
    def product(x: Any, *others: Any) -> Any:
        return tj.hvp(lambda one: _squares(f)(one, *others), (x,), (_direction(x),))

    return product


def _twice_in_reverse(f: Callable[..., Any]) -> Callable[..., Any]:
    return tj.grad(lambda *args: np.sum(np.abs(tj.grad(_squares(f))(*args)) ** 2))


OF_REAL: dict[str, Callable[..., Any]] = {
    "hvp": _curved,
    "reverse over reverse": _twice_in_reverse,
    "jacobian": tj.jacobian,
    "jacfwd": tj.jacfwd,
}
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "value": tj.function,
    "gradient": _gradient,
    "jvp": _pushed,
    **OF_REAL,
}


def _arrays(answer: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in flatten(answer)[0]]


PAIRS = [
    (name, transform)
    for name, (_, args) in PROGRAMS.items()
    for transform in TRANSFORMS
    if transform not in OF_REAL or not np.iscomplexobj(args[0])
]
# Of the costly transforms, one of each two for a program by day.
BY_DAY = [
    (name, transform)
    for number, (name, transform) in enumerate(PAIRS)
    if transform not in OF_REAL or number % 2 == list(PROGRAMS).index(name) % 2
]


@pytest.mark.parametrize(("name", "transform"), some_by_day(BY_DAY, 5))
def test_loops_have_the_derivatives_of_unrolled_programs(name: str, transform: str) -> None:
    check_derivatives(name, transform)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "transform"), sorted({*PAIRS}.difference(BY_DAY)))
def test_nightly_derivatives_of_unrolled_programs(name: str, transform: str) -> None:
    check_derivatives(name, transform)


def check_derivatives(name: str, transform: str) -> None:
    """Made by loops, twice, and unrolled."""
    make, args = PROGRAMS[name]
    call = TRANSFORMS[transform](make(LOOPS))
    with left_unrolled():
        expected = _arrays(TRANSFORMS[transform](make(UNROLLED))(*args))
    digits = 1e-5 if args[0].dtype == np.float32 else 1e-11
    for _ in range(2):
        found = _arrays(call(*[x.copy() for x in args]))
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            scale = max(1.0, float(np.nanmax(np.abs(other), initial=0.0)))
            np.testing.assert_allclose(one, other, rtol=digits, atol=digits * scale)


OTHER_ORDER = {
    "containers": "a carried value is stacked, and read twice by the next step",
    "stacked_arrays": "an array is sliced, and read by the body besides",
    "zeros": "unrolled, the cotangent of an element is put among zeros, which are added",
}


@each_row("name", PROGRAMS)
def test_exact_loops_have_every_bit_of_unrolled_programs(name: str) -> None:
    make, args = PROGRAMS[name]
    found = _arrays(tj.function(make(LOOPS), exact=True)(*args))
    with left_unrolled():
        expected = _arrays(tj.function(make(UNROLLED), exact=True)(*args))
    assert [x.tobytes() for x in found] == [x.tobytes() for x in expected]


@each_row("name", [name for name in PROGRAMS if name not in OTHER_ORDER])
def test_exact_gradients_add_in_the_order_of_unrolled_programs(name: str) -> None:
    make, args = PROGRAMS[name]

    def exact(loops: Any) -> list[np.ndarray]:
        f = tj.function(_squares(make(loops)), exact=True)
        return _arrays(tj.grad(f, argnums=tuple(range(len(args))))(*args))

    with left_unrolled():
        expected = exact(UNROLLED)
    assert [x.tobytes() for x in exact(LOOPS)] == [x.tobytes() for x in expected]


# Cotangents that begin


def test_a_sum_of_negative_zeros_keeps_its_sign() -> None:
    def f(w: Any, x: Any) -> Any:
        return tj.scan(lambda c, e: (c + e * w, None), 0.0, x)[0]

    gradient = tj.grad(tj.function(f, exact=True))(2.0, np.array([-0.0, -0.0]))
    assert np.signbit(gradient)


def test_the_gradient_of_an_invariant_goes_on_from_what_follows_the_loop() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        last, rows = tj.scan(lambda c, e: (y, y * 2.0), x, length=3)
        return np.sum(last**2) + np.sum(rows**3) + np.sum(y)

    def unrolled(x: Any) -> Any:
        y = np.sin(x)
        return np.sum(y**2) + 3 * np.sum((y * 2.0) ** 3) + np.sum(y)

    np.testing.assert_allclose(tj.grad(f)(X), tj.grad(unrolled)(X), rtol=1e-13)


def test_a_cotangent_that_is_absent_makes_no_nan_of_an_infinite_derivative() -> None:
    """Nothing after the loop reads a root: none of its cotangents is there."""

    def f(x: Any) -> Any:
        (total, _), _ = tj.scan(lambda c, e: ((c[0] + e, np.sqrt(e)), None), (0.0, 0.0), x)
        return total

    np.testing.assert_array_equal(tj.grad(f)(np.zeros(3)), np.ones(3))


def test_the_last_step_has_no_cotangent_of_what_it_hands_on() -> None:
    def f(x: Any) -> Any:
        def step(root: Any, e: Any) -> Any:
            return np.sqrt(e), root

        return np.sum(tj.scan(step, 0.0, x)[1])

    def unrolled(x: Any) -> Any:
        return np.sum(np.sqrt(x[:-1]))

    x = np.array([1.0, 4.0, 9.0])
    np.testing.assert_allclose(tj.grad(f)(x), tj.grad(unrolled)(x))


def test_nothing_flows_into_what_no_result_depends_on() -> None:
    @tj.function
    def gradients(x: Any, y: Any) -> Any:
        x, y = tj.constant(x), tj.constant(y)
        with tj.GradientTape() as tape:
            tape.watch(x)
            tape.watch(y)
            stopped = tj.stop_gradient(y)
            out = tj.scan(lambda c, e: (c * e + np.sum(stopped), None), 1.0, x)[0]
        found = tape.gradient(out, [x, y])
        return found[0], found[1] is None

    _, is_none = gradients(X, X)
    assert is_none


def test_a_complex_invariant_that_stops_gradients_is_unconnected() -> None:
    @tj.function
    def gradients(x: Any, y: Any) -> Any:
        x, y = tj.constant(x), tj.constant(y)
        with tj.GradientTape() as tape:
            tape.watch(y)
            out = tj.scan(lambda c, e: (c * e + np.sum(tj.stop_gradient(y)), None), 1.0 + 0j, x)[0]
        return tape.gradient(np.real(out), y) is None

    assert gradients(X, X * 1j)


# What is computed how often


def test_a_step_is_recorded_once_whatever_the_number_of_steps() -> None:
    called = []

    def f(x: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            called.append(None)
            return np.tanh(c + e), c

        last, rows = tj.scan(step, np.float64(0.0), x)
        return last + np.sum(rows)

    tj.grad(f)(np.zeros(1000))
    assert len(called) == 1


def test_the_forward_loop_runs_once_for_value_and_gradient() -> None:
    def f(x: Any) -> Any:
        return tj.scan(lambda c, e: (np.tanh(c + e), None), 0.0, x)[0]

    both = tj.value_and_grad(f)
    both(X)
    whole = both.source[both.source.index("def value_and_grad") :]
    assert whole.count("in range(3)") == whole.count("in reversed(range(3))") == 1


def test_loops_of_one_step_and_of_none() -> None:
    def f(x: Any) -> Any:
        last, rows = tj.scan(lambda c, e: (c * e, c), 2.0, x)
        return last + np.sum(rows)

    for size, expected in ((1, [2.0]), (0, [])):
        value, gradient = tj.value_and_grad(f)(np.full(size, 3.0))
        assert value == (8.0 if size else 2.0)
        np.testing.assert_array_equal(gradient, expected)


def test_a_loop_on_a_condition_that_is_the_same_at_each_step_of_another() -> None:
    """What it stacks is a list of the graph around, whose cotangent is a sum over the steps."""

    def f(x: Any, repeat: Any) -> Any:
        slope = np.tanh(0.5 * x)

        def outer(u: Any) -> Any:
            v = repeat(
                lambda v: np.sum(v[0]) > 0.0, lambda v: (v[0] - 0.3, v[1] + slope * v[0]), (x, x)
            )
            return u[0] - 0.3, u[1] + v[1] * v[1]

        return np.sum(repeat(lambda u: np.sum(u[0]) > 0.0, outer, (x, x))[1])

    def in_python(test: Any, body: Any, value: Any) -> Any:
        while test(value):
            value = body(value)
        return value

    for x in (np.float64(1.0), np.array([1.0, 0.5])):
        found, expected = [
            tj.grad(lambda x, each=each: np.sum(tj.grad(lambda x: f(x, each))(x) ** 2))(x)
            for each in (tj.while_loop, in_python)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
