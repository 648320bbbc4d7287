"""One array that is passed twice is one array while the function is recorded, too."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.runtime.identity import groups_of
from tracejit.support.errors import TracejitError
from tracejit.trace.arguments.signature import bind_arguments, signature_of, take_apart

Z = np.arange(3.0)


def by_is(a: Any, b: Any) -> Any:
    """Asks by `is`."""
    return a * 2.0 if a is b else a + b * 10.0


def by_is_not(a: Any, b: Any) -> Any:
    """Asks by `is not`."""
    return a + b * 10.0 if a is not b else a * 2.0


def by_id(a: Any, b: Any) -> Any:
    """Asks by `id`."""
    return a * 2.0 if id(a) == id(b) else a + b * 10.0


def by_operator(a: Any, b: Any) -> Any:
    """Asks by the function of `is`."""
    return a * 2.0 if operator.is_(a, b) else a + b * 10.0


def by_helper(a: Any, b: Any) -> Any:
    """Asks in a function that it calls."""
    return by_is(a, b)


def by_memo(a: Any, b: Any) -> Any:
    """Keeps what it has seen by `id`."""
    memo = {id(a): a * 2.0}
    return memo.get(id(b), a + b * 10.0)


@pytest.mark.parametrize("f", [by_is, by_is_not, by_id, by_operator, by_helper, by_memo])
@pytest.mark.parametrize("first", [True, False])
def test_what_the_function_asks_holds(f: Callable[..., Any], first: bool) -> None:
    compiled = tj.function(f)
    calls = [(Z, Z), (Z, Z.copy())]
    for args in (calls if first else calls[::-1]) * 3:
        np.testing.assert_array_equal(compiled(*args), f(*args))
    assert len(compiled.kernels) == 2
    assert "one object" in compiled.explain()


def test_three_arguments_have_a_kernel_for_each_way_of_being_the_same() -> None:
    @tj.function
    def f(a: Any, b: Any, c: Any) -> Any:
        return a * (1.0 + (a is b) + 2.0 * (b is c) + 4.0 * (a is c))

    x, y, z = Z + 1.0, Z + 2.0, Z + 3.0
    for args in [(x, y, z), (x, x, z), (x, y, y), (x, y, x), (x, x, x)] * 2:
        np.testing.assert_array_equal(f(*args), f.python(*args))
    assert len(f.kernels) == 5


def test_in_containers_too() -> None:
    f = tj.function(lambda p: p["a"] * 2.0 if p["a"] is p["b"] else p["a"] * 0.0)
    for p in [{"a": Z, "b": Z}, {"a": Z, "b": Z + 1.0}] * 2:
        np.testing.assert_array_equal(f(p), f.python(p))


def test_a_function_that_does_not_ask_has_one_kernel() -> None:
    f = tj.function(lambda a, b=None: a + (0.0 if b is None else b))
    np.testing.assert_array_equal(f(Z, Z), Z + Z)
    np.testing.assert_array_equal(f(Z, Z + 1.0), Z + Z + 1.0)
    assert len(f.kernels) == 1


SENTINEL = object()


class Mode(enum.Enum):
    """What is compared by `is`, and no array."""

    FAST = 1


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b=SENTINEL: a + (0.0 if b is SENTINEL else b) + Z,
        lambda a, b, mode=Mode.FAST: a + b if mode is Mode.FAST else a + Z,
        lambda a, b: a + b + Z if Z.dtype.type is np.float64 else a,
    ],
)
def test_what_no_array_can_be_is_not_asked(f: Callable[..., Any]) -> None:
    compiled = tj.function(f)
    for args in [(Z, Z), (Z, Z.copy()), (Z, Z)]:
        np.testing.assert_array_equal(compiled(*args), f(*args))
    assert len(compiled.kernels) == 1
    assert "plain Python" not in compiled.explain()


def test_a_variable_of_an_inner_function_is_no_global() -> None:
    def f(a: Any, b: Any) -> Any:
        SENTINEL = b
        return (lambda: a * 2.0 if a is SENTINEL else a)()

    compiled = tj.function(f)
    for args in [(Z, Z.copy()), (Z, Z)]:
        np.testing.assert_array_equal(compiled(*args), f(*args))


def test_a_captured_array_that_is_passed_is_itself() -> None:
    f = tj.function(lambda a: a * 2.0 if a is Z else a * 0.0)
    for array in (Z, Z.copy(), Z):
        np.testing.assert_array_equal(f(array), f.python(array))
    assert "is also the captured array Z" in f.explain()


def test_a_gradient_by_one_of_two_that_are_one_is_refused() -> None:
    gradient = tj.grad(tj.function(lambda a, b: np.sum(by_is(a, b))))
    with pytest.raises(TracejitError, match=r"a and b are the same array") as caught:
        gradient(Z, Z)
    assert "b.copy()" in str(caught.value)
    np.testing.assert_array_equal(gradient(Z, Z.copy()), np.ones(3))
    by_third = tj.grad(lambda a, b, c: np.sum(by_is(a, b) * c), argnums=2)
    np.testing.assert_array_equal(by_third(Z, Z, Z + 1.0), 2.0 * Z)


def test_eager_tensors_are_told_by_themselves() -> None:
    f = tj.function(by_is)
    x = tj.constant(Z)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x, x)
    np.testing.assert_array_equal(tape.gradient(y, x), np.full(3, 2.0))
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tj.stop_gradient(x))
    np.testing.assert_array_equal(y, 11.0 * Z)
    np.testing.assert_array_equal(tape.gradient(y, x), np.ones(3))


def test_what_is_only_described_is_not_asked() -> None:
    spec = tj.TensorSpec((3,))
    f = tj.function(by_is)
    np.testing.assert_array_equal(f.kernel(spec, spec).forward(Z, Z + 1.0), Z + (Z + 1.0) * 10.0)


def test_groups_are_of_objects() -> None:
    signature = signature_of(by_is)
    arguments = bind_arguments(signature, "f", ([Z, 1.0], (Z, 1.0)), {})
    call = take_apart(arguments, "f", repr)
    assert [len(group) for group in groups_of(call)] == [2]
