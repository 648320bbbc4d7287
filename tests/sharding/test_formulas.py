"""Ops that need all rows at once, and are written in ops that combine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.sharding.driver import Rows, SplitProgram, differences

X = np.random.default_rng(5).normal(size=(13, 3))


def names(program: SplitProgram) -> set[str]:
    return {node.op.name for s in program.program.stages for node in s.stage.graph.nodes}


@pytest.mark.parametrize("f", [lambda X: np.std(X, axis=0), lambda X: np.linalg.norm(X)])
def test_over_rows_the_formula_stands_for_the_op(f: Any) -> None:
    program = SplitProgram(f, (Rows(X),))
    assert names(program).isdisjoint({"std", "norm"})
    assert not [*differences(program.run([1, 4, 8]), f(X), 1e-14)]


def test_along_another_axis_the_op_stays() -> None:
    program = SplitProgram(lambda X: np.std(X, axis=1), (Rows(X),))
    assert "std" in names(program)
    assert not [*differences(program.run([6, 7]), np.std(X, axis=1), 1e-15)]


def test_gradients_of_such_ops_are_cut_too() -> None:
    def f(w: Any, X: Any) -> Any:
        return np.sum(np.tanh((X @ w) / np.std(X @ w)))

    w = np.array([1.0, -0.5, 0.2])
    program = SplitProgram(tj.value_and_grad(f), (w, Rows(X)))
    assert not [*differences(program.run([3, 10]), tj.value_and_grad(f)(w, X), 1e-13)]
