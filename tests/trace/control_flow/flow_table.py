"""Programs of plain NumPy with `if`, `while` and `for` on data, and how each is judged.

A row is a function with a number of calls, whose data take different ways through it. One
`tj.value_and_grad` of the function, by its first argument, answers all calls. A row is **right**
where each value is what NumPy computes and each gradient what differences say. It is **refused**
where a call raises an error of tracejit's, **over time** where its calls take too long, and
**wrong** otherwise. It is **within the gates** where it is right, few recordings made it, and the
generated text is short.
"""

from __future__ import annotations

import copy
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit as tj
from tests.support.differences import extrapolated
from tracejit.trace.structure.trees import flatten, unflatten

RECORDINGS = 2
LINES = 500

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Row:
    """A function, its calls, and what its gradient is compared with."""

    name: str
    function: Callable[..., Any]
    count: int
    make: Callable[[np.random.Generator], Arguments]
    slope: Callable[..., Any] | None = None
    on_a_tape: bool = False

    def calls(self, count: int | None = None) -> list[Arguments]:
        """The arguments of so many calls, the first of those of the row."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [self.make(rng) for _ in range(min(self.count, count or self.count))]


@dataclass
class Table:
    """Rows by the name of their function."""

    rows: dict[str, Row] = field(default_factory=dict)

    def __call__(
        self,
        make: Callable[[np.random.Generator], Arguments],
        count: int = 8,
        slope: Callable[..., Any] | None = None,
        on_a_tape: bool = False,
        name: str = "",
    ) -> Callable[[Any], Any]:
        """Add the function below with so many calls, whose arguments `make` draws. `slope` is its
        gradient by hand, for arguments at a kink. `on_a_tape`, it is compared with a tape around
        the program as Python runs it: the least step of a difference leads another way."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            key = name or function.__name__
            assert key not in self.rows, key
            self.rows[key] = Row(key, function, count, make, slope, on_a_tape)
            return function

        return add


@dataclass
class Outcome:
    """What the calls of a row came to."""

    word: str = "right"
    reason: str = ""
    calls: int = 0
    recordings: int = 0
    largest: int = 0
    lines: int = 0
    first: float = 0.0
    total: float = 0.0
    warm: float = 0.0
    plain: float = 0.0
    by_python: bool = False

    @property
    def fails(self) -> list[str]:
        """The gates that the row is not within."""
        if self.word != "right":
            return [self.word]
        found = [f"{self.recordings} recordings"] if self.recordings > RECORDINGS else []
        found += [f"{self.lines} lines"] if self.lines >= LINES else []
        return found + ["runs as plain Python"] * self.by_python


def judge(row: Row, count: int | None = None, limit: float = 1e9, repeats: int = 0) -> Outcome:
    """Run the calls of a row, compare each with NumPy and with differences, and time `repeats` more
    of each."""
    found = Outcome()
    compiled = tj.value_and_grad(row.function)
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        calls = row.calls(count)
        try:
            for arguments in calls:
                _call(row, compiled, arguments, found)
                if found.total > limit and found.calls < len(calls):
                    found.word = "over time"
                    found.reason = f"after {found.calls} of {len(calls)} calls"
                    break
        except tj.TracejitError as error:
            found.word, found.reason = "refused", f"{type(error).__name__}: {error}"
        except AssertionError as error:
            found.word, found.reason = "wrong", f"call {found.calls}: {error}"
        except Exception as error:
            found.word = "wrong"
            found.reason = f"call {found.calls} raised {type(error).__name__}: {error}"
        found.recordings = compiled.tracing_count
        lengths = [str(kernel.source).count("\n") for kernel in compiled.kernels]
        found.lines, found.largest = sum(lengths), max(lengths, default=0)
        done = calls[: found.calls]
        if done and repeats and found.word in ("right", "over time"):
            found.warm = _median(compiled, done, repeats)
            found.plain = _median(row.function, done, repeats)
    found.by_python = any("plain Python" in str(one.message) for one in caught)
    return found


def taped(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient by the first argument, by what Python runs."""

    def gradient(first: Any, *others: Any) -> Any:
        x = tj.constant(first)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = function(x, *others)
        return tape.gradient(y, x, unconnected_gradients="zero").numpy()

    return gradient


def _call(row: Row, compiled: Callable[..., Any], arguments: Arguments, found: Outcome) -> None:
    """Compare one call."""
    expected = row.function(*copy.deepcopy(arguments))
    start = time.perf_counter()
    value, gradient = compiled(*copy.deepcopy(arguments))
    taken = time.perf_counter() - start
    found.total += taken
    found.first = found.first or taken
    found.calls += 1
    if not np.allclose(value, expected, rtol=1e-9, atol=1e-12):
        raise AssertionError(f"value {value!r}, not {expected!r}")
    if row.slope is not None or row.on_a_tape:
        by_hand = row.slope or taped(row.function)
        wanted = by_hand(*copy.deepcopy(arguments))
        if not np.allclose(gradient, wanted, rtol=1e-9, atol=1e-12):
            raise AssertionError(f"gradient {gradient!r}, not {wanted!r}")
        return
    leaves, structure = flatten(arguments[0])
    rng = np.random.default_rng(found.calls)
    directions = [
        rng.uniform(-1.0, 1.0, np.shape(leaf)) * np.maximum(np.abs(leaf), 1.0) for leaf in leaves
    ]

    def moved(step: float) -> float:
        values = [
            type(leaf)(leaf + step * along) if np.ndim(leaf) == 0 else leaf + step * along
            for leaf, along in zip(leaves, directions, strict=True)
        ]
        return float(row.function(unflatten(structure, values), *copy.deepcopy(arguments[1:])))

    parts = [g * along for g, along in zip(flatten(gradient)[0], directions, strict=True)]
    slope, scale = sum(map(np.sum, parts)), sum(np.sum(np.abs(part)) for part in parts)
    wanted, doubt = _slope(moved, scale)
    if not abs(slope - wanted) <= 1e-6 * max(scale, abs(wanted)) + 1e-8 + 5 * doubt:
        raise AssertionError(f"slope {slope!r}, not {wanted!r} within {doubt:.1e}")


def _slope(moved: Callable[[float], float], scale: float) -> tuple[float, float]:
    """The slope by differences, and how far it may be off: the smaller the step, the less likely
    it leads another way through the program, and the more it is rounded."""
    best = np.nan, np.inf
    for step in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        one, other = extrapolated(moved, step), extrapolated(moved, step / 3)
        doubt = abs(one - other)
        if doubt < best[1]:
            best = other, doubt
        if doubt <= 1e-9 * (scale + abs(other)) + 1e-12:
            break
    if not best[1] <= 1e-4 * (scale + abs(best[0])) + 1e-6:
        raise AssertionError(f"differences say {best[0]!r} within {best[1]:.1e}, which is nothing")
    return best


def _median(f: Callable[..., Any], calls: list[Arguments], repeats: int) -> float:
    """The median seconds of a call."""
    taken = []
    for _ in range(repeats):
        for arguments in calls:
            given = copy.deepcopy(arguments)
            start = time.perf_counter()
            f(*given)
            taken.append(time.perf_counter() - start)
    return float(np.median(taken))
