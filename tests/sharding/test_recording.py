"""Recording on split arguments: the number of rows, what is captured, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.sharding.driver import Rows, SplitProgram, differences
from tracejit.support.errors import TracejitError

X = np.random.default_rng(3).normal(size=(9, 3))


def test_the_number_of_rows_is_that_of_all_blocks() -> None:
    program = SplitProgram(lambda X: X.sum(axis=0) / (X.shape[0] - 1), (Rows(X),))
    assert not [*differences(program.run([4, 5]), X.sum(axis=0) / 8, 1e-15)]


def test_a_program_holds_for_the_rows_that_its_conditions_allow() -> None:
    def f(X: Any) -> Any:
        return X.sum() if X.shape[0] > 5 else X.max()

    recording = SplitProgram(f, (Rows(X),)).recording
    assert recording.holds(9)
    assert recording.holds(6)
    assert not recording.holds(5)


def test_a_program_holds_while_what_is_captured_is_unchanged() -> None:
    scale = {"by": 2.0}
    recording = SplitProgram(lambda X: X.sum() * scale["by"], (Rows(X),)).recording
    assert recording.is_unchanged()
    scale["by"] = 3.0
    assert not recording.is_unchanged()


def test_loops_over_steps_are_written_out() -> None:
    def f(w: Any, X: Any) -> Any:
        step = lambda h, t: (np.tanh(h @ w + X), None)  # noqa: E731
        return np.sum(tj.scan(step, np.zeros_like(X), np.arange(3))[0])

    w = np.random.default_rng(4).normal(size=(3, 3))
    program = SplitProgram(tj.value_and_grad(f), (w, Rows(X)))
    assert not [*differences(program.run([2, 7]), tj.value_and_grad(f)(w, X), 1e-13)]


def test_effects_are_refused() -> None:
    kept = tj.Variable(0.0)

    def f(X: Any) -> Any:
        kept.assign(X.sum())
        return X.mean()

    with pytest.raises(TracejitError, match="the effect would happen"):
        SplitProgram(f, (Rows(X),))


def test_an_array_of_as_many_rows_is_refused_at_its_line() -> None:
    y = np.ones(9)
    with pytest.raises(TracejitError, match=r"test_recording.py:") as caught:
        SplitProgram(lambda X: X[:, 0] * y, (Rows(X),))
    assert "needs the number of rows, 9, or makes an array of that length" in str(caught.value)


ASKING: list[Any] = [
    lambda X: np.squeeze(X[:, 0]),
    lambda X: X.sum() if X.shape[0] == 1 else X.sum() * 2,
    lambda X: X.sum() if X.shape[0] == 0 else X.sum() + 2,
    lambda X: X.sum() if X.shape[0] < 2 else X.sum() * 3,
    lambda X: X.sum() if X.shape == (1, 3) else X.sum() * 4,
]


@pytest.mark.parametrize("number", range(len(ASKING)))
def test_no_rows_one_and_many_are_told_apart_or_refused(number: int) -> None:
    f = ASKING[number]
    for rows in (0, 1, 2, 9):
        try:
            program = SplitProgram(f, (Rows(X[:rows]),))
        except TracejitError as error:
            assert rows < 2 and error.row == "rows-needed"
            continue
        assert not [*differences(program.run([rows]), f(X[:rows]), 1e-13)]
        for others in (0, 1, 2, 9):
            if program.recording.holds(others):
                results = SplitProgram(f, (Rows(X[:others]),)).run([others])
                assert not [*differences(results, f(X[:others]), 1e-13)]


def test_one_row_broadcasts_as_several_do() -> None:
    def f(X: Any) -> Any:
        centred = (X - X.mean(axis=0, keepdims=True)) * np.ones((1, 3)) + X[:, :1]
        return np.sum(centred * centred) + X.std()

    for rows in (1, 2):
        program = SplitProgram(tj.value_and_grad(f), (Rows(X[:rows]),))
        assert not [*differences(program.run([rows]), tj.value_and_grad(f)(X[:rows]), 1e-13)]
