"""Who records a call that several threads make at once, without a function."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.processes import in_child
from tracejit.runtime.single_flight import Mutex, SingleFlight
from tracejit.trace.arguments.signature import Call, take_apart

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
# Python 3.12 and newer warn of what is tested here.
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def call(x: Any = 1.0) -> Call:
    return take_apart({"x": x}, "f", str)


def elsewhere(work: Callable[[], Any]) -> Any:
    """The answer of `work` on another thread."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    thread.join()
    return answers[0]


def is_first(flights: SingleFlight, *given: Any) -> bool:
    with flights.at(*given) as found:
        return found


def test_another_thread_does_not_record_the_same_call() -> None:
    flights = SingleFlight()
    with flights.at(call(), {"x": 1.0}) as first:
        assert first
        assert not elsewhere(lambda: is_first(flights, call(), {"x": 1.0}))
        assert len(flights.flights) == 1
    assert elsewhere(lambda: is_first(flights, call(), {"x": 1.0}))
    assert flights.flights == []


def test_another_call_and_another_static_number_are_recorded_beside_it() -> None:
    flights = SingleFlight()
    with flights.at(call(), {"x": 1.0}):
        assert elsewhere(lambda: is_first(flights, call(), {"x": 2.0}))
        assert elsewhere(lambda: is_first(flights, call(np.ones(3)), {}))
        assert not elsewhere(lambda: is_first(flights, call(2.0), {"x": 1.0}))


def test_the_own_flights_of_a_thread_do_not_stand_in_its_way() -> None:
    flights = SingleFlight()
    with flights.at(call(), {}) as first, flights.at(call(), {}) as second:
        assert first
        assert second


def test_an_error_ends_a_flight() -> None:
    flights = SingleFlight()
    with pytest.raises(KeyError), flights.at(call(), {}):
        raise KeyError
    assert flights.flights == []


@needs_fork
@forks
def test_a_child_has_no_flights_and_no_locks_of_other_threads() -> None:
    flights, mutex = SingleFlight(), Mutex()
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with flights.at(call(), {}), mutex.here():
            taken.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(60)
    try:
        assert not is_first(flights, call(), {})
        assert in_child(lambda: is_first(flights, call(), {}))
        assert not mutex.here().acquire(blocking=False)
        assert in_child(lambda: mutex.here().acquire(blocking=False))
    finally:
        done.set()
        thread.join()


def test_the_holder_of_a_mutex_may_take_it_again() -> None:
    mutex = Mutex()
    with mutex.here(), mutex.here():
        assert not elsewhere(lambda: mutex.here().acquire(blocking=False))
