"""`grad` and `value_and_grad` as users call them: arguments, results, orders, dtypes, complex."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

import tracejit as tj
from tests.rows import each_row
from tests.support.compare import assert_same, close
from tracejit.support.errors import GradientError, NoGradientError

X = np.array([[1.0, -2.0, 3.5], [0.25, 0.5, -0.75]])
W = np.array([2.0, -0.5, 4.0])
ONE = np.ones(3)


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Layer:
    w: Any
    b: Any


# Which arguments, and in which form the answer comes


def product(x: Any, w: Any, k: Any = 2.0) -> Any:
    return np.sum(x @ w) * k


X_BAR, W_BAR, K_BAR = 2.0 * np.stack([W, W]), 2.0 * X.sum(0), np.sum(X @ W)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, X_BAR),
        ({"argnums": 0}, X_BAR),
        ({"argnums": 1}, W_BAR),
        ({"argnums": (1,)}, (W_BAR,)),
        ({"argnums": (0, 1)}, (X_BAR, W_BAR)),
        ({"argnums": (1, 0)}, (W_BAR, X_BAR)),
        ({"argnums": (1, 1)}, (W_BAR, W_BAR)),
        ({"argnums": -2}, W_BAR),
        ({"argnums": (0, 1, 2)}, (X_BAR, W_BAR, K_BAR)),
        ({"argnames": "w"}, W_BAR),
        ({"argnames": ("w",)}, (W_BAR,)),
        ({"argnames": ("w", "x")}, (W_BAR, X_BAR)),
        ({"argnames": ("k",)}, (K_BAR,)),
        ({"argnums": (0,), "argnames": "w"}, (X_BAR, W_BAR)),
    ],
    ids=str,
)
def test_argnums_and_argnames_choose_arguments(options: Any, expected: Any) -> None:
    for call in ((X, W), (X, W, 2.0)):
        found = tj.grad(product, **options)(*call)
        value, same = tj.value_and_grad(product, **options)(*call)
        assert_same(value, product(*call))
        assert_same(same, found)
        assert type(found) is type(expected)
        pairs = zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
        for one, other in pairs:
            close(one, other)


def test_arguments_may_be_passed_by_name() -> None:
    slope = tj.grad(product, argnums=(0, 1))
    for found in (slope(X, W), slope(X, w=W), slope(w=W, x=X)):
        close(found[0], X_BAR)
        close(found[1], W_BAR)
    assert len(slope.kernels) == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"argnums": 0}, np.full(3, 3.0 * 5.0 * 7.0)),
        ({"argnums": 2}, np.float64(3.0 * 5.0 * 7.0)),
        ({"argnums": -1}, np.float64(3.0 * 5.0 * 7.0)),
        ({"argnames": "c"}, np.float64(3.0 * 3.0 * 7.0)),
        ({"argnames": "d"}, np.float64(3.0 * 3.0 * 5.0)),
    ],
    ids=str,
)
def test_every_kind_of_parameter_can_be_differentiated(options: Any, expected: Any) -> None:
    def f(a: Any, /, *rest: Any, c: Any = 1.0, **more: Any) -> Any:
        return np.sum(a) * rest[1] * c * more["d"]

    close(tj.grad(f, **options)(ONE, 2.0, 3.0, c=5.0, d=7.0), expected)


PARAMETERS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "dict": (lambda p: np.sum(p["b"] * 2.0 + p["a"]), {"b": ONE, "a": W}, {"b": 2 * ONE, "a": ONE}),
    "list": (lambda p: np.sum(p[0] * 2.0 + p[1]), [ONE, W], [2 * ONE, ONE]),
    "tuple": (lambda p: np.sum(p[0] * 2.0) + p[1][0], (ONE, (2.0,)), (2 * ONE, (np.float64(1),))),
    "NamedTuple": (lambda p: np.sum(p.y * 3.0), Point(ONE, W), Point(0 * ONE, 3 * ONE)),
    "dataclass": (lambda p: np.sum(p.w * p.b), Layer(ONE, 2.0), Layer(2 * ONE, np.float64(3.0))),
    "nested": (
        lambda p: sum(np.sum(layer.w * k) for k, layer in enumerate(p["layers"])),
        {"layers": [Layer(ONE, ONE), Layer(ONE, ONE)], "none": ()},
        {"layers": [Layer(0 * ONE, 0 * ONE), Layer(ONE, 0 * ONE)], "none": ()},
    ),
    "NumPy scalar": (lambda x: x * 3.0, np.float64(2.0), np.float64(3.0)),
    "float32 scalar": (lambda x: x * 3.0, np.float32(2.0), np.float32(3.0)),
    "Python float": (lambda x: x * 3.0, 2.0, np.float64(3.0)),
    "0-d": (lambda x: x * 3.0, np.array(2.0), np.array(3.0)),
    "0-d itself": (lambda x: x, np.array(2.0), np.array(1.0)),
    "itself": (lambda x: x, 2.0, np.float64(1.0)),
    "one element": (lambda x: np.sum(x), np.ones((1, 1)), np.ones((1, 1))),
    "zero-size": (lambda x: np.sum(x * x), np.ones((0, 3)), np.ones((0, 3))),
    "float32": (lambda x: np.sum(x * 3.0), np.ones(3, "f4"), np.full(3, 3.0, "f4")),
    "float16": (lambda x: np.sum(x * 3.0), np.ones(3, "f2"), np.full(3, 3.0, "f2")),
    "float32, result in float64": (
        lambda x: np.sum(x * W), np.ones(3, "f4"), W.astype("f4")
    ),
    "longdouble": (lambda x: np.sum(x * x), np.ones(2, "g"), np.full(2, 2.0, "g")),
    "constant": (lambda x: 3.0, ONE, 0 * ONE),
    "constant of NumPy's": (lambda x: np.float64(3.0), ONE, 0 * ONE),
    "unused": (lambda x: np.sum(np.zeros(3)), ONE, 0 * ONE),
    "floor": (lambda x: np.sum(np.floor(x)), ONE, 0 * ONE),
    "through integers": (lambda x: np.sum(x.astype(int) * 2.0), ONE, 0 * ONE),
    "Fortran order": (lambda x: np.sum(x * 2.0), np.asfortranarray(X), 2 * np.ones((2, 3))),
    "strided": (lambda x: np.sum(x * 2.0), np.ones(6)[::2], 2 * ONE),
    "broadcast": (lambda x: np.sum(x * 2.0), np.broadcast_to(1.0, (2, 3)), 2 * np.ones((2, 3))),
}  # fmt: skip


@each_row("name", PARAMETERS)
def test_a_gradient_has_the_form_of_its_argument(name: str) -> None:
    f, argument, expected = PARAMETERS[name]
    value, found = tj.value_and_grad(f)(argument)
    assert_same(found, expected)
    assert_same(tj.grad(f)(argument), expected)
    plain = f(argument)
    if isinstance(plain, (np.ndarray, np.generic)):
        assert_same(value, plain)
    else:
        assert value == plain


def test_a_number_to_differentiate_by_makes_one_kernel() -> None:
    slope = tj.value_and_grad(lambda x, a: np.sum(x * a**2), argnums=1)
    for a in (0.5, 1.5, 2.5):
        value, found = slope(W, a)
        assert_same(value, np.sum(W * a**2))
        close(found, np.float64(np.sum(W) * 2 * a))
    assert len(slope.kernels) == 1


def test_a_schedule_makes_two_kernels() -> None:
    step = tj.value_and_grad(lambda w, rate: np.sum(w * w) * rate)
    for number in range(10):
        rate = 0.1 / (number + 1)
        value, found = step(W, rate)
        assert_same(value, np.sum(W * W) * rate)
        close(found, 2 * W * rate)
    assert len(step.kernels) == 2


# Auxiliary results


def test_auxiliary_results_come_along() -> None:
    def f(x: Any, mode: str) -> Any:
        h = np.tanh(x)
        return np.sum(h * h), {"h": h, "mode": mode, "x": x, "parts": (1, [h + 1.0])}

    h = np.tanh(W)
    aux = {"h": h, "mode": "m", "x": W, "parts": (1, [h + 1.0])}
    (value, found_aux), found = tj.value_and_grad(f, has_aux=True)(W, "m")
    assert_same(value, np.sum(h * h))
    assert_same(found_aux, aux)
    close(found, 2 * h / np.cosh(W) ** 2)
    slope, slope_aux = tj.grad(f, has_aux=True)(W, "m")
    assert_same(slope_aux, aux)
    assert_same(slope, found)


@pytest.mark.parametrize("aux", [None, (), "text", 3.0, {}], ids=repr)
def test_auxiliary_results_that_are_no_arrays(aux: Any) -> None:
    found, same = tj.grad(lambda x: (np.sum(x), aux), has_aux=True)(W)
    assert_same(found, ONE)
    assert_same(same, aux)


def test_no_gradient_flows_from_an_auxiliary_result() -> None:
    found, _ = tj.grad(lambda x: (np.sum(x), np.sum(np.exp(x))), has_aux=True)(W)
    assert_same(found, ONE)


# Memory


@pytest.mark.parametrize("size", [3, 1000])
def test_gradients_share_no_memory_with_anything(size: int) -> None:
    x, w = np.linspace(0, 1, size), np.linspace(1, 2, size)
    both = tj.value_and_grad(lambda x, w, z: (np.sum(x * w), (x, w)), (0, 1, 2), has_aux=True)
    arrays: list[Any] = [x, w]
    for _ in range(2):
        (_, aux), gradients = both(x, w, w)
        arrays += [*aux, *gradients]
    for number, one in enumerate(arrays):
        assert not any(np.may_share_memory(one, other) for other in arrays[:number])
    for one in arrays[2:]:
        one[:] = -1.0
    (_, aux), gradients = both(x, w, w)
    assert_same(gradients, (np.linspace(1, 2, size), np.linspace(0, 1, size), np.zeros(size)))
    assert_same(aux, (x, w))


def test_one_array_in_two_places_has_two_gradients() -> None:
    both = tj.grad(lambda x, y: np.sum(x * y * y), (0, 1))
    assert_same(both(W, W), (W * W, 2 * W * W))
    assert_same(tj.grad(lambda p: np.sum(p[0] * p[1]))([W, W]), [W, W])


# Orders


def nth(f: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    for _ in range(order):
        f = tj.grad(f)
    return f


@pytest.mark.parametrize("order", range(6))
def test_any_order_of_a_scalar_function(order: int) -> None:
    for x in (0.7, np.float64(-1.3)):
        cycle = [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]
        close(np.float64(nth(lambda x: np.sin(x), order)(x)), np.float64(cycle[order % 4](x)))
        factorial = np.prod(range(6, 6 - order, -1), dtype=float)
        close(np.float64(nth(lambda x: x**6, order)(x)), np.float64(factorial * x ** (6 - order)))


def test_second_order_of_an_array_function() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.exp(x) * x**2)

    first = tj.grad(f)
    second = tj.grad(lambda x: np.sum(first(x) * W))
    close(second(W), np.exp(W) * (W**2 + 4 * W + 2) * W)


def test_value_and_gradient_of_a_gradient() -> None:
    inner = tj.value_and_grad(lambda x: np.sum(x**3))

    def penalty(x: Any) -> Any:
        value, slope = inner(x)
        return value + np.sum(slope**2)

    value, found = tj.value_and_grad(penalty)(W)
    close(value, np.sum(W**3) + np.sum((3 * W**2) ** 2))
    close(found, 3 * W**2 + 36 * W**3)


def test_compiling_changes_nothing() -> None:
    compiled = tj.function(product)
    inside = tj.function(lambda x, w: tj.grad(product, (0, 1))(x, w))
    outside = tj.function(tj.grad(compiled, (0, 1)))
    expected = tj.grad(product, (0, 1))(X, W)
    for f in (inside, outside, tj.grad(compiled, (0, 1))):
        assert_same(f(X, W), expected)


def test_gradient_of_gradient_by_another_argument() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(np.sin(x) * w**2)

    mixed = tj.grad(lambda x, w: np.sum(tj.grad(f, 0)(x, w)), 1)
    close(mixed(W, ONE * 3), np.cos(W) * 6.0)


# Complex numbers: dL = Re(sum(conj(grad) dz))

Z = np.array([[1 + 2j, -0.5j], [0.3 + 0j, -1 - 1j]])
V = np.array([[0.2 - 1j, 2 + 0.5j], [1j, -0.4 + 0.1j]])

COMPLEX: dict[str, Callable[[Any], Any]] = {
    "product": lambda z: np.sum(np.abs(z @ V) ** 2),
    "product on the left": lambda z: np.sum(np.abs(V @ z) ** 2),
    "exp": lambda z: np.sum(np.abs(np.exp(z)) ** 2),
    "square": lambda z: np.sum(np.real(z * z)),
    "divide": lambda z: np.sum(np.imag(V / (z + 3.0))),
    "conj": lambda z: np.sum(np.real(np.conj(z) * V)),
    "real and imag": lambda z: np.sum(z.real * z.imag**2),
    "abs": lambda z: np.sum(np.abs(z)),
    "angle": lambda z: np.sum(np.angle(z)),
    "power": lambda z: np.sum(np.real(z**3)),
    "sin and log": lambda z: np.sum(np.real(np.sin(z) * np.log(z + 5.0))),
    "transpose": lambda z: np.sum(np.real(z.T @ z)),
    "broadcast": lambda z: np.sum(np.abs(z[0] + V) ** 2),
    "with real": lambda z: np.sum(np.real(z) * np.array([2.0, 3.0])),
    "vdot": lambda z: np.real(np.vdot(z, V)),
    "solve": lambda z: np.sum(np.abs(np.linalg.solve(z, V)) ** 2),
}


def complex_difference(f: Callable[[Any], Any], z: Any, direction: Any) -> Any:
    def at(step: float) -> Any:
        return f(z + step * direction)

    h = 1e-3
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients_are_conjugate_cotangents(name: str) -> None:
    f = COMPLEX[name]
    rng = np.random.default_rng(3)
    value, slope = tj.value_and_grad(f)(Z)
    assert_same(value, f(Z))
    assert (slope.dtype, slope.shape) == (Z.dtype, Z.shape)
    for unit in (1.0, 1j):
        direction = unit * rng.normal(size=Z.shape)
        found = np.real(np.sum(np.conj(slope) * direction))
        np.testing.assert_allclose(found, complex_difference(f, Z, direction), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", COMPLEX)
def test_second_order_of_complex_functions(name: str) -> None:
    f = COMPLEX[name]
    rng = np.random.default_rng(4)
    slope = tj.grad(f)

    def along(z: Any) -> Any:
        return np.real(np.vdot(slope(z), V))

    second = tj.grad(along)(Z)
    for unit in (1.0, 1j):
        direction = unit * rng.normal(size=Z.shape)
        found = np.real(np.sum(np.conj(second) * direction))
        expected = complex_difference(along, Z, direction)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_a_real_argument_of_a_complex_function_has_a_real_gradient() -> None:
    slope = tj.grad(lambda x: np.sum(np.abs(np.exp(1j * x) + x) ** 2))
    found = slope(W)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, -2 * W * np.sin(W) + 2 * np.cos(W) + 2 * W, rtol=1e-12)
    assert tj.grad(lambda x: np.abs(x * 1j))(np.float32(2.0)).dtype == np.float32


# As a decorator, of methods, of whatever can be called


def test_a_transform_keeps_name_and_signature() -> None:
    def documented(w: Any, *, k: float = 2.0) -> Any:
        """A loss."""
        return np.sum(w) * k

    for transform in (tj.grad, tj.value_and_grad):
        made = transform(documented)
        assert made.__name__ == "documented"
        assert made.__doc__ == "A loss."
        assert made.__wrapped__ is documented
        assert list(inspect.signature(made).parameters) == ["w", "k"]


class Model:
    def __init__(self, k: float) -> None:
        self.k = k

    def loss(self, w: Any) -> Any:
        return np.sum(w * w) * self.k

    @tj.function
    def compiled(self, w: Any) -> Any:
        return np.sum(w * w) * self.k

    slope = tj.grad(compiled, 1)

    def __call__(self, w: Any) -> Any:
        return self.loss(w)


def test_methods_can_be_differentiated() -> None:
    model = Model(3.0)
    expected = 6.0 * W
    for f in (model.loss, model.compiled, model, lambda w: model.loss(w)):
        close(tj.grad(f)(W), expected)
    close(model.slope(W), expected)
    close(tj.grad(Model.loss, 1)(model, W), expected)
    model.k = 5.0
    close(model.slope(W), 10.0 * W)


def test_partial_functions_can_be_differentiated() -> None:
    by_position = functools.partial(product, X)
    by_name = functools.partial(product, w=W, k=1.0)
    close(tj.grad(by_position)(W), W_BAR)
    close(tj.grad(by_name)(X), X_BAR / 2)
    close(tj.grad(tj.function(by_position))(W), W_BAR)


def test_numpy_functions_can_be_differentiated() -> None:
    assert_same(tj.grad(np.sum)(W), ONE)
    close(tj.grad(np.tanh)(0.5), np.float64(1 - np.tanh(0.5) ** 2))
    close(tj.grad(np.linalg.norm)(W), W / np.linalg.norm(W))


def test_options_of_a_compiled_function_hold_for_its_gradient() -> None:
    compiled = tj.function(product, name="other", static_argnames="k")
    slope = tj.grad(compiled)
    for k in (1.0, 2.0, 3.0):
        close(slope(X, W, k), X_BAR * k / 2)
    assert len(slope.kernels) == 3
    assert slope.source.startswith('"""other: ')


# Uses


def test_scipy_minimizes_with_it() -> None:
    def rosenbrock(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    both = tj.value_and_grad(rosenbrock)
    found = minimize(both, np.zeros(5), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    assert found.success
    np.testing.assert_allclose(found.x, np.ones(5), rtol=1e-4)
    value, slope = both(np.zeros(5))
    assert isinstance(value, float)
    assert slope.flags.c_contiguous
    assert slope.dtype == np.float64


def test_gradient_descent_inside_a_compiled_function() -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.mean((x @ w - 1.0) ** 2)

    @tj.function
    def train(w: Any, x: Any, rate: float, steps: int) -> Any:
        for _ in range(steps):
            w = w - rate * tj.grad(loss)(w, x)
        return w, loss(w, x)

    w = W
    for _ in range(3):
        w = w - 0.1 * 2 * X.T @ (X @ w - 1.0) / 2
    found, value = train(W, X, 0.1, 3)
    close(found, w)
    close(value, loss(w, X))
    again, _ = train(W, X, 0.05, 3)
    assert not np.allclose(again, found)


def test_a_part_and_the_whole_of_what_is_broadcast() -> None:
    """The part's gradient is broadcast before it is added to the whole's."""

    def f(x: Any) -> Any:
        total = np.sum(x, keepdims=True)
        return np.sum(np.sin(total[0]) + x * x)

    close(tj.grad(f)(W), 3 * np.cos(np.sum(W)) + 2 * W)


def test_second_order_through_a_0_d_array() -> None:
    def f(x: Any) -> Any:
        y = np.pad(np.sum(x * x), 1)
        return np.sum(np.sin(y) * 0.5 + y)

    second = tj.grad(lambda x: np.sum(tj.grad(f)(x)))
    total = np.sum(W * W)
    expected = 2 * (0.5 * np.cos(total) + 1) - np.sin(total) * 2 * W * np.sum(W)
    close(second(W), expected)


def test_control_flow_of_python() -> None:
    def f(x: Any, mode: str, n: int) -> Any:
        for k in range(n):
            x = np.sin(x) if mode == "sin" else x * (k + 1)
        return np.sum(x) if n else np.sum(x * x)

    slope = tj.grad(f)
    close(slope(W, "sin", 2), np.cos(np.sin(W)) * np.cos(W))
    close(slope(W, "times", 3), 6.0 * ONE)
    close(slope(W, "times", 0), 2 * W)


# What has no gradient


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (np.arange(3), r"with respect to x, which is i8\[3\].*integers have no derivative"),
        (np.arange(3, dtype="u1"), r"u1\[3\].*integers have no derivative"),
        (W > 0, r"b1\[3\].*booleans have no derivative"),
        (3, r"with respect to x"),
        (True, r"with respect to x"),
        (np.int64(3), r"with respect to x, which is i8"),
        ("text", r"with respect to x"),
        (None, r"with respect to x"),
        ({"a": np.arange(3), "b": None}, r"with respect to x\['a'\].*i8\[3\]"),
        ([None, "text"], r"with respect to x\[0\]"),
    ],
    ids=repr,
)
def test_what_is_not_floating_has_no_gradient(argument: Any, message: str) -> None:
    f = tj.grad(lambda x: np.sum(np.ones(3)))
    for _ in range(2):
        with pytest.raises(TypeError, match=re.compile(message, re.DOTALL)) as caught:
            f(argument)
        assert isinstance(caught.value, GradientError)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x * 2.0, r"needs a scalar result, but lambda_ returns f8\[3\]"),
        (lambda x: (np.sum(x), x), "needs a scalar result, but lambda_ returns tuple"),
        (lambda x: {"loss": np.sum(x)}, "returns dict"),
        (lambda x: np.sum(x, keepdims=True), r"returns f8\[1\]"),
        (lambda x: np.sum(x) * 1j, "needs a real floating result, but lambda_ returns c16"),
        (lambda x: np.argmax(x), "needs a real floating result, but lambda_ returns i8"),
        (lambda x: np.sum(x) > 0, "needs a real floating result, but lambda_ returns b1"),
        (lambda x: 3, "needs a real floating result"),
    ],
)
@pytest.mark.parametrize("transform", [tj.grad, tj.value_and_grad])
def test_what_is_no_real_number_has_no_gradient(transform: Any, f: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message) as caught:
        transform(f)(W)
    assert str(caught.value).startswith(f"tj.{transform.__name__}(lambda_) needs ")
    with pytest.raises(TypeError, match=message):
        tj.function(lambda x: transform(f)(x))(W)


@pytest.mark.parametrize(
    "returned", [None, "text", object()], ids=lambda value: type(value).__name__
)
def test_what_is_no_number_at_all_has_no_gradient(returned: Any) -> None:
    with pytest.raises(TypeError):
        tj.grad(lambda x: returned)(W)


def test_auxiliary_results_are_a_pair() -> None:
    for returned in (lambda x: np.sum(x), lambda x: (np.sum(x), x, x), lambda x: [np.sum(x), x]):
        with pytest.raises(TypeError, match=r"instead of \(value, auxiliary\)"):
            tj.grad(returned, has_aux=True)(W)


@pytest.mark.parametrize(
    "options", [{"argnums": 3}, {"argnums": -4}, {"argnames": "z"}, {"argnums": (0, 5)}], ids=str
)
def test_an_argument_that_is_not_there(options: Any) -> None:
    with pytest.raises(TypeError, match=r"product has no argument .*") as caught:
        tj.grad(product, **options)(X, W)
    assert "choose from: 0 (x), 1 (w), 2 (k)" in str(caught.value)


def test_an_operation_without_a_rule_is_refused_only_where_it_matters() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.svd(x, full_matrices=True)[0])

    x = np.random.default_rng(5).normal(size=(3, 2))
    assert_same(tj.function(f, exact=True)(x), f(x))
    with pytest.raises(LookupError, match="no gradient is known for") as caught:
        tj.grad(f)(x)
    assert isinstance(caught.value, NoGradientError)
    assert "np.linalg.svd(x, full_matrices=True)" in str(caught.value)
    assert_same(tj.grad(lambda x: f(tj.stop_gradient(x)) + np.sum(x))(x), np.ones((3, 2)))
    scaled = tj.function(lambda x, y: f(x) * np.sum(y), exact=True)
    assert_same(tj.grad(scaled, 1)(x, W), f(x) * ONE)
