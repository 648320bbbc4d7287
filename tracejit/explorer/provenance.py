"""Provenance: the place in the user's code that each statement and expression of a module is from.

A kernel that has its graph is generated once more with marks (`text/marks.py`), and its syntax
tree compared with that of its text: each mark tells the node of the expression that stands there in
the text. Of a kernel that was loaded as text, the comments tell the statement of each line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tracejit.ir.graph import Node
from tracejit.ir.location import Location
from tracejit.support.parsing import parse
from tracejit.text.marks import PREFIX

_CITED = re.compile(r"( +)# (.+?):(\d+)(?:  (.*?))?(?:    \[(.*)\])?")
_DIGITS = re.compile(r"\d+")
_FUNCTION = re.compile(r"def (\w+)\(")


class Piece(NamedTuple):
    """A part of a module's text, from one line and column to another, that is of a place in the
    user's code. Lines count from 1, columns are characters. `node` is what is computed there, if
    that is known; of several pieces those inside another come after it."""

    line: int
    column: int
    end_line: int
    end_column: int
    where: Location
    node: Node | None = None


class Provenance(NamedTuple):
    """The pieces of a module. They are `exact` where they were found in a graph."""

    pieces: list[Piece]
    exact: bool


class Mismatch(Exception):
    """The two texts are not of one module."""


def provenance_of(text: str, marked: tuple[str, Sequence[Node]] | None) -> Provenance:
    """The provenance of a module with this text; `marked` is the same with marks, and the nodes
    that they number.

    >>> text = "def forward(x):\\n    # f:1  y = x**2\\n    y = x * x\\n    return y\\n"
    >>> [piece[:5] for piece in provenance_of(text, None).pieces]
    [(3, 4, 3, 13, Location(function='f', line=1, text='y = x**2', note=''))]
    """
    if marked is not None:
        try:
            return Provenance(list(_Marks(text, *marked).pieces()), True)
        except Mismatch:
            pass  # its text is of another version: the comments tell less, and are right
    return Provenance(list(cited_pieces(text)), False)


def cited_pieces(text: str) -> Iterator[Piece]:
    """A piece for each line of a function that follows a comment with the user's line."""
    cited: tuple[int, Location] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        found = _CITED.fullmatch(line)
        if found is not None:
            margin, function, at, statement, note = found.groups("")
            cited = len(margin), Location(function, int(at), statement, note)
            continue
        indent = len(line) - len(line.lstrip(" "))
        ends = not line or (cited is not None and indent < cited[0])
        if cited is None or ends or line.startswith("return ", indent):
            cited = None
        else:
            yield Piece(number, indent, number, len(line), cited[1])


def functions_of(text: str) -> dict[str, range]:
    """The lines of each function of a module, in order.

    >>> functions_of("import numpy\\n\\n\\ndef forward(x):\\n    return x\\n# end\\n")
    {'forward': range(4, 6)}
    """
    lines = text.split("\n")
    found: dict[str, range] = {}
    for number, line in enumerate(lines):
        match = _FUNCTION.match(line)
        if match is not None:
            stop = number + 1
            while stop < len(lines) and (not lines[stop] or lines[stop][0] in " )"):
                stop += 1
            while not lines[stop - 1]:
                stop -= 1
            found[match[1]] = range(number + 1, stop + 1)
    return found


class _Marks:
    """The syntax trees of a text and of the same text with marks, gone through side by side."""

    def __init__(self, text: str, marked: str, nodes: Sequence[Node]) -> None:
        self._lines = text.split("\n")
        self._ascii = text.isascii()
        self._nodes = nodes
        self._plain, self._marked = parse(text), parse(marked)

    def pieces(self) -> Iterator[Piece]:
        """Every piece. Raises Mismatch if the trees differ by more than marks."""
        pairs = zip(_functions(self._plain), _functions(self._marked), strict=False)
        if len([*_functions(self._plain)]) != len([*_functions(self._marked)]):
            raise Mismatch
        for plain, marked in pairs:
            if plain.name != marked.name:
                raise Mismatch
            yield from self._block(plain.body, marked.body, None)

    def _block(
        self, plain: Sequence[ast.stmt], marked: Sequence[ast.stmt], node: Node | None
    ) -> Iterator[Piece]:
        """The pieces of statements, the first of which is of `node`."""
        left = iter(plain)
        for statement in marked:
            number = _number_of(statement.value) if isinstance(statement, ast.Expr) else None
            if number is not None:
                node = self._nodes[number]
                continue
            one = next(left, None)
            if type(one) is not type(statement):
                raise Mismatch
            yield from self._statement(one, statement, node)
        if next(left, None) is not None and not (
            all(isinstance(one, ast.Pass) for one in plain) and plain
        ):
            raise Mismatch

    def _statement(self, plain: Any, marked: Any, node: Node | None) -> Iterator[Piece]:
        end = _end_of_head(plain)
        if end is not None and node is not None and node.where is not None:
            yield self._piece(plain, end, node)
        for name in plain._fields:
            one, other = getattr(plain, name), getattr(marked, name)
            if name in ("body", "orelse", "finalbody"):
                yield from self._block(one, other, node)
            elif name == "handlers":
                for handler, its in zip(one, other, strict=True):
                    yield from self._block(handler.body, its.body, node)
            else:
                yield from self._part(one, other)

    def _part(self, plain: Any, marked: Any) -> Iterator[Piece]:
        """The pieces inside of an expression, or of several."""
        if isinstance(plain, list):
            if not isinstance(marked, list) or len(plain) != len(marked):
                raise Mismatch
            for one, other in zip(plain, marked, strict=True):
                yield from self._part(one, other)
            return
        number = _number_of(marked.func) if isinstance(marked, ast.Call) else None
        if number is not None:
            node = self._nodes[number]
            if node.where is not None:
                yield self._piece(plain, plain, node)
            yield from self._part(plain, marked.args[0])
            return
        if type(plain) is not type(marked):
            raise Mismatch
        if not isinstance(plain, ast.AST):
            # Constants may have other numbers in their names when a module is generated once more.
            if _DIGITS.sub("", repr(plain)) != _DIGITS.sub("", repr(marked)):
                raise Mismatch
            return
        for name in plain._fields:
            yield from self._part(getattr(plain, name), getattr(marked, name))

    def _piece(self, first: Any, last: Any, node: Node) -> Piece:
        assert node.where is not None
        return Piece(
            first.lineno,
            self._column(first.lineno, first.col_offset),
            last.end_lineno,
            self._column(last.end_lineno, last.end_col_offset),
            node.where,
            node,
        )

    def _column(self, line: int, offset: int) -> int:
        if self._ascii:
            return offset
        return len(self._lines[line - 1].encode()[:offset].decode())


def _end_of_head(statement: Any) -> Any:
    """The part with which a statement ends, or the head of one that has a body; None if none of
    it is computed for a node."""
    match statement:
        case ast.Delete() | ast.Return() | ast.Try():
            return None
        case ast.For():
            return statement.iter
        case ast.If() | ast.While():
            return statement.test
        case ast.With():
            return statement.items[-1].context_expr
    return statement


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield statement


def _number_of(name: ast.expr) -> int | None:
    """The number in a mark; None for anything else."""
    if isinstance(name, ast.Name) and name.id.startswith(PREFIX):
        return int(name.id[len(PREFIX) :])
    return None
