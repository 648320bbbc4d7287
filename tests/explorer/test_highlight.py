"""Highlighted lines: every character is there, escaped, and elements are inside each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explorer.pages import read
from tracejit.explorer.highlight import Span, escaped, highlighted, split_at_lines

NASTY = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<!-- --> ]]> &amp; &#60;",
    "{{constructor}} ${1} `x`",
    "\N{RIGHT-TO-LEFT OVERRIDE}gnp.exe \ud800 \x00 \ufeff \N{LINE SEPARATOR}",
)


def as_shown(text: str) -> str:
    """Text with a replacement for what is not seen."""
    return "".join(
        one if one.isprintable() or one in "\t\n" else "\N{REPLACEMENT CHARACTER}" for one in text
    )


@pytest.mark.parametrize("text", NASTY)
def test_nothing_gets_out_of_text(text: str) -> None:
    for line in (text, f"x = '{text}'  # {text}", f"def f(): '''{text}'''"):
        root = read(highlighted([line])[0])
        assert root.text == as_shown(line)
        assert {one.tag for one in root.all()} <= {"b", "i", "u", "s", "em"}
        assert read(f'<a title="{escaped(line)}">').children[0].attributes["title"] == as_shown(
            line
        )
    assert escaped(text).encode()  # UTF-8 has no lone surrogate


@given(
    st.lists(st.text("ab <>&'\"#=(\N{SNOWMAN}\n", max_size=30), min_size=1, max_size=4),
    st.data(),
)
def test_every_character_stays_whatever_spans_there_are(
    texts: list[str], data: st.DataObject
) -> None:
    lines = [text.replace("\n", "") for text in texts]
    spans: dict[int, list[Span]] = {}
    for number, line in enumerate(lines):
        start, stop = 0, len(line)
        for depth in range(3):
            start = data.draw(st.integers(start, stop))
            stop = data.draw(st.integers(start, stop))
            spans.setdefault(number, []).append(Span(start, stop, f"data-e={number}{depth}"))
    for number, html in enumerate(highlighted(lines, spans)):
        root = read(html)
        assert root.text == lines[number]
        for span in spans[number]:
            found = root.all("span", data_e=span.attributes.removeprefix("data-e="))
            wanted = lines[number][span.start : span.stop]
            assert [one.text for one in found] == [wanted] * bool(wanted)


def test_words_have_the_style_of_their_kind() -> None:
    (html,) = highlighted(["def f(x): return 'a' + 2.5  # why"])
    root = read(html)
    assert [one.text for one in root.all("b")] == ["def", "return"]
    assert [one.text for one in root.all("em")] == ["f"]
    assert [one.text for one in root.all("i")] == ["'a'"]
    assert [one.text for one in root.all("u")] == ["2.5"]
    assert [one.text for one in root.all("s")] == ["# why"]


def test_strings_of_several_lines_and_lines_with_a_margin() -> None:
    first, second, third = highlighted(["    x = '''one", "    two''' + y", "    return x"])
    assert first == "    x = <i>&#x27;&#x27;&#x27;one</i>"
    assert second == "<i>    two&#x27;&#x27;&#x27;</i> + y"
    assert third == "    <b>return</b> x"


def test_part_of_a_statement_is_shown_too() -> None:
    assert highlighted(["x = ("]) == ["x = ("]
    assert highlighted([")) ?? '"]) == [")) ?? &#x27;"]


def test_ranges_are_split_at_lines() -> None:
    lines = ["    y = f(a,", "          b,  ", "    ) + c"]
    assert list(split_at_lines(1, 8, 3, 5, lines)) == [(1, 8, 12), (2, 10, 12), (3, 4, 5)]
