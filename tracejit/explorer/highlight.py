"""Highlighting: lines of Python as HTML, with elements around parts of them.

Every character of the code is escaped here and nowhere else. A character that is not seen, or that
turns around what follows, is shown as a replacement character: what is read is what is there.
"""

from __future__ import annotations

import html
import io
import keyword
import token
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_KEYWORDS = frozenset(keyword.kwlist)
_CONSTANTS = frozenset(("True", "False", "None"))
_STRINGS = frozenset(
    kind
    for name in ("STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
    if (kind := getattr(token, name, None)) is not None
)


class Span(NamedTuple):
    """A part of a line, from one column to another, and the attributes of its element. Of those
    that overlap one is inside the other, and comes later where both are the same."""

    start: int
    stop: int
    attributes: str


def escaped(text: object) -> str:
    """Text as it stands in HTML, in an element or in an attribute.

    >>> escaped("</script> \\u202e'")
    '&lt;/script&gt; \\ufffd&#x27;'
    """
    shown = str(text)
    if not shown.isprintable():
        shown = "".join(
            one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}"
            for one in shown
        )
    return html.escape(shown)


def highlighted(
    lines: Sequence[str], spans: Mapping[int, Sequence[Span]] | None = None
) -> list[str]:
    """Each line as HTML; `spans` are the elements in a line, by its index.

    >>> highlighted(["return x"])
    ['<b>return</b> x']
    >>> highlighted(["x * x"], {0: [Span(0, 5, "data-e=1")]})
    ['<span data-e=1>x * x</span>']
    """
    words = _words(lines)
    given = spans or {}
    return [
        _line(line, words.get(number, ()), sorted(given.get(number, ()), key=_outermost_first))
        for number, line in enumerate(lines)
    ]


def _outermost_first(span: Span) -> tuple[int, int]:
    return span.start, -span.stop


def _line(line: str, words: Sequence[tuple[int, int, str]], spans: Sequence[Span]) -> str:
    """One line; words and spans overlap as they like."""
    cuts = {0, len(line)}
    tags: dict[int, str] = {}
    for start, stop, tag in words:
        cuts.update((start, stop))
        tags.update(dict.fromkeys(range(start, stop), tag))
    for span in spans:
        cuts.update((span.start, span.stop))
    places = sorted(cut for cut in cuts if 0 <= cut <= len(line))
    made: list[str] = []
    ends: list[int] = []
    waiting = [span for span in spans if span.start < span.stop]
    for place, following in zip(places, [*places[1:], len(line)], strict=True):
        while ends and ends[-1] <= place:
            ends.pop()
            made.append("</span>")
        while waiting and waiting[0].start <= place:
            span = waiting.pop(0)
            if span.stop > place:
                made.append(f"<span {span.attributes}>")
                ends.append(min(span.stop, ends[-1]) if ends else span.stop)
        if place < following:
            text, style = escaped(line[place:following]), tags.get(place)
            made.append(text if style is None else f"<{style}>{text}</{style}>")
    return "".join([*made, "</span>" * len(ends)])


def _words(lines: Sequence[str]) -> dict[int, list[tuple[int, int, str]]]:
    """The words of each line, by its index, that have a style, with the tag of it: b a keyword, i
    a string, u a number, s a comment, em the name after def or class."""
    found: dict[int, list[tuple[int, int, str]]] = {}
    margin = min((len(one) - len(one.lstrip()) for one in lines if one.strip()), default=0)
    text = "".join(f"{line[margin:]}\n" for line in lines)
    previous = ""
    try:
        for one in tokenize.generate_tokens(io.StringIO(text).readline):
            tag = _tag(one, previous)
            previous = one.string
            if tag is None:
                continue
            (first, start), (last, stop) = one.start, one.end
            for number in range(first, last + 1):
                begin = start + margin if number == first else 0
                end = stop + margin if number == last else len(lines[number - 1])
                found.setdefault(number - 1, []).append((begin, end, tag))
    except (tokenize.TokenError, SyntaxError, UnicodeError, IndexError):
        pass  # part of a statement: what comes after it has no style
    return found


def _tag(one: tokenize.TokenInfo, previous: str) -> str | None:
    if one.type in _STRINGS:
        return "i"
    if one.type == token.NUMBER or one.string in _CONSTANTS:
        return "u"
    if one.type == tokenize.COMMENT:
        return "s"
    if one.type == token.NAME:
        if previous in ("def", "class"):
            return "em"
        return "b" if one.string in _KEYWORDS else None
    return None


def split_at_lines(
    line: int, column: int, end_line: int, end_column: int, lines: Sequence[str]
) -> Iterator[tuple[int, int, int]]:
    """The parts of a range of text that stand on each line: its number, and the columns. Lines
    count from 1.

    >>> [*split_at_lines(1, 4, 2, 6, ["y = (a", "    +b)"])]
    [(1, 4, 6), (2, 4, 6)]
    """
    for number in range(line, end_line + 1):
        text = lines[number - 1]
        start = column if number == line else len(text) - len(text.lstrip())
        yield number, start, end_column if number == end_line else len(text.rstrip())
