"""Arrays, buffers and elements are told from others to the bit."""

from __future__ import annotations

import array
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracejit.trace.capture.contents import (
    SAMPLE_ABOVE,
    SAMPLES,
    array_sample,
    buffer_sample,
    can_change,
    exact,
    is_normal,
    owner_of,
    remembered,
    same_buffer,
    same_contents,
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
    sample = array_sample(array)
    assert same_contents(array.copy(), sample)
    for other in ([-0.0, np.nan, np.inf], [0.0, -np.nan, np.inf], [0.0, np.nan, -np.inf]):
        assert not same_contents(np.array(other), sample)


@pytest.mark.parametrize("layout", [lambda a: a, np.transpose, lambda a: a[::-1, ::2]])
def test_a_large_array_is_sampled_all_over(layout: Callable[[Any], Any]) -> None:
    array = layout(np.zeros((700, 700)))
    assert array.nbytes > SAMPLE_ABOVE
    sample = array_sample(array)
    assert 8 * SAMPLES <= len(sample) < 16 * SAMPLES
    for corner in (0, -1):
        changed = array.copy()
        changed[corner] = 1.0
        assert not same_contents(changed, sample)


def test_the_owner_is_the_array_that_was_made_first() -> None:
    own = np.arange(6.0)
    assert owner_of(own) is own
    assert owner_of(own.reshape(2, 3)[1:].T) is own


@pytest.mark.parametrize("make", [bytearray, lambda x: array.array("b", x), memoryview])
def test_buffers_are_compared_by_format_size_and_bytes(make: Callable[[bytes], Any]) -> None:
    sample = buffer_sample(make(b"1234"))
    assert same_buffer(make(b"1234"), sample)
    for other in (b"1235", b"123", b"12345", b""):
        assert not same_buffer(make(other), sample)
    assert not same_buffer(array.array("B", b"1234"), buffer_sample(array.array("b", b"1234")))


def test_a_large_buffer_is_sampled_and_stays_free_to_grow() -> None:
    large = bytearray(2 * SAMPLE_ABOVE)
    sample = buffer_sample(large)
    assert len(sample[-1]) <= 2 * SAMPLES
    large[-SAMPLES:] = b"1" * SAMPLES
    assert not same_buffer(large, sample)
    large.append(0)


def test_elements_are_told_by_type_and_bits() -> None:
    values = [1, True, 1.0, 0.0, -0.0, 1j, np.float64(1.0), np.float32(1.0), "1", b"1", None]
    for k, one in enumerate(values):
        for n, other in enumerate(values):
            assert (exact([one]) == exact([other])) is (k == n), (one, other)
    assert exact([float("nan")]) == exact([float("inf") - float("inf")])


def test_normal_numbers_are_those_that_equality_tells() -> None:
    assert [is_normal(x) for x in (1.5, float("inf"), 0.0, -0.0, float("nan"))] == [
        True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("size", [None, 10])
def test_what_lru_cache_remembers(size: int | None) -> None:
    @functools.lru_cache(size)
    def made(n: int) -> Any:
        return {"n": np.full(n, 1.0)} if n < 3 else [n]

    for n in (1, 2, 3):
        made(n)
    found = remembered(made)
    for n in (1, 2, 3):
        assert any(thing is made(n) for thing in found)
    assert not any(thing is vars(made) for thing in found)
