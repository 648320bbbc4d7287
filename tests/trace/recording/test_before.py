"""A function that runs once more for one call meets what it met before, and changes it once."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import UnsupportedError

SINGULAR = np.zeros((2, 2))
COUNT = 0


class Slotted:
    """One attribute, in a slot, and one of the class."""

    __slots__ = ("n",)
    made = 0


def _adds_to_a_global(kept: Any) -> None:
    global COUNT
    COUNT += 1
    kept["COUNT"] = COUNT


def _makes_a_global(kept: Any) -> None:
    global FOUND
    FOUND = globals().get("FOUND", 0) + 1
    kept["FOUND"] = FOUND


def _adds_to_a_slot(kept: Any) -> None:
    kept["slotted"].n += 1


def _adds_to_a_class(kept: Any) -> None:
    Slotted.made += 1
    kept["made"] = Slotted.made


def _writes_to_an_array(kept: Any) -> None:
    kept["array"][1:] += 1.0


def _appends(kept: Any) -> None:
    kept["list"].append(1)
    kept["deque"].append(2)
    kept["set"].add(len(kept["list"]))


def _fills(kept: Any) -> None:
    kept["default"]["new"] += 1
    kept["ordered"]["first"] = kept["ordered"].pop("first")
    kept["object"].n = kept["object"].n + 1


EFFECTS: list[Callable[[Any], None]] = [
    _adds_to_a_global, _makes_a_global, _adds_to_a_slot, _adds_to_a_class, _writes_to_an_array,
    _appends, _fills,
]  # fmt: skip


def state() -> dict[str, Any]:
    """All that the programs change."""
    global COUNT
    COUNT, Slotted.made = 0, 0
    globals().pop("FOUND", None)
    slotted = Slotted()
    slotted.n = 0
    return {
        "slotted": slotted,
        "array": np.zeros(3),
        "list": [],
        "deque": deque(),
        "set": set[int](),
        "default": defaultdict(int),
        "ordered": OrderedDict(first=1, second=2),
        "object": SimpleNamespace(n=0),
    }


def told(kept: dict[str, Any]) -> str:
    """The state as text."""
    return f"{kept | {'slotted': kept['slotted'].n}}"


@pytest.mark.parametrize("effect", EFFECTS)
def test_what_comes_before_an_error_of_the_kernel_is_done_once(effect: Callable[..., None]) -> None:
    def program(kept: Any, x: Any) -> Any:
        effect(kept)
        return np.linalg.inv(x)

    wanted = state()
    with pytest.raises(np.linalg.LinAlgError):
        program(wanted, SINGULAR)
    right = told(wanted)
    kept = state()
    compiled = tj.function(lambda x: program(kept, x), cache=False)
    with pytest.raises(np.linalg.LinAlgError):
        compiled(SINGULAR)
    assert told(kept) == right


@pytest.mark.parametrize("effect", EFFECTS)
def test_what_comes_before_a_number_that_python_wants_is_done_once(
    effect: Callable[..., None],
) -> None:
    def program(kept: Any, x: Any, n: int) -> Any:
        effect(kept)
        return x * len(json.dumps(n))

    wanted = state()
    for n in (1, 20, 300):
        program(wanted, 1.0, n)
    right = told(wanted)
    kept = state()
    compiled = tj.function(lambda x, n: program(kept, x, n), cache=False)
    assert [compiled(np.float64(1.0), n) for n in (1, 20, 300)] == [1.0, 2.0, 3.0]
    assert told(kept) == right


def _numbers() -> Iterator[float]:
    yield from (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([1.0, 2.0, 3.0]),
        _numbers,
        lambda: map(float, [1, 2, 3]),
        lambda: (one for one, _ in zip([1.0, 2.0, 3.0], "abc", strict=True)),
    ],
)
def test_an_iterator_is_not_advanced_twice(make: Callable[[], Iterator[float]]) -> None:
    numbers = make()
    compiled = tj.function(lambda x: np.linalg.inv(x) * next(numbers), cache=False)
    with pytest.raises(UnsupportedError, match="advanced an iterator"):
        compiled(SINGULAR)
    assert list(numbers) == [2.0, 3.0]


def test_an_iterator_that_stands_still_is_no_hindrance() -> None:
    numbers = iter([1.0, 2.0])

    def program(x: Any) -> Any:
        y = np.linalg.inv(x)
        return y if numbers is None else y * 2.0

    with pytest.raises(np.linalg.LinAlgError):
        tj.function(program, cache=False)(SINGULAR)
    assert list(numbers) == [1.0, 2.0]


def test_an_array_that_cannot_be_put_back_is_not_written_twice() -> None:
    table = np.zeros((4, 3))[:, ::2]

    def program(x: Any) -> Any:
        table[0, 0] += 1.0
        return np.linalg.inv(x)

    with pytest.raises(UnsupportedError, match="has written to an array"):
        tj.function(program, cache=False)(SINGULAR)
    assert table[0, 0] == 1.0


def test_decisions_are_asked_anew_where_the_attributes_are_not_lent() -> None:
    class Box:
        n = 0

        def __call__(self, v: Any) -> Any:
            self.n += 1
            return v * 0.5 + self.n

    def settled(v: Any) -> Any:
        trips = 0
        while v > 1.0:
            v, trips = v * 0.5, trips + 1
        return v + trips

    def outer() -> tuple[Any, Any]:
        box = Box()
        box.n = 0

        def program(x: Any) -> Any:
            total, a, w = 0.0, 0.0, x * np.ones(3)
            while not x < 1.0:
                a = box(a) * 0.1
                total = total + settled(a)
                if x > 2.0:
                    w = w + 1.0
                    w += a
                    total = total + w[1]
                x = x * 0.6
            return total, box.n

        return program, box

    (plain, here), (program, there) = outer(), outer()
    compiled = tj.function(program, cache=False)
    for number in (9.0, 1.6, 9.0, 0.7, 9.0):
        assert compiled(np.float64(number)) == plain(np.float64(number))
        assert here.n == there.n


class Counted:
    """An object that counts its readers."""

    def __init__(self) -> None:
        self.n = 0.0

    def __getitem__(self, step: int) -> float:
        self.n = self.n + step
        return self.n


def test_the_first_error_is_pythons_where_attributes_are_lent() -> None:
    box = Counted()

    def f(x: Any) -> Any:
        s = 0.0
        for _ in range(8):
            s = s + np.linalg.inv(np.eye(2) * (x > 1.0))[0, 0]
            s = s + box[1]
            s = s + nowhere  # type: ignore[name-defined] # noqa: F821
        return s

    compiled = tj.function(f)
    for x, error in ((1.6, NameError), (3.5, NameError), (0.7, np.linalg.LinAlgError)):
        with pytest.raises(error):
            compiled(np.float64(x))
    assert box.n == 2.0
