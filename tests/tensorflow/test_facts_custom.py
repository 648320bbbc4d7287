"""What TensorFlow's custom_gradient was seen to do, fact by fact, and what it does here.

The numbers are those of the list of observed behaviour: 119 to 129 the documented examples, 130 to
165 forms, arguments and results, 166 to 183 Variables, 184 to 202 composition and higher order.
Each program runs in every mode (tests/test_corners.py) and has one answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from queue import SimpleQueue as Queue
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.arrays import c
from tests.support.modes import check, drained, error_everywhere, everywhere
from tests.support.running import taped
from tracejit.support.errors import NoGradientError, RuleError, RuleTypeError


def passed(g: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function that calls `g`."""
    return tj.function(lambda *xs: g(*xs))


# Documented examples


def test_119_the_naive_log1pexp_overflows() -> None:
    def log1pexp(x: Any) -> Any:
        return np.log(1.0 + np.exp(x))

    with np.errstate(over="ignore", invalid="ignore"):
        answer = everywhere(log1pexp, c([0.0, 1.0, 100.0, 1000.0]), order=2)
    e = np.exp(-1.0)
    check([answer.value], [np.log(2.0), np.log(1 + np.exp(1.0)), 100.0, np.inf])
    check(answer.gradients, [0.5, 1 / (1 + e), 1.0, np.nan])
    second = answer.orders[1][0]
    np.testing.assert_allclose(second[:3], [0.25, e / (1 + e) ** 2, 0.0], rtol=1e-13, atol=1e-40)
    assert np.isnan(second[3])


def test_120_log1pexp_with_a_rule_in_float32() -> None:
    @tj.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = np.exp(x)

        def grad(upstream: Any) -> Any:
            return upstream * (1.0 - 1.0 / (1.0 + e))

        return np.log(1.0 + e), grad

    with np.errstate(over="ignore", invalid="ignore"):
        answer = everywhere(log1pexp, np.float32(100.0), order=2)
    check([answer.value], np.float32(np.inf))
    check(answer.gradients, np.float32(1.0))
    assert np.isnan(answer.orders[1][0]) and answer.orders[1][0].dtype == np.float32


def test_121_bar_has_none_for_what_its_first_gradient_ignores() -> None:
    @tj.custom_gradient
    def bar(x: Any, y: Any) -> Any:
        return x * y, lambda upstream: (upstream * y, upstream * x)

    answer = everywhere(bar, c(2.0), c(3.0), order=2)
    check([answer.value, *answer.gradients], 6.0, 3.0, 2.0)
    check(answer.orders[1], None, 1.0)


@tj.custom_gradient
def nested(x: Any) -> Any:
    """x**2 whose rule is a custom gradient of the cotangent."""

    @tj.custom_gradient
    def grad_fn(dy: Any) -> Any:
        return 10.0 * dy * x, lambda ddy: 1000.0 * ddy

    return x**2, grad_fn


def test_122_a_rule_that_is_a_custom_gradient_is_opaque_to_what_it_closes_over() -> None:
    answer = everywhere(nested, c(3.0), order=2)
    check([answer.value, *answer.gradients], 9.0, 30.0)
    check(answer.orders[1], None)


@pytest.mark.parametrize("watch_seed", [True, False])
def test_123_whether_or_not_the_seed_is_watched(watch_seed: bool) -> None:
    def program(x: Any, s: Any) -> Any:
        with tj.GradientTape(persistent=True) as outer:
            outer.watch([x, s] if watch_seed else x)
            with tj.GradientTape() as inner:
                inner.watch(x)
                y = nested(x)
            g = inner.gradient(y, x, output_gradients=s)
        return g, outer.gradient(g, x), outer.gradient(g, s)

    for run in (program, tj.function(program)):
        g, by_x, by_seed = run(tj.constant(3.0), tj.constant(1.0))
        assert (float(g), by_x) == (30.0, None)
        assert float(by_seed) == 1000.0 if watch_seed else by_seed is None


def test_124_the_fused_pattern() -> None:
    @tj.custom_gradient
    def op(x: Any) -> Any:
        y, x_grad = x**3, 3.0 * x**2

        def first_order_gradient(dy: Any) -> Any:
            @tj.custom_gradient
            def first_order_custom(unused_x: Any) -> Any:
                return x_grad, lambda ddy: 6.0 * x * ddy

            return dy * first_order_custom(x)

        return y, first_order_gradient

    answer = everywhere(op, c(2.0), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], 8.0, 12.0, 12.0)


def test_125_the_fused_pattern_with_two_inner_arguments() -> None:
    @tj.custom_gradient
    def op(x: Any) -> Any:
        def first(dy: Any) -> Any:
            @tj.custom_gradient
            def first_custom(unused_x: Any, unused_dy: Any) -> Any:
                def second(ddy: Any) -> Any:
                    return ddy * unused_dy * 6.0 * x, ddy * 3.0 * x**2

                return unused_dy * 3.0 * x**2, second

            return first_custom(x, dy)

        return x**3, first

    answer = everywhere(op, c(2.0), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], 8.0, 12.0, 12.0)


def test_126_linear_poly_with_a_variable() -> None:
    weights = tj.Variable([1.0, 1.0], name="weights")

    @tj.custom_gradient
    def linear_poly(x: Any) -> Any:
        def grad_fn(dpoly: Any, variables: Any) -> Any:
            assert len(variables) == 1 and variables[0] is weights
            dy_dw = dpoly * np.stack([x**1.0, x**0.0])
            return dpoly * weights[1], [np.sum(np.reshape(dy_dw, (2, -1)), axis=1)]

        return weights[1] * x + weights[0], grad_fn

    answer = everywhere(linear_poly, c([1.0, 2.0, 3.0]), variables=[weights])
    check([answer.value, *answer.gradients], [2.0, 3.0, 4.0], [1.0, 1.0, 1.0], [6.0, 3.0])


def test_127_the_true_gradient_of_linear_poly() -> None:
    weights = tj.Variable([1.0, 1.0])

    def linear_poly(x: Any) -> Any:
        return weights[1] * x + weights[0]

    answer = everywhere(linear_poly, c([1.0, 2.0, 3.0]), variables=[weights])
    check([answer.value, *answer.gradients], [2.0, 3.0, 4.0], [1.0, 1.0, 1.0], [3.0, 6.0])


def without_rule(x: Any) -> Any:
    """Differentiable in principle; no rule is known for it."""
    return np.linalg.svd(x, full_matrices=True)[2]


WIDE = c([[0.3, 0.5, 1.0], [0.2, -1.0, 0.7]])


@pytest.mark.parametrize("kind", ["plain", "stopped result", "stopped argument"])
def test_128_129_an_op_without_a_rule_in_a_function_in_a_custom_gradient(kind: str) -> None:
    """No cotangent reaches the op: the body is opaque."""

    def inner(x: Any) -> Any:
        if kind == "stopped argument":
            return without_rule(tj.stop_gradient(x))
        result = without_rule(x)
        return tj.stop_gradient(result) if kind == "stopped result" else result

    compiled = tj.function(inner)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return compiled(x), lambda upstream: upstream[:2] * 5.0

    answer = everywhere(f, WIDE)
    np.testing.assert_allclose(answer.value, without_rule(WIDE), rtol=1e-13)
    check(answer.gradients, np.full((2, 3), 5.0))


@pytest.mark.parametrize("stop", ["argument", "result"])
def test_129_stop_gradient_cuts_on_either_side_of_an_op_without_a_rule(stop: str) -> None:
    def f(x: Any) -> Any:
        if stop == "argument":
            return np.sum(x) * without_rule(tj.stop_gradient(x))
        return np.sum(x) * tj.stop_gradient(without_rule(x))

    answer = everywhere(f, WIDE)
    check(answer.gradients, np.full((2, 3), np.sum(without_rule(WIDE))))


def test_129_an_op_without_a_rule_is_an_error_where_its_gradient_is_asked_for() -> None:
    error = error_everywhere(lambda x: without_rule(x), WIDE)
    assert type(error) is NoGradientError and isinstance(error, LookupError)
    assert "svd" in str(error) and "np.linalg.svd(x, full_matrices=True)" in str(error)
    x = tj.constant(WIDE)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = passed(without_rule)(x)  # nobody has asked
    with pytest.raises(LookupError):
        tape.gradient(y, x)


# Forms, arguments and results


def seven(x: Any) -> Any:
    """The square, with a rule of its own."""
    return x * x, lambda dy: dy * 7.0


def test_130_forms_of_the_decorator() -> None:
    @tj.custom_gradient
    def bare(x: Any) -> Any:
        return seven(x)

    @tj.custom_gradient()
    def called(x: Any) -> Any:
        return seven(x)

    direct = tj.custom_gradient(seven)
    for f in (bare, called, direct, tj.custom_gradient(f=seven)):
        answer = everywhere(f, c(3.0))
        check([answer.value, *answer.gradients], 9.0, 7.0)
    assert direct.__name__ == "seven"
    assert direct.__doc__ == seven.__doc__
    assert direct.__wrapped__ is seven


def test_131_keyword_arguments() -> None:
    @tj.custom_gradient
    def f(x: Any, scale: float = 1.0) -> Any:
        return x * scale, lambda dy: dy * 10.0 * scale

    for g in (lambda x: f(x, scale=3.0), lambda x: f(scale=3.0, x=x), lambda x: f(x, 3.0)):
        answer = everywhere(g, c(2.0))
        check([answer.value, *answer.gradients], 6.0, 30.0)


def test_132_a_tensor_by_keyword_is_an_input_as_by_position() -> None:
    @tj.custom_gradient
    def short(x: Any, w: Any) -> Any:
        return x * w, lambda dy: dy * 10.0

    @tj.custom_gradient
    def f(x: Any, w: Any) -> Any:
        return x * w, lambda dy: (dy * 10.0, dy * 20.0)

    for g in (lambda x, w: f(x, w=w), lambda x, w: f(w=w, x=x), lambda x, w: f(x, w)):
        check(everywhere(g, c(2.0), c(3.0)).gradients, 10.0, 20.0)
    for g in (lambda x, w: short(x, w=w), lambda x, w: short(x, w)):
        error = error_everywhere(g, c(2.0), c(3.0))
        assert type(error) is RuleError
        assert "rule of short returned 1 gradients for 2 inputs (x, w)" in str(error)


def test_133_what_is_closed_over_gets_none() -> None:
    def program(x: Any, w: Any) -> Any:
        @tj.custom_gradient
        def f(x: Any) -> Any:
            return x * w, lambda dy: dy * 10.0

        return f(x)

    check(everywhere(program, c(2.0), c(3.0)).gradients, 10.0, None)


def test_134_a_default_is_no_input() -> None:
    @tj.custom_gradient
    def f(x: Any, k: float = 5.0) -> Any:
        return x * k, lambda dy: dy * 10.0 * k

    for g in (f, tj.function(f), tj.custom_gradient(f.__wrapped__)):
        answer = everywhere(g, c(2.0))
        check([answer.value, *answer.gradients], 10.0, 50.0)


def test_135_an_entry_for_a_python_number_is_dropped() -> None:
    @tj.custom_gradient
    def f(x: Any, k: float) -> Any:
        return x * k, lambda dy: (dy * 10.0, None)

    @tj.custom_gradient
    def any_value(x: Any, k: float) -> Any:
        return x * k, lambda dy: (dy * 10.0, "whatever")

    for g in (f, any_value):
        answer = everywhere(lambda x, g=g: g(x, 4.0), c(2.0))
        check([answer.value, *answer.gradients], 8.0, 10.0)


def test_136_no_entry_for_a_python_number() -> None:
    @tj.custom_gradient
    def f(x: Any, k: float) -> Any:
        return x * k, lambda dy: dy * 10.0

    answer = everywhere(lambda x: f(x, 4.0), c(2.0))
    check([answer.value, *answer.gradients], 8.0, 10.0)


@pytest.mark.parametrize("argument", [2.0, 2, "relu", True, None, np.float32, len], ids=repr)
def test_137_what_is_no_array_reaches_the_body_as_it_is(argument: Any) -> None:
    got = Queue()

    @tj.custom_gradient
    def f(x: Any, a: Any) -> Any:
        got.put(a)
        return x * 1.0, lambda dy: (dy * 3.0, None)

    check(everywhere(lambda x: f(x, argument), c(2.0)).gradients, 3.0)
    assert all(a is argument for a in drained(got))


def test_138_a_flag_decides() -> None:
    @tj.custom_gradient
    def f(x: Any, square: bool) -> Any:
        def grad(dy: Any) -> Any:
            return dy * (5.0 if square else 3.0), None

        return (x * x if square else x), grad

    for square, value, slope in ((True, 9.0, 5.0), (False, 3.0, 3.0)):
        answer = everywhere(lambda x, square=square: f(x, square), c(3.0))
        check([answer.value, *answer.gradients], value, slope)


def test_139_no_arguments() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f() -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            return [], [dy * 100.0]

        return v * 2.0, grad

    answer = everywhere(lambda x: f() * x, c(5.0), variables=[v])
    check([answer.value, *answer.gradients], 30.0, 6.0, 500.0)


def test_140_containers_as_arguments() -> None:
    @tj.custom_gradient
    def f(xs: Any, d: Any) -> Any:
        def grad(dy: Any) -> Any:
            return [dy * 1.0, dy * 2.0], {"a": dy * 3.0, "b": dy * 4.0}

        return xs[0] + xs[1] + d["b"] + d["a"], grad

    def g(p: Any, q: Any, r: Any, s: Any) -> Any:
        return f([p, q], {"b": r, "a": s})

    answer = everywhere(g, c(1.0), c(2.0), c(3.0), c(4.0))
    check([answer.value, *answer.gradients], 10.0, 1.0, 2.0, 4.0, 3.0)


@pytest.mark.parametrize("flat", [True, False])
def test_141_a_dict_counts_by_sorted_key_and_is_matched_by_key(flat: bool) -> None:
    @tj.custom_gradient
    def f(d: Any) -> Any:
        def grad(dy: Any) -> Any:
            a, z = dy * 1.0, dy * 2.0
            return (a, z) if flat else {"z": z, "a": a}

        return d["z"] + d["a"], grad

    answer = everywhere(lambda z, a: f({"z": z, "a": a}), c(1.0), c(2.0))
    check([answer.value, *answer.gradients], 3.0, 2.0, 1.0)


def test_142_a_list_of_gradients() -> None:
    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return x * y, lambda dy: [dy * 10.0, dy * 20.0]

    check(everywhere(f, c(2.0), c(3.0)).gradients, 10.0, 20.0)


@pytest.mark.parametrize("x", [c(2.0), np.float64(2.0), np.float32(2.0), c([1.0, 2.0])], ids=repr)
def test_143_a_python_number_as_a_gradient(x: Any) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda dy: 5.0

    check(everywhere(f, x).gradients, np.full_like(x, 5.0))


def test_144_an_array_as_a_gradient() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda dy: np.array([5.0, 6.0])

    check(everywhere(f, c([2.0, 3.0])).gradients, [5.0, 6.0])
    x = tj.constant([2.0, 3.0])
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert isinstance(tape.gradient(y, x), tj.Tensor)


@pytest.mark.parametrize("got", [1, 3])
def test_145_a_wrong_number_of_gradients(got: int) -> None:
    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return x * y, lambda dy: [dy] * got

    error = error_everywhere(lambda x, y: f(x, y), c(2.0), c(3.0))
    assert type(error) is RuleError and isinstance(error, ValueError)
    assert f"rule of f returned {got} gradients for 2 inputs (x, y)" in str(error)


def test_146_nothing_is_checked_where_no_gradient_is_asked_for() -> None:
    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return x * y, lambda dy: dy

    for run in (f, passed(f)):
        with tj.GradientTape() as tape:
            x, y = tj.constant(2.0), tj.constant(3.0)
            tape.watch([x, y])
            assert float(run(x, y).numpy()) == 6.0
        assert run(c(2.0), c(3.0)) == 6.0


def test_147_none_for_one_argument() -> None:
    @tj.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return x * y, lambda dy: (dy * 10.0, None)

    check(everywhere(f, c(2.0), c(3.0)).gradients, 10.0, None)


def test_148_the_input_itself_as_the_output() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x, lambda dy: dy * -1.0

    answer = everywhere(f, c([2.0, 3.0]), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], [2.0, 3.0], [-1.0, -1.0], None)


def test_149_an_output_that_depends_on_no_input() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return tj.constant(5.0), lambda dy: dy * 7.0 * x

    answer = everywhere(f, c(2.0))
    check([answer.value, *answer.gradients], 5.0, 14.0)


def test_150_a_returned_variable_is_read() -> None:
    v = tj.Variable(5.0)
    got = Queue()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            got.put(variables)
            return dy * 7.0, [dy * 70.0]

        return v, grad

    answer = everywhere(f, c(2.0), variables=[v])
    check([answer.value, *answer.gradients], 5.0, 7.0, 70.0)
    assert all(variables == [v] for variables in drained(got))


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x * x,
        lambda x: (x * x, 3),
        lambda x: None,
        lambda x: (x, lambda dy: dy, 5),
        lambda x: [x, lambda dy: dy],
    ],
)
@pytest.mark.parametrize("x", [c(2.0), c([2.0, 3.0]), c([2.0, 3.0, 4.0])], ids=repr)
def test_151_the_function_must_return_a_value_and_a_rule(answer: Any, x: Any) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return answer(x)

    error = error_everywhere(lambda x: f(x), x)
    assert type(error) is RuleTypeError and isinstance(error, TypeError)
    assert "f is a custom gradient and must return (value, grad_fn)" in str(error)


def test_152_an_unused_output_brings_zeros() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return (x * 2.0, x * 3.0), lambda da, db: da * 10.0 + db * 100.0 + 1.0

    answer = everywhere(lambda x: f(x)[0], c(2.0), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], 4.0, 11.0, None)


def test_153_a_dict_of_outputs_brings_cotangents_by_sorted_key() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(*dys: Any) -> Any:
            return dys[0] * 10.0 + dys[1] * 100.0

        return {"z": x * 2.0, "a": x * 3.0}, grad

    def g(x: Any) -> Any:
        d = f(x)
        return d["z"] * 1.0 + d["a"] * 5.0

    answer = everywhere(g, c(2.0))
    check([answer.value, *answer.gradients], 34.0, 150.0)


class Pair(NamedTuple):
    p: Any
    q: Any


@pytest.mark.parametrize(
    "make",
    [
        lambda x: [x, x],
        lambda x: (x, x),
        lambda x: {"a": x},
        lambda x: Pair(x, x),
        lambda x: (x, [x, {"k": x}]),
        lambda x: [x],
        lambda x: (x,),
        lambda x: (x, None),
        lambda x: (x, "text"),
    ],
)
def test_154_containers_of_outputs_stay_what_they_are(make: Any) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return make(x), lambda *dys: sum(dys) * 2.0

    answer = everywhere(f, c(1.0))
    expected = make(np.array(1.0))
    assert type(answer.value) is type(expected)
    assert repr(answer.value) == repr(expected)
    tensors = str(make("array")).count("array")
    check(answer.gradients, 2.0 * tensors)


def test_154_no_outputs_at_all() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return (), lambda: None

    answer = everywhere(lambda x: (x * 3.0, f(x)), c(1.0))
    assert answer.value[1] == ()
    check(answer.gradients, 3.0)


def test_155_an_integer_output_brings_none() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(da: Any, di: Any) -> Any:
            assert di is None
            return da * 10.0

        return (x * 2.0, x.astype(np.int32)), grad

    for g in (f, lambda x: f(x)[0], lambda x: f(x)[0] * f(x)[1]):
        everywhere(g, c(2.0))
    check(everywhere(lambda x: f(x)[0], c(2.0)).gradients, 10.0)
    check(everywhere(lambda x: f(x)[0] * f(x)[1], c(2.0)).gradients, 20.0)


def test_156_an_integer_argument_gets_none() -> None:
    @tj.custom_gradient
    def f(x: Any, i: Any) -> Any:
        return x * i.astype(float), lambda dy: (dy * 10.0, dy * 99.0)

    answer = everywhere(f, c(2.0), np.array(3))
    check([answer.value, *answer.gradients], 6.0, 10.0, None)


@pytest.mark.parametrize(
    ("given", "wanted"), [("f4", "f8"), ("f8", "f4"), ("i8", "f8"), ("?", "f4")]
)
def test_157_a_gradient_of_another_real_dtype_is_cast(given: str, wanted: str) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda dy: (dy * 10.0).astype(given)

    check(
        everywhere(f, np.array([2.0, 1.0], wanted)).gradients,
        np.full(2, 10.0, given).astype(wanted),
    )


def test_157_a_complex_gradient_of_a_real_argument_is_refused() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda dy: dy * 1j

    error = error_everywhere(lambda x: f(x), c([2.0]))
    assert type(error) is RuleTypeError and isinstance(error, TypeError)
    assert "rule of f returned a complex gradient" in str(error)
    assert "for x, which is float64" in str(error)


@pytest.mark.parametrize("shape", [(3,), (), (1,), (2, 1)], ids=repr)
def test_158_a_gradient_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return np.sum(x), lambda dy: np.ones(shape)

    error = error_everywhere(lambda x: f(x), c([1.0, 2.0]))
    assert type(error) is RuleError and isinstance(error, ValueError)
    assert f"rule of f returned shape {shape} for x, which has shape (2,)" in str(error)


class OwnError(Exception):
    """One that no library knows."""


@pytest.mark.parametrize("kind", [ZeroDivisionError, IndexError, KeyError, OwnError])
def test_159_an_exception_in_a_rule_stays_what_it_is(kind: type[Exception]) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            raise kind("mine")

        return x * x, grad

    error = error_everywhere(f, c(2.0))
    assert type(error) is kind and error.args == ("mine",)


def test_160_the_cotangent_of_an_indexed_output_is_dense() -> None:
    seen = Queue()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            seen.put(dy.shape)
            return dy * 10.0

        return x * 1.0, grad

    answer = everywhere(lambda x: f(x)[np.array([0, 0, 2])], c([1.0, 2.0, 3.0]))
    check(answer.gradients, [20.0, 0.0, 10.0])
    assert set(drained(seen)) == {(3,)}


class Forms:
    """The forms of a method."""

    def __init__(self, k: float) -> None:
        self.k = k

    @tj.custom_gradient
    def method(self, x: Any) -> Any:
        return x * self.k, lambda dy: dy * 10.0 * self.k

    @staticmethod
    @tj.custom_gradient
    def static(x: Any) -> Any:
        return x * 2.0, lambda dy: dy * 20.0

    @classmethod
    @tj.custom_gradient
    def of_class(cls, x: Any) -> Any:
        return x * 3.0, lambda dy: dy * 30.0

    def __call__(self, x: Any) -> Any:
        return x * 4.0, lambda dy: dy * 40.0


def test_161_methods_and_callable_objects() -> None:
    a, b = Forms(5.0), Forms(6.0)
    forms = [
        (a.method, 10.0, 50.0),
        (b.method, 12.0, 60.0),
        (a.static, 4.0, 20.0),
        (Forms.static, 4.0, 20.0),
        (Forms.of_class, 6.0, 30.0),
        (tj.custom_gradient(a), 8.0, 40.0),
        (tj.custom_gradient(Forms(7.0).__call__), 8.0, 40.0),
        (lambda x: Forms.method(a, x), 10.0, 50.0),
    ]
    for f, value, slope in forms:
        answer = everywhere(f, c(2.0))
        check([answer.value, *answer.gradients], value, slope)


def test_162_custom_gradient_over_a_function() -> None:
    """Stacking in either order is the same thing; a rule cannot be given back by compiled code."""

    @tj.custom_gradient
    @tj.function
    def over(x: Any) -> Any:
        return x * x, lambda dy: dy * 7.0

    @tj.function
    @tj.custom_gradient
    def under(x: Any) -> Any:
        return x * x, lambda dy: dy * 7.0

    for f in (over, under):
        answer = everywhere(f, c(3.0))
        check([answer.value, *answer.gradients], 9.0, 7.0)


def test_163_partials_and_lambdas() -> None:
    def base(k: float, x: Any) -> Any:
        return x * k, lambda dy: dy * k * 10.0

    for f, value, slope in (
        (tj.custom_gradient(functools.partial(base, 3.0)), 6.0, 30.0),
        (tj.custom_gradient(lambda x: (x * 2.0, lambda dy: dy * 20.0)), 4.0, 20.0),
    ):
        answer = everywhere(f, c(2.0))
        check([answer.value, *answer.gradients], value, slope)


def test_164_how_often_a_body_and_a_rule_run() -> None:
    """They print: a function that changes what it reads is recorded at each call."""

    @tj.custom_gradient
    def f(x: Any) -> Any:
        print("body")  # noqa: T201

        def grad(dy: Any) -> Any:
            print("rule")  # noqa: T201
            return dy * 10.0

        return x * x, grad

    def count(run: Callable[[], object]) -> list[int]:
        with redirect_stdout(StringIO()) as printed:
            for _ in range(3):
                run()
        return [printed.getvalue().count(word) for word in ("body", "rule")]

    def twice(g: Callable[..., Any]) -> Callable[[], None]:
        def run() -> None:
            x = tj.constant(2.0)
            with tj.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = g(x)
            assert tape.gradient(y, x).numpy() == tape.gradient(y, x).numpy() == 10.0

        return run

    @tj.function
    def inside(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    assert count(twice(f)) == [3, 6]
    assert count(lambda: inside(c(2.0))) == [1, 1]
    body, rule = count(twice(tj.function(f)))
    assert body == 1 and 1 <= rule <= 6, (body, rule)


def test_165_a_rule_that_no_source_asks_for_is_not_called() -> None:
    calls = Queue()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            calls.put(1)
            return dy

        return x * x, grad

    def eager(x: Any, w: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch([x, w])
            y = f(x) * w
        return tape.gradient(y, w)

    def symbolic(x: Any, w: Any) -> Any:
        return tj.gradients(f(x) * w, w)

    x, w = tj.constant(2.0), tj.constant(3.0)
    for run in (eager, tj.function(eager), tj.function(symbolic)):
        run(x, w)
    tj.grad(lambda w: f(c(2.0)) * w)(3.0)
    assert drained(calls) == []


# Variables


def test_166_a_variable_that_is_read() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            assert len(variables) == 1 and variables[0] is v
            return dy * 10.0, [dy * 100.0]

        return x * v, grad

    answer = everywhere(f, c(2.0), variables=[v], order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], 6.0, 10.0, 100.0, None)


def test_167_a_rule_that_cannot_take_variables() -> None:
    v = tj.Variable(3.0, name="speed")

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * v, lambda dy: dy * 10.0

    error = error_everywhere(lambda x: f(x), c(2.0), variables=[v])
    assert type(error) is RuleTypeError and isinstance(error, TypeError)
    assert "f reads Variables (speed" in str(error)
    assert "lambda x: f(x)" in str(error)
    for call in (lambda: f(tj.constant(2.0)), lambda: passed(f)(c(2.0)), lambda: f(c(2.0))):
        with pytest.raises(RuleTypeError):  # at the call, with no tape in sight
            call()


def test_168_a_default_stands_where_no_variable_is_read() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            assert variables is None
            return dy * 10.0

        return x * x, grad

    check(everywhere(f, c(2.0)).gradients, 10.0)


@pytest.mark.parametrize("keyword_only", [True, False])
def test_169_a_parameter_without_default_gets_an_empty_list(keyword_only: bool) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any) -> Any:
            assert variables == []
            return dy * 10.0, []

        def grad_with_keyword(dy: Any, *, variables: Any) -> Any:
            return grad(dy, variables)

        return x * x, grad_with_keyword if keyword_only else grad

    check(everywhere(f, c(2.0)).gradients, 10.0)


@pytest.mark.parametrize("x", [c(2.0), c([1.0, 2.0])], ids=repr)
def test_170_a_rule_with_variables_that_returns_no_pair(x: Any) -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * 10.0

        return x * v, grad

    error = error_everywhere(lambda x: f(x), x, variables=[v])
    assert type(error) is RuleTypeError
    assert "rule of f takes variables and must return (grad_xs, grad_vars)" in str(error)


@pytest.mark.parametrize("kind", [tuple, list, lambda one: one[0], lambda one: {"v": one[0]}])
def test_171_gradients_of_variables_in_any_sequence(kind: Any) -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * v, lambda dy, variables=None: (dy * 10.0, kind([dy * 100.0]))

    check(everywhere(f, c(2.0), variables=[v]).gradients, 10.0, 100.0)


def test_172_two_variables() -> None:
    v, w = tj.Variable(3.0, name="v"), tj.Variable(4.0, name="w")

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * 10.0, [dy * (100.0 if u is v else 200.0) for u in variables]

        return x * v * w, grad

    answer = everywhere(f, c(2.0), variables=[v, w])
    check([answer.value, *answer.gradients], 24.0, 10.0, 100.0, 200.0)


def test_173_variables_come_in_order_of_first_read() -> None:
    vs = [tj.Variable(1.0, name=name) for name in "dbacfe"]
    orders = Queue()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            orders.put("".join(u.name for u in variables))
            return dy, [dy * k for k in range(6)]

        return x * sum(u * 1.0 for u in [*vs, *vs]), grad

    answer = everywhere(f, c(1.0), variables=vs)
    check(answer.gradients, 1.0, *[float(k) for k in range(6)])
    assert set(drained(orders)) == {"dbacfe"}


def test_173_a_variable_that_is_not_trainable_is_none_of_them() -> None:
    v = tj.Variable(3.0, trainable=False)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * v, lambda dy: dy * 10.0

    check(everywhere(f, c(2.0), variables=[v]).gradients, 10.0, None)


def test_174_a_variable_read_in_vain_is_one_of_them() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        v.read_value()

        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * 10.0, [dy * 100.0]

        return x * 2.0, grad

    answer = everywhere(f, c(2.0), variables=[v])
    check([answer.value, *answer.gradients], 4.0, 10.0, 100.0)


def test_175_a_variable_read_in_the_rule_alone() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 2.0, lambda dy: dy * v

    answer = everywhere(f, c(2.0), variables=[v], order=2)
    check([*answer.gradients, *answer.orders[1]], 3.0, None, None)


def test_176_a_variable_as_an_argument() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any, u: Any) -> Any:
        return x * u, lambda dy: (dy * 10.0, dy * 100.0)

    for g in (lambda x: f(x, v), lambda x: f(u=v, x=x)):
        answer = everywhere(g, c(2.0), variables=[v])
        check([answer.value, *answer.gradients], 6.0, 10.0, 100.0)


def test_177_a_variable_is_passed_as_itself() -> None:
    v = tj.Variable(3.0)
    got = Queue()

    @tj.custom_gradient
    def f(u: Any) -> Any:
        got.put(u is v)
        return u * 2.0, lambda dy: dy * 50.0

    @tj.custom_gradient
    def g(u: Any) -> Any:
        u.assign(5.0)
        return u * 2.0, lambda dy: dy * 50.0

    answer = everywhere(lambda x: f(v) * x, c(1.0), variables=[v])
    check([answer.value, *answer.gradients], 6.0, 6.0, 50.0)
    assert all(drained(got))
    answer = everywhere(lambda x: g(v) * x, c(1.0), variables=[v])
    check([answer.value], 10.0)
    for run in (g, tj.function(g)):
        v.assign(3.0)
        assert float(run(v)) == 10.0
        assert float(v.numpy()) == 5.0


def test_178_a_variable_that_is_passed_and_read_is_one_input() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any, u: Any) -> Any:
        return x * u * v, lambda dy: (dy * 10.0, dy * 100.0)

    answer = everywhere(lambda x: f(x, v), c(2.0), variables=[v])
    check([answer.value, *answer.gradients], 18.0, 10.0, 100.0)


def test_179_variables_are_handed_over_though_tapes_do_not_watch_them() -> None:
    v = tj.Variable(3.0)
    got = Queue()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            got.put(len(variables))
            return dy * 10.0, [dy * 100.0]

        return x * v, grad

    def program(x: Any, watched: bool) -> Any:
        with tj.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([x, v] if watched else x)
            y = f(x)
        return tape.gradient(y, [x, v])

    for run in (program, tj.function(program)):
        by_x, by_v = run(tj.constant(2.0), False)
        assert (float(by_x), by_v) == (10.0, None)
        assert [float(g) for g in run(tj.constant(2.0), True)] == [10.0, 100.0]
    assert set(drained(got)) == {1}


def test_180_an_outer_custom_gradient_answers_for_what_an_inner_one_reads() -> None:
    v = tj.Variable(3.0, name="v")

    @tj.custom_gradient
    def inner(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * 10.0, [dy * 100.0]

        return x * v, grad

    @tj.custom_gradient
    def cannot(x: Any) -> Any:
        return inner(x), lambda dy: dy * 7.0

    @tj.custom_gradient
    def can(x: Any) -> Any:
        return inner(x), lambda dy, variables=None: (dy * 7.0, [dy * 700.0])

    answer = everywhere(can, c(2.0), variables=[v])
    check([answer.value, *answer.gradients], 6.0, 7.0, 700.0)
    error = error_everywhere(lambda x: cannot(x), c(2.0), variables=[v])
    assert type(error) is RuleTypeError
    assert "cannot reads Variables (v" in str(error)


def test_181_a_variable_that_is_only_assigned_is_not_read() -> None:
    v = tj.Variable(3.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        v.assign(x)
        return x * 2.0, lambda dy: dy * 10.0

    answer = everywhere(f, c(2.0), variables=[v])
    check([answer.value, *answer.gradients], 4.0, 10.0, None)


def test_182_a_wrong_shape_for_a_variable() -> None:
    v = tj.Variable([3.0, 4.0], name="v")

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * 10.0, [np.ones(5)]

        return x * np.sum(v), grad

    error = error_everywhere(lambda x: f(x), c(2.0), variables=[v])
    assert type(error) is RuleError
    assert "rule of f returned shape (5,) for v, which has shape (2,)" in str(error)


def test_183_a_variable_made_in_the_body_is_one_like_others() -> None:
    """There is one kind of Variable; one that is made at every call is read at every call."""
    made = []

    @tj.custom_gradient
    def f(x: Any) -> Any:
        if not made:
            made.append(tj.Variable(3.0))

        def grad(dy: Any, variables: Any) -> Any:
            assert [u is made[0] for u in variables] == [True]
            return dy, [dy * 5.0]

        return x * made[0], grad

    x = tj.constant(2.0)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    by_x, by_v = tape.gradient(y, [x, made[0]])
    assert (float(y), float(by_x), float(by_v)) == (6.0, 1.0, 5.0)


# Composition, higher order, loops


def test_184_two_in_a_chain() -> None:
    @tj.custom_gradient
    def a(x: Any) -> Any:
        return x * 2.0, lambda dy: dy * 10.0

    @tj.custom_gradient
    def b(x: Any) -> Any:
        return x * 3.0, lambda dy: dy * 7.0

    answer = everywhere(lambda x: b(a(x)), c(2.0), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], 12.0, 70.0, None)


def test_185_three_uses_of_one_input() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda dy: dy * 10.0 * x

    answer = everywhere(lambda x: f(x) + f(x) * 2.0 + f(f(x)), c(2.0), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], 28.0, 860.0, 4430.0)


def test_186_second_order_is_the_derivative_of_the_rule() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x**3.0, lambda dy: 10.0 * dy * x**2.0

    answer = everywhere(f, c(2.0), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], 8.0, 40.0, 40.0)


def test_187_a_value_that_the_rule_closes_over_has_its_true_derivative() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        y = x**3.0
        return y, lambda dy: dy * 10.0 * y

    answer = everywhere(f, c(2.0), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], 8.0, 80.0, 120.0)


def test_188_a_rule_that_calls_its_function_again() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x**3.0, lambda dy: dy * 10.0 * f(x)

    answer = everywhere(f, c(2.0), order=3)
    orders = [gradients[0] for gradients in answer.orders]
    check([answer.value, *orders], 8.0, 80.0, 800.0, 8000.0)


def test_189_stop_gradient_cuts_second_order() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        y = np.exp(x)
        return y, lambda dy: dy * tj.stop_gradient(y)

    answer = everywhere(f, c([0.0, 1.0]), order=2)
    check([*answer.gradients, *answer.orders[1]], np.exp([0.0, 1.0]), None)


def test_190_to_fourth_order() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x**4, lambda dy: 4.0 * dy * x**3

    answer = everywhere(f, c(2.0), order=4)
    orders = [gradients[0] for gradients in answer.orders]
    check([answer.value, *orders], 16.0, 32.0, 48.0, 48.0, 24.0)


def test_191_a_straight_through_estimator() -> None:
    @tj.custom_gradient
    def ste(x: Any) -> Any:
        return np.round(x), lambda dy: dy

    answer = everywhere(lambda x: ste(x) ** 2.0, c([1.4, 2.6]), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], [1.0, 9.0], [2.0, 6.0], [2.0, 2.0])


def test_192_a_square_root_that_is_safe_at_zero() -> None:
    @tj.custom_gradient
    def safe_sqrt(x: Any) -> Any:
        y = np.sqrt(x)

        def grad(dy: Any) -> Any:
            return np.where(y > 0.0, dy * 0.5 / np.where(y > 0.0, y, 1.0), 0.0)

        return y, grad

    answer = everywhere(safe_sqrt, c([0.0, 4.0, 9.0]))
    check([answer.value, *answer.gradients], [0.0, 2.0, 3.0], [0.0, 0.25, 0.5 / 3.0])
    answer = everywhere(safe_sqrt, c([4.0, 9.0]), order=2)
    check(answer.orders[1], [-0.25 / 8.0, -0.25 / 27.0])


def test_193_in_a_loop() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 2.0, lambda dy: dy * 3.0

    def g(x: Any) -> Any:
        for _ in range(4):
            x = f(x)
        return x

    answer = everywhere(g, c(1.0), order=2)
    check([answer.value, *answer.gradients, *answer.orders[1]], 16.0, 81.0, None)


def test_194_in_a_loop_with_a_variable() -> None:
    v = tj.Variable(2.0)

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * v, lambda dy, variables=None: (dy * 3.0, [dy * 100.0])

    def g(x: Any) -> Any:
        for _ in range(3):
            x = f(x)
        return x

    answer = everywhere(g, c(1.0), variables=[v])
    check([answer.value, *answer.gradients], 8.0, 27.0, 1300.0)


def test_196_jacobians_use_the_rule() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda dy: dy * 10.0 * x

    def jacobian(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    def batch_jacobian(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.batch_jacobian(y, x)

    x, rows = tj.constant([1.0, 2.0]), tj.constant([[1.0, 2.0], [3.0, 4.0]])
    for wrap in (lambda g: g, tj.function):
        check([wrap(jacobian)(x).numpy()], [[10.0, 0.0], [0.0, 20.0]])
        found = wrap(batch_jacobian)(rows).numpy()
        check([found], [[[10.0, 0.0], [0.0, 20.0]], [[30.0, 0.0], [0.0, 40.0]]])


def test_197_a_rule_that_leaves_the_tape() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return tj.constant(x.numpy() ** 2), lambda dy: tj.constant(dy.numpy() * 10.0)

    x = tj.constant([1.0, 2.0])
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    check([tape.gradient(y, x).numpy()], [10.0, 10.0])
    check([tape.jacobian(y, x).numpy()], [[10.0, 0.0], [0.0, 10.0]])


def test_198_an_intermediate_value_of_the_body() -> None:
    leak = []

    @tj.custom_gradient
    def f(x: Any) -> Any:
        u = x * 3.0
        leak.append(u)
        return u * u, lambda dy: dy * 10.0

    def program(x: Any) -> Any:
        leak.clear()
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
        u = leak.pop()
        return tape.gradient(y, u), tape.gradient(u, x), tape.gradient(y, x)

    for run in (program, tj.function(program)):
        of_leak, leaks, by_x = run(tj.constant(2.0))
        assert (of_leak, float(leaks), float(by_x)) == (None, 3.0, 10.0)


@pytest.mark.parametrize("watch_argument", [True, False])
def test_199_200_opaque_whether_or_not_an_argument_is_watched(watch_argument: bool) -> None:
    def program(w: Any) -> Any:
        k = tj.constant(2.0)

        @tj.custom_gradient
        def f(x: Any) -> Any:
            return x * w * w, lambda dy: dy * 10.0

        with tj.GradientTape() as tape:
            tape.watch([k, w] if watch_argument else w)
            y = f(k)
        return y, tape.gradient(y, w)

    for run in (program, tj.function(program)):
        y, by_w = run(tj.constant(3.0))
        assert (float(y), by_w) == (18.0, None)


def test_199_no_argument_is_watched() -> None:
    def program(w: Any) -> Any:
        k = tj.constant(2.0)

        @tj.custom_gradient
        def f(x: Any) -> Any:
            return x * w * w, lambda dy: dy * 10.0

        return f(k)

    answer = everywhere(program, c(3.0))
    check([answer.value, *answer.gradients], 18.0, None)


def test_201_uses_of_an_output_are_summed_before_the_rule() -> None:
    seen = Queue()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            seen.put(dy)
            return dy * 10.0

        return x * x, grad

    def g(x: Any) -> Any:
        y = f(x)
        return y * 3.0 + y * y + y

    x = tj.constant(2.0)
    with tj.GradientTape() as tape:
        tape.watch(x)
        z = g(x)
    assert float(tape.gradient(z, x)) == 120.0
    assert [float(dy) for dy in drained(seen)] == [12.0]
    assert tj.grad(g)(2.0) == 120.0
    assert len(drained(seen)) == 1


def test_202_the_undecorated_function_is_the_function() -> None:
    """`Function.python` is what calling functions eagerly asks for elsewhere."""

    @tj.custom_gradient
    def f(x: Any, scale: float = 1.0) -> Any:
        return x * scale, lambda dy: dy * 10.0 * scale

    compiled = tj.function(lambda x: f(x, scale=3.0))
    for run in (compiled, compiled.python):
        y, (slope,) = taped(run, c(2.0))
        assert (float(y), float(slope)) == (6.0, 30.0)
