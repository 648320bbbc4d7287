"""Logistic regression on blocks: tracejit.dask beside the same by hand, and beside plain processes.

    python -m tests.benchmarks.dask_blocks [MEGABYTES]

Prints medians of interleaved runs: a gradient on two workers of one thread each, on two plain
processes that each run the kernel on half of the blocks, and by hand with dask.delayed and NumPy;
and the time of tasks that have next to nothing to do.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import time
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np

import tracejit as tj
import tracejit.dask as td

COLUMNS, ROWS = 50, 250_000
ROUNDS = 7


def loss(w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.log1p(np.exp(-y * (x @ w)))) + 0.1 * np.sum(w**2)


def by_hand(w: Any, x: Any, y: Any) -> Any:
    """The sums over one block, as one would write them."""
    e = np.exp(-y * (x @ w))
    return np.sum(np.log1p(e)), x.T @ (-y * e / (1.0 + e))


def added(parts: Any) -> Any:
    return sum(p[0] for p in parts), sum(p[1] for p in parts)


def block(seed: int) -> Any:
    pick = np.random.default_rng(seed)
    return pick.normal(size=(ROWS, COLUMNS)), np.sign(pick.normal(size=ROWS))


def worker(seeds: Any, pipe: Any) -> None:
    """A plain process: the kernel on its blocks, whenever it is asked."""
    blocks = [block(seed) for seed in seeds]
    kernel = tj.value_and_grad(loss)
    while (w := pipe.recv()) is not None:
        pipe.send([kernel(w, *one) for one in blocks])


def main() -> None:
    """Measure and print."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    count = max(2, round(megabytes * 1e6 / (8 * ROWS * (COLUMNS + 1))))
    w = np.random.default_rng(0).normal(size=COLUMNS) / 10
    spawn = multiprocessing.get_context("spawn")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        made = [dask.delayed(block)(seed) for seed in range(count)]
        parts = [client.persist(one) for one in made]
        x = da.concatenate([da.from_delayed(p[0], (ROWS, COLUMNS), float) for p in parts])
        y = da.concatenate([da.from_delayed(p[1], (ROWS,), float) for p in parts])
        x, y = client.persist([x, y])
        distributed.wait([x, y])
        slope = td.value_and_grad(loss)
        xs, ys = x.to_delayed().ravel(), y.to_delayed().ravel()

        def sharded() -> Any:
            return slope(w, x, y)

        def hand_written() -> Any:
            sums = [dask.delayed(by_hand)(w, *one) for one in zip(xs, ys, strict=True)]
            groups = [dask.delayed(added)(sums[k : k + 16]) for k in range(0, count, 16)]
            total, gradient = dask.delayed(added)(groups).compute()
            n = count * ROWS
            return total / n + 0.1 * np.sum(w**2), gradient / n + 0.2 * w

        pipes, processes = [], []
        for half in range(2):
            mine, its = spawn.Pipe()
            process = spawn.Process(target=worker, args=(range(half, count, 2), its))
            process.start()
            pipes.append(mine)
            processes.append(process)

        def plain() -> Any:
            for pipe in pipes:
                pipe.send(w)
            return [pipe.recv() for pipe in pipes]

        runs = {"tracejit.dask": sharded, "by hand": hand_written, "plain processes": plain}
        gradient = sharded()[1]
        np.testing.assert_allclose(gradient, hand_written()[1], rtol=1e-10)
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(ROUNDS + 1):
            for name, run in runs.items():
                began = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - began)
        for pipe, process in zip(pipes, processes, strict=True):
            pipe.send(None)
            process.join()
        found = {name: statistics.median(one[1:]) for name, one in times.items()}
        size = count * ROWS * (COLUMNS + 1) * 8e-9
        seconds = ", ".join(f"{name} {one:.3f} s" for name, one in found.items())
        print(f"{count} blocks, {size:.2f} GB: {seconds}")
        ours = found["tracejit.dask"]
        print(f"throughput beside plain processes {found['plain processes'] / ours:.2f}")
        print(f"time beside the hand-written {ours / found['by hand']:.2f}")
        tiny = da.ones((1000, 2), chunks=(1, 2))
        small = td.value_and_grad(lambda w, x: np.sum((x @ w) ** 2))
        small(np.ones(2), tiny)
        began = time.perf_counter()
        small(np.ones(2), tiny)
        print(f"1000 blocks of a row, distributed: {time.perf_counter() - began:.2f} s")
    for scheduler in ("sync", "threads"):
        with dask.config.set(scheduler=scheduler):
            began = time.perf_counter()
            small(np.ones(2), tiny)
            print(f"1000 blocks of a row, {scheduler}: {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
