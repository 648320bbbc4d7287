"""Source position of an instruction: line, and column in UTF-8 bytes.

From Python 3.11 on code knows the expression of each instruction. Python 3.10 knows lines alone: to
tell statements on one line from each other, the file is compiled once more, each statement as if on
a line of its own, and the same code in it tells which statement each instruction is of.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from types import CodeType

from tracejit.support.parsing import parse

Position = tuple[int, int]


def positions(code: CodeType, lines: Sequence[str]) -> list[Position | None]:
    """For each instruction of `code`, which is in a file of these `lines`, a position inside its
    statement and inside no other that is inside of that; None where it is not known."""
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


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def _essence(code: CodeType) -> tuple[object, ...]:
    """The parts of a code object that do not depend on where its statements stand."""
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_name, code.co_code, *names
