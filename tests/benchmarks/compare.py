"""The benchmark that decides: tracejit, hand-written NumPy and other libraries, by turns.

    python -m tests.benchmarks.compare [--peers jax,torch,autograd,tf] [--only NAME[,NAME]]
        [--rounds N] [--no-first] [--json FILE] [--write]

Every workload of tests/benchmarks/workloads on every engine: one process for each engine, and turns
of some 0.1 s, so that all see the same phases of the machine. It prints the medians and minima of
warm calls with their ratios, medians of first calls in new processes, and peaks of memory;
`--write` puts the tables into docs/notes/performance.md. Results of all engines are compared, and
the exit code is 1 where they do not agree. `--only` takes names of workloads or what they begin
with.

Environments of peers come from `python -m tests.benchmarks.setup_peers`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from tests.benchmarks import report, setup_peers
from tests.benchmarks.engine import Memory, Refusal, Result, Timing
from tests.benchmarks.processes import OURS, ROOT, Process
from tests.benchmarks.report import Comparison, Figures
from tests.benchmarks.workloads import WORKLOADS

PAGE = ROOT / "docs" / "notes" / "performance.md"
FIRST_CALLS = 3
PAUSE = 0.12  # seconds until OpenBLAS's threads of the turn before have stopped spinning


def chosen(only: str | None) -> list[str]:
    """Workloads that are named, or begin with what is named."""
    if only is None:
        return list(WORKLOADS)
    wanted = tuple(only.split(","))
    found = [name for name in WORKLOADS if name.startswith(wanted)]
    if not found:
        raise SystemExit(f"no workload begins with any of {only}; there are {', '.join(WORKLOADS)}")
    return found


def differences(expected: Result, found: Result) -> Iterator[str]:
    """In what two results do not agree.

    Values: to 1e-12 or 2e-6 of themselves. Gradients: to 1e-9 or 1e-4 of each entry and 1e-12 or
    1e-6 of the largest, in double and single precision.
    """
    arrays = [("value", expected.value, found.value)] if expected.value is not None else []
    arrays += [
        (f"gradient {number}", *pair)
        for number, pair in enumerate(zip(expected.gradients, found.gradients, strict=True))
    ]
    for what, right, other in arrays:
        double = right.dtype == np.float64
        if right.shape != other.shape or right.dtype != other.dtype:
            yield f"{what} is {other.dtype}{other.shape}, not {right.dtype}{right.shape}"
            continue
        if what == "value":
            relative, absolute = (1e-12, 0.0) if double else (2e-6, 0.0)
        else:
            relative, of_largest = (1e-9, 1e-12) if double else (1e-4, 1e-6)
            absolute = of_largest * float(np.max(np.abs(right), initial=0.0))
        wrong = ~(np.abs(right - other) <= absolute + relative * np.abs(right))
        if np.any(wrong):
            most = np.max(np.abs(right - other)) / max(np.max(np.abs(right)), 1e-300)
            count = f"{np.sum(wrong)} of {wrong.size}"
            yield f"{what}: {count} differ, by up to {most:.1e} of the largest"


def turns(name: str, processes: dict[str, Process], rounds: int, to: Comparison) -> None:
    """Warm calls of one workload by all engines in turn; results are compared."""
    figures = to.figures[name]
    results: dict[str, Result] = {}
    for engine, process in processes.items():
        answer = process.ask("prepare", name)
        if isinstance(answer, Refusal):
            figures[engine].reason = answer.reason
        else:
            results[engine] = answer
    reference = "hand" if "hand" in results else next(iter(results))
    for engine, result in results.items():
        for said in differences(results[reference], result):
            to.mismatches.append(f"{name}: {engine} against {reference}: {said}")
            print(f"MISMATCH {to.mismatches[-1]}", file=sys.stderr)
    running = list(results)
    results.clear()
    timings: dict[str, list[Timing]] = {engine: [] for engine in running}
    for number in range(rounds):
        for engine in running[number % len(running) :] + running[: number % len(running)]:
            time.sleep(PAUSE)
            timings[engine].append(processes[engine].ask("turn", name))
    for engine, taken in timings.items():
        figures[engine].median = statistics.median(timing.median for timing in taken)
        figures[engine].least = min(timing.least for timing in taken)
        processes[engine].ask("forget", name)


def alone(engine: str, environment: dict[str, str], request: str, name: str) -> object:
    """What a new process answers."""
    with Process(engine, environment) as process:
        return process.ask(request, name)


def first_calls(name: str, figures: dict[str, Figures]) -> None:
    """First calls of one workload, each in a new process, the engines in turn; medians."""
    peers = [e for e, figure in figures.items() if e not in OURS and figure.median is not None]
    taken: dict[str, list[float]] = {engine: [] for engine in ("tracejit", "from disk", *peers)}
    for _ in range(FIRST_CALLS):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"TRACEJIT_CACHE_DIR": folder}
            for what in ("tracejit", "from disk"):
                taken[what] += seconds(alone("tracejit", environment, "first", name))
        for engine in peers:
            taken[engine] += seconds(alone(engine, {}, "first", name))
    medians = {what: statistics.median(times) for what, times in taken.items() if times}
    figures["tracejit"].first_from_disk = medians.pop("from disk", None)
    for engine, median in medians.items():
        figures[engine].first = median


def memory(name: str, figures: dict[str, Figures]) -> None:
    """Memory that one workload takes, in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        for engine in OURS:
            found = alone(engine, {"TRACEJIT_CACHE_DIR": folder}, "memory", name)
            if isinstance(found, Memory):
                figures[engine].held, figures[engine].peak = found


def seconds(answer: object) -> list[float]:
    """A time, if it is one."""
    return [answer] if isinstance(answer, float) else []


def import_time(engine: str) -> float:
    """Seconds to import an engine's library, in the faster of three new processes."""
    taken = []
    for _ in range(3):
        with Process(engine, {}) as process:
            taken.append(process.ask("import_time"))
    return float(min(taken))


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    model = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.exists():
        lines = described.read_text(encoding="utf-8").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = models[0] if models else model
    return {
        "processor": f"{model} ({os.cpu_count()} cores)",
        "system": platform.system(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }


def compare(
    peers: list[str], names: list[str], rounds: int, first: bool, keep: Callable[[Comparison], None]
) -> Comparison:
    """All figures; `keep` is given what there is after each workload."""
    engines = [*OURS, *peers]
    comparison = Comparison(engines, machine=machine())
    comparison.figures = {name: {engine: Figures() for engine in engines} for name in names}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        environment = {"TRACEJIT_CACHE_DIR": folder}
        processes = {
            engine: stack.enter_context(Process(engine, environment)) for engine in engines
        }
        for name in names:
            turns(name, processes, rounds, comparison)
            progress(name, comparison.figures[name])
            keep(comparison)
    if first:
        comparison.imports = {engine: import_time(engine) for engine in engines if engine != "hand"}
        for name in names:
            first_calls(name, comparison.figures[name])
            memory(name, comparison.figures[name])
            keep(comparison)
    return comparison


def progress(name: str, figures: dict[str, Figures]) -> None:
    """One line while the others are still to come."""
    times = (f"{engine} {report.shown(figure.median, 1e3)}" for engine, figure in figures.items())
    print(f"{name}: {', '.join(times)} ms", file=sys.stderr, flush=True)


def main() -> None:
    """Compare what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default="jax", help="jax,torch,autograd,tf, or none")
    parser.add_argument("--only", help="names of workloads, or what they begin with")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-first", dest="first", action="store_false")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    given = parser.parse_args()
    peers = [] if given.peers in ("", "none") else given.peers.split(",")
    for peer in peers:
        if peer not in setup_peers.PEERS or not setup_peers.python(peer).exists():
            parser.error(
                f"no environment for {peer}: python -m tests.benchmarks.setup_peers {peer}"
            )

    def keep(comparison: Comparison) -> None:
        if given.json:
            figures = json.dumps(comparison.as_json(), indent=1)
            given.json.write_text(figures, encoding="utf-8")

    comparison = compare(peers, chosen(given.only), given.rounds, given.first, keep)
    section = report.text(comparison)
    print(section)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(report.inserted(page, section), encoding="utf-8")
    sys.exit(1 if comparison.mismatches else 0)


if __name__ == "__main__":
    main()
