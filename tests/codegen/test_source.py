"""Text from a syntax tree: comments, blank lines, the page."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tracejit.codegen.source import COMMENT, to_source


def text_of(source: str) -> str:
    """`source` through the printer."""
    return to_source(ast.parse(source))


def test_comments_and_blank_lines() -> None:
    source = f"x = 1\n{COMMENT + 'loss:1  h = np.tanh(x)'!r}\ny = 2\n{COMMENT!r}\nz = 3\n"
    assert text_of(source) == "x = 1\n# loss:1  h = np.tanh(x)\ny = 2\n\nz = 3\n"


@pytest.mark.parametrize(
    "line", ["it's", 'say "no"', "a \\ b", "tab\there", "# hash", "'''", '"""', "é, 数, 🎈", "{x}"]
)
def test_a_comment_is_printed_as_it_is(line: str) -> None:
    assert text_of(f"{COMMENT + line!r}\n") == f"# {line}\n"


def test_functions_stand_two_lines_apart() -> None:
    source = "x = 1\ndef f(a):\n    return a\ndef g(b):\n    return b\n"
    expected = "x = 1\n\n\ndef f(a):\n    return a\n\n\ndef g(b):\n    return b\n"
    assert text_of(source) == expected


def test_needless_brackets_go() -> None:
    assert text_of("x = ((a) * (b)) + (c)\n") == "x = a * b + c\n"
    assert text_of("x = (a + b) * (c)\n") == "x = (a + b) * c\n"
    assert text_of("x = (-a) / (b)\n") == "x = -a / b\n"
    assert text_of("return_ = (a - (b - c))\n") == "return_ = a - (b - c)\n"


def test_a_tuple_of_one_is_visible() -> None:
    assert text_of("x, = residuals\n") == "(x,) = residuals\n"


def test_strings_are_in_double_quotes() -> None:
    assert text_of("x = einsum('ij,jk->ik', a, b)\n") == 'x = einsum("ij,jk->ik", a, b)\n'
    assert text_of("x = 'say \"no\"'\n") == "x = 'say \"no\"'\n"


def test_docstrings_stay() -> None:
    source = 'def f(x):\n    """Return x.\n\n    And more."""\n    return x\n'
    assert ast.get_docstring(ast.parse(text_of(source)).body[0]) == "Return x.\n\nAnd more."  # type: ignore[arg-type]
    long = f'def f(x):\n    """Return {"x, " * 60}."""\n    return x\n'
    assert ast.dump(ast.parse(text_of(long))) == ast.dump(ast.parse(long))


def test_long_lines_are_broken() -> None:
    source = f"x = f({', '.join(f'argument_{k}' for k in range(20))})\n"
    lines = text_of(source).splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 100
    assert ast.dump(ast.parse(text_of(source))) == ast.dump(ast.parse(source))


@pytest.mark.parametrize(
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
        "del_ = not_ = yes",
    ],
)
def test_the_text_means_what_the_tree_says(source: str) -> None:
    tree = ast.parse(source)
    assert ast.dump(ast.parse(to_source(tree))) == ast.dump(tree)


def test_importing_and_printing_warn_of_nothing() -> None:
    script = (
        "import ast\n"
        "from tracejit.codegen.source import to_source\n"
        "to_source(ast.parse('def f(x):\\n    \"doc\"\\n    return x + 1.0, None, True'))\n"
    )
    command = [sys.executable, "-W", "error", "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
