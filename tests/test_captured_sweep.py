"""One element of one captured array is changed, in every program of tests/captured, at sizes from
10 to 5 million: no answer is stale.

The programs hold arrays of three elements; here their text is read again with another size. The
ways to hold an array stand in `holders` as well, each for any array.
"""

from __future__ import annotations

import collections
import contextvars
import functools
import re
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.captured import table
from tests.test_captured import LEAKS, RESTLESS
from tracejit.trace.capture.captures import Captures

FILES = sorted((Path(__file__).parent / "captured").glob("*.py"))
SMALL, LARGE = by_day((10,), (10, 1000)), (100_000, 1_000_000, 5_000_000)
# Programs, of those with arrays of the size, in which an element was changed and seen.
AT_LEAST = 20


def programs(size: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The programs of tests/captured with arrays of another size, by name."""
    known = dict(table.PROGRAMS)
    try:
        for path in FILES:
            table.PROGRAMS.clear()
            text = re.sub(r"np\.(full|ones|zeros)\(3\b", rf"np.\1({size}", path.read_text())
            module = types.ModuleType(f"captured_{path.stem}_{size}")
            sys.modules[module.__name__] = module
            exec(compile(text, str(path), "exec"), vars(module))
            if path.stem != "table":
                yield from table.PROGRAMS.items()
    finally:
        table.PROGRAMS.clear()
        table.PROGRAMS.update(known)


def arrays_in(function: Callable[..., Any], size: int) -> list[np.ndarray]:
    """The numbers of `size` elements that a function captures and that can be written to."""
    found = [array for _, array in Captures([function]).arrays.values()]
    found = [array.reshape(-1) for array in found if array.flags.c_contiguous]
    return [a for a in found if a.size == size and a.dtype.kind in "fi" and a.flags.writeable]


def answer(function: Callable[..., Any], args: list[Any]) -> Any:
    """What a call answers, as it is now; the class of what it raises."""
    try:
        return np.array(function(*args))
    except Exception as error:
        return type(error).__name__


def same(one: Any, other: Any) -> bool:
    """Whether two answers are one."""
    if isinstance(one, str) or isinstance(other, str):
        return bool(type(one) is type(other) and one == other)
    close = np.allclose(one, other, rtol=1e-9, atol=0, equal_nan=True)
    return bool(one.dtype == other.dtype and one.shape == other.shape and close)


def sweep(size: int) -> int:
    """Change elements, one at a time, of every array; the number of programs in which an answer
    changed by that."""
    x, places = np.ones(size), np.random.default_rng(size)
    seen = 0
    for name, factory in programs(size):
        if name in LEAKS | RESTLESS:
            continue
        function, _, *args = factory()
        if not arrays_in(function, size) or isinstance(answer(function, [x, *args]), str):
            continue
        changed = False
        compiled = tj.function(function)
        before = answer(compiled, [x, *args])
        for array in arrays_in(function, size):
            for place in (0, size - 1, int(places.integers(size))):
                kept = array[place].copy()
                array[place] += 1
                found, expected = answer(compiled, [x, *args]), answer(function, [x, *args])
                assert same(found, expected), (name, place)
                changed |= not same(found, before)
                array[place] = kept
                found = answer(compiled, [x, *args])
                assert same(found, answer(function, [x, *args])), (name, place)
        seen += changed
    return seen


class Slots:
    """An object with a slot."""

    __slots__ = ("w",)


class Pair(NamedTuple):
    """A tuple with names."""

    w: Any


class Held:
    """An object that holds an array, behind a property as well."""

    kind: Any = None

    def __init__(self, w: Any) -> None:
        """Hold w."""
        self.w = w

    @property
    def shown(self) -> Any:
        """The array."""
        return self.w

    def get(self) -> Any:
        """The array."""
        return self.w


class Sub(np.ndarray):
    """A subclass."""


def holders(w: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Ways to hold an array of numbers, each as what reads it."""
    thing, slotted, inner = Held(w), Slots(), Held(Held(w))
    slotted.w = w
    made: Any = type("Made", (Held,), {"kind": w})
    objects = np.empty(2, object)
    objects[0] = w
    records = np.zeros(w.size, [("a", "f8"), ("b", "i4")])
    variable = contextvars.ContextVar("variable", default=w)
    space, pair, sub, shown = types.SimpleNamespace(w=w), Pair(w), w.view(Sub), memoryview(w)
    table = {"rows": [{"w": w}]}
    views = {"view": w[:], "half": w[::2], "backwards": w[::-1], "matrix": w.reshape(2, -1).T}
    reference = weakref.ref(w)

    def default(v: Any = w) -> Any:
        return v

    @functools.lru_cache
    def remembered() -> Any:
        return w

    remembered()
    namespace = {"np": np, "w": w}
    exec("def read(): return w", namespace)
    partial = functools.partial(np.ravel, w)
    masked = np.ma.masked_array(w, w < 0)
    readers: dict[str, Callable[[], Any]] = {
        "closure": lambda: w,
        "global": namespace["read"],
        "attribute": lambda: thing.w,
        "property": lambda: thing.shown,
        "method": thing.get,
        "attribute of an attribute": lambda: inner.w.w,
        "class": lambda: made.kind,
        "slot": lambda: slotted.w,
        "default": default,
        "list": lambda items=[w]: items[0],
        "tuple": lambda items=(w, 1): items[0],
        "nested": lambda: table["rows"][0]["w"],
        "named tuple": lambda: pair.w,
        "object array": lambda: objects[0],
        "namespace": lambda: space.w,
        "weak reference": lambda: reference(),
        "context variable": lambda: variable.get(),
        "cache": lambda: remembered(),
        "partial": partial,
        "proxy": lambda proxy=types.MappingProxyType({"w": w}): proxy["w"],
        "deque": lambda items=collections.deque([w]): items[0],
        "field": lambda: records["a"],
        "masked": lambda: masked.filled(-1.0),
        "subclass": lambda: np.asarray(sub),
        "memoryview": lambda: np.asarray(shown),
        "copy": lambda: np.copy(w, order="K"),
    }
    readers |= {name: lambda view=view: view for name, view in views.items()}
    return readers


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("dtype", by_day(["f8", "i1"], ["f8", "f4", "i8", "i1"]))
def test_every_element_of_every_holder_counts(size: int, dtype: str) -> None:
    sweep_holders(size, dtype)


@pytest.mark.stress
@pytest.mark.parametrize("size", LARGE)
def test_every_element_of_every_holder_of_many_counts(size: int) -> None:
    sweep_holders(size, "f8")


def sweep_holders(size: int, dtype: str) -> None:
    """Change one element of an array that is held in some way, and undo it: NumPy computes with it
    while a function is recorded."""
    x, places = np.ones(2), np.random.default_rng(size)
    for name in holders(np.zeros(4)):
        w = places.permutation(size).astype(dtype) % 50
        read = holders(w)[name]
        target = read() if name == "field" else w

        def python(x: Any, read: Any = read) -> Any:
            held = read()
            weights = np.arange(held.size).reshape(held.shape)
            return x * float(np.sum(held.astype(float) * weights))

        compiled = tj.function(lambda x, python=python: python(x))
        compiled(x)
        for place in {0, size - 2, 2 * int(places.integers(size // 2))}:
            kept = target[place].copy()
            target[place] = 99
            assert same(compiled(x), python(x)), (name, place)
            target[place] = kept
            assert same(compiled(x), python(x)), (name, place)


@pytest.mark.parametrize("size", SMALL)
def test_no_answer_is_stale_after_one_element(size: int) -> None:
    assert sweep(size) >= AT_LEAST


@pytest.mark.stress
@pytest.mark.parametrize("size", LARGE)
def test_no_answer_is_stale_after_one_element_of_many(size: int) -> None:
    assert sweep(size) >= AT_LEAST
