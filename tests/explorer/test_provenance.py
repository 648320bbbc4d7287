"""Provenance: pieces of generated text and the user's expressions that they are from."""

from __future__ import annotations

import linecache
import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.running import kernel_of
from tests.test_golden import PROGRAMS
from tracejit.compiler.kernel import Kernel
from tracejit.explorer.provenance import Piece, cited_pieces, functions_of, provenance_of
from tracejit.trace.source.positions import extent_of

WITH_COLUMNS = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python knows columns from 3.11 on"
)
X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def found(kernel: Kernel) -> list[tuple[str, str]]:
    """The text of each piece that stands on one line, and the user's that it is from."""
    lines = kernel.source.split("\n")
    pairs = []
    for piece in provenance_of(kernel.source, kernel.marked()).pieces:
        extent = extent_of(piece.where)
        assert extent is not None
        filename, _ = kernel.graph.files[piece.where._replace(note="")]
        if piece.line == piece.end_line and extent.line == extent.end_line:
            user = linecache.getlines(filename)[extent.line - 1]
            made = lines[piece.line - 1][piece.column : piece.end_column]
            pairs.append((made, user[extent.column : extent.end_column]))
    return pairs


@WITH_COLUMNS
def test_each_expression_is_from_the_one_that_computes_it() -> None:
    def f(x: Any, w: Any) -> Any:
        h = np.tanh(x @ w) + np.exp(-x[0, 0])
        return np.sum(h * h)

    pairs = found(kernel_of(f, X, X.T))
    assert ("x.dot(w)", "x @ w") in [(made.rpartition("= ")[2], user) for made, user in pairs]
    assert ("-x[0, 0]", "-x[0, 0]") in pairs
    assert ("x[0, 0]", "x[0, 0]") in pairs
    assert any("tanh" in made and user == "np.tanh(x @ w)" for made, user in pairs)
    # Backward is from the same expressions.
    assert [user for made, user in pairs if "_bar" in made].count("np.tanh(x @ w)") >= 1


@WITH_COLUMNS
def test_of_a_comprehension_the_expression_inside_is_known() -> None:
    def f(x: Any) -> Any:
        parts = [np.sin(row) * 2.0 for row in x]
        return np.sum(parts[0] * parts[2])

    users = {user for _, user in found(kernel_of(f, X))}
    assert {"np.sin(row)", "np.sin(row) * 2.0"} <= users


@WITH_COLUMNS
def test_columns_count_characters_not_bytes() -> None:
    def f(x: Any) -> Any:
        größe = np.sum(x * 2.0); ü = "üüü", np.exp(größe)  # noqa: E702  # fmt: skip
        return ü[1]

    users = {user for _, user in found(kernel_of(f, X))}
    assert {"np.exp(größe)", "np.sum(x * 2.0)", "x * 2.0"} <= users


@pytest.mark.parametrize("name", PROGRAMS)
def test_statements_are_those_of_the_comments(name: str) -> None:
    """What the marks say of the line under a comment is what the comment says."""
    kernel = PROGRAMS[name].kernel()
    exact = provenance_of(kernel.source, kernel.marked())
    assert exact.exact
    lines = kernel.source.split("\n")
    statements: dict[int, Piece] = {}
    for piece in exact.pieces:
        statements.setdefault(piece.line, piece)
    cited = [one for one in cited_pieces(kernel.source) if "# " in lines[one.line - 2]]
    told = {one.line: statements[one.line] for one in cited if one.line in statements}
    assert len(told) > 0.6 * len(cited)  # the others are `del`, and the heads of branches
    for one in cited:
        if one.line in told:
            assert told[one.line].where.short == one.where.short
            assert told[one.line].where.text == one.where.text


def test_pieces_are_inside_each_other_or_apart() -> None:
    kernel = PROGRAMS["softmax_cross_entropy"].kernel()
    pieces = provenance_of(kernel.source, kernel.marked()).pieces
    for one in pieces:
        for other in pieces:
            start, stop = (one.line, one.column), (one.end_line, one.end_column)
            its_start, its_stop = (other.line, other.column), (other.end_line, other.end_column)
            assert not start < its_start < stop < its_stop


def test_a_text_of_another_kernel_falls_back_to_its_comments() -> None:
    one, other = (PROGRAMS[name].kernel() for name in ("rosenbrock", "scalars"))
    mixed = provenance_of(one.source, other.marked())
    assert not mixed.exact
    assert mixed.pieces == list(cited_pieces(one.source))


def test_a_kernel_from_disk_is_known_as_well_as_one_made_now(files: None) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * np.cos(x))

    first, again = (tj.value_and_grad(tj.function(f)).kernel(X) for _ in range(2))
    assert first.path == again.path is not None
    pieces = [provenance_of(one.source, one.marked()) for one in (first, again)]
    assert pieces[0].exact and pieces[1].exact
    assert [one[:5] for one in pieces[0].pieces] == [one[:5] for one in pieces[1].pieces]


def test_kernels_for_any_size_are_generated_again() -> None:
    f = tj.value_and_grad(tj.function(lambda x: np.sum(np.exp(x) @ x.T), cache=False))
    for rows in (3, 4, 5):
        f(np.ones((rows, 2)))
    kernel = f.kernels[-1]
    assert "f8[n,2]" in str(kernel.signature)
    assert provenance_of(kernel.source, kernel.marked()).exact
    assert f(np.ones((7, 2)))[0] == pytest.approx(2 * np.e * 49)


def test_branches_are_known() -> None:
    def f(x: Any) -> Any:
        if np.sum(x) > 0.0:
            return np.sum(np.sin(x))
        return np.sum(np.cos(x))

    made = tj.value_and_grad(tj.function(f, cache=False))
    made(X + 1.0), made(X - 1.0)
    kernel = made.kernels[-1]
    provenance = provenance_of(kernel.source, kernel.marked())
    assert provenance.exact
    texts = {piece.where.text for piece in provenance.pieces}
    assert {"return np.sum(np.sin(x))", "return np.sum(np.cos(x))"} <= texts


def test_comments_end_with_their_block() -> None:
    text = (
        "def forward(x):\n    for t in range(3):\n        # f:2  y = y * x\n        y = y * x\n"
        "    z = y\n    return z\n"
    )
    assert [piece.line for piece in cited_pieces(text)] == [4]


def test_functions_of_a_module_with_a_long_head() -> None:
    text = "def forward(\n    a, b,\n):\n    return a\n\n\ndef backward(r):\n    return r\n# end\n"
    assert functions_of(text) == {"forward": range(1, 5), "backward": range(7, 9)}
