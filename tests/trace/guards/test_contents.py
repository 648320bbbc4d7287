"""Arrays and buffers are told from others to the bit, all of them; so is what a cache answers."""

from __future__ import annotations

import array
import ctypes
import functools
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row
from tracejit.trace.guards.contents import (
    BLOCK,
    SHARED_FROM,
    CacheSnapshot,
    array_copy,
    buffer_copy,
    can_change,
    is_buffer,
    is_in_one_piece,
    owner_of,
    same_buffer,
    same_contents,
    whole_copy,
)


def test_can_change_is_whether_anyone_can_write() -> None:
    own, locked = np.ones(3), np.ones(3)
    seen = own.view()
    seen.flags.writeable = locked.flags.writeable = False
    assert [can_change(array) for array in (own, seen, locked, locked[1:])] == [
        True, True, False, False,
    ]  # fmt: skip
    assert not can_change(np.frombuffer(b"12345678"))
    assert can_change(np.frombuffer(memoryview(bytearray(8)).toreadonly()))
    assert can_change(np.broadcast_to(own, (2, 3)))


def test_contents_are_compared_to_the_bit() -> None:
    array = np.array([0.0, np.nan, np.inf])
    copy = array_copy(array)
    assert same_contents(array.copy(), copy)
    for other in ([-0.0, np.nan, np.inf], [0.0, -np.nan, np.inf], [0.0, np.nan, -np.inf]):
        assert not same_contents(np.array(other), copy)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "in order": lambda a: a,
    "Fortran": np.transpose,
    "turned": lambda a: a[::-1, ::-1],
    "rows": lambda a: a[::2],
    "columns": lambda a: a[:, 1::2],
    "backwards": lambda a: a[::-3, ::-2].T,
    "one row": lambda a: a[:1],
    "one column": lambda a: a[:, :1],
    "three axes": lambda a: a.reshape(a.shape[0], -1, 2).transpose(1, 0, 2)[1:],
    "none": lambda a: a[:0],
    "one": lambda a: a[:1, :1].reshape(()),
}
DTYPES = ["f8", "f4", "f2", "c16", "i1", "?", ">f8", "U3", "M8[s]", "f8,i4"]


@each_row("layout", LAYOUTS)
@each_row("dtype", DTYPES)
def test_every_element_counts(layout: str, dtype: str) -> None:
    array = LAYOUTS[layout](np.zeros((8, 10), dtype))
    copy = array_copy(array)
    assert same_contents(array, copy)
    one = np.ones(1, dtype)[0] if dtype != "U3" else "a"
    for place in np.ndindex(array.shape):
        before = array[place].copy() if array.shape or dtype == "f8,i4" else array[place]
        array[place] = one
        assert not same_contents(array, copy), place
        array[place] = before
    assert same_contents(array, copy)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "none"])
def test_every_part_of_a_large_array_counts(layout: str) -> None:
    array = LAYOUTS[layout](np.zeros((700, 700)))
    assert BLOCK < 700 * 700 * 8 / 4
    copy = array_copy(array)
    places = list(np.ndindex(array.shape))
    for place in (places[0], places[-1], places[len(places) // 3]):
        array[place] = 1.0
        assert not same_contents(array, copy)
        array[place] = 0.0
        assert same_contents(array, copy)


def test_what_a_broadcast_array_shows_counts_once() -> None:
    row = np.arange(3.0)
    array = np.broadcast_to(row, (10**9, 3))
    copy = array_copy(array)
    assert same_contents(array, copy)
    row[2] = 5.0
    assert not same_contents(array, copy)


def test_elements_that_are_objects_are_compared_by_what_they_are() -> None:
    array = np.zeros(2, [("a", object), ("b", "f8")])
    array["a"] = [(1,), (2,)]
    copy = array_copy(array)
    assert same_contents(array, copy)
    array["b"][1] = 1.0
    assert not same_contents(array, copy)
    array["b"][1] = 0.0
    array["a"][0] = (True,)
    assert not same_contents(array, copy)


def test_strings_of_any_length_are_compared_by_what_they_are() -> None:
    array = np.array(["a", "bc" * 50], dtype=np.dtypes.StringDType())
    copy = array_copy(array)
    assert same_contents(array, copy)
    array[1] = "bd" * 50
    assert not same_contents(array, copy)


@pytest.mark.parametrize("size", [1, SHARED_FROM])
def test_a_copy_compares_itself_with_an_array_in_one_piece(size: int) -> None:
    array = np.zeros((size, 3))
    assert is_in_one_piece(array)
    assert not is_in_one_piece(np.zeros((4, 3))[:, ::2])
    copy = whole_copy(array)
    assert (copy == array) is True
    array[-1, -1] = -0.0
    assert (copy == array) is False
    assert (copy == array[:-1]) is False


def test_large_copies_are_shared_while_they_are_true() -> None:
    array = np.zeros(SHARED_FROM)
    copy = whole_copy(array)
    assert whole_copy(array) is copy
    array[5] = 1.0
    other = whole_copy(array)
    assert other is not copy
    assert other == array
    assert copy != array


def test_the_owner_is_the_array_that_was_made_first() -> None:
    own = np.arange(6.0)
    assert owner_of(own) is own
    assert owner_of(own.reshape(2, 3)[1:].T) is own


@pytest.mark.parametrize("make", [bytearray, lambda x: array.array("b", x), memoryview])
def test_buffers_are_compared_by_format_size_and_bytes(make: Callable[[bytes], Any]) -> None:
    copy = buffer_copy(make(b"1234"))
    assert same_buffer(make(b"1234"), copy)
    for other in (b"1235", b"123", b"12345", b""):
        assert not same_buffer(make(other), copy)
    assert not same_buffer(array.array("B", b"1234"), buffer_copy(array.array("b", b"1234")))


def test_a_large_buffer_counts_whole_and_stays_free_to_grow() -> None:
    large = bytearray(10**6)
    copy = buffer_copy(large)
    large[777_777] = 1
    assert not same_buffer(large, copy)
    large[777_777] = 0
    assert same_buffer(large, copy)
    large.append(0)


def test_a_memory_with_steps_is_compared() -> None:
    held = bytearray(b"12345678")
    view = memoryview(held)[::2]
    copy = buffer_copy(view)
    held[1] = 0
    assert same_buffer(view, copy)
    held[2] = 0
    assert not same_buffer(view, copy)


def test_what_shows_its_memory() -> None:
    yes = [bytearray(1), array.array("d"), memoryview(b""), ctypes.c_int(1), mmap.mmap(-1, 8)]
    assert all(map(is_buffer, yes))
    assert not any(map(is_buffer, [1, "a", [1], object(), None]))


@pytest.mark.parametrize("size", [None, 2, 10])
def test_what_lru_cache_remembers(size: int | None) -> None:
    @functools.lru_cache(size)
    def made(n: Any) -> Any:
        return table[n]

    table: dict[Any, Any] = {1: [1], 2: 2.5, "a": (1, 2), (1, 2): "a"}
    assert CacheSnapshot(made).answers == []
    for n in table:
        made(n)
    memory = CacheSnapshot(made)
    kept = list(table)[-(size or 10) :]
    assert [key[0] if isinstance(key, tuple) else key for key in memory.keys] == kept
    assert all(one is table[n] for one, n in zip(memory.answers, kept, strict=True))
    for n in kept:  # asking again changes nothing, whatever the order
        made(n)
    assert memory.is_of(made)
    made.cache_clear()
    assert not memory.is_of(made)
    for n in kept:
        made(n)
    assert memory.is_of(made)
    made.cache_clear()
    table[(1, 2)] = "b"
    for n in kept:
        made(n)
    assert not memory.is_of(made)


@pytest.mark.parametrize("size", [None, 5])
def test_answers_that_change_places_are_told(size: int | None) -> None:
    @functools.lru_cache(size)
    def made(n: int) -> Any:
        return table[n]

    table = {1: 2, 2: 1}
    made(1), made(2)
    memory = CacheSnapshot(made)
    table.update({1: 1, 2: 2})
    made.cache_clear()
    made(1), made(2)
    assert not memory.is_of(made)


def test_a_cache_that_remembers_nothing() -> None:
    made = functools.lru_cache(0)(len)
    made("a")
    assert CacheSnapshot(made).is_of(made)
