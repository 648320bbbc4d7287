"""What a guard found different, in the user's words."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.capture.captures import Captures
from tracejit.trace.capture.changes import (
    AS_IT_WAS,
    CONTENTS,
    Change,
    changes,
    compared_arrays,
    described,
)


class Layer:
    """An object with attributes."""

    def __init__(self) -> None:
        self.k = 2
        self.inner: Any = None


scale: Any = 2.0
flag = True
table: dict[str, Any] = {"a": 1, "b": [1, 2]}
layers: Any = [Layer(), Layer()]
layer = Layer()
layer.inner = Layer()
matrix = np.ones((2, 3))
names = frozenset("ab")


def helper(x: Any) -> Any:
    return x * scale


def closure() -> tuple[Callable[..., Any], Callable[[Any], None]]:
    """A function that reads a variable of a closure, and what sets it."""
    rate = 1.0

    def f(x: Any) -> Any:
        return x * rate

    def put(value: Any) -> None:
        nonlocal rate
        rate = value

    return f, put


def every(x: Any) -> Any:
    """Read all of the above."""
    if flag and "a" in names:
        x = helper(x) + matrix
    return x * table["a"] + layer.k + layer.inner.k + layers[1].k + table["b"][0]


def put(**values: Any) -> Callable[[], None]:
    """What rebinds globals of this module."""
    return lambda: globals().update(values)


CHANGES: dict[str, tuple[Callable[[], Any], list[Change]]] = {
    "number": (put(scale=3.0), [Change("the global scale", "2.0", "3.0")]),
    "another type": (put(scale=2), [Change("the global scale", "2.0", "2")]),
    "text for a number": (put(scale="2.0"), [Change("the global scale", "2.0", "'2.0'")]),
    "flag": (put(flag=False), [Change("the global flag", "True", "False")]),
    "attribute": (lambda: setattr(layer, "k", 5), [Change("the global layer.k", "2", "5")]),
    "attribute of an attribute": (
        lambda: setattr(layer.inner, "k", 5),
        [Change("the global layer.inner.k", "2", "5")],
    ),
    "attribute of an element": (
        lambda: setattr(layers[1], "k", 5),
        [Change("the global layers[1].k", "2", "5")],
    ),
    "object, not what is in it": (
        lambda: setattr(layer, "inner", Layer()),
        [Change("the global layer.inner", "a Layer", "another Layer")],
    ),
    "element": (
        lambda: table.update(a=7),
        [Change("the global table['a']", "1", "7")],
    ),
    "appended to": (
        lambda: layers.append(Layer()),
        [Change("the global layers", "of length 2", "of length 3")],
    ),
    "function": (
        put(helper=lambda x: x),
        [Change("the global helper", "the function helper", "the function <lambda>")],
    ),
    "array": (
        put(matrix=np.ones(4)),
        [Change("the global matrix", "an array f8[2,3]", "an array f8[4]")],
    ),
    "contents": (
        lambda: matrix.__setitem__(0, 5.0),
        [Change("the global matrix", AS_IT_WAS, CONTENTS)],
    ),
    "two": (
        put(scale=3.0, flag=False),
        [Change("the global flag", "True", "False"), Change("the global scale", "2.0", "3.0")],
    ),
}


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The globals of this module, for one test to change."""
    fresh = [Layer(), Layer()]
    top = Layer()
    top.inner = Layer()
    known = {"scale": 2.0, "flag": True, "table": {"a": 1, "b": [1, 2]}, "layers": fresh}
    known |= {"layer": top, "matrix": np.ones((2, 3)), "helper": helper}
    for name, value in known.items():
        monkeypatch.setitem(globals(), name, value)


def guard_of(function: Callable[..., Any]) -> Callable[[], bool]:
    guard = Captures([function]).guard()
    assert guard is not None
    return guard


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_told_by_name(name: str, untouched: None) -> None:
    guard = guard_of(every)
    assert changes(guard) == []
    change, expected = CHANGES[name]
    change()
    assert not guard()
    assert sorted(changes(guard)) == sorted(expected)


def test_keys_are_told(untouched: None) -> None:
    guard = guard_of(every)
    table["c"] = 3
    (change,) = changes(guard)
    assert change.what == "the global table"
    assert "'a', 'b', 'c'" in change.now


def test_what_is_gone_is_told(untouched: None) -> None:
    guard = guard_of(every)
    del layer.k
    assert any(change.what.startswith("the global layer") for change in changes(guard))


def test_a_variable_of_a_closure_is_told() -> None:
    f, put = closure()
    guard = guard_of(f)
    put(2.5)
    assert changes(guard) == [Change("rate", "1.0", "2.5")]


def test_arguments_are_called_what_the_caller_labels_them() -> None:
    one = Layer()
    guard = Captures([lambda self, x: x * self.k, one]).guard()
    assert guard is not None
    one.k = 3
    assert changes(guard, {id(one): "self"}) == [Change("self.k", "2", "3")]


def test_nothing_of_the_users_runs() -> None:
    class Answering:
        k = 1.0

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

        def __repr__(self) -> str:
            raise AssertionError

    one = Answering()
    guard = guard_of(lambda x: x * one.k)
    one.k = 2.0
    (change,) = changes(guard)
    assert change.what.startswith("one")


def test_arrays_that_are_compared_are_listed() -> None:
    small, large, fixed = np.ones(3), np.ones(2**18), np.ones(2)
    fixed.flags.writeable = False
    found = compared_arrays(guard_of(lambda x: x + small + large.sum() + fixed))
    assert sorted(found) == [("large", large.nbytes), ("small", 24)]


def test_a_guard_without_conditions_has_no_changes() -> None:
    assert changes(lambda: False) == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.5, "1.5"),
        ("a" * 60, "'" + "a" * 35 + " ..."),
        (np.float32(2), repr(np.float32(2))),
        (np.ones((2, 3), np.float32), "an array f4[2,3]"),
        (helper, "the function helper"),
        (Layer, "the class Layer"),
        (types, "the module types"),
        ([1, 2], "[1, 2]"),
        ((Layer(), 2), "a tuple of 2"),
        ({1: 2}, "a dict of 1"),
        (Layer(), "a Layer"),
    ],
)
def test_values_are_described(value: Any, words: str) -> None:
    assert described(value) == words


def test_of_many_attributes_those_that_differ_are_told() -> None:
    space = types.SimpleNamespace(scale=2.0, tolerance_of_the_solver=1e-3, number_of_iterations=3)
    f = tj.function(lambda x: x * space.scale, cache=False)
    f(np.ones(2))
    space.momentum = 0.9
    del space.number_of_iterations
    f(np.ones(2))
    assert "of 3 attributes, 'momentum' new and 'number_of_iterations' gone" in f.explain()
