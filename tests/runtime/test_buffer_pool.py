"""Large results are handed out again when nobody holds them, and only then."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.runtime import buffer_pool
from tracejit.support.cost_model import assuming, costs

ROWS = 4_200_000  # of 8 bytes: more than 32 MiB


def chain(x: Any) -> Any:
    """Enough operations for tiles."""
    return np.sum(np.tanh(x) * np.exp(-x * x) + x)


@pytest.fixture
def small() -> Iterator[None]:
    """Arrays of 800 bytes are large."""
    with assuming(pooled_bytes=800):
        yield


@pytest.fixture
def empty(small: None) -> Any:
    return buffer_pool.recycled_empty()


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def test_an_array_that_nobody_holds_is_handed_out_again(empty: Any) -> None:
    first = address(empty(100))
    again = empty(100)
    assert address(again) == first
    assert again.flags.owndata and again.flags.writeable


@pytest.mark.parametrize("hold", [
    lambda a: a, lambda a: a[1:], lambda a: a.reshape(10, 10).T, memoryview, lambda a: [a],
    lambda a: np.frombuffer(a), lambda a: a.view(np.int64)[::-1], lambda a: a.flat,
    lambda a: a.__array_interface__ and np.asarray(a),
])  # fmt: skip
def test_what_is_held_is_left_alone(empty: Any, hold: Any) -> None:
    held = hold(empty(100))
    for _ in range(3):
        other = empty(100)
        other[...] = 7.0
        assert not np.shares_memory(
            np.asarray(held if not isinstance(held, list) else held[0]), other
        )
        del other


def test_who_refers_to_an_array_weakly_sees_it_go(empty: Any) -> None:
    gone: list[int] = []
    array = empty(100)
    seen = weakref.ref(array)
    weakref.finalize(array, gone.append, 1)
    del array
    arrays = [empty(100) for _ in range(costs().pooled_arrays)]
    assert all(array is not seen() for array in arrays)
    assert seen() is None and gone == [1]


def test_a_debugger_that_looks_on_changes_nothing(empty: Any) -> None:
    """It holds the variables of each frame that it shows, also of one that counts."""

    def shown(frame: Any, event: str, argument: Any) -> Any:
        assert frame.f_locals is not None
        return shown

    before = sys.gettrace()
    sys.settrace(shown)
    try:
        held = [empty(100) for _ in range(4)]
    finally:
        sys.settrace(before)
    held += [empty(100) for _ in range(4)]
    assert len({address(array) for array in held}) == 8


def test_other_kinds_are_not_mixed_up(empty: Any) -> None:
    empty(100)
    assert empty((10, 10)).shape == (10, 10)
    assert empty(100, np.float32).dtype == np.float32
    assert empty(200, np.float32).dtype == np.float32
    assert empty(()).shape == () and empty(0).shape == (0,)


def test_what_its_holder_changed_is_not_handed_out(empty: Any) -> None:
    array = empty(100)
    where = address(array)
    array.flags.writeable = False
    del array
    other = empty(100)
    assert other.flags.writeable and address(other) != where


def test_no_more_than_a_few_are_kept(empty: Any) -> None:
    arrays = [empty(100) for _ in range(10)]
    addresses = {address(array) for array in arrays}
    assert len(addresses) == 10
    del arrays
    gc.collect()
    again = [empty(100) for _ in range(costs().pooled_arrays + 1)]
    kept = [address(array) in addresses for array in again[: costs().pooled_arrays]]
    assert kept == [True] * costs().pooled_arrays


def test_eight_threads_never_share(empty: Any) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(2000):
            array = empty(100)
            array.fill(number)
            if not np.all(array == number):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_gradients_are_handed_out_again_when_dropped() -> None:
    x = np.linspace(-1.0, 1.0, ROWS)
    expected = tj.grad(chain)(x)
    slope = tj.grad(tj.function(chain, recycle=True))
    kept = slope(x)
    places = set()
    for _ in range(4):
        found = slope(x)
        places.add(address(found))
        np.testing.assert_array_equal(found, expected)
        assert not np.shares_memory(found, kept)
        del found
    assert len(places) == 1
    np.testing.assert_array_equal(kept, expected)


def test_nothing_is_recycled_unasked() -> None:
    x = np.linspace(-1.0, 1.0, ROWS)
    kernel = tj.grad(tj.function(chain)).kernel(x)
    assert kernel.module.empty is np.empty
    assert not kernel.recycle


def test_a_pickled_kernel_recycles_as_before() -> None:
    x = np.linspace(-1.0, 1.0, ROWS)
    kernel = tj.grad(tj.function(chain, recycle=True)).kernel(x)
    again = pickle.loads(pickle.dumps(kernel))
    assert again.recycle and again.module.empty is not np.empty
