"""Text of a recorded array: allowed for display, refused as data.

An array that is recorded has no numbers, so its text says only what it is: `<Tensor h f8[2,3]>`.
A program that compares such text, keeps it or formats it would be recorded with text that plain
NumPy does not make. The rule for users: a statement `print(...)` shows a recorded array, so does
`logging`; every other text of it (`str(h)`, `f"{h}"`, `"%s" % h`) is refused.

The message of a `raise` or `assert` statement may hold such text. Nobody sees it: a recording that
ends in an exception of the program's is followed by a run of plain Python, which raises the same
exception with the numbers in its message.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import pprint
import sys
from types import FrameType
from typing import Any

from tracejit.support.parsing import parse
from tracejit.trace.source.places import PACKAGE

PRINTERS = (print, pprint.pprint, pprint.pp)
# Packages that show values to a person.
VIEWERS = frozenset(
    """IPython _pytest bdb cmd code debugpy doctest faulthandler logging pdb pydevd pytest rich
    traceback unittest warnings""".split()
)
# Modules of tracejit that make text of a Tensor when they are asked, and of Python that hand over.
_MAKERS = frozenset(
    f"tracejit.trace.{name}"
    for name in (
        "source.places",
        "source.printing",
        "recording.recorder",
        "tensor.tensor",
        "recording.variable",
    )
)
_CALLING = ("tracejit.trace.reads.", "tracejit.trace.convert.")
"""Packages of tracejit that call what the user's code calls."""
_BETWEEN = frozenset(("dataclasses", "pprint", "reprlib"))
_TEXT_METHODS = frozenset(("__repr__", "__str__", "__format__"))


def destination_of_text() -> str:
    """The place that text goes to which a method of tracejit's is making.

    "print" where a person looks at it, "raise" where it becomes part of an exception, "" where the
    program may compute with it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in _MAKERS:
        frame = frame.f_back
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        package = _package(module)
        if module.startswith(_CALLING):  # in place of the user's
            frame = frame.f_back
            continue
        if package in VIEWERS or frame.f_code.co_filename.startswith(PACKAGE):
            return "print"  # a text of tracejit's own is that of an error
        if package not in _BETWEEN and frame.f_code.co_name not in _TEXT_METHODS:
            return _destination(frame)
        frame = frame.f_back
    return ""


def _destination(frame: FrameType) -> str:
    """The destination of text that the running statement of `frame` makes: "print", "raise" or
    an empty string."""
    statements = _running(frame)
    if not statements:
        return ""
    if all(isinstance(one, (ast.Raise, ast.Assert)) for one in statements):
        return "raise"
    return "print" if all(_shows(one, frame) for one in statements) else ""


def _running(frame: FrameType) -> list[ast.stmt]:
    """The statements that may be running: one where Python knows columns, else those of a line."""
    line = frame.f_lineno
    found = [
        one for one in _statements(frame.f_code.co_filename) if one.lineno <= line <= _last(one)
    ]
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None or len(found) < 2:
        return found
    start, _, column, _ = list(positions())[frame.f_lasti // 2]
    if start is None or column is None:
        return found
    inside = [one for one in found if (one.lineno, one.col_offset) <= (start, column)]
    return inside[-1:]


@functools.lru_cache(64)
def _statements(filename: str) -> list[ast.stmt]:
    """The statements of a file in the order of its text; none where they are not known."""
    try:
        tree = parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return []
    found = [one for one in ast.walk(tree) if isinstance(one, ast.stmt)]
    return sorted(found, key=lambda one: (one.lineno, one.col_offset))


def _last(statement: ast.stmt) -> int:
    """The last line of a statement, or of the head of a compound one."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return max(statement.lineno, int(body[0].lineno) - 1)
    return statement.end_lineno or statement.lineno


def _shows(statement: ast.stmt, frame: FrameType) -> bool:
    """Return whether a statement is a call that prints or logs, whose result nobody takes."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    called = _resolved(statement.value.func, frame)
    if any(called is printer for printer in PRINTERS):
        return True
    module = getattr(getattr(called, "__func__", called), "__module__", None)
    return callable(called) and _package(module) in VIEWERS


def _resolved(name: ast.expr, frame: FrameType) -> Any:
    """The object that a dotted name is in `frame`; None for any other expression."""
    if isinstance(name, ast.Attribute):
        holder = _resolved(name.value, frame)
        return None if holder is None else getattr(holder, name.attr, None)
    if not isinstance(name, ast.Name):
        return None
    for space in (frame.f_locals, frame.f_globals):
        if name.id in space:
            return space[name.id]
    return getattr(builtins, name.id, None)


def _package(module: Any) -> str:
    return str(module or "").partition(".")[0]
