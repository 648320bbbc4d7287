"""Containers other than dict, list and tuple among arguments and results: classes, order, factories
and changes are Python's."""

from __future__ import annotations

import enum
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same

pytestmark = [
    pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning"),
]

X = np.arange(6.0)


class Colour(enum.Enum):
    """A constant."""

    RED = 1
    BLUE = 2


def grouped(x: Any) -> Any:
    """Sorts into lists."""
    groups = defaultdict(list)
    for k in range(4):
        groups["even" if k % 2 == 0 else "odd"].append(x[k])
    return groups


ANSWERS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "an ordered dict": (lambda d: OrderedDict(b=d["a"], a=d["b"] * 2), (OrderedDict(b=X, a=X),)),
    "walked in order": (lambda d: np.stack([*d.values()]), (OrderedDict(b=X, a=2 * X),)),
    "a default dict": (lambda d: d, (defaultdict(list, b=X, a=X + 1),)),
    "grouped": (grouped, (X,)),
    "a set": (lambda x, s: (x * len(s), s, {3, 1}), (X, {1, 2})),
    "a slice": (lambda x, s: (x[s], s), (X, slice(1, 5, 2))),
    "enums": (lambda x, c: {c: x, Colour.BLUE: c is Colour.RED}, (X, Colour.RED)),
    "nested": (lambda d: [d["s"], d["o"]["x"][d["s"]]], ({"s": slice(2), "o": OrderedDict(x=X)},)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_is_pythons(name: str) -> None:
    f, given = ANSWERS[name]
    compiled = tj.function(f)
    for _ in range(2):
        found = compiled(*given)
        expected = f(*given)
        assert_same(found, expected)
        assert getattr(found, "default_factory", None) is getattr(expected, "default_factory", None)
        assert repr(found) == repr(expected)
    assert compiled.tracing_count == 1


def test_each_class_order_and_factory_has_its_own_kernel() -> None:
    f = tj.function(lambda d: np.stack([*d.values()]) * (2 if type(d) is dict else 1))
    a, b = X, X + 1
    calls = [
        {"a": a, "b": b},
        OrderedDict(a=a, b=b),
        OrderedDict(b=b, a=a),
        defaultdict(list, a=a, b=b),
        defaultdict(int, a=a, b=b),
    ]
    for _ in range(2):
        for given in calls:
            assert_same(f(given), f.python(given))
    assert f.tracing_count == len(calls)
    moved = OrderedDict(a=a, b=b)
    moved.move_to_end("a")
    assert_same(f(moved), f.python(moved))
    assert f.tracing_count == len(calls)


def test_sets_are_told_apart_by_what_is_in_them() -> None:
    f = tj.function(lambda x, s: x * len(s) if type(next(iter(s))) is int else -x)
    for given in ({1, 2}, {2, 1}, {True, 2}, {1.0}, {(1,)}, {(True,)}, {1, 2, 3}, {Colour.RED}):
        for _ in range(2):
            assert_same(f(X, given), f.python(X, given))
    growing = {1, 2}
    for more in range(4, 8):
        assert_same(f(X, growing), X * len(growing))
        growing.add(more)


def test_a_container_that_is_changed_is_changed_once_per_call() -> None:
    def changed(x: Any, groups: Any, seen: Any) -> Any:
        groups["new"].append(x[0])
        seen.add(len(seen))
        return x * len(seen)

    f = tj.function(changed)
    groups: Any = defaultdict(list)
    seen: set[int] = set()
    for k in range(3):
        assert_same(f(X, groups, seen), X * (k + 1))
    assert len(groups["new"]) == 3
    assert seen == {0, 1, 2}


def test_results_are_new_containers() -> None:
    f = tj.function(lambda x: ({1}, OrderedDict(x=x), defaultdict(list)))
    first = f(X)
    first[0].add(2)
    first[2]["a"].append(1)
    assert repr(f(X)) == repr(f.python(X))


def test_gradients_have_the_containers_of_their_arguments() -> None:
    def loss(d: Any) -> Any:
        return np.sum(d["w"] ** 2) * d["b"]

    found = tj.grad(loss)(OrderedDict(w=X, b=3.0))
    assert type(found) is OrderedDict
    assert list(found) == ["w", "b"]
    assert_same(found["w"], 6.0 * X)
    found = tj.grad(loss)(defaultdict(float, w=X, b=3.0))
    assert found.default_factory is float
    jacobian = tj.jacobian(lambda d, s: d["w"][s])(OrderedDict(w=X), slice(2))
    assert_same(jacobian["w"], np.eye(6)[:2])


def test_numbers_in_a_slice_are_read() -> None:
    f = tj.function(lambda x, s: x[s] * 2.0)
    for start in range(4):
        assert_same(f(X, slice(start, start + 2)), 2.0 * X[start : start + 2])
