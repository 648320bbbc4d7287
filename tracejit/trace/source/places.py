"""Source locations: the user's statement of a running frame, with its function, line and columns.

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
import weakref
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tracejit.ir.location import ExpressionLocation, Location, Origin
from tracejit.support.errors import TracejitError, Where, fail, without_frames
from tracejit.support.options import unknown_option
from tracejit.support.parsing import parse
from tracejit.support.words import file_name
from tracejit.trace.source.files import is_library, shown_file
from tracejit.trace.source.positions import Position, positions

F = TypeVar("F", bound=Callable[..., Any])

TEXT_LIMIT = 76
EXPRESSION_LIMIT = 72
PACKAGE = str(Path(__file__).parents[2]) + os.sep
OWN_FOLDERS = (PACKAGE, str(Path(np.__file__).parent) + os.sep)
_IN_PLACE_OF_NUMPY = tuple(
    str(Path(PACKAGE, name))
    for name in (
        "trace/convert",
        "trace/tensor",
        "trace/reads/rules.py",
        "trace/recording/decisions.py",
        "api/arrays.py",
    )
)
_CALLS_IN_BETWEEN = tuple(str(Path(PACKAGE, name)) + os.sep for name in ("convert", "trace"))
_RECORDS = str(Path(PACKAGE, "specialise")) + os.sep
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
    while frame is not None:
        inside = known(frame.f_code.co_filename)
        if inside is None:
            inside = is_internal(frame)
        if not inside:
            return frame
        frame = frame.f_back
    return None


def frame_that_raised(error: BaseException) -> FrameType | None:
    """The innermost frame that `error` went through; None before it is raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace is None else trace.tb_frame


def is_ours(error: BaseException) -> bool:
    """Return whether code of tracejit has raised `error`."""
    frame = frame_that_raised(error)
    return frame is None or frame.f_code.co_filename.startswith(PACKAGE)


def stands_for_numpys(error: BaseException) -> bool:
    """Return whether code that stands for a call of the user's, of NumPy or Python, has raised
    `error`."""
    frame, trace = frame_that_raised(error), error.__traceback__
    if frame is None or not frame.f_code.co_filename.startswith(_IN_PLACE_OF_NUMPY):
        return False
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(PACKAGE):
        trace = trace.tb_next
    return trace is not None


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


def called() -> tuple[str, str]:
    """The name that the user's running line calls, as it is written there, and its arguments in
    brackets; empty where it is not a name."""
    line = where(user_frame())
    text = "" if line is None or line.column is None else line.text[line.column : line.end_column]
    name, bracket, rest = text.partition("(")
    return (name, bracket + rest) if name.replace(".", "").isidentifier() and bracket else ("", "")


def only_calls(attribute: str) -> bool:
    """Return whether the user's running statement names an attribute only to call it."""
    frame = user_frame()
    if frame is None:
        return False
    location(frame)
    known = _located[id(frame.f_code)]
    source = known.source
    statement = source.statement(frame.f_lineno, known.position(frame.f_lasti))
    if statement is None:
        return False
    # The body of a compound statement is walked, too, but not among these lines.
    text = "".join(source.lines[statement.lineno - 1 : source._header_end(statement)])
    nodes = [*ast.walk(statement)]
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    uses = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == attribute]
    follows = [text[one.end() :].lstrip()[:1] for one in re.finditer(rf"\.{attribute}\b", text)]
    return bool(follows) and set(follows) == {"("} and all(use in called for use in uses)


def expressions() -> list[ast.AST]:
    """The user's running expression and those around it, innermost first, its statement last; all
    of the statement where Python does not know the expression (before 3.11). Empty where there is
    no source."""
    frame = user_frame()
    if frame is None:
        return []
    known = _Located(frame.f_code)
    statement = known.source.statement(frame.f_lineno, known.position(frame.f_lasti))
    if statement is None:
        return []
    nodes = [node for node in ast.walk(statement) if hasattr(node, "lineno")]
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:
        return nodes[::-1]
    line, end_line, column, end_column = [*positions()][frame.f_lasti // 2]
    if None in (line, end_line, column, end_column):
        return nodes[::-1]
    around = [
        node
        for node in nodes
        if _begin(node) <= (line, column) and (end_line, end_column) <= _end(node)
    ]
    return around[::-1]


def written(*kinds: type[ast.AST]) -> str:
    """The user's running expression as it is written, if it is of these kinds and not too long;
    else empty."""
    nodes, line = expressions(), where(user_frame())
    if not nodes or not isinstance(nodes[0], kinds) or line is None:
        return ""
    running: Any = nodes[0]
    is_on_one = running.lineno == running.end_lineno and line.column is not None
    text = line.text[line.column : line.end_column] if is_on_one else ast.unparse(running)
    return text if len(text) <= EXPRESSION_LIMIT else ""


def calls_recorded() -> bool:
    """Return whether the user's running line calls what is recorded, and is not a part of it."""
    frame, user = sys._getframe(1), user_frame()
    while frame is not user and frame.f_back is not None:
        if frame.f_code.co_filename.startswith(_RECORDS):
            return True
        frame = frame.f_back
    return False


def named(name: str) -> Any:
    """The object that the user's running line means by a name, with dots in it or not; None if
    it is not known."""
    frame = user_frame()
    first, *words = name.split(".")
    spaces = () if frame is None else (frame.f_locals, frame.f_globals, frame.f_builtins)
    found = next((space[first] for space in spaces if first in space), None)
    for word in words:
        found = getattr(found, word, None)
    return found


def operand(thing: Any) -> str:
    """The operand or argument of the user's running expression that is `thing`, as it is written: a
    constant, a variable, or a part of a variable of the same library's; empty for another."""
    nodes = expressions()
    if not nodes:
        return ""
    for node in ast.iter_child_nodes(nodes[0]):
        root: Any = node
        while isinstance(root, (ast.Subscript, ast.Attribute)):
            root = root.value
        if isinstance(root, ast.Constant) and (type(root.value), root.value) == (
            type(thing),
            thing,
        ):
            return ast.unparse(node)
        if not isinstance(root, ast.Name):
            continue
        known = named(root.id)
        is_part = root is not node and _library_of(known) == _library_of(thing) != "builtins"
        if is_part or (root is node and known is thing):
            return ast.unparse(node)
    return ""


def _library_of(thing: Any) -> str:
    return str(type(thing).__module__).partition(".")[0]


def updated() -> tuple[str, str]:
    """The user's running `a += b`, and `a = a + b` where it is a name; empty where it is none."""
    node = next(iter(expressions()[-1:]), None)
    if not isinstance(node, ast.AugAssign):
        return "", ""
    if not isinstance(node.target, ast.Name):
        return ast.unparse(node), ""
    result = ast.BinOp(ast.Name(node.target.id), node.op, node.value)
    return ast.unparse(node), f"{node.target.id} = {ast.unparse(result)}"


def user_depth() -> int:
    """The number of frames from the function that asks up to the user's line, as `warnings.warn`
    counts them."""
    frame = sys._getframe(1)
    depth, user = 1, user_frame()
    while frame is not None and frame is not user and frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def is_internal(frame: FrameType) -> bool:
    """Return whether a frame runs code of tracejit, NumPy or SciPy, or stands between these."""
    filename = frame.f_code.co_filename
    inside = _internal.get(filename)
    if inside is None:
        inside = filename.startswith(_INTERNAL_FOLDERS) and filename not in _USER_FILES
        _internal[filename] = inside
    return inside


class SourceFile:
    """The statements of one file, or of the function in it whose lines are `part`: the one at a
    line and column, its text, and the def line of a function.

    A line that several statements have in common is in `shared`, with these, each before those
    inside it.
    """

    def __init__(self, lines: list[str], part: slice = slice(None)) -> None:
        """Parse `lines`; what does not parse has no statements."""
        self.lines = lines
        self.defs: dict[int, int] = {}
        self.statements: dict[int, ast.stmt] = {}
        self.shared: dict[int, list[ast.stmt]] = {}
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
            for line in range(node.lineno, self._header_end(node) + 1):
                if line in self.statements:
                    self.shared.setdefault(line, [self.statements[line]]).append(node)
                self.statements[line] = node

    def statement(self, lineno: int, place: Position | None = None) -> ast.stmt | None:
        """The statement at a line, of several the innermost at this place; None if that is not
        known."""
        several = self.shared.get(lineno)
        if several is None:
            return self.statements.get(lineno)
        if place is None:
            return None
        around = [node for node in several if _begin(node) <= place < _end(node)]
        return around[-1] if around else None

    def start(self, lineno: int, place: Position | None = None) -> int:
        """The first line of the statement at a line; versions of Python name different ones."""
        node = self.statement(lineno, place)
        return lineno if node is None else node.lineno

    def text(self, lineno: int, place: Position | None = None) -> str:
        """The statement at a line on one line, without the body of a compound one, shortened to
        TEXT_LIMIT characters; the line itself where the statement is not known."""
        node = self.statement(lineno, place)
        if node is None:
            return self.line(lineno)
        end = self._header_end(node)
        if end > node.lineno:
            return _shortened(ast.unparse(node).partition("\n")[0])
        first = _first_inside(node)
        if first is not None and first.lineno == end:
            stop: int | None = first.col_offset
        else:
            stop = node.end_col_offset if node.end_lineno == end else None
        return _shortened(self._bytes(end)[node.col_offset : stop].decode().strip())

    def line(self, lineno: int) -> str:
        """A line alone, shortened likewise."""
        return _shortened(self.lines[lineno - 1].strip()) if 0 < lineno <= len(self.lines) else ""

    def _bytes(self, lineno: int) -> bytes:
        """A line as the parser counts its columns."""
        return self.lines[lineno - 1].encode() if lineno <= len(self.lines) else b""

    def _header_end(self, node: ast.stmt) -> int:
        """The last line of a statement, without the body of a compound one."""
        first = _first_inside(node)
        if first is None:
            return int(node.end_lineno or node.lineno)
        is_behind = self._bytes(first.lineno)[: first.col_offset].strip()
        return max(node.lineno, int(first.lineno) - (not is_behind))


class _Located:
    """A code object with its lines, the places found in them, and the position of each
    instruction."""

    def __init__(self, code: CodeType) -> None:
        """Begin with no place found."""
        self.code = code
        self.source = source_of(code)
        self.statements: dict[tuple[Any, ...], tuple[Location, tuple[str, int]]] = {}
        self.expressions: dict[tuple[Any, ...], Found] = {}
        self._positions: list[Position | None] | None = None

    def position(self, instruction: int) -> Position | None:
        """The position of an instruction, by its offset."""
        if self._positions is None:
            self._positions = positions(self.code, self.source.lines)
        return self._positions[instruction // 2] if self._positions else None


def _statements_in(block: ast.AST) -> list[ast.stmt]:
    """The statements of `block`, each before those inside it."""
    found = [block]
    for outer in found:
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            found += getattr(outer, name, ())
    return [each for each in found[1:] if isinstance(each, ast.stmt)]


def _shortened(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 4].rstrip() + " ..."


def _first_inside(node: ast.stmt) -> Any:
    """The first node in the body of a compound statement; None for another statement."""
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body:
        return None
    return min([body[0], *getattr(body[0], "decorator_list", ())], key=_begin)


def _begin(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


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
    code: CodeType, source: SourceFile, module: str, lineno: int, place: Position | None
) -> tuple[Location, tuple[str, int]]:
    """A place in `code`. Lines count from the one after the `def`, or from the first where the body
    begins there: of a lambda, and of a file."""
    filename = code.co_filename
    first = source.defs.get(code.co_firstlineno, code.co_firstlineno)
    function = code.co_name.strip("<>")
    start = source.start(lineno, place)
    if start < first:  # a lambda some lines into a statement
        start, text = lineno, source.line(lineno)
    else:
        text = source.text(lineno, place)
    if code.co_name == "<module>":
        line = start
    elif code.co_name == "<lambda>":
        line = start - first + 1
    else:
        line = max(1, start - first)
    return Location(f"{module}.{function}", line, text), (filename, start)


class Found(NamedTuple):
    """The location of a frame, the file and the line in it at which its statement begins, and its
    running line."""

    location: Location
    file: tuple[str, int]
    lineno: int


def location(frame: FrameType) -> Found:
    """The place of `frame`, found once for each instruction: Python counts lines from the first of
    a function."""
    running = frame
    while frame.f_code.co_name in COMPREHENSIONS and frame.f_back is not None:
        if frame.f_code not in frame.f_back.f_code.co_consts:
            break
        frame = frame.f_back
    code = frame.f_code
    known = _located.get(id(code))
    if known is None or known.code is not code:
        if len(_located) >= LIMIT:
            _located.clear()
        known = _located[id(code)] = _Located(code)
    module = frame.f_globals.get("__name__")
    module = module if type(module) is str else "__main__"
    inner = None if running is frame else (id(running.f_code), running.f_lasti)
    key = frame.f_lasti, module, inner
    found = known.expressions.get(key)
    if found is None:
        place, file = _statement(known, frame, module)
        expression = ExpressionLocation.of(place, weakref.ref(running.f_code), running.f_lasti)
        found = known.expressions[key] = Found(expression, file, running.f_lineno)
    return found


def _statement(known: _Located, frame: FrameType, module: str) -> tuple[Location, tuple[str, int]]:
    """The location of the statement of `frame`, whose code is `known`, and its file and line."""
    lineno = frame.f_lineno
    is_shared = lineno in known.source.shared
    key = lineno, module, known.position(frame.f_lasti) if is_shared else None
    found = known.statements.get(key)
    if found is None:
        found = _location(known.code, known.source, module, lineno, key[2])
        known.statements[key] = found
    return found


def where(frame: FrameType | None) -> Where | None:
    """The line `frame` is at, with the columns of the running expression where Python knows
    them: of one that goes on for some lines, those of its first."""
    if frame is None:
        return None
    filename, lineno = frame.f_code.co_filename, frame.f_lineno
    positions = getattr(frame.f_code, "co_positions", None)
    found = list(positions())[frame.f_lasti // 2] if positions is not None else (None,) * 4
    start, end, column, end_column = found
    if start is not None:
        lineno = start
    lines = linecache.getlines(filename)
    text = lines[lineno - 1].rstrip("\n") if 0 < lineno <= len(lines) else ""
    if column is None or not text:
        return Where(filename, lineno, text)
    # Python counts the bytes of UTF-8.
    line = text.encode(errors="surrogatepass")
    stop = end_column if end == start else len(line.rstrip())
    begin, stop = (len(line[:offset].decode(errors="ignore")) for offset in (column, stop))
    return Where(filename, lineno, text, begin, stop)


def at_the_users_line(function: F) -> F:
    """`function`, whose errors show no frame of tracejit but the one that Python adds itself."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TracejitError as error:
            raise without_frames(error, PACKAGE) from None
        except TypeError as error:
            if (words := unknown_option(function, kwargs, error)) is not None:
                raise fail("option", here(), **words) from None
            raise

    return called  # type: ignore[return-value]


def here() -> Where | None:
    """The user's running line; where a library runs for it, the library's line behind that."""
    frame = user_frame()
    own = _own_frame(frame)
    found = where(own)
    return found if found is None or own is frame else found._replace(behind=where(frame))


def library_behind(where: Where | None) -> str:
    """The package whose code runs for the user's line; empty where there is none."""
    frame = user_frame()
    if where is None or where.behind is None or frame is None:
        return ""
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _own_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside of libraries that has led to `frame`. Where the recorded function
    is a library's, it is the innermost one in its file."""
    passed, outer = [], frame
    while outer is not None:
        filename = outer.f_code.co_filename
        is_ours = filename.startswith(PACKAGE) and is_internal(outer)
        if is_ours and not filename.startswith(_CALLS_IN_BETWEEN):
            break
        if not is_ours and not is_library(filename):
            return outer
        passed += [] if is_ours else [outer]
        outer = outer.f_back
    file = passed[-1].f_code.co_filename if outer is not None and passed else None
    return next((one for one in passed if one.f_code.co_filename == file), frame)


def line() -> str:
    """The user's running line, in a word."""
    found = here()
    return "no line" if found is None else f"{file_name(found.filename)}:{found.lineno}"


def origin_at(place: Location, files: dict[Location, tuple[str, int]]) -> Origin:
    """The function that a recorded location is in."""
    known = files.get(place._replace(note=""))
    module = place.function.rpartition(".")[0]
    if known is None:
        return Origin(place.function)
    filename, line = known
    return Origin(place.function, shown_file(filename, module), f"{file_name(filename)}:{line}")


def where_of(place: Location | None, files: dict[Location, tuple[str, int]]) -> Where | None:
    """The absolute line of a recorded location."""
    found = None if place is None else files.get(place._replace(note=""))
    return None if place is None or found is None else Where(*found, place.text)
