"""Figures: what tj.recompute_grad saves in memory and costs in time.

    python -m tests.benchmarks.recompute

A chain of 64 layers with activations of 1 MB each, in 8 segments of 8 that are recomputed, against
the same chain kept whole: peak memory (tracemalloc, without what is there before the call) and
time of a gradient, by tj.value_and_grad, by a tape in a compiled function and by an eager tape.
Peak memory should be at most 35 % of the plain gradient's, time at most 1.45 times, the numbers
the same to the last bit.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj

LAYERS = 64
SEGMENT = 8
SHAPE = (256, 512)  # 1 MB of float64
MOST_MEMORY = 0.35
MOST_TIME = 1.45


def layer(h: Any, a: Any, b: Any) -> Any:
    """One layer: several operations, one activation."""
    return np.tanh(h * a + b)


def network(recompute: Callable[[Any], Any], layers: int, segment: int) -> Callable[..., Any]:
    """The loss of a chain of `layers`, in segments that go through `recompute`."""

    @recompute
    def block(h: Any, a: Any, b: Any) -> Any:
        for _ in range(segment):
            h = layer(h, a, b)
        return h

    def loss(h: Any, a: Any, b: Any) -> Any:
        for _ in range(layers // segment):
            h = block(h, a, b)
        return np.sum(h * h)

    return loss


def by_value_and_grad(loss: Callable[..., Any], arrays: tuple[Any, ...]) -> Callable[[], Any]:
    """The compiled gradient."""
    both = tj.value_and_grad(loss, (0, 1, 2))
    return lambda: both(*arrays)


def by_inner_tape(loss: Callable[..., Any], arrays: tuple[Any, ...]) -> Callable[[], Any]:
    """A tape in a compiled function."""

    @tj.function
    def both(h: Any, a: Any, b: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch((h, a, b))
            y = loss(h, a, b)
        return y, tape.gradient(y, (h, a, b))

    return lambda: both(*arrays)


def by_eager_tape(loss: Callable[..., Any], arrays: tuple[Any, ...]) -> Callable[[], Any]:
    """Nothing of the user's compiled."""
    tensors = [tj.constant(array) for array in arrays]

    def both() -> Any:
        with tj.GradientTape() as tape:
            tape.watch(tensors)
            y = loss(*tensors)
        found = tape.gradient(y, tuple(tensors))
        return y.numpy(), tuple(g.numpy() for g in found)

    return both


WAYS: dict[str, Callable[..., Callable[[], Any]]] = {
    "tj.value_and_grad": by_value_and_grad,
    "tape in a function": by_inner_tape,
    "eager tape": by_eager_tape,
}


class Row(NamedTuple):
    """One way: the peaks in bytes and the times in seconds, plain and recomputed; whether the
    numbers are the same."""

    way: str
    plain_peak: int
    peak: int
    plain_time: float
    time: float
    is_same: bool


def arguments(shape: tuple[int, ...] = SHAPE) -> tuple[Any, ...]:
    """The first activation, and the weights of every layer."""
    rng = np.random.default_rng(0)
    return rng.normal(size=shape), 1.0 + 0.1 * rng.normal(size=shape), 0.1 * rng.normal(size=shape)


def peak(run: Callable[[], Any]) -> int:
    """The most memory that a run has at once, besides what is there before."""
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def times(runs: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The median seconds of each, measured by turns."""
    spent: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, seconds in zip(runs, spent, strict=True):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    return [statistics.median(seconds) for seconds in spent]


def same(one: Any, other: Any) -> bool:
    """Whether two answers have the same bits."""
    pairs = zip((one[0], *one[1]), (other[0], *other[1]), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


def kept(f: Any) -> Any:
    """`f` as it is."""
    return f


def measure(
    layers: int = LAYERS,
    segment: int = SEGMENT,
    shape: tuple[int, ...] = SHAPE,
    rounds: int = 9,
) -> Iterator[Row]:
    """A row for each way."""
    given = arguments(shape)
    for way, make in WAYS.items():
        plain, recomputed = (
            make(network(recompute, layers, segment), given)
            for recompute in (kept, tj.recompute_grad)
        )
        # The first call compiles; an eager tape compiles its gradient at the second, too.
        plain(), recomputed()
        is_same = same(plain(), recomputed())
        seconds = times([plain, recomputed], rounds) if rounds else [1.0, 1.0]
        yield Row(way, peak(plain), peak(recomputed), *seconds, is_same)


def main() -> None:
    """Print the table."""
    os.environ["TRACEJIT_CACHE"] = "0"
    print(f"{LAYERS} layers of {np.prod(SHAPE) * 8 / 2**20:.0f} MB, segments of {SEGMENT}")
    print(f"{'':20} {'peak memory, MB':>24} {'time, ms':>24}  same bits")
    for row in measure():
        memory, slower = row.peak / row.plain_peak, row.time / row.plain_time
        print(
            f"{row.way:20}"
            f" {row.plain_peak / 2**20:7.1f} {row.peak / 2**20:7.1f} {memory:8.1%}"
            f" {row.plain_time * 1e3:7.1f} {row.time * 1e3:7.1f} {slower:8.2f}"
            f"  {'yes' if row.is_same else 'NO'}"
        )
    print(f"{'should be':20} {f'at most {MOST_MEMORY:.0%}':>24} {f'at most {MOST_TIME}':>24}")


if __name__ == "__main__":
    main()
