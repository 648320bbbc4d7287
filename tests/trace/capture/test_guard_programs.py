"""Random histories in which captured and passed values change: no answer is ever stale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day

X = np.array([1.0, 2.0])
NUMBERS = [0, 1, 2, True, False, 0.0, -0.0, 1.0, 2.5, math.nan, math.inf, None, "1", b"1"]
SCALARS = [np.float64(1.0), np.float32(1.0), np.float64(-0.0), np.int64(1), np.True_]


class Thing:
    """An object with attributes."""

    def __init__(self) -> None:
        self.k: Any = 1.0
        self.w: Any = np.ones(2)


def weight(value: Any) -> Any:
    """A number that tells a value from those that are equal to it."""
    if value is None:
        return 0.25
    if isinstance(value, (str, bytes)):
        return 3.0 if isinstance(value, str) else 5.0
    if isinstance(value, (list, tuple)):
        return sum([weight(one) for one in value], 7.0)
    if isinstance(value, np.ndarray):
        return float(value.sum()) * value.ndim + value.itemsize
    kind = 11.0 if isinstance(value, (bool, np.bool_)) else 13.0 if isinstance(value, int) else 17.0
    number = 0.0 if value != value or abs(value) == math.inf else float(value)
    return kind + number + float(np.copysign(1.0, float(value)))


class World:
    """The captures of a function, and the function."""

    def __init__(self) -> None:
        self.table: dict[Any, Any] = {"a": 1.0, "b": 2}
        self.items: list[Any] = [1, 2.0]
        self.thing = Thing()
        self.array = np.arange(2.0)
        self.python = self.made()
        self.compiled = tj.function(self.python)

    def made(self) -> Callable[..., Any]:
        table, items, thing, array = self.table, self.items, self.thing, self.array
        rate: Any = 1.0

        def f(x: Any, options: Any, mode: Any = None) -> Any:
            total = x * weight(rate) + weight(mode)
            for key in table:
                total = total + weight(table[key]) * len(str(key))
            total = total * weight(items) + array + array.sum()
            for key in sorted(options):
                total = total + options[key]
            return total + weight(thing.k) + thing.w

        def put(value: Any) -> None:
            nonlocal rate
            rate = value

        self.put = put
        return f


ANY = st.sampled_from([*NUMBERS, *SCALARS])
ARRAYS = st.sampled_from(
    [np.ones(2), np.zeros(2), np.ones((2, 2)), np.ones(2, np.float32), np.arange(4.0)[::2]]
)
STEPS = st.one_of(
    st.tuples(st.just("table"), st.sampled_from(["a", "b", "c", 1, True, (1,)]), ANY),
    st.tuples(st.just("drop"), st.sampled_from(["a", "b", "c", 1]), st.none()),
    st.tuples(st.just("item"), st.integers(0, 1), ANY | st.lists(ANY, max_size=2)),
    st.tuples(st.just("append"), st.none(), ANY),
    st.tuples(st.just("k"), st.none(), ANY),
    st.tuples(st.just("w"), st.none(), ARRAYS),
    st.tuples(st.just("element"), st.integers(0, 1), st.sampled_from([0.0, -0.0, 1.0, 5.0])),
    st.tuples(st.just("rate"), st.none(), ANY),
    st.tuples(st.just("mode"), st.none(), ANY | st.tuples(ANY)),
    st.tuples(st.just("options"), st.sampled_from(["u", "v"]), ARRAYS | st.floats(-2, 2)),
)


def change(world: World, options: dict[str, Any], step: tuple[str, Any, Any]) -> dict[str, Any]:
    """Take one step; the keyword arguments that it passes."""
    kind, where, value = step
    if kind == "table":
        world.table[where] = value
    elif kind == "drop":
        world.table.pop(where, None)
    elif kind == "item":
        world.items[where] = value
    elif kind == "append":
        world.items.append(value)
    elif kind in ("k", "w"):
        setattr(world.thing, kind, value)
    elif kind == "element":
        world.array[where] = value
    elif kind == "rate":
        world.put(value)
    elif kind == "options":
        options[where] = value
    return {"mode": value} if kind == "mode" else {}


@settings(deadline=None, max_examples=by_day(10, 25))
@given(st.lists(STEPS, min_size=1, max_size=6))
def test_no_history_gives_a_stale_answer(steps: list[tuple[str, Any, Any]]) -> None:
    world, options = World(), dict[str, Any]()
    keywords: dict[str, Any] = {}
    for step in [None, *steps]:
        if step is not None:
            keywords = change(world, options, step)
        for _ in range(2):  # a kernel that was just made takes the same call
            expected = world.python(X, options, **keywords)
            found = world.compiled(X, options, **keywords)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected, err_msg=str(step))
    told = world.compiled.explain()
    assert told.startswith(f"f has {len(world.compiled.kernels)} kernel")


@settings(deadline=None, max_examples=25)
@given(STEPS)
def test_a_change_is_told_or_changes_nothing(step: tuple[str, Any, Any]) -> None:
    world, options = World(), dict[str, Any]()
    world.compiled(X, options)
    keywords = change(world, options, step)
    told = world.compiled.explain(X, options, **keywords)
    count = world.compiled.tracing_count
    world.compiled(X, options, **keywords)
    is_taken = told == "Kernel 1 takes this call."
    assert is_taken == (world.compiled.tracing_count == count), told
    assert is_taken or told.startswith("No kernel takes this call, because ")
