"""Lines broken to the page mean what they meant, and fit."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.by_day import by_day
from tracejit.text.lines import WIDTH, broken, filled

NAMES = st.sampled_from(["x", "h_bar", "first_long_name", "exp", "params_layers_0_w"])
LEAVES = NAMES | st.sampled_from(["2.0", "-1.0", "'ij,jk->ik'", "(3, 4)", "(2,)"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """An expression made of smaller ones, as astor would write it but for needless brackets."""
    operators = st.sampled_from("+ - * / // % @ ** < >= == & | ^".split())
    lists = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        st.tuples(inner, operators, inner).map(" ".join),
        st.tuples(NAMES, lists).map(lambda t: f"{t[0]}({', '.join(t[1])})"),
        st.tuples(NAMES, inner).map(lambda t: f"{t[0]}({t[1]}, axis=0, keepdims=True)"),
        st.tuples(NAMES, lists).map(lambda t: f"{t[0]}[{', '.join(t[1])}]"),
        st.tuples(NAMES, inner).map(lambda t: f"{t[0]}[1:, {t[1]}, ::-1]"),
        inner.map(lambda text: f"-({text})"),
        inner.map(lambda text: f"({text}).reshape((3, 4)).copy()"),
        lists.map(lambda texts: f"[{', '.join(texts)}]"),
        lists.map(lambda texts: f"({', '.join(texts)},)"),
    )


EXPRESSIONS = st.recursive(LEAVES, _larger, max_leaves=12)
STATEMENTS = st.one_of(
    EXPRESSIONS.map("out = {}".format),
    EXPRESSIONS.map("return {}".format),
    EXPRESSIONS.map("h_bar[1:, 0] += {}".format),
    EXPRESSIONS.map("tanh(h, h)[{}]".format),
    st.tuples(EXPRESSIONS, EXPRESSIONS).map(lambda t: f"return {t[0]}, ({t[1]},)"),
    st.lists(NAMES, min_size=2).map(lambda names: f"{', '.join(names)} = residuals"),
    st.lists(NAMES, min_size=1).map(lambda names: f"from numpy import {', '.join(names)}"),
    st.lists(NAMES, min_size=1, unique=True).map(lambda names: f"def f({', '.join(names)}):"),
)


def parsed(lines: list[str]) -> str:
    """What a statement means: its syntax tree."""
    text = "\n".join(lines)
    if text.rstrip().endswith(":"):
        text += " pass"
    return ast.dump(ast.parse(text))


def _means_something(text: str) -> bool:
    try:
        parsed([text])
    except SyntaxError:
        return False
    return True


@settings(max_examples=by_day(80, 400), deadline=None)
@given(STATEMENTS.filter(_means_something), st.integers(12, 60))
def test_a_broken_statement_means_the_same(text: str, width: int) -> None:
    assert parsed(broken(text, width)) == parsed([text])


@settings(max_examples=by_day(60, 200), deadline=None)
@given(STATEMENTS.filter(_means_something), st.integers(0, 2))
def test_lines_are_indented_alike_and_fit(text: str, depth: int) -> None:
    indent = "    " * depth
    lines = broken(indent + text, WIDTH)
    assert all(line.startswith(indent) for line in lines)
    assert lines[0].strip() and lines[-1].strip()
    if len(indent + text) <= WIDTH:
        assert lines == [indent + text]


@pytest.mark.parametrize(
    ("line", "width", "expected"),
    [
        ("a = b", 100, ["a = b"]),
        ("# " + "comment " * 30, 20, ["# " + "comment " * 30]),
        ("(a, b) = residuals", 10, ["(", "    a, b,", ") = residuals"]),
        ("  return aa, bb, cc", 14, ["  return (", "      aa, bb,", "      cc,", "  )"]),
        ("out = aaaa * bbbb - cccc", 20, ["out = (", "    aaaa * bbbb", "    - cccc", ")"]),
        ("out = tanh(aaaa, bbbb)", 20, ["out = tanh(", "    aaaa, bbbb,", ")"]),
        ("out = table[aaaaaaaaaaaa]", 20, ["out = table[", "    aaaaaaaaaaaa", "]"]),
        ("out = -(aaaaaaa + bbbbbb)", 20, ["out = -(", "    aaaaaaa", "    + bbbbbb", ")"]),
        ("out = [f(a) for a, b in c]", 20, ["out = [", "    f(a)", "    for a, b in c", "]"]),
        (
            "out = f(aaaaaaaa, bbbbbb).dot(cccccccc)",
            20,
            ["out = f(", "    aaaaaaaa,", "    bbbbbb,", ").dot(cccccccc)"],
        ),
        (
            "out = f(aaaaa).g(cccc, dddd, eeee)",
            20,
            ["out = f(aaaaa).g(", "    cccc, dddd,", "    eeee,", ")"],
        ),
        (
            "out = f(aa, bb, cc, dd, ee).g(aaaa, bbbb, ccccc)",
            20,
            [
                "out = f(",
                "    aa, bb, cc, dd,",
                "    ee,",
                ").g(",
                "    aaaa, bbbb,",
                "    ccccc,",
                ")",
            ],
        ),
        (
            "out = float(aa * 2 + b) if cc else aa * 2 + b",
            20,
            [
                "out = (",
                "    float(",
                "        aa * 2 + b,",
                "    )",
                "    if cc",
                "    else aa * 2 + b",
                ")",
            ],
        ),
        ("aaaaaaaaaaaaaaaaaaaa = b", 20, ["aaaaaaaaaaaaaaaaaaaa = b"]),
    ],
)
def test_where_a_line_is_broken(line: str, width: int, expected: list[str]) -> None:
    assert broken(line, width) == expected


def test_filled_puts_as_many_on_a_line_as_fit() -> None:
    assert filled(["aa,", "bb,", "cc,"], 7) == ["aa, bb,", "cc,"]
    assert filled(["too long to fit", "b"], 4) == ["too long to fit", "b"]
    assert filled([], 4) == []
