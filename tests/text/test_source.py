"""Text from statements: brackets, comments, blank lines, the page."""

from __future__ import annotations

import ast

import astor
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.by_day import by_day
from tests.rows import each_row
from tests.support.processes import python
from tracejit.text.lines import broken
from tracejit.text.source import to_source


def test_comments_and_blank_lines() -> None:
    source = "x = 1\n# loss:1  h = np.tanh(x)\ny = 2\n#\nz = 3\n"
    assert to_source(source) == "x = 1\n# loss:1  h = np.tanh(x)\ny = 2\n\nz = 3\n"


@pytest.mark.parametrize(
    "line", ["it's", 'say "no"', "a \\ b", "tab\there", "# hash", "'''", '"""', "é, 数, 🎈", "{x}"]
)
def test_a_comment_is_printed_as_it_is(line: str) -> None:
    assert to_source(f"# {line}\n") == f"# {line}\n"


def test_functions_stand_two_lines_apart() -> None:
    source = "x = 1\ndef f(a):\n    return a\ndef g(b):\n    return b\n"
    expected = "x = 1\n\n\ndef f(a):\n    return a\n\n\ndef g(b):\n    return b\n"
    assert to_source(source) == expected


def test_needless_brackets_go() -> None:
    assert to_source("x = ((a) * (b)) + (c)\n") == "x = a * b + c\n"
    assert to_source("x = (a + b) * (c)\n") == "x = (a + b) * c\n"
    assert to_source("x = (-a) / (b)\n") == "x = -a / b\n"
    assert to_source("return_ = (a - (b - c))\n") == "return_ = a - (b - c)\n"


def test_names_with_underscores_stay() -> None:
    source = "_x_ = (linalg.matrix_power(a_1, (3))) + a_._b.c_d(k_=_)\n"
    assert to_source(source) == "_x_ = linalg.matrix_power(a_1, 3) + a_._b.c_d(k_=_)\n"
    assert to_source("x = a_b ** (c_d.e_f) - 1_000\n") == "x = a_b ** c_d.e_f - 1000\n"


def test_a_tuple_of_one_is_visible() -> None:
    assert to_source("x, = residuals\n") == "(x,) = residuals\n"


def test_strings_are_in_double_quotes() -> None:
    assert to_source("x = einsum('ij,jk->ik', a, b)\n") == 'x = einsum("ij,jk->ik", a, b)\n'
    assert to_source("x = 'say \"no\"'\n") == "x = 'say \"no\"'\n"


@pytest.mark.parametrize("first", ["a", "b.T", "2.0"])
@pytest.mark.parametrize("second", ["a", "linalg.e.T", "7", "0.0001"])
def test_what_is_plain_is_what_astor_prints(first: str, second: str) -> None:
    statements = [
        *[f"x = {first} {operator} {second}" for operator in "+-*/@"],
        *[f"x {operator}= {second}" for operator in "+-*/@"],
        f"x = {second}",
        f"x, y = f({first}, {second})",
        f"x = linalg.solve({first}, {second})",
        f"add({first}, {second}, out=x)",
        f"return {first}, {second}",
        f"return {second}",
        f"def f(x, y={second}):",
        "from numpy import add, multiply",
    ]
    for statement in statements:
        tree = ast.parse(statement + " pass" * statement.endswith(":"))
        assert astor.to_source(tree).partition("\n    pass")[0].strip() == statement
        assert to_source(statement).strip() == statement


def test_docstrings_stay() -> None:
    source = f"def f(x):\n    {'Return x.' + chr(10) * 2 + '    And more.'!r}\n    return x\n"
    assert '    """Return x.\n\n    And more."""\n' in to_source(source)
    assert ast.get_docstring(ast.parse(to_source(source)).body[0]) == "Return x.\n\nAnd more."  # type: ignore[arg-type]
    long = f'def f(x):\n    """Return {"x, " * 60}."""\n    return x\n'
    assert ast.dump(ast.parse(to_source(long))) == ast.dump(ast.parse(long))


def test_long_lines_are_broken() -> None:
    source = f"x = f({', '.join(f'argument_{k}' for k in range(20))})\n"
    lines = to_source(source).splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 100
    assert ast.dump(ast.parse(to_source(source))) == ast.dump(ast.parse(source))


@each_row(
    "source",
    [
        "x = a ** b ** c",
        "x = (a ** b) ** c",
        "x = -a ** 2",
        "x = (-a) ** 2",
        "x = (-2.0) ** a",
        "x = a @ b * c",
        "x = a @ (b * c)",
        "x = (a < b) & (c < d)",
        "x = (a, b), (c,), ()",
        "x = table[1:, ::-1, None, ..., -1]",
        "x[1:, 0] += y",
        "x = f(a, axis=(0, 1), keepdims=True)",
        "x = 1e-300 + 1e300 - 0.1 + 5e-324",
        "x = a.reshape((3, 4)).copy()",
        "x = [1, 2.5, (3,)]",
        "x = complex(-0.0, 1.0) + 2j",
        "x = 1e22 * a + 0x10 - 1_000",
        "x = {a: b, 'c': {d}}",
        "x = {a % b: (c % d)}",
        "x = f(*a, k=b, **c).d.e",
        "x = f(k=a, *b)",
        "_1_, _2_ = _2_, _1_",
        "é = ((数)) + (é)",
        "x = a if not b else None is c",
        "del_ = not_ = yes",
    ],
)
def test_the_text_means_what_the_tree_says(source: str) -> None:
    assert ast.dump(ast.parse(to_source(source))) == ast.dump(ast.parse(source))


def test_blocks() -> None:
    source = """
with load("(a)") as (constants):
    a = (constants)["a"]
class Lost(Exception):
    'Gone.'
def f(x, y=(1.0)):
    if ((x) > y):
        if (not (y)):
            return (x)
        y = (2.0)
    else:
        for (k) in (range(3)):
            try:
                del x
            finally:
                pass
    return (y)
f(1.0)
"""
    expected = """with load("(a)") as constants:
    a = constants["a"]


class Lost(Exception):
    \"\"\"Gone.\"\"\"


def f(x, y=1.0):
    if x > y:
        if not y:
            return x
        y = 2.0
    else:
        for k in range(3):
            try:
                del x
            finally:
                pass
    return y


f(1.0)
"""
    assert to_source(source) == expected


@settings(max_examples=by_day(60, 200), deadline=None)
@given(st.recursive(
    st.sampled_from("x y_1 _ 1.0 -2 'ij,jk' f.g None".split()),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/@%<&"), inner).map(lambda t: f"({' '.join(t)})"),
        st.lists(inner, max_size=3).map(lambda parts: f"f({', '.join(parts)})"),
        st.tuples(inner, inner).map(lambda t: f"(({t[0]}), ({t[1]}))[0]"),
        inner.map(lambda text: f"(-({text})).copy()"),
    ),
))  # fmt: skip
def test_a_statement_is_printed_as_astor_does(text: str) -> None:
    tree = ast.parse(f"out = {text}")
    printed = astor.to_source(tree, pretty_source="".join)
    lines = [line for whole in printed.splitlines() for line in broken(whole.replace("'", '"'))]
    assert to_source(f"out = {text}").splitlines() == lines


def test_importing_and_printing_warn_of_nothing() -> None:
    script = (
        "from tracejit.text.source import to_source\n"
        "to_source('def f(x):\\n    \"doc\"\\n    return x + 1.0, None, True')\n"
    )
    assert python(script) == ""
