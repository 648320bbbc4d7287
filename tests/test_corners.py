"""The corners of custom gradients: each program in every mode, with one answer."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.arrays import c
from tests.support.modes import MODES, check, constants, drained, error_everywhere, everywhere
from tracejit.support.errors import RuleError, RuleTypeError
from tracejit.trace.structure.trees import flatten, unflatten

Program = Callable[..., Any]

X = c([1.0, -2.0, 0.5])
Y = c([3.0, 0.25, -1.0])
ONE = np.ones(3)


@tj.custom_gradient
def two(x: Any, y: Any) -> Any:
    """A product whose rule tells its inputs apart."""
    return x * y, lambda g: (g * 2.0, g * 5.0)


@tj.custom_gradient
def triple(x: Any) -> Any:
    """The identity, with a rule that can be recognised."""
    return x, lambda g: g * 3.0


@tj.custom_gradient
def scaled_square(x: Any) -> Any:
    """A square with a rule ten times the truth, which can be differentiated again."""
    return x * x, lambda g: g * 20.0 * x


# The driver itself


def test_the_driver_sees_a_wrong_gradient() -> None:
    answer = everywhere(lambda x: x * x, X, order=2)
    with pytest.raises(AssertionError):
        check(answer.gradients, X)
    with pytest.raises(AssertionError):
        check(answer.orders[1], None)
    with pytest.raises(AssertionError, match="no error"):
        error_everywhere(lambda x: x * x, X)


def test_the_driver_sees_modes_that_differ() -> None:
    calls: SimpleQueue[int] = SimpleQueue()

    def drifts(x: Any) -> Any:
        calls.put(1)
        return x * float(calls.qsize())

    with pytest.raises(AssertionError, match="second call"):
        everywhere(drifts, X)


# Inputs and outputs that are the same, or none at all


@pytest.mark.parametrize(
    "f",
    [
        lambda x: two(x, x),
        lambda x: two(x, y=x),
        lambda x: two(y=x, x=x),
        lambda x: two(*[x] * 2),
    ],
)
def test_the_same_tensor_twice_is_two_inputs(f: Program) -> None:
    check(everywhere(f, X, order=2).gradients, 7.0 * ONE)


def test_the_same_tensor_twice_in_a_container() -> None:
    @tj.custom_gradient
    def f(xs: Any) -> Any:
        return xs[0] * xs[1]["k"], lambda g: [g * 2.0, {"k": g * 5.0}]

    check(everywhere(lambda x: f([x, {"k": x}]), X).gradients, 7.0 * ONE)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_an_input_returned_as_the_output(depth: int) -> None:
    def f(x: Any) -> Any:
        for _ in range(depth):
            x = triple(x)
        return x

    answer = everywhere(f, X, order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], X, 3.0**depth * ONE, None)
    answer = everywhere(lambda x: f(x) * x, X, order=2)
    check(answer.gradients, (3.0**depth + 1.0) * X)
    check(answer.orders[1], 2 * 3.0**depth * ONE)


def test_inputs_returned_in_another_order_and_twice() -> None:
    @tj.custom_gradient
    def swap(x: Any, y: Any) -> Any:
        return (y, x, y), lambda a, b, c: (b * 2.0, a * 5.0 + c * 7.0)

    def f(x: Any, y: Any) -> Any:
        a, b, again = swap(x, y)
        return a + 10.0 * b + 100.0 * again

    check(everywhere(f, X, Y).gradients, 20.0 * ONE, 705.0 * ONE)


@pytest.mark.parametrize(
    "output", [lambda: np.ones(3), lambda: 2.0, lambda: tj.constant(5.0), lambda: np.float32(1)]
)
def test_an_output_that_depends_on_no_input(output: Any) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return output(), lambda g: np.sum(g) * x

    answer = everywhere(f, X, order=2)
    scale = np.size(answer.value)
    check([*answer.gradients, *answer.orders[1]], scale * X, scale * ONE)


@pytest.mark.parametrize("answer", [None, (), [], {}], ids=repr)
def test_no_inputs(answer: Any) -> None:
    @tj.custom_gradient
    def f() -> Any:
        return np.full(3, 4.0), lambda g: answer

    check(everywhere(lambda x: f() * x, X).gradients, 4.0 * ONE)
    check(everywhere(lambda x: f(), X, grad=False).gradients, None)


def test_no_inputs_but_numbers() -> None:
    @tj.custom_gradient
    def f(n: int, mode: str = "m") -> Any:
        return np.full(3, 4.0) * n, lambda g: (None, None)

    check(everywhere(lambda x: f(2) * x, X).gradients, 8.0 * ONE)


def test_one_result_too_many_for_no_inputs() -> None:
    @tj.custom_gradient
    def f() -> Any:
        return v * 2.0, lambda g, variables: (g, [g])

    v = tj.Variable(1.0)
    error = error_everywhere(lambda x: f() * x, X, variables=[v], grad=False)
    assert type(error) is RuleError
    assert "rule of f returned 1 gradients for 0 inputs (none)" in str(error)


# Cotangents


def test_unused_outputs_bring_zeros_of_their_shapes() -> None:
    seen: SimpleQueue[Any] = SimpleQueue()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(da: Any, db: Any, dc: Any) -> Any:
            seen.put([(g.shape, g.dtype.char) for g in (da, db, dc)])
            return da + 10.0 * db + 100.0 * np.sum(dc)

        return {"b": (x * 2.0, np.sum(x).astype("f4")), "a": x * 1.0}, grad

    check(everywhere(lambda x: f(x)["a"], X).gradients, ONE)
    check(everywhere(lambda x: f(x)["b"][0], X).gradients, 10.0 * ONE)
    check(everywhere(lambda x: f(x)["b"][1], X, grad=False).gradients, 100.0 * ONE)
    kinds = [((3,), "d"), ((3,), "d"), ((), "f")]
    assert all(each == kinds for each in drained(seen))


def test_a_rule_is_not_called_where_no_output_is_used() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(g: Any) -> Any:
            raise AssertionError

        return x * 2.0, grad

    def g(x: Any, y: Any) -> Any:
        f(x)
        return y * tj.stop_gradient(f(x))

    check(everywhere(g, X, Y).gradients, None, 2.0 * X)


def test_zeros_of_unused_outputs_go_no_further() -> None:
    """A rule behind an unused output would turn its zero into NaN."""

    @tj.custom_gradient
    def infinite(x: Any) -> Any:
        return x * 1.0, lambda g: g * np.inf

    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return (x * 2.0, y * 2.0), lambda a, b: (a * 2.0, b * 2.0)

    answer = everywhere(lambda x, y: (x * 1.0, infinite(y))[0], X, Y)
    check(answer.gradients, ONE, None)
    answer = everywhere(lambda x, y: f(x, infinite(tj.stop_gradient(y)))[0], X, Y)
    check(answer.gradients, 2.0 * ONE, None)


def test_integer_boolean_and_other_outputs() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(*gs: Any) -> Any:
            assert [g is None for g in gs] == [False, True, True, True]
            return gs[0] * 2.0

        return (x * 1.0, np.argmax(x), x > 0, 7, None, "text", len), grad

    answer = everywhere(f, X, grad=False)
    value = answer.value
    check([value[0]], X)
    assert (int(value[1]), list(value[2])) == (0, [True, False, True])
    assert value[3:6] == (7, None, "text") and value[6] is len
    check(answer.gradients, 2.0 * ONE)
    answer = everywhere(lambda x: f(x)[0] * f(x)[2] * f(x)[3], X)
    check(answer.gradients, 14.0 * (X > 0))


def test_python_numbers_as_outputs_become_tensors() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return (2.5, x * 1.0), lambda a, b: a * x + b

    answer = everywhere(lambda x: f(x)[0] * 4.0, X)
    check(answer.gradients, 4.0 * X)


def test_none_for_inputs() -> None:
    @tj.custom_gradient
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * y * z, lambda g: (None, g * 3.0, None)

    @tj.custom_gradient
    def nothing(x: Any) -> Any:
        return x * 2.0, lambda g: None

    check(everywhere(f, X, Y, X + 1).gradients, None, 3.0 * ONE, None)
    check(everywhere(nothing, X, order=2).orders[1], None)
    check(everywhere(lambda x: nothing(x) * x, X).gradients, 2.0 * X)


# Mistakes


MISTAKES: list[tuple[Any, type[Exception], str]] = [
    (lambda g: g, RuleError, "f returned 1 gradients for 2 inputs (a, b)"),
    (lambda g: (g, g, g), RuleError, "f returned 3 gradients for 2 inputs (a, b)"),
    (lambda g: None, RuleError, "f returned 0 gradients for 2 inputs (a, b)"),
    (lambda g: (g, np.sum(g)), RuleError, "f returned shape () for b, which has shape (3,)"),
    (lambda g: (g[:, None], g), RuleError, "f returned shape (3, 1) for a, which has shape (3,)"),
    (lambda g: (g[:1], None), RuleError, "f returned shape (1,) for a, which has shape (3,)"),
    (lambda g: (g, g * 1j), RuleTypeError, "f returned a complex gradient c16[3] for b"),
    (lambda g: (g, 1j), RuleTypeError, "f returned a complex gradient"),
    (lambda g: ("text", g), RuleTypeError, "f returned a str for a, which is float64"),
    (lambda g: (g, len), RuleTypeError, "f returned a builtin_function_or_method for b"),
]


@pytest.mark.parametrize(("rule", "kind", "text"), MISTAKES)
def test_a_mistake_names_function_argument_and_line(
    rule: Any, kind: type[Exception], text: str
) -> None:
    @tj.custom_gradient
    def f(a: Any, b: Any) -> Any:
        return a * b, rule

    def program(x: Any, y: Any) -> Any:
        return f(x, b=y) * 2.0

    error = error_everywhere(program, X, Y)
    assert type(error) is kind
    assert text in str(error)
    assert "return f(x, b=y) * 2.0" in str(error)


def test_a_mistake_is_none_where_nobody_asks() -> None:
    @tj.custom_gradient
    def f(a: Any, b: Any) -> Any:
        return a * b, lambda g: "nonsense"

    answer = everywhere(lambda x, y: tj.stop_gradient(f(x, y)) * y, X, Y)
    check(answer.gradients, None, X * Y)


@pytest.mark.parametrize("answer", [lambda x: x, lambda x: (x, x), lambda x: (x,), lambda x: None])
def test_no_rule_is_a_mistake_at_the_call(answer: Any) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return answer(x)

    error = error_everywhere(lambda x: f(x), X)
    assert type(error) is RuleTypeError
    assert "f is a custom gradient and must return (value, grad_fn), got a" in str(error)
    assert "lambda x: f(x)" in str(error)
    with pytest.raises(RuleTypeError):
        f(X)


@pytest.mark.parametrize(
    "call", [lambda x: triple(), lambda x: triple(x, x), lambda x: triple(z=x)]
)
def test_a_call_that_does_not_fit_the_signature(call: Program) -> None:
    error = error_everywhere(call, X)
    assert isinstance(error, TypeError)
    assert "triple() cannot be called like this" in str(error)


@pytest.mark.parametrize("kind", [ValueError, KeyError, StopIteration, ArithmeticError])
@pytest.mark.parametrize("place", ["body", "rule"])
def test_an_exception_keeps_its_type(kind: type[Exception], place: str) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(g: Any) -> Any:
            raise kind("mine")

        if place == "body":
            raise kind("mine")
        return x * 2.0, grad

    error = error_everywhere(f, X)
    assert type(error) is kind and error.args == ("mine",)


def test_an_exception_may_be_caught_by_the_program() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        raise KeyError("mine")

    def program(x: Any) -> Any:
        try:
            return f(x)
        except KeyError:
            return triple(x)

    check(everywhere(program, X).gradients, 3.0 * ONE)


def test_what_cannot_be_done_in_a_rule_is_shown_at_its_line() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(g: Any) -> Any:
            return g @ np.ones((2, 2))

        return x * 1.0, grad

    # Intermediate values have names in some modes only.
    error = error_everywhere(lambda x: f(x) * 2.0, X, part=lambda error: error.where)
    assert isinstance(error, ValueError)
    assert "return g @ np.ones((2, 2))" in str(error)


def test_a_rule_of_too_few_parameters() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return (x, x * 2.0), lambda g: g

    error = error_everywhere(f, X)
    assert type(error) is TypeError and "positional argument" in str(error)


# Arguments


def test_arguments_by_every_kind_of_parameter() -> None:
    @tj.custom_gradient
    def f(a: Any, /, b: Any, n: int = 2, *rest: Any, k: Any, flag: bool = True, **more: Any) -> Any:
        assert type(n) is int and type(flag) is bool

        def grad(g: Any) -> Any:
            return [g * 1.0, g * 2.0, None, *[g * 3.0 for _ in rest], g * 4.0, None, g * 5.0]

        return (a + b + sum(rest) + k + more["extra"]) * n, grad

    def by_keyword(a: Any, b: Any, k: Any, e: Any) -> Any:
        return f(a, k=k, extra=e, b=b)

    def with_rest(a: Any, b: Any, k: Any, e: Any) -> Any:
        return f(a, b, 2, e, k=k, extra=e)

    check(everywhere(by_keyword, X, Y, X, Y).gradients, ONE, 2.0 * ONE, 4.0 * ONE, 5.0 * ONE)
    check(everywhere(with_rest, X, Y, X, Y).gradients, ONE, 2.0 * ONE, 4.0 * ONE, 8.0 * ONE)


def test_an_array_as_a_default_is_an_input() -> None:
    @tj.custom_gradient
    def f(x: Any, table: Any = Y) -> Any:
        return x * table, lambda g: (g * 2.0, g * 3.0)

    check(everywhere(f, X).gradients, 2.0 * ONE)
    check(everywhere(lambda x: f(Y, x), X).gradients, 3.0 * ONE)
    check(everywhere(lambda x: f(Y, table=x), X).gradients, 3.0 * ONE)


def test_numbers_change_from_call_to_call() -> None:
    """A number is part of the program at first, and an argument of compiled code later."""

    @tj.custom_gradient
    def f(x: Any, rate: float) -> Any:
        return x * rate, lambda g: g * rate * 10.0

    slope = tj.grad(lambda x, rate: np.sum(f(x, rate)))
    compiled = tj.function(f)
    for rate in (0.5, 1.5, 2.5, 3.5):
        check([slope(X, rate)], np.full(3, 10.0 * rate))
        x = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = compiled(x, rate)
        check([tape.gradient(y, x).numpy()], np.full(3, 10.0 * rate))


class Pair(NamedTuple):
    p: Any
    q: Any


@dataclass
class Weights:
    w: Any
    b: Any


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y: {"z": x, "a": y},
        lambda x, y: Pair(x, y),
        lambda x, y: Weights(x, y),
        lambda x, y: [x, y],
        lambda x, y: (x, [y]),
        lambda x, y: {"z": [x, {"k": y}]},
    ],
)
def test_containers_in_out_and_in_the_answer(make: Any) -> None:
    @tj.custom_gradient
    def f(tree: Any) -> Any:
        def grad(*gs: Any) -> Any:
            scaled = [g * (10.0 ** (k + 1)) for k, g in enumerate(gs)]
            return unflatten(structure, scaled)

        leaves, structure = flatten(tree)
        return unflatten(structure, [leaf * 2.0 for leaf in leaves]), grad

    first = flatten(make("x", "y"))[0].index("x")
    by_x = 10.0 ** (first + 1)
    by_y = 100.0 if first == 0 else 10.0
    answer = everywhere(lambda x, y: f(make(x, y)), X, Y)
    check(answer.gradients, by_x * ONE, by_y * ONE)
    assert type(answer.value) is type(make(X, Y))
    tree = tj.grad(lambda tree: sum(np.sum(leaf) for leaf in flatten(f(tree))[0]))(make(X, Y))
    assert flatten(tree)[1] == flatten(make(X, Y))[1]
    check([np.asarray(leaf) for leaf in flatten(tree)[0]], 10.0 * ONE, 100.0 * ONE)


def test_containers_as_arguments_of_the_program() -> None:
    @tj.custom_gradient
    def f(params: Any, x: Any) -> Any:
        return params["w"] * x + params["b"].p, lambda g: (
            {"w": g * 2.0, "b": Pair(g * 3.0, None)},
            g * 5.0,
        )

    answer = everywhere(f, {"w": X, "b": Pair(Y, Y)}, X, grad=False)
    params, x = answer.gradients
    check([params["w"], params["b"].p, params["b"].q, x], 2.0 * ONE, 3.0 * ONE, None, 5.0 * ONE)


# Closures and composition


def test_what_is_closed_over_gets_none_and_the_rule_reads_it() -> None:
    def program(x: Any, w: Any) -> Any:
        @tj.custom_gradient
        def f(x: Any) -> Any:
            return x * w, lambda g: g * w * 10.0

        return f(x)

    answer = everywhere(program, X, Y, order=2)
    check(answer.gradients, 10.0 * Y, None)
    check(answer.orders[1], None, 10.0 * ONE)


def test_a_computed_value_that_is_closed_over() -> None:
    def program(x: Any, w: Any) -> Any:
        u = np.exp(w)

        @tj.custom_gradient
        def f(x: Any) -> Any:
            return x * u, lambda g: g * u * u

        return f(x) * u

    answer = everywhere(program, X, Y, order=2)
    e = np.exp(Y)
    check(answer.gradients, e**3, X * e * e)
    check(answer.orders[1], None, 3 * e**3)


INNER: dict[str, Any] = {
    "stop_gradient": lambda x: tj.stop_gradient(x) * x,
    "custom_gradient": lambda x: scaled_square(x),
    "grad_pass_through": lambda x: tj.grad_pass_through(np.round)(x) * x,
    "recompute_grad": lambda x: tj.recompute_grad(np.sin)(x),
    "function": tj.function(lambda x: scaled_square(x) * 2.0),
    "stop in recompute": tj.recompute_grad(lambda x: tj.stop_gradient(x) * x),
    "custom in recompute": tj.recompute_grad(lambda x: scaled_square(x)),
    "recompute in recompute": tj.recompute_grad(lambda x: tj.recompute_grad(scaled_square)(x) * x),
    "pass in recompute": tj.recompute_grad(lambda x: tj.grad_pass_through(np.round)(x) * x),
    "recompute in pass": tj.grad_pass_through(tj.recompute_grad(np.round)),
}
SLOPES: dict[str, Any] = {
    "stop_gradient": lambda x: x,
    "custom_gradient": lambda x: 20.0 * x,
    "grad_pass_through": lambda x: x + np.round(x),
    "recompute_grad": np.cos,
    "function": lambda x: 40.0 * x,
    "stop in recompute": lambda x: x,
    "custom in recompute": lambda x: 20.0 * x,
    "recompute in recompute": lambda x: 21.0 * x * x,
    "pass in recompute": lambda x: x + np.round(x),
    "recompute in pass": np.ones_like,
}


@pytest.mark.parametrize("inner", INNER)
def test_the_rule_covers_markers_in_the_body(inner: str) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return INNER[inner](x), lambda g: g * 7.0

    answer = everywhere(f, X)
    check([answer.value, *answer.gradients], INNER[inner](X), 7.0 * ONE)


@pytest.mark.parametrize("inner", INNER)
def test_markers_by_themselves(inner: str) -> None:
    check(everywhere(lambda x: INNER[inner](x), X).gradients, SLOPES[inner](X))


@pytest.mark.parametrize("inner", INNER)
def test_markers_in_a_rule_are_obeyed_at_second_order(inner: str) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 1.0, lambda g: g * INNER[inner](x)

    answer = everywhere(f, X, order=2)
    check([*answer.gradients, *answer.orders[1]], INNER[inner](X), SLOPES[inner](X))


@pytest.mark.parametrize("inner", INNER)
def test_markers_in_a_recomputed_function_in_a_custom_gradient(inner: str) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        block = tj.recompute_grad(lambda x: INNER[inner](x) * 2.0)
        return block(x), lambda g: g * block(x)

    answer = everywhere(f, X, order=2)
    check([answer.value, *answer.gradients], 2.0 * INNER[inner](X), 2.0 * INNER[inner](X))
    check(answer.orders[1], 2.0 * SLOPES[inner](X))


def test_a_pass_through_covers_a_custom_gradient() -> None:
    answer = everywhere(tj.grad_pass_through(scaled_square), X, order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], X * X, ONE, None)


def test_a_stopped_custom_gradient() -> None:
    check(everywhere(lambda x: tj.stop_gradient(triple(x)) * x, X).gradients, X)
    check(everywhere(lambda x: triple(tj.stop_gradient(x)) * x, X).gradients, X)


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_in_a_python_loop(steps: int) -> None:
    def f(x: Any) -> Any:
        for n in range(steps):
            x = scaled_square(x) if n % 2 else triple(x)
        return x * 1.0

    x, slope = X, ONE
    for n in range(steps):
        x, slope = (x * x, slope * 20.0 * x) if n % 2 else (x, slope * 3.0)
    answer = everywhere(f, X)
    check([answer.value, *answer.gradients], x, slope)


def test_made_anew_in_each_round_of_a_loop() -> None:
    def f(x: Any) -> Any:
        for n in range(3):

            @tj.custom_gradient
            def scale(x: Any, n: int = n) -> Any:
                return x * 2.0, lambda g: g * float(n + 1)

            x = scale(x)
        return x

    answer = everywhere(f, X)
    check([answer.value, *answer.gradients], 8.0 * X, 6.0 * ONE)


def test_third_order() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x**5, lambda g: g * 5.0 * x**4

    answer = everywhere(f, X, order=4)
    orders = [gradients[0] for gradients in answer.orders]
    check([answer.value, *orders], X**5, 5 * X**4, 20 * X**3, 60 * X**2, 120 * X)


def test_third_order_of_rules_in_rules() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 1.0, lambda g: g * scaled_square(x)

    answer = everywhere(f, X, order=4)
    orders = [gradients[0] for gradients in answer.orders]
    check(orders, X * X, 20.0 * X, 20.0 * ONE, None)


def test_second_order_by_the_cotangent() -> None:
    """The rule is a function of its cotangent, too: one that is not linear in it."""

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 2.0, lambda g: g * g * x

    answer = everywhere(lambda x: f(x) ** 2, X, order=2)
    # g = 2 * 2x, so the gradient is 16 x**3, and through the opaque f the derivative of g is 2 g x.
    check([answer.value, *answer.gradients], 4 * X**2, 16 * X**3)
    g = 4 * X
    check(answer.orders[1], g * g + (2 * (2 * g * X)) ** 2 * X)


# Numbers


def test_nan_of_a_rule_stays_where_it_is() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 1.0, lambda g: g * x / x

    with np.errstate(invalid="ignore"):
        answer = everywhere(lambda x, y: f(x) + y, c([0.0, 2.0]), c([1.0, 1.0]))
    check(answer.gradients, [np.nan, 1.0], [1.0, 1.0])


def test_a_rule_takes_nan_away() -> None:
    @tj.custom_gradient
    def root(x: Any) -> Any:
        return np.sqrt(x), lambda g: np.where(
            x > 0, g * 0.5 / np.sqrt(np.where(x > 0, x, 1.0)), 0.0
        )

    answer = everywhere(root, c([0.0, 4.0]), order=2)
    check(answer.gradients, [0.0, 0.25])
    assert answer.orders[1][0][1] == -1 / 32


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3)], ids=repr)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_shapes_and_precisions(shape: tuple[int, ...], dtype: str) -> None:
    x = np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape).astype(dtype)
    answer = everywhere(scaled_square, x, order=2)
    found = [answer.value, *answer.gradients, *answer.orders[1]]
    for mine, expected in zip(found, [x * x, 20 * x, np.full_like(x, 20.0)], strict=True):
        assert (mine.dtype, mine.shape) == (x.dtype, x.shape)
        np.testing.assert_allclose(mine, expected, rtol=4 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("kind", [np.float64, np.float32, lambda x: np.array(x)])
def test_scalars_and_arrays_of_no_axes(kind: Any) -> None:
    answer = everywhere(scaled_square, kind(1.5), order=2)
    check([*answer.gradients, *answer.orders[1]], kind(30.0), kind(20.0))


@pytest.mark.parametrize("kinds", ["ff", "fd", "df"])
def test_mixed_precision_gradients_have_the_dtype_of_their_argument(kinds: str) -> None:
    x, y = X.astype(kinds[0]), Y.astype(kinds[1])
    check(everywhere(two, x, y).gradients, np.full(3, 2.0, x.dtype), np.full(3, 5.0, y.dtype))


def test_a_number_for_an_argument_of_any_shape() -> None:
    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return np.sum(x) * np.sum(y), lambda g: (2.5, 4)

    x, y = np.ones((2, 3), "f4"), c(2.0)
    check(everywhere(f, x, y).gradients, np.full((2, 3), 2.5, "f4"), 4.0)
    assert everywhere(f, np.ones((0, 2)), y).gradients[0].shape == (0, 2)


def test_complex_arguments_and_results() -> None:
    @tj.custom_gradient
    def f(z: Any) -> Any:
        return z * z, lambda g: g * (2.0 + 1.0j)

    z = np.array([1.0 + 2.0j, -0.5j])
    check(everywhere(f, z).gradients, np.full(2, 2.0 + 1.0j))
    answer = everywhere(lambda z: np.real(f(z)), z)
    check(answer.gradients, np.full(2, 2.0 + 1.0j))


def test_a_real_gradient_of_a_complex_argument_is_cast() -> None:
    @tj.custom_gradient
    def f(z: Any) -> Any:
        return np.abs(z), lambda g: g * 2.0

    check(everywhere(f, np.array([3.0 + 4.0j])).gradients, np.array([2.0 + 0.0j]))


def test_integer_and_boolean_arguments() -> None:
    @tj.custom_gradient
    def take(x: Any, index: Any, mask: Any) -> Any:
        return x[index] * mask, lambda g: (np.ones_like(x), g * 7.0, "dropped")

    answer = everywhere(take, X, np.array([1, 1]), np.array([True, False]), grad=False)
    check([answer.value, *answer.gradients], X[1] * c([1.0, 0.0]), ONE, None, None)


# What can be marked


class Model:
    """Methods of every kind."""

    def __init__(self, k: float) -> None:
        self.k = k

    @tj.custom_gradient
    def method(self, x: Any, n: int = 2) -> Any:
        return x * self.k * n, lambda g: g * 10.0 * self.k

    @tj.custom_gradient
    def entries(self, x: Any, n: int) -> Any:
        return x * n, lambda g: (g * 50.0, None)

    @staticmethod
    @tj.custom_gradient
    def static(x: Any) -> Any:
        return x * 2.0, lambda g: g * 20.0

    @tj.custom_gradient
    @staticmethod
    def static_below(x: Any) -> Any:
        return x * 2.0, lambda g: g * 25.0

    @classmethod
    @tj.custom_gradient
    def of_class(cls, x: Any) -> Any:
        return x * 2.0, lambda g: g * (30.0 if cls is Model else 0.0)

    @tj.custom_gradient
    @classmethod
    def of_class_below(cls, x: Any) -> Any:
        return x * 2.0, lambda g: g * (35.0 if cls is Model else 0.0)

    @tj.function
    @tj.custom_gradient
    def compiled(self, x: Any) -> Any:
        return x * self.k, lambda g: g * 40.0 * self.k

    @tj.custom_gradient
    @tj.function
    def compiled_below(self, x: Any) -> Any:
        return x * self.k, lambda g: g * 45.0 * self.k

    def __call__(self, x: Any) -> Any:
        return x * self.k, lambda g: g * 60.0 * self.k


def plain(k: float, x: Any, n: float = 2.0) -> Any:
    """A function for partials."""
    return x * k * n, lambda g: g * 70.0 * k


MODEL = Model(3.0)
CALLABLES: dict[str, tuple[Any, float]] = {
    "method": (MODEL.method, 30.0),
    "method of another": (Model(4.0).method, 40.0),
    "method by its class": (lambda x: Model.method(MODEL, x), 30.0),
    "method with keywords": (lambda x: MODEL.method(n=5, x=x), 30.0),
    "method with entries for numbers": (lambda x: MODEL.entries(x, 3), 50.0),
    "staticmethod": (Model.static, 20.0),
    "staticmethod of an instance": (MODEL.static, 20.0),
    "staticmethod below": (Model.static_below, 25.0),
    "classmethod": (Model.of_class, 30.0),
    "classmethod of an instance": (MODEL.of_class, 30.0),
    "classmethod below": (Model.of_class_below, 35.0),
    "function over it": (MODEL.compiled, 120.0),
    "function below it": (MODEL.compiled_below, 135.0),
    "bound method": (tj.custom_gradient(MODEL.__call__), 180.0),
    "callable object": (tj.custom_gradient(MODEL), 180.0),
    "partial": (tj.custom_gradient(functools.partial(plain, 3.0)), 210.0),
    "partial with keywords": (tj.custom_gradient(functools.partial(plain, k=3.0)), 210.0),
    "partial over it": (functools.partial(tj.custom_gradient(plain), 3.0, n=1.0), 210.0),
    "lambda": (tj.custom_gradient(lambda x: (x * 2.0, lambda g: g * 80.0)), 80.0),
    "called decorator": (tj.custom_gradient()(lambda x: (x * 2.0, lambda g: g * 85.0)), 85.0),
    "by keyword": (tj.custom_gradient(f=lambda x: (x * 2.0, lambda g: g * 90.0)), 90.0),
}


@pytest.mark.parametrize("name", CALLABLES)
def test_whatever_can_be_called(name: str) -> None:
    f, slope = CALLABLES[name]
    by_keyword = name == "partial with keywords"
    check(everywhere(lambda x: f(x=x) if by_keyword else f(x), X).gradients, slope * ONE)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: tj.function(tj.custom_gradient(f)),
        lambda f: tj.custom_gradient(tj.function(f)),
        lambda f: tj.function(tj.custom_gradient(tj.function(f))),
        lambda f: tj.function(tj.function(tj.custom_gradient(f))),
    ],
)
def test_stacked_with_function_in_any_order(wrap: Any) -> None:
    def f(x: Any, y: Any, scale: float = 2.0) -> Any:
        return x * y * scale, lambda g: (g * 10.0 * y, g * 20.0 * scale)

    g = wrap(f)
    for call in (g, lambda x, y: g(y=y, x=x), lambda x, y: g(x, y, 2.0)):
        answer = everywhere(call, X, Y, order=2)
        check([answer.value, *answer.gradients], 2.0 * X * Y, 10.0 * Y, 40.0 * ONE)
        check(answer.orders[1], None, 10.0 * ONE)
    assert g.__name__ == "f" and g.__wrapped__ is not None


# Variables


def test_variables_come_in_order_of_first_read_once_each() -> None:
    a, b, n = tj.Variable(2.0, name="a"), tj.Variable(3.0, name="b"), tj.Variable(4.0, name="n")
    fixed = tj.Variable(1.0, trainable=False)
    names: SimpleQueue[Any] = SimpleQueue()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(g: Any, variables: Any) -> Any:
            names.put([each.name for each in variables])
            return g, [np.sum(g) * (10.0 ** (k + 1)) for k in range(len(variables))]

        return x * b * fixed * a * b * n * a, grad

    check(everywhere(f, X, variables=[a, b, n, fixed]).gradients, ONE, 300.0, 30.0, 3000.0, None)
    assert all(each == ["b", "a", "n"] for each in drained(names))


READERS: dict[str, Callable[[Any, Any], Any]] = {
    "used": lambda v, x: x * v,
    "indexed": lambda v, x: x * v[()],
    "read_value": lambda v, x: x * v.read_value(),
    "by a function": lambda v, x: tj.function(lambda x: x * v)(x),
    "by a custom gradient": lambda v, x: tj.custom_gradient(
        lambda x: (x * v, lambda g, variables: (g, [np.sum(g)]))
    )(x),
    "by a recomputed function": lambda v, x: tj.recompute_grad(lambda x: x * v)(x),
    "by what is passed through": lambda v, x: tj.grad_pass_through(lambda x: x * v)(x),
    "in vain": lambda v, x: (v.read_value(), x * 1.0)[1],
    "under a stop": lambda v, x: x * tj.stop_gradient(v),
}


@pytest.mark.parametrize("reader", READERS)
def test_variables_read_in_any_way_are_handed_over(reader: str) -> None:
    v = tj.Variable(3.0, name="v")

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(g: Any, variables: Any = None) -> Any:
            assert len(variables) == 1 and variables[0] is v
            return g * 10.0, [np.sum(g) * 100.0]

        return READERS[reader](v, x), grad

    check(everywhere(f, X, variables=[v]).gradients, 10.0 * ONE, 300.0)
    check(everywhere(lambda x: f(x) * v, X, variables=[v], order=2).orders[1], None)

    @tj.custom_gradient
    def cannot(x: Any) -> Any:
        return READERS[reader](v, x), lambda g: g

    error = error_everywhere(lambda x: cannot(x), X, variables=[v])
    assert type(error) is RuleTypeError
    assert "cannot reads Variables (v" in str(error)


def test_a_rule_may_take_variables_with_any_keyword() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * v, lambda g, **given: (g * 2.0, [np.sum(g) * len(given["variables"])])

    @tj.custom_gradient
    def none_read(x: Any) -> Any:
        return x * 1.0, lambda g, **given: g * (2.0 if given == {} else 0.0)

    check(everywhere(f, X, variables=[v]).gradients, 2.0 * ONE, 3.0)
    check(everywhere(none_read, X).gradients, 2.0 * ONE)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (lambda g: g, "got a Tensor"),
        (lambda g: None, "got a NoneType"),
        (lambda g: (g,), "got a tuple of 1"),
        (lambda g: [g, g, g], "got a list of 3"),
        (lambda g: {"x": g}, "got a dict"),
    ],
)
@pytest.mark.parametrize("reads", [True, False])
def test_a_rule_with_variables_must_return_a_pair(answer: Any, got: str, reads: bool) -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * v if reads else x * 3.0, lambda g, variables: answer(g)

    error = error_everywhere(lambda x: f(x), X, variables=[v])
    assert type(error) is RuleTypeError and isinstance(error, TypeError)
    assert f"rule of f takes variables and must return (grad_xs, grad_vars), {got}" in str(error)
    assert "lambda x: f(x)" in str(error)


@pytest.mark.parametrize(
    ("entries", "kind", "text"),
    [
        (lambda g: [], RuleError, "returned 0 gradients for 1 inputs (v)"),
        (lambda g: [g, g], RuleError, "returned 2 gradients for 1 inputs (v)"),
        (lambda g: [g], RuleError, "returned shape (3,) for v, which has shape ()"),
        (lambda g: [np.sum(g) * 1j], RuleTypeError, "returned a complex gradient"),
        (lambda g: ["text"], RuleTypeError, "returned a str for v, which is float64"),
    ],
)
def test_mistakes_in_gradients_of_variables(entries: Any, kind: type, text: str) -> None:
    v = tj.Variable(3.0, name="v")

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * v, lambda g, variables: (g, entries(g))

    error = error_everywhere(lambda x: f(x), X, variables=[v])
    assert type(error) is kind
    assert f"the gradient rule of f {text}" in str(error)


def test_gradients_of_variables_may_be_none_or_numbers() -> None:
    v, w = tj.Variable([3.0, 4.0]), tj.Variable(2.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * np.sum(v) * w, lambda g, variables: (g, (2.5, None))

    check(everywhere(f, X, variables=[v, w]).gradients, ONE, [2.5, 2.5], None)


def test_a_variable_passed_twice_in_a_container_and_by_keyword() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any, pair: Any, *, k: Any) -> Any:
        def grad(g: Any) -> Any:
            s = np.sum(g)
            return g * 2.0, [s * 10.0, s * 100.0], s * 1000.0

        return x * pair[0] * pair[1] * k * v, grad

    answer = everywhere(lambda x: f(x, [v, v], k=v), X, variables=[v])
    check([answer.value, *answer.gradients], 81.0 * X, 2.0 * ONE, 3330.0)


def test_a_variable_that_is_returned() -> None:
    v, w = tj.Variable(3.0), tj.Variable(4.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return {"v": v, "w": [w]}, lambda a, b, variables: (a * x, [a * 10.0, b * 100.0])

    answer = everywhere(lambda x: f(x)["v"] + f(x)["w"][0], X, variables=[v, w])
    check([answer.value, *answer.gradients], 7.0, X, 10.0, 100.0)


def test_a_variable_that_is_assigned_in_the_body() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        y = x * v
        v.assign(v * 2.0)
        return y, lambda g, variables: (g, [np.sum(g) * 10.0])

    answer = everywhere(lambda x: f(x) + v, X, variables=[v])
    check([answer.value, *answer.gradients], 3.0 * X + 6.0, ONE, 33.0)


def test_a_variable_that_is_assigned_between_reads() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * v, lambda g, variables: (g * 2.0, [np.sum(g * x) * 10.0])

    def program(x: Any) -> Any:
        y = f(x)
        v.assign(5.0)
        return y + f(x)

    answer = everywhere(program, X, variables=[v])
    check([answer.value, *answer.gradients], 8.0 * X, 4.0 * ONE, 20.0 * np.sum(X))


def test_a_variable_that_is_not_trainable() -> None:
    v = tj.Variable(3.0, trainable=False)

    @tj.custom_gradient
    def captured(x: Any) -> Any:
        return x * v, lambda g: g * 2.0

    @tj.custom_gradient
    def given(x: Any, u: Any) -> Any:
        return x * u, lambda g: (g * 2.0, np.sum(g) * 10.0)

    check(everywhere(captured, X, variables=[v]).gradients, 2.0 * ONE, None)
    check(everywhere(lambda x: given(x, v), X).gradients, 2.0 * ONE)

    def watched(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch([x, v])
            y = given(x, v)
        return tape.gradient(y, [x, v])

    for run in (watched, tj.function(watched)):
        check([g.numpy() for g in run(tj.constant(X))], 2.0 * ONE, 30.0)


def test_second_order_through_a_variable() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * v, lambda g, variables: (g * v * x, [np.sum(g * x)])

    answer = everywhere(f, X, variables=[v], order=2)
    check([*answer.gradients, *answer.orders[1]], 3.0 * X, np.sum(X), 3.0 * ONE)


# Tapes, effects and memory


def test_tapes_and_transforms_in_body_and_rule() -> None:
    def by_tape(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    for slope in (by_tape, tj.grad(lambda x: np.sum(x**3))):

        @tj.custom_gradient
        def f(x: Any, slope: Any = slope) -> Any:
            return slope(x), lambda g: g * slope(x)

        answer = everywhere(lambda x, f=f: f(x), X, order=3)
        orders = [gradients[0] for gradients in answer.orders]
        check([answer.value, *orders], 3 * X**2, 3 * X**2, 6 * X, 6 * ONE)


def test_seeds_arrive_as_the_cotangent() -> None:
    def program(x: Any, seed: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = two(x, x)
        return tape.gradient(y, x, output_gradients=seed)

    def symbolic(x: Any, seed: Any) -> Any:
        return tj.gradients(two(x, x), x, grad_ys=seed)[0]

    for run in (program, tj.function(program), tj.function(symbolic)):
        check([run(tj.constant(X), tj.constant(Y)).numpy()], 7.0 * Y)


def test_zeros_on_request_for_none() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 1.0, lambda g: None

    def program(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x, unconnected_gradients="zero")

    def symbolic(x: Any) -> Any:
        return tj.gradients(f(x), x, unconnected_gradients=tj.UnconnectedGradients.ZERO)[0]

    for run in (program, tj.function(program), tj.function(symbolic)):
        check([run(tj.constant(X)).numpy()], 0.0 * ONE)


def test_a_persistent_tape_answers_again() -> None:
    calls: SimpleQueue[int] = SimpleQueue()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(g: Any) -> Any:
            calls.put(1)
            return g * 3.0

        return x * 1.0, grad

    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    for _ in range(3):
        check([tape.gradient(y, x).numpy()], 3.0 * ONE)
    assert len(drained(calls)) == 3


@pytest.mark.parametrize("mode", MODES)
def test_an_assignment_in_a_body_or_a_rule_happens_once_for_each_run(mode: Any) -> None:
    forward, backward = tj.Variable(0.0, trainable=False), tj.Variable(0.0, trainable=False)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        forward.assign_add(1.0)

        def grad(g: Any) -> Any:
            backward.assign_add(1.0)
            return g * 2.0

        return x * 1.0, grad

    run = mode(f, constants([X]), [], 1)
    for count in (1.0, 2.0, 3.0):
        run()
        assert (float(forward.numpy()), float(backward.numpy())) == (count, count)


@pytest.mark.parametrize("wrap", [lambda f: f, tj.function])
def test_an_array_changed_in_place_after_the_call_does_not_change_the_gradient(wrap: Any) -> None:
    @tj.custom_gradient
    def f(x: Any, table: Any) -> Any:
        return x * table, lambda g: (g * table * 10.0, None)

    run = wrap(f)
    for _ in range(2):
        table, x = Y.copy(), tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = run(x, table)
        table[:] = 0.0
        check([tape.gradient(y, x).numpy()], 10.0 * Y)


def test_no_gradient_shares_memory_with_what_a_rule_closes_over() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x, lambda g: Y

    slope = tj.grad(lambda x: np.sum(f(x)))
    for found in (slope(X), slope(X), tj.function(slope)(X)):
        check([found], Y)
        assert not np.shares_memory(found, Y)
    assert not np.shares_memory(tj.function(f)(X), X)


def test_no_gradient_shares_memory_with_its_seed() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x, lambda g: g

    x, seed = tj.constant(X), Y.copy()
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    found = tape.gradient(y, x, output_gradients=seed)
    seed[:] = 0.0
    check([found.numpy()], Y)


def test_a_variable_as_a_gradient() -> None:
    v = tj.Variable(Y)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 1.0, lambda g: v

    check(everywhere(f, X, variables=[v]).gradients, Y, None)


def test_after_an_error_in_a_body_nothing_is_left_behind() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def fails(x: Any) -> Any:
        v.read_value()
        raise KeyError("mine")

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 1.0, lambda g: g * 2.0

    def program(x: Any) -> Any:
        with contextlib.suppress(KeyError):
            fails(x)
        return f(x)

    check(everywhere(program, X, variables=[v]).gradients, 2.0 * ONE, None)
