"""Garbage collection, paused while graphs are made."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tracejit as tj
from tests.support.processes import python
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


PAUSES = """
import gc
import weakref

from tracejit.support import garbage
from tracejit.support.garbage import collection_paused

def graph_of(count):
    return [[] for _ in range(count)]

def nothing_spared():
    garbage._spared = 0
    gc.unfreeze()

def see(phase, info):
    if phase == "start":
        seen.append(info["generation"])

class Cycle:
    def __init__(self):
        self.itself = self

seen = []
gc.collect()
gc.callbacks.append(see)
garbage.SPARED_OBJECTS = 5_000
with collection_paused():
    kept = graph_of(2_000)
    seen.clear()
kept += graph_of(10)
few = not seen and gc.get_freeze_count() == 0
with collection_paused():
    kept += graph_of(6_000)
kept += graph_of(10)
print(few, bool(seen))

nothing_spared()
with collection_paused():
    watched = weakref.ref(Cycle())
there = watched() is not None
gc.collect()
print(there, watched() is None)

nothing_spared()
gc.freeze()
frozen = gc.get_freeze_count()
with collection_paused():
    others = graph_of(2_000)
print(frozen * 0.9 < gc.get_freeze_count() <= frozen)
"""


@pytest.fixture(scope="module")
def pauses() -> list[str]:
    """What a process prints of its pauses that has spared nothing yet, and has few objects: a full
    collection of all tests takes seconds."""
    return python(PAUSES).splitlines()


def test_few_new_objects_are_not_walked_at_once(pauses: list[str]) -> None:
    assert pauses[0] == "True True"


def test_garbage_of_a_pause_is_found(pauses: list[str]) -> None:
    assert pauses[1] == "True True"


def test_what_the_user_froze_stays_frozen(pauses: list[str]) -> None:
    assert pauses[2] == "True"


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
