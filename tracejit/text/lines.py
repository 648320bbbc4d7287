"""Line breaking: a statement longer than WIDTH columns is broken as a formatter would.

It is broken at its outermost level only: at the commas of a tuple, of a call or of a parameter
list, before its weakest operators, or before `for`; a part that is still too long, and what stands
after a bracket that was broken, is broken in its turn.

>>> print(*broken("out = first_long_name * 2.0 + second_long_name", 30), sep="\\n")
out = (
    first_long_name * 2.0
    + second_long_name
)
>>> print(*broken("out = concatenate((first, second), axis=0)", 30), sep="\\n")
out = concatenate(
    (first, second), axis=0,
)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

WIDTH = 100

_OPERATOR = r"[ ](?:\*\*|//|<<|>>|[<>=!]=|[-+*/@%&|^<>])[ ]"
_TOKEN = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[()\[\]{}]|,[ ]|[ ](?:for|if|else)[ ]|"""
    r"[ ](?:\*\*|//|<<|>>|[-+*/@%&|^])?=[ ]|" + _OPERATOR
)
_IMPORT_OR_RETURN = re.compile(r"from [\w.]+ import |return ")
_LOOP = re.compile(r"for [\w, ]+ in ")
_CONDITION = re.compile(r"(?:if|elif|while)(?: not)? ")
_ASSIGNMENTS = [f" {operator}= " for operator in ("", *"+-*/@%&|^", "**", "//", "<<", ">>")]
# From the weakest to the strongest.
_OPERATORS = ("if else", "< > <= >= == !=", "|", "^", "&", "<< >>", "+ -", "* / // % @")


def broken(line: str, width: int = WIDTH) -> list[str]:
    """`line`, or the lines it is broken into; unbroken where there is no good place."""
    if len(line) <= width:
        return [line]
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    if text.startswith(("#", '"')):
        return [line]
    start, body, end = _parts(text)
    opening, inner, closing = _opened(start, body, width - len(indent) - 4)
    if not inner:
        return [line]
    lines = [f"{indent}{start}{opening}"]
    for item in inner:
        lines += broken(f"{indent}    {item}", width)
    if len(closing) < 2:
        return [*lines, f"{indent}{closing}{end}"]
    following, *others = broken(f"{indent}{closing[1:].lstrip()}{end}", width)
    space = " " * closing[1:].startswith(" ")
    return [*lines, indent + closing[0] + space + following.lstrip(), *others]


def _parts(text: str) -> tuple[str, str, str]:
    """The text before, in and after the part of a statement that may be broken."""
    if text.startswith("def "):
        place = text.index("(") + 1
        return text[:place], text[place:-2], text[-2:]
    word = _IMPORT_OR_RETURN.match(text) or _LOOP.match(text)
    if word:
        return word[0], text[word.end() :], ""
    head = _CONDITION.match(text)
    if head and text.endswith(":"):
        return head[0], text[head.end() : -1], ":"
    if text.endswith(","):
        start, body, _ = _parts(text[:-1])
        return start, body, ","
    for position, token in _outermost(text):
        if token in _ASSIGNMENTS:
            value = position + len(token)
            if text[value:].isidentifier():  # (first, second) = residuals
                return "", text[:position], text[position:]
            return text[:value], text[value:], ""
    operator = re.match(_OPERATOR, " " + text)
    place = operator.end() - 1 if operator else 0
    return text[:place], text[place:], ""


def _opened(start: str, body: str, width: int) -> tuple[str, list[str], str]:
    """An opening bracket, what stands on lines of its own after it, and the closing bracket."""
    commas = _split(body.removesuffix(","), ", ")
    if len(commas) > 1:
        opening, closing = ("", "") if start.endswith("(") else ("(", ")")
        return opening, filled([f"{item}," for item in commas], width), closing
    operators = _split_weakest(body)
    if operators:
        return "(", operators, ")"
    brackets = [(first, last) for first, last in _brackets(body) if last - first > 1]
    if not brackets:
        return "", [], ""
    near = [bracket for bracket in brackets if len(start) + bracket[0] < width + 4] or brackets
    first, last = max(near[::-1], key=lambda bracket: bracket[1] - bracket[0])
    opening, inside, closing = body[: first + 1], body[first + 1 : last], body[last:]
    loops = _split(inside, " for ")
    if len(loops) > 1:
        return opening, [loops[0], *[f"for {loop}" for loop in loops[1:]]], closing
    items = _split(inside.removesuffix(","), ", ")
    if len(items) > 1 or (opening[-1] == "(" and opening[-2:-1].isalnum()):
        return opening, filled([f"{item}," for item in items], width), closing
    return opening, _split_weakest(inside) or [inside], closing


def _outermost(text: str) -> Iterator[tuple[int, str]]:
    """Commas, operators and brackets outside all other brackets, with their positions."""
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        depth -= token in ")]}"
        if depth == 0 and token[0] not in "'\"":
            yield match.start(), token
        depth += token in "([{"


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """The positions of the outermost brackets, opening and closing."""
    places = [position for position, token in _outermost(text) if token in "()[]{}"]
    return zip(places[::2], places[1::2], strict=True)


def _split(text: str, separator: str) -> list[str]:
    """The parts of `text` between separators outside all brackets."""
    places = [position for position, token in _outermost(text) if token == separator]
    bounds = zip([0, *(place + len(separator) for place in places)], [*places, None], strict=True)
    return [text[start:end] for start, end in bounds]


def _split_weakest(text: str) -> list[str] | None:
    """`text` before each of its weakest operators; None if it has none."""
    found = [(position, token.strip()) for position, token in _outermost(text)]
    for level in _OPERATORS:
        places = [position for position, token in found if token in level.split()]
        if places:
            bounds = zip([0, *(place + 1 for place in places)], [*places, None], strict=True)
            return [text[start:end] for start, end in bounds]
    return None


def filled(items: Iterable[str], width: int, separator: str = " ") -> list[str]:
    """`items` side by side, as many on a line as fit."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(separator) + len(item) <= width:
            lines[-1] += separator + item
        else:
            lines.append(item)
    return lines
