"""Interruptions at random moments of recording, writing and calling: the call answers or raises
them, and nothing is left changed.

TRACEJIT_INTERRUPTIONS says how many there are of each kind (40).
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interrupted import Interruption, with_interruption
from tracejit.runtime import blas, workers
from tracejit.trace.recording.active import active
from tracejit.trace.recording.eager import EAGER

COUNT = int(os.environ.get("TRACEJIT_INTERRUPTIONS", "40"))
# What a signal handler raises in a finalizer or a callback of the collector, Python only reports.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
ERRORS = (Interruption, KeyboardInterrupt, MemoryError)
X = np.random.default_rng(0).normal(size=150_000)
W = np.random.default_rng(1).normal(size=(60, 60))


def sums(x: np.ndarray) -> Any:
    """Its kernel has tiles."""
    y = np.tanh(x - 0.5)
    return np.sum(np.sin(y) * np.exp(y) + np.sqrt(1.0 + y * y))


def products(w: np.ndarray) -> Any:
    """Its kernel asks for one BLAS thread."""
    return np.sum(np.tanh(w @ w) @ w)


def state() -> dict[str, Any]:
    """What a call must leave as it was."""
    library = blas.find()
    return {
        "collection": gc.isenabled(),
        "recordings": len(active.stack),
        "tapes": EAGER.is_watched,
        "BLAS threads": library.get_threads() if library else 0,
        "crew": min(len(workers._pools[0].crew), 1),
        "filters": warnings.filters[:],
        "errors": np.geterr(),
        "profile": sys.getprofile(),
        "threads": {thread.name for thread in threading.enumerate()},
    }


@pytest.fixture(autouse=True)
def works_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: None, threads_of_blas: None
) -> Iterator[None]:
    """A cache of its own. A MemoryError that Python does not meet is no mistake here."""
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TRACEJIT_STRICT", raising=False)
    tj.value_and_grad(tj.function(sums, threads=2))(X)
    before = state()
    yield
    assert state() == before


def check(found: Any, expected: Any) -> None:
    """The same value and gradient, to rounding of the largest: Python makes some of the calls."""
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15 * np.max(np.abs(other)))


def interrupted(numbers: random.Random, cut: Callable[[Callable[[], Any], bool, Any], Any]) -> None:
    """COUNT calls, cut short: half of them warm, half of them first ones."""
    kept, before = [], state()
    raised = 0
    for _ in range(COUNT):
        python, x = numbers.choice([(sums, X), (products, W)])
        option = numbers.choice([True, False])
        function: Any = tj.function(python, cache=option, threads=2)
        if numbers.random() < 0.5:
            function = tj.value_and_grad(function)
        expected = function(x)
        is_warm = numbers.random() < 0.5
        if not is_warm:
            function.cache_clear()
        try:
            found = cut(lambda function=function, x=x: function(x), is_warm, numbers.choice(ERRORS))
        except ERRORS as error:
            kept.append(error)
            raised += 1
        else:
            check(found, expected)
        assert state() == before
        check(function(x), expected)
        assert len(function.kernels) == 1
        assert not function._specialiser.flights.flights
    assert raised > COUNT // 8


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_signals() -> None:
    numbers = random.Random(1)

    def cut(call: Callable[[], Any], is_warm: bool, error: Any) -> Any:
        def handler(*args: Any) -> None:
            raise error

        before = signal.signal(signal.SIGALRM, handler)
        try:
            latest = 2e-3 if is_warm else 0.03
            signal.setitimer(signal.ITIMER_REAL, 1e-6 + numbers.random() * latest)
            return call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    interrupted(numbers, cut)


def test_any_instruction() -> None:
    """Of tracejit, on the thread that calls."""
    numbers = random.Random(2)
    modules = tuple(
        module
        for name, module in list(sys.modules.items())
        if name.startswith("tracejit") and isinstance(module, ModuleType)
    )

    def cut(call: Callable[[], Any], is_warm: bool, error: Any) -> Any:
        number = int(10 ** numbers.uniform(0, 2.3 if is_warm else 5))
        return with_interruption(call, modules, number, error)

    interrupted(numbers, cut)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_kernels_called_from_a_signal_handler_while_others_run() -> None:
    """Each has the bits of a call by itself; none waits for another."""
    tiles = tj.value_and_grad(tj.function(sums, threads=2))
    small = tj.function(products)
    expected, expected_of_small = tiles(X), small(W)
    inside: list[bool] = []

    def handler(*args: Any) -> None:
        value, slope = tiles(X)
        same = value == expected[0] and slope.tobytes() == expected[1].tobytes()
        inside.append(bool(same and small(W) == expected_of_small))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for number in range(100):
            signal.setitimer(signal.ITIMER_REAL, 1e-5 + number * 1e-5)
            value, slope = tiles(X)
            assert value == expected[0]
            assert slope.tobytes() == expected[1].tobytes()
            assert small(W) == expected_of_small
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(inside) > 50
    assert all(inside)
