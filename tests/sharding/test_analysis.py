"""Levels, row numbers, and refusals, which name the op and the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit.numpy as tnp
from tests.sharding.driver import Rows, SplitProgram, differences, whole
from tracejit.passes.framework.emission import emit
from tracejit.sharding.analysis import analyse
from tracejit.sharding.recording import FIRST_ROW
from tracejit.support.errors import TracejitError

ROWS = 11
DATA = np.random.default_rng(0).normal(size=(ROWS, 3))
CAPTURED = DATA[:, 0].copy()

REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda X: X @ X.T, "pairs every row with every row"),
    (lambda X: np.cumsum(X, axis=0), "cumsum.*all rows at once"),
    (lambda X: np.sort(X, axis=0), "sort.*all rows at once"),
    (lambda X: np.argmax(X, axis=0), "argmax.*all rows at once"),
    (lambda X: np.roll(X, 1, axis=0), "roll|rows"),
    (lambda X: X[1:], "rows"),
    (lambda X: X[::2], "rows"),
    (lambda X: X[::-1], "all rows at once"),
    (lambda X: X[0], "all rows at once"),
    (lambda X: np.concatenate([X, X]), "rows"),
    (lambda X: X[:, 0] + CAPTURED, "rows"),
    (lambda X: X * len([0] * len(X)), "needs the number of rows"),
    (lambda X: sum(X[k, 0] for k in range(X.shape[0])), "needs the number of rows"),
    (lambda X: X if X[0, 0] > 0 else -X, "value|rows|branch"),
]


@pytest.mark.parametrize(("f", "words"), REFUSED)
def test_what_needs_rows_of_several_blocks_is_refused(f: Any, words: str) -> None:
    with pytest.raises(TracejitError) as caught:
        SplitProgram(f, (Rows(DATA),))
    assert re.search(words, str(caught.value))
    assert "test_analysis.py:" in str(caught.value)
    assert "Fix: " in str(caught.value)


@pytest.mark.parametrize(
    ("f", "rounds"),
    [
        (lambda X: np.tanh(X), 0),
        (lambda X: np.log(np.sum(X**2)), 1),
        (lambda X: np.sum((X - np.mean(X, axis=0)) ** 2), 2),
        (lambda X: np.sum(X) + np.max(X), 1),
    ],
)
def test_rounds_of_combining(f: Any, rounds: int) -> None:
    assert SplitProgram(f, (Rows(DATA),)).rounds == rounds


@pytest.mark.parametrize(
    "f",
    [
        lambda X: tnp.arange(X.shape[0]),
        lambda X: tnp.arange(1, X.shape[0] + 1),
        lambda X: tnp.arange(X.shape[0], 2 * X.shape[0]),
        lambda X: tnp.arange(X.shape[0] - 3, X.shape[0]),
        lambda X: tnp.arange(3 * X.shape[0]),
        lambda X: tnp.arange(X.shape[0], 3 * X.shape[0], dtype=np.float32),
    ],
)
def test_row_numbers_are_those_of_all_rows(f: Any) -> None:
    arguments = (Rows(DATA),)

    def both(X: Any) -> Any:
        return f(X), X

    found = SplitProgram(both, arguments).run([4, 1, 6])
    assert list(differences(found, both(*whole(arguments)), 0.0)) == []


@pytest.mark.parametrize("op", ["add", "multiply"])
def test_the_first_row_of_a_block_is_no_number_of_all_blocks(op: str) -> None:
    graph = SplitProgram(lambda X: X[:, 0] * tnp.arange(X.shape[0]), (Rows(DATA),)).recording.graph
    first_row = next(value for value in graph.inputs if value.name == FIRST_ROW)
    graph.outputs.append(emit(graph, graph.nodes[-1], op, (first_row, graph.constant(2))))
    with pytest.raises(TracejitError, match="the number of a row of one block"):
        analyse(graph)


def test_numbers_in_float32_go_on_where_adding_one_changes_nothing() -> None:
    program = SplitProgram(lambda X: (X, tnp.arange(X.shape[0], dtype=np.float32)), (Rows(DATA),))
    (stage,) = program.program.stages
    inputs = [2**24 + 1 if value.name == FIRST_ROW else DATA for value in stage.stage.graph.inputs]
    whole_ones = np.arange(2**24 + 1, 2**24 + 1 + ROWS)
    assert stage(*inputs)[-1].tolist() == whole_ones.astype(np.float32).tolist()
