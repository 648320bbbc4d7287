"""Programs: how they print, combine, and choose between branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.sharding.driver import Rows, SplitProgram
from tracejit.sharding.program import combine_parts

X = np.random.default_rng(2).normal(size=(10, 2))


def mean_square(X: Any) -> Any:
    return np.mean(X**2, axis=0)


def test_a_program_prints_the_functions_of_its_stages() -> None:
    program = SplitProgram(mean_square, (Rows(X),)).program
    text = str(program)
    titles = [line for line in text.splitlines() if line.startswith("# ")]
    assert titles == [
        "# at first, on every block; combined: out_2 by add",
        "# after 1 round of combining, once",
    ]
    assert "def forward(rows, out_2):" in text
    assert "SIGNATURE" not in text
    assert "graph mean_square_map_0(X: f8[n,2])" in program.graphs()


def test_parts_are_combined_in_their_order_and_keep_their_form() -> None:
    parts = [(1e16, np.array(1.0)), (1.0, np.array(5.0)), (-1e16, np.array(3.0))]
    total, most = combine_parts(["add", "maximum"], parts)
    assert total == (1e16 + 1.0) - 1e16
    assert type(most) is np.ndarray and most == 5.0


def test_bits_depend_on_the_blocks_alone() -> None:
    program = SplitProgram(tj.value_and_grad(lambda X: np.sum(np.tanh(X))), (Rows(X),))
    first, again = program.run([3, 4, 3]), program.run([3, 4, 3])
    assert first[0].tobytes() == again[0].tobytes()
    assert first[1].tobytes() == again[1].tobytes()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_branch_by_an_argument_is_that_of_the_call(sign: float) -> None:
    def f(w: Any, X: Any) -> Any:
        return np.sum(X @ w) if w[0] > 0 else np.max(X @ w)

    w = np.array([sign, 2.0])
    program = SplitProgram(f, (w, Rows(X)))
    arguments = [w if one.leaf == "w" else None for one in program.recording.inputs]
    others = [-w if one.leaf == "w" else None for one in program.recording.inputs]
    assert program.program.takes(arguments)
    assert not program.program.takes(others)
    assert np.isclose(program.run([4, 6]), f(w, X), rtol=1e-14)
