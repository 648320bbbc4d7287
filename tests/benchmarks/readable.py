"""Readable text: what each rewrite adds to the text, and the time that it saves.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.readable [--write]

Every program of `everyday` and every workload of tests/benchmarks is compiled as usual and without
one rewrite, whose text then differs or not. Where it does, both kernels take turns, on one thread:
the time is that of the thread, which other processes disturb least. Tiles have their threads, and
the time is that of the clock. Last, all is compiled as usual and with `readable=True`. `--write`
records the medians in tests/benchmarks/readable.json.

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
from collections.abc import Callable, Iterator
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
SECONDS = 0.3
TURN = 1e-3  # seconds of a turn, at least
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
    usual: Any, other: Any, arguments: tuple[Any, ...], clock: Callable[[], float]
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
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(taken[0]) < 10:
        for place in (0, 1, 1, 0):
            taken[place].append(turn(functions[place], calls))
    least, most = (statistics.quantiles(times, n=4)[0] for times in taken)
    return most / least


def compared(usual: Any, other: Any, arguments: tuple[Any, ...], name: str) -> Ratios | None:
    """What becomes of a program; None where its text is the same."""
    before, after = (str(one.kernel(*arguments).source) for one in (usual, other))
    one, two = Text.of(before), Text.of(after)
    if before.split('"""', 2)[2].rpartition("#")[0] == after.split('"""', 2)[2].rpartition("#")[0]:
        return None
    clock = time.perf_counter if name in WITH_THREADS else time.thread_time
    times = ratio_of_times(usual, other, arguments, clock)
    return Ratios(times, two.lines / one.lines, two.characters / one.characters)


def measured() -> dict[str, Any]:
    """The record: of each rewrite the medians without it, and of readable kernels the range."""
    rewrites = (*LEFT_OUT, *KEPT, *PASSES)
    found: dict[str, list[Ratios]] = {name: [] for name in (*rewrites, "readable")}
    for program, compiled, arguments in programs():
        usual = compiled(threads=1)
        usual(*arguments)
        for name in rewrites:
            options = {} if name in WITH_THREADS else {"threads": 1}
            before = usual
            if name in WITH_THREADS:
                before = compiled()
                before(*arguments)
            with without(name):
                ratios = compared(before, compiled(**options), arguments, name)
            found[name] += [] if ratios is None else [ratios]
        ratios = compared(usual, compiled(threads=1, readable=True), arguments, "readable")
        assert ratios is not None, program
        found["readable"].append(ratios)
        print(f"{program:24s} readable {ratios.time:.3f} of the time", flush=True)
    readable = found.pop("readable")
    times = [ratios.time for ratios in readable]
    return {
        "rewrites": {name: _medians(ratios) for name, ratios in found.items() if ratios},
        "readable": {
            **_medians(readable),
            "least": _rounded(min(times)),
            "most": _rounded(max(times)),
        },
    }


def _rounded(number: float) -> float:
    return round(number, 3)


def _medians(ratios: list[Ratios]) -> dict[str, float]:
    medians = {
        field: _rounded(statistics.median(values))
        for field, values in zip(Ratios._fields, zip(*ratios, strict=True), strict=True)
    }
    return {"programs": len(ratios), **medians}


def main() -> None:
    """Measure, print, and record where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="record in readable.json")
    arguments = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        raise SystemExit("set OPENBLAS_NUM_THREADS=1: the threads of the BLAS wait by spinning")
    warnings.simplefilter("ignore")
    record = measured()
    for name, ratios in (*record["rewrites"].items(), ("readable", record["readable"])):
        print(f"{name:32s}", *[f"{field} {value}" for field, value in ratios.items()])
    if arguments.write:
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
