"""Garbage collection, paused while graphs are made."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import tracejit as tj
from tracejit.support import garbage
from tracejit.support.garbage import collection_eased, collection_paused


def test_garbage_is_collected_again_afterwards() -> None:
    assert gc.isenabled()
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collection_paused():
        _ = 1 / 0
    assert gc.isenabled()
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_users_function_runs_with_it() -> None:
    seen = []

    def f(x: np.ndarray) -> np.ndarray:
        seen.append(gc.isenabled())
        return np.sum(np.sin(x))

    tj.value_and_grad(tj.function(f, cache=False))(np.ones(3))
    assert all(seen) and gc.isenabled()


@pytest.fixture
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has spared nothing yet, without what the tests have frozen."""
    monkeypatch.setattr(garbage, "_spared", 0)
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def collected() -> Iterator[list[int]]:
    """The generations that are collected meanwhile."""
    seen: list[int] = []

    def see(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    gc.collect()
    gc.callbacks.append(see)
    yield seen
    gc.callbacks.remove(see)


def graph_of(count: int) -> list[list[object]]:
    """Some objects that the garbage collector knows."""
    return [[] for _ in range(count)]


def test_few_new_objects_are_not_walked_at_once(
    nothing_frozen: None, collected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "SPARED_OBJECTS", 5_000)
    with collection_paused():
        kept = graph_of(2_000)
        collected.clear()
    kept += graph_of(10)
    assert not collected and gc.get_freeze_count() == 0
    with collection_paused():
        kept += graph_of(6_000)
    kept += graph_of(10)
    assert collected


def test_garbage_of_a_pause_is_found(nothing_frozen: None) -> None:
    class Cycle:
        def __init__(self) -> None:
            self.itself = self

    with collection_paused():
        watched = weakref.ref(Cycle())
    assert watched() is not None
    gc.collect()
    assert watched() is None


def test_what_the_user_froze_stays_frozen(nothing_frozen: None) -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with collection_paused():
        kept = graph_of(2_000)
    assert len(kept) == 2_000
    assert frozen * 0.9 < gc.get_freeze_count() <= frozen


def test_collection_is_rarer_while_functions_are_recorded() -> None:
    usual = gc.get_threshold()
    with collection_eased():
        assert gc.isenabled() and gc.get_threshold() == (garbage.EASED, *usual[1:])
        with pytest.raises(ZeroDivisionError), collection_eased():
            raise ZeroDivisionError
        assert gc.get_threshold()[0] == garbage.EASED
    assert gc.get_threshold() == usual


@pytest.mark.parametrize("chosen", [(0, 10, 10), (50_000, 10, 10)])
def test_thresholds_of_the_users_stay(chosen: tuple[int, int, int]) -> None:
    usual = gc.get_threshold()
    try:
        gc.set_threshold(*chosen)
        with collection_eased():
            assert gc.get_threshold() == chosen
        gc.set_threshold(*usual)
        with collection_eased():
            gc.set_threshold(*chosen)
        assert gc.get_threshold() == chosen
    finally:
        gc.set_threshold(*usual)
