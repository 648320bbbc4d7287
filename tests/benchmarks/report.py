"""Figures of a comparison, as tables and as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from tests.benchmarks.workloads import WORKLOADS

BEGIN, END = "<!-- compare:begin -->", "<!-- compare:end -->"
NONE = "-"


@dataclass
class Figures:
    """What was measured of a workload on an engine; None where it was not, `reason` says why."""

    median: float | None = None  # seconds per warm call: of the medians of turns
    least: float | None = None
    first: float | None = None  # seconds to the first result in a new process
    first_from_disk: float | None = None
    held: int | None = None  # bytes between calls
    peak: int | None = None  # bytes of a call besides
    reason: str | None = None

    @property
    def memory(self) -> float | None:
        """Bytes of a call with what is held between calls."""
        return None if self.held is None or self.peak is None else float(self.held + self.peak)


@dataclass
class Comparison:
    """All figures: by workload, then by engine; seconds to import each; what did not agree."""

    engines: list[str]
    figures: dict[str, dict[str, Figures]] = field(default_factory=dict)
    imports: dict[str, float] = field(default_factory=dict)
    mismatches: list[str] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain dicts."""
        return asdict(self)


def geometric_mean(numbers: Iterable[float | None]) -> float | None:
    """Of those that are there."""
    logs = [math.log(number) for number in numbers if number]
    return math.exp(sum(logs) / len(logs)) if logs else None


def shown(number: float | None, scale: float = 1.0) -> str:
    """Three digits, or a dash."""
    if number is None:
        return NONE
    scaled = number * scale
    return f"{scaled:.0f}" if abs(scaled) >= 100 else f"{scaled:.3g}"


class Column(NamedTuple):
    """A column of a table: its figure of a workload, and whether a mean of it says something."""

    head: str
    value: Callable[[dict[str, Figures]], float | None]
    scale: float = 1.0
    averaged: bool = False


def figure(head: str, engine: str, name: str, scale: float) -> Column:
    """One figure of one engine."""
    return Column(head, lambda figures: getattr(figures[engine], name), scale)


def quotient(head: str, above: tuple[str, str], below: tuple[str, str]) -> Column:
    """The ratio of two figures, each of an engine."""

    def value(figures: dict[str, Figures]) -> float | None:
        upper, lower = (getattr(figures[engine], name) for engine, name in (above, below))
        return None if upper is None or not lower else float(upper / lower)

    return Column(head, value, averaged=True)


def table(comparison: Comparison, columns: Sequence[Column]) -> str:
    """A line for each workload, then geometric means over the published ones, and over all."""
    found = {
        name: [column.value(figures) for column in columns]
        for name, figures in comparison.figures.items()
    }
    published = [values for name, values in found.items() if WORKLOADS[name].published]
    lines = [["workload", *(column.head for column in columns)]]
    for name, values in found.items():
        scaled = zip(values, columns, strict=True)
        lines.append([name, *(shown(value, column.scale) for value, column in scaled)])
    for name, rows in (("published", published), ("all", list(found.values()))):
        means = [
            shown(geometric_mean(row[place] for row in rows)) if column.averaged else ""
            for place, column in enumerate(columns)
        ]
        lines.append([f"geometric mean, {name}", *means])
    return aligned(lines)


def aligned(lines: list[list[str]]) -> str:
    """A table of Markdown, its columns of one width, all but the first to the right."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    texts = [
        "| "
        + " | ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])])
        + " |"
        for cells in lines
    ]
    rule = ["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]
    return "\n".join([texts[0], f"|{'|'.join(rule)}|", *texts[1:]])


def speed(comparison: Comparison) -> str:
    """Milliseconds of a warm call, and ratios of tracejit's: of medians, and of minima."""
    columns = [figure("tracejit ms", "tracejit", "median", 1e3)]
    for other in comparison.engines:
        if other != "tracejit":
            columns += [
                figure(f"{other} ms", other, "median", 1e3),
                quotient("ratio", ("tracejit", "median"), (other, "median")),
                quotient("of minima", ("tracejit", "least"), (other, "least")),
            ]
    return table(comparison, columns)


def first_calls(comparison: Comparison) -> str:
    """Milliseconds from the function to the first result, in a new process."""
    columns = [
        figure("tracejit ms", "tracejit", "first", 1e3),
        figure("kernel on disk", "tracejit", "first_from_disk", 1e3),
        quotient("of it", ("tracejit", "first_from_disk"), ("tracejit", "first")),
    ]
    for other in comparison.engines:
        if other not in ("tracejit", "hand"):
            columns += [
                figure(f"{other} ms", other, "first", 1e3),
                quotient("ratio", ("tracejit", "first"), (other, "first")),
            ]
    return table(comparison, columns)


def memory(comparison: Comparison) -> str:
    """Kilobytes that a warm call takes at its peak, with what is held between calls."""
    columns = [
        figure("tracejit kB", "tracejit", "memory", 1e-3),
        figure("of it held", "tracejit", "held", 1e-3),
        figure("hand kB", "hand", "memory", 1e-3),
        figure("of it held", "hand", "held", 1e-3),
        quotient("ratio", ("tracejit", "memory"), ("hand", "memory")),
    ]
    return table(comparison, columns)


def text(comparison: Comparison) -> str:
    """All tables, with a line before each."""
    machine = ", ".join(f"{key} {value}" for key, value in comparison.machine.items())
    parts = [
        f"Measured on: {machine}.",
        "A warm call of value and gradient, milliseconds, and tracejit's time to the other's:",
        speed(comparison),
    ]
    if any(figures["tracejit"].first for figures in comparison.figures.values()):
        imports = ", ".join(
            f"{engine} {1e3 * seconds:.0f} ms" for engine, seconds in comparison.imports.items()
        )
        parts += [
            f"The first call in a new process, milliseconds. Besides, imports take: {imports}.",
            first_calls(comparison),
            "Memory of a warm call at its peak, kilobytes:",
            memory(comparison),
        ]
    reasons = [
        f"- {name} on {engine}: {measured.reason}"
        for name, figures in comparison.figures.items()
        for engine, measured in figures.items()
        if measured.reason and engine != "hand"
    ]
    if reasons:
        parts += ["Not run:", "\n".join(reasons)]
    if comparison.mismatches:
        parts += ["**Results that do not agree:**", "\n".join(comparison.mismatches)]
    return "\n\n".join(parts)


def inserted(page: str, section: str) -> str:
    """A page with its marked section replaced."""
    before, found, rest = page.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"the page has no section between {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{section}\n{END}{after}"
