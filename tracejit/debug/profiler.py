"""Profile of a kernel: seconds, bytes and calls of each generated line, and of the user's lines.

A copy of the module notes the clock before each statement. What noting itself takes is measured and
subtracted. Another copy counts, in one call, the bytes that each operation writes. Tiles run in
turn on one thread, so a kernel that runs them on several is faster than its profile.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from tracejit.debug.checks import Checks
from tracejit.debug.instrument import (
    Instrumented,
    at_line_of,
    blocks,
    called,
    loaded,
    stored,
)
from tracejit.debug.profile import Profile, ProfiledLine
from tracejit.debug.user_lines import Files, user_lines
from tracejit.debug.watch import updated

MARKS_TO_MEASURE = 2000
"""Empty marks that are timed to know what one costs."""
Equipped = Callable[[ModuleType, int, bool], Mapping[str, Callable[..., Any]]]


class Clock:
    """The line that runs, in each function that does, and what the lines have taken so far."""

    def __init__(self) -> None:
        """Begin outside of all lines."""
        self.seconds: dict[int, float] = {}
        self.calls: dict[int, int] = {}
        self._line = 0
        self._since = 0.0

    def mark(self, line: int) -> None:
        """A statement of `line` begins."""
        now = time.perf_counter()
        self.seconds[self._line] = self.seconds.get(self._line, 0.0) + now - self._since
        self.calls[line] = self.calls.get(line, 0) + 1
        self._line = line
        self._since = time.perf_counter()

    def enter(self) -> int:
        """A function begins; return the line of its caller."""
        return self._line

    def leave(self, line: int) -> None:
        """A function ends; its caller's line goes on."""
        now = time.perf_counter()
        self.seconds[self._line] = self.seconds.get(self._line, 0.0) + now - self._since
        self._line = line
        self._since = time.perf_counter()

    def start(self) -> None:
        """Forget what was measured."""
        self.seconds, self.calls = {}, {}
        self._line, self._since = 0, time.perf_counter()


def profile_of(
    module: ModuleType,
    files: Files,
    entry: str,
    arrays: Sequence[Any],
    repeat: int,
    equipped: Equipped,
) -> Profile:
    """The profile of function `entry` of a module, called with `arrays`: the fastest of `repeat`
    calls. `equipped` makes the functions of a module ready to run."""
    clock = Clock()
    hooks = {"mark": clock.mark, "line": clock.enter, "end": clock.leave}
    timed = Instrumented(module, mark_statements, hooks).copy()
    call = _call_of(timed, entry, arrays, equipped)
    call()  # the first call fills caches
    best: tuple[float, dict[int, float], dict[int, int]] | None = None
    for _ in range(max(repeat, 1)):
        clock.start()
        call()
        clock.mark(0)
        seconds = {line: taken for line, taken in clock.seconds.items() if line}
        total = sum(seconds.values())
        if best is None or total < best[0]:
            best = total, seconds, clock.calls
    assert best is not None
    _, seconds, calls = best
    written = _bytes_written(module, entry, arrays, equipped)
    each, whole = _cost_of_a_mark()
    generated = {
        line: (max(taken - each * calls[line], 0.0), written.get(line, 0), calls[line])
        for line, taken in sorted(seconds.items())
    }
    return _by_user_line(module, files, entry, generated, whole * sum(calls.values()))


def _by_user_line(
    module: ModuleType,
    files: Files,
    entry: str,
    generated: dict[int, tuple[float, int, int]],
    overhead: float,
) -> Profile:
    """Sum generated lines up to the user's."""
    users = user_lines(module.__source__, files)
    total = sum(seconds for seconds, _, _ in generated.values())
    groups: dict[tuple[str, str], list[tuple[float, int, int]]] = {}
    for line, measured in generated.items():
        user = users.get(line)
        key = ("", "") if user is None else (user.place, user.text)
        groups.setdefault(key, []).append(measured)
    order = {(one.place, one.text): (one.filename, one.lineno) for one in users.values()}
    keys = sorted(groups, key=lambda key: (key == ("", ""), *order.get(key, ("", 0))))
    lines = []
    for place, text in keys:
        several = groups[place, text]
        seconds = sum(one[0] for one in several)
        share = seconds / total if total else 0.0
        written, calls = sum(one[1] for one in several), max(one[2] for one in several)
        text = text if place else "(in no line of yours)"
        lines.append(ProfiledLine(place, text, seconds, written, calls, share))
    return Profile(entry, tuple(lines), generated, total, overhead)


def mark_statements(function: ast.FunctionDef, prefix: str) -> None:
    """Rewrite a function so that it marks the line of each statement before it runs."""
    last = function.body[-1]
    body = _marked(function.body, prefix)
    begin = stored(f"{prefix}caller", called(f"{prefix}line"))
    end = ast.Expr(called(f"{prefix}end", loaded(f"{prefix}caller")))
    inside = ast.Try(body=body, handlers=[], orelse=[], finalbody=[end])
    at_line_of([begin, end], last)
    function.body = [begin, ast.copy_location(inside, function.body[0])]


def _marked(body: list[ast.stmt], prefix: str) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for statement in body:
        for block in list(blocks(statement)):
            block[:] = _marked(block, prefix)
        mark = ast.Expr(called(f"{prefix}mark", ast.Constant(statement.lineno)))
        found += [*at_line_of([mark], statement), statement]
    return found


def _call_of(
    module: ModuleType, entry: str, arrays: Sequence[Any], equipped: Equipped
) -> Callable[[], Any]:
    """The call that is measured. Generators are copied: each call draws the same numbers."""
    functions = equipped(module, 1, False)

    def own() -> list[Any]:
        return [copy.deepcopy(one) if hasattr(one, "bit_generator") else one for one in arrays]

    if entry != "backward":
        return lambda: functions[entry](*own())
    residuals = functions["forward"](*own())[-1]
    return lambda: functions["backward"](residuals)


def _bytes_written(
    module: ModuleType, entry: str, arrays: Sequence[Any], equipped: Equipped
) -> dict[int, int]:
    """The bytes that the operations of each line write, in one call."""
    checks = Checks(module)
    written: dict[int, int] = {}

    def seen(number: int, operands: tuple[Any, ...], value: Any) -> Any:
        line = checks.sites[number].line
        written[line] = written.get(line, 0) + sum(_new_bytes(value, operands))
        return value

    def as_it_is(first: Any, *others: Any) -> Any:
        return others[-1] if others else first

    hooks: dict[str, Any] = {"seen": seen, "kept": _first, "updated": updated}
    hooks |= dict.fromkeys(("enter", "result", "leave"), as_it_is)
    counting = Instrumented(module, checks.rewrite, hooks).copy()
    call = _call_of(counting, entry, arrays, equipped)
    written.clear()  # backward has called forward
    call()
    return written


def _first(operands: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an operation that writes to `outputs`: those it does not write to."""
    return tuple(one for one in operands if not any(one is other for other in outputs))


def _new_bytes(value: Any, operands: tuple[Any, ...]) -> Iterator[int]:
    """The bytes of each array in a result that is not a view of an operand."""
    for one in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(one, np.ndarray):
            arrays = (x for x in operands if isinstance(x, np.ndarray))
            if not any(np.may_share_memory(one, x) for x in arrays):
                yield one.nbytes


def _cost_of_a_mark() -> tuple[float, float]:
    """The seconds that a mark adds to the line before it, and those that it takes in all."""
    clock = Clock()
    costs = []
    for _ in range(5):
        clock.start()
        begin = time.perf_counter()
        for _ in range(MARKS_TO_MEASURE):
            clock.mark(1)
        whole = time.perf_counter() - begin
        costs.append((clock.seconds[1] / MARKS_TO_MEASURE, whole / MARKS_TO_MEASURE))
    return min(costs)
