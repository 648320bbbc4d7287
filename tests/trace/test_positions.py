"""Where an instruction is, and what the text alone tells of that."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType

import pytest

from tracejit.trace.places import SourceFile
from tracejit.trace.positions import beginnings, positions

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
