"""Ways out of kernels: a block of tj.eager, and TRACEJIT_DISABLE."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.specialise.eager_mode import OPEN, is_disabled, is_open, way_out
from tracejit.support.errors import TracejitError

X = np.arange(3.0)


@tj.function
def itself(x: Any) -> Any:
    """What it is given: as Python the array, as a kernel a new one."""
    return x


@pytest.fixture(autouse=True)
def fresh() -> None:
    itself.cache_clear()


def test_in_a_block_the_python_runs() -> None:
    assert itself(X) is not X
    with tj.eager():
        assert itself(X) is X
        assert itself(X) is X
    assert itself(X) is not X
    assert itself.cache_info()[:2] == (1, 1)


def test_blocks_nest() -> None:
    with tj.eager():
        with tj.eager():
            assert is_open()
        assert is_open()
        assert itself(X) is X
    assert not is_open()
    assert not OPEN
    assert not itself.kernels


def test_a_block_that_raises_is_left() -> None:
    with pytest.raises(KeyError), tj.eager():
        raise KeyError
    assert not OPEN


def test_other_threads_go_on() -> None:
    answers: list[Any] = []
    with tj.eager():
        thread = threading.Thread(target=lambda: answers.append(itself(X)))
        thread.start()
        thread.join()
    assert answers[0] is not X
    assert len(itself.kernels) == 1


def test_errors_and_effects_are_pythons_own() -> None:
    v = tj.Variable(0.0)

    @tj.function
    def f(x: Any, fails: bool) -> Any:
        v.assign_add(1.0)
        if fails:
            raise ValueError("mine")
        return x

    f(X, False)
    with tj.eager(), pytest.raises(ValueError, match="mine"):
        f(X, True)
    assert v.numpy() == 2.0
    assert f(X, False) is not X
    with tj.eager():
        assert f(X, False) is X


def test_a_block_while_recording_changes_nothing() -> None:
    @tj.function
    def outer(x: Any) -> Any:
        with tj.eager():
            return itself(x) * 2.0

    np.testing.assert_array_equal(outer(X), X * 2.0)
    assert len(outer.kernels) == 1


TRANSFORMED: dict[str, tuple[Callable[[], Any], Any]] = {
    "grad": (lambda: tj.grad(lambda x: np.sum(x**2))(X), 2.0 * X),
    "value_and_grad": (lambda: tj.value_and_grad(lambda x: np.sum(x**2))(X)[1], 2.0 * X),
    "vmap": (lambda: tj.vmap(lambda x: x * 2.0)(X), 2.0 * X),
    "jvp": (lambda: tj.jvp(np.square, (X,), (X,))[1], 2.0 * X**2),
    "vjp": (lambda: tj.vjp(np.square, X)[1](X)[0], 2.0 * X**2),
    "linearize": (lambda: tj.linearize(np.square, X)[1](X), 2.0 * X**2),
    "jacobian": (lambda: tj.jacobian(np.sin)(X), np.diag(np.cos(X))),
    "hessian": (lambda: tj.hessian(lambda x: np.sum(x**3))(X), np.diag(6.0 * X)),
    "hvp": (lambda: tj.hvp(lambda x: np.sum(x**3), X, X), 6.0 * X**2),
    "elementwise_grad": (lambda: tj.elementwise_grad(np.sin)(X), np.cos(X)),
    "deriv": (lambda: tj.deriv(np.sin)(X), np.cos(X)),
    "grad of a compiled function": (
        lambda: tj.grad(tj.function(lambda x: np.sum(x**2)))(X),
        2.0 * X,
    ),
    "grad in a compiled function": (
        lambda: tj.function(lambda x: tj.grad(lambda y: np.sum(y**2))(x))(X),
        2.0 * X,
    ),
}


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("way", ["eager", "disabled"])
def test_transforms_answer_the_same(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compute, expected = TRANSFORMED[name]
    if way == "disabled":
        monkeypatch.setenv("TRACEJIT_DISABLE", "1")
    with tj.eager() if way == "eager" else nullcontext():
        for _ in range(2):
            np.testing.assert_allclose(compute(), expected)


def test_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert way_out() == ""
    with tj.eager():
        assert "tj.eager()" in itself.explain(X)
    monkeypatch.setenv("TRACEJIT_DISABLE", "1")
    assert is_disabled()
    assert "TRACEJIT_DISABLE=1" in itself.explain(X)
    assert not itself.kernels


def test_the_python_is_at_hand() -> None:
    assert itself.python(X) is X


def test_gradients_are_computed_eagerly() -> None:
    slope = tj.grad(itself_squared)
    with tj.eager():
        np.testing.assert_array_equal(slope(X), 2.0 * X)
        value, found = tj.value_and_grad(itself_squared)(X)
    assert (value, type(found)) == (5.0, np.ndarray)
    assert slope.kernels == []


def itself_squared(x: Any) -> Any:
    """The sum of squares."""
    return np.sum(x**2)


REFUSED: dict[str, Callable[[], Any]] = {
    "not a scalar": lambda: tj.grad(lambda x: x * 2.0)(X),
    "not real": lambda: tj.grad(lambda x: np.sum(x) * 1j)(X),
    "not floating": lambda: tj.grad(lambda x: np.sum(x) * 1.0)(np.arange(3)),
    "text": lambda: tj.grad(lambda x: 1.0)("text"),
    "no such argument": lambda: tj.grad(lambda x: np.sum(x), 2)(X),
    "no auxiliary": lambda: tj.grad(lambda x: np.sum(x), has_aux=True)(X),
}


@pytest.mark.parametrize("name", REFUSED)
def test_gradients_are_refused_in_the_same_words(name: str) -> None:
    with pytest.raises(TracejitError) as expected:
        REFUSED[name]()
    with tj.eager(), pytest.raises(type(expected.value)) as caught:
        REFUSED[name]()
    assert str(caught.value) == str(expected.value)


def test_python_that_raises_is_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    v = tj.Variable(0.0)

    @tj.function
    def f(x: Any) -> Any:
        v.assign_add(1.0)
        return tj.vmap(np.linalg.inv)(x)

    monkeypatch.setenv("TRACEJIT_DISABLE", "1")
    with pytest.raises(np.linalg.LinAlgError):
        f(np.zeros((2, 3, 3)))
    assert v.numpy() == 1.0
    monkeypatch.delenv("TRACEJIT_DISABLE")
    with tj.eager(), pytest.raises(np.linalg.LinAlgError):
        f(np.zeros((2, 3, 3)))
    assert v.numpy() == 2.0


def test_a_function_that_takes_gradients_of_its_arguments_does_so_by_tensors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @tj.function
    def slope(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x**3)
        return tape.gradient(y, x)

    @tj.function
    def by_gradients(x: Any) -> Any:
        return tj.gradients(np.sum(x**3), x)[0]

    for f in (slope, by_gradients):
        with tj.eager():
            found = f(X)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, 3.0 * X**2)
        with monkeypatch.context() as patched:
            patched.setenv("TRACEJIT_DISABLE", "1")
            np.testing.assert_array_equal(f(X), 3.0 * X**2)
        assert not f.kernels
