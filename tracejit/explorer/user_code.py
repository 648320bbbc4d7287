"""User code: the functions that a module was generated from, as far as they can be read.

A place in them is a statement, or an expression in one. Both have numbers, by which all parts of a
page refer to them. Where the file is at hand, whole functions are listed; where it is not, as for a
kernel that was loaded, the statements that the module cites.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import CodeType
from typing import Any, NamedTuple

from tracejit.explorer.highlight import Span, split_at_lines
from tracejit.ir.location import Location
from tracejit.support.parsing import parse
from tracejit.support.words import file_name, printable
from tracejit.trace.source.places import SourceFile, source_file
from tracejit.trace.source.positions import Extent, extent_of

NO_TEXT = "# the text of this line is not known"
Files = Mapping[Location, tuple[str, int]]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class CodeLine(NamedTuple):
    """A line of the user's: its number in the file or, where the file is not at hand, in the
    function; its text, the statement that it is part of, and the expressions in it."""

    number: int
    text: str
    statement: int | None
    spans: Sequence[Span] = ()


class Listing(NamedTuple):
    """Lines of the user's under a title, such as `train.py:12`; `whole` functions, or the cited
    statements of one."""

    title: str
    lines: list[CodeLine]
    whole: bool


def cited_as(where: Location) -> tuple[str, str]:
    """A location as a comment cites it: by the function's own name, without its note."""
    return where.short, printable(where.text)


class Numbers:
    """The numbers of the user's statements and expressions."""

    def __init__(self) -> None:
        """Begin with no place."""
        self.statements: dict[Location, int] = {}
        self.wheres: list[Location] = []
        self.expressions: dict[tuple[int, Extent], int] = {}
        self.inside: dict[int, int] = {}

    def statement(self, where: Location) -> int:
        """The number of the statement of a location."""
        key = where._replace(note="")
        if key not in self.statements:
            self.statements[key] = len(self.statements)
            self.wheres.append(where)
        return self.statements[key]

    def expression(self, where: Location) -> int | None:
        """The number of the expression of a location; None if only its statement is known."""
        extent = extent_of(where)
        if extent is None or extent.end_line - extent.line > where.text.count("\n") + 40:
            return None
        statement = self.statement(where)
        key = statement, extent
        number = self.expressions.setdefault(key, len(self.expressions))
        self.inside[number] = statement
        return number


def listings_of(numbers: Numbers, files: Files, root: CodeType | None = None) -> list[Listing]:
    """The functions of all numbered places, that of `root` first."""
    known: dict[str, dict[int, bool]] = {}
    cited: dict[str, list[int]] = {}
    lines: dict[tuple[str, int], list[int]] = {}
    places = {cited_as(where): file for where, file in files.items()}
    for number, where in enumerate(numbers.wheres):
        found = files.get(where._replace(note="")) or places.get(cited_as(where))
        if found is not None and _is_unchanged(where, *found):
            filename, line = found
            wanted = known.setdefault(filename, {})
            wanted[line] = wanted.get(line, False) or not where.function.endswith(".lambda")
            lines.setdefault(found, []).append(number)
        else:
            cited.setdefault(where.function.rpartition(".")[2], []).append(number)
    first: tuple[str, int] | None = None
    if root is not None and linecache.getlines(root.co_filename):
        first = root.co_filename, root.co_firstlineno
        is_whole = root.co_name != "<lambda>"
        known = {first[0]: {first[1]: is_whole} | known.pop(first[0], {}), **known}
    listings = [
        listing
        for filename, wanted in known.items()
        for listing in _functions(filename, wanted, lines, numbers)
    ]
    if first is not None:
        listings.sort(key=lambda one: not _begins(one, first))
    return [*listings, *(_cited(name, found, numbers) for name, found in cited.items())]


def _begins(listing: Listing, first: tuple[str, int]) -> bool:
    filename, line = first
    is_there = any(one.number == line for one in listing.lines)
    return is_there and listing.title.startswith(file_name(filename))


def _is_unchanged(where: Location, filename: str, line: int) -> bool:
    """Return whether the statement still stands at a line of a file."""
    if not 0 < line <= len(linecache.getlines(filename)):
        return False
    source = _source_of(filename)
    texts = [printable(source.line(line)), printable(source.text(line))]
    return printable(where.text) in texts or line in source.shared


def _source_of(filename: str) -> SourceFile:
    """The file as it is read now: that which was recorded may have been another."""
    known, lines = source_file(filename), linecache.getlines(filename)
    return known if known.lines == lines else SourceFile(lines)


def _functions(
    filename: str,
    wanted: Mapping[int, bool],
    lines: Mapping[tuple[str, int], list[int]],
    numbers: Numbers,
) -> Iterable[Listing]:
    """The functions of a file that these lines are in, each whole; of a lambda, whose lines are
    not wanted whole, the statement."""
    texts = [line.rstrip("\n") for line in linecache.getlines(filename)]
    extents: dict[int, list[tuple[int, Extent]]] = {}
    for (statement, extent), number in numbers.expressions.items():
        extents.setdefault(statement, []).append((number, extent))
    for block in _blocks(texts, wanted):
        owners: dict[int, int] = {}
        spans: dict[int, list[Span]] = {}
        for line in block:
            for statement in lines.get((filename, line), ()):
                stop = _end_of_header(filename, line)
                owners.update(dict.fromkeys(range(line, stop + 1), statement))
                for number, extent in extents.get(statement, ()):
                    if extent.end_line > max(stop, line):
                        continue  # of a whole loop
                    for at, start, end in split_at_lines(*extent, texts):
                        spans.setdefault(at, []).append(Span(start, end, f"data-e={number}"))
        yield Listing(
            f"{file_name(filename)}:{block.start}",
            [CodeLine(n, texts[n - 1], owners.get(n), spans.get(n, ())) for n in block],
            True,
        )


def _end_of_header(filename: str, line: int) -> int:
    """The last line of the statement at a line, without the body of a compound one."""
    node: Any = _source_of(filename).statement(line)
    if node is None:
        return line
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body:
        return int(node.end_lineno)
    return max(line, min(int(body[0].lineno), *(_decorators(body[0]))) - 1)


def _decorators(node: Any) -> list[int]:
    return [one.lineno for one in getattr(node, "decorator_list", ())] or [node.lineno]


def _blocks(texts: Sequence[str], wanted: Mapping[int, bool]) -> list[range]:
    """The functions around these lines, the innermost of each, or the statements, as it is wanted;
    one that stands inside another that is shown is shown with it."""
    try:
        tree: ast.AST = parse("\n".join(texts))
    except (SyntaxError, ValueError):
        tree = ast.Module([], [])
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    extents = [(range(min(_decorators(one)), (one.end_lineno or 0) + 1), one) for one in nodes]
    extents.sort(key=lambda one: len(one[0]))
    found: set[range] = set()
    for line, is_whole in wanted.items():
        around = [
            (extent, node)
            for extent, node in extents
            if line in extent and (not is_whole or isinstance(node, _FUNCTIONS))
        ] or [(extent, node) for extent, node in extents if line in extent]
        found.add(around[0][0] if around else range(line, line + 1))
    joined: list[range] = []
    for block in sorted(found, key=lambda one: (one.start, -one.stop)):
        if joined and block.start < joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(joined[-1].stop, block.stop))
        else:
            joined.append(block)
    return joined


def _cited(name: str, statements: Sequence[int], numbers: Numbers) -> Listing:
    """The statements of one function that a module cites, with gaps between."""
    rows = sorted((numbers.wheres[number].line, number) for number in statements)
    lines = []
    for (line, number), (following, _) in pairwise([*rows, (rows[-1][0] + 1, 0)]):
        lines.append(CodeLine(line, numbers.wheres[number].text or NO_TEXT, number))
        if following > line + 1:
            lines.append(CodeLine(0, "", None))
    return Listing(name, lines, False)
