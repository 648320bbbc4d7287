"""A tape around a compiled function: its call is one operation, whose derivatives are compiled."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings

import tracejit as tj
from tests.by_day import by_day
from tests.programs import Program, programs
from tests.support.compare import assert_same, close
from tests.support.running import of_value_and_gradient
from tracejit.eager import call_operation
from tracejit.ir.graph import Graph
from tracejit.specialise import results
from tracejit.support.errors import NoGradientError, RuleError
from tracejit.trace.recording.eager import EAGER

X = np.array([1.0, -2.0, 0.5])
Y = np.array([3.0, 0.25, -1.0])
ONE = np.ones(3)


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """The graphs of derivatives that are compiled from here on."""
    made: list[Graph] = []
    compute = call_operation.CallOp._computation

    def noted(self: Any, graph: Graph, outputs: int) -> Any:
        made.append(graph)
        return compute(self, graph, outputs)

    monkeypatch.setattr(call_operation.CallOp, "_computation", noted)
    return made


class Pair(NamedTuple):
    x: Any
    y: Any


@dataclass
class Weights:
    w: Any
    b: Any


def gradients(f: Callable[..., Any], sources: Any, *args: Any) -> Any:
    """The gradients of f(*args) with respect to `sources`, which are watched."""
    with tj.GradientTape() as tape:
        tape.watch(sources)
        y = f(*args)
    return tape.gradient(y, sources)


def derivatives(f: Callable[[Any], Any], x: Any, order: int) -> list[Any]:
    """f(x) and its derivatives up to `order`, of a function of each element."""
    if not order:
        return [f(x)]
    with tj.GradientTape() as tape:
        tape.watch(x)
        found = derivatives(f, x, order - 1)
    return [*found, tape.gradient(found[-1], x)]


# Orders

FORMULAS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "x**4": (lambda x: x**4, lambda x: 4 * x**3, lambda x: 12 * x**2, lambda x: 24 * x),
    "sin 2x": (
        lambda x: np.sin(2 * x),
        lambda x: 2 * np.cos(2 * x),
        lambda x: -4 * np.sin(2 * x),
        lambda x: -8 * np.cos(2 * x),
    ),
    "exp -x*x": (
        lambda x: np.exp(-x * x),
        lambda x: -2 * x * np.exp(-x * x),
        lambda x: (4 * x**2 - 2) * np.exp(-x * x),
        lambda x: (12 * x - 8 * x**3) * np.exp(-x * x),
    ),
    "1 / (1 + x*x)": (
        lambda x: 1 / (1 + x * x),
        lambda x: -2 * x / (1 + x * x) ** 2,
        lambda x: (6 * x**2 - 2) / (1 + x * x) ** 3,
        lambda x: 24 * x * (1 - x**2) / (1 + x * x) ** 4,
    ),
    "tanh": (
        lambda x: np.tanh(x),
        lambda x: 1 - np.tanh(x) ** 2,
        lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2),
        lambda x: (6 * np.tanh(x) ** 2 - 2) * (1 - np.tanh(x) ** 2),
    ),
}


@pytest.mark.parametrize("form", [X, np.array(0.75), np.float64(0.75)], ids=["1-d", "0-d", "0"])
@pytest.mark.parametrize("name", FORMULAS)
def test_three_orders_are_those_of_the_formula_and_of_the_eager_program(
    name: str, form: Any
) -> None:
    f = FORMULAS[name][0]
    compiled = derivatives(tj.function(f), tj.constant(form), 3)
    eager = derivatives(f, tj.constant(form), 3)
    for found, other, formula in zip(compiled, eager, FORMULAS[name], strict=True):
        close(found, formula(form))
        close(other, formula(form))
        assert found.type is other.type


def test_a_cotangent_has_the_form_of_a_result_without_axes() -> None:
    f = tj.function(lambda x: np.transpose(x))
    x = tj.constant(np.array(0.5))
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(np.sin(f(x)))
    found = tape.gradient(y, x).numpy()
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, np.cos(0.5), rtol=1e-15)


def test_the_value_is_a_tensor_with_the_value_of_the_call() -> None:
    f = tj.function(lambda x: np.sin(x) * 2.0)
    with tj.GradientTape() as tape:
        x = tj.constant(X)
        tape.watch(x)
        y = f(x)
        assert isinstance(y, tj.Tensor)
        assert_same(y.numpy(), f(X))
        assert_same(f(X), np.sin(X) * 2.0)


def test_a_hessian_by_a_tape_of_a_tape() -> None:
    @tj.function
    def rosenbrock(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    x = tj.constant(np.array([0.5, -1.5]))
    with tj.GradientTape() as outer:
        outer.watch(x)
        g = gradients(rosenbrock, x, x)
    a, b = 0.5, -1.5
    hessian = [[1200 * a * a - 400 * b + 2, -400 * a], [-400 * a, 200.0]]
    close(outer.jacobian(g, x), np.array(hessian))


def test_a_mixed_derivative_of_two_arguments() -> None:
    f = tj.function(lambda x, y: x**2 * y**3)
    x, y = tj.constant(X), tj.constant(Y)
    with tj.GradientTape() as outer:
        outer.watch([x, y])
        gx, gy = gradients(f, [x, y], x, y)
    close(gx, 2 * X * Y**3)
    close(gy, 3 * X**2 * Y**2)
    found = outer.gradient([gx], [x, y])
    close(found[0], 2 * Y**3)
    close(found[1], 6 * X * Y**2)


def test_a_jacobian_of_a_function() -> None:
    a = np.arange(6.0).reshape(2, 3)
    f = tj.function(lambda x: np.tanh(a @ x))
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    close(tape.jacobian(y, x), (1 - np.tanh(a @ X) ** 2)[:, None] * a)


def test_what_is_linear_has_no_second_order() -> None:
    f = tj.function(lambda x: 3.0 * x)
    found = derivatives(f, tj.constant(X), 2)
    close(found[1], 3.0 * ONE)
    assert found[2] is None


@settings(max_examples=by_day(10, 40))
@given(programs())
def test_random_programs(program: Program) -> None:
    """A tape around the compiled program is the compiled gradient of the program.

    Both are one reverse pass over the same recording, but under the tape the sum is another
    function than the program: cotangents of a value that is used in both, or twice, may be added
    in another order, and rewrites see less at a time. Each addition may differ by an ulp of its
    largest term; a few dozen of them are bounded by 1e-12 of the largest entry.
    """
    f = tj.function(program.function, cache=False)
    xs = [tj.constant(program.values[k]) for k in program.moving]
    moving = dict(zip(program.moving, xs, strict=True))
    args = [moving.get(k, value) for k, value in enumerate(program.values)]
    with tj.GradientTape() as tape:
        tape.watch(xs)
        found = f(*args)
        leaves = found.values() if type(found) is dict else found
        leaves = leaves if not isinstance(leaves, tj.Tensor) else [leaves]
        loss = sum(np.sum(np.sin(leaf + 0.3)) for leaf in leaves)
    got = tape.gradient(loss, xs, unconnected_gradients="zero")
    expected = tj.grad(tj.function(program.loss, cache=False), program.moving)(*program.values)
    for one, other in zip(got, expected, strict=True):
        assert_same(one.numpy(), other, 1e-12)


# Results and arguments


def test_several_outputs_of_which_some_are_not_used() -> None:
    @tj.function
    def f(x: Any, y: Any) -> Any:
        return x * y, np.sin(x), np.cos(y)

    x, y = tj.constant(X), tj.constant(Y)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        product, sine, cosine = f(x, y)
    close(tape.gradient(product, x), Y)
    close(tape.gradient(sine, x), np.cos(X))
    assert tape.gradient(sine, y) is None
    assert tape.gradient(cosine, x) is None
    close(tape.gradient([product, cosine], y), X - np.sin(Y))
    found = tape.gradient([product, sine, cosine], [x, y], output_gradients=[X, Y, None])
    close(found[0], X * Y + Y * np.cos(X))
    close(found[1], X * X - np.sin(Y))


def test_containers_in_and_out() -> None:
    @tj.function
    def f(p: Any, q: Any) -> Any:
        return {"w": Weights(p.x * q["a"][0], p.y), "n": 3, "s": "text", "e": ()}

    x, y, a = tj.constant(X), tj.constant(Y), tj.constant(2.0 * X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch([x, y, a])
        out = f(Pair(x, y), {"a": [a]})
    assert (list(out), out["n"], out["s"], out["e"]) == (["w", "n", "s", "e"], 3, "text", ())
    assert type(out["w"]) is Weights
    found = tape.gradient(out["w"].w, {"p": Pair(x, y), "a": a})
    close(found["p"].x, 2.0 * X)
    assert found["p"].y is None
    close(found["a"], X)
    close(tape.gradient(out["w"].b, y), ONE)


def test_a_result_that_is_an_argument_a_constant_or_there_twice() -> None:
    @tj.function
    def f(x: Any) -> Any:
        y = 2.0 * x
        return x, y, y, np.ones(3)

    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        same, first, second, ones = f(x)
    close(tape.gradient(same, x), ONE)
    close(tape.gradient([first, second, second], x), 6.0 * ONE)
    assert tape.gradient(ones, x) is None
    assert tape.gradient([same, first, second, ones], x) is not None
    close(ones, ONE)


def test_one_tensor_for_two_arguments() -> None:
    f = tj.function(lambda x, y: x**2 * y)
    x = tj.constant(X)
    found = derivatives(lambda x: f(x, x), x, 3)
    for one, wanted in zip(found, (X**3, 3 * X**2, 6 * X, 6 * ONE), strict=True):
        close(one, wanted)


def test_arrays_and_tensors_side_by_side() -> None:
    f = tj.function(lambda x, y: x * y)
    x = tj.constant(X)
    close(gradients(f, x, x, Y), Y)
    close(gradients(f, x, Y, x), Y)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(Y, Y)
    # No Tensor in, no Tensor out.
    assert type(y) is np.ndarray


def test_an_array_argument_changed_after_the_call() -> None:
    f = tj.function(lambda x, y: np.sin(x * y))
    x, y = tj.constant(X), Y.copy()
    with tj.GradientTape() as tape:
        tape.watch(x)
        z = f(x, y)
    y[:] = 99.0
    close(tape.gradient(z, x), Y * np.cos(X * Y))


def test_results_share_no_memory_with_arguments() -> None:
    f = tj.function(lambda x: (x, x[1:], x.T))
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        found = f(x)
    assert not any(np.may_share_memory(x.numpy(), one.numpy()) for one in found)
    gradient = tape.gradient(found[0], x, output_gradients=Y)
    assert not np.may_share_memory(gradient.numpy(), Y)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_gradients_have_the_dtype_of_the_argument(dtype: str) -> None:
    f = tj.function(lambda x: np.real(x * np.conj(x)) * 0.5)
    x = X.astype(dtype) * dtype_one(dtype)
    close(gradients(f, source := tj.constant(x), source), x)


def dtype_one(dtype: str) -> Any:
    """A number of absolute value one, complex where it can be."""
    return np.dtype(dtype).type(0.6 + 0.8j if dtype.startswith("c") else 1.0)


def test_integer_arguments_and_results_are_not_connected() -> None:
    f = tj.function(lambda x, n: (x * n, np.argmax(x), n + 1))
    x, n = tj.constant(X), tj.constant(np.arange(3))
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        product, index, more = f(x, n)
    close(tape.gradient(product, x), np.arange(3.0))
    assert tape.gradient([product, index, more], n) is None
    assert tape.gradient(index, x) is None
    assert int(index) == 0
    close(more, np.arange(1, 4))


def test_methods_static_methods_and_callables() -> None:
    class Model:
        def __init__(self, w: Any) -> None:
            self.w = tj.Variable(w, name="w")

        @tj.function
        def method(self, x: Any) -> Any:
            return self.w * x

        @tj.function
        @staticmethod
        def static(x: Any) -> Any:
            return 2.0 * x

        def __call__(self, x: Any) -> Any:
            return self.w * x**2

    one, two = Model(X), Model(Y)
    x = tj.constant(ONE)
    for model, w in ((one, X), (two, Y), (one, X)):
        for order in (1, 2):
            found = gradients(model.method, [x, model.w], x)
            close(found[0], w)
            close(found[1], ONE)
            assert order
        close(gradients(tj.function(model), [x, model.w], x)[0], 2 * w)
        close(gradients(model.static, x, x), 2.0 * ONE)
    with tj.GradientTape() as tape:
        y = one.method(x)
    assert tape.gradient(y, [one.w, two.w])[1] is None


# Numbers


def test_python_numbers_first_fixed_then_dynamic(derived: list[Graph]) -> None:
    f = tj.function(lambda x, rate: rate * x**2)
    x = tj.constant(X)
    for rate in (0.5, 0.25, 0.125, 0.0625, -0.0, 3.0):
        close(gradients(f, x, x, rate), 2 * rate * X)
    # One for the first rate, one for every other.
    assert len(f.kernels) == 2
    assert len(derived) == 2


@pytest.mark.parametrize("numbers", [(2, 3, 0, 1, -1), (2.0, 0.5, 0.0, -1.5), (2, 2.0, True, 2)])
def test_a_power_that_changes(numbers: tuple[Any, ...]) -> None:
    f = tj.function(lambda x, n: x**n)
    x = np.array([1.5, 2.0, 0.25])
    t = tj.constant(x)
    for n in numbers:
        found = derivatives(lambda x, n=n: f(x, n), t, 2)
        close(found[1], n * x ** (n - 1.0))
        expected = n * (n - 1) * x ** (n - 2.0)
        close(found[2] if found[2] is not None else np.zeros(3), expected)


def test_a_learning_rate_schedule_under_a_tape(derived: list[Graph]) -> None:
    w = tj.Variable(ONE, name="w")
    expected = ONE.copy()

    @tj.function
    def update(g: Any, rate: float, step: int) -> Any:
        w.assign_sub(g * (rate / (1 + step)))

    loss = tj.function(lambda x: np.sum((w * x) ** 2))
    for step in range(20):
        rate = 0.01 * 0.9**step
        with tj.GradientTape() as tape:
            y = loss(X)
        g = tape.gradient(y, w)
        close(g, 2 * expected * X**2)
        update(g, rate, step)
        expected = expected - 2 * expected * X**2 * (rate / (1 + step))
        close(w, expected)
    assert len(loss.kernels) == 1
    assert len(update.kernels) <= 3
    assert len(derived) == 1


def test_static_arguments_select_kernels() -> None:
    f = tj.function(lambda x, kind: np.sin(x) if kind == "sin" else np.cos(x))
    x = tj.constant(X)
    for _ in range(2):
        close(gradients(f, x, x, "sin"), np.cos(X))
        close(gradients(lambda x: f(x, kind="cos"), x, x), -np.sin(X))
    assert len(f.kernels) == 2


# What is read besides


def test_captured_tensors_and_arrays() -> None:
    a, b = tj.constant(Y), X.copy()
    f = tj.function(lambda x: a * x + b * x**2)
    x = tj.constant(X)
    gx, ga = gradients(f, [x, a], x)
    close(gx, Y + 2 * X * X)
    close(ga, X)
    b[:] = 0.0
    close(gradients(f, x, x), Y)
    with tj.GradientTape() as outer:
        outer.watch(a)
        g = gradients(f, x, x)
    close(outer.gradient(g, a), ONE)
    assert len(f.kernels) == 1


def test_a_captured_tensor_that_was_computed_on_the_tape() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        h = np.sin(x)
        y = tj.function(lambda z: h * z)(Y)
    close(tape.gradient(y, x), Y * np.cos(X))


def test_a_variable_read_is_watched_and_read_anew() -> None:
    v = tj.Variable(X, name="v")
    f = tj.function(lambda x: v**2 * x)
    for value in (X, Y, 3.0 * X):
        v.assign(value)
        with tj.GradientTape() as tape:
            y = f(Y)
        assert tape.watched_variables() == (v,)
        close(tape.gradient(y, v), 2 * value * Y)
    assert len(f.kernels) == 1


def test_the_gradient_is_by_the_value_that_the_variable_had() -> None:
    v = tj.Variable(X, name="v")
    f = tj.function(lambda x: v**3 * x)
    with tj.GradientTape() as tape:
        y = f(Y)
        v.assign(Y)
    close(tape.gradient(y, v), 3 * X**2 * Y)


def test_a_variable_that_is_not_trainable_is_constant_unless_watched() -> None:
    v = tj.Variable(X, trainable=False)
    f = tj.function(lambda x: v * x)
    x = tj.constant(Y)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.watched_variables() == ()
    assert tape.gradient(y, [x, v])[1] is None
    close(gradients(f, v, Y), Y)


def test_a_variable_assigned_and_read() -> None:
    v = tj.Variable(X, name="v")

    @tj.function
    def f(x: Any) -> Any:
        before = v * x
        v.assign(np.sin(x))
        after = v**2 * x
        v.assign_add(ONE)
        return before + after

    with tj.GradientTape() as tape:
        x = tj.constant(Y)
        tape.watch(x)
        y = f(x)
    close(v, np.sin(Y) + 1.0)
    gx, gv = tape.gradient(y, [x, v])
    # Nothing flows from what is assigned; every value that was read counts.
    close(gx, X + np.sin(Y) ** 2)
    close(gv, Y + 2 * np.sin(Y) * Y)


def test_an_assignment_takes_place_once_whatever_is_asked() -> None:
    v = tj.Variable(0.0)

    @tj.function
    def f(x: Any) -> Any:
        v.assign_add(1.0)
        return x**3

    x = tj.constant(X)
    found = derivatives(f, x, 3)
    close(found[3], 6 * ONE)
    assert float(v) == 1.0


def test_a_variable_only_assigned_is_watched_and_not_connected() -> None:
    """As under a tape without a function, and as in TensorFlow."""
    v = tj.Variable(X)

    @tj.function
    def f(x: Any) -> Any:
        v.assign(x)
        return 2.0 * x

    with tj.GradientTape() as tape:
        y = f(Y)
    assert tape.watched_variables() == (v,)
    assert tape.gradient(y, v) is None if isinstance(y, tj.Tensor) else type(y) is np.ndarray


@pytest.mark.parametrize("how", ["itself", "assign", "read_value", "container"])
def test_a_variable_returned(how: str) -> None:
    v = tj.Variable(X, name="v")

    @tj.function
    def f(x: Any) -> Any:
        return {
            "itself": lambda: v,
            "assign": lambda: v.assign(x),
            "read_value": lambda: v.read_value(),
            "container": lambda: {"a": [v]},
        }[how]()

    with tj.GradientTape() as tape:
        found = f(Y)
        found = found["a"][0] if how == "container" else found
        z = found * 3.0
    close(found, Y if how == "assign" else X)
    close(tape.gradient(z, v), 3.0 * ONE)


def test_a_variable_as_argument() -> None:
    v, w = tj.Variable(X, name="v"), tj.Variable(Y)
    f = tj.function(lambda p, x: p * x**2)
    for p, value, other in ((v, X, Y), (w, Y, X), (v, X, X)):
        x = tj.constant(other)
        found = gradients(f, [p, x], p, x)
        close(found[0], other**2)
        close(found[1], 2 * value * other)


def test_second_order_by_variables() -> None:
    v = tj.Variable(X, name="v")
    f = tj.function(lambda x: v**3 * x**2)
    x = tj.constant(Y)
    with tj.GradientTape() as outer:
        outer.watch(x)
        with tj.GradientTape() as tape:
            y = f(x)
        g = tape.gradient(y, v)
    gv, gx = outer.gradient(g, [v, x])
    close(gv, 6 * X * Y**2)
    close(gx, 6 * X**2 * Y)


# Functions of functions


def test_functions_that_call_functions() -> None:
    v = tj.Variable(Y, name="v")
    inner = tj.function(lambda x: np.sin(x) * v)
    outer = tj.function(lambda x: inner(x) ** 2)
    x = tj.constant(X)
    gx, gv = gradients(outer, [x, v], x)
    close(gx, 2 * np.sin(X) * np.cos(X) * Y**2)
    close(gv, 2 * np.sin(X) ** 2 * Y)
    close(gradients(lambda x: outer(inner(x)), x, x), derivative_of_composition(X, Y))


def derivative_of_composition(x: Any, v: Any) -> Any:
    """Of (v sin(v sin x))**2."""
    h = np.sin(x) * v
    return 2 * v**2 * np.sin(h) * np.cos(h) * np.cos(x) * v


def test_functions_and_eager_operations_in_turn() -> None:
    f, g = tj.function(lambda x: np.exp(x)), tj.function(lambda x: np.log(x))
    found = derivatives(lambda x: g(f(x) * f(2.0 * x)) * x, tj.constant(X), 2)
    close(found[0], 3 * X**2)
    close(found[1], 6 * X)
    np.testing.assert_allclose(found[2].numpy(), 6 * ONE, rtol=1e-12)


def test_a_tape_around_grad_and_value_and_grad() -> None:
    def cube(x: Any) -> Any:
        return np.sum(x**3)

    x = tj.constant(X)
    for make in (tj.grad, lambda f: tj.grad(tj.function(f))):
        slope = make(cube)
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            g = slope(x)
            again = np.sum(g**2)
        close(g, 3 * X**2)
        close(tape.gradient(g, x), 6 * X)
        close(tape.gradient(again, x), 36 * X**3)
    both = tj.value_and_grad(cube)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, g = both(x)
    close(tape.gradient(y, x), 3 * X**2)
    close(tape.gradient(g, x), 6 * X)
    close(tape.gradient([y, g], x), 3 * X**2 + 6 * X)
    assert type(both(X)[0]) is np.float64


def test_a_tape_around_grad_of_a_python_float_and_auxiliary_results() -> None:
    slope = tj.grad(lambda x, rate: (rate * x**2, {"x": x}), argnums=(0, 1), has_aux=True)
    x = tj.constant(3.0)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        (gx, grate), aux = slope(x, 0.5)
    close(gx, np.float64(3.0))
    close(grate, np.float64(9.0))
    close(tape.gradient(gx, x), np.float64(1.0))
    close(tape.gradient(grate, x), np.float64(6.0))
    close(tape.gradient(aux["x"], x), np.float64(1.0))


def test_a_tape_around_a_function_that_has_a_tape_inside() -> None:
    @tj.function
    def slope(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = x**4
        return tape.gradient(y, x)

    found = derivatives(slope, tj.constant(X), 2)
    close(found[0], 4 * X**3)
    close(found[1], 12 * X**2)
    close(found[2], 24 * X)


# Forward mode


def test_a_forward_accumulator_around_functions() -> None:
    v = tj.Variable(Y, name="v")
    f = tj.function(lambda x: (np.sin(x) * v, x, np.floor(x)))
    x = tj.constant(X)
    with tj.ForwardAccumulator(x, tj.constant(Y)) as acc:
        sine, same, floor = f(x)
        later = sine**2
    close(acc.jvp(sine), np.cos(X) * Y * Y)
    close(acc.jvp(same), Y)
    assert acc.jvp(floor) is None
    close(acc.jvp(later), 2 * np.sin(X) * Y * np.cos(X) * Y * Y)
    with tj.ForwardAccumulator(v, X) as acc:
        sine = f(X)[0]
    close(acc.jvp(sine), np.sin(X) * X)


def test_forward_over_reverse_and_reverse_over_forward() -> None:
    f = tj.function(lambda x: np.sum(x**3))
    x, direction = tj.constant(X), tj.constant(Y)
    with tj.ForwardAccumulator(x, direction) as acc:
        g = gradients(f, x, x)
    close(acc.jvp(g), 6 * X * Y)
    with tj.GradientTape() as tape:
        tape.watch(x)
        with tj.ForwardAccumulator(x, direction) as acc:
            y = f(x)
        dot = acc.jvp(y)
    close(tape.gradient(dot, x), 6 * X * Y)


def test_forward_over_forward() -> None:
    f = tj.function(lambda x: x**4)
    x = tj.constant(X)
    with (
        tj.ForwardAccumulator(x, tj.constant(ONE)) as outer,
        tj.ForwardAccumulator(x, tj.constant(ONE)) as inner,
    ):
        y = f(x)
        dot = inner.jvp(y)
    close(dot, 4 * X**3)
    close(outer.jvp(dot), 12 * X**2)


# Kernels


def test_kernels_are_reused(
    derived: list[Graph], monkeypatch: pytest.MonkeyPatch, tmp_path: File
) -> None:
    monkeypatch.delenv("TRACEJIT_CACHE")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    v = tj.Variable(ONE, name="v")
    f = tj.function(lambda x: np.sum(np.sin(v * x)))

    def step(x: Any) -> None:
        with tj.GradientTape() as outer:
            outer.watch(x)
            g = gradients(f, [x, v], x)
        outer.gradient(g, [x, v])
        v.assign_add(X)

    step(tj.constant(X))
    made, files = len(derived), sorted(tmp_path.rglob("*.py"))
    assert files
    for k in range(20):
        step(tj.constant(X + k))
    assert len(f.kernels) == 1
    assert f.tracing_count == 1
    assert len(derived) == made
    assert sorted(tmp_path.rglob("*.py")) == files
    step(tj.constant(np.ones((2, 3))))
    assert len(f.kernels) == 2
    assert len(derived) == 2 * made


def test_only_the_gradients_asked_for_are_computed(derived: list[Graph]) -> None:
    f = tj.function(lambda x, y: np.exp(x) * np.tanh(y))
    x, y = tj.constant(X), tj.constant(Y)
    close(gradients(f, y, x, y), np.exp(X) * (1 - np.tanh(Y) ** 2))
    assert len(derived[-1].outputs) == 1
    gradients(f, [x, y], x, y)
    assert len(derived[-1].outputs) == 2
    gradients(f, [x, y], x, y)
    assert len(derived) == 2


def test_a_function_without_a_cache_has_derivatives_without_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: File
) -> None:
    monkeypatch.delenv("TRACEJIT_CACHE")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    f = tj.function(lambda x: x**3, cache=False)
    derivatives(f, tj.constant(X), 1)
    assert list(tmp_path.rglob("*.py")) == []


def test_a_call_without_a_tape_makes_no_derivative(derived: list[Graph]) -> None:
    f = tj.function(lambda x: x**3)
    close(f(tj.constant(X)), X**3)
    with tj.GradientTape() as tape:
        y = f(tj.constant(X))
    assert tape.gradient(y, tj.constant(X)) is None
    assert derived == []


# Rules of the user's


def test_a_missing_rule_is_told_when_it_is_asked_for() -> None:
    @tj.primitive
    def opaque(x: Any) -> Any:
        return x**2

    v = tj.Variable(X)
    f = tj.function(lambda x, y: (opaque(x) * v, y * 2.0, tj.stop_gradient(opaque(y))))
    x, y = tj.constant(X), tj.constant(Y)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        hard, easy, stopped = f(x, y)
    close(tape.gradient(easy, y), 2.0 * ONE)
    close(tape.gradient(hard, v), X**2)
    assert tape.gradient(hard, y) is None
    assert tape.gradient(stopped, [x, y]) == [None, None]
    for _ in range(2):
        with pytest.raises(LookupError, match="opaque") as caught:
            tape.gradient(hard, x)
        assert type(caught.value) is NoGradientError
        assert "(opaque(x) * v, y * 2.0" in caught.value.where.text
    close(tape.gradient([easy, stopped], y), 2.0 * ONE)


def test_a_rule_that_reads_a_variable_only_in_grad_fn() -> None:
    w = tj.Variable(3.0, name="w")

    @tj.custom_gradient
    def scaled(x: Any) -> Any:
        return x * 1.0, lambda g: g * w

    f = tj.function(lambda x: scaled(x) ** 2)
    x = tj.constant(X)
    for value in (3.0, 5.0, -1.0):
        w.assign(value)
        with tj.GradientTape() as outer:
            outer.watch(x)
            g = gradients(f, x, x)
        close(g, 2 * X * value)
        assert outer.watched_variables() == (w,)
        gx, gw = outer.gradient(g, [x, w])
        close(gx, 2 * value * value * ONE)
        close(gw, np.sum(2 * X))


def test_a_rule_that_reads_a_captured_tensor_only_in_grad_fn() -> None:
    scale = tj.constant(Y)

    @tj.custom_gradient
    def scaled(x: Any) -> Any:
        return x * 1.0, lambda g: g * scale

    f = tj.function(lambda x: scaled(x))
    x = tj.constant(X)
    with tj.GradientTape() as outer:
        outer.watch(scale)
        g = gradients(f, x, x)
    close(g, Y)
    close(outer.gradient(g, scale), ONE)


def test_a_rule_that_assigns_does_so_at_every_gradient() -> None:
    count = tj.Variable(0.0, trainable=False)

    @tj.custom_gradient
    def counted(x: Any) -> Any:
        def rule(g: Any) -> Any:
            count.assign_add(1.0)
            return g * 2.0

        return x * 1.0, rule

    f = tj.function(lambda x: counted(x))
    x = tj.constant(X)
    for wanted in (1.0, 2.0, 3.0):
        close(gradients(f, x, x), 2.0 * ONE)
        assert float(count) == wanted
    f(x)
    assert float(count) == 3.0


def test_a_rule_does_not_run_where_nothing_asks_for_its_inputs() -> None:
    ran = []

    @tj.custom_gradient
    def noted(x: Any) -> Any:
        def rule(g: Any) -> Any:
            ran.append(1)
            return g * 2.0

        return x * 1.0, rule

    f = tj.function(lambda x, y: noted(x) + y)
    x, y = tj.constant(X), tj.constant(Y)
    close(gradients(f, y, x, y), ONE)
    assert ran == []
    close(gradients(f, x, x, y), 2.0 * ONE)
    assert ran == [1]


@pytest.mark.parametrize("fault", ["raises", "answers too much"])
def test_an_exception_in_a_rule_leaves_the_function_usable(fault: str) -> None:
    state = {"fails": True}

    @tj.custom_gradient
    def moody(x: Any) -> Any:
        def rule(g: Any) -> Any:
            if not state["fails"]:
                return g * 2.0
            if fault == "raises":
                raise KeyError("moody")
            return g, g

        return x * 1.0, rule

    f = tj.function(lambda x, y: moody(x) * y)
    x, y = tj.constant(X), tj.constant(Y)
    for _ in range(2):
        with pytest.raises(KeyError if fault == "raises" else RuleError):
            gradients(f, x, x, y)
        assert EAGER.windows == ()
        close(f(X, Y), X * Y)
        close(gradients(f, y, x, y), X)
    state["fails"] = False
    close(gradients(f, x, x, y), 2 * Y)
    found = derivatives(lambda x: f(x, x), x, 2)
    close(found[1], 3 * X)


def test_stopped_and_passed_through_gradients_in_functions() -> None:
    f = tj.function(lambda x: tj.stop_gradient(x) * x + tj.grad_pass_through(np.rint)(x) * x)
    found = derivatives(f, tj.constant(X), 3)
    close(found[1], X + X + np.rint(X))
    close(found[2], 2 * ONE)
    assert found[3] is None


def test_recomputed_regions_in_functions() -> None:
    f = tj.function(tj.recompute_grad(lambda x: np.sin(x) ** 2))
    found = derivatives(f, tj.constant(X), 3)
    for one, formula in zip(
        found,
        (np.sin(X) ** 2, np.sin(2 * X), 2 * np.cos(2 * X), -4 * np.sin(2 * X)),
        strict=True,
    ):
        close(one, formula)


# What rules do with cotangents and with what they read


def clipped(x: Any) -> Any:
    """The identity, with a rule that is not linear in the cotangent."""
    return tj.custom_gradient(lambda x: (x * 1.0, lambda d: np.clip(d, -1.0, 1.0)))(x)


def test_a_rule_gets_the_sum_of_what_arrives_from_value_and_gradient() -> None:
    """2 from the gradient and 0.6 from the value: the rule clips 2.6, not 1 and 0.6."""
    f = tj.function(lambda x: np.square(clipped(x)))
    for _ in range(2):
        close(of_value_and_gradient(f, tj.constant(0.3)), np.float64(1.0))
    twice = of_value_and_gradient(
        lambda x: np.square(clipped(np.square(clipped(x)))), tj.constant(0.3)
    )
    close(of_value_and_gradient(lambda x: f(f(x)), tj.constant(0.3)), twice.numpy())


def test_a_rule_within_a_rule_gets_the_sum_of_what_arrives() -> None:
    def program(x: Any) -> Any:
        return tj.custom_gradient(lambda x: (np.sin(x), lambda d: clipped(d * x) * 0.7))(x)

    def third(f: Callable[..., Any], x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = of_value_and_gradient(f, x) + f(x)
        return tape.gradient(y, x)

    x = tj.constant(0.8)
    for take in (of_value_and_gradient, third):
        close(take(tj.function(program), x), take(program, x).numpy())


def test_forward_mode_over_a_gradient_whose_rule_is_a_function_of_values() -> None:
    @tj.custom_gradient
    def scaled(x: Any) -> Any:
        return np.sin(x), lambda d: d * x

    def along(f: Callable[..., Any], x: Any) -> Any:
        with tj.ForwardAccumulator(x, tj.constant(Y)) as acc:
            g = gradients(f, x, x)
        return acc.jvp(g)

    def program(x: Any) -> Any:
        return np.square(scaled(x))

    x = tj.constant(X)
    close(along(tj.function(program), x), along(program, x).numpy())


def test_only_what_a_rule_stands_for_is_kept_for_a_second_order(derived: list[Graph]) -> None:
    f = tj.function(lambda x: np.square(clipped(np.sin(x))))
    of_value_and_gradient(f, tj.constant(X))
    parts = [graph for graph in derived if graph.name.endswith("_part")]
    assert [len(graph.outputs) for graph in parts] == [1]
    plain = tj.function(lambda x: np.square(np.sin(x)))
    derived.clear()
    of_value_and_gradient(plain, tj.constant(X))
    assert not [graph for graph in derived if graph.name.endswith("_part")]


@pytest.mark.parametrize("captured", ["tensor", "variable", "array"])
def test_gradients_by_other_sources_of_what_only_a_rule_reads(captured: str) -> None:
    scale = {
        "tensor": lambda: tj.constant(Y),
        "variable": lambda: tj.Variable(Y),
        "array": lambda: Y.copy(),
    }[captured]()

    @tj.custom_gradient
    def scaled(x: Any) -> Any:
        return x * 1.0, lambda d: d * scale

    f = tj.function(lambda x, y: scaled(x) * scaled(y))
    x, y = tj.constant(X), tj.constant(2.0 * X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = f(x, y)
    close(tape.gradient(z, x), 2.0 * X * Y)
    close(tape.gradient(z, [x, y])[1], X * Y)
    close(tape.gradient(z, y), X * Y)
    close(gradients(f, [y, x], x, y)[1], 2.0 * X * Y)


def test_a_rule_reads_a_variable_as_it_is_when_the_gradient_is_taken() -> None:
    v = tj.Variable(2.0, name="v")

    @tj.custom_gradient
    def scaled(x: Any) -> Any:
        return x * v, lambda d, variables=None: (d * v, [None])

    def program(scale: Any, x: Any) -> Any:
        with tj.GradientTape() as outer:
            outer.watch(x)
            with tj.GradientTape() as tape:
                tape.watch(x)
                y = scale(x) * x
            v.assign(10.0)
            g = tape.gradient(y, x)
        return [g, *outer.gradient(g, [x, v])]

    x = tj.constant(3.0)
    for scale in (scaled, tj.function(scaled), tj.function(scaled)):
        v.assign(2.0)
        for found, wanted in zip(program(scale, x), (36.0, 20.0, 3.0), strict=True):
            close(found, np.float64(wanted))
    v.assign(2.0)
    assert [float(one) for one in tj.function(program)(scaled, x)] == [36.0, 20.0, 3.0]


def test_what_a_function_assigns_is_the_variable_s_value_for_tapes() -> None:
    """In a function as outside."""
    for wrap in (lambda f: f, tj.function):
        v = tj.Variable(2.0, name="v")
        f = wrap(lambda x, v=v: (x * 2.0, v.assign(x * 3.0))[0])
        with tj.GradientTape(persistent=True) as tape:
            f(tj.constant(X[0]))
        assert tape.watched_variables() == (v,)
        close(tape.gradient(v, v), np.float64(1.0))


def test_a_tape_that_is_opened_after_the_call_sees_its_gradient_alone() -> None:
    """The cosine is of the call's sine, a constant for that tape; 2 * x is of x itself."""

    def program(x: Any) -> Any:
        return np.sin(np.sin(x)) + x * x

    def late(f: Callable[..., Any], x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        with tj.GradientTape() as outer:
            outer.watch(x)
            g = tape.gradient(y, x)
        return outer.gradient(g, x)

    x = tj.constant(X)
    wanted = -np.sin(X) * np.cos(np.sin(X)) + 2.0
    for f in (program, tj.function(program), tj.recompute_grad(program)):
        close(late(f, x), wanted)
        close(tj.function(late)(f, x) if f is program else wanted, wanted)


@pytest.mark.parametrize("decides_on", ["value", "cotangent", "both"])
def test_a_rule_that_decides_goes_each_call_s_own_way(decides_on: str) -> None:
    @tj.custom_gradient
    def moody(x: Any) -> Any:
        def rule(d: Any) -> Any:
            if decides_on != "cotangent" and x > 0.0:
                return d * 2.0
            if decides_on != "value" and d > 0.5:
                return d * 3.0
            return d * x

        return x * 1.0, rule

    def program(x: Any, w: Any) -> Any:
        return moody(x) * w

    f = tj.function(program)
    for value, w in ((1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (-2.0, 0.75)) * 2:
        x, w = tj.constant(value), tj.constant(w)
        close(gradients(f, x, x, w), gradients(program, x, x, w).numpy())
        found = of_value_and_gradient(lambda x, w=w: f(x, w), x)
        close(found, of_value_and_gradient(lambda x, w=w: program(x, w), x).numpy())


def test_a_rule_that_decides_to_answer_nothing() -> None:
    @tj.custom_gradient
    def moody(x: Any) -> Any:
        return x * 1.0, lambda d: d if x > 0.0 else None

    f = tj.function(moody)
    for value, wanted in ((1.0, 1.0), (-1.0, None), (2.0, 1.0), (-2.0, None)):
        x = tj.constant(value)
        found = gradients(f, x, x)
        assert (None if found is None else float(found)) == wanted


def test_what_a_rule_draws_is_not_drawn_again_for_its_derivative() -> None:
    def drawn(wrap: Callable[..., Any]) -> list[Any]:
        rng = tj.random.default_rng(3)

        @tj.custom_gradient
        def noisy(x: Any) -> Any:
            return x * x, lambda d: d * rng.normal() * x

        f = wrap(lambda x: np.sin(noisy(x)))
        return [one.numpy() for _ in range(3) for one in derivatives(f, tj.constant(0.7), 2)]

    for one, other in zip(drawn(tj.function), drawn(lambda f: f), strict=True):
        close(one, other)


def test_what_stands_for_a_call_goes_with_its_tape(derived: list[Graph]) -> None:
    f = tj.function(lambda x: np.square(clipped(np.sin(x))))
    kept: list[Any] = []
    x = tj.constant(X)
    gc.collect()
    gc.disable()
    try:
        with tj.GradientTape() as outer:
            outer.watch(x)
            with tj.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            g = tape.gradient(y, x)
            kept.append(weakref.ref(outer._window.nodes[0].params["grad"].push.__self__))
        outer.gradient(g, x)
        del y, g, tape, outer
        assert kept[0]() is None
    finally:
        gc.enable()


# Threads


def test_threads_derive_at_the_same_time(
    derived: list[Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One reopens the recording, the others wait: each derivative is made once."""
    pull = call_operation.CallOp._pulled

    def slowly(self: Any, *args: Any) -> Any:
        time.sleep(0.01)
        return pull(self, *args)

    monkeypatch.setattr(call_operation.CallOp, "_pulled", slowly)
    v = tj.Variable(Y, name="v")
    f = tj.function(lambda x: np.sin(x) * v + x**4)
    f(tj.constant(X))
    barrier = threading.Barrier(4)
    answers: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            barrier.wait()
            for order in (1, 2, 3, 2, 1):
                found = derivatives(f, tj.constant(X), order)[-1]
                answers.append((order, found.numpy()))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(answers) == 20
    wanted = {
        1: np.cos(X) * Y + 4 * X**3,
        2: -np.sin(X) * Y + 12 * X**2,
        3: -np.cos(X) * Y + 24 * X,
    }
    for order, found in answers:
        close(found, wanted[order])
    assert len(derived) == 3


def test_a_derivative_is_asked_for_on_another_thread() -> None:
    f = tj.function(lambda x: x**3)
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(tape.gradient(y, x)))
    thread.start()
    thread.join()
    close(found[0], 3 * X**2)


# The parts


def test_a_path_knows_its_inputs_sources_and_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Noted(call_operation.CallOp):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(results, "CallOp", Noted)
    v = tj.Variable(Y, name="v")

    @tj.function
    def f(x: Any) -> Any:
        before = v * x
        v.assign(x)
        return before + v

    gradients(f, v, tj.constant(X))
    (path,) = made
    assert [value.label for value in path.inputs] == ["x", "v"]
    assert [len(values) for values in path.sources] == [1, 2]
    assert path.sources[1][0] is path.inputs[1]
    # The sum, and the new value of v.
    assert len(path.outputs) == 2
    assert path.drawn == []


def test_what_raises_beside_a_draw_raises_under_a_tape() -> None:
    def f(x: Any, rng: Any) -> Any:
        scale = rng.normal() ** 2
        try:
            np.linalg.cholesky(-scale * np.eye(2) * x[0])
        except np.linalg.LinAlgError:
            return x * rng.normal()
        return x

    x = np.array([1.0, 2.0])
    plain = f(x, np.random.default_rng(0))
    taped = tj.constant(x)
    with tj.GradientTape() as tape:
        tape.watch(taped)
        y = tj.function(f)(taped, np.random.default_rng(0))
    np.testing.assert_array_equal(y.numpy(), plain)
    np.testing.assert_allclose(tape.gradient(y, taped).numpy(), plain / x, rtol=1e-14)


@pytest.mark.parametrize("read", [float, lambda n: float(2.0 * n) / 2.0, lambda n: len(range(n))])
def test_a_number_that_a_rule_reads_is_that_of_the_call(read: Callable[[Any], Any]) -> None:
    """A tape around a function keeps what it has recorded of a derivative for later calls."""

    @tj.function(cache=False)
    def scaled(x: Any, n: int) -> Any:
        @tj.custom_gradient
        def same(a: Any) -> Any:
            return a * 1.0, lambda dy: dy * read(n)

        return np.sum(same(x)) * 1.0

    x = tj.constant(np.ones(2))
    for n in (2, 3, 5, 3):
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x, n)
        assert tape.gradient(y, x).numpy().tolist() == [n, n]
