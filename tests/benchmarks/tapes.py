"""Figures: what a step with a tape costs, against the compiled gradient of the same loss.

    python -m tests.benchmarks.tapes [eager] [around] [inside] [--rounds N]

prints the sections named, or all. An eager tape computes operation by operation, and its gradient
is a kernel: a step should take at most three times tj.value_and_grad's and 5 microseconds more for
each operation. A tape around a compiled function, and a tape inside a compiled train step, are
compared with tj.value_and_grad and an update by NumPy. All times are medians, measured by turns.
Where other programs run, set OPENBLAS_NUM_THREADS=1: matrix products that wait for a core tell
nothing.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj

ROUNDS = 300
WARM_UP = 3
FACTOR = 3.0
MOST_PER_OPERATION = 5.0
RATE = 0.001


class Case(NamedTuple):
    """A loss of the parameters and the data; whether a step updates Variables."""

    name: str
    loss: Callable[..., Any]
    parameters: list[Any]
    data: list[Any]
    trains: bool = False
    rounds: int = ROUNDS


def tiny(x: Any) -> Any:
    """Three operations."""
    return np.sum(np.sin(x) * x)


def chain(x: Any, w: Any) -> Any:
    """A hundred operations, each on the result of the one before."""
    h = x
    for _ in range(33):
        h = np.tanh(h * w + 0.5)
    return np.sum(h)


def perceptron(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    """Softmax cross entropy of two layers; y is one-hot."""
    h = np.maximum(x @ w1 + b1, 0.0)
    z = h @ w2 + b2
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(np.sum(y * log_p, axis=1))


def cases(rounds: int = ROUNDS) -> Iterator[Case]:
    """The losses, from cheap operations to dear ones."""
    rng = np.random.default_rng(0)
    small, large = (8,), (100, 100)
    yield Case("tiny, 8 elements", tiny, [rng.normal(size=small)], [], rounds=rounds)
    for size in (small, large):
        arrays = [rng.normal(size=size) for _ in range(2)]
        name = f"chain, {'x'.join(map(str, size))}"
        yield Case(name, chain, arrays, [], rounds=rounds if size is small else max(rounds // 5, 1))
    layers = [
        rng.normal(size=(784, 128)) * 0.03,
        np.zeros(128),
        rng.normal(size=(128, 10)) * 0.1,
        np.zeros(10),
    ]
    batch = [rng.normal(size=(64, 784)), np.eye(10)[rng.integers(0, 10, 64)]]
    yield Case("perceptron 64x784-128-10", perceptron, layers, batch, True, rounds)


# The steps


def by_value_and_grad(case: Case) -> Callable[[], Any]:
    """The compiled gradient, and an update by NumPy."""
    both = tj.value_and_grad(case.loss, tuple(range(len(case.parameters))))
    parameters = [array.copy() for array in case.parameters]

    def step() -> Any:
        value, gradients = both(*parameters, *case.data)
        if case.trains:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= RATE * gradient
        return value, gradients

    return step


def by_tape(case: Case, loss: Callable[..., Any] | None = None) -> Callable[[], Any]:
    """A tape in plain Python; parameters that are trained are Variables."""
    loss = loss or case.loss
    sources = [
        tj.Variable(array) if case.trains else tj.constant(array) for array in case.parameters
    ]

    def step() -> Any:
        with tj.GradientTape() as tape:
            if not case.trains:
                tape.watch(sources)
            y = loss(*sources, *case.data)
        gradients = tape.gradient(y, sources)
        if case.trains:
            for source, gradient in zip(sources, gradients, strict=True):
                source.assign_sub(RATE * gradient)
        return y, gradients

    return step


def by_tape_around(case: Case) -> Callable[[], Any]:
    """A tape around the compiled loss."""
    return by_tape(case, tj.function(case.loss))


def by_tape_inside(case: Case) -> Callable[[], Any]:
    """A compiled step with a tape in it, which updates the parameters."""
    if not case.trains:

        @tj.function
        def derive(*sources: Any) -> Any:
            with tj.GradientTape() as tape:
                tape.watch(sources)
                y = case.loss(*sources, *case.data)
            return y, tape.gradient(y, sources)

        return lambda: derive(*case.parameters)
    sources = [tj.Variable(array) for array in case.parameters]

    @tj.function
    def train(*data: Any) -> Any:
        with tj.GradientTape() as tape:
            y = case.loss(*sources, *data)
        gradients = tape.gradient(y, sources)
        for source, gradient in zip(sources, gradients, strict=True):
            source.assign_sub(RATE * gradient)
        return y, gradients

    return lambda: train(*case.data)


WAYS: dict[str, Callable[[Case], Callable[[], Any]]] = {
    "eager": by_tape,
    "around": by_tape_around,
    "inside": by_tape_inside,
}


# Measuring


class Row(NamedTuple):
    """A case and a way: the median microseconds of its step and of tj.value_and_grad's, and the
    operations of a step."""

    case: str
    way: str
    step: float
    compiled: float
    operations: int

    @property
    def per_operation(self) -> float:
        """Microseconds for each operation beyond three times the compiled gradient."""
        return (self.step - FACTOR * self.compiled) / self.operations


def operations(case: Case) -> int:
    """How many operations of the loss a tape holds, and those of the update besides."""
    sources = [tj.constant(array) for array in case.parameters]
    with tj.GradientTape() as tape:
        tape.watch(sources)
        case.loss(*sources, *case.data)
    held = int(repr(tape).split(",")[1].split()[0])
    return held + 2 * len(sources) * case.trains


def medians(runs: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """The median microseconds of each, measured by turns and without collections."""
    spent: list[list[float]] = [[] for _ in runs]
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for run, seconds in zip(runs, spent, strict=True):
                start = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return [1e6 * statistics.median(seconds) for seconds in spent]


def check(case: Case, first: Callable[[], Any], second: Callable[[], Any]) -> None:
    """Both steps find the same: a fast answer that is wrong is none."""
    (value, gradients), (other, others) = first(), second()
    pairs = [(value, other), *zip(gradients, others, strict=True)]
    for one, two in pairs:
        arrays = [x.numpy() if isinstance(x, tj.Tensor) else x for x in (one, two)]
        np.testing.assert_allclose(*arrays, rtol=1e-9, atol=1e-12, err_msg=case.name)


def measure(ways: Sequence[str] = tuple(WAYS), rounds: int = ROUNDS) -> Iterator[Row]:
    """A row for each case and way."""
    for case in cases(rounds):
        count = operations(case)
        for way in ways:
            steps = [WAYS[way](case), by_value_and_grad(case)]
            check(case, *steps)
            for _ in range(WARM_UP):
                for run in steps:
                    run()
            yield Row(case.name, way, *medians(steps, case.rounds), count)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.tapes")
    parser.add_argument("ways", nargs="*", help=f"of {', '.join(WAYS)}; all if none")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    unknown = sorted({*given.ways} - {*WAYS})
    if unknown:
        parser.error(f"no such section: {', '.join(unknown)}")
    os.environ["TRACEJIT_CACHE"] = "0"
    print("medians in microseconds, by turns; beyond: (step - 3 * value_and_grad) / operations")
    print(f"{'':26} {'tape':7} {'step':>9} {'value_and_grad':>15} {'ratio':>6} {'ops':>4}  beyond")
    for row in measure(given.ways or tuple(WAYS), given.rounds):
        print(
            f"{row.case:26} {row.way:7} {row.step:9.1f} {row.compiled:15.1f}"
            f" {row.step / row.compiled:6.2f} {row.operations:4}  {row.per_operation:6.2f}"
        )
    print(f"{'should be, for eager tapes':68}  at most {MOST_PER_OPERATION:.0f}")


if __name__ == "__main__":
    main()
