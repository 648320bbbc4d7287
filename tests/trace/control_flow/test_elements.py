"""The elements of what loops go over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tracejit.trace.control_flow.elements import (
    ENDLESS,
    Made,
    Numbers,
    RecordedRange,
    ReversedRange,
    elements_of,
    exhaust,
    recorded_range,
)


def made(builtin: Any, *args: Any, **kwargs: Any) -> tuple[Any, dict[int, Made]]:
    """An iterator, noted as one that a builtin has made."""
    found = builtin(*args, **kwargs)
    return found, {id(found): Made(found, builtin, args, kwargs)}


def listed(o: Any, known: dict[int, Made] | None = None) -> list[Any] | None:
    """The elements, made step by step."""
    found = elements_of(o, known or {})
    if found is None:
        return None

    def of_step(t: int) -> Any:
        rows: Iterator[Any] = iter([array[t] for array in found.arrays])
        return found.element(t, rows)

    return [of_step(t) for t in range(found.count)]


@pytest.mark.parametrize("o", [range(4), range(3, 9, 2), range(5, -1, -2), [1, 2], (0.5, 0.25)])
def test_objects_that_are_what_they_were(o: Any) -> None:
    assert listed(o) == list(o)


@pytest.mark.parametrize("o", ["text", [1, 2.0], [], {1: 2}, [None], iter([1]), [[1], [2]], 2**70])
def test_objects_of_which_no_element_stands_for_all(o: Any) -> None:
    assert listed(o) is None


def test_arrays() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(listed(rows), rows)  # type: ignore[arg-type]
    assert listed(np.array(1.0)) is None
    assert listed(np.array(["a"])) is None


@pytest.mark.parametrize(
    ("builtin", "args"),
    [
        (zip, ([1, 2, 3], np.arange(5.0))),
        (zip, (range(3), [0.5, 1.5, 2.5])),
        (enumerate, ([0.5, 0.25],)),
        (enumerate, ([0.5, 0.25], 3)),
        (reversed, (range(5),)),
        (reversed, ([1, 2, 3],)),
    ],
)
def test_iterators_of_builtins(builtin: Any, args: Any) -> None:
    iterator, known = made(builtin, *args)
    assert listed(iterator, known) == list(builtin(*args))
    assert listed(iterator) is None  # which nobody has seen made
    exhaust(iterator)
    assert list(iterator) == []


def test_an_iterator_from_which_something_was_taken() -> None:
    for builtin, args in ((zip, ([1, 2], [3, 4])), (enumerate, ([1, 2],)), (reversed, ([1, 2],))):
        iterator, known = made(builtin, *args)
        next(iterator)
        assert listed(iterator, known) is None


def test_iterators_in_iterators() -> None:
    pairs, known = made(zip, [1, 2], [0.5, 1.5])
    numbered, more = made(enumerate, pairs)
    assert listed(numbered, known | more) == [(0, (1, 0.5)), (1, (2, 1.5))]


def test_a_strict_zip_of_other_lengths_raises() -> None:
    iterator, known = made(zip, [1, 2], [1, 2, 3], strict=True)
    assert listed(iterator, known) is None


def test_numbers_without_end() -> None:
    found = elements_of(Numbers(2), {})
    assert found is not None
    assert found.count == ENDLESS
    assert found.element(3, iter(())) == 5


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 5, 1), (2, 9, 3), (7, 0, -2), (3, 3, 1), (5, 1, -1), (4, 0, 1)]
)
def test_a_range_of_recorded_bounds_is_that_of_the_call(start: int, stop: int, step: int) -> None:
    plain, found = range(start, stop, step), RecordedRange(start, stop, step)
    assert max(found.count(), 0) == len(plain) == len(found)
    assert [*found] == [*plain]
    assert found == plain
    assert hash(found) == hash(plain)
    assert repr(found) == repr(plain)
    assert found.index is not None
    assert (3 in found) == (3 in plain)
    assert [*reversed(found)] == [*reversed(plain)]
    if len(plain):
        assert found[-1] == plain[-1]


def test_a_range_from_its_end_is_an_iterator() -> None:
    found = reversed(RecordedRange(0, 3, 1))
    assert isinstance(found, ReversedRange)
    assert next(found) == 2
    assert elements_of(found, {}) is None
    assert [*found] == [1, 0]


def test_ranges_of_known_bounds_are_pythons() -> None:
    assert recorded_range(3) == range(3)
    assert type(recorded_range(1, 5, 2)) is range
    with pytest.raises(TypeError):
        recorded_range(1.5)
    with pytest.raises(ValueError, match="zero"):
        recorded_range(1, 2, 0)
