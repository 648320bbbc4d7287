"""Where an instruction is, and what the text alone tells of that."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest

from tracejit.ir.location import Location
from tracejit.trace.source.places import SourceFile, location
from tracejit.trace.source.positions import beginnings, extent_of, positions

TEXT = """\
def two(x):
    a = sin(x); b = cos(x); return a * b

def early(x):
    if total(x) > 0.0: return x + 1.0
    while total(x) > 1.0: x = x / 2.0; x = x * 0.9
    for row in x: x = x + row
    with state(x): y = exp(x); z = y * y
    return (sin(
        x)); x = cos(x)

f = lambda x: exp(x); g = lambda x: sin(x)

@decorated
def late(x): y = sin(x); return [y for _ in x]

class Model:
    a = total(1); b = total(2)

    def call(self, x): self.x = x; return super().call(x)
"""
LINES = TEXT.splitlines(keepends=True)


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


CODES = {one.co_name + str(one.co_firstlineno): one for one in codes(compile(TEXT, "m", "exec"))}


@pytest.mark.skipif(
    sys.version_info[:2] not in ((3, 11), (3, 12)),
    reason="Python 3.10 tells no columns, 3.13 makes other code of statements on one line",
)
@pytest.mark.parametrize("name", CODES)
def test_the_text_tells_the_statements_that_columns_tell(name: str) -> None:
    code, source = CODES[name], SourceFile(LINES)
    told, found = positions(code, LINES), beginnings(code, LINES)
    assert len(told) == len(found) == len(code.co_code) // 2
    compared = 0
    for one, other, place in zip(told, found, code.co_positions(), strict=True):
        is_expression = place[2:] != (0, 0) and place[0] in source.statements
        if is_expression and one is not None and other is not None:
            assert source.statement(one[0], one) is source.statement(other[0], other)
            compared += 1
    assert compared > 1


def test_code_that_the_text_does_not_make_has_no_positions() -> None:
    other = compile("a = sin(1); b = cos(2)", "m", "exec")
    assert beginnings(other, LINES) == []
    assert beginnings(other, ["def f(:\n"]) == []
    assert beginnings(other, ["a\0"]) == []


def test_the_same_code_twice_on_a_line_is_not_told_apart() -> None:
    text = "f = lambda x: sin(x); g = lambda x: sin(x)\n"
    first = next(one for one in codes(compile(text, "m", "exec")) if one.co_name == "<lambda>")
    assert beginnings(first, [text]) == []


def here() -> tuple[Location, Any]:
    """The place of the caller."""
    return location(sys._getframe(1))[:2]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python knows columns from 3.11 on")
def test_the_extent_of_an_expression_in_characters() -> None:
    ü = "ü", here(), here()  # fmt: skip
    extents = [extent_of(place) for place, _ in ü[1:]]
    (filename, line) = ü[1][1]
    text = linecache.getline(filename, line)
    assert [text[one.column : one.end_column] for one in extents if one] == ["here()", "here()"]
    assert extents[0] != extents[1] and ü[1] == ü[2]


def test_of_a_comprehension_the_inner_expression_is_known() -> None:
    (found,) = [here() for _ in range(1)]
    extent = extent_of(found[0])
    assert found[0].function.endswith("inner_expression_is_known")
    if sys.version_info >= (3, 11):
        text = linecache.getline(*found[1])
        assert extent is not None and text[extent.column : extent.end_column] == "here()"
    else:
        assert extent is None


def test_code_without_text_has_no_extents() -> None:
    space: dict[str, Any] = {"here": here}
    exec("found = here()", space)
    assert extent_of(space["found"][0]) is None
    assert extent_of(None) is None and extent_of(Location("f", 1, "x")) is None
