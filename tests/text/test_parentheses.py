"""Brackets: what is read is printed as astor prints it."""

from __future__ import annotations

import ast

import astor
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.by_day import by_day
from tracejit.text.parentheses import without_needless

NAMES = st.sampled_from(["a", "_1_", "x_bar", "None", "True"])
NUMBERS = st.sampled_from(["0", "7", "2.0", "0.0001", "1e-06", "4.9999750001249995e-06", "1e+22"])
OPERATORS = st.sampled_from("+ - * / // % @ & | ^ << >> == < >= !=".split())


def operations(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """What is made of smaller expressions."""
    several = st.lists(inner, min_size=2, max_size=3).map(", ".join)
    bounds = st.one_of(
        inner,
        st.just(":"),
        inner.map("{}:".format),
        inner.map(":{}".format),
        st.tuples(inner, inner).map("%s:%s".__mod__),
        inner.map("::{}".format),
        st.just("..."),
    )
    return st.one_of(
        st.tuples(inner, OPERATORS, inner).map("(%s) %s (%s)".__mod__),
        st.tuples(inner, OPERATORS, inner).map("%s %s %s".__mod__),
        inner.map("-({})".format),
        inner.map("-{}".format),
        inner.map("({})".format),
        inner.map("({}).T".format),
        inner.map("f({})".format),
        inner.map("f(*({}))".format),
        st.tuples(inner, inner).map("(%s).reshape(%s)".__mod__),
        st.tuples(inner, inner, inner).map("f(%s, (%s), out=%s)".__mod__),
        several.map("({})".format),
        several.map("[{}]".format),
        inner.map("({},)".format),
        st.tuples(inner, bounds).map("(%s)[%s]".__mod__),
        st.tuples(inner, bounds, bounds).map("(%s)[%s, %s]".__mod__),
    )


EXPRESSIONS = st.recursive(st.one_of(NAMES, NUMBERS), operations, max_leaves=12)
STATEMENTS = st.one_of(
    st.tuples(
        st.sampled_from(["x", "x[1:, 0]", "x, y", "x[:2].reshape(3, 4)[:, a + b]"]), EXPRESSIONS
    ).map("%s = %s".__mod__),
    st.tuples(st.sampled_from("+= -= *= /= @= **=".split()), EXPRESSIONS).map("x %s %s".__mod__),
    EXPRESSIONS.map("return {}".format),
    EXPRESSIONS.map("f({})".format),
    EXPRESSIONS.map("def f(a, b={}, *rest):".format),
)


def by_astor(statement: str) -> str | None:
    """The statement as astor prints it; None where Python does not read it."""
    try:
        tree = ast.parse(statement + " pass" * statement.endswith(":"))
    except SyntaxError:
        return None
    # Without line breaks, which are made later.
    text = astor.to_source(tree, pretty_source="".join).strip()
    return text.partition("\n    pass")[0]


@given(STATEMENTS)
@settings(max_examples=by_day(30, 300), deadline=None)
def test_a_statement_is_as_astor_prints_it(statement: str) -> None:
    expected, found = by_astor(statement), without_needless(statement)
    assert found is None or found == expected, (statement, expected)


@pytest.mark.parametrize(
    "statement",
    [
        "x = ((a) * (b)) + (c)",
        "x = a - (b - (c))",
        "x = (-(2.0)) * (a.T)",
        "x = f(((a.dot(b)) + c), out=(x))",
        "x[:-1] = (a * (b[1:]))",
        "x = (a[:, None]) - (b[..., None])",
        "x += (f((a == b), (0.5 * c)))",
        "return (a, (b).copy())",
        "return a, ((b), c)",
        "del a, b",
        "def f(start, a=array(1.0), *rest):",
        "f(a, 200001, 65536, (-b), *rest)",
        "x = a < (b + c)",
        "x, y = f((a), axis=(0, 1))",
    ],
)
def test_what_modules_are_made_of_is_read(statement: str) -> None:
    assert without_needless(statement) == by_astor(statement)


def test_imaginary_numbers_stay() -> None:
    assert without_needless("x = ((a) + 1j) * 0.5j") == "x = (a + 1j) * 0.5j"


@pytest.mark.parametrize(
    "statement",
    [
        "x = a ** b",
        "x = -a ** 2",
        "x = not a",
        "x = a < b < c",
        "x = a if b else c",
        "x = [a for b in c]",
        "x = 1_000 + a",
        "x = 0x10",
        "x = 2.0j",
        "x = 1.50",
        "x = 5 .real",
        "x = (a := b)",
        "x = {a: b}",
        "x = f(**a)",
        "x = ~a",
        "x = 'a'",
        "for a in b:",
        "x: int = a",
        "x = y = a",
    ],
)
def test_all_else_is_left_to_astor(statement: str) -> None:
    assert without_needless(statement) is None


@pytest.mark.parametrize(
    "statement", ["x = (a", "x = a)", "x = a +", "x = f(a", "x[", "", "x = f(a b)", "def f"]
)
def test_what_is_no_statement_is_not_read(statement: str) -> None:
    assert without_needless(statement) is None
