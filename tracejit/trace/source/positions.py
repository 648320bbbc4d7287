"""Source position of an instruction: line, and column in UTF-8 bytes.

From Python 3.11 on code knows the expression of each instruction. Python 3.10 knows lines alone: to
tell statements on one line from each other, the file is compiled once more, each statement as if on
a line of its own, and the same code in it tells which statement each instruction is of.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from tracejit.ir.location import ExpressionLocation, Location
from tracejit.support.parsing import parse

Position = tuple[int, int]


def positions(code: CodeType, lines: Sequence[str]) -> list[Position | None]:
    """For each instruction of `code`, which is in a file of these `lines`, a position inside its
    statement and inside no other that is inside of that; None if it is not known."""
    if sys.version_info >= (3, 11):
        return [
            None if line is None or column is None else (line, column)
            for line, _, column, _ in code.co_positions()
        ]
    return beginnings(code, lines)


def beginnings(code: CodeType, lines: Sequence[str]) -> list[Position | None]:
    """For each instruction where its statement begins, from the text alone; none where the text
    makes other code, or the same code twice.

    >>> code = compile("a = 1; b = a + 1", "<doctest>", "exec")
    >>> sorted({place for place in beginnings(code, ["a = 1; b = a + 1"]) if place})
    [(1, 0), (1, 7)]
    """
    try:
        tree = parse("".join(lines))
    except (SyntaxError, ValueError):
        return []
    places: list[Position] = [(0, 0)]
    lines_of = [range(0)]
    pending: list[tuple[ast.AST, int]] = [(tree, 0)]
    while pending:
        node, number = pending.pop()
        if isinstance(node, ast.stmt):
            number = len(places)
            places.append((node.lineno, node.col_offset))
            first = min([node.lineno, *[x.lineno for x in getattr(node, "decorator_list", ())]])
            lines_of.append(range(first, (node.end_lineno or node.lineno) + 1))
        pending += [(child, number) for child in ast.iter_child_nodes(node)]
        if "lineno" in node._attributes:
            vars(node).update(lineno=number, end_lineno=number, col_offset=0, end_col_offset=0)
    whole = compile(tree, code.co_filename, "exec", dont_inherit=True)
    found: list[list[Position | None]] = []
    for other in _codes_in(whole):
        is_there = other is whole or code.co_firstlineno in lines_of[other.co_firstlineno]
        if is_there and _essence(other) == _essence(code):
            made: list[Position | None] = [None] * (len(code.co_code) // 2)
            for start, stop, line in other.co_lines():
                if line:
                    made[start // 2 : stop // 2] = [places[line]] * (stop // 2 - start // 2)
            found.append(made)
    return found[0] if found and all(one == found[0] for one in found) else []


class Extent(NamedTuple):
    """The first and last line of an expression, and the columns, counted in characters, where it
    begins and ends."""

    line: int
    column: int
    end_line: int
    end_column: int


def extent_of(place: Location | None) -> Extent | None:
    """The running expression of a recorded location; None if Python does not know its columns
    (before 3.11), or its code is gone."""
    code = place.code() if isinstance(place, ExpressionLocation) else None
    if code is None or not isinstance(place, ExpressionLocation):
        return None
    found = _extents(code)
    return found[place.instruction // 2] if found else None


@functools.lru_cache(64)
def _extents(code: CodeType) -> list[Extent | None]:
    """The expression of each instruction; none before Python 3.11."""
    lines = linecache.getlines(code.co_filename)
    known: Any = getattr(code, "co_positions", tuple)
    return [_extent(lines, *position) for position in known()]


def _extent(
    lines: list[str], line: int | None, end_line: int | None, start: int | None, stop: int | None
) -> Extent | None:
    if line is None or end_line is None or start is None or stop is None:
        return None
    if not 0 < line <= end_line <= len(lines):
        return None
    column, end_column = _column(lines[line - 1], start), _column(lines[end_line - 1], stop)
    return Extent(line, column, end_line, end_column)


def _column(line: str, offset: int) -> int:
    """The column at an offset in the bytes of UTF-8, which Python counts."""
    return len(line.encode(errors="surrogatepass")[:offset].decode(errors="ignore"))


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def _essence(code: CodeType) -> tuple[object, ...]:
    """The parts of a code object that do not depend on where its statements stand."""
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_name, code.co_code, *names
