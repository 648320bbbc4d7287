"""Folding: of a loop that is written out, one step is shown and the rest is folded.

Steps are found by the shape of their lines: the text without numbers and without the numbers in
names. Where the same shapes follow each other again and again, those are the steps of a loop.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence

FEWEST_STEPS = 3
FEWEST_LINES = 12
LONGEST_STEP = 200
MOST_TRIED = 8
_NUMBER = re.compile(r"_?\d+(\.\d+)?")


def folded(
    rows: range, lines: Sequence[str], html: Mapping[int, str], costs: Mapping[int, str]
) -> Iterator[str]:
    """The lines `rows`, which count from 1, as HTML, repeated steps of a loop folded."""
    at = rows.start
    for start, step, count in repeats([_shape(lines[n - 1]) for n in rows]):
        first = rows.start + start
        for number in range(at, first + step):
            yield _with_cost(html[number], costs.get(number))
        at = first + step * count
        others = f"{count - 1} more times the same: lines {first + step} to {at - 1}"
        yield f"<details class=fold><summary>{others}</summary>"
        for number in range(first + step, at):
            yield _with_cost(html[number], costs.get(number))
        yield "</details>"
    for number in range(at, rows.stop):
        yield _with_cost(html[number], costs.get(number))


def _with_cost(html: str, cost: str | None) -> str:
    return html if cost is None else html.replace("<pre>", f"{cost}<pre>", 1)


def _shape(line: str) -> str:
    return _NUMBER.sub("0", line)


def repeats(
    shapes: Sequence[Hashable], fewest: int = FEWEST_LINES
) -> Iterator[tuple[int, int, int]]:
    """The places where lines of these shapes repeat: the first line, the length of a step, and the
    number of steps; all steps are `fewest` lines or more. The step that repeats longest is taken,
    from the top.

    >>> list(repeats(["a", *["b", "c"] * 6, "d"]))
    [(1, 2, 6)]
    """
    places: dict[Hashable, list[int]] = {}
    for number, shape in enumerate(shapes):
        places.setdefault(shape, []).append(number)
    following: dict[int, list[int]] = {}
    for found in places.values():
        for position, number in enumerate(found):
            following[number] = found[position + 1 : position + 1 + MOST_TRIED]
    at = 0
    while at < len(shapes):
        tried = [other - at for other in following[at] if other - at <= LONGEST_STEP]
        counts = [(_steps(shapes, at, step), step) for step in tried]
        fitting = [(n * step, -step) for n, step in counts if n >= FEWEST_STEPS]
        lines, step = max(fitting, default=(0, 0))
        if lines >= fewest:
            yield at, -step, lines // -step
            at += lines
        else:
            at += 1


def _steps(shapes: Sequence[Hashable], at: int, step: int) -> int:
    """The number of times that the lines from `at` on repeat themselves."""
    one = shapes[at : at + step]
    count = 1
    while shapes[at + count * step : at + (count + 1) * step] == one:
        count += 1
    return count
