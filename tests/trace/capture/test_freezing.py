"""Arrays are read-only while a kernel relies on them, and writeable again afterwards."""

from __future__ import annotations

import gc
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.capture.freezing import FrozenArrays

X = np.array([1.0, 2.0, 3.0])


def test_what_is_frozen_is_not_compared_and_cannot_be_written_to() -> None:
    w = np.ones(3)
    f = tj.function(lambda x: x * np.sum(w), freeze=True)
    assert f(X).tolist() == [3.0, 6.0, 9.0]
    with pytest.raises(ValueError, match="read-only"):
        w[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        w += 1.0
    assert "compared" not in f.explain()
    assert f(X).tolist() == [3.0, 6.0, 9.0]
    assert f.tracing_count == 1


def test_an_array_that_the_user_makes_writeable_is_read_again() -> None:
    w = np.ones(3)
    f = tj.function(lambda x: x * np.sum(w), freeze=True)
    f(X)
    w.setflags(write=True)
    w[0] = 5.0
    assert f(X).tolist() == [7.0, 14.0, 21.0]
    assert not w.flags.writeable


def test_arrays_are_thawed_when_the_last_kernel_is_gone() -> None:
    base = np.ones((2, 3))
    view = base[1]
    first = tj.function(lambda x: x * np.sum(view), freeze=True)
    second = tj.function(lambda x: x + np.sum(view), freeze=True)
    first(X), second(X)
    first(X.astype("f4"))
    assert not base.flags.writeable
    assert not view.flags.writeable
    del first
    gc.collect()
    assert not base.flags.writeable
    assert second(X).tolist() == [4.0, 5.0, 6.0]
    assert second.tracing_count == 1
    del second
    gc.collect()
    assert base.flags.writeable
    assert view.flags.writeable
    view[0] = 2.0


def test_attributes_that_change_beside_a_frozen_array_are_read_at_each_call() -> None:
    w, counter = np.ones(3), SimpleNamespace(n=0)

    def counted(x: Any) -> Any:
        counter.n += 1
        return x * np.sum(w) * counter.n

    f = tj.function(counted, freeze=True)
    for k in range(1, 5):
        assert f(X).tolist() == [3.0 * k, 6.0 * k, 9.0 * k]
    assert counter.n == 4
    assert f.tracing_count == 1
    assert not w.flags.writeable


def test_an_array_that_the_function_writes_to_is_not_frozen() -> None:
    w = np.zeros(3)

    def added(x: Any) -> Any:
        w[0] += 1.0
        return x * np.sum(w)

    f = tj.function(added, freeze=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TracejitWarning)
        assert [f(X)[0] for _ in range(3)] == [1.0, 2.0, 3.0]
    assert w.flags.writeable


def test_what_was_read_only_stays_so() -> None:
    w = np.ones(3)
    w.flags.writeable = False
    f = tj.function(lambda x: x * np.sum(w), freeze=True)
    f(X)
    del f
    gc.collect()
    assert not w.flags.writeable


def test_a_buffer_of_pythons_is_compared_all_the_same() -> None:
    held = bytearray(np.ones(3).tobytes())
    w = np.frombuffer(held)
    f = tj.function(lambda x: x * np.sum(w), freeze=True)
    assert f(X).tolist() == [3.0, 6.0, 9.0]
    held[:] = np.zeros(3).tobytes()
    assert f(X).tolist() == [0.0, 0.0, 0.0]


def test_transforms_freeze_as_well() -> None:
    w = np.ones(3)
    f = tj.grad(tj.function(lambda x: np.sum(x * w) * np.sum(w), freeze=True))
    assert f(X).tolist() == [3.0, 3.0, 3.0]
    assert not w.flags.writeable


def test_a_recording_that_fails_leaves_arrays_writeable() -> None:
    w = np.ones(3)

    def broken(x: Any) -> Any:
        raise RuntimeError(f"{np.sum(w)} {x.shape}")

    f = tj.function(broken, freeze=True)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            f(X)
    del f
    gc.collect()
    assert w.flags.writeable


def test_freezing_twice_is_freezing_once() -> None:
    w = np.ones(3)
    frozen = FrozenArrays()
    frozen.freeze(w)
    frozen.freeze(w[1:])
    frozen.freeze(w)
    del frozen
    assert w.flags.writeable
