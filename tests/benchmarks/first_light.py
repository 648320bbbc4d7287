"""Figures: what recording, import, the disk cache and a cached call cost.

    python -m tests.benchmarks.first_light [ops] [import] [disk] [call] [record]

prints the sections named, or all. These are figures to read and to compare on one machine, not
tests; docs/notes/performance.md holds the ones last written down, with what they should be.
"""

from __future__ import annotations

import gc
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

import tracejit as tj
from tests.interpret import run as record

# A stage is what happens in this function, without the stages inside it.
STAGES = {
    "record": ("tracejit.specialise.specialiser", "run"),
    "gradients": ("tracejit.autodiff.request.request", "gradients"),
    "key": ("tracejit.compiler.pipeline", "key_of"),
    "passes": ("tracejit.compiler.pipeline", "optimise"),
    "fuse": ("tracejit.compiler.bodies", "simplify"),
    "plan": ("tracejit.compiler.bodies", "plan_body"),
    "render": ("tracejit.compiler.pipeline", "render"),
    "compile": ("tracejit.cache.store", "load_text"),
}


class Watch:
    """Seconds spent in each stage, those of stages inside it left out."""

    def __init__(self) -> None:
        """Nothing measured yet."""
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._inside: list[float] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure meanwhile."""
        with ExitStack() as stack:
            for stage, (module, name) in STAGES.items():
                owner = importlib.import_module(module)
                measured = self._measured(stage, getattr(owner, name))
                stack.enter_context(mock.patch.object(owner, name, measured))
            yield

    def _measured(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*args: Any, **kwargs: Any) -> Any:
            self._inside.append(0.0)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                whole = time.perf_counter() - start
                self.seconds[stage] += whole - self._inside.pop()
                if self._inside:
                    self._inside[-1] += whole

        return measured


def chain(count: int) -> Callable[[Any], Any]:
    """One value after the other, each from the one before."""

    def f(x: Any) -> Any:
        y = x
        for _ in range(count // 2):
            y = y * 1.0001
            y = np.tanh(y)
        return np.sum(y)

    return f


def loop(count: int) -> Callable[[Any], Any]:
    """A state of two values, updated in a Python loop by lines of several operations."""

    def f(x: Any) -> Any:
        position, speed = x, x * 0.5
        for _ in range(count // 8):
            force = np.sin(position) - 0.1 * speed
            speed = speed + 0.01 * force
            position = position + 0.01 * speed
        return np.sum(position * speed)

    return f


def shared(count: int) -> Callable[[Any], Any]:
    """Every value is used several times, and some expressions are written twice."""

    def f(x: Any) -> Any:
        y, z = x, x + 1.0
        for _ in range(count // 6):
            product = y * z
            y = np.tanh(product) + z * 0.5
            z = (y * z) * 0.5 - product
        return np.sum(y * z)

    return f


def operations() -> None:
    """Seconds from a function to its compiled value_and_grad, by stage; linear or not."""
    print("\n## Recording, differentiation, emission: seconds\n")
    print(f"| program | ops | nodes | total | {' | '.join(STAGES)} |")
    print("|---" * (4 + len(STAGES)) + "|")
    for make in (chain, loop, shared):
        per_operation = []
        for count in (1_000, 10_000):
            best = None
            for _ in range(3 if count == 1_000 else 1):
                watch = Watch()
                function = tj.value_and_grad(tj.function(make(count), cache=False))
                gc.collect()
                start = time.perf_counter()
                with watch.running():
                    kernel = function.kernel(np.full(4, 0.5))
                total = time.perf_counter() - start
                if best is None or total < best[0]:
                    best = total, watch.seconds, len(kernel.graph.nodes)
            assert best is not None
            total, seconds, nodes = best
            per_operation.append(total / count)
            stages = " | ".join(f"{seconds[stage]:.3f}" for stage in STAGES)
            print(f"| {make.__name__} | {count:,} | {nodes:,} | {total:.2f} | {stages} |")
        ratio = per_operation[1] / per_operation[0]
        print(f"| {make.__name__} | | | x{ratio:.2f} per op |{' |' * len(STAGES)}")


def imports() -> None:
    """Milliseconds that `import tracejit` takes beyond `import numpy`, in fresh processes."""
    print("\n## Import: milliseconds, medians of fresh processes\n")
    clock = "time.perf_counter()"
    script = f"import time; start = {clock}; import {{}}; print({clock} - start)"
    found: dict[str, list[float]] = {"numpy": [], "numpy, tracejit": []}
    for _ in range(15):
        for modules, seconds in found.items():
            seconds.append(1e3 * float(fresh(script.format(modules))))
    numpy, both = (statistics.median(seconds) for seconds in found.values())
    print(f"numpy {numpy:.0f}, numpy and tracejit {both:.0f}, tracejit beyond {both - numpy:.0f}")


def fresh(script: str, **environment: str) -> str:
    """What a new Python prints."""
    command = [sys.executable, "-c", script]
    variables = {**os.environ, **environment}
    run = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return run.stdout


DISK = """
import time, numpy as np, tracejit as tj
from tests.benchmarks.first_light import loop
f = tj.value_and_grad(loop(200))
x = np.full(4, 0.5)
start = time.perf_counter()
f(x)
print(time.perf_counter() - start)
"""


def disk() -> None:
    """Milliseconds of the first call in a process, without and with the kernel on disk."""
    print("\n## First call of a function of 200 ops: milliseconds, medians of fresh processes\n")
    cold, warm = [], []
    for _ in range(9):
        with tempfile.TemporaryDirectory() as folder:
            for seconds in (cold, warm):
                found = fresh(DISK, TRACEJIT_CACHE_DIR=folder, TRACEJIT_CACHE="1")
                seconds.append(1e3 * float(found))
    print(f"cold {statistics.median(cold):.0f}, warm {statistics.median(warm):.0f}")


def nanoseconds(*calls: Callable[[], Any], rounds: int = 41, number: int = 2000) -> list[float]:
    """The median time of each call, measured in turns."""
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, times in zip(calls, found, strict=True):
            start = time.perf_counter_ns()
            for _ in range(number):
                call()
            times.append((time.perf_counter_ns() - start) / number)
    return [statistics.median(times) for times in found]


CENTRE = np.ones(4)
SCALE = 2.0


def calls() -> None:
    """Nanoseconds that a cached call takes beyond the kernel's own function."""
    print("\n## A cached call: nanoseconds, medians\n")
    print("| arguments | call | kernel's function | beyond |")
    print("|---|---|---|---|")
    a, b, c, d = (np.full(4, float(k)) for k in range(4))
    tree = {"a": a, "b": b, "c": c, "d": d}

    def four(a, b, c, d):
        return a * b + c * d

    def one_dict(p):
        return p["a"] * p["b"] + p["c"] * p["d"]

    def captured(a, b):
        return (a - CENTRE) * b * SCALE

    def scalar(a, lr):
        return a * lr

    cases: list[tuple[str, Any, tuple[Any, ...], tuple[Any, ...]]] = [
        ("4 arrays", tj.function(four), (a, b, c, d), (a, b, c, d)),
        ("a dict of 4 arrays", tj.function(one_dict), (tree,), (a, b, c, d)),
        ("2 arrays, captured array and number", tj.function(captured), (a, b), (a, b, CENTRE)),
        ("an array and a number", tj.function(scalar), (a, 0.5), (a,)),
        ("4 arrays, value_and_grad", tj.value_and_grad(lambda a, b, c, d: np.sum(four(a, b, c, d))),
         (a, b, c, d), (a, b, c, d)),
    ]  # fmt: skip
    for name, function, arguments, flat in cases:
        kernel = function.kernel(*arguments)
        target = kernel.value_and_grad if function.request.transform else kernel.forward
        whole, inner = nanoseconds(lambda: function(*arguments), lambda: target(*flat))  # noqa: B023
        print(f"| {name} | {whole:.0f} | {inner:.0f} | {whole - inner:.0f} |")


def recording() -> None:
    """Microseconds that recording takes for each operation, gradients not included."""
    print("\n## Recording: microseconds per operation\n")
    for make in (chain, loop, shared):
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            started = record(make(2_000), np.full(4, 0.5))
            seconds = time.perf_counter() - start
            best = min(best, seconds / len(started.recording.graph.nodes))
        print(f"{make.__name__} {1e6 * best:.1f}", end="   ")
    print()


SECTIONS = {
    "ops": operations, "import": imports, "disk": disk, "call": calls, "record": recording,
}  # fmt: skip

if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        SECTIONS[section]()
