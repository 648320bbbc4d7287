"""Attributes that change are read by one kernel, assigned after it, and never seen as Tensors."""

from __future__ import annotations

import copy
import dataclasses
import json
import threading
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.recording.mutable_attributes import Attributes, is_lendable
from tracejit.trace.recording.record import current_recording

X = np.arange(1.0, 4.0)


class Model:
    """An object with numbers and arrays that change."""

    gain = 2.0

    def __init__(self) -> None:
        """What it starts with."""
        self.n = 0
        self.lr = 0.1
        self.total = 0.0
        self.flag: Any = False
        self.state = np.zeros(3)
        self.other = np.ones(3)
        self.weights = np.eye(3) * 0.5
        self.log: list[Any] = []
        self.inner: Any = None


def alike(
    method: Callable[[Model, Any], Any], change: Callable[[Model, int], Any], calls: int
) -> Any:
    """The compiled method, after so many calls that agree with Python's, as do the objects."""
    mine, its = Model(), Model()
    for model in (mine, its):
        model.inner = Model()
    compiled = tj.function(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TracejitWarning)
        for k in range(calls):
            change(mine, k)
            change(its, k)
            found, expected = outcome(compiled, mine), outcome(method, its)
            same(found, expected)
            same(plain(mine), plain(its))
    return compiled


def outcome(function: Callable[..., Any], model: Model) -> Any:
    """What a call answers, or the class of what it raises."""
    try:
        return function(model, X)
    except (ValueError, ZeroDivisionError, TypeError) as error:
        return type(error)


def plain(model: Model) -> Any:
    """What an object holds."""
    held = vars(model)
    return {key: plain(x) if isinstance(x, Model) else x for key, x in held.items()}


def same(one: Any, other: Any) -> None:
    """Of the same types and bits."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            same(*pair)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-14)
        assert one.flags.writeable
    elif isinstance(one, (float, complex, np.generic)):
        np.testing.assert_allclose(one, other, rtol=1e-14)
    else:
        assert one == other


def keep(model: Model, k: int) -> None:
    """Nothing changes outside."""


def vary(model: Model, k: int) -> None:
    """Another rate at each call."""
    model.lr = 0.1 * k


# Numbers


def test_a_hundred_values_make_two_kernels() -> None:
    f = alike(lambda self, x: x * (2 * self.lr), vary, 100)
    assert len(f.kernels) == 2
    assert "From now on self.lr is read at each call" in f.explain()


def test_their_gradients_are_right() -> None:
    model = Model()
    gradient = tj.grad(lambda x: np.sum(x**2 * model.lr))
    for k in range(10):
        model.lr = 0.1 * k
        np.testing.assert_allclose(gradient(X), 2.0 * X * model.lr)
    assert len(gradient.kernels) == 2


@pytest.mark.parametrize(
    ("method", "kernels"),
    [
        (lambda self, x: x + self.lr if self.lr > 0.5 else x - self.lr, 2),
        (lambda self, x: x * self.inner.lr + self.lr, 2),
        (lambda self, x: x * self.lr if isinstance(self.lr, float) else x, 2),
        (lambda self, x: np.where(x > self.lr, x, self.lr), 2),
        (lambda self, x: x * float(self.lr), 8),
        (lambda self, x: x * len(f"{self.lr}"), 8),
        (lambda self, x: x * len(json.dumps(self.lr)), 8),
        (lambda self, x: x * (1.0 if type(self.lr) is float else 2.0), None),
        (lambda self, x: x * vars(self)["lr"], 8),
        (lambda self, x: x * copy.copy(self).lr, None),
        (lambda self, x: x * getattr(self, "lr", 1.0), None),
    ],
)
def test_what_python_does_with_them_is_pythons(
    method: Callable[..., Any], kernels: int | None
) -> None:
    f = alike(method, vary, 8)
    assert kernels is None or len(f.kernels) <= kernels


def test_a_size_makes_a_kernel_for_each_value() -> None:
    def f(self: Model, x: Any) -> Any:
        for _ in [None] * self.n:
            x = x * 2.0
        return x

    def change(model: Model, k: int) -> None:
        model.n = k % 4

    compiled = alike(f, change, 12)
    assert len(compiled.kernels) == 4
    assert "because Python reads it" in compiled.explain()


def test_numbers_of_another_type_have_a_kernel_of_their_own() -> None:
    def change(model: Model, k: int) -> None:
        model.lr = [0.5, 2, 0.25, 3, np.float32(1.5), True, 4, 0.125][k]

    alike(lambda self, x: x.astype(np.float32) * self.lr, change, 8)


def test_a_state_in_a_namespace_is_read_and_assigned_at_each_call() -> None:
    space = SimpleNamespace(state=np.zeros(3))

    @tj.function
    def f(x: Any) -> Any:
        space.state = np.tanh(space.state + x)
        return space.state * 2.0

    expected = np.zeros(3)
    for k in range(5):
        expected = np.tanh(expected + k * X)
        np.testing.assert_allclose(f(k * X), 2.0 * expected)
        np.testing.assert_allclose(space.state, expected)
    assert len(f.kernels) == 1


def test_an_array_that_is_replaced_is_read_at_each_call() -> None:
    def change(model: Model, k: int) -> None:
        model.weights = np.eye(3) * k

    f = alike(lambda self, x: self.weights @ x, change, 10)
    assert f.tracing_count == 1


# Assignments


def counted(self: Model, x: Any) -> Any:
    """A counter."""
    self.n += 1
    return x * self.n


def recurrent(self: Model, x: Any) -> Any:
    """A state that is replaced."""
    self.state = np.tanh(self.weights @ self.state + x)
    return self.state * 2.0


def averaged(self: Model, x: Any) -> Any:
    """A number that becomes one of NumPy's."""
    self.total = 0.9 * self.total + np.sum(x)
    return self.total


def swapped(self: Model, x: Any) -> Any:
    """Two arrays that change places."""
    self.state, self.other = self.other, self.state * 2.0 + x
    return self.state


def several(self: Model, x: Any) -> Any:
    """Assigned more than once, read in between."""
    for k in range(3):
        self.n = self.n + k
        x = x + self.n
    return x


def inner(self: Model, x: Any) -> Any:
    """An attribute of another object."""
    self.inner.n += 2
    self.n += 1
    return x * self.inner.n


def begun(self: Model, x: Any) -> Any:
    """A flag, and what is done once."""
    if not self.flag:
        self.flag = True
        self.n = 10
    self.n += 1
    return x * self.n


def kept(self: Model, x: Any) -> Any:
    """A plain value in the place of a number."""
    self.total = 5.0 if self.n % 2 else 1.0
    self.n += 1
    return x * self.total


def fresh(self: Model, x: Any) -> Any:
    """A new array at each call."""
    y = self.state + x
    self.state = np.ones(3)
    return y


def found_later(self: Model, x: Any) -> Any:
    """A state that is assigned from the third call on, when a number is lent already."""
    self.n += 1
    if self.n > 2:
        self.state = self.state + x
    return self.state * self.n


def asked(self: Model, x: Any) -> Any:
    """A state of which the identity is asked: it is not lent, and the function recorded anew."""
    self.state = x if self.state is self.other else self.state + x
    return self.state


def begun_lazily(self: Model, x: Any) -> Any:
    """An attribute that is made on the first call."""
    if self.inner.inner is None:
        self.inner.inner = x * 2.0
    self.inner.inner = self.inner.inner + x
    return self.inner.inner


@pytest.mark.parametrize(
    ("method", "most"),
    [
        (counted, 2), (recurrent, 1), (averaged, 2), (swapped, 2), (several, 2), (inner, 2),
        (begun, 4), (kept, 4), (fresh, 12),
        (begun_lazily, 2), (found_later, 3), (asked, 12),
    ],
)  # fmt: skip
def test_what_the_function_assigns_is_what_python_assigns(
    method: Callable[..., Any], most: int
) -> None:
    f = alike(method, keep, 12)
    assert f.tracing_count <= most + 2
    assert len(f.kernels) <= most


def test_what_raises_leaves_the_object_as_python_does() -> None:
    def f(self: Model, x: Any) -> Any:
        self.n += 1
        if self.n % 3 == 0:
            raise ValueError("third")
        self.total = self.total + 1.0 / (self.n - 4)
        return x * self.n

    alike(f, keep, 10)


def test_what_is_caught_leaves_the_object_as_python_does() -> None:
    def f(self: Model, x: Any) -> Any:
        self.n += 1
        try:
            y = np.linalg.inv(np.eye(3) * self.lr)
        except np.linalg.LinAlgError:
            self.n += 10
            y = np.eye(3)
        return y @ x

    def change(model: Model, k: int) -> None:
        model.lr = float(k % 3)

    alike(f, change, 9)


def test_other_effects_happen_as_often_as_in_python() -> None:
    def f(self: Model, x: Any) -> Any:
        self.log.append(self.n)
        self.n += 1
        return x * self.n

    alike(f, keep, 5)


def test_deleting_and_setting_by_name_is_pythons() -> None:
    def f(self: Model, x: Any) -> Any:
        y = x * self.lr
        del self.lr
        setattr(self, "lr", 2.0)  # noqa: B010
        object.__setattr__(self, "n", self.n + 1)
        return y * self.n

    alike(f, vary, 6)


def test_a_callback_sees_what_was_assigned_before_it() -> None:
    seen: list[Any] = []
    model = Model()

    @tj.function
    def f(x: Any) -> Any:
        model.n += 1
        tj.callback(lambda y: seen.append(model.n), x)
        model.n += 1
        return x * 2.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TracejitWarning)
        for _ in range(4):
            f(X)
    assert model.n == 8
    assert seen[1:] == [3, 5, 7]


def test_writing_into_what_is_lent_is_not_lost() -> None:
    model, its = Model(), Model()

    def f(self: Model, x: Any) -> Any:
        self.state += x
        return x

    compiled = tj.function(f)
    for k in range(3):
        model.state, its.state = np.full(3, float(k)), np.full(3, float(k))
        f(its, X)
        try:
            compiled(model, X)
        except tj.TracejitError:
            np.testing.assert_array_equal(model.state, np.full(3, float(k)))
        else:
            np.testing.assert_array_equal(model.state, its.state)


def test_gradients_of_what_assigns() -> None:
    model = Model()
    gradient = tj.value_and_grad(lambda x: averaged(model, x * x))
    total = 0.0
    for _ in range(4):
        value, found = gradient(X)
        total = 0.9 * total + np.sum(X * X)
        np.testing.assert_allclose(value, total)
        np.testing.assert_allclose(model.total, total)
        np.testing.assert_allclose(found, 2.0 * X)


def test_what_cannot_be_batched_is_refused_and_leaves_the_object() -> None:
    model = Model()
    batched = tj.vmap(lambda x: recurrent(model, x))
    for _ in range(2):
        with pytest.raises(tj.TracejitError, match="batched"):
            batched(np.ones((4, 3)))
        np.testing.assert_array_equal(model.state, np.zeros(3))
    counter = tj.vmap(lambda x: counted(model, x))
    for k in range(1, 4):
        np.testing.assert_array_equal(counter(np.ones((4, 3))), np.full((4, 3), float(k)))
    assert model.n == 3


def test_copies_beside_an_assignment_are_pythons() -> None:
    def f(self: Model, x: Any) -> Any:
        self.state = self.state + x * copy.copy(self).lr
        return self.state

    alike(f, vary, 5)


def test_objects_hold_numbers_after_a_call_that_changes_what_it_reads() -> None:
    def appends(self: Model, x: Any) -> Any:
        self.state = self.state + x * self.lr
        self.log.append(self.state.sum())
        return self.state

    def begins(self: Any, x: Any) -> Any:
        self.state = self.state + x
        self.doubled = self.state * 2
        return self.doubled

    for method in (appends, begins):
        alike(method, vary, 4)


def test_under_a_tape_what_is_assigned_is_followed() -> None:
    model, its = Model(), Model()
    f = tj.function(recurrent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TracejitWarning)
        for _ in range(2):
            f(model, X)
            recurrent(its, X)
        x = tj.constant(X)
        gradients = []
        for method, one in ((f, model), (recurrent, its)):
            with tj.GradientTape() as tape:
                tape.watch(x)
                y = np.sum(method(one, x)) + np.sum(method(one, x))
            gradients.append(tape.gradient(y, x))
    np.testing.assert_allclose(gradients[0], gradients[1])


# What other threads see


def test_other_threads_see_what_is_in_the_object() -> None:
    model = Model()
    inside, leave = threading.Event(), threading.Event()
    ready = {"wait": False}
    seen: list[Any] = []

    def pause() -> None:
        if ready["wait"] and threading.current_thread() is recorder:
            inside.set()
            leave.wait(10)

    def method(self: Model, x: Any) -> Any:
        self.n += 1
        y = x * self.lr * self.n
        wait(y)
        return y

    class Waiting:
        """What pauses the recording."""

        def __call__(self, y: Any) -> None:
            if current_recording() is not None:
                pause()

    wait = Waiting()
    f = tj.function(method)
    recorder = threading.current_thread()
    f(model, X)
    model.lr = 0.2
    ready["wait"] = True

    def look() -> None:
        inside.wait(10)
        seen.extend((type(model.lr), type(model.n), model.lr) for _ in range(100))
        leave.set()

    other = threading.Thread(target=look)
    other.start()
    np.testing.assert_allclose(f(model, X), X * 0.2 * 2)
    other.join()
    assert set(seen) == {(float, int, 0.2)}


def test_threads_that_use_one_object_get_right_answers() -> None:
    model = Model()
    f = tj.function(lambda self, x: x * self.lr + self.weights @ x)
    wrong: list[Any] = []

    def work(k: int) -> None:
        mine = Model()
        for step in range(40):
            mine.lr = 0.01 * step + k
            found = f(mine, X)
            if not np.allclose(found, X * mine.lr + mine.weights @ X):
                wrong.append((k, step))
            f(model, X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# What is not lent


class Own:
    """A class with attributes of its own making."""

    def __init__(self) -> None:
        """A number."""
        self.lr = 0.1

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


class Shared:
    """Objects that share their attributes."""

    table: dict[str, Any] = {"lr": 0.1}  # noqa: RUF012

    def __init__(self) -> None:
        """One table for all."""
        self.__dict__ = self.table


class Described:
    """A property over what is in the object."""

    def __init__(self) -> None:
        """A number."""
        vars(self)["lr"] = 0.1

    @property
    def lr(self) -> float:
        """Twice what is there."""
        return 2.0 * float(vars(self)["lr"])


@dataclasses.dataclass(frozen=True)
class Frozen:
    """An object that does not change."""

    lr: float = 0.1


@pytest.mark.parametrize("cls", [Own, Shared, Described, Frozen])
def test_what_stands_between_the_code_and_the_attribute_keeps_it(cls: type) -> None:
    holder = cls()
    own = vars(holder)
    assert not is_lendable(holder, "lr", own["lr"])
    f = tj.function(lambda x: x * holder.lr)
    for k in range(4):
        vars(holder)["lr"] = 0.1 * k
        np.testing.assert_allclose(f(X), X * holder.lr)


def test_booleans_and_objects_are_not_lent() -> None:
    model = Model()
    for name, value in [("flag", True), ("log", []), ("inner", None), ("n", "text")]:
        assert not is_lendable(model, name, value)
    for name, value in [("n", 1), ("lr", 0.5), ("total", np.float32(1)), ("state", X)]:
        assert is_lendable(model, name, value)


def test_an_attribute_is_lent_on_its_second_value() -> None:
    known, model = Attributes(), Model()
    assert known.lent(model, "lr", 0.1) is None
    assert known.lent(model, "lr", 0.1) is None
    attribute = known.lent(model, "lr", 0.2)
    assert attribute is not None
    assert attribute.value == 0.1
    assert known.lent(model, "lr", 0.1) is attribute
    known.keep([(id(model), "lr")])
    assert known.lent(model, "lr", 0.3) is None
