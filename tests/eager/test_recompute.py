"""recompute_grad: the second run sees what the first saw, and repeats none of its effects.

The same gradients as without it is the measure of nearly everything here: in four modes (see
tests/tensorflow/modes.py), to the last bit.
"""

from __future__ import annotations

import functools
import linecache
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import pairwise
from operator import length_hint
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.benchmarks.recompute import MOST_MEMORY, arguments, measure, peak
from tests.by_day import some_by_day
from tests.support.compare import assert_same
from tests.support.running import of_value_and_gradient, taped
from tests.tensorflow.modes import MODES, Program, plain
from tracejit.support.errors import InPlaceError, NoGradientError, TracejitError
from tracejit.trace.recording.eager import EAGER


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    """Every test leaves the eager recorder as it found it."""
    yield
    state = EAGER.windows, EAGER.logs, EAGER.runs, EAGER.replay, EAGER.where, EAGER.in_rule
    assert state == ((), (), (), None, None, False)


EVERY_MODE = pytest.mark.parametrize("mode", MODES)
X = np.array([1.0, -2.0, 0.5])
Y = np.array([3.0, 0.25, -1.0])
ONE = np.ones(3)

Wrap = Callable[[Any], Any]


def kept(f: Any) -> Any:
    """In place of recompute_grad."""
    return f


class Pair(NamedTuple):
    x: Any
    y: Any


def constants() -> list[Any]:
    return [tj.constant(X), tj.constant(Y)]


def on_a_tape(f: Callable[..., Any], *arrays: Any) -> Any:
    """The value of f and its gradients by all arguments, as arrays."""
    return plain(taped(f, *arrays))


# The same gradients as without


def of_arguments(wrap: Wrap) -> Program:
    f = wrap(lambda x, y: np.tanh(np.sin(x) * y) * np.exp(-x))
    return Program(f, constants(), [])


def of_a_closure(wrap: Wrap) -> Program:
    def g(x: Any, y: Any) -> Any:
        h = np.sin(y)
        return wrap(lambda a: np.exp(a * h) * h)(x)

    return Program(g, constants(), [])


def of_closures_alone(wrap: Wrap) -> Program:
    return Program(lambda x, y: wrap(lambda: np.exp(np.sin(x) * y))(), constants(), [])


def of_variables(wrap: Wrap) -> Program:
    w, u = tj.Variable(X), tj.Variable(2.0)
    return Program(wrap(lambda x, y: np.tanh(x * w) * u + w * y), constants(), [w, u])


def of_a_variable_passed(wrap: Wrap) -> Program:
    w = tj.Variable(X)
    f = wrap(lambda v, x: np.sin(v) * x * v)
    return Program(lambda x, y: f(w, x) + y, constants(), [w])


def of_a_variable_returned(wrap: Wrap) -> Program:
    w = tj.Variable(X)
    f = wrap(lambda x: (w, x * w))
    return Program(lambda x, y: f(x)[0] * f(x)[1] * y, constants(), [w])


def of_keywords(wrap: Wrap) -> Program:
    @wrap
    def f(a: Any, *, b: Any, scale: Any = 1.0, how: str = "sin") -> Any:
        return getattr(np, how)(a * b) * scale

    return Program(lambda x, y: f(x, b=y, scale=2.0, how="cos") + f(b=x, a=y), constants(), [])


def of_containers(wrap: Wrap) -> Program:
    @wrap
    def f(p: Any, q: Any) -> Any:
        return {"z": np.sin(p["b"]) * q.x, "a": [p["a"], (q.y * p["a"], None)], "name": "f"}

    def g(x: Any, y: Any) -> Any:
        out = f({"b": x, "a": y}, Pair(y, x))
        assert out["name"] == "f" and out["a"][1][1] is None
        return out["z"] * out["a"][0] * out["a"][1][0]

    return Program(g, constants(), [])


def of_integer_outputs(wrap: Wrap) -> Program:
    @wrap
    def f(x: Any, y: Any) -> Any:
        return np.argmax(x), x * y, x > 0.0, 3, 2.5

    def g(x: Any, y: Any) -> Any:
        index, product, mask, n, number = f(x, y)
        return product[index] * product * mask * n * number

    return Program(g, constants(), [])


def of_an_unused_output(wrap: Wrap) -> Program:
    f = wrap(lambda x, y: (np.exp(x) * y, np.sin(x)))
    return Program(lambda x, y: f(x, y)[0] * x, constants(), [])


def of_an_output_that_is_an_input(wrap: Wrap) -> Program:
    f = wrap(lambda x, y: (x, np.sin(x) * y, x))

    def g(x: Any, y: Any) -> Any:
        a, b, c = f(x, y)
        return a * b * c * x

    return Program(g, constants(), [])


def of_the_same_twice(wrap: Wrap) -> Program:
    f = wrap(lambda a, b: np.sin(a) * b)
    return Program(lambda x, y: f(x, x) * y, constants(), [])


def of_what_is_ignored(wrap: Wrap) -> Program:
    return Program(wrap(lambda x, y: np.sin(x)), constants(), [])


def of_an_integer(wrap: Wrap) -> Program:
    f = wrap(lambda x, n, k: x[n] * np.sin(x) * k)
    return Program(lambda x, n: f(x, n, 3), [tj.constant(X), tj.constant(1)], [])


def of_nested_functions(wrap: Wrap) -> Program:
    w = tj.Variable(Y)
    inner = wrap(lambda x: np.sin(x) * x * w)

    @wrap
    def outer(x: Any, y: Any) -> Any:
        innermost = wrap(lambda a: np.cos(a) * y)
        return np.exp(-inner(np.cos(x)) * innermost(x))

    return Program(outer, constants(), [w])


def of_a_custom_gradient_inside(wrap: Wrap) -> Program:
    w = tj.Variable(Y)

    @tj.custom_gradient
    def rule(x: Any, y: Any) -> Any:
        def grad(g: Any, variables: Any) -> Any:
            return (g * y * 10.0, g * x * 20.0), [g * 30.0 * x * y]

        return np.sin(x) * y * w, grad

    return Program(wrap(lambda x, y: rule(np.exp(x), y) * x), constants(), [w])


def of_a_region_in_a_custom_gradient(wrap: Wrap) -> Program:
    f = wrap(lambda x: np.sin(x) * x)

    @tj.custom_gradient
    def rule(x: Any, y: Any) -> Any:
        return f(x) * y, lambda g: (f(x) * g * 10.0, f(g) * y)

    return Program(lambda x, y: rule(np.exp(-x), y), constants(), [])


def of_stopped_and_passed(wrap: Wrap) -> Program:
    @wrap
    def f(x: Any, y: Any) -> Any:
        return x * tj.stop_gradient(np.exp(x)) * tj.grad_pass_through(np.rint)(y * 2.0)

    return Program(f, constants(), [])


def of_a_compiled_function_inside(wrap: Wrap) -> Program:
    inner = tj.function(lambda x, y: np.sin(x) * y)
    return Program(wrap(lambda x, y: inner(np.exp(-x), y) * x), constants(), [])


def of_a_gradient_inside(wrap: Wrap) -> Program:
    @wrap
    def f(x: Any, y: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            z = np.sin(x) * x * y
        return tape.gradient(z, x) * y

    return Program(f, constants(), [])


def of_assignments(wrap: Wrap) -> Program:
    """Reads before, between and after; what is assigned is cut off."""
    v, n = tj.Variable(X), tj.Variable(1.0, trainable=False)

    @wrap
    def f(x: Any, y: Any) -> Any:
        before = v * x
        n.assign_add(1.0)
        between = v.assign(np.sin(x) + v) * y
        v.assign_sub(ONE)
        return before + between * n + v * x

    def g(x: Any, y: Any) -> Any:
        z = f(x, y)
        v.assign(100.0 * ONE)
        n.assign(7.0)
        return z * v

    return Program(g, constants(), [v])


def of_an_assignment_through(wrap: Wrap) -> Program:
    average = tj.Variable(Y, trainable=False)
    moving = tj.grad_pass_through(lambda x: average.assign(average * 0.9 + x * 0.1))
    return Program(wrap(lambda x, y: np.sin(moving(x)) * y), constants(), [])


def of_a_branch(wrap: Wrap) -> Program:
    """Which side is taken is known eagerly only."""

    @wrap
    def f(x: Any, y: Any, k: int) -> Any:
        return np.sin(x) * y if k > 2 else np.cos(y)

    return Program(lambda x, y: f(x, y, 3) * f(x, y, 1), constants(), [])


def of_views(wrap: Wrap) -> Program:
    f = wrap(lambda x, y: np.reshape(x, (3, 1)) * y[::-1] + np.broadcast_to(x, (3, 3)).T)
    return Program(f, constants(), [])


def of_another_precision(wrap: Wrap) -> Program:
    f = wrap(lambda x, y: np.sin(x.astype("f4")) * y)
    return Program(f, constants(), [])


PROGRAMS: list[Callable[[Wrap], Program]] = [
    of_arguments,
    of_a_closure,
    of_closures_alone,
    of_variables,
    of_a_variable_passed,
    of_a_variable_returned,
    of_keywords,
    of_containers,
    of_integer_outputs,
    of_an_unused_output,
    of_an_output_that_is_an_input,
    of_the_same_twice,
    of_what_is_ignored,
    of_an_integer,
    of_nested_functions,
    of_a_custom_gradient_inside,
    of_a_region_in_a_custom_gradient,
    of_stopped_and_passed,
    of_a_compiled_function_inside,
    of_a_gradient_inside,
    of_assignments,
    of_an_assignment_through,
    of_a_branch,
    of_views,
    of_another_precision,
]


@EVERY_MODE
@pytest.mark.parametrize("make", some_by_day(PROGRAMS, 3), ids=lambda make: make.__name__)
def test_the_same_value_and_gradients(make: Callable[[Wrap], Program], mode: str) -> None:
    """To rounding: sums are not joined with what a region makes. Eagerly, of what is computed step
    by step: a compiled gradient is simplified first, but for one that another tape looks on to."""
    way, take, _ = MODES[mode]
    with tj.GradientTape() if mode == "E" else nullcontext():
        expected = plain(way(take, make(kept))())
    assert_same(plain(way(take, make(tj.recompute_grad))()), expected, 1e-15)


@EVERY_MODE
@pytest.mark.parametrize("make", some_by_day(PROGRAMS, 3), ids=lambda make: make.__name__)
def test_the_same_second_order(make: Callable[[Wrap], Program], mode: str) -> None:
    """To rounding: the gradients of both runs are added in another order."""
    way, _, take = MODES[mode]
    expected = plain(way(take, make(kept))())
    assert_same(plain(way(take, make(tj.recompute_grad))()), expected, 1e-14)


def nth(f: Callable[[Any], Any], x: Any, order: int) -> Any:
    """The derivative of that order."""
    if not order:
        return f(x)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = nth(f, x, order - 1)
    return tape.gradient(y, x)


def nth_by_gradients(f: Callable[[Any], Any], x: Any, order: int) -> Any:
    y = f(x)
    for _ in range(order):
        y = tj.gradients(y, x)[0]
    return y


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_order_in_every_mode(order: int) -> None:
    w = tj.Variable(1.25)

    def f(x: Any) -> Any:
        return np.sin(x * w) * x

    g, x = tj.recompute_grad(f), tj.constant(X)
    expected = nth(f, x, order).numpy()
    for found in (
        nth(g, x, order),
        nth(tj.function(g), x, order),
        tj.function(lambda x: nth(g, x, order))(x),
        tj.function(lambda x: nth_by_gradients(g, x, order))(x),
    ):
        np.testing.assert_allclose(plain(found), expected, rtol=1e-13)


def test_several_regions_that_use_one_value() -> None:
    """Its cotangents are added one by one, in the same order as without."""

    def slope(wrap: Wrap) -> Any:
        @wrap
        def f(h: Any, a: Any) -> Any:
            for _ in range(3):
                h = np.tanh(h * a)
            return h

        rng = np.random.default_rng(0)
        x, a = rng.normal(size=40), 1.0 + 0.1 * rng.normal(size=40)
        return on_a_tape(lambda x, a: f(f(f(x, a), a), a), x, a)

    assert_same(slope(tj.recompute_grad), slope(kept))


def test_complex_numbers() -> None:
    z = X + 1j * Y

    def f(z: Any) -> Any:
        return np.real(np.exp(z) * np.conj(z) * z)

    assert_same(on_a_tape(tj.recompute_grad(f), z), on_a_tape(f, z))


def test_a_jacobian() -> None:
    def jacobian(wrap: Wrap) -> Any:
        x = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = wrap(lambda x: np.cumsum(np.sin(x)) * x)(x)
        return tape.jacobian(y, x).numpy()

    assert_same(jacobian(tj.recompute_grad), jacobian(kept))


def test_cotangents_are_handed_on() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y, z = tj.recompute_grad(lambda x: (x * 2.0, x * 3.0))(x)
    found = tape.gradient([y, z], x, output_gradients=[tj.constant(X), None])
    assert_same(found.numpy(), 2.0 * X + 3.0)


# Who can be recomputed


class Model:
    """A callable object with methods of every kind, all computing sin(x) * x."""

    @tj.recompute_grad
    def method(self, x: Any) -> Any:
        return np.sin(x) * x

    @tj.recompute_grad
    @classmethod
    def class_method(cls, x: Any) -> Any:
        return np.sin(x) * x

    @staticmethod
    @tj.recompute_grad
    def static_method(x: Any) -> Any:
        return np.sin(x) * x

    def __call__(self, x: Any) -> Any:
        return np.sin(x) * x


CALLABLES: dict[str, Callable[[], Any]] = {
    "method": lambda: Model().method,
    "class method": lambda: Model.class_method,
    "static method": lambda: Model().static_method,
    "bound": lambda: tj.recompute_grad(Model().__call__),
    "object": lambda: tj.recompute_grad(Model()),
    "partial": lambda: tj.recompute_grad(functools.partial(lambda y, x: np.sin(x) * y, 1.0)),
    "twice": lambda: tj.recompute_grad(tj.recompute_grad(Model())),
    "function inside": lambda: tj.recompute_grad(tj.function(Model())),
    "function outside": lambda: tj.function(tj.recompute_grad(Model())),
    "ufunc": lambda: tj.recompute_grad(np.sin),
}


@pytest.mark.parametrize("kind", CALLABLES)
def test_whatever_can_be_called(kind: str) -> None:
    f = CALLABLES[kind]()
    factor = 0.0 if kind in ("partial", "ufunc") else 1.0
    expected = np.sin(X) * factor + np.cos(X) * (X if factor else 1.0)
    np.testing.assert_allclose(on_a_tape(f, X)[1][0], expected, rtol=1e-15)


# How often it runs


class Ticks:
    """Counts where a recording does not look."""

    def __init__(self) -> None:
        self._left = iter(range(1000))

    def tick(self) -> None:
        next(self._left)

    @property
    def count(self) -> int:
        return 1000 - length_hint(self._left)


def test_it_runs_once_and_once_more_for_each_gradient() -> None:
    ticks = Ticks()

    @tj.recompute_grad
    def f(x: Any) -> Any:
        ticks.tick()
        return np.sin(x) * x

    f(X)
    f(tj.constant(X))
    assert ticks.count == 2
    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        unused = f(x)
        constant = f(tj.constant(X))
    assert ticks.count == 5
    first = tape.gradient(y, x)
    assert ticks.count == 6
    assert_same(tape.gradient(y, x).numpy(), first.numpy())
    assert ticks.count == 7
    assert tape.gradient(constant, x) is None
    assert ticks.count == 7
    tape.gradient([y, unused], x)
    assert ticks.count == 9


def test_it_does_not_run_where_nothing_asks_for_its_inputs() -> None:
    ticks = Ticks()

    @tj.recompute_grad
    def f(x: Any) -> Any:
        ticks.tick()
        return np.sin(x) * x

    x, z = tj.constant(X), tj.constant(Y)
    with tj.GradientTape() as tape:
        tape.watch([x, z])
        y = f(x) * z
    assert_same(tape.gradient(y, z).numpy(), np.sin(X) * X)
    assert ticks.count == 1
    with tj.GradientTape() as tape:
        tape.watch([x, z])
        y = tj.stop_gradient(f(x)) * x
    assert_same(tape.gradient(y, x).numpy(), np.sin(X) * X)
    assert ticks.count == 2


@EVERY_MODE
def test_an_assignment_takes_place_once_at_each_call(mode: str) -> None:
    n = tj.Variable(0.0, trainable=False)

    @tj.recompute_grad
    def f(x: Any) -> Any:
        n.assign_add(1.0)
        return np.sin(x) * n

    way, take, _ = MODES[mode]
    run = way(take, Program(f, [tj.constant(X)], []))
    for count in (1.0, 2.0, 3.0):
        assert_same(plain(run())[1][0], np.cos(X) * count)
        assert float(n.numpy()) == count


def test_an_assignment_takes_place_once_for_two_gradients() -> None:
    n, x = tj.Variable(0.0, trainable=False), tj.constant(X)

    @tj.recompute_grad
    def f(x: Any) -> Any:
        n.assign_add(1.0)
        return np.sin(x) * n

    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(f(x))
    n.assign(50.0)
    found = [tape.gradient(y, x).numpy() for _ in range(2)]
    assert_same(found, [2.0 * np.cos(np.sin(X)) * np.cos(X)] * 2)
    assert float(n.numpy()) == 50.0


# What the second run sees


@EVERY_MODE
def test_variables_have_the_values_of_the_call(mode: str) -> None:
    w = tj.Variable(3.0)
    f = tj.recompute_grad(lambda x: x * w * w)

    def g(x: Any) -> Any:
        y = f(x)
        w.assign(10.0)
        z = f(x)
        w.assign(20.0)
        return y * 1000.0 + z

    way, take, _ = MODES[mode]
    y, (x_bar, w_bar) = plain(way(take, Program(g, [tj.constant(2.0)], [w]))())
    assert (float(y), float(x_bar)) == (18_200.0, 9100.0)
    assert float(w_bar) == 2.0 * 2.0 * 3.0 * 1000.0 + 2.0 * 2.0 * 10.0


def test_a_variable_changed_between_call_and_gradient() -> None:
    w, x = tj.Variable(X), tj.constant(Y)
    f = tj.recompute_grad(lambda x: np.sin(x * w))
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    w.assign(Y)
    for _ in range(2):
        assert_same(plain(tape.gradient(y, [x, w])), [np.cos(Y * X) * X, np.cos(Y * X) * Y])
        w.assign_add(ONE)
    assert_same(w.numpy(), Y + 2.0)


def test_variables_made_inside() -> None:
    """One after the other, perhaps at the same address: none is taken for another."""

    def slope(wrap: Wrap) -> Any:
        @wrap
        def f(x: Any) -> Any:
            for k in range(1, 5):
                v = tj.Variable(float(k))
                v.assign_add(0.5)
                x = np.sin(x * v)
                del v
            return x

        return on_a_tape(f, X)

    assert_same(slope(tj.recompute_grad), slope(kept))


def changed_meanwhile(wrap: Wrap, how: str) -> Any:
    """The gradient where an array that f reads changes after the call."""
    array, x = Y.copy(), tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        if how == "passed":
            y = wrap(lambda x, k: np.sin(x * k))(x, array)
        elif how == "contained":
            y = wrap(lambda x, p: np.sin(x * p["k"][0]))(x, {"k": [array]})
        else:
            y = wrap(lambda x: np.sin(x * array))(x)
    array[:] = 100.0
    return tape.gradient(y, x).numpy()


@pytest.mark.parametrize("how", ["passed", "contained"])
def test_an_array_passed_that_changes_meanwhile(how: str) -> None:
    """The gradient belongs to what it was."""
    assert_same(changed_meanwhile(tj.recompute_grad, how), np.cos(X * Y) * Y)


def test_an_array_closed_over_that_changes_meanwhile() -> None:
    """The second run would see the new one: that is refused, if it is not seen to."""
    try:
        found = changed_meanwhile(tj.recompute_grad, "closed over")
    except TracejitError as error:
        assert "recompute_grad" in str(error)
    else:
        assert_same(found, np.cos(X * Y) * Y)


def test_a_container_changed_between_call_and_gradient() -> None:
    def slope(wrap: Wrap) -> Any:
        f = wrap(lambda p, q: np.sin(p["w"]) * q[0])
        x = tj.constant(X)
        given, more = {"w": x}, [tj.constant(Y)]
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(given, more)
        given["w"] = x * 100.0
        more[0] = more[0] * 100.0
        return tape.gradient(y, x).numpy()

    assert_same(slope(tj.recompute_grad), slope(kept))


def test_values_taken_out_inside() -> None:
    """numpy() and decisions, in both runs."""

    @tj.recompute_grad
    def f(x: Any) -> Any:
        scale = x.numpy().max()
        return np.sin(x) * scale if x[0] > 0.0 else x

    assert_same(on_a_tape(f, X)[1][0], np.cos(X) * 1.0)


# Random numbers


class Noise:
    """A model that holds a generator."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(5)

    @tj.recompute_grad
    def call(self, x: Any) -> Any:
        return x * self.rng.normal(size=3)


RNG = np.random.default_rng(11)


def draws_captured() -> Any:
    rng = np.random.default_rng(1)
    return tj.recompute_grad(lambda x: x * rng.normal(size=3) * rng.uniform())


def draws_global() -> Any:
    return tj.recompute_grad(lambda x: x * RNG.normal(size=3))


def draws_passed() -> Any:
    rng = np.random.default_rng(2)
    f = tj.recompute_grad(lambda x, rng: x * rng.normal(size=3))
    return lambda x: f(x, rng)


def draws_by_keyword() -> Any:
    rng = np.random.default_rng(3)
    f = tj.recompute_grad(lambda x, *, tools: x * tools["rng"].normal(size=3))
    return lambda x: f(x, tools={"rng": rng})


def draws_held() -> Any:
    return Noise().call


def draws_integers_by_halves() -> Any:
    """A bit generator keeps the other half of its last 64 bits."""
    rng = np.random.Generator(np.random.PCG64(4))
    f = tj.recompute_grad(lambda x: x * rng.integers(0, 1000, dtype=np.uint32))
    return f


def draws_mersenne() -> Any:
    rng = np.random.Generator(np.random.MT19937(4))
    return tj.recompute_grad(lambda x: x * rng.normal(size=3))


def draws_legacy() -> Any:
    return tj.recompute_grad(lambda x: x * np.random.normal(size=3))  # noqa: NPY002


def draws_legacy_object() -> Any:
    rng = np.random.RandomState(6)
    return tj.recompute_grad(lambda x: x * rng.normal(size=3))


def draws_python() -> Any:
    return tj.recompute_grad(lambda x: x * random.gauss(0.0, 1.0))


def draws_python_object() -> Any:
    rng = random.Random(7)
    return tj.recompute_grad(lambda x: x * rng.random())


def draws_nested() -> Any:
    rng = np.random.default_rng(8)
    inner = tj.recompute_grad(lambda x: x * rng.normal(size=3))
    return tj.recompute_grad(lambda x: inner(x * rng.normal(size=3)) * rng.normal(size=3))


DRAWS: list[Callable[[], Any]] = [
    draws_captured,
    draws_global,
    draws_passed,
    draws_by_keyword,
    draws_held,
    draws_integers_by_halves,
    draws_mersenne,
    draws_legacy,
    draws_legacy_object,
    draws_python,
    draws_python_object,
    draws_nested,
]


@pytest.mark.parametrize("make", DRAWS, ids=lambda make: make.__name__)
def test_the_same_random_numbers_are_drawn_again(make: Callable[[], Any]) -> None:
    """f is linear: value / x is the gradient. Other draws in between do not matter."""
    f, x = make(), tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        z = f(x)
    for target in (y, z, y):
        np.testing.assert_allclose(tape.gradient(target, x).numpy(), plain(target) / X, rtol=1e-14)
    assert not np.array_equal(y.numpy(), z.numpy())


@pytest.mark.parametrize("make", DRAWS, ids=lambda make: make.__name__)
def test_a_gradient_draws_nothing(make: Callable[[], Any]) -> None:
    """What is drawn next is what would have been drawn without a gradient."""

    def sequence(differentiates: bool) -> Any:
        np.random.seed(3)  # noqa: NPY002
        random.seed(3)
        RNG.bit_generator.state = np.random.default_rng(11).bit_generator.state
        f, x, values = make(), tj.constant(X), []
        for _ in range(3):
            with tj.GradientTape() as tape:
                tape.watch(x)
                values.append(f(x))
            if differentiates:
                tape.gradient(values[-1], x)
        return plain(values)

    assert_same(sequence(True), sequence(False))


def test_a_generator_that_spawns_others_is_refused() -> None:
    """The second run would spawn others; outside a tape there is none."""
    rng, x = np.random.default_rng(9), tj.constant(X)
    f = tj.recompute_grad(lambda x: x * rng.spawn(1)[0].normal(size=3))
    f(x)
    with tj.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(TracejitError, match="recompute_grad"):
            f(x)


@EVERY_MODE
@pytest.mark.parametrize("nested", [False, True])
def test_random_numbers_in_every_mode(mode: str, nested: bool) -> None:
    """tj.random's generators draw in compiled functions too: the same everywhere, call after
    call."""

    def calls(wrap: Wrap) -> Any:
        rng, scale = tj.random.default_rng(3), tj.Variable(1.0)

        @wrap
        def f(x: Any) -> Any:
            scale.assign_add(rng.uniform())
            return x * rng.normal(size=3) * scale

        g = wrap(lambda x: f(x * rng.uniform()) * rng.normal(size=3)) if nested else f
        way, take, _ = MODES[mode]
        run = way(take, Program(g, [tj.constant(X)], [scale]))
        return [plain(run()) for _ in range(3)]

    found = calls(tj.recompute_grad)
    assert_same(found, calls(kept))
    for y, (x_bar, _) in found:
        np.testing.assert_allclose(x_bar, y / X, rtol=1e-14)
    assert len({float(y[0]) for y, _ in found}) == 3


@EVERY_MODE
def test_a_callback_is_called_once(mode: str) -> None:
    """The second run sees what it answered."""
    calls = Ticks()

    def measured(x: Any) -> Any:
        calls.tick()
        return np.asarray(x) * calls.count

    @tj.recompute_grad
    def f(x: Any) -> Any:
        answer = tj.callback(measured, tj.stop_gradient(x), result=x)
        return np.sin(x) * answer

    way, take, _ = MODES[mode]
    run = way(take, Program(f, [tj.constant(X)], []))
    for count in (1, 2, 3):
        y, (x_bar,) = plain(run())
        assert_same(y, np.sin(X) * (X * count))
        assert_same(x_bar, np.cos(X) * (X * count))
    assert calls.count == 3


# Errors


class Trouble(Exception):
    """The user's."""


@pytest.mark.parametrize("when", [0, 1], ids=["forward", "again"])
def test_an_error_in_f_leaves_everything_as_it_was(when: int) -> None:
    rng, n, ticks = np.random.default_rng(1), tj.Variable(0.0, trainable=False), Ticks()

    @tj.recompute_grad
    def f(x: Any) -> Any:
        fails = ticks.count == when
        ticks.tick()
        n.assign_add(1.0)
        y = x * rng.normal(size=3)
        if fails:
            raise Trouble
        return y

    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2.0
        if when == 0:
            with pytest.raises(Trouble):
                f(x)
            state = rng.bit_generator.state
        else:
            z = f(x)
            state = rng.bit_generator.state
            with pytest.raises(Trouble):
                tape.gradient(z, x)
        y = y * x
    assert float(n.numpy()) == 1.0
    assert rng.bit_generator.state == state
    assert_same(tape.gradient(y, x).numpy(), 4.0 * X)
    n.assign(5.0)
    assert float(n.numpy()) == 5.0
    if when:
        np.testing.assert_allclose(tape.gradient(z, x).numpy(), z.numpy() / X, rtol=1e-14)
        assert float(n.numpy()) == 5.0


def test_an_error_while_recording_ends_the_region() -> None:
    """What is computed after it is not computed again."""

    @tj.recompute_grad
    def f(x: Any) -> Any:
        raise Trouble

    def loss(x: Any) -> Any:
        try:
            f(x)
        except Trouble:
            x = np.sin(x)
        return np.sum(np.exp(x))

    both = tj.value_and_grad(loss)
    found = both(X)[1]
    np.testing.assert_allclose(found, np.exp(np.sin(X)) * np.cos(X), rtol=1e-15)
    assert "[recomputed]" not in both.kernel(X).source


def test_an_error_in_a_rule_leaves_everything_as_it_was() -> None:
    rng = np.random.default_rng(1)

    @tj.custom_gradient
    def bad(x: Any) -> Any:
        def grad(g: Any) -> Any:
            raise Trouble

        return x * 1.0, grad

    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = tj.recompute_grad(lambda x: bad(x) * rng.normal(size=3))(x)
    state = rng.bit_generator.state
    with pytest.raises(Trouble):
        tape.gradient(y, x)
    assert rng.bit_generator.state == state


def test_a_missing_rule_is_told_at_the_gradient() -> None:
    x = tj.constant(np.ones((3, 2)))
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = tj.recompute_grad(lambda x: np.linalg.svd(x, full_matrices=True)[0])(x)
    with pytest.raises(NoGradientError, match="no gradient is known for"):
        tape.gradient(y, x)


def test_a_function_whose_second_run_differs_is_told() -> None:
    """One that assigns more often the second time: there is no value to see."""
    n, ticks = tj.Variable(0.0, trainable=False), Ticks()

    @tj.recompute_grad
    def f(x: Any) -> Any:
        ticks.tick()
        for _ in range(ticks.count):
            n.assign_add(1.0)
        return x * n

    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.raises(TracejitError, match="recompute_grad"):
        tape.gradient(y, x)
    assert float(n.numpy()) == 1.0


# Threads, memory


def test_a_gradient_on_another_thread() -> None:
    w, x = tj.Variable(X), tj.constant(Y)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = tj.recompute_grad(lambda x: np.sin(x * w))(x)
    w.assign(Y)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(tape.gradient(y, [x, w])))
    thread.start()
    thread.join()
    assert_same(plain(found[0]), [np.cos(Y * X) * X, np.cos(Y * X) * Y])


def test_what_a_region_leaves_behind_is_no_way_around_it() -> None:
    """A Tensor that f gives away besides its result cannot be computed with on the tape: it would
    be a constant."""
    given_away: list[Any] = []

    @tj.recompute_grad
    def f(x: Any) -> Any:
        h = np.sin(x)
        given_away.append(h)
        return h * x

    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        with pytest.raises(TracejitError, match="under recompute_grad is used outside it"):
            y * given_away[0]
    assert_same(given_away[0].numpy(), np.sin(X))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.cos(X) * X + np.sin(X), rtol=1e-15)


def test_a_constant_kept_from_the_first_run() -> None:
    """A Tensor that depends on nothing on the tape may go anywhere."""
    known: dict[str, Any] = {}

    @tj.recompute_grad
    def f(x: Any) -> Any:
        if "scale" not in known:
            known["scale"] = tj.constant(2.0) * 3.0
        return np.sin(x) * known["scale"]

    y, (x_bar,) = on_a_tape(lambda x: f(f(x)) * known["scale"], X)
    assert_same(y, np.sin(np.sin(X) * 6.0) * 6.0 * 6.0)
    np.testing.assert_allclose(x_bar, 36.0 * np.cos(np.sin(X) * 6.0) * 6.0 * np.cos(X), rtol=1e-14)


def test_a_large_list_in_reach() -> None:
    """Looking for generators does not choke on what f happens to read."""
    numbers = list(range(100_000))
    f = tj.recompute_grad(lambda x: x * numbers[3])
    assert_same(on_a_tape(f, X)[1][0], 3.0 * ONE)


def test_the_least_memory_that_was_promised() -> None:
    """In 8 segments of 8 layers, in every way; see tests/benchmarks/recompute.py."""
    for row in measure(shape=(64, 128), rounds=0):
        assert row.peak <= MOST_MEMORY * row.plain_peak, row


SEGMENTS = 6
STEPS = 6


def in_words_of_its_own(number: int) -> Callable[..., Any]:
    """A segment whose variables are called as no other segment's are."""
    names = [f"part_{number}_{step}" for step in range(STEPS)]
    lines = [f"    {name} = np.tanh({before} * a + b)" for before, name in pairwise(["h", *names])]
    text = "\n".join(["def segment(h, a, b):", *lines, f"    return {names[-1]}", ""])
    filename = f"<segment {number}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, filename, "exec"), space)
    made: Callable[..., Any] = space["segment"]
    return made


def test_memory_falls_where_every_segment_has_its_own_words() -> None:
    """A name that is not bound again must not keep its array to the end."""
    segments = [tj.recompute_grad(in_words_of_its_own(number)) for number in range(SEGMENTS)]

    def loss(h: Any, a: Any, b: Any) -> Any:
        for segment in segments:
            h = segment(h, a, b)
        return np.sum(h * h)

    shape = (256, 512)
    given = arguments(shape)
    both = tj.value_and_grad(loss, (0, 1, 2))
    both(*given)
    arrays = peak(lambda: both(*given)) / given[0].nbytes
    # One result per segment, one per step, the gradients, three on their way; a sixteenth more.
    assert arrays <= (SEGMENTS + STEPS + 3 + 3) * 17 / 16


# A rule that is not linear, and second order


def clipped(x: Any) -> Any:
    """The identity, with a rule that is not linear in the cotangent."""
    return tj.custom_gradient(lambda x: (x * 1.0, lambda d: np.clip(d, -1.0, 1.0)))(x)


REGIONS: dict[str, Any] = {
    "eager": tj.recompute_grad,
    "in a function": lambda f: tj.function(tj.recompute_grad(f)),
    "around a function": lambda f: tj.recompute_grad(tj.function(f)),
    "in a region": lambda f: tj.recompute_grad(lambda x: tj.recompute_grad(f)(x) * 1.0),
    "after a region": lambda f: lambda x: tj.recompute_grad(f)(tj.recompute_grad(np.copy)(x)),
}


@pytest.mark.parametrize("region", REGIONS)
def test_a_rule_in_a_region_gets_the_sum_of_what_arrives(region: str) -> None:
    f = REGIONS[region](lambda x: np.square(clipped(x)))
    x = tj.constant(0.3)
    for _ in range(2):
        assert float(of_value_and_gradient(f, x)) == 1.0
    assert float(tj.function(of_value_and_gradient)(f, x)) == 1.0


@pytest.mark.parametrize("region", REGIONS)
def test_a_persistent_tape_around_a_region_is_asked_again(region: str) -> None:
    """What took the place of the region on the tapes answers the same, by a kernel again."""

    def taken(f: Any) -> list[Any]:
        x = tj.constant(0.3)
        with tj.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tj.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = f(x) * np.sin(x)
            both = tape.gradient(y, x) + y + tape.gradient(y, x)
        found = [outer.gradient(both, x), outer.gradient(y, x), tape.gradient(y, x)]
        with tj.GradientTape() as late:
            late.watch(x)
            again = tape.gradient(y, x)
        return [float(one) for one in (*found, late.gradient(again, x))]

    def plain(x: Any) -> Any:
        return np.square(np.sin(x))

    def ruled(x: Any) -> Any:
        return np.square(clipped(np.sin(x)))

    for f in (plain, ruled):
        unmarked = (lambda x, f=f: f(np.copy(x))) if region == "after a region" else f
        np.testing.assert_allclose(taken(REGIONS[region](f)), taken(unmarked), rtol=1e-14)


def test_a_region_runs_once_more_whatever_the_order() -> None:
    ran = []

    @tj.recompute_grad
    def region(x: Any) -> Any:
        ran.append(1)
        return np.sin(x) ** 3

    def derivatives(x: Any, order: int) -> Any:
        if not order:
            return region(x)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = derivatives(x, order - 1)
        return tape.gradient(y, x)

    for order in (1, 2, 3):
        ran.clear()
        derivatives(tj.constant(0.4), order)
        assert len(ran) == 2


def test_an_array_that_was_written_to_since_is_refused() -> None:
    """The second run would read numbers that the first has not seen."""
    weights, x = tj.constant(np.array([1.0, 2.0])), tj.constant(np.array([0.3, 0.4]))
    region = tj.recompute_grad(lambda x: np.sum(x * weights))
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = region(x)
        weights[0] = 7.0
    with pytest.raises(InPlaceError, match="written to since"):
        tape.gradient(y, x)
