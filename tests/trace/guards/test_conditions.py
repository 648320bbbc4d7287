"""Conditions: compiled to one function, which answers and never raises, and told one by one."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.capture.captures import Captures
from tracejit.trace.guards.access_paths import AccessPath
from tracejit.trace.guards.check import compiled
from tracejit.trace.guards.conditions import ConditionSet, Guards
from tracejit.trace.guards.guards import HasKeys, Length, Never


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


CHANGES: dict[str, tuple[Callable[[], Any], list[tuple[str, str, str]]]] = {
    "number": (put(scale=3.0), [("the global scale", "2.0", "3.0")]),
    "another type": (put(scale=2), [("the global scale", "2.0", "2")]),
    "text for a number": (put(scale="2.0"), [("the global scale", "2.0", "'2.0'")]),
    "flag": (put(flag=False), [("the global flag", "True", "False")]),
    "attribute": (lambda: setattr(layer, "k", 5), [("the global layer.k", "2", "5")]),
    "attribute of an attribute": (
        lambda: setattr(layer.inner, "k", 5),
        [("the global layer.inner.k", "2", "5")],
    ),
    "attribute of an element": (
        lambda: setattr(layers[1], "k", 5),
        [("the global layers[1].k", "2", "5")],
    ),
    "object, not what is in it": (
        lambda: setattr(layer, "inner", Layer()),
        [("the global layer.inner", "a Layer", "another Layer")],
    ),
    "element": (
        lambda: table.update(a=7),
        [("the global table['a']", "1", "7")],
    ),
    "appended to": (
        lambda: layers.append(Layer()),
        [("the global layers", "of length 2", "of length 3")],
    ),
    "function": (
        put(helper=lambda x: x),
        [("the global helper", "the function helper", "the function <lambda>")],
    ),
    "array": (
        put(matrix=np.ones(4)),
        [("the global matrix", "an array f8[2,3]", "an array f8[4]")],
    ),
    "contents": (
        lambda: matrix.__setitem__(0, 5.0),
        [("the global matrix", "as it was", "of other contents")],
    ),
    "two": (
        put(scale=3.0, flag=False),
        [("the global flag", "True", "False"), ("the global scale", "2.0", "3.0")],
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


def told(guard: Guards, names: Any = None) -> list[tuple[str, str, str]]:
    """The changes as what, was and now."""
    return [one[1:4] for one in guard.changes(names)]


def guard_of(function: Callable[..., Any]) -> Guards:
    guard = Captures([function]).guard()
    assert guard is not None
    return guard


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_told_by_name(name: str, untouched: None) -> None:
    guard = guard_of(every)
    assert told(guard) == []
    change, expected = CHANGES[name]
    change()
    assert not guard()
    assert sorted(told(guard)) == sorted(expected)


def test_keys_are_told(untouched: None) -> None:
    guard = guard_of(every)
    table["c"] = 3
    (change,) = guard.changes()
    assert change.what == "the global table"
    assert "'a', 'b', 'c'" in change.now


def test_what_is_gone_is_told(untouched: None) -> None:
    guard = guard_of(every)
    del layer.k
    assert any(change.what.startswith("the global layer") for change in guard.changes())


def test_a_variable_of_a_closure_is_told() -> None:
    f, put = closure()
    guard = guard_of(f)
    put(2.5)
    assert told(guard) == [("rate", "1.0", "2.5")]


def test_arguments_are_called_what_the_caller_labels_them() -> None:
    one = Layer()
    guard = Captures([lambda self, x: x * self.k, one]).guard()
    assert guard is not None
    one.k = 3
    assert told(guard, {id(one): "self"}) == [("self.k", "2", "3")]


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
    (change,) = guard.changes()
    assert change.what.startswith("one")


def test_arrays_that_are_compared_are_listed() -> None:
    small, large, fixed = np.ones(3), np.ones(2**18), np.ones(2)
    fixed.flags.writeable = False
    found = guard_of(lambda x: x + small + large.sum() + fixed).compared()
    assert sorted(found) == [("large", large.nbytes), ("small", 24)]


def test_a_guard_without_conditions_has_no_changes() -> None:
    assert Guards(lambda: False).changes() == []


def test_of_many_attributes_those_that_differ_are_told() -> None:
    space = types.SimpleNamespace(scale=2.0, tolerance_of_the_solver=1e-3, number_of_iterations=3)
    f = tj.function(lambda x: x * space.scale * len(vars(space).keys()), cache=False)
    f(np.ones(2))
    space.momentum = 0.9
    del space.number_of_iterations
    f(np.ones(2))
    assert "of 3 keys, 'momentum' new and 'number_of_iterations' gone" in f.explain()


# What conditions compile to


def test_no_condition_is_no_guard() -> None:
    assert compiled(ConditionSet().all()) is None


def test_all_conditions_must_hold() -> None:
    found, box = ConditionSet(), [1, "a"]
    path = AccessPath(box)
    found.add(path, Length(2))
    found.add_value(path.item(0), 1)
    found.add_value(path.item(1), "a")
    found.add_value(path.item(1), "a")
    guard: Any = compiled(found.all())
    assert len(guard.conditions) == 3
    assert guard() is found.hold() is True
    for changed in ([True, "a"], [1, "b"], [1], [1, "a", 2], []):
        box[:] = changed
        assert guard() is found.hold() is False
    box[:] = [1, "a"]
    assert guard() is found.hold() is True


def test_keys_that_must_be_absent() -> None:
    found, space = ConditionSet(), {"a": 1}
    found.add_absent(AccessPath(space), ["b"])
    found.add_absent(AccessPath(space), ["c"])
    guard: Any = compiled(found.all())
    assert guard() is True
    space["d"] = 1
    assert guard() is True
    space["c"] = 1
    assert guard() is False
    assert told(guard) == [("a dict", "without 'b', 'c'", "with 'c'")]


@pytest.mark.parametrize("keys", [["a", "b"], [1, "a"], [(1, 2)], [0.0], []])
def test_keys_are_compared_in_order_and_to_the_bit(keys: list[Any]) -> None:
    found, table = ConditionSet(), dict.fromkeys(keys)
    found.add(AccessPath(table), HasKeys(tuple(keys)))
    guard: Any = compiled(found.all())
    assert guard() is True
    others: list[list[Any]] = [["a", "b", "c"], ["b", "a"], [True, "a"], [(1, 3)], [-0.0]]
    for other in others:
        table.clear()
        table.update(dict.fromkeys(other))
        assert guard() is False


def test_an_error_fails_a_guard() -> None:
    found = ConditionSet()
    found.add(AccessPath(1).attribute("nowhere"), Length(2))
    guard: Any = compiled(found.all())
    assert guard() is found.hold() is False
    assert told(guard) == [("an int.nowhere", "of length 2", "gone")]


def test_an_iterator_never_holds() -> None:
    found = ConditionSet()
    found.add(AccessPath(iter([1])), Never())
    guard: Any = compiled(found.all())
    assert guard() is found.hold() is False
    assert [one.row for one in guard.changes()] == ["iterator"]
