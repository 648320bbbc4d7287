"""Readable text: what each rewrite adds to the text, and the time that it saves.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.readable [--only NAME[,NAME]] [--write]
        [--seconds S]

Every program of `everyday` and every workload of tests/benchmarks is compiled as usual and without
one rewrite, whose text then differs or not. Where it does, both kernels take turns, on one thread:
the time is that of the thread, which other processes disturb least. Tiles have their threads, and
the time is that of the clock. "readable" is all with `readable=True`. `--write` records the medians
in tests/benchmarks/readable.json; `--only` leaves the others there as they are.

A rewrite that makes the text longer is for readable kernels, too, if it saves `LEAST_SAVED` of the
time: tracejit/support/readable.py lists the others.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import tracejit as tj
from tests.benchmarks.everyday import PROGRAMS
from tests.benchmarks.workloads import WORKLOADS
from tracejit.support.cost_model import assuming
from tracejit.support.readable import LEFT_OUT, NEVER
from tracejit.targets.numpy.lower import improve

RECORD = Path(__file__).with_suffix(".json")
LEAST_SAVED = 0.05
LONGER = 1.01
"""A rewrite makes the text longer if it has so many times the characters."""
MOST_ELEMENTS = 3_000_000
SECONDS = 0.3  # seconds for each program, by turns ...
TURN = 1e-3  # ... of so many at least
KEPT: dict[str, dict[str, Any]] = {
    "tiles": {"tiled_bytes": NEVER, "left_to_tiles_bytes": NEVER},
    "flat slices": {"least_flat_slice": NEVER},
    "windows": {"least_windows": NEVER},
    "order of axes": {"long_axis": NEVER},
    "dot in place of @": {"dot_operations": -1},
    "floats in place of scalars": {"least_float_gain": 2.0},
    "blocks of triangles": {"inverse_rows": NEVER},
    "stages of loops": {"loop_bytes": 0, "cached_steps": 0, "step_bytes": 0},
    "masks of triangles": {"most_mask_elements": 0},
    "take in place of an index": {"many_indexed_elements": NEVER},
    "loops written out": {"recorded_steps": 3},
    "copies in one": {"least_copies": NEVER},
}
PASSES = (
    "contract", "factor_sums", "gather_coefficients", "add_apart", "sum_columns_first",
    "update_slices", "solve_together", "take_factors_apart", "join_outers", "lower",
    "fold_constants",
)  # fmt: skip
WITH_THREADS = ("tiles",)
NAMES = (*LEFT_OUT, *KEPT, *PASSES, "readable")


class Text(NamedTuple):
    """The size of a module: its lines and characters besides the head and comments."""

    lines: int
    characters: int

    @classmethod
    def of(cls, source: str) -> Text:
        """The size of this text."""
        body = source.split('"""', 2)[2].splitlines()
        code = [line.strip() for line in body if line.strip()]
        code = [line for line in code if not line.startswith(("#", '"""'))]
        return cls(len(code), sum(map(len, code)))


class Ratios(NamedTuple):
    """A program without a rewrite: its time and its text, against the usual ones."""

    time: float
    lines: float
    characters: float


@contextmanager
def without(name: str) -> Iterator[None]:
    """Compile without this rewrite."""
    with ExitStack() as stack:
        if name in PASSES:
            kept = tuple(one for one in improve.IMPROVEMENTS if one.run.__name__ != name)
            stack.enter_context(mock.patch.object(improve, "IMPROVEMENTS", kept))
        else:
            stack.enter_context(assuming(**{**KEPT, **LEFT_OUT}[name]))
        yield


def programs() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Each program: its name, what compiles it with options, and its arguments."""
    for name, workload in WORKLOADS.items():
        arguments = workload.arguments()
        if workload.kind != "value_and_grad" or sum(map(np.size, arguments)) > MOST_ELEMENTS:
            continue

        def compiled(workload: Any = workload, **options: Any) -> Any:
            function: Any = tj.function(workload.make(np), cache=False, **options)
            return tj.value_and_grad(function, argnums=workload.argnums)

        yield name, compiled, arguments
    for name, program in PROGRAMS.items():
        yield name, program.compiled, program.arguments


def ratio_of_times(
    usual: Any, other: Any, arguments: tuple[Any, ...], clock: Callable[[], float], seconds: float
) -> float:
    """The time of `other` against that of `usual`: of each the lower quartile."""

    def turn(function: Any, calls: int) -> float:
        begin = clock()
        for _ in range(calls):
            function(*arguments)
        return (clock() - begin) / calls

    functions = usual, other
    for function in functions:
        turn(function, 2)
    calls = max(1, int(TURN / max(turn(usual, 1), 1e-7)))
    taken: tuple[list[float], list[float]] = [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken[0]) < 10:
        for place in (0, 1, 1, 0):
            taken[place].append(turn(functions[place], calls))
    least, most = (statistics.quantiles(times, n=4)[0] for times in taken)
    return most / least


def compared(
    compiled: Callable[..., Any], arguments: tuple[Any, ...], name: str, seconds: float
) -> Ratios | None:
    """The figures of a program without a rewrite; None where its text is the same."""
    has_threads = name in WITH_THREADS
    options = {} if has_threads else {"threads": 1}
    usual = compiled(**options)
    usual(*arguments)
    if name == "readable":
        other = compiled(**options, readable=True)
        other(*arguments)
    else:
        with without(name):
            other = compiled(**options)
            other(*arguments)
    before, after = (str(one.kernel(*arguments).source) for one in (usual, other))
    if before.split('"""', 2)[2].rpartition("#")[0] == after.split('"""', 2)[2].rpartition("#")[0]:
        return None
    clock = time.perf_counter if has_threads else time.thread_time
    times = ratio_of_times(usual, other, arguments, clock, seconds)
    one, two = Text.of(before), Text.of(after)
    return Ratios(times, two.lines / one.lines, two.characters / one.characters)


def measured(names: Sequence[str], seconds: float) -> dict[str, dict[str, float]]:
    """The medians without each rewrite, and the range of the times."""
    found: dict[str, list[Ratios]] = {name: [] for name in names}
    for program, compiled, arguments in programs():
        for name in names:
            ratios = compared(compiled, arguments, name, seconds)
            if ratios is not None:
                found[name].append(ratios)
                print(f"{program:24s} {name:32s} {ratios.time:.3f} of the time", flush=True)
    return {name: _medians(ratios) for name, ratios in found.items() if ratios}


def _rounded(number: float) -> float:
    return round(number, 3)


def _medians(ratios: Sequence[Ratios]) -> dict[str, float]:
    medians = {
        field: _rounded(statistics.median(values))
        for field, values in zip(Ratios._fields, zip(*ratios, strict=True), strict=True)
    }
    times = [one.time for one in ratios]
    extremes = {"least": _rounded(min(times)), "most": _rounded(max(times))}
    return {"programs": len(ratios), **medians, **extremes}


def main() -> None:
    """Measure, print, and record where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(NAMES), help="names of rewrites, or readable")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each program")
    parser.add_argument("--write", action="store_true", help="record in readable.json")
    given = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        raise SystemExit("set OPENBLAS_NUM_THREADS=1: the threads of the BLAS wait by spinning")
    warnings.simplefilter("ignore")
    found = measured(given.only.split(","), given.seconds)
    for name, ratios in found.items():
        print(f"{name:32s}", *[f"{field} {value}" for field, value in ratios.items()])
    if given.write:
        known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
        record = {name: {**known, **found}[name] for name in NAMES if name in {**known, **found}}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
