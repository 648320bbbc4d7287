"""`check_grads`: what it accepts, what it finds, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day

X = np.array([0.5, -1.0, 2.0])
Y = np.array([1.0, 2.0, -0.5])
Z = np.array([0.5 + 0.25j, -1.0 + 2.0j])


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Layer:
    w: Any
    b: Any


@tj.custom_gradient
def log1pexp(x: Any) -> Any:
    e = np.exp(x)
    return np.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))


def taped(x: Any) -> Any:
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(np.sin(x) * x)
    return tape.gradient(y, x)


RIGHT: dict[str, tuple[Callable[..., Any], Any]] = {
    "analytic": (lambda x, y: np.sin(x) @ y, (X, Y)),
    "scalar": (lambda x: x**3, 2.0),
    "numpy scalar": (np.tanh, np.float64(0.3)),
    "array of no axes": (np.exp, np.array(0.3)),
    "array to array": (lambda x: np.outer(x, np.cos(x)), X),
    "kinks elsewhere": (lambda x: np.abs(x) * np.maximum(x, 0.1), X),
    "near a pole": (lambda x: np.log(x), np.array([1e-5, 1e-3, 1.0])),
    "large numbers": (lambda x: np.sum(x**2), 1e6 * X),
    "small numbers": (lambda x: 1e-12 * np.sum(x**3), X),
    "complex argument": (lambda z: np.sum(np.abs(z) ** 2), Z),
    "complex result": (lambda z: z * np.exp(z), Z),
    "real to complex": (lambda x: np.exp(1j * x), X),
    "complex to real": (lambda z: np.angle(z) * np.real(z), Z),
    "single precision": (lambda x: np.sum(np.tanh(x) ** 2), X.astype("f4")),
    "single precision inside": (lambda x: np.sum(x.astype("f4") ** 2) * x, X),
    "a tape": (lambda x: taped(x), X),
    "mixed precision": (lambda x, y: np.sum(np.tanh(x) * y), (X.astype("f4"), Y)),
    "dict": (lambda p: np.sum(p["w"] ** 2) * p["b"], {"w": X, "b": 2.0}),
    "named tuple": (lambda p: np.sum(p.left**2) * p.right, Pair(X, Y)),
    "dataclass": (lambda p: {"out": np.tanh(p.w) + p.b}, Layer(X, 1.0)),
    "nested": (lambda p, k: [np.sum(q["w"] ** k) for q in p], ([{"w": X**2}, {"w": Y**2}], 3)),
    "not all floating": (lambda x, i, mode: x[i] if mode else -x, (X, np.array([2, 0]), "take")),
    "a result that does not move": (lambda x: (x * x, np.argmax(x), "text"[:0] == ""), X),
    "no result that moves": (lambda x: np.argmax(x), X),
    "custom gradient": (log1pexp, X),
    "compiled": (tj.function(lambda x: np.sum(np.sin(x) ** 2)), X),
    "gradient": (tj.grad(lambda x: np.sum(np.sin(x) ** 2)), X),
    "jacobian": (tj.jacobian(lambda x: np.sin(x) * x[0]), X),
    "vmap": (tj.vmap(lambda x: np.sin(x) * x), X),
    "Variable": (lambda v: v * v, tj.Variable(X)),
    "eager Tensor": (lambda v: v * v, tj.constant(X)),
    "recomputed": (tj.recompute_grad(lambda x: np.sin(np.sin(x))), X),
    "no elements": (lambda x: np.sum(x**2), np.zeros((0, 3))),
    "many elements": (lambda x: np.sum(x**3), np.linspace(0.0, 1.0, 1000)),
    "linear algebra": (lambda a: np.linalg.inv(a + 3.0 * np.eye(3)), np.outer(X, Y)),
}


@pytest.mark.parametrize("case", some_by_day(RIGHT, 4), ids=str)
def test_right_derivatives_pass(case: str) -> None:
    f, args = RIGHT[case]
    tj.check_grads(f, args)


def test_third_order() -> None:
    tj.check_grads(lambda x, y: np.sum(np.sin(x) * y**2), (X, Y), order=3)


def test_settings_of_tolerance_and_step() -> None:
    @tj.custom_gradient
    def nearly(x: Any) -> Any:
        return x * x, lambda upstream: upstream * 2.0 * x * 1.001

    with pytest.raises(AssertionError):
        tj.check_grads(nearly, X, order=1)
    tj.check_grads(nearly, X, order=1, rtol=1e-2)
    tj.check_grads(nearly, X, order=1, atol=1e-1)
    tj.check_grads(lambda x: np.abs(x), X, eps=1e-4)


# What it finds


@tj.custom_gradient
def twice(x: Any) -> Any:
    return 2.0 * x, lambda upstream: 3.0 * upstream


def failure(f: Callable[..., Any], args: Any, **options: Any) -> str:
    """What the AssertionError says."""
    with pytest.raises(AssertionError) as caught:
        tj.check_grads(f, args, **options)
    assert not isinstance(caught.value, tj.TracejitError)
    return str(caught.value)


def test_the_failure_names_function_argument_index_numbers_and_marker() -> None:
    def model(p: Any, scale: Any) -> Any:
        bent = twice(p["w"][1, 2])
        return bent * scale + np.sum(p["w"])

    text = failure(model, ({"w": np.ones((2, 3))}, 0.5))
    assert text.splitlines()[0] == (
        "model: the first derivative in forward mode with respect to p['w'][1, 2] is wrong."
    )
    assert re.search(r"analytic  2\.5\b", text)
    assert re.search(r"numeric   2\b.*by complex step", text)
    assert "the custom gradient of twice: bent = twice(p" in text
    assert "reverse mode" in failure(model, ({"w": np.ones((2, 3))}, 0.5), modes=("rev",))


def test_the_worst_element_is_shown() -> None:
    @tj.custom_gradient
    def bad(x: Any) -> Any:
        return np.sum(x * x), lambda upstream: upstream * (2.0 * x + np.array([0.0, 0.1, 0.2]))

    text = failure(bad, X, modes=["rev"])
    assert "with respect to x[2]" in text
    assert "the worst of 2 elements" in text


def test_markers_that_disagree_on_purpose_are_named() -> None:
    rounded = tj.grad_pass_through(np.rint)
    assert "straight-through" in failure(lambda x: np.sum(rounded(x) * x), X)
    assert "stop_gradient" in failure(lambda x: np.sum(tj.stop_gradient(x) * x), X)


def test_the_second_order_is_checked_by_itself() -> None:
    @tj.custom_gradient
    def square(x: Any) -> Any:
        @tj.custom_gradient
        def slope(x: Any, upstream: Any) -> Any:
            return 2.0 * x * upstream, lambda g: (3.0 * g * upstream, 2.0 * x * g)

        return x * x, lambda upstream: slope(x, upstream)

    tj.check_grads(square, X, order=1)
    text = failure(square, X)
    assert "second derivative" in text
    assert "reverse" in text


def test_the_second_order_is_by_the_cotangent_too() -> None:
    @tj.custom_gradient
    def halved(x: Any) -> Any:
        return 0.5 * x, lambda upstream: 0.5 * scaled(upstream)

    @tj.custom_gradient
    def scaled(x: Any) -> Any:
        return x * 1.0, lambda upstream: 1.001 * upstream

    tj.check_grads(halved, X, order=1)
    text = failure(halved, X, modes="rev")
    assert "second derivative in reverse mode with respect to the cotangent[" in text
    assert "custom gradient of halved" in text


def test_a_rule_that_differs_in_one_mode_only() -> None:
    op = tj.primitive(lambda x: np.sin(x))
    tj.register_gradient(op)(lambda applied, g: g * np.cos(applied.inputs[0]))
    tj.check_grads(op, X, order=1)
    wrong = tj.primitive(lambda x: np.sin(x))
    tj.register_gradient(wrong)(lambda applied, g: -g * np.cos(applied.inputs[0]))
    assert "wrong" in failure(wrong, X, order=1)


@pytest.mark.parametrize("through", ["primitive", "callback", "primitive in a loop"])
def test_what_is_called_outside_gets_real_numbers_alone(through: str) -> None:
    kinds = set()

    def sine(x: Any) -> Any:
        kinds.add(np.asarray(x).dtype.kind)
        return np.sin(x)

    op = tj.primitive(sine)
    tj.register_gradient(op)(lambda applied, g: g * np.cos(applied.inputs[0]))

    def f(x: Any) -> Any:
        if through == "callback":
            return x * np.ceil(tj.callback(sine, x, result=tj.TensorSpec((3,))))
        if through == "primitive":
            return op(x)
        return tj.scan(lambda c, e: (c * op(e), None), x[0], x)[0]

    tj.check_grads(f, (X,), order=1, modes=("rev",))
    assert kinds == {"f"}


def test_a_jump_is_no_agreement() -> None:
    assert "wrong" in failure(lambda x: np.floor(x), np.array([2.0]), order=1)


def test_a_derivative_that_is_not_finite_is_wrong() -> None:
    assert "nan" in failure(lambda x: np.where(x > 0, np.sqrt(x * 0.0), 1.0), X, order=1)


# What it refuses


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"order": 0}, "order=0"),
        ({"order": 4}, "order=4"),
        ({"modes": ("forward",)}, "forward"),
        ({"modes": ()}, "modes="),
    ],
    ids=str,
)
def test_options_are_checked(options: Any, words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        tj.check_grads(np.sin, X, **options)


def test_what_cannot_be_differentiated_raises_as_usual() -> None:
    with pytest.raises(TypeError, match="no argument of sin is floating"):
        tj.check_grads(np.sin, np.arange(3))
    with pytest.raises(TypeError, match="needs a function"):
        tj.check_grads(3, X)

    @tj.custom_gradient
    def clipped(x: Any) -> Any:
        return x * 1.0, lambda upstream: np.clip(upstream, -9.0, 9.0)

    with pytest.raises(TypeError, match="not linear"):
        tj.check_grads(clipped, X)
    tj.check_grads(clipped, X, modes="rev")
