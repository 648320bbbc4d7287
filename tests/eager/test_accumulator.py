"""ForwardAccumulator: tangents of eager code, of compiled functions and inside them."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same, close
from tests.support.graphs import ops_of
from tests.support.modes import arrays, moved, refused, tangents_of
from tracejit.support.errors import (
    LeakedTensorError,
    NoGradientError,
    RuleTypeError,
    SeedError,
    TapeArgumentError,
    TapeStateError,
    ValueNeededError,
)

Program = Callable[..., Any]


X = np.array([1.0, -2.0, 0.5])
V = np.array([2.0, 0.25, -1.0])
Y = np.array([3.0, 0.5, 4.0])
ONE = np.ones(3)


# The driver itself


def test_the_driver_sees_what_differs() -> None:
    with pytest.raises(AssertionError):
        close(moved(lambda x: x * x, X), X)
    with pytest.raises(pytest.fail.Exception):
        refused(lambda x: x * x, X)


# Values


def test_a_tangent_is_the_derivative_along_a_direction() -> None:
    close(moved(lambda x: np.sin(x) * x, X, along=[V]), (np.cos(X) * X + np.sin(X)) * V)
    close(moved(lambda x: np.sum(x**3), X, along=[V]), np.sum(3 * X**2 * V))


def test_tangents_of_several_primals_add() -> None:
    close(moved(lambda x, y: x * y + y, X, V, along=[V, X]), V * V + X * X + X)


@pytest.mark.parametrize("factor", [0.0, 1.0, -3.0])
def test_a_tangent_is_linear_in_the_direction(factor: float) -> None:
    one = moved(lambda x: np.exp(x) / x, X, along=[V])
    close(moved(lambda x: np.exp(x) / x, X, along=[factor * V]), factor * one)


def test_forward_and_reverse_mode_are_transposes() -> None:
    matrix = np.arange(6.0).reshape(2, 3)

    def f(x: Any) -> Any:
        return np.tanh(matrix @ (x * x))

    seed = np.array([0.5, -1.5])
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    back = tape.gradient(y, x, output_gradients=seed).numpy()
    np.testing.assert_allclose(np.dot(seed, moved(f, X, along=[V])), np.dot(back, V), rtol=1e-13)


def test_zeros_of_a_tangent_are_no_none() -> None:
    """A zero tangent is a computed zero."""
    close(moved(lambda x: x * x, X, along=[np.zeros(3)]), np.zeros(3))


# What does not move


def test_the_primal_moves_along_its_tangent() -> None:
    close(moved(lambda x: x, X, along=[V]), V)


def test_none_for_what_does_not_depend_on_a_primal() -> None:
    w = tj.constant(V)
    found = moved(lambda x: {"moves": x * 1.0, "not": [w * 2.0], "whole": np.argmax(x)}, X)
    close(found["moves"], ONE)
    assert found["not"] == [None]
    assert found["whole"] is None


@pytest.mark.parametrize("f", [np.round, np.sign, np.floor, np.argmax, lambda x: x > 0])
def test_none_for_what_is_piecewise_constant(f: Program) -> None:
    assert moved(f, X) is None


def test_none_after_stop_gradient() -> None:
    assert moved(tj.stop_gradient, X) is None
    close(moved(lambda x: x * tj.stop_gradient(x), X, along=[V]), X * V)


@pytest.mark.parametrize("zero", ["zero", tj.UnconnectedGradients.ZERO])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64])
def test_zeros_for_none_if_asked_for(zero: Any, dtype: Any) -> None:
    x, w = tj.constant(X), tj.constant(np.ones((2, 2), dtype))
    with tj.ForwardAccumulator(x, V) as accumulator:
        y = w * 2
    assert accumulator.jvp(y) is None
    close(accumulator.jvp(y, unconnected_gradients=zero).numpy(), np.zeros((2, 2), y.dtype))


def test_what_was_computed_before_or_after_the_block_does_not_move() -> None:
    x = tj.constant(X)
    before = x * x
    with tj.ForwardAccumulator(x, V) as accumulator:
        within = x * x
        from_before = before * 2.0
    after = within * 2.0
    close(accumulator.jvp(within).numpy(), 2 * X * V)
    assert accumulator.jvp([before, from_before, after]) == [None, None, None]


def test_an_intermediate_value_as_primal() -> None:
    """What it was computed from stands still."""
    x = tj.constant(X)
    h = x * x
    with tj.ForwardAccumulator(h, V) as accumulator:
        y = h * 3.0 + x
    close(accumulator.jvp(y).numpy(), 3.0 * V)
    assert accumulator.jvp(x) is None


def test_what_a_number_is_taken_from_stands_still() -> None:
    x = tj.constant(X)
    with tj.ForwardAccumulator(x, V) as accumulator:
        y = x.numpy() * x
        with pytest.raises(ValueNeededError, match="numpy"):
            float(np.sum(x))
    close(accumulator.jvp(y).numpy(), X * V)


def test_an_integer_primal_does_not_move(recwarn: pytest.WarningsRecorder) -> None:
    whole, x = tj.constant(np.arange(3)), tj.constant(X)
    with tj.ForwardAccumulator([whole, x], [np.arange(3), V]) as accumulator:
        y = whole * x
    assert accumulator.jvp(whole) is None
    close(accumulator.jvp(y).numpy(), np.arange(3) * V)


# Structures


class Pair(NamedTuple):
    left: Any
    right: Any


def test_primals_tangents_and_answers_in_structures() -> None:
    primals = {"w": tj.constant(X), "b": Pair(tj.constant(3.0), [tj.constant(V)])}
    dots = {"w": V, "b": Pair(2.0, [ONE])}
    with tj.ForwardAccumulator(primals, dots) as accumulator:
        y = primals["w"] * primals["b"].left
        z = primals["b"].right[0] * 5.0
    found = accumulator.jvp({"y": y, "rest": Pair(z, ())})
    close(found["y"].numpy(), 3.0 * V + 2.0 * X)
    close(found["rest"].left.numpy(), 5.0 * ONE)
    assert type(found["rest"]) is Pair
    assert found["rest"].right == ()
    assert accumulator.jvp([]) == []


@pytest.mark.parametrize("dot", [V, tj.constant(V), tj.Variable(V), list(V)])
def test_what_a_tangent_may_be(dot: Any) -> None:
    x = tj.constant(X)
    if isinstance(dot, list):
        with pytest.raises(SeedError, match="structure"):
            tj.ForwardAccumulator(x, dot)
        return
    with tj.ForwardAccumulator(x, dot) as accumulator:
        y = x * x
    close(accumulator.jvp(y).numpy(), 2 * X * V)


def test_a_python_number_is_the_tangent_of_a_scalar() -> None:
    x = tj.constant(np.float32(2.0))
    with tj.ForwardAccumulator(x, 3.0) as accumulator:
        y = x * x
    close(accumulator.jvp(y).numpy(), np.float32(12.0))


# Dtypes


def test_float32_stays_float32() -> None:
    x, v = X.astype(np.float32), V.astype(np.float32)
    found = moved(lambda x: np.sin(x) * 2.0, x, along=[v])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 2 * np.cos(x) * v, rtol=4 * np.finfo(np.float32).eps)
    close(moved(lambda x: x.astype(np.float64), x, along=[v]), v.astype(np.float64))


def test_a_complex_tangent_is_a_direction() -> None:
    """Nothing is conjugated, but by np.conj."""
    z, w = X + 1j * V, V - 2j * X
    close(moved(lambda z: z * z, z, along=[w]), 2 * z * w)
    close(moved(np.conj, z, along=[w]), np.conj(w))
    close(moved(np.real, z, along=[w]), np.real(w))
    close(moved(np.abs, z, along=[w]), np.real(np.conj(z) * w) / np.abs(z))


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 1)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 2.0)
    close(moved(lambda x: x * x, x, along=[x]), 2 * x * x)


def test_a_scalar_stays_a_scalar() -> None:
    found = moved(lambda x: x * x, np.float64(3.0), along=[np.float64(2.0)])
    assert type(found) is np.float64
    assert found == 12.0


# Higher order


def nested(x: Any, f: Program, *dots: Any) -> Any:
    """The derivative of f along all dots."""
    if not dots:
        return f(x)
    with tj.ForwardAccumulator(x, dots[0]) as accumulator:
        y = nested(x, f, *dots[1:])
    return accumulator.jvp(y)


def everywhere(f: Program, *args: Any) -> Any:
    """What f answers eagerly and in a compiled function, twice."""
    expected = arrays(f(*[tj.constant(x) for x in args]))
    compiled = tj.function(f)
    for _ in range(2):
        assert_same(compiled(*args), expected)
    return expected


def test_nested_accumulators_give_higher_order() -> None:
    close(everywhere(lambda x, v: nested(x, lambda x: x**4, v, v), X, V), 12 * X**2 * V**2)
    close(everywhere(lambda x, v: nested(x, lambda x: x**4, v, v, v), X, V), 24 * X * V**3)
    close(everywhere(lambda x, v: nested(x, np.sin, v, np.ones(3)), X, V), -np.sin(X) * V)


def test_the_order_of_nesting_decides_what_sees_what() -> None:
    def program(x: Any, v: Any) -> Any:
        with tj.ForwardAccumulator(x, v) as outer:
            with tj.ForwardAccumulator(x, v) as inner:
                y = x**4
            d = inner.jvp(y)
        return d, outer.jvp(d), outer.jvp(y), inner.jvp(outer.jvp(y))

    first = 4 * X**3 * V
    d, second, again, none = everywhere(program, X, V)
    for found, expected in [(d, first), (again, first), (second, 12 * X**2 * V**2)]:
        close(found, expected)
    assert none is None


def test_perturbations_are_not_confused() -> None:
    """d/dx (x * d/dy (x + y)) is 1: the inner tangent is not the outer one."""

    def program(x: Any, y: Any) -> Any:
        with tj.ForwardAccumulator(x, np.ones(3)) as outer:
            with tj.ForwardAccumulator(y, np.ones(3)) as inner:
                z = x + y
            w = x * inner.jvp(z)
        return outer.jvp(w)

    close(everywhere(program, X, V), ONE)


def test_a_jvp_taken_in_its_block_moves() -> None:
    def program(x: Any, v: Any) -> Any:
        with tj.ForwardAccumulator(x, v) as accumulator:
            d = accumulator.jvp(x * x)
            z = d * x
        return d, accumulator.jvp(d), accumulator.jvp(z)

    d, second, of_product = everywhere(program, X, V)
    close(d, 2 * X * V)
    close(second, 2 * V * V)
    close(of_product, 4 * X * V * V)


def cubic(x: Any) -> Any:
    """A function whose Hessian is not diagonal."""
    return np.sum(np.sin(x) * x[::-1] ** 2)


def forward_over_reverse(f: Program, x: Any, v: Any) -> Any:
    with tj.ForwardAccumulator(x, v) as accumulator:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        slope = tape.gradient(y, x)
    return accumulator.jvp(slope)


def reverse_over_forward(f: Program, x: Any, v: Any) -> Any:
    with tj.GradientTape() as tape:
        tape.watch(x)
        with tj.ForwardAccumulator(x, v) as accumulator:
            y = f(x)
        slope = accumulator.jvp(y)
    return tape.gradient(slope, x)


def reverse_over_reverse(f: Program, x: Any, v: Any) -> Any:
    with tj.GradientTape() as outer:
        outer.watch(x)
        with tj.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        slope = inner.gradient(y, x)
    return outer.gradient(slope, x, output_gradients=v)


def forward_over_grad(f: Program, x: Any, v: Any) -> Any:
    with tj.ForwardAccumulator(x, v) as accumulator:
        slope = tj.grad(f)(x)
    return accumulator.jvp(slope)


def grad_over_forward(f: Program, x: Any, v: Any) -> Any:
    return tj.grad(lambda x: tangents_of(f, [x], [v]))(x)


@pytest.mark.parametrize("f", [cubic, tj.function(cubic)], ids=["plain", "compiled"])
@pytest.mark.parametrize(
    "product",
    [
        forward_over_reverse,
        reverse_over_forward,
        reverse_over_reverse,
        forward_over_grad,
        grad_over_forward,
    ],
)
def test_hessian_vector_products(product: Any, f: Program) -> None:
    def step(sign: float) -> Any:
        return tj.grad(cubic)(X + sign * 1e-5 * V)

    found = everywhere(functools.partial(product, f), X, V)
    diagonal = -np.sin(X) * X[::-1] ** 2 + 2 * np.sin(X[::-1])
    crossed = 2 * np.cos(X) * X[::-1] + 2 * np.cos(X[::-1]) * X
    np.testing.assert_allclose(found, diagonal * V + crossed * V[::-1], rtol=1e-12)
    np.testing.assert_allclose(found, (step(1.0) - step(-1.0)) / 2e-5, rtol=1e-8)


def test_a_tangent_that_is_computed_is_differentiated_through() -> None:
    def program(x: Any, y: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(y)
            with tj.ForwardAccumulator(x, y * y) as accumulator:
                z = x**3
            d = accumulator.jvp(z)
        return tape.gradient(d, y)

    close(everywhere(program, X, V), 3 * X**2 * 2 * V)


def test_stop_recording_of_a_tape_does_not_stop_an_accumulator() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        with tj.ForwardAccumulator(x, V) as accumulator, tape.stop_recording():
            y = x * x
    close(accumulator.jvp(y).numpy(), 2 * X * V)
    assert tape.gradient(y, x) is None


# Variables


def test_a_variable_as_primal_is_moved_by_every_read() -> None:
    """An assignment cuts: the value after it is another value of the same primal."""
    v = tj.Variable(X)

    def program() -> Any:
        with tj.ForwardAccumulator(v, V) as accumulator:
            before = v * v
            v.assign(v * 2.0)
            after = v * v
            returned = v.assign_add(ONE)
        return accumulator.jvp([before, after, returned, v])

    for run in (program, tj.function(program), tj.function(program)):
        for _ in range(2):
            v.assign(X)
            before, after, returned, itself = arrays(run())
            close(before, 2 * X * V)
            close(after, 4 * X * V)
            close(returned, V)
            close(itself, V)
            assert_same(v.numpy(), 2 * X + 1.0)


def test_what_is_assigned_to_another_variable_does_not_move_it() -> None:
    x, v = tj.constant(X), tj.Variable(ONE)
    assign = tj.function(lambda x: v.assign(x * 2.0) * x)
    for f in (assign.python, assign):
        with tj.ForwardAccumulator(x, V) as accumulator:
            y = f(x)
        close(accumulator.jvp(y).numpy(), 2 * X * V)
        assert accumulator.jvp(v) is None


def test_a_variable_that_is_no_primal_stands_still() -> None:
    v = tj.Variable(V)
    close(moved(lambda x: x * v, X, along=[ONE]), V)
    close(moved(lambda x: x * np.sum(v * v), X, along=[ONE]), np.sum(V * V) * ONE)


@pytest.mark.parametrize("trainable", [True, False])
def test_a_captured_variable_moves_through_a_compiled_function(trainable: bool) -> None:
    v = tj.Variable(X, trainable=trainable)
    loss = tj.function(lambda: np.sum(v * v))
    for _ in range(2):
        with tj.ForwardAccumulator(v, V) as accumulator:
            y = loss()
        close(accumulator.jvp(y).numpy(), np.sum(2 * X * V))


def test_a_compiled_function_over_a_primal_it_closes_over() -> None:
    x = tj.constant(X)
    with tj.ForwardAccumulator(x, V) as accumulator:
        y = tj.function(lambda z: z * x)(x)
    close(accumulator.jvp(y).numpy(), 2 * X * V)


# The gradient markers


@tj.custom_gradient
def scaled(x: Any, y: Any) -> Any:
    """A product whose rule tells its inputs apart."""
    return x * y, lambda g: (g * 10.0, g * 20.0 * y)


def test_the_rule_of_a_custom_gradient_is_transposed() -> None:
    close(moved(scaled, X, V, along=[V, X]), 10.0 * V + 20.0 * V * X)
    close(moved(lambda x: scaled(x, V), X), 10.0 * ONE)


def test_the_transpose_of_a_rule_that_is_no_scaling() -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    product = tj.custom_gradient(lambda x: (matrix @ x, lambda g: 3.0 * (g @ matrix)))
    close(moved(product, X, along=[V]), 3.0 * (matrix @ V))
    summed = tj.custom_gradient(lambda x: (np.sum(x), lambda g: g * np.cos(X)))
    close(moved(summed, X, along=[V]), np.dot(np.cos(X), V))


def test_a_rule_with_several_results() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return (x * x, {"k": np.sum(x)}), lambda g, h: g * 7.0 + h * 2.0

    one, other = moved(f, X, along=[V])
    close(one, 7.0 * V)
    close(other["k"], np.sum(2.0 * V))


def test_a_rule_that_answers_none() -> None:
    half = tj.custom_gradient(lambda x, y: (x * y, lambda g: (g * 5.0, None)))
    close(moved(half, X, V, along=[V, X]), 5.0 * V)
    assert moved(tj.custom_gradient(lambda x: (x * x, lambda g: None)), X) is None


def test_a_rule_with_variables() -> None:
    v = tj.Variable(V)
    f = tj.custom_gradient(lambda x: (x * v, lambda g, variables: (g * 2.0, [g * 3.0])))
    close(moved(lambda x: f(x), X, along=[V]), 2.0 * V)
    with tj.ForwardAccumulator(v, X) as accumulator:
        y = f(tj.constant(X))
    close(accumulator.jvp(y).numpy(), 3.0 * X)


def test_the_rule_is_differentiated_in_higher_order() -> None:
    square = tj.custom_gradient(lambda x: (x * x, lambda g: g * 20.0 * x))
    close(everywhere(lambda x, v: nested(x, square, v, v), X, V), 20.0 * V * V)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (lambda g: g * g, "multiply more than once"),
        (lambda g: np.clip(g, -1.0, 1.0), "clip"),
        (lambda g: g + 1.0, "add joins it with a value that does not depend on it"),
        (lambda g: np.exp(g), "exp"),
        (lambda g: np.ones(3), "does not depend on it"),
    ],
)
def test_a_rule_that_is_not_linear_is_refused(rule: Program, problem: str) -> None:
    f = tj.custom_gradient(lambda x: (x * 2.0, rule))
    error = refused(lambda x: f(x), X)
    assert type(error) is RuleTypeError
    assert isinstance(error, TypeError)
    assert "the gradient rule of <lambda> is not linear in its cotangent" in str(error)
    assert problem in str(error)
    assert "error = refused(lambda x: f(x), X)" in str(error)


def test_a_rule_that_is_not_linear_is_no_error_where_nobody_asks() -> None:
    clipped = tj.custom_gradient(lambda x: (x * 2.0, lambda g: np.clip(g, -1.0, 1.0)))
    found = moved(lambda x: [tj.stop_gradient(clipped(x)), clipped(tj.stop_gradient(x)), x], X)
    assert found[:2] == [None, None]
    close(found[2], ONE)


def test_pass_through_hands_tangents_on() -> None:
    close(moved(tj.grad_pass_through(np.round), X, along=[V]), V)
    close(moved(tj.grad_pass_through(lambda x: x * x), X, along=[V]), V)

    def swapped(x: Any, y: Any) -> Any:
        return np.floor(y), np.floor(x)

    left, right = moved(tj.grad_pass_through(swapped), X, V, along=[V, X])
    close(left, V)
    close(right, X)


def test_recompute_grad_moves_as_its_function_does() -> None:
    v = tj.Variable(V)

    def f(x: Any) -> Any:
        return np.sin(x * v) * x

    close(moved(tj.recompute_grad(f), X, along=[V]), moved(f, X, along=[V]))
    twice = tj.recompute_grad(tj.recompute_grad(f))
    close(moved(twice, X, along=[V]), moved(f, X, along=[V]))


# Functions


def test_control_flow_and_calls_of_compiled_functions() -> None:
    inner = tj.function(lambda x, n: x**n)

    def f(x: Any) -> Any:
        for n in range(1, 4):
            x = inner(x, n) + 1.0
        return np.where(x > 0, x * 2.0, x)

    def slope(x: Any) -> Any:
        y, d = x, np.ones_like(x)
        for n in range(1, 4):
            y, d = y**n + 1.0, n * y ** (n - 1) * d
        return np.where(y > 0, 2.0 * d, d)

    close(moved(f, X, along=[V]), slope(X) * V)


def test_an_accumulator_of_eager_primals_inside_a_function() -> None:
    x = tj.constant(X)
    accumulator = tj.ForwardAccumulator(x, V)

    def program(z: Any) -> Any:
        with accumulator:
            y = z * x * x
        return accumulator.jvp(y)

    compiled = tj.function(program)
    for z in (ONE, Y, ONE):
        close(compiled(z), 2 * X * V * z)


def test_what_a_recording_left_behind_is_refused() -> None:
    kept = queue.SimpleQueue[Any]()

    def program(x: Any) -> Any:
        with tj.ForwardAccumulator(x, V) as accumulator:
            y = x * x
        kept.put((accumulator, y))
        return y

    tj.function(program)(X)
    accumulator, y = kept.get()
    with pytest.raises(LeakedTensorError, match="after that recording had ended"):
        accumulator.jvp(y)


def test_another_shape_is_another_kernel() -> None:
    f = tj.function(lambda x: np.sum(x * x))
    for size in (1, 4, 1):
        x = tj.constant(np.full(size, 3.0))
        with tj.ForwardAccumulator(x, np.ones(size)) as accumulator:
            y = f(x)
        assert accumulator.jvp(y).numpy() == 6.0 * size


def test_an_accumulator_inside_a_function_costs_nothing_that_is_not_asked_for() -> None:
    def program(x: Any) -> Any:
        with tj.ForwardAccumulator(x, V):
            y = np.sin(x)
        return y

    kernel = tj.function(program).kernel(X)
    assert ops_of(kernel.graph) == ["sin"]


# The state of an accumulator


def test_it_answers_again_and_again() -> None:
    x = tj.constant(X)
    with tj.ForwardAccumulator(x, V) as accumulator:
        y = x * x
        inside = accumulator.jvp(y)
    for found in (inside, accumulator.jvp(y), accumulator.jvp(y)):
        close(found.numpy(), 2 * X * V)


def test_it_can_be_entered_again_and_goes_on() -> None:
    x = tj.constant(X)
    accumulator = tj.ForwardAccumulator(x, V)
    close(accumulator.jvp(x).numpy(), V)
    with accumulator:
        y = x * x
    lost = y * x
    with accumulator:
        z = y * x
    close(accumulator.jvp(z).numpy(), 3 * X**2 * V)
    assert accumulator.jvp(lost) is None


def test_it_cannot_be_entered_while_it_is_active() -> None:
    x = tj.constant(X)
    accumulator = tj.ForwardAccumulator(x, V)
    with accumulator, pytest.raises(TapeStateError), accumulator:
        pass
    with accumulator:
        y = x * x
    close(accumulator.jvp(y).numpy(), 2 * X * V)


def test_an_error_in_the_block_ends_it() -> None:
    x = tj.constant(X)
    accumulator = tj.ForwardAccumulator(x, V)
    with pytest.raises(KeyError, match="stop"), accumulator:
        y = x * x
        raise KeyError("stop")
    close(accumulator.jvp(y).numpy(), 2 * X * V)
    assert accumulator.jvp(x * 2.0) is None


def test_threads_have_accumulators_of_their_own() -> None:
    x = tj.constant(X)
    found: dict[int, Any] = {}
    elsewhere: list[Any] = []
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait()
        with tj.ForwardAccumulator(x, number * V) as accumulator:
            for _ in range(50):
                y = np.sum(x * x)
            found[number] = accumulator.jvp(y).numpy()
            if number:
                assert accumulator.jvp(elsewhere[0]) is None

    with tj.ForwardAccumulator(x, V) as accumulator:
        work_here = threading.Thread(target=lambda: elsewhere.append(x * 2.0))
        work_here.start()
        work_here.join()
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert accumulator.jvp(elsewhere[0]) is None
    assert found.keys() == set(range(4))
    for number, one in found.items():
        np.testing.assert_allclose(one, number * np.sum(2 * X * V), rtol=1e-13)


def test_a_tangent_shares_no_memory_and_may_change_afterwards() -> None:
    x, dot = tj.constant(X), V.copy()
    accumulator = tj.ForwardAccumulator(x, dot)
    dot[:] = 99.0
    with accumulator:
        y = x * x
    first = accumulator.jvp(x)
    dot[:] = -99.0
    close(first.numpy(), V)
    close(accumulator.jvp(y).numpy(), 2 * X * V)
    close(accumulator.jvp(x).numpy(), V)


def test_a_variable_as_tangent_has_the_value_of_the_beginning() -> None:
    x, dot = tj.constant(X), tj.Variable(V)
    accumulator = tj.ForwardAccumulator(x, dot)
    dot.assign(X)
    with accumulator:
        y = x * x
    close(accumulator.jvp(y).numpy(), 2 * X * V)


# Errors


@pytest.mark.parametrize(
    ("dots", "problem"),
    [
        (lambda: np.ones(4), r"a tangent has shape \(4,\), its primal \(3,\)"),
        (lambda: np.ones((1, 3)), r"a tangent has shape \(1, 3\), its primal \(3,\)"),
        (lambda: 1.0, r"a tangent has shape \(\), its primal \(3,\)"),
        (lambda: np.ones(3, np.float32), "a tangent has dtype float32, its primal float64"),
        (lambda: np.ones(3, complex), "a tangent has dtype complex128, its primal float64"),
        (lambda: tj.constant(np.ones(3, int)), "a tangent has dtype int64, its primal float64"),
        (lambda: [np.ones(3)], "primals and tangents differ in their structure"),
        (lambda: "text", "a tangent is a str"),
        (lambda: None, "a tangent is a NoneType"),
    ],
)
def test_a_tangent_fits_its_primal(dots: Any, problem: str) -> None:
    with pytest.raises(SeedError, match=f"^ForwardAccumulator: {problem}") as caught:
        tj.ForwardAccumulator(tj.constant(X), dots())
    assert isinstance(caught.value, ValueError)
    assert "tj.ForwardAccumulator(tj.constant(X), dots())" in str(caught.value)


def test_a_primal_is_given_once() -> None:
    x, v = tj.constant(X), tj.Variable(X)
    for primal in (x, v):
        with pytest.raises(ValueError, match="the same primal was given more than once"):
            tj.ForwardAccumulator([primal, primal], [V, V])


@pytest.mark.parametrize("primal", [X, 3.0, None, "text"])
def test_a_primal_is_a_tensor_or_variable(primal: Any) -> None:
    with pytest.raises(TapeArgumentError, match="primals must hold Tensors or Variables"):
        tj.ForwardAccumulator(primal, V)


@pytest.mark.parametrize("asked", [X, 3.0, None, "text", [X]])
def test_what_is_asked_about_is_a_tensor(asked: Any) -> None:
    accumulator = tj.ForwardAccumulator(tj.constant(X), V)
    with pytest.raises(TapeArgumentError, match="jvp: primals must hold Tensors or Variables"):
        accumulator.jvp(asked)


def test_an_unknown_word_for_what_is_unconnected() -> None:
    x = tj.constant(X)
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'bad'"):
        tj.ForwardAccumulator(x, V).jvp(x, unconnected_gradients="bad")


def test_an_operation_without_a_rule_is_a_lookup_error_where_it_is_asked_for() -> None:
    opaque = tj.primitive(lambda x: x * 2.0)
    error = refused(lambda x: opaque(x), X)
    assert type(error) is NoGradientError
    assert "no gradient is known for lambda_" in str(error)
    assert "error = refused(lambda x: opaque(x), X)" in str(error)
    found = moved(lambda x: [tj.stop_gradient(opaque(x)), opaque(tj.stop_gradient(x)), x], X)
    assert found[:2] == [None, None]
    x = tj.constant(X)
    with tj.ForwardAccumulator(x, V) as accumulator:
        opaque(x)
        y = x * 2.0
    close(accumulator.jvp(y).numpy(), 2.0 * V)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_a_primal_is_not_what_computes_the_same(mode: str) -> None:
    def program(x: Any) -> Any:
        primal, other = np.zeros_like(x), np.zeros_like(x)
        with tj.ForwardAccumulator(primal, V) as accumulator:
            y = primal * x + other
        return accumulator.jvp(y)

    found = program(tj.constant(X)).numpy() if mode == "eager" else tj.function(program)(X)
    np.testing.assert_array_equal(found, V * X)


@pytest.mark.parametrize("start", [2.0, np.float64(2.0), np.array(2.0)])
@pytest.mark.parametrize("direction", [1.0, np.float64(1.0), np.array(1.0), tj.constant(1.0)])
def test_a_number_that_moves_and_is_assigned_in_a_function(start: Any, direction: Any) -> None:
    def program(x: Any) -> Any:
        before = x * v
        v.assign(x * 2.0)
        return before * v

    for f in (program, tj.function(program)):
        v = tj.Variable(start)
        with tj.ForwardAccumulator(v, direction) as acc:
            y = f(tj.constant(3.0))
        found = [float(acc.jvp(one)) for one in (y, v)]
        assert found == [24.0, 1.0]
