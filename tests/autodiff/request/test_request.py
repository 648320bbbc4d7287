"""What is differentiated by what: requests, and gradients taken inside functions that are being
recorded already."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same, close
from tracejit.autodiff.request.request import Request, selected
from tracejit.support.errors import GradientError, LeakedTensorError

X = np.array([1.0, -2.0, 0.5])
Y = np.array([3.0, 0.25, -1.0])
ONE = np.ones(3)


# Requests


def every_kind(a: Any, /, b: Any, *rest: Any, c: Any = 3, **more: Any) -> None:
    """A function with every kind of parameter."""


ARGUMENTS = {"a": "A", "b": "B", "rest": ("R0", "R1"), "c": "C", "more": {"d": "D"}}


@pytest.mark.parametrize(
    ("argnums", "argnames", "expected"),
    [
        ((0,), (), [("a", "A")]),
        ((1, 0), (), [("b", "B"), ("a", "A")]),
        ((2, 3), (), [("rest[0]", "R0"), ("rest[1]", "R1")]),
        ((-1,), (), [("rest[1]", "R1")]),
        ((), ("c", "d"), [("c", "C"), ("d", "D")]),
        ((0,), ("b",), [("a", "A"), ("b", "B")]),
        ((), (), []),
    ],
)
def test_arguments_are_selected_by_number_and_name(
    argnums: Any, argnames: Any, expected: Any
) -> None:
    request = Request("grad", argnums, argnames)
    signature = inspect.signature(every_kind)
    assert selected(request, signature, ARGUMENTS, "f") == expected


@pytest.mark.parametrize(("argnums", "argnames"), [((4,), ()), ((-5,), ()), ((), ("e",))])
def test_an_argument_that_is_not_there_is_named(argnums: Any, argnames: Any) -> None:
    request = Request("value_and_grad", argnums, argnames)
    with pytest.raises(GradientError, match=r"tj\.value_and_grad: f has no argument ") as caught:
        selected(request, inspect.signature(every_kind), ARGUMENTS, "f")
    assert "0 (a), 1 (b), 2 (rest[0]), 3 (rest[1])" in str(caught.value)


# Gradients inside recorded functions


def test_the_inner_gradient_is_by_its_own_argument() -> None:
    """What depends on x outside is constant for the inner gradient, and not for the outer one."""

    def outer(x: Any) -> Any:
        y = x * 2.0
        return tj.grad(lambda z: np.sum(z * y))(x)

    assert_same(tj.function(outer)(X), 2.0 * X)
    assert_same(tj.grad(lambda x: np.sum(outer(x) * x))(X), 4.0 * X)


def test_the_classic_of_perturbation_confusion() -> None:
    inner = tj.grad(lambda y, x: x + y)
    outer = tj.grad(lambda x: x * inner(1.0, x))
    assert outer(1.0) == 1.0
    assert tj.grad(lambda x: x * tj.grad(lambda y: x + y)(x))(1.0) == 1.0
    assert tj.grad(lambda x: x * tj.grad(lambda y: x * y)(2.0))(3.0) == 6.0


def test_one_tensor_in_two_places_has_two_gradients() -> None:
    both = tj.grad(lambda a, b: np.sum(a * b * b), (0, 1))
    a_bar, b_bar = tj.function(lambda x: both(x, x))(X)
    assert_same(a_bar, X * X)
    close(b_bar, 2 * X * X)
    close(tj.grad(lambda x: np.sum(both(x, x)[0]))(X), 2 * X)
    close(tj.grad(lambda x: np.sum(both(x, x)[1]))(X), 4 * X)


def test_a_constant_in_the_function_is_not_the_argument() -> None:
    found = tj.function(lambda w: tj.grad(lambda z: np.sum(z * np.ones(3)))(np.ones(3)) * w)(X)
    assert_same(found, X)


def test_two_inner_gradients_do_not_mix() -> None:
    def f(x: Any) -> Any:
        first = tj.grad(lambda z: np.sum(np.sin(z) * x))(x)
        second = tj.grad(lambda z: np.sum(np.cos(z) * x))(x)
        return np.sum(first * second)

    a, b = np.cos(X) * X, -np.sin(X) * X
    close(tj.function(f)(X), np.sum(a * b))
    da, db = np.cos(X) - X * np.sin(X), -np.sin(X) - X * np.cos(X)
    close(tj.grad(f)(X), da * b + a * db)


def test_a_gradient_by_an_intermediate_value() -> None:
    def f(x: Any) -> Any:
        h = np.exp(x)
        slope = tj.grad(lambda h: np.sum(h**3))(h)
        return np.sum(slope)

    close(tj.function(f)(X), np.sum(3 * np.exp(2 * X)))
    close(tj.grad(f)(X), 6 * np.exp(2 * X))


def test_a_gradient_of_a_gradient_of_a_gradient_inside_a_loop() -> None:
    def f(x: Any) -> Any:
        g: Any = lambda z: z**5  # noqa: E731
        for _ in range(3):
            g = tj.grad(g)
        return g(x) * x

    close(np.float64(tj.function(f)(2.0)), np.float64(60.0 * 4.0 * 2.0))
    close(tj.grad(f)(2.0), np.float64(180.0 * 4.0))


def test_value_auxiliary_and_gradients_inside() -> None:
    both = tj.value_and_grad(lambda p, k: (np.sum(p["w"] * k), {"k": k, "s": "text"}), has_aux=True)

    @tj.function
    def f(w: Any, k: Any) -> Any:
        (value, aux), slopes = both({"w": w}, k)
        only, same = tj.grad(both.python, has_aux=True)({"w": w}, k)
        return value, aux, slopes, only, same

    for k in (2.0, 3.0, 4.0):
        aux = {"k": k, "s": "text"}
        slopes = {"w": np.full(3, k)}
        assert_same(f(X, k), (np.sum(X * k), aux, slopes, slopes, aux))


def test_numbers_keep_their_dtype_inside() -> None:
    """A rate that is not differentiated stays a Python number, which gives way to float32."""
    x = X.astype("f4")
    loss = tj.grad(lambda w, rate: np.sum(w * w) * rate)

    @tj.function
    def step(w: Any, rate: Any) -> Any:
        return w - rate * loss(w, rate)

    for rate in (0.5, 0.25, 0.125):
        assert_same(step(x, rate), x - rate * (np.float32(rate) * (2 * x)))


def test_a_number_differentiated_inside_is_a_float64() -> None:
    slope = tj.grad(lambda a: a * a * 3.0)
    f = tj.function(lambda x, rate: x * slope(rate))
    for rate in (0.5, 0.25, 0.125):
        assert_same(f(X, rate), X * np.float64(6.0 * rate))


def test_an_argument_that_has_no_gradient_inside() -> None:
    slope = tj.grad(lambda n: n * 2.0)
    for argument in (np.arange(3), 3):
        with pytest.raises(GradientError, match="with respect to n"):
            tj.function(lambda x, argument=argument: slope(argument) + x)(X)


def test_gradients_of_plain_arrays_inside_are_constants() -> None:
    table = np.arange(3.0)
    slope = tj.grad(lambda z: np.sum(np.sin(z)))
    f = tj.function(lambda x: slope(table) * x)
    close(f(X), np.cos(table) * X)
    table[:] = 5.0
    close(f(X), np.cos(table) * X)


def test_tensors_of_two_recordings_do_not_meet() -> None:
    @tj.function
    def outer(x: Any) -> Any:
        inner = tj.function(lambda y: y + x)
        return inner.kernel(np.ones(3))

    with pytest.raises(LeakedTensorError, match="two recordings"):
        outer(X)


def test_the_place_of_a_call_is_not_in_the_kernel(tmp_path: Any, monkeypatch: Any) -> None:
    """Zeros for what is unconnected, and conjugates, are made at the call, not in the function."""
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TRACEJIT_CACHE")

    def f(x: Any, y: Any, s: Any) -> Any:
        return np.sum(np.real(x * x))

    def first() -> Any:
        return tj.value_and_grad(f, (0, 1, 2)).kernel(X + 1j, Y, 2.0)

    def second() -> Any:
        both = tj.value_and_grad(f, (0, 1, 2))
        both(X + 1j, Y, 2.0)
        return both.kernels[0]

    one, other = first(), second()
    assert one.source == other.source
    assert one.key == other.key
    comments = {line.strip() for line in one.source.splitlines() if line.strip().startswith("# ")}
    assert {comment for comment in comments if "sha256" not in comment} == {
        "# f:1  return np.sum(np.real(x * x))"
    }
    assert "y_bar = zeros(3)" in one.source


class Model:
    def loss(self, x: Any) -> Any:
        return np.sum(x)


ADVICE: dict[str, tuple[Callable[[], Any], str, str]] = {
    "no result": (lambda: tj.grad(lambda x: None)(X), "returns None", "`return loss`"),
    "a pair": (lambda: tj.grad(lambda x: (np.sum(x), x))(X), "returns tuple", "has_aux=True"),
    "a text": (lambda: tj.grad(lambda x: "x")(X), "returns str", "only the number"),
    "an array": (lambda: tj.grad(np.sin)(X), "returns f8[3]", "np.sum"),
    "no pair": (lambda: tj.grad(np.sum, has_aux=True)(X), "(value, auxiliary)", "return a pair"),
    "integers": (lambda: tj.grad(np.sum)(np.arange(3)), "which is i8[3]", "a.astype(float)"),
    "an integer": (lambda: tj.grad(lambda x: x * x)(2), "which is the int 2", "float(x)"),
    "an object": (lambda: tj.grad(Model.loss)(Model(), X), "self, which is a Model", "argnums="),
}


@pytest.mark.parametrize("call, what, fix", ADVICE.values(), ids=ADVICE)
def test_advice_fits_what_was_given(call: Callable[[], Any], what: str, fix: str) -> None:
    with pytest.raises(GradientError) as caught:
        call()
    first, *_, last = str(caught.value).splitlines()
    assert what in first
    assert fix in last
