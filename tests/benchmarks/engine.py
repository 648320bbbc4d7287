"""One engine in a process of its own: it answers requests about workloads until there are none.

    python -m tests.benchmarks.engine jax

Requests and answers are pickled, on standard input and output. A request is the name of a function
of `Engine` and its arguments; an answer is what it returned, or a `Refusal` with the reason. While
it waits, the process reads and does nothing.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import statistics
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.workloads import WORKLOADS

WARM = 0.1  # seconds until a system that packs threads has given the second one a core
TURN = 0.02  # seconds that a turn measures at least
SAMPLE = 2e-4  # seconds that one reading of the clock covers at least
LEAST = 3  # readings of a turn
HEADER = sys.getsizeof(np.empty(0))  # bytes of an array besides its elements


class Refusal(NamedTuple):
    """Why there is no answer."""

    reason: str


class Timing(NamedTuple):
    """Seconds per call."""

    median: float
    least: float


class Result(NamedTuple):
    """What a workload gives: its value, None where it has none, and its gradients."""

    value: Any
    gradients: list[Any]


class Memory(NamedTuple):
    """Bytes: held between calls, and the most that a call takes besides, results included."""

    held: int
    peak: int


class Engine:
    """The workloads prepared so far, and what is asked about them."""

    def __init__(self, name: str) -> None:
        start = time.perf_counter()
        self.adapter = importlib.import_module(f"tests.benchmarks.adapters.for_{name}")
        self.importing = time.perf_counter() - start
        self.calls: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {}

    def import_time(self) -> float:
        """Seconds to import the library, NumPy being there."""
        return self.importing

    def prepare(self, name: str, small: bool = False) -> Result:
        """Compile a workload and warm it; its result."""
        workload = WORKLOADS[name]
        arguments = workload.arguments(small)
        call = self.adapter.compiled(workload, arguments)
        value, gradients = call(*arguments)
        call(*arguments)
        self.calls[name] = call, arguments, repetitions(call, arguments)
        return result(value, gradients)

    def turn(self, name: str) -> Timing:
        """The time of a warm call: of one among many, as in a user's loop."""
        call, arguments, number = self.calls[name]
        begin = time.perf_counter() + WARM
        while time.perf_counter() < begin:
            sample(call, arguments, number)
        samples = []
        until = time.perf_counter() + TURN
        while len(samples) < LEAST or time.perf_counter() < until:
            samples.append(sample(call, arguments, number))
        return Timing(statistics.median(samples), min(samples))

    def forget(self, name: str) -> None:
        """Let a workload go."""
        del self.calls[name]
        gc.collect()

    def first(self, name: str) -> float:
        """Seconds from the function to its first result. Asked of a new process."""
        workload = WORKLOADS[name]
        arguments = workload.arguments()
        start = time.perf_counter()
        self.adapter.compiled(workload, arguments)(*arguments)
        return time.perf_counter() - start

    def memory(self, name: str) -> Memory:
        """What NumPy's arrays take between calls, with their headers, and all of a warm call. Asked
        of a new process."""
        workload = WORKLOADS[name]
        arguments = workload.arguments()
        tracemalloc.start()
        call = self.adapter.compiled(workload, arguments)
        for _ in range(3):
            call(*arguments)
        gc.collect()
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        held = tracemalloc.take_snapshot().filter_traces([arrays])
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call(*arguments)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return Memory(sum(trace.size + HEADER for trace in held.traces), peak - before)


def result(value: Any, gradients: Any) -> Result:
    """A result as NumPy arrays."""
    listed = gradients if isinstance(gradients, (list, tuple)) else [gradients]
    return Result(None if value is None else np.asarray(value), [np.asarray(g) for g in listed])


def sample(call: Callable[..., Any], arguments: tuple[Any, ...], number: int) -> float:
    """Seconds per call, of so many in a row."""
    rounds = range(number)
    start = time.perf_counter()
    for _ in rounds:
        call(*arguments)
    return (time.perf_counter() - start) / number


def repetitions(call: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    """How many calls in a row the clock can read well."""
    number = 1
    while number < 1000 and sample(call, arguments, number) * number < SAMPLE:
        number *= 2
    return number


def answer(engine: Engine, request: tuple[str, tuple[Any, ...]]) -> Any:
    """What the engine says; the reason where it fails."""
    name, arguments = request
    try:
        return getattr(engine, name)(*arguments)
    except Exception as error:
        if not isinstance(error, NotImplementedError):
            traceback.print_exc()
        said = str(error).strip().splitlines() or [""]
        return Refusal(f"{type(error).__name__}: {said[0]}")


def serve(name: str) -> None:
    """Answer until standard input ends. What libraries print goes to standard error."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        engine = Engine(name)
        while True:
            try:
                request = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            pickle.dump(answer(engine, request), answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()


if __name__ == "__main__":
    # Pickled classes are to be found by this module's name, not as those of __main__.
    importlib.import_module("tests.benchmarks.engine").serve(sys.argv[1])
