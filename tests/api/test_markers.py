"""The four markers inside compiled functions and gradients."""

from __future__ import annotations

import functools
import inspect
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same, close
from tracejit.support.errors import ArgumentError, RuleError, RuleTypeError, ValueNeededError

X = np.array([1.0, -2.0, 0.5])
Y = np.array([3.0, 0.25, -1.0])
ONE = np.ones(3)


class Pair(NamedTuple):
    x: Any
    y: Any


@dataclass
class Weights:
    w: Any
    b: Any


exactly = partial(tj.function, exact=True)


def slopes(f: Callable[..., Any], *args: Any) -> Any:
    """The gradients of sum(f(*args)) by all arguments; of a second call, too, and of the inlined
    one, all the same."""
    argnums = tuple(range(len(args)))

    def total(*xs: Any) -> Any:
        return np.sum(f(*xs))

    slope = tj.grad(total, argnums)
    found = slope(*args)
    assert_same(slope(*args), found)
    inlined = tj.function(lambda *xs: tj.grad(total, argnums)(*xs))(*args)
    assert_same(inlined, found)
    return found if len(args) > 1 else found[0]


# What the documentation shows


@tj.custom_gradient
def log1pexp(x: Any) -> Any:
    e = np.exp(x)

    def grad(upstream: Any) -> Any:
        return upstream * (1 - 1 / (1 + e))

    return np.log(1 + e), grad


def test_log1pexp_has_a_gradient_where_the_formula_has_none() -> None:
    slope = tj.grad(lambda x: log1pexp(x))
    plain = tj.grad(lambda x: np.log(1 + np.exp(x)))
    with np.errstate(over="ignore", invalid="ignore"):
        assert slope(100.0) == 1.0
        assert slope(1000.0) == 1.0
        assert np.isnan(plain(1000.0))
    close(slope(0.3), np.float64(1 / (1 + np.exp(-0.3))))
    assert tj.function(log1pexp)(2.0) == np.log(1 + np.exp(2.0))


@tj.custom_gradient
def bar(x: Any, y: Any) -> Any:
    def grad(upstream: Any) -> Any:
        dz_dx = y
        dz_dy = x
        return upstream * dz_dx, upstream * dz_dy

    return x * y, grad


def test_a_rule_of_two_inputs_answers_in_the_order_of_the_parameters() -> None:
    assert_same(slopes(bar, X, Y), (Y, X))

    @tj.custom_gradient
    def backwards(w: Any, b: Any, a: Any) -> Any:
        return w + b + a, lambda g: (g * 1.0, g * 2.0, g * 3.0)

    assert_same(slopes(backwards, X, Y, X), (ONE, 2 * ONE, 3 * ONE))
    assert_same(slopes(lambda x, y, z: backwards(a=z, b=y, w=x), X, Y, X), (ONE, 2 * ONE, 3 * ONE))


def test_a_stable_softmax_with_a_stopped_maximum() -> None:
    def softmax(x: Any) -> Any:
        e = np.exp(x - tj.stop_gradient(np.max(x)))
        return e / np.sum(e)

    x = np.array([1000.0, 1001.0, 999.0])
    p = softmax(x)
    assert_same(tj.function(softmax)(x), p)
    found = tj.grad(lambda x: softmax(x)[1])(x)
    np.testing.assert_allclose(found, p * (np.arange(3) == 1) - p * p[1], rtol=1e-13)


def test_straight_through_rounding() -> None:
    def loss(x: Any) -> Any:
        q = tj.grad_pass_through(np.rint)(x * 4.0) / 4.0
        return np.sum(q * q)

    value, slope = tj.value_and_grad(loss)(X + 0.1)
    assert_same(value, loss(X + 0.1))
    close(slope, 2 * np.rint((X + 0.1) * 4.0) / 4.0)


def test_gradients_that_are_clipped_and_scaled() -> None:
    @tj.custom_gradient
    def clip_gradient(x: Any, low: Any, high: Any) -> Any:
        return x, lambda g: (np.clip(g, low, high), None, None)

    found = tj.grad(lambda x: np.sum(clip_gradient(x, -0.5, 0.5) ** 2))(X)
    assert_same(found, np.clip(2 * X, -0.5, 0.5))


def test_the_fused_pattern_gives_first_and_second_order() -> None:
    @tj.custom_gradient
    def cube(x: Any) -> Any:
        @tj.custom_gradient
        def backward(g: Any, x: Any) -> Any:
            def second(gg: Any) -> Any:
                return gg * 3.0 * x**2, gg * g * 600.0 * x  # 100 times the truth: it must be used

            return g * 3.0 * x**2, second

        return x**3, lambda g: backward(g, x)

    first = tj.grad(lambda x: np.sum(cube(x)))
    close(first(X), 3.0 * X**2)
    close(tj.grad(lambda x: np.sum(first(x)))(X), 600.0 * X)


# What a rule sees, and what becomes of its answers


def test_the_same_tensor_passed_twice_is_two_inputs() -> None:
    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return x * y, lambda g: (g * 2.0, g * 5.0)

    assert_same(slopes(lambda x: f(x, x), X), 7.0 * ONE)
    assert_same(slopes(lambda x: bar(x, x), X), 2.0 * X)


def test_an_input_returned_as_an_output() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x, lambda g: g * 3.0

    @tj.custom_gradient
    def both(x: Any, y: Any) -> Any:
        return (y, x), lambda dy, dx: (dx * 2.0, dy * 5.0)

    assert_same(slopes(lambda x: f(x) * x, X), 3.0 * X + X)
    assert_same(slopes(lambda x: f(f(x)), X), 9.0 * ONE)
    assert_same(
        slopes(lambda x, y: both(x, y)[0] * 1.0 + both(x, y)[1], X, Y), (2.0 * ONE, 5.0 * ONE)
    )


def test_an_output_that_depends_on_no_input() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return np.ones(3), lambda g: g * 4.0

    @tj.custom_gradient
    def number(x: Any) -> Any:
        return 2.0, lambda g: g * np.ones_like(x)

    assert_same(tj.function(f)(X), np.ones(3))
    assert_same(slopes(lambda x: f(x) * 2.0, X), 8.0 * ONE)
    assert_same(slopes(lambda x: number(x) * 5.0, X), 5.0 * ONE)


@pytest.mark.parametrize("answer", [None, (), []], ids=repr)
def test_no_inputs(answer: Any) -> None:
    @tj.custom_gradient
    def constant() -> Any:
        return np.ones(3), lambda g: answer

    assert_same(slopes(lambda x: x * constant(), X), ONE)


def test_unused_outputs_bring_zeros() -> None:
    seen: list[Any] = []

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(da: Any, db: Any, dc: Any) -> Any:
            seen.append((da.shape, db.shape, dc.shape))
            return da + 10.0 * db + 100.0 * np.sum(dc)

        return (x * 1.0, x * 2.0, np.sum(x)), grad

    found = tj.grad(lambda x: np.sum(f(x)[1]))(X)
    assert_same(found, 10.0 * ONE)
    assert seen == [((3,), (3,), ())]


def test_integer_and_boolean_outputs_bring_none() -> None:
    seen: list[Any] = []

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(*gs: Any) -> Any:
            seen.append([g is None for g in gs])
            return gs[0] * 2.0

        return (x * 1.0, np.argmax(x), x > 0, None, "text"), grad

    value, index, mask, none, text = tj.function(f)(X)
    assert_same((value, index, mask), (X * 1.0, np.argmax(X), X > 0))
    assert (none, text) == (None, "text")
    assert_same(tj.grad(lambda x: np.sum(f(x)[0] * f(x)[2]))(X), 2.0 * (X > 0))
    assert seen[0] == [False, True, True]


def test_none_for_one_input() -> None:
    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return x * y, lambda g: (None, g * 3.0)

    assert_same(slopes(f, X, Y), (0.0 * ONE, 3.0 * ONE))


def test_integer_inputs_get_nothing_whatever_the_rule_says() -> None:
    @tj.custom_gradient
    def take(x: Any, index: Any) -> Any:
        return x[index], lambda g: (np.ones_like(x) * g, g * 7.0)

    slope = tj.grad(lambda x, index: take(x, index))
    assert_same(slope(X, np.int64(1)), ONE)
    assert_same(slope(X, np.array(2)), ONE)


def test_a_number_is_broadcast_to_the_input() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return np.sum(x), lambda g: 2.5

    assert_same(slopes(f, X), 2.5 * ONE)
    assert_same(slopes(f, X.astype("f4")), np.full(3, 2.5, "f4"))
    assert_same(slopes(f, np.array(1.0)), np.array(2.5))


def test_a_gradient_of_another_precision_is_cast() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 2.0, lambda g: g.astype("f8") * np.float64(0.1)

    assert_same(slopes(f, X.astype("f4")), np.full(3, np.float32(np.float64(0.1))))


def test_plain_arrays_are_inputs_too() -> None:
    @tj.custom_gradient
    def f(x: Any, table: Any) -> Any:
        return x * table, lambda g: (g * 2.0, g * 3.0)

    assert_same(slopes(lambda x: f(x, Y), X), 2.0 * ONE)
    assert_same(slopes(lambda x: f(Y, x), X), 3.0 * ONE)


@pytest.mark.parametrize("container", [tuple, list])
def test_rules_may_answer_with_any_sequence(container: Any) -> None:
    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return x + y, lambda g: container([g * 2.0, g * 3.0])

    assert_same(slopes(f, X, Y), (2.0 * ONE, 3.0 * ONE))


def test_a_dict_of_gradients_by_parameter_is_matched_by_key() -> None:
    @tj.custom_gradient
    def f(y: Any, x: Any, mode: str = "m") -> Any:
        return x * y, lambda g: {"x": g * 2.0, "y": g * 3.0}

    @tj.custom_gradient
    def like_the_argument(y: Any, x: Any) -> Any:
        return y["x"] * y["y"] * x, lambda g: ({"y": g * 3.0, "x": g * 2.0}, None)

    @tj.custom_gradient
    def short(y: Any, x: Any) -> Any:
        return x * y, lambda g: {"x": g}

    assert_same(slopes(f, X, Y), (3.0 * ONE, 2.0 * ONE))
    found = tj.grad(lambda p: np.sum(like_the_argument(p, 2.0)))({"y": Y, "x": X})
    assert_same(found, {"y": 3.0 * ONE, "x": 2.0 * ONE})
    with pytest.raises(RuleError, match=r"of short returned 1 gradients for 2 inputs \(y, x\)"):
        tj.grad(lambda y: np.sum(short(y, X)))(Y)


def test_containers_in_and_out() -> None:
    @tj.custom_gradient
    def f(p: Any, q: Any, r: Any) -> Any:
        def grad(g: Any, h: Any) -> Any:
            return {"b": 2.0 * g, "a": 1.0 * g}, Pair(3.0 * h, 4.0 * h), [5.0 * g, [6.0 * h]]

        value = p["a"] * p["b"] + q.x, q.y * r[0] * r[1][0]
        return {"z": value[1], "a": value[0]}, grad

    def total(p: Any, q: Any, r: Any) -> Any:
        out = f(p, q, r)
        return np.sum(out["a"]) + 10.0 * np.sum(out["z"])

    arguments = {"b": X, "a": Y}, Pair(X, Y), [X, [Y]]
    p, q, r = tj.grad(total, (0, 1, 2))(*arguments)
    assert_same(p, {"b": 2.0 * ONE, "a": ONE})
    assert_same(q, Pair(30.0 * ONE, 40.0 * ONE))
    assert_same(r, [5.0 * ONE, [60.0 * ONE]])


def test_arguments_that_are_no_arrays_reach_the_body_untouched() -> None:
    seen: list[Any] = []

    @tj.custom_gradient
    def f(x: Any, n: Any, mode: Any = "same", flag: Any = None, *, k: Any = 2.0) -> Any:
        seen.append((n, mode, flag, k))
        return x * n * k, lambda g: g * 10.0

    assert_same(slopes(lambda x: f(x, 3), X), 10.0 * ONE)
    assert_same(slopes(lambda x: f(x, n=3, mode="m", flag=True, k=1.0), X), 10.0 * ONE)
    assert set(seen) == {(3, "same", None, 2.0), (3, "m", True, 1.0)}


def test_one_entry_for_each_argument_is_understood() -> None:
    @tj.custom_gradient
    def f(x: Any, n: Any, y: Any, mode: str) -> Any:
        return x * n * y, lambda g: (g * 2.0, None, g * 3.0, None)

    class Model:
        @tj.custom_gradient
        def scaled(self, x: Any, n: Any) -> Any:
            return x * n, lambda g: (g * 5.0, None)

    assert_same(slopes(lambda x, y: f(x, 4, y, "m"), X, Y), (2.0 * ONE, 3.0 * ONE))
    assert_same(slopes(lambda x: Model().scaled(x, 4), X), 5.0 * ONE)


def test_a_schedule_passed_to_a_custom_gradient() -> None:
    """The number is static at first and dynamic later; it counts for no input either way."""

    @tj.custom_gradient
    def scale(x: Any, rate: Any) -> Any:
        return x * rate, lambda g: g * rate * 10.0

    slope = tj.grad(lambda x, rate: np.sum(scale(x, rate)))
    for rate in (0.5, 1.5, 2.5):
        assert_same(slope(X, rate), np.full(3, rate * 10.0))
    assert len(slope.kernels) == 2


def test_variables_asked_for_are_none_at_all() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(g: Any, variables: Any) -> Any:
            assert variables == []
            return g * 2.0, []

        return x * 1.0, grad

    @tj.custom_gradient
    def optional(x: Any) -> Any:
        return x * 1.0, lambda g, variables=None: g * (2.0 if variables is None else 0.0)

    assert_same(slopes(f, X), 2.0 * ONE)
    assert_same(slopes(optional, X), 2.0 * ONE)


def test_nothing_flows_through_what_a_rule_closes_over() -> None:
    def total(x: Any, y: Any) -> Any:
        @tj.custom_gradient
        def f(x: Any) -> Any:
            return x * y, lambda g: g * y

        return np.sum(f(x))

    found = tj.grad(total, (0, 1))(X, Y)
    assert_same(found, (Y, 0.0 * ONE))


def test_the_body_is_never_differentiated() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        plain = not isinstance(x, tj.Tensor)
        return np.packbits(x > 0) * 1.0 if plain else np.floor(np.exp(x)), lambda g: g * 3.0

    assert_same(slopes(f, X), 3.0 * ONE)


def test_a_rule_is_called_once_for_each_gradient_and_never_without() -> None:
    calls = []

    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        def grad(g: Any) -> Any:
            calls.append(1)
            return g * y, g * x

        return x * y, grad

    def total(x: Any, y: Any, z: Any) -> Any:
        return np.sum(f(x, y)) + np.sum(z)

    compiled = tj.function(total)
    compiled(X, Y, X)
    assert not calls
    tj.grad(compiled, 2)(X, Y, X)
    assert not calls, "nobody asked for its inputs"
    slope = tj.grad(compiled, (0, 1))
    slope(X, Y, X)
    slope(X, Y, X)
    assert len(calls) == slope.tracing_count


def test_a_custom_gradient_in_a_loop() -> None:
    @tj.custom_gradient
    def f(x: Any, k: Any) -> Any:
        return x * k, lambda g: g * (k + 1.0)

    def total(x: Any) -> Any:
        for k in range(4):
            x = f(x, float(k + 1))
        return x

    assert_same(slopes(total, X), 2.0 * 3.0 * 4.0 * 5.0 * ONE)


def test_custom_gradients_in_custom_gradients() -> None:
    @tj.custom_gradient
    def inner(x: Any) -> Any:
        return x * 2.0, lambda g: g * 100.0

    @tj.custom_gradient
    def outer(x: Any) -> Any:
        y = inner(x)
        return y * 3.0, lambda g: inner(g) + 0.0 * y

    assert_same(slopes(outer, X), 2.0 * ONE)
    assert_same(slopes(lambda x: inner(inner(x)), X), 10_000.0 * ONE)
    second = tj.grad(lambda x: np.sum(tj.grad(lambda z: np.sum(outer(z) * z))(x)))
    # d/dz sum(outer(z) z) = inner(z) + 6 z, whose own gradient is 100 + ... by the rules.
    found = second(X)
    # grad = inner(g) with g = z, plus outer(z): rules give 100 and inner(1) = 2.
    assert_same(found, 102.0 * ONE)


def test_second_order_differentiates_the_rule() -> None:
    @tj.custom_gradient
    def square(x: Any) -> Any:
        return x * x, lambda g: g * 2.0 * x * np.sin(x)

    second = tj.grad(lambda x: np.sum(tj.grad(lambda z: np.sum(square(z)))(x)))
    close(second(X), 2.0 * np.sin(X) + 2.0 * X * np.cos(X))
    third = tj.grad(lambda x: np.sum(second(x)))
    close(third(X), 4.0 * np.cos(X) - 2.0 * X * np.sin(X))


def test_forward_values_in_a_rule_carry_their_own_derivatives() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        e = np.exp(x)
        return np.log(1 + e), lambda g: g * (1 - 1 / (1 + e))

    second = tj.grad(lambda x: tj.grad(lambda z: f(z))(x))
    s = 1 / (1 + np.exp(-0.3))
    close(second(0.3), np.float64(s * (1 - s)))


def test_complex_cotangents_come_as_gradients_do() -> None:
    """dL = Re(conj(grad) dz), for the rule's cotangent and answer as for the user's gradient."""
    z = np.array([1 + 2j, -0.5j])

    @tj.custom_gradient
    def times(z: Any) -> Any:
        return z * (2 + 3j), lambda g: g * np.conj(2 + 3j)

    @tj.custom_gradient
    def real(z: Any) -> Any:
        return np.real(z) * 1.0, lambda g: g + 0j

    def total(f: Any) -> Any:
        return lambda z: np.sum(np.abs(f(z)) ** 2)

    assert_same(tj.grad(total(times))(z), tj.grad(total(lambda z: z * (2 + 3j)))(z))
    close(tj.grad(total(times))(z), 2 * z * abs(2 + 3j) ** 2)
    close(tj.grad(lambda z: np.sum(real(z) ** 2))(z), 2 * z.real + 0j)


# Mistakes in rules


def mistaken(answer: Callable[[Any], Any]) -> Callable[..., Any]:
    @tj.custom_gradient
    def clumsy(x: Any, y: Any) -> Any:
        return x * y, answer

    return lambda x, y: np.sum(clumsy(x, y))


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda g: g, RuleError, r"of clumsy returned 1 gradients for 2 inputs \(x, y\)"),
        (lambda g: (g, g, g), RuleError, r"of clumsy returned 3 gradients for 2 inputs \(x, y\)"),
        (lambda g: None, RuleError, r"of clumsy returned \d gradients for 2 inputs \(x, y\)"),
        (
            lambda g: (g, g[0]),
            RuleError,
            r"of clumsy returned shape \(\) for y, which has .*\(3,\)",
        ),
        (lambda g: (g[None], g), RuleError, r"returned shape \(1, 3\) for x"),
        (lambda g: (np.sum(g), g), RuleError, r"returned shape \(\) for x"),
        (lambda g: (g, "text"), RuleTypeError, r"of clumsy returned a str for y, which is float64"),
        (lambda g: (g * 1j, g), RuleTypeError, r"returned a complex gradient c16\[3\] for x"),
        (lambda g: (1j, g), RuleTypeError, r"returned a complex gradient"),
        (lambda g: (object(), g), RuleTypeError, r"returned a object for x|returned an object"),
    ],
)
def test_a_mistake_in_a_rule_names_function_argument_and_line(
    answer: Any, error: Any, message: str
) -> None:
    f = mistaken(answer)
    assert_same(tj.function(f)(X, Y), np.sum(X * Y))
    slope = tj.grad(f, (0, 1))
    for _ in range(2):
        with pytest.raises(error, match=message) as caught:
            slope(X, Y)
        assert "return lambda x, y: np.sum(clumsy(x, y))" in str(caught.value)
        assert isinstance(caught.value, (ValueError, TypeError))


@pytest.mark.parametrize(
    "answer",
    [
        lambda g: g * 2.0,
        lambda g: 2.0,
        lambda g: None,
        lambda g: (g * 2.0,),
        lambda g: [g, [], []],
    ],
)
def test_a_rule_that_takes_variables_must_return_a_pair(answer: Any) -> None:
    @tj.custom_gradient
    def unpaired(x: Any) -> Any:
        def grad(g: Any, variables: Any) -> Any:
            return answer(g)

        return x * 1.0, grad

    with pytest.raises(RuleTypeError, match=r"unpaired takes variables and must return") as caught:
        tj.grad(lambda x: np.sum(unpaired(x)))(X)
    assert "np.sum(unpaired(x))" in str(caught.value)


@pytest.mark.parametrize("answer", [X, (X, 1), (X,), [X, lambda g: g], None], ids=type)
def test_a_custom_gradient_must_return_a_value_and_a_rule(answer: Any) -> None:
    @tj.custom_gradient
    def lonely(x: Any) -> Any:
        return answer

    for call in (lonely, tj.function(lambda x: lonely(x))):
        with pytest.raises(TypeError, match=r"lonely is a custom gradient and must return"):
            call(X)


def test_an_error_in_a_rule_is_the_users() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(g: Any) -> Any:
            raise KeyError("in the rule")

        return x * 2.0, grad

    slope = tj.grad(lambda x: np.sum(f(x)))
    for _ in range(2):
        with pytest.raises(KeyError, match="in the rule"):
            slope(X)
    assert_same(tj.function(f)(X), X * 2.0)


def test_what_cannot_be_recorded_in_a_rule_is_shown_at_its_line() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(g: Any) -> Any:
            return g * hash(x[0])

        return x * 2.0, grad

    with pytest.raises(ValueNeededError, match=r"return g \* hash\(x\[0\]\)"):
        tj.grad(lambda x: np.sum(f(x)))(X)


def test_functions_and_rules_in_markers_are_converted() -> None:
    @tj.custom_gradient
    def softplus(x: Any) -> Any:
        e = math.exp(x)
        return math.log(1 + e), lambda g: np.asarray(g) * (e / (1 + e))

    @tj.recompute_grad
    def pair(x: Any) -> Any:
        return np.array([x[0] * x[1], float(x[0])])

    through = tj.grad_pass_through(lambda v: float(np.round(v)))
    numbers = np.array([0.1, 0.2])
    found = tj.grad(lambda x: softplus(float(np.sum(x))) + softplus(x[0].item()))(numbers)
    slope = tj.grad(lambda x: np.log(1 + np.exp(np.sum(x))) + np.log(1 + np.exp(x[0])))
    close(found, slope(numbers))
    found = tj.grad(lambda x: np.sum(np.sin(pair(x))))(numbers)
    close(found, tj.grad(lambda x: np.sin(x[0] * x[1]) + np.sin(x[0]))(numbers))
    assert tj.grad(lambda x: through(x) * x)(1.3) == 1.0 + 1.3
    assert_same(tj.grad(lambda x: through(float(np.sum(x))) * 3.0)(numbers), np.full(2, 3.0))
    assert tj.grad(lambda x: tj.stop_gradient(float(x)) * x)(1.3) == 2 * 1.3 - 1.3


def test_numbers_that_are_not_differentiated_by_are_no_inputs_of_a_rule() -> None:
    @tj.custom_gradient
    def scaled(x: Any, k: Any) -> Any:
        return x * k, lambda g: g * k

    slope = tj.grad(scaled)
    assert [slope(0.3, k) for k in (2.0, 3.0, 4.0)] == [2.0, 3.0, 4.0]


def test_a_rule_may_call_compiled_functions_and_gradients() -> None:
    slope = tj.grad(lambda z, g: np.sum(np.sin(z) * g))
    scaled = tj.function(lambda g, x: g * np.cos(x))

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return np.sin(x), lambda g: 0.5 * scaled(g, x) + 0.5 * slope(x, g)

    close(slopes(f, X), np.cos(X))
    close(tj.grad(lambda x: np.sum(tj.grad(lambda z: np.sum(f(z)))(x)))(X), -np.sin(X))


def test_a_rule_of_too_few_parameters_is_a_type_error() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return (x * 2.0, x * 3.0), lambda g: g

    with pytest.raises(TypeError):
        tj.grad(lambda x: np.sum(f(x)[0]))(X)


@pytest.mark.parametrize(
    "decorator", [tj.custom_gradient, tj.grad_pass_through, tj.recompute_grad, tj.grad, tj.function]
)
def test_what_is_no_function_is_refused(decorator: Any) -> None:
    with pytest.raises(ArgumentError, match="needs a function, got int"):
        decorator(3)


# Whatever can be called


def doubled(x: Any, k: Any = 1.0) -> Any:
    """Twice x, with a gradient of seven."""
    return x * 2.0 * k, lambda g: g * 7.0


class Model:
    k = 2.0

    @tj.custom_gradient
    def method(self, x: Any) -> Any:
        return x * self.k, lambda g: g * 7.0

    @staticmethod
    @tj.custom_gradient
    def static(x: Any) -> Any:
        return x * 2.0, lambda g: g * 7.0

    @classmethod
    @tj.custom_gradient
    def of_class(cls, x: Any) -> Any:
        return x * cls.k, lambda g: g * 7.0

    @tj.custom_gradient
    def __call__(self, x: Any) -> Any:
        return x * self.k, lambda g: g * 7.0


class Rule:
    def __call__(self, x: Any) -> Any:
        return doubled(x)


FORMS: dict[str, Any] = {
    "function": tj.custom_gradient(doubled),
    "called": tj.custom_gradient()(doubled),
    "lambda": tj.custom_gradient(lambda x: doubled(x)),
    "partial": tj.custom_gradient(functools.partial(doubled, k=1.0)),
    "object": tj.custom_gradient(Rule()),
    "bound": tj.custom_gradient(Rule().__call__),
    "method": Model().method,
    "unbound": functools.partial(Model.method, Model()),
    "static": Model.static,
    "of a class": Model.of_class,
    "of its instance": Model().of_class,
    "__call__": Model(),
    "over function": tj.custom_gradient(tj.function(doubled).python),
    "under function": tj.function(tj.custom_gradient(doubled)),
}


@pytest.mark.parametrize("name", FORMS)
def test_whatever_can_be_called_can_have_a_gradient(name: str) -> None:
    f = FORMS[name]
    assert_same(f(X), X * 2.0)
    assert_same(tj.function(lambda x: f(x))(X), X * 2.0)
    assert_same(slopes(lambda x: f(x), X), 7.0 * ONE)


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
@pytest.mark.parametrize(
    "marker", [tj.custom_gradient, tj.grad_pass_through, tj.recompute_grad, tj.function]
)
def test_a_static_or_class_method_may_be_marked_from_outside(marker: Any, kind: Any) -> None:
    def body(x: Any) -> Any:
        value = np.rint(x) if marker is tj.grad_pass_through else x * 2.0
        return (value, lambda g: g * 7.0) if marker is tj.custom_gradient else value

    class Marked:
        method = marker(kind(body if kind is staticmethod else lambda cls, x: body(x)))

    expected = np.rint(X) if marker is tj.grad_pass_through else X * 2.0
    slope = {tj.custom_gradient: 7.0, tj.grad_pass_through: 1.0}.get(marker, 2.0)
    assert type(Marked.__dict__["method"]) is kind
    for holder in (Marked, Marked()):
        assert_same(holder.method(X), expected)
        assert_same(slopes(lambda x, holder=holder: holder.method(x), X), slope * ONE)


@pytest.mark.parametrize("marker", [tj.custom_gradient, tj.recompute_grad, tj.grad_pass_through])
def test_a_marked_function_looks_like_the_one_it_wraps(marker: Any) -> None:
    marked = marker(doubled)
    assert marked.__name__ == "doubled"
    assert marked.__doc__ == "Twice x, with a gradient of seven."
    assert marked.__wrapped__ is doubled
    assert list(inspect.signature(marked).parameters) == ["x", "k"]


def test_without_a_recording_a_marked_function_is_itself() -> None:
    assert_same(bar(X, Y), X * Y)
    assert_same(tj.recompute_grad(np.tanh)(X), np.tanh(X))
    assert_same(tj.grad_pass_through(np.rint)(X), np.rint(X))
    assert tj.stop_gradient(X) is X
    assert tj.stop_gradient({"a": [1, "s"]}) == {"a": [1, "s"]}


# stop_gradient


def test_nothing_flows_through_stop_gradient_at_any_order() -> None:
    assert_same(slopes(lambda x: tj.stop_gradient(x) * x, X), X)
    assert_same(slopes(lambda x: np.exp(tj.stop_gradient(x)), X), 0.0 * ONE)
    second = tj.grad(lambda x: np.sum(tj.grad(lambda z: np.sum(z**3 * tj.stop_gradient(z)))(x)))
    close(second(X), 6.0 * X * X)
    # Stopped inside the inner gradient only: the outer sees it.
    inner = tj.grad(lambda z: np.sum(z * tj.stop_gradient(z)))
    assert_same(tj.grad(lambda x: np.sum(inner(x)))(X), 0.0 * ONE)


def test_stop_gradient_takes_containers_and_any_dtype() -> None:
    values = {"a": X, "b": [X.astype("f4"), np.arange(3)], "c": (True, "text", None, 2.0, X > 0)}

    def f(p: Any) -> Any:
        return tj.stop_gradient(p)

    found = tj.function(f)(values)
    assert_same(found, values)
    slope = tj.grad(lambda p: np.sum(tj.stop_gradient(p)["x"] * p["x"]) + np.sum(p["y"]))
    assert_same(slope({"x": X, "y": Y}), {"x": X, "y": ONE})


def test_stopped_values_meet_complex_ones() -> None:
    z = np.array([1 + 2j])
    close(tj.grad(lambda z: np.sum(np.real(tj.stop_gradient(z) * z)))(z), np.conj(z))


# grad_pass_through


def test_each_result_passes_its_gradient_to_its_argument() -> None:
    def swap(x: Any, y: Any) -> Any:
        return np.floor(y), np.sign(x)

    def f(x: Any, y: Any) -> Any:
        a, b = tj.grad_pass_through(swap)(x, y)
        return a * 2.0 + b * 5.0

    assert_same(tj.function(f)(X, Y), np.floor(Y) * 2.0 + np.sign(X) * 5.0)
    assert_same(slopes(f, X, Y), (2.0 * ONE, 5.0 * ONE))


def test_pass_through_takes_containers_and_numbers() -> None:
    def rounded(p: Any, digits: Any = 0) -> Any:
        return {name: np.round(value * 10.0**digits) for name, value in p.items()}

    def f(x: Any, y: Any) -> Any:
        out = tj.grad_pass_through(rounded)({"b": x, "a": y}, 1)
        return out["b"] * 3.0 + out["a"] * 4.0

    assert_same(slopes(f, X, Y), (3.0 * ONE, 4.0 * ONE))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y: x, "1 results for 2 array arguments"),
        (lambda x, y: (x, y, y), "3 results for 2 array arguments"),
        (lambda x, y: (x, y[:2]), r"result 1 has shape \(2,\), its argument \(3,\)"),
        (lambda x, y: (np.sum(x), y), r"result 0 has shape \(\), its argument \(3,\)"),
        (lambda x, y: None, "results for 2 array arguments"),
    ],
)
def test_results_that_do_not_match_are_refused_at_the_call(function: Any, message: str) -> None:
    marked = tj.grad_pass_through(function)
    with pytest.raises(ValueError, match=message) as caught:
        tj.function(lambda x, y: marked(x, y))(X, Y)
    assert "marked(x, y)" in str(caught.value)


def test_python_numbers_in_what_is_passed_through_count_for_nothing() -> None:
    def f(x: Any, digits: Any) -> Any:
        return np.round(x, digits), 2.5, "text"

    def total(x: Any) -> Any:
        rounded, number, text = tj.grad_pass_through(f)(x, 1)
        assert text == "text"
        return rounded * number

    assert_same(slopes(total, X.astype("f4")), np.full(3, 2.5, "f4"))


def test_pass_through_of_closures_alone_has_nowhere_to_go() -> None:
    with pytest.raises(RuleError, match="1 results for 0 array arguments"):
        tj.grad(lambda x: np.sum(tj.grad_pass_through(lambda: np.rint(x))()))(X)


def test_what_has_no_gradient_is_passed_through() -> None:
    def f(x: Any) -> Any:
        return tj.grad_pass_through(lambda x: np.where(x > 0, 1.0, 0.0))(x) * Y

    assert_same(slopes(f, X), Y)
    second = tj.grad(lambda x: np.sum(tj.grad(lambda z: np.sum(f(z) ** 2))(x)))
    close(second(X), 2.0 * Y * Y)


# recompute_grad


def block(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    h = np.sin(h) * np.exp(-h)
    return h * h


def chain(step: Callable[..., Any]) -> Callable[..., Any]:
    def loss(x: Any, w: Any) -> Any:
        for _ in range(3):
            x = step(x, w)
        return np.sum(x * x)

    return loss


MATRIX = np.random.default_rng(1).normal(size=(3, 3))


@pytest.mark.parametrize("size", [3, 40])
def test_recomputing_changes_no_bit(size: int) -> None:
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(size, size)), rng.normal(size=(size, size)) / size
    steps = tj.recompute_grad(block), block
    recomputed, plain = (tj.value_and_grad(exactly(chain(step)), (0, 1)) for step in steps)
    expected = plain(x, w)
    assert_same(recomputed(x, w), expected)
    kernel = recomputed.kernel(x, w)
    assert_same(kernel.backward(kernel.forward(x, w)[1]), expected[1])
    # Sums are written in the form that costs least, which depends on what else is read.
    kernels = [tj.value_and_grad(chain(step), (0, 1)).kernel(x, w) for step in steps]
    for found in kernels:
        assert_same(found.value_and_grad(x, w), expected, 1e-15)
    sizes = [len(kernel.residuals()) for kernel in kernels]
    assert sizes[0] < sizes[1]
    # The inputs of the three blocks, w and the result.
    assert sizes[0] <= 5


def test_recomputing_saves_memory() -> None:
    def long(step: Callable[..., Any]) -> Callable[..., Any]:
        def loss(x: Any, w: Any) -> Any:
            for _ in range(12):
                x = step(x, w)
            return np.sum(x * x)

        return loss

    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(100, 100)), rng.normal(size=(100, 100)) / 10.0
    peaks = []
    for step in (block, tj.recompute_grad(block)):
        both = tj.value_and_grad(long(step), (0, 1))
        both(x, w)
        tracemalloc.start()
        both(x, w)
        peaks.append(tracemalloc.get_traced_memory()[1] / x.nbytes)
        tracemalloc.stop()
    assert peaks[1] < peaks[0] / 2
    # One array kept per block, and what one block and its gradient need.
    assert peaks[1] < 12 + 16


def test_recomputed_statements_stand_in_the_backward_code() -> None:
    def calls(text: str) -> int:
        lines = text.splitlines()
        return sum(line.count("tanh(") for line in lines if not line.strip().startswith("#"))

    x = np.ones((3, 3))
    text = tj.value_and_grad(chain(tj.recompute_grad(block))).kernel(x, MATRIX).source
    forward, _, rest = text.partition("def backward")
    backward, _, both = rest.partition("def value_and_grad")
    assert (calls(forward), calls(backward), calls(both)) == (3, 3, 6)
    assert backward.count("[recomputed]") >= 3
    assert "[recomputed]" not in forward
    value = tj.function(chain(tj.recompute_grad(block))).kernel(x, MATRIX).source
    assert calls(value) == 3


def test_recomputation_nests() -> None:
    inner = tj.recompute_grad(lambda x: np.sin(x) * x)
    outer = tj.recompute_grad(lambda x: np.exp(inner(np.cos(inner(x)))))
    plain = slopes(lambda x: np.exp((lambda c: np.sin(c) * c)(np.cos(np.sin(x) * x))), X)
    assert_same(slopes(outer, X), plain)


def test_recomputation_of_second_order() -> None:
    def plain(x: Any) -> Any:
        return np.sin(x) * np.exp(x)

    def second(f: Any) -> Any:
        first = tj.grad(lambda x: np.sum(f(x) ** 2))
        return tj.grad(lambda x: np.sum(first(x) * first(x)))(X)

    close(second(tj.recompute_grad(plain)), second(plain))


def test_custom_and_stopped_gradients_inside_a_recomputed_function() -> None:
    def f(x: Any, y: Any) -> Any:
        h = bar(np.sin(x), y) + log1pexp(x) * tj.stop_gradient(np.exp(x))
        return h * tj.grad_pass_through(np.rint)(x * 2.0)

    assert_same(slopes(tj.recompute_grad(f), X, Y), slopes(f, X, Y))


def test_a_recomputed_function_keeps_closures_keywords_and_containers() -> None:
    def total(recompute: Any) -> Any:
        def loss(x: Any, y: Any) -> Any:
            @recompute
            def f(p: Any, *, scale: Any = 1.0, mode: str = "sin") -> Any:
                return {"out": getattr(np, mode)(p["a"]) * y * scale, "same": p["a"], "n": 3}

            out = f({"a": x}, scale=2.0)
            return np.sum(out["out"] * out["same"]) * out["n"]

        return tj.grad(loss, (0, 1))(X, Y)

    assert_same(total(tj.recompute_grad), total(lambda f: f))


def test_a_recomputed_function_of_closures_alone() -> None:
    def loss(recompute: Any) -> Any:
        return lambda x: np.sum(recompute(lambda: np.exp(np.sin(x)))())

    kernels = [tj.value_and_grad(loss(f)).kernel(X) for f in (tj.recompute_grad, lambda f: f)]
    assert_same(kernels[0].value_and_grad(X), kernels[1].value_and_grad(X))
    assert kernels[0].source.count("sin(") > kernels[1].source.count("sin(")


def test_what_is_recomputed_may_be_used_elsewhere() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        h = np.sin(x)
        kept.append(h)
        return np.exp(h)

    def loss(recompute: Any) -> Any:
        def total(x: Any) -> Any:
            kept.clear()
            return np.sum(recompute(f)(x) * np.sin(x) * kept[0])

        return tj.grad(total)(X)

    close(loss(tj.recompute_grad), loss(lambda f: f))


def test_a_gradient_inside_a_recomputed_function() -> None:
    def f(x: Any) -> Any:
        return tj.grad(lambda z: np.sum(np.sin(z) * z))(x) * x

    found, expected = (tj.grad(exactly(total(g)))(X) for g in (tj.recompute_grad(f), f))
    assert_same(found, expected)
    assert_same(tj.grad(total(tj.recompute_grad(f)))(X), expected, 1e-15)


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of what `f` returns."""
    return lambda *args: np.sum(f(*args))


def test_checkpoint_is_recompute_grad() -> None:
    assert tj.checkpoint is tj.recompute_grad


@pytest.mark.parametrize("finish", [np.sum, lambda y: np.sum(np.cumsum(y))])
def test_rules_hold_for_what_a_recorded_mask_selects(finish: Any) -> None:
    tenfold = tj.custom_gradient(lambda x: (2.0 * x, lambda dy: 10.0 * dy))
    primitive = tj.primitive(lambda x: 2.0 * x)
    tj.register_gradient(primitive)(lambda op, dy: 10.0 * dy)
    x = np.array([1.0, -2.0, 3.0])
    ones = tj.grad(lambda x: finish(x[x > 0.0]))(x)
    for f, factor in (
        (tenfold, 10.0),
        (primitive, 10.0),
        (tj.grad_pass_through(np.sign), 1.0),
        (tj.stop_gradient, 0.0),
    ):
        found = tj.grad(lambda x, f=f: finish(f(x[x > 0.0])))(x)
        np.testing.assert_array_equal(found, factor * ones)


def test_callbacks_take_what_a_recorded_mask_selects() -> None:
    seen: SimpleQueue[Any] = SimpleQueue()

    def total(x: Any) -> Any:
        tj.callback(seen.put, x[x > 0.0])
        return np.sum(x)

    tj.function(total)(np.array([1.0, -2.0, 3.0]))
    np.testing.assert_array_equal(seen.get_nowait(), [1.0, 3.0])
