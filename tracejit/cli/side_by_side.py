"""The user's code beside forward and backward, in columns of a terminal.

Each statement of the user's is a row; beside it stand the lines of forward and of backward that
come from it, as the comments in the module say. So backward is read from the bottom up. Where lines
of other statements run in between, as in a loop, three dots stand.
"""

from __future__ import annotations

import importlib
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Paint = Callable[[str], str]

_LABEL = re.compile(r"( *)# (\S+):(\d+)  (.*)")
_DEF = re.compile(r"def (\w+)\(")
GUTTER = " │ "
SHOWN = ("forward", "backward")
"""The functions of a module that have a column."""
IN_TURN = "in_turn"
BETWEEN = "⋮"
"""Between lines of one statement, where lines of others run."""


class Block(NamedTuple):
    """Lines of a generated function that come from one statement: `label`, such as loss:3, and its
    text. Both are empty for the lines before the first."""

    label: str
    text: str
    lines: list[str]


class UserCode(NamedTuple):
    """The lines of one function of the user's: `first` is the number of the first of them in its
    file, `def_line` that of its def."""

    name: str
    file: str
    first: int
    def_line: int
    lines: list[str]


def blocks_of(source: str, function: str) -> list[Block]:
    """The blocks of a function in the text of a module; none where it has no such function."""
    found: list[Block] = []
    is_inside = False
    for line in source.splitlines():
        if started := _DEF.match(line):
            is_inside = started[1] == function
            if is_inside:
                found.append(Block("", "", [line]))
        elif is_inside and line and not line.startswith(" "):
            is_inside = False
        elif is_inside and (comment := _LABEL.fullmatch(line)):
            found.append(Block(f"{comment[2]}:{comment[3]}", comment[4], []))
        elif is_inside and line.strip():
            found[-1].lines.append(line[4:] if found[-1].label else line)
    return found


def column_of(source: str, function: str) -> list[Block]:
    """The blocks of a function, and those of the tile functions that it runs."""
    found = blocks_of(source, function)
    text = "\n".join(line for block in found for line in block.lines)
    for name in functions_in(source):
        if name != IN_TURN and name not in SHOWN and re.search(rf"\b{name}\b", text):
            tiles = (block for block in blocks_of(source, name) if block.label)
            found += [tile._replace(lines=[f"# {name}", *tile.lines]) for tile in tiles]
    return found


def functions_in(source: str) -> list[str]:
    """The names of the functions in the text of a module."""
    return [found[1] for found in map(_DEF.match, source.splitlines()) if found]


def rows(
    code: UserCode | None, columns: Sequence[list[Block]]
) -> list[tuple[str, list[list[str]]]]:
    """The rows: the user's line, and the generated lines of each column beside it. After the lines
    of `code` come those of other functions that it calls."""
    by_label = [_by_label(blocks) for blocks in columns]
    found: list[tuple[str, list[list[str]]]] = []
    heads = [_taken(each, "") for each in by_label]
    if code is not None:
        for number, line in enumerate(code.lines, code.first):
            label = f"{code.name}:{number - code.def_line}"
            beside = [_taken(each, label) for each in by_label]
            if number == code.def_line:
                beside = [head + more for head, more in zip(heads, beside, strict=True)]
            found.append((f"{number:>4}  {line}", beside))
    elif any(heads):
        found.append(("", heads))
    texts = {b.label: b.text for blocks in columns for b in blocks}
    for label in texts:
        beside = [_taken(each, label) for each in by_label]
        if any(beside):
            found.append((f"{label}  {texts[label]}", beside))
    return found


def _by_label(blocks: Sequence[Block]) -> dict[str, list[str]]:
    lines: dict[str, list[str]] = {}
    for block in blocks:
        if block.lines:
            known = lines.setdefault(block.label, [])
            known += [*([BETWEEN] if known else []), *block.lines]
    return lines


def _taken(lines: dict[str, list[str]], label: str) -> list[str]:
    return lines.pop(label, [])


def table(
    headings: Sequence[str],
    found: Sequence[tuple[str, Sequence[Sequence[str]]]],
    width: int,
    paint: Paint | None = None,
) -> str:
    """The rows in columns of a terminal that is `width` wide; long lines go on in the next.

    >>> print(table(["user", "forward"], [("y = x", [["y = x.copy()"]])], 30))
    user          │ forward
    ──────────────┼──────────────
    y = x         │ y = x.copy()
    """
    count = len(headings)
    each = (width - 1 - len(GUTTER) * (count - 1)) // count
    plain: Paint = str
    lines = [_row(headings, each, plain), "─┼─".join("─" * each for _ in headings)]
    for left, others in found:
        cells = [_wrapped([left], each), *(_wrapped(lines, each) for lines in others)]
        for k in range(max(map(len, cells))):
            row = [cell[k] if k < len(cell) else "" for cell in cells]
            lines.append(_row(row, each, paint or plain))
    return "\n".join(lines)


def _row(cells: Sequence[str], width: int, paint: Paint) -> str:
    blanks = [" " * (width - len(cell)) for cell in cells[:-1]] + [""]
    painted = [paint(cell) + blank for cell, blank in zip(cells, blanks, strict=True)]
    return GUTTER.join(painted).rstrip()


def _wrapped(lines: Sequence[str], width: int) -> list[str]:
    """Lines of code in at most `width` columns; what is broken goes on deeper."""
    found: list[str] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        deeper = " " * min(indent + 4, width // 2)
        options: Mapping[str, Any] = {"subsequent_indent": deeper, "break_on_hyphens": False}
        broken = textwrap.wrap(
            line, width, drop_whitespace=True, replace_whitespace=False, **options
        )
        if broken and indent:  # textwrap keeps the first indent
            broken[0] = broken[0].rstrip()
        found += broken or [""]
    return found


def painter(language: str = "python") -> Paint | None:
    """A function that colours code for the terminal; None without the extra `cli`."""
    try:
        console_module: Any = importlib.import_module("rich.console")
        syntax_module: Any = importlib.import_module("rich.syntax")
    except ModuleNotFoundError:
        return None
    console = console_module.Console(force_terminal=True, highlight=False, soft_wrap=True)
    syntax = syntax_module.Syntax("", language, theme="ansi_dark", background_color="default")

    def paint(code: str) -> str:
        if not code.strip():
            return code
        with console.capture() as captured:
            text = syntax.highlight(code)
            text.rstrip()
            console.print(text, end="")
        return str(captured.get())

    return paint
