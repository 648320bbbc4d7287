"""Listings of the user's code: whole functions, or the statements that a module cites."""

from __future__ import annotations

import linecache
import sys
from types import CodeType
from typing import Any

import numpy as np
import pytest

from tests.support.running import kernel_of
from tracejit.compiler.kernel import Kernel
from tracejit.explorer.provenance import provenance_of
from tracejit.explorer.user_code import Listing, Numbers, listings_of

X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def helper(x: Any) -> Any:
    """Called by what is recorded."""
    return np.tanh(
        x * 2.0,
    )


def user(x: Any) -> Any:
    """The root, some of whose lines are of no operation."""
    y = helper(x)
    for _ in range(2):
        y = y + x
    return np.sum(y)


def listed(kernel: Kernel, root: CodeType | None = None, files: bool = True) -> list[Listing]:
    numbers = Numbers()
    for piece in provenance_of(kernel.source, kernel.marked()).pieces:
        numbers.statement(piece.where)
        numbers.expression(piece.where)
    return listings_of(numbers, kernel.graph.files if files else {}, root)


def test_functions_are_whole_and_the_root_comes_first() -> None:
    listings = listed(kernel_of(user, X), user.__code__)
    assert [one.lines[0].text for one in listings] == [
        "def user(x: Any) -> Any:",
        "def helper(x: Any) -> Any:",
    ]
    assert all(one.whole and one.title.startswith("test_user_code.py:") for one in listings)
    assert [one.lines[-1].text for one in listings] == ["    return np.sum(y)", "    )"]


def test_lines_of_one_statement_have_its_number() -> None:
    helper_listing = listed(kernel_of(user, X), user.__code__)[1]
    numbers = [line.statement for line in helper_listing.lines]
    assert numbers[:2] == [None, None]
    assert len(set(numbers[2:])) == 1 and numbers[2] is not None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python knows columns from 3.11 on")
def test_expressions_have_spans_on_each_of_their_lines() -> None:
    helper_listing = listed(kernel_of(user, X), user.__code__)[1]
    texts = [
        line.text[span.start : span.stop] for line in helper_listing.lines for span in line.spans
    ]
    assert sorted(texts) == [")", "np.tanh(", "x * 2.0", "x * 2.0,"]


def test_a_function_inside_another_is_shown_once() -> None:
    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return np.sin(y)

        return np.sum(inner(x) * x)

    (listing,) = listed(kernel_of(outer, X), outer.__code__)
    assert [line.text.strip() for line in listing.lines][1:3] == [
        "def inner(y: Any) -> Any:",
        "return np.sin(y)",
    ]


def test_without_files_the_cited_statements_are_listed_with_gaps() -> None:
    listings = listed(kernel_of(user, X), None, files=False)
    assert {one.title for one in listings} == {"user", "helper"}
    (listing,) = (one for one in listings if one.title == "user")
    assert not listing.whole
    texts = [line.text for line in listing.lines]
    assert "y = y + x" in texts and texts[-1] == "return np.sum(y)"


def test_a_file_that_was_edited_is_not_shown_for_what_it_was() -> None:
    name = "<edited>"
    text = "def f(x):\n    return np.sum(x * x)\n"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), space)
    kernel = kernel_of(space["f"], X)
    assert listed(kernel)[0].whole
    other = text.replace("x * x", "x + x")
    linecache.cache[name] = len(other), None, other.splitlines(keepends=True), name
    try:
        (listing,) = listed(kernel)
    finally:
        del linecache.cache[name]
    assert not listing.whole
    assert [line.text for line in listing.lines] == ["return np.sum(x * x)"]


def test_code_without_source_has_lines_alone() -> None:
    space: dict[str, Any] = {"np": np}
    exec(compile("def f(x):\n    return np.sum(x * x)\n", "<nowhere>", "exec"), space)
    (listing,) = listed(kernel_of(space["f"], X), space["f"].__code__)
    assert [line.number for line in listing.lines] == [1]


def test_functions_of_one_name_are_told_apart() -> None:
    def made(factor: float) -> Any:
        if factor > 1.0:

            def step(x: Any) -> Any:
                return np.sin(x)
        else:

            def step(x: Any) -> Any:
                return np.cos(x)

        return step  # fmt: skip

    double, half = made(2.0), made(0.5)
    listings = listed(kernel_of(lambda x: np.sum(double(x) * half(x)), X))
    found = {line.text.strip(): line.statement for one in listings for line in one.lines}
    assert None not in (found["return np.sin(x)"], found["return np.cos(x)"])
    assert found["return np.sin(x)"] != found["return np.cos(x)"]


def test_of_a_lambda_its_statement_is_listed() -> None:
    before = 1.0
    square = lambda x: np.sum(x * x)  # noqa: E731
    (listing,) = listed(kernel_of(square, X), square.__code__)
    assert [line.text.strip() for line in listing.lines] == [
        "square = lambda x: np.sum(x * x)  # noqa: E731"
    ]
    assert before == 1.0
