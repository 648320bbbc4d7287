"""Where an operation stands in the user's code."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import record
from tracejit.trace.source import places
from tracejit.trace.source.places import (
    TEXT_LIMIT,
    SourceFile,
    location,
    source_file,
    source_of,
    user_frame,
    where,
    where_of,
)

VECTOR = np.arange(3.0)


def cited(call: Callable[..., Any]) -> list[tuple[str, str]]:
    """Function and line, and the text, of every node that a call records."""
    graph, _ = record(call, VECTOR)
    return [(node.where.short, node.where.text) for node in graph.nodes if node.where]


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that does nothing."""
    return function


def test_a_line_is_counted_from_the_def() -> None:
    def f(x: Any) -> Any:
        h = np.exp(x)

        return h * 2.0

    assert cited(f) == [("f:1", "h = np.exp(x)"), ("f:3", "return h * 2.0")]


def test_decorators_do_not_count() -> None:
    @decorated
    @decorated
    def f(x: Any) -> Any:
        return np.exp(x)

    assert cited(f) == [("f:1", "return np.exp(x)")]


def test_a_statement_of_several_lines_is_one_line_of_text() -> None:
    def f(x: Any) -> Any:
        h = np.exp(
            x,
        )
        return (
            h + 1.0  # one
        )

    texts = [text for _, text in cited(f)]
    assert texts == ["h = np.exp(x)", "return h + 1.0"]


def test_a_compound_statement_is_cited_without_its_body() -> None:
    def f(x: Any) -> Any:
        for element in np.exp(x):
            x = x + element
        with np.errstate(all="ignore"):
            return x

    texts = [text for _, text in cited(f)]
    assert texts[0] == "for element in np.exp(x):"
    assert texts[-1] == "x = x + element"


def test_a_lambda_is_cited_with_its_statement() -> None:
    found = cited(lambda x: np.exp(x))
    assert found == [("lambda:1", "found = cited(lambda x: np.exp(x))")]


def test_a_method_is_cited_by_its_name() -> None:
    class Layer:
        def __call__(self, x: Any) -> Any:
            return np.exp(x)

    layer = Layer()
    graph, _ = record(lambda x: layer(x), VECTOR)
    assert graph.nodes[0].where is not None
    assert graph.nodes[0].where.function == f"{__name__}.__call__"
    assert graph.nodes[0].where.short == "__call__:1"


def test_a_long_text_is_cut() -> None:
    def f(x: Any) -> Any:
        return np.exp(x) + np.exp(x) + np.exp(x) + np.exp(x) + np.exp(x) + np.exp(x) + np.exp(x)

    for _, text in cited(f):
        assert len(text) <= TEXT_LIMIT
        assert text.endswith(" ...")


def test_numpys_frames_are_not_the_users() -> None:
    """The mean of NumPy's own Python code would call the ufunc from numpy/_core/_methods.py."""

    def f(x: Any) -> Any:
        return np.mean(x) + x.mean()

    assert {place for place, _ in cited(f)} == {"f:1"}


def test_the_users_frame_is_the_innermost_that_is_not_ours() -> None:
    assert user_frame() is sys._getframe()


@pytest.fixture
def module(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Runs a text as a file of its own and answers its names."""

    def load(text: str) -> dict[str, Any]:
        path = tmp_path / "user.py"
        path.write_text(text, encoding="utf-8")
        linecache.checkcache(str(path))
        source_file.cache_clear()
        space: dict[str, Any] = {"np": np, "__name__": "user"}
        exec(compile(text, str(path), "exec"), space)
        return space

    return load


def test_a_statement_behind_a_colon_is_cited_alone(module: Any) -> None:
    space = module("def f(x):\n    if x.ndim: x = np.exp(x)\n    return x\n")
    assert cited(space["f"]) == [("f:1", "x = np.exp(x)")]


def test_a_text_may_hold_any_character(module: Any) -> None:
    space = module("def f(x):\n    'ééé'; é = np.exp(x)  # é\n    return é\n")
    assert cited(space["f"])[0] == ("f:1", "é = np.exp(x)")


def test_a_place_is_found_again_in_the_file(module: Any) -> None:
    space = module("\n\n@(lambda f: f)\ndef f(x):\n    y = 1.0\n    return np.exp(x)\n")
    graph, _ = record(space["f"], VECTOR)
    place = where_of(graph.nodes[0].where, graph.files)
    assert place is not None
    assert place.lineno == 6
    assert place.filename.endswith("user.py")
    assert place.text == "return np.exp(x)"
    assert str(place) == "  user.py:6   return np.exp(x)"


def test_a_place_that_is_not_known_is_none() -> None:
    graph, _ = record(lambda x: np.exp(x), VECTOR)
    assert where_of(None, graph.files) is None
    assert where_of(graph.nodes[0].where, {}) is None
    assert where(None) is None


def test_a_file_that_does_not_parse_has_lines_only() -> None:
    source = SourceFile(["def f(:\n", "    x = 1\n"])
    assert source.text(2) == "x = 1"
    assert source.text(9) == ""
    assert source.defs == {}


UNUSUAL = """
class Model:
    @(lambda f: f)
    @staticmethod
    def call(
        x,
    ):
        note = '''
def call(x):
'''

        def inner(y):
            return np.sin(y)

# not indented
        try:
            return (
inner(x)
            )
        finally:
            x = 1

def last(x):
    return (np.exp(x) + len('''
x = 1
''')
)
"""


def test_a_function_is_cited_from_its_own_lines(module: Any) -> None:
    space = module(UNUSUAL)
    assert cited(space["Model"].call) == [("inner:1", "return np.sin(y)")]
    assert {place for place, _ in cited(space["last"])} == {"last:1"}


def functions_in(code: CodeType) -> Iterator[CodeType]:
    """The code of the functions inside `code`."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_name.isidentifier() and "__class__" not in inner.co_cellvars:
                yield inner
            yield from functions_in(inner)


@pytest.mark.parametrize("path", [__file__, places.__file__, UNUSUAL])
def test_the_lines_of_a_function_tell_what_the_file_tells(path: str) -> None:
    text = path if path is UNUSUAL else Path(path).read_text("utf-8")
    filename = "<unusual>" if path is UNUSUAL else path
    lines = text.splitlines(keepends=True)
    linecache.cache[filename] = len(text), None, lines, filename
    source_file.cache_clear()
    whole = SourceFile(lines)
    for code in functions_in(compile(text, filename, "exec")):
        found = source_of(code)
        for line in {line for _, _, line in code.co_lines() if line} - {code.co_firstlineno}:
            assert (found.start(line), found.text(line)) == (whole.start(line), whole.text(line))


def test_code_without_a_file_has_lines_only(module: Any) -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(x):\n\n    return np.exp(x)\n", space)
    assert cited(space["f"]) == [("f:2", "")]


def test_the_running_line_has_columns_where_python_knows_them() -> None:
    def f() -> Any:
        return where(user_frame())

    place = f()
    assert place.text == "        return where(user_frame())"
    if sys.version_info >= (3, 11):
        expression = place.text[place.column : place.end_column]
        assert expression == "where(user_frame())"
    else:
        assert place.column is None


def test_a_location_does_not_say_where_the_file_is(tmp_path: Path) -> None:
    place, (filename, line), _ = location(sys._getframe())
    assert place.function == f"{__name__}.test_a_location_does_not_say_where_the_file_is"
    assert place.line == 1
    assert place.text.startswith("place, (filename, line), _ = location(")
    assert Path(filename) == Path(__file__)
    assert line == test_a_location_does_not_say_where_the_file_is.__code__.co_firstlineno + 1


def test_functions_of_one_name_keep_their_own_lines() -> None:
    first = lambda x: np.exp(x)  # noqa: E731
    second = lambda x: np.exp(x + 1.0)  # noqa: E731
    graph, _ = record(lambda x: first(x) + second(x), VECTOR)
    lines = {
        node.where.text: where_of(node.where, graph.files) for node in graph.nodes if node.where
    }
    base = test_functions_of_one_name_keep_their_own_lines.__code__.co_firstlineno
    assert [place.lineno - base for place in lines.values() if place] == [1, 2, 3]


def test_a_lambda_in_a_long_statement_is_cited_by_its_own_line() -> None:
    table = {
        "one": 1.0,
        "f": lambda x: np.exp(x) * table["one"],
    }
    assert cited(table["f"])[0] == ("lambda:1", '"f": lambda x: np.exp(x) * table["one"],')


def test_a_caret_stands_under_what_follows_other_alphabets(module: Any) -> None:
    space = module("def f(x):\n    ééé = 1.0; h = float(x)\n    return h\n")
    with pytest.raises(TypeError) as caught:
        record(space["f"], VECTOR)
    _, line, *rest = str(caught.value).splitlines()
    if sys.version_info >= (3, 11):
        assert line[rest[0].index("^") : rest[0].rindex("^") + 1] == "float(x)"


def test_here_is_the_running_line() -> None:
    found = places.here()
    assert found is not None
    assert found.text.strip() == "found = places.here()"
    assert found.filename.endswith("test_places.py")


STATEMENTS = """
def two(x):
    a = np.sin(x); b = np.cos(x); return a * b

def early(x):
    if np.sum(x) > 0.0: return np.exp(x)
    return x

def loop(x):
    while np.sum(x) > 1.0: x = x / 2.0
    return x

def behind(x):
    if (x.ndim and
        np.sum(x) > 0.0): return np.sin(x)
    return x

def several(x):
    y = np.sin(
        x); z = np.cos(
        y); return y + z

f = lambda x: np.exp(x); g = lambda x: np.sin(x)
def one(x): y = np.sin(x); return y * y
def body(x):
    for row in x: x = x + row
    with np.errstate(all="ignore"): y = np.exp(x); z = y * y
    return z
"""

CITED = {
    "two": ["two:1  a = np.sin(x)", "two:1  b = np.cos(x)", "two:1  return a * b"],
    "early": ["early:1  if np.sum(x) > 0.0:", "early:1  return np.exp(x)"],
    "loop": ["loop:1  while np.sum(x) > 1.0:", "loop:1  x = x / 2.0"],
    "behind": ["behind:1  if x.ndim and np.sum(x) > 0.0:", "behind:2  return np.sin(x)"],
    "several": ["several:1  y = np.sin(x)", "several:2  z = np.cos(y)", "several:3  return y + z"],
    "f": ["lambda:1  f = lambda x: np.exp(x)"],
    "g": ["lambda:1  g = lambda x: np.sin(x)"],
    "one": ["one:1  y = np.sin(x)", "one:1  return y * y"],
    "body": [
        "body:1  for row in x:", "body:1  x = x + row", "body:2  y = np.exp(x)",
        "body:2  z = y * y",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CITED)
def test_of_several_statements_on_a_line_the_one_that_computes_is_cited(
    module: Any, name: str
) -> None:
    function = tj.function(module(STATEMENTS)[name])
    function(VECTOR + 1.0)
    comments = [line.strip() for line in function.source.splitlines()]
    found = dict.fromkeys(line[2:] for line in comments if line.startswith("# ") and ":" in line)
    assert [line for line in found if "tracejit sha256" not in line] == CITED[name]


def test_module_code_is_cited_by_its_line(module: Any) -> None:
    with tj.GradientTape() as tape:
        space = module("\nimport tracejit as tj\nx = tj.Variable(1.0)\ny = x * x; z = y * y\n")
        del tape
    place = space["z"]._recording.graph.files
    assert ("user.module", 4, "z = y * y") in {one[:3] for one in place}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python tells no columns")
def test_an_expression_of_several_lines_is_marked_on_its_first(module: Any) -> None:
    space = module("def f(x):\n    y = (1.0 + float(\n        x[0]\n    ))\n    return y\n")
    with pytest.raises(TypeError) as caught:
        record(space["f"], VECTOR)
    _, line, caret, *_ = str(caught.value).splitlines()
    assert line.endswith("user.py:2   y = (1.0 + float(")
    assert line[caret.index("^") : caret.rindex("^") + 1] == "float("


def test_lines_that_hold_anything_are_cited(tmp_path: Path) -> None:
    for word in ("\ud800", "\x0c", "\0", "\u2028", "\ufeff", "\r"):
        filename = f"<line {word!r}>"
        lines = ["def f(x):\n", f"    y = np.exp(x); z = y  # {word}\n", "    return float(z[0])\n"]
        linecache.cache[filename] = len(lines), None, lines, filename
        space: dict[str, Any] = {"np": np}
        text = "def f(x):\n    y = np.exp(x); z = y\n    return float(z[0])\n"
        exec(compile(text, filename, "exec"), space)
        with pytest.raises(TypeError) as caught:
            record(space["f"], VECTOR)
        str(caught.value).encode()


def test_fewer_lines_than_statements_are_no_error() -> None:
    source = SourceFile(["if 1:\n    x = 1; y = 2\n    z = 3\n"])
    assert source.text(3) == ""


def library(tmp_path: Path, text: str) -> Any:
    """The functions of an installed package with this text."""
    file = tmp_path / "site-packages" / "library.py"
    file.parent.mkdir()
    file.write_text(text)
    space: dict[str, Any] = {"__name__": "library", "np": np}
    exec(compile(text, str(file), "exec"), space)
    return space


LIBRARY = """
def mean(values):
    return inner(values)

def inner(values):
    return float(values[0])

def mapped(f, values):
    return [f(one) for one in values]
"""


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("mode", ["recorded", "taped"])
def test_an_error_in_a_library_names_the_users_line_first(tmp_path: Path, mode: str) -> None:
    space = library(tmp_path, LIBRARY)

    def helper(x: Any) -> Any:
        return space["mean"](x * 2.0)  # the user's

    def f(x: Any) -> Any:
        return helper(x) * 3.0

    with pytest.raises(tj.TracejitError) as caught:
        run(f, mode)
    told = [line for line in str(caught.value).splitlines() if ".py:" in line]
    assert [line.split()[0].partition(":")[0] for line in told] == ["test_places.py", "library.py"]
    assert "# the user's" in told[0] and "float(values[0])" in told[1]


def test_a_function_that_a_library_calls_is_the_users(tmp_path: Path) -> None:
    space = library(tmp_path, LIBRARY)
    with pytest.raises(tj.TracejitError) as caught:
        run(lambda x: space["mapped"](lambda one: np.packbits(x) * one, [1.0])[0], "recorded")
    assert "library.py" not in str(caught.value) and "test_places.py:" in str(caught.value)


@pytest.mark.usefixtures("as_written")
def test_a_function_of_a_library_has_lines_of_its_own(tmp_path: Path) -> None:
    space = library(tmp_path, LIBRARY)
    with pytest.raises(tj.TracejitError) as caught:
        run(space["mean"], "recorded")
    assert "library.py:6" in str(caught.value) and "test_places.py" not in str(caught.value)


def run(f: Callable[[Any], Any], mode: str) -> None:
    """Call `f` while it is recorded, or on a tape."""
    if mode == "recorded":
        tj.grad(f)(VECTOR)
        return
    x = tj.constant(VECTOR)
    with tj.GradientTape() as tape:
        tape.watch(x)
        f(x)
