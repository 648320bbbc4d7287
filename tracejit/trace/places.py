"""From a running frame to the user's statement: function, line within it, text; columns for errors.

Frames of tracejit and NumPy are skipped; everything else is the user's. A function's own lines are
parsed when its first operation is recorded; of a lambda it is the whole file. Where there is no
source text (exec without linecache), lines are known and texts empty.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import linecache
import os
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tracejit.errors import TracejitError, Where, without_frames
from tracejit.ir.graph import Location
from tracejit.parsing import parse

F = TypeVar("F", bound=Callable[..., Any])

TEXT_LIMIT = 76
PACKAGE = str(Path(__file__).parents[1]) + os.sep
OWN_FOLDERS = (PACKAGE, str(Path(np.__file__).parent) + os.sep)
_SCIPY = str(Path(np.__file__).parents[1] / "scipy") + os.sep
# The decorators of contextlib call what they decorate.
_INTERNAL_FOLDERS = (*OWN_FOLDERS, _SCIPY, contextlib.__file__)
_STORES = {dis.opmap.get(name) for name in ("STORE_SUBSCR", "STORE_SLICE")} - {None}
_USER_FILES = (str(Path(PACKAGE, "demo.py")),)
# Before Python 3.12 a comprehension has a frame of its own, a generator always has.
COMPREHENSIONS = frozenset(("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"))
_internal: dict[str, bool] = {}
# What was found out about lines, by code object; these are slow to compare and to hash.
_located: dict[int, _Located] = {}
LIMIT = 4096


def user_frame(skip: int = 1) -> FrameType | None:
    """The innermost frame that is none of tracejit, NumPy or SciPy; `skip` frames are known to be
    of these."""
    frame: FrameType | None = sys._getframe(skip)
    known = _internal.get
    while frame is not None and (known(frame.f_code.co_filename) or is_internal(frame)):
        frame = frame.f_back
    return frame


def assigned_elements() -> str:
    """The elements, such as `c[:, k]`, that the user's running instruction assigns to an array that
    is no Tensor; empty where it is no such assignment."""
    frame: FrameType | None = sys._getframe(1)
    user = user_frame()
    if user is None or user.f_code.co_code[user.f_lasti] not in _STORES:
        return ""
    while frame is not None and frame is not user:
        if frame.f_code.co_name == "__setitem__":
            return ""
        frame = frame.f_back
    line = where(user)
    found = "" if line is None or line.column is None else line.text[line.column : line.end_column]
    return found or "a[...]"


def only_calls(attribute: str) -> bool:
    """Whether the user's running statement names an attribute only to call it."""
    frame = user_frame()
    if frame is None:
        return False
    location(frame)
    source = _located[id(frame.f_code)].source
    statement = source.statements.get(frame.f_lineno)
    pattern = rf"\.{attribute}\b"
    if statement is None:
        return False
    # A statement may share its line with others, of which only the last is known.
    text = "".join(source.lines[statement.lineno - 1 : _header_end(statement)])
    nodes = [*ast.walk(statement)]
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    uses = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == attribute]
    follows = [text[found.end() :].lstrip()[:1] for found in re.finditer(pattern, text)]
    return bool(follows) and set(follows) == {"("} and all(use in called for use in uses)


def user_depth() -> int:
    """How many frames the user's line is above the function that asks, as `warnings.warn` counts
    them."""
    frame = sys._getframe(1)
    depth, user = 1, user_frame()
    while frame is not None and frame is not user and frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def is_internal(frame: FrameType) -> bool:
    """Whether a frame runs code of tracejit, NumPy or SciPy, or stands between these."""
    filename = frame.f_code.co_filename
    inside = _internal.get(filename)
    if inside is None:
        inside = filename.startswith(_INTERNAL_FOLDERS) and filename not in _USER_FILES
        _internal[filename] = inside
    return inside


class SourceFile:
    """The statements of one file, or of the function in it whose lines are `part`: the text at a
    line, and the def line of a function."""

    def __init__(self, lines: list[str], part: slice = slice(None)) -> None:
        """Parse `lines`; what does not parse has no statements."""
        self.lines = lines
        self.defs: dict[int, int] = {}
        self.statements: dict[int, ast.stmt] = {}
        text = "".join(lines[part])
        is_inside = part.start and text.startswith((" ", "\t"))
        if part.start:
            text = "\n" * (part.start - 1) + ("if 1:\n" if is_inside else "\n") + text
        try:
            tree = parse(text)
        except (SyntaxError, ValueError):
            return
        for node in _statements_in(tree.body[0] if is_inside else tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *(line.lineno for line in node.decorator_list)])
                self.defs[first] = node.lineno
            for line in range(node.lineno, _header_end(node) + 1):
                self.statements[line] = node

    def start(self, lineno: int) -> int:
        """The first line of the statement at a line; versions of Python name different ones."""
        node = self.statements.get(lineno)
        return lineno if node is None else node.lineno

    def text(self, lineno: int) -> str:
        """The statement at a line on one line, shortened to TEXT_LIMIT characters."""
        node = self.statements.get(lineno)
        if node is None:
            return self.line(lineno)
        end = _header_end(node)
        if end == node.lineno:
            line = self.lines[lineno - 1].encode()
            stop = node.end_col_offset if node.end_lineno == end else None
            text = line[node.col_offset : stop].decode().strip()
        else:
            text = ast.unparse(node).partition("\n")[0]
        return _shortened(text)

    def line(self, lineno: int) -> str:
        """A line alone, shortened likewise."""
        return _shortened(self.lines[lineno - 1].strip()) if 0 < lineno <= len(self.lines) else ""


class _Located(NamedTuple):
    """What is known of one code object: its lines, and the places found in them."""

    code: CodeType
    source: SourceFile
    places: dict[tuple[int, str], tuple[Location, tuple[str, int]]]


def _statements_in(block: ast.AST) -> list[ast.stmt]:
    """The statements of `block`, each before those inside it."""
    found = [block]
    for outer in found:
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            found += getattr(outer, name, ())
    return [each for each in found[1:] if isinstance(each, ast.stmt)]


def _shortened(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 4].rstrip() + " ..."


def _header_end(node: ast.stmt) -> int:
    """The last line of a statement, without the body of a compound one."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        return max(node.lineno, int(body[0].lineno) - 1)
    return int(node.end_lineno or node.lineno)


@lru_cache(256)
def source_file(filename: str) -> SourceFile:
    """The parsed file called `filename`, from disk or linecache."""
    return SourceFile(linecache.getlines(filename))


def source_of(code: CodeType) -> SourceFile:
    """The file of `code`; of a function the part of it that is the function.

    That part begins with the function and ends before a line that is not indented further. Where
    such a line is inside brackets or a string, what stands before it does not parse.
    """
    lines, first = linecache.getlines(code.co_filename), code.co_firstlineno
    if code.co_name.isidentifier() and 0 < first <= len(lines):
        margin = _margin(lines[first - 1])
        stop = max(line or first for _, _, line in code.co_lines())
        while stop < len(lines) and (not lines[stop].strip() or _margin(lines[stop]) > margin):
            stop += 1
        source = SourceFile(lines, slice(first - 1, stop))
        if first in source.defs:
            return source
    return source_file(code.co_filename)


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _location(
    code: CodeType, source: SourceFile, module: str, lineno: int
) -> tuple[Location, tuple[str, int]]:
    filename = code.co_filename
    first = source.defs.get(code.co_firstlineno, code.co_firstlineno)
    function = code.co_name.strip("<>")
    start = source.start(lineno)
    if start < first:  # a lambda some lines into a statement
        start, text = lineno, source.line(lineno)
    else:
        text = source.text(lineno)
    return Location(f"{module}.{function}", start - first, text), (filename, start)


def location(frame: FrameType) -> tuple[Location, tuple[str, int]]:
    """Where `frame` is: its location, and the file and line in it."""
    while frame.f_code.co_name in COMPREHENSIONS and frame.f_back is not None:
        if frame.f_code not in frame.f_back.f_code.co_consts:
            break
        frame = frame.f_back
    code = frame.f_code
    known = _located.get(id(code))
    if known is None or known.code is not code:
        if len(_located) >= LIMIT:
            _located.clear()
        known = _located[id(code)] = _Located(code, source_of(code), {})
    place = frame.f_lineno, frame.f_globals.get("__name__", "__main__")
    found = known.places.get(place)
    if found is None:
        found = known.places[place] = _location(code, known.source, place[1], place[0])
    return found


def where(frame: FrameType | None) -> Where | None:
    """The line `frame` is at, with the columns of the running expression where Python knows
    them."""
    if frame is None:
        return None
    filename, lineno = frame.f_code.co_filename, frame.f_lineno
    lines = linecache.getlines(filename)
    text = lines[lineno - 1].rstrip("\n") if 0 < lineno <= len(lines) else ""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None or not text:
        return Where(filename, lineno, text)
    start, end, column, end_column = list(positions())[frame.f_lasti // 2]
    if start != lineno or end != lineno or column is None:
        return Where(filename, lineno, text)
    # Python counts the bytes of UTF-8.
    line = text.encode()
    start, end = (len(line[:offset].decode(errors="ignore")) for offset in (column, end_column))
    return Where(filename, lineno, text, start, end)


def at_the_users_line(function: F) -> F:
    """`function`, whose errors show no frame of tracejit but the one that Python adds itself."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TracejitError as error:
            raise without_frames(error, PACKAGE) from None

    return called  # type: ignore[return-value]


def here() -> Where | None:
    """The user's running line."""
    return where(user_frame())


def where_of(place: Location | None, files: dict[Location, tuple[str, int]]) -> Where | None:
    """The absolute line of a recorded location."""
    found = None if place is None else files.get(place._replace(note=""))
    return None if place is None or found is None else Where(*found, place.text)


def name_of_array(array: np.ndarray) -> str:
    """The name that a local variable of the running function has for an array like this one."""
    frame = user_frame()
    for name, local in (frame.f_locals if frame is not None else {}).items():
        if type(local) is np.ndarray and local.shape == array.shape and local.dtype == array.dtype:
            if local.tobytes() == array.tobytes():
                return name
    return "an array"
