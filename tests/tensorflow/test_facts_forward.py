"""What TensorFlow's gradient registry and forward mode were seen to do, fact by fact, and what they
do here.

The numbers are those of the list of observed behaviour: 249 to 258 registered gradients, 259 to 274
the ForwardAccumulator; those below are programs of other chapters that were moved forward, too.
Tangents are taken eagerly, around a compiled function and inside one
(tests/eager/test_accumulator.py), gradients in every mode (tests/test_corners.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.arrays import c
from tests.support.modes import arrays, check, drained, error_everywhere, everywhere, moved, refused
from tracejit.support.errors import (
    NoGradientError,
    RuleError,
    RuleTypeError,
    SeedError,
    TapeArgumentError,
)


def t(value: Any) -> Any:
    """An eager Tensor of it."""
    return tj.constant(c(value))


def close(found: Any, *expected: Any) -> None:
    """Each as expected: None, or the same numbers in the same shape."""
    check(arrays([found] if len(expected) == 1 else list(found)), *expected)


def both(program: Callable[..., Any], *xs: Any) -> Any:
    """What a program answers eagerly and, twice, in a compiled function."""
    expected = arrays(program(*[t(x) for x in xs]))
    compiled = tj.function(program)
    for _ in range(2):
        close(compiled(*map(c, xs)), *expected)
    return expected


# Moved forward: programs of other chapters


@tj.custom_gradient
def log1pexp(x: Any) -> Any:
    """The documented example."""
    e = np.exp(x)
    return np.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))


def test_120_log1pexp_moves_by_its_rule() -> None:
    with np.errstate(over="ignore"):
        found = moved(log1pexp, np.float32(100.0))
    assert found == np.float32(1.0)
    assert found.dtype == np.float32


def test_121_bar_moves_by_its_rule() -> None:
    bar = tj.custom_gradient(lambda x, y: (x * y, lambda g: (g * y, g * x)))
    close(moved(bar, c(2.0), c(3.0)), 5.0)


def test_122_a_rule_that_is_a_custom_gradient_is_transposed_by_its_values() -> None:
    nested = tj.custom_gradient(
        lambda x: (x**2, tj.custom_gradient(lambda dy: (10.0 * dy * x, lambda g: 1000.0 * g)))
    )
    close(moved(nested, c(3.0)), 30.0)


@pytest.mark.parametrize("inner_arguments", [1, 2])
def test_124_125_the_fused_pattern_moves(inner_arguments: int) -> None:
    @tj.custom_gradient
    def op(x: Any) -> Any:
        slope = 3.0 * x**2

        def first(dy: Any) -> Any:
            if inner_arguments == 1:
                return dy * tj.custom_gradient(lambda x: (slope, lambda g: 6.0 * x * g))(x)
            inner = tj.custom_gradient(
                lambda x, dy: (slope * dy, lambda g: (6.0 * x * dy * g, slope * g))
            )
            return inner(x, dy)

        return x**3, first

    close(moved(op, c(2.0)), 12.0)


def test_148_the_identity_with_a_rule_moves_by_the_rule() -> None:
    close(moved(tj.custom_gradient(lambda x: (x, lambda dy: dy * -1.0)), c([2.0, 3.0])), [-1, -1])


def test_149_an_output_that_does_not_depend_on_the_input_moves_by_the_rule() -> None:
    five = tj.custom_gradient(lambda x: (tj.constant(c(5.0)), lambda dy: dy * 7.0 * x))
    close(moved(five, c(2.0)), 14.0)


def test_184_a_chain_of_two_moves_by_both_rules() -> None:
    a = tj.custom_gradient(lambda x: (x * 2.0, lambda dy: dy * 10.0))
    b = tj.custom_gradient(lambda x: (x * 3.0, lambda dy: dy * 7.0))
    close(moved(lambda x: b(a(x)), c(2.0)), 70.0)


def test_205_the_tutorials_pass_through_moves_as_the_identity() -> None:
    close(moved(tj.grad_pass_through(lambda x: np.square(x) + 2.0 * x), c(3.0)), 1.0)


def test_217_a_recomputed_function_with_a_variable_moves() -> None:
    w = tj.Variable(c([1.0, 2.0]))
    x = c([0.5, 1.5])
    found = moved(tj.recompute_grad(lambda x: np.sin(x * w) * x), x)
    wx = x * c([1.0, 2.0])
    np.testing.assert_allclose(found, np.sin(wx) + wx * np.cos(wx), rtol=1e-14)
    np.testing.assert_allclose(found, [0.9182168195, -2.828857482], rtol=1e-9)


def test_227_a_recomputed_function_moves_compiled_or_not() -> None:
    cube = tj.recompute_grad(lambda x: x**3)
    close(moved(cube, c(2.0)), 12.0)
    close(moved(tj.function(cube), c(2.0)), 12.0)


def test_235_236_239_240_stopped_values_stand_still() -> None:
    stop = tj.stop_gradient
    assert moved(lambda x: stop(x * x), c(3.0)) is None
    close(moved(lambda x: x * stop(x), c(3.0)), 3.0)
    close(moved(lambda x: (x + stop(np.round(x) - x)) ** 2, c([1.4, 2.6])), [2.0, 6.0])
    close(moved(lambda x: np.exp(x - stop(x)), c(5.0)), 1.0)


# L. Registered gradients


def unique_of(x: Any) -> Any:
    """The different numbers in x, and where each of x is among them."""
    values, places = np.unique(x, return_inverse=True)
    return values, places


def new_unique() -> Any:
    """Two different numbers among three, as one operation without a rule."""
    return tj.primitive(unique_of, result=(tj.TensorSpec((2,)), tj.TensorSpec((3,), int)))


U = c([1.0, 2.0, 2.0])


def test_249_a_second_gradient_is_a_key_error() -> None:
    for function in (np.sin, tj.primitive(np.sin)):
        if function is not np.sin:
            tj.register_gradient(function)(lambda op, dy: dy)
        with pytest.raises(KeyError, match="sin has a gradient rule already"):
            tj.register_gradient(function)(lambda op, dy: dy)


def test_250_a_registered_gradient_holds_everywhere_afterwards() -> None:
    unique = new_unique()
    compiled = tj.function(lambda x: unique(x)[0])
    error = error_everywhere(lambda x: unique(x)[0], U)
    assert type(error) is NoGradientError
    assert str(error).startswith("no gradient is known for unique_of")

    @tj.register_gradient(unique)
    def rule(op: Any, dy: Any, dplaces: Any) -> Any:
        return dy[op.outputs[1]]

    answer = everywhere(lambda x: unique(x)[0], U)
    check([answer.value, *answer.gradients], [1.0, 2.0], [1.0, 1.0, 1.0])
    check(everywhere(compiled, U).gradients, [1.0, 1.0, 1.0])


def test_251_the_rule_is_called_with_the_operation_and_one_cotangent_per_output() -> None:
    """None for an output of integers, zeros for an unused one of floats."""
    seen: SimpleQueue[Any] = SimpleQueue()

    @tj.primitive(result=(tj.TensorSpec((2,)), tj.TensorSpec((3,), int), tj.TensorSpec((2,))))
    def unique_with_counts(x: Any) -> Any:
        values, places, counts = np.unique(x, return_inverse=True, return_counts=True)
        return values, places, counts.astype(float)

    @tj.register_gradient(unique_with_counts)
    def rule(op: Any, *dys: Any) -> Any:
        dtypes = [None if dy is None else str(dy.dtype) for dy in dys]
        seen.put((len(op.inputs), len(op.outputs), dtypes, op.type))
        return dys[0][op.outputs[1]] * 10.0 + np.sum(dys[2])

    check(everywhere(lambda x: unique_with_counts(x)[0], U).gradients, [10.0, 10.0, 10.0])
    calls = drained(seen)
    assert calls
    assert all(call == (1, 3, ["float64", None, "float64"], "unique_with_counts") for call in calls)


def redirected(factor: float, square: Callable[..., Any] = np.square) -> Any:
    """np.square with another gradient where it is called."""
    return tj.custom_gradient(lambda x: (square(x), lambda dy: dy * factor))


def test_252_a_custom_gradient_redirects_one_call_and_leaves_the_others() -> None:
    check(everywhere(redirected(1000.0), c(3.0)).gradients, 1000.0)
    check(everywhere(np.square, c(3.0)).gradients, 6.0)
    check(everywhere(lambda x: redirected(1000.0)(x) + np.square(x), c(3.0)).gradients, 1006.0)


def test_253_254_a_redirected_gradient_is_honoured_in_every_mode() -> None:
    check(everywhere(lambda x: redirected(1000.0)(x), c(3.0)).gradients, 1000.0)
    close(moved(redirected(1000.0), c(3.0)), 1000.0)


def test_255_a_missing_rule_fails_at_the_gradient_and_what_has_none_at_once() -> None:
    unique = new_unique()
    close(tj.function(lambda x: unique(x)[0])(U), [1.0, 2.0])
    assert isinstance(error_everywhere(lambda x: unique(x)[0], U), LookupError)
    for wrong in ("Square", {"Square": "MySquare"}, 3, [1]):
        for give in (tj.register_gradient, tj.no_gradient):
            with pytest.raises(TypeError, match="is not an operation, so it cannot have a rule"):
                give(wrong)


def test_256_nested_redirections_the_outermost_call_counts_and_others_are_themselves() -> None:
    once, twice = redirected(1000.0), redirected(2000.0, redirected(1000.0))
    for f, slope in [(twice, 2000.0), (once, 1000.0), (np.square, 6.0)]:
        check(everywhere(f, c(3.0)).gradients, slope)


def test_257_no_gradient_is_unconnected_afterwards() -> None:
    same = tj.primitive(np.copy)
    x = c([1.0, 2.0])
    assert isinstance(error_everywhere(same, x), LookupError)
    tj.no_gradient(same)
    check(everywhere(same, x).gradients, None)
    check(everywhere(tj.function(same), x).gradients, None)
    with pytest.raises(TypeError):
        tj.no_gradient(3)
    with pytest.raises(KeyError):
        tj.no_gradient(same)


def test_258_a_wrong_number_of_gradients_is_a_value_error_in_every_mode() -> None:
    square = tj.primitive(lambda x: np.square(x))
    tj.register_gradient(square)(lambda op, dy: (dy, dy))
    error = error_everywhere(lambda x: square(x), c(3.0))
    assert type(error) is RuleError
    assert isinstance(error, ValueError)
    assert "returned 2 gradients for 1 inputs" in str(error)


# M. ForwardAccumulator


def test_259_the_names() -> None:
    assert tj.ForwardAccumulator.__name__ == "ForwardAccumulator"
    assert tj.GradientTape.__name__ == "GradientTape"


def test_260_a_scaled_tangent_scales_the_answer() -> None:
    for scale, expected in [(1.0, 27.0), (5.0, 135.0)]:
        close(moved(lambda x: x**3, c(3.0), along=[c(scale)]), expected)


def test_261_the_primal_has_its_tangent_and_the_unrelated_none_or_zeros() -> None:
    x, w = t(3.0), t([1.0, 2.0])
    with tj.ForwardAccumulator(x, t(2.0)) as accumulator:
        y = x * 1.0
        z = w * 2.0
    close(accumulator.jvp([x, z]), 2.0, None)
    close(accumulator.jvp(z, unconnected_gradients=tj.UnconnectedGradients.ZERO), [0.0, 0.0])
    found = accumulator.jvp({"a": y, "b": [z]})
    close(found["a"], 2.0)
    assert found["b"] == [None]
    with pytest.raises(ValueError, match="'bad'"):
        accumulator.jvp(z, unconnected_gradients="bad")


def test_262_assigning_a_primal_leaves_its_tangent() -> None:
    """An assignment cuts: the value after it is another value of the same primal."""
    v = tj.Variable(c(3.0))

    def program() -> Any:
        with tj.ForwardAccumulator(v, c(1.0)) as accumulator:
            y = v * v
            v.assign(v * 10.0)
            z = v * 2.0
        return accumulator.jvp(y), z, accumulator.jvp(z)

    compiled = tj.function(program)
    for run in (program, compiled, compiled):
        v.assign(c(3.0))
        close(run(), 6.0, 60.0, 2.0)
        close(v.numpy(), 30.0)


def test_263_primals_and_tangents_are_checked() -> None:
    x = t(3.0)
    for primals, tangents, error, text in [
        ([x, x], [t(1.0), t(1.0)], SeedError, "the same primal was given more than once"),
        ([x], t(1.0), SeedError, "primals and tangents differ in their structure"),
        (x, t([1.0, 2.0]), SeedError, r"a tangent has shape \(2,\), its primal \(\)"),
        (x, np.float32(1.0), SeedError, "a tangent has dtype float32, its primal float64"),
        (3.0, 1.0, TapeArgumentError, "primals must hold Tensors or Variables, got a float"),
    ]:
        with pytest.raises(error, match=f"^ForwardAccumulator: {text}") as caught:
            tj.ForwardAccumulator(primals, tangents)
        assert "{" not in str(caught.value)
    with tj.ForwardAccumulator(x, 1.0) as accumulator:
        y = x * 2.0
    close(accumulator.jvp(y), 2.0)


def test_263_an_integer_primal_stands_still() -> None:
    whole = tj.constant(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tj.ForwardAccumulator(whole, tj.constant(1)) as accumulator:
            y = whole * 2.0
    assert accumulator.jvp([whole, y]) == [None, None]


def test_264_higher_order_is_nesting_and_the_inner_one_does_not_see_the_outer() -> None:
    def program(x: Any) -> Any:
        with tj.ForwardAccumulator(x, c(1.0)) as outer:
            with tj.ForwardAccumulator(x, c(1.0)) as inner:
                y = x**4
            d = inner.jvp(y)
        return [d, outer.jvp(d), outer.jvp(y), inner.jvp(outer.jvp(y))]

    close(both(program, 2.0), 32.0, 48.0, 32.0, None)


def test_265_forward_over_reverse() -> None:
    def program(x: Any) -> Any:
        with tj.ForwardAccumulator(x, c([1.0, 0.0])) as accumulator:
            with tj.GradientTape() as tape:
                tape.watch(x)
                y = x[0] ** 2 * x[1] ** 3
            slope = tape.gradient(y, x)
        return [slope, accumulator.jvp(slope)]

    close(both(program, [1.0, 2.0]), [16.0, 12.0], [16.0, 24.0])


def test_266_reverse_over_forward() -> None:
    def program(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            with tj.ForwardAccumulator(x, c([1.0, 0.0])) as accumulator:
                y = x[0] ** 2 * x[1] ** 3
            d = accumulator.jvp(y)
        return [d, tape.gradient(d, x)]

    close(both(program, [1.0, 2.0]), 16.0, [16.0, 24.0])


def test_267_inside_and_through_a_function_with_a_loop_and_a_choice() -> None:
    def f(x: Any) -> Any:
        for _ in range(3):
            x = x * x
        return np.where(x > 0.0, x * 2.0, x)

    close(moved(f, c(1.1)), 16.0 * 1.1**7)
    close(moved(lambda x: np.sin(x) * x, c(1.0)), np.cos(1.0) + np.sin(1.0))


def tenfold(value: Callable[[Any], Any]) -> Any:
    """A custom gradient of ten, whatever its value."""
    return tj.custom_gradient(lambda x: (value(x), lambda dy: dy * 10.0))


def test_268_271_a_custom_gradient_moves_by_its_rule_in_every_mode() -> None:
    close(moved(tenfold(lambda x: x * x), c(3.0)), 10.0)
    close(moved(tj.function(tenfold(lambda x: x * x)), c(3.0)), 10.0)


def test_269_a_body_that_needs_numbers_moves_by_its_rule() -> None:
    f, x = tenfold(lambda x: tj.constant(x.numpy() ** 2)), t(3.0)
    with tj.ForwardAccumulator(x, t(2.0)) as accumulator:
        y = f(x)
    close(y, 9.0)
    close(accumulator.jvp(y), 20.0)


def test_270_a_body_that_ends_in_stop_gradient_moves_by_its_rule() -> None:
    close(moved(tenfold(lambda x: tj.stop_gradient(x * x)), c(3.0)), 10.0)


def test_272_a_rule_that_is_not_linear_is_a_type_error() -> None:
    f = tj.custom_gradient(lambda x: (x * x, lambda dy: dy * dy * 10.0))
    error = refused(lambda x: f(x), c(3.0))
    assert type(error) is RuleTypeError
    assert isinstance(error, TypeError)
    assert "is not linear in its cotangent" in str(error)


def test_273_stopped_and_passed_through() -> None:
    def f(x: Any) -> Any:
        square, rounded = (tj.grad_pass_through(g)(x) for g in (lambda x: x * x, np.round))
        return [tj.stop_gradient(x), square, rounded]

    close(moved(f, c(3.0)), None, 1.0, 1.0)


def test_274_a_missing_rule_is_a_lookup_error_and_constant_steps_are_none() -> None:
    unique = new_unique()
    error = refused(lambda x: unique(x)[0], U)
    assert type(error) is NoGradientError
    assert str(error).startswith("no gradient is known for unique_of")
    assert moved(np.round, c([1.0, 2.0])) is None
    assert moved(np.argmax, c([1.0, 2.0])) is None
    close(moved(lambda x: np.take(x, [1, 1]), c([1.0, 2.0])), [1.0, 1.0])


def test_274_the_error_is_raised_where_the_tangent_is_asked_for() -> None:
    unique, x = new_unique(), tj.constant(U)
    with tj.ForwardAccumulator(x, tj.constant(U)) as accumulator:
        values = unique(x)[0]
        y = x * 2.0
    close(accumulator.jvp(y), 2.0 * U)
    with pytest.raises(LookupError, match=r"tj\.register_gradient"):
        accumulator.jvp(values)
