"""The examples of TensorFlow's documentation of its gradient markers, with the values it gives.

Only `tf.` is spelled otherwise (tests/tensorflow/namespace.py). Each example runs eagerly, with
what it differentiates compiled, and compiled as a whole, and has one answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tests.tensorflow.modes import plain
from tests.tensorflow.namespace import tf

Decorator = Callable[[Any], Any]
Example = Callable[[Decorator], Any]


def same(f: Any) -> Any:
    """f, which stays as it is."""
    return f


WAYS: dict[str, Callable[[Example], Any]] = {
    "eager": lambda example: example(same),
    "compiled": lambda example: example(tf.function),
    "inside": lambda example: tf.function(lambda: example(same))(),
}


@pytest.fixture(params=WAYS)
def run(request: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Example], Any]:
    """One way to run an example, which gets the decorator of what it differentiates."""
    monkeypatch.setenv("TRACEJIT_CACHE", "0")

    def run(example: Example) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return plain(WAYS[request.param](example))

    return run


def close(found: Any, wanted: Any) -> None:
    """float32 numbers, to rounding; None where None is wanted."""
    for one, other in zip(found, wanted, strict=True):
        if other is None:
            assert one is None
            continue
        assert one.dtype == np.float32 and one.shape == np.shape(other)
        np.testing.assert_allclose(one, np.float32(other), rtol=4 * np.finfo(np.float32).eps)


# tf.custom_gradient


def naive_log1pexp(x: Any) -> Any:
    return tf.math.log(1 + tf.exp(x))


@tf.custom_gradient
def log1pexp(x: Any) -> Any:
    e = tf.exp(x)

    def grad(upstream: Any) -> Any:
        return upstream * (1 - 1 / (1 + e))

    return tf.math.log(1 + e), grad


@pytest.mark.parametrize(("f", "slope"), [(naive_log1pexp, np.nan), (log1pexp, 1.0)])
def test_log1pexp_at_100(run: Any, f: Any, slope: float) -> None:
    def example(compiled: Decorator) -> Any:
        x = tf.constant(100.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = compiled(f)(x)
        return [tape.gradient(y, x)]

    close(run(example), [slope])


@pytest.mark.parametrize(("f", "slope"), [(naive_log1pexp, np.nan), (log1pexp, 1.0)])
def test_log1pexp_at_100_by_gradients(run: Any, f: Any, slope: float) -> None:
    def example(compiled: Decorator) -> Any:
        def dy_dx() -> Any:
            x = tf.constant(100.0)
            y = compiled(f)(x)
            return tf.gradients(y, x)

        return tf.function(dy_dx)()

    close(run(example), [slope])


def test_the_upstream_gradient_is_multiplied_along_a_chain(run: Any) -> None:
    def example(compiled: Decorator) -> Any:
        x = tf.constant(0.5)
        chain = compiled(lambda x: log1pexp(log1pexp(x)))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = chain(x)
        return [y, tape.gradient(y, x)]

    inner = np.log(1 + np.exp(0.5))
    slope = (1 - 1 / (1 + np.exp(inner))) * (1 - 1 / (1 + np.exp(0.5)))
    close(run(example), [np.log(1 + np.exp(inner)), slope])


def test_bar(run: Any) -> None:
    @tf.custom_gradient
    def bar(x: Any, y: Any) -> Any:
        def grad(upstream: Any) -> Any:
            dz_dx = y
            dz_dy = x
            return upstream * dz_dx, upstream * dz_dy

        z = x * y
        return z, grad

    def example(compiled: Decorator) -> Any:
        x = tf.constant(2.0, dtype=tf.float32)
        y = tf.constant(3.0, dtype=tf.float32)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            tape.watch(y)
            z = compiled(bar)(x, y)
        return [z, tape.gradient(z, x), tape.gradient(z, y)]

    assert_same(run(example), [np.float32(6.0), np.float32(3.0), np.float32(2.0)])


def test_a_custom_gradient_of_a_rule_is_with_respect_to_the_upstream(run: Any) -> None:
    """op1 is the square, op2 ten times dy * x, op3 a thousand times ddy."""

    @tf.custom_gradient
    def op(x: Any) -> Any:
        y = x**2

        @tf.custom_gradient
        def grad_fn(dy: Any) -> Any:
            gdy = 10.0 * dy * x

            def grad_grad_fn(ddy: Any) -> Any:
                return 1000.0 * ddy

            return gdy, grad_grad_fn

        return y, grad_fn

    def example(compiled: Decorator) -> Any:
        x, dy = tf.constant(3.0), tf.constant(1.0)
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, dy])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = compiled(op)(x)
            first = tape.gradient(y, x, output_gradients=dy)
        return [y, first, *outer.gradient(first, [x, dy])]

    close(run(example), [9.0, 30.0, None, 1000.0])


def test_a_custom_gradient_inside_a_rule_gives_the_second_order(run: Any) -> None:
    """The fused op is the cube; its second order is a hundred times the truth, to be told from
    it."""

    @tf.custom_gradient
    def op_with_fused_backprop(x: Any) -> Any:
        y, x_grad = x**3, 3.0 * x**2

        def first_order_gradient(dy: Any) -> Any:
            @tf.custom_gradient
            def first_order_custom(unused_x: Any) -> Any:
                def second_order_and_transpose(ddy: Any) -> Any:
                    return 600.0 * x * ddy

                return x_grad, second_order_and_transpose

            return dy * first_order_custom(x)

        return y, first_order_gradient

    def example(compiled: Decorator) -> Any:
        x = tf.constant(2.0)
        op = compiled(op_with_fused_backprop)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = op(x)
            first = tape.gradient(y, x)
        return [y, first, outer.gradient(first, x)]

    close(run(example), [8.0, 12.0, 1200.0])


def test_a_fused_rule_of_the_upstream_too_answers_for_both(run: Any) -> None:
    """second_order_and_transpose gives second_order_for_x and gradient_wrt_dy."""

    @tf.custom_gradient
    def op_with_fused_backprop(x: Any) -> Any:
        def first_order_gradient(dy: Any) -> Any:
            @tf.custom_gradient
            def first_order_custom(unused_x: Any, unused_dy: Any) -> Any:
                def second_order_and_transpose(ddy: Any) -> Any:
                    return ddy * dy * 600.0 * x, ddy * 300.0 * x**2

                return dy * 3.0 * x**2, second_order_and_transpose

            return first_order_custom(x, dy)

        return x**3, first_order_gradient

    def example(compiled: Decorator) -> Any:
        x, dy = tf.constant(2.0), tf.constant(5.0)
        op = compiled(op_with_fused_backprop)
        with tf.GradientTape() as outer:
            outer.watch([x, dy])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = op(x)
            first = tape.gradient(y, x, output_gradients=dy)
        return [y, first, *outer.gradient(first, [x, dy])]

    close(run(example), [8.0, 60.0, 6000.0, 1200.0])


def test_linear_poly(run: Any) -> None:
    """As written, although its gradient of the weights is in the wrong order."""
    weights = tf.Variable(tf.ones([2]))

    @tf.custom_gradient
    def linear_poly(x: Any) -> Any:
        poly = weights[1] * x + weights[0]

        def grad_fn(dpoly: Any, variables: Any) -> Any:
            grad_xs = dpoly * weights[1]

            grad_vars = []
            assert variables is not None
            assert len(variables) == 1
            assert variables[0] is weights
            dy_dw = dpoly * tf.stack([x**1, x**0])
            grad_vars.append(tf.reduce_sum(tf.reshape(dy_dw, [2, -1]), axis=1))
            return grad_xs, grad_vars

        return poly, grad_fn

    def example(compiled: Decorator) -> Any:
        x = tf.constant([1.0, 2.0, 3.0])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            poly = compiled(linear_poly)(x)
        return [poly, tape.gradient(poly, x), tape.gradient(poly, weights)]

    assert_same(run(example), [np.float32([2, 3, 4]), np.float32([1, 1, 1]), np.float32([6, 3])])


def test_linear_poly_without_its_rule_has_the_true_order(run: Any) -> None:
    weights = tf.Variable(tf.ones([2]))

    def example(compiled: Decorator) -> Any:
        x = tf.constant([1.0, 2.0, 3.0])
        with tf.GradientTape() as tape:
            poly = compiled(lambda x: weights[1] * x + weights[0])(x)
        return [poly, tape.gradient(poly, weights)]

    assert_same(run(example), [np.float32([2, 3, 4]), np.float32([3, 6])])


def test_shuffle_behind_a_stopped_gradient(run: Any) -> None:
    def example(compiled: Decorator) -> Any:
        x = tf.constant([0.3, 0.5], dtype=tf.float32)

        @tf.custom_gradient
        def test_func_with_stop_grad(x: Any) -> Any:
            @tf.function
            def _inner_func() -> Any:
                return tf.stop_gradient(tf.random.shuffle(x))

            res = _inner_func()

            def grad(upstream: Any) -> Any:
                return upstream

            return res, grad

        with tf.GradientTape() as g:
            g.watch(x)
            res = compiled(test_func_with_stop_grad)(x)
        return [res, g.gradient(res, x)]

    shuffled, slope = run(example)
    assert_same(np.sort(shuffled), np.float32([0.3, 0.5]))
    assert_same(slope, np.float32([1.0, 1.0]))


# tf.grad_pass_through


def test_assign_passes_the_gradient_through(run: Any) -> None:
    x = tf.Variable(1.0, name="x")
    z = tf.Variable(3.0, name="z")

    def example(compiled: Decorator) -> Any:
        with tf.GradientTape() as tape:
            y = compiled(lambda: tf.grad_pass_through(x.assign)(z**2))()
        return [y, tape.gradient(y, z)]

    assert_same(run(example), [np.float32(9.0), np.float32(6.0)])
    assert_same(plain([x, z]), [np.float32(9.0), np.float32(3.0)])


class MovingAverage:
    """The average of what it is called with, of which each value weighs half of all before it."""

    def __init__(self) -> None:
        self.average = tf.Variable(0.0, trainable=False)

    def __call__(self, x: Any) -> Any:
        return self.average.assign(0.5 * self.average + 0.5 * x)


def test_a_moving_average_is_differentiable_in_its_last_value(run: Any) -> None:
    moving_average = MovingAverage()

    def example(compiled: Decorator) -> Any:
        passed = compiled(lambda x: tf.grad_pass_through(moving_average)(x))
        results = []
        for value in (8.0, 16.0):
            x = tf.constant(value)
            with tf.GradientTape() as tape:
                tape.watch(x)
                mavg_x = passed(x)
            results += [mavg_x, tape.gradient(mavg_x, x)]
        return results

    assert_same(run(example), [np.float32(value) for value in (4.0, 1.0, 10.0, 1.0)])
    assert_same(plain(moving_average.average), np.float32(10.0))


def test_the_tutorial_passes_through_a_square(run: Any) -> None:
    @tf.grad_pass_through
    def custom_forward_function(x: Any) -> Any:
        return tf.math.square(x) + 2 * x

    def example(compiled: Decorator) -> Any:
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = compiled(custom_forward_function)(x)
        return [y, tape.gradient(y, x)]

    assert_same(run(example), [np.float32(15.0), np.float32(1.0)])


def test_the_tutorial_passes_through_a_relu(run: Any) -> None:
    @tf.grad_pass_through
    def custom_relu(x: Any) -> Any:
        return tf.maximum(x, 0)

    def composite_function(x: Any) -> Any:
        return 3 * custom_relu(x) + 2

    def example(compiled: Decorator) -> Any:
        x_values = tf.constant([-1.0, 0.0, 2.0, 4.0])
        with tf.GradientTape() as tape:
            tape.watch(x_values)
            result = compiled(composite_function)(x_values)
        return [result, tape.gradient(result, x_values)]

    assert_same(run(example), [np.float32([2, 2, 8, 14]), np.float32([3, 3, 3, 3])])


def test_the_tutorials_name_does_not_exist() -> None:
    """It says tf.experimental.grad_pass_through, which TensorFlow has not either."""
    assert not hasattr(tj, "experimental")


# tf.stop_gradient


def softmax(x: Any) -> Any:
    numerator = tf.exp(x)
    denominator = tf.reduce_sum(numerator)
    return numerator / denominator


def stable_softmax(x: Any) -> Any:
    z = x - tf.stop_gradient(tf.reduce_max(x))
    numerator = tf.exp(z)
    denominator = tf.reduce_sum(numerator)
    return numerator / denominator


def slopes_of_softmax(f: Any, values: list[float]) -> Example:
    """The value of f, and the gradient of its first element."""

    def example(compiled: Decorator) -> Any:
        x = tf.constant(values)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = compiled(f)(x)
            first = y[0]
        return [y, tape.gradient(first, x)]

    return example


def test_softmax_overflows_where_stable_softmax_does_not(run: Any) -> None:
    values = [100.0, 99.0, 98.0]
    p = np.exp([2.0, 1.0, 0.0]) / np.sum(np.exp([2.0, 1.0, 0.0]))
    nothing = [np.nan] * 3
    close(run(slopes_of_softmax(softmax, values)), [nothing, nothing])
    close(run(slopes_of_softmax(stable_softmax, values)), [p, p[0] * ([1, 0, 0] - p)])


def test_stable_softmax_where_the_maximum_is_not_unique(run: Any) -> None:
    p = np.array([0.5, 0.5])
    close(run(slopes_of_softmax(stable_softmax, [3.0, 3.0])), [p, [0.25, -0.25]])


def test_a_stopped_value_is_itself_and_a_constant(run: Any) -> None:
    def example(compiled: Decorator) -> Any:
        x = tf.constant([1.0, -2.0])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            stopped = compiled(tf.stop_gradient)(x)
            partly = x * stopped
        return [stopped, tape.gradient(stopped, x), tape.gradient(partly, x)]

    close(run(example), [[1.0, -2.0], None, [1.0, -2.0]])
