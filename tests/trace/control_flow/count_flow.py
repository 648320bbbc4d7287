"""Count the programs that are right, refused and wrong:
`python -m tests.trace.control_flow.count_flow`.

With names of rows or tables as arguments, those alone. `--limit S` ends a row after so many seconds
of its calls. `--long [STEPS]` measures the first call of 10,000 steps, without and with an `if`;
`--sizes` counts the recordings that six values of `n` in `range(n)` take.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from tests.trace.control_flow.flow.program import program
from tests.trace.control_flow.flow_table import RECORDINGS, Outcome, Row, judge

HERE = Path(__file__).parent / "flow"
STEPS = 10_000
SIZES = (5, 9, 50, 0, 333, 1000)
SECONDS, MEGABYTES, MINUTE = 0.5, 100, 60


def rows() -> dict[str, list[Row]]:
    """The rows by the name of their file."""
    found: dict[str, list[Row]] = {}
    for path in sorted(HERE.glob("*.py")):
        before = set(program.rows)
        importlib.import_module(f"tests.trace.control_flow.flow.{path.stem}")
        if new := [row for name, row in program.rows.items() if name not in before]:
            found[path.stem] = new
    return found


def line(name: str, found: Outcome) -> str:
    """The figures of a row."""
    gates = ", ".join(found.fails) or "within"
    reason = re.sub(r"\s+", " ", found.reason)[:200]
    return (
        f"{name:27}{found.word:10}{found.recordings:4}{found.largest:7}{found.lines:7}"
        f"{found.first:8.3f}{found.total:8.2f}{found.warm * 1e6:9.0f}{found.plain * 1e6:8.0f}"
        f"  {gates}" + f" ({reason})" * bool(reason)
    )


def count(chosen: list[str], limit: float) -> None:
    """Print a line for each row, and their sum."""
    head = "recs, largest, lines; first s, all s; warm us, plain us; gates"
    print(f"{'':37}{head}")
    total: Counter[str] = Counter()
    for table, several in rows().items():
        for row in several:
            if chosen and table not in chosen and row.name not in chosen:
                continue
            found = judge(row, limit=limit, repeats=3)
            print(line(row.name, found), flush=True)
            total[found.word] += 1
            total["within"] += not found.fails
            total["recordings"] += found.recordings
            total["lines"] += found.lines
    total["rows"] = sum(total[word] for word in ("right", "refused", "wrong", "over time"))
    print(dict(total))


DT = 1e-3


def straight(p: Any, n: int) -> Any:
    """Thirty operations a step."""
    y, v = np.array([1.0, 0.5]), np.array([0.1, 0.2])
    for k in range(n):
        y, v = step(p, y, v, k * DT)
    return np.sum(y**2) + np.sum(v**2)


def deciding(p: Any, n: int) -> Any:
    """Thirty operations a step, and an `if`."""
    y, v = np.array([1.0, 0.5]), np.array([0.1, 0.2])
    for k in range(n):
        y, v = step(p, y, v, k * DT)
        if y[0] > 2.0:
            y = 0.9 * y
    return np.sum(y**2) + np.sum(v**2)


def step(p: Any, y: Any, v: Any, t: float) -> Any:
    """The place and the speed a step later."""
    force = p[0] * y[::-1] + np.sin(p[1] * t) - 0.1 * v
    half = y + 0.5 * DT * v
    speed = v + 0.5 * DT * force
    force = p[0] * half[::-1] + np.sin(p[1] * (t + DT)) - 0.1 * speed
    return y + DT * speed, v + DT * force


LONG = {"straight": straight, "deciding": deciding}


def first_call(name: str, steps: int) -> None:
    """Print the time and the memory that the first call of many steps takes in this process."""
    f, p = LONG[name], np.array([0.3, 0.7])
    tj.value_and_grad(f)(p, 20)
    compiled = tj.value_and_grad(f)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    value, gradient = compiled(p, steps)
    taken = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    start = time.perf_counter()
    expected = f(p, steps)
    plain = time.perf_counter() - start
    step = 1e-6 * np.array([1.0, 0.5])
    slope = (f(p + step, steps) - f(p - step, steps)) / 2e-6
    right = np.allclose(value, expected) and np.allclose(gradient @ [1.0, 0.5], slope, rtol=1e-4)
    gates = "within" if taken < SECONDS and grown < MEGABYTES else "not within"
    lines = str(compiled.source).count("\n")
    print(
        f"first call of {steps} steps, {name}: {taken:.2f} s, {grown:.0f} MB, {lines} lines, "
        f"{compiled.tracing_count} recordings, plain {plain:.3f} s, "
        f"{'right' if right else 'WRONG'}; {gates}",
        flush=True,
    )


def sizes(name: str) -> None:
    """Print the recordings that six numbers of steps take."""
    f, p = LONG[name], np.array([0.3, 0.7])
    compiled = tj.value_and_grad(f)
    start = time.perf_counter()
    right = all(np.allclose(compiled(p, n)[0], f(p, n)) for n in SIZES)
    gates = "within" if compiled.tracing_count <= RECORDINGS else "not within"
    print(
        f"range(n) for n in {SIZES}, {name}: {compiled.tracing_count} recordings, "
        f"{len(compiled.kernels)} kernels, {time.perf_counter() - start:.2f} s, "
        f"{'right' if right else 'WRONG'}; {gates}",
        flush=True,
    )


def apart(*arguments: str) -> None:
    """Measure in a process of its own, which may take a minute."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.trace.control_flow.count_flow"]
    try:
        subprocess.run([*command, *arguments], check=False, timeout=MINUTE)
    except subprocess.TimeoutExpired:
        print(f"{' '.join(arguments)}: over {MINUTE} s; not within", flush=True)


def main(*arguments: str) -> None:
    """Print what the arguments ask for."""
    os.environ |= {"TRACEJIT_STRICT": "1", "TRACEJIT_CACHE": "0"}
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("chosen", nargs="*")
    options.add_argument("--limit", type=float, default=4.0)
    options.add_argument("--long", type=int, nargs="?", const=STEPS)
    options.add_argument("--sizes", action="store_true")
    options.add_argument("--alone", choices=LONG)
    given = options.parse_args(arguments)
    if given.alone:
        first_call(given.alone, given.long) if given.long else sizes(given.alone)
        return
    for name in LONG:
        if given.long:
            apart("--long", str(given.long), "--alone", name)
        if given.sizes:
            apart("--sizes", "--alone", name)
    if not given.long and not given.sizes:
        count(given.chosen, given.limit)


if __name__ == "__main__":
    main(*sys.argv[1:])
