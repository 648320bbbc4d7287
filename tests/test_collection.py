"""Garbage collection, paused while graphs are made."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tracejit as tj
from tracejit.collection import collection_paused


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
