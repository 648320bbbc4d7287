"""Figures: kernels with products of matrices on a busy machine, with one and two BLAS threads.

    python -m tests.benchmarks.under_load [processes [seconds]]

`processes` (2) compute beside. Of each kernel the least time of a call, the 50th and the 95th
percentile, in microseconds, with one thread and with all, in spells that take turns; the ratio of
these; and for what the kernel asks. With no process beside on a machine with nothing else to do the
first ratio is what threads gain.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tests.benchmarks.workloads import WORKLOADS
from tracejit.runtime.blas import Blas, find

SPELL = 0.15  # seconds: OpenBLAS keeps its threads busy for 0.1 after a product
RNG = np.random.default_rng(0)


def product(x: Any, w: Any) -> Any:
    """A product and a little more."""
    return np.sum(np.tanh(x @ w))


def factor(x: Any) -> Any:
    """A factorization."""
    return np.sum(np.linalg.cholesky(x))


def of_workload(name: str) -> tuple[tj.Kernel, tuple[Any, ...]]:
    """The kernel of a workload of the comparison."""
    workload = WORKLOADS[name]
    arguments = workload.arguments()
    loss = tj.value_and_grad(workload.make(np), argnums=workload.argnums)
    return loss.kernel(*arguments), arguments


def kernels() -> dict[str, tuple[tj.Kernel, tuple[Any, ...]]]:
    """Value and gradient of products of each size, of factors, and of workloads."""
    found = {}
    for rows in (100, 150, 200, 250, 300, 400):
        x, w = RNG.normal(size=(2, rows, rows))
        both = tj.value_and_grad(product, argnums=(0, 1))
        found[f"{rows} x {rows} @ {rows} x {rows}"] = both.kernel(x, w), (x, w)
    for rows in (100, 200, 400):
        x = np.eye(rows) * rows + 1.0
        found[f"cholesky of {rows} x {rows}"] = tj.value_and_grad(factor).kernel(x), (x,)
    for name in ("logreg/569x30", "logreg/20kx100", "mlp_softmax/b32", "mlp_softmax/b512"):
        found[name] = of_workload(name)
    return found


def times(
    blas: Blas, call: Callable[..., Any], arguments: tuple[Any, ...], seconds: float
) -> list[list[float]]:
    """Microseconds of calls on one thread, and on all."""
    every = blas.get_threads()
    taken: list[list[float]] = [[], []]
    try:
        for threads, those in [(1, taken[0]), (every, taken[1])] * max(int(seconds / SPELL / 2), 2):
            blas.set_threads(threads)
            call(*arguments)
            until = time.perf_counter() + SPELL
            while not those or time.perf_counter() < until:
                start = time.perf_counter()
                call(*arguments)
                those.append((time.perf_counter() - start) * 1e6)
    finally:
        blas.set_threads(every)
    return taken


def main(processes: int = 2, seconds: float = 4.0) -> None:
    """Print the table."""
    blas = find()
    if blas is None:
        raise SystemExit("NumPy's BLAS is not OpenBLAS with threads of its own")
    print(f"{'':24s} {'one thread':>28s} {'all threads':>28s}   {'all / one':>24s}")
    command = [sys.executable, "-c", "while True: pass"]
    beside = [subprocess.Popen(command) for _ in range(processes)]
    try:
        for name, (kernel, arguments) in kernels().items():
            call = kernel.module.value_and_grad  # as it is without the thread policy
            one, every = times(blas, call, arguments, seconds)
            rows = [np.percentile(taken, (0, 50, 95)) for taken in (one, every)]
            words = [f"{number:9.0f}" for number in (*rows[0], *rows[1])]
            words += [f"{ratio:8.2f}" for ratio in rows[1] / rows[0]]
            asks = "one" if "BLAS_THREADS = 1" in kernel.source else "all"
            print(f"{name:24s}", *words, asks, flush=True)
    finally:
        for process in beside:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main(*[kind(word) for kind, word in zip((int, float), sys.argv[1:], strict=False)])
