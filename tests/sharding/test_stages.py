"""Stages: what is computed where, and what is handed on."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tests.sharding.driver import Rows, SplitProgram, differences

X = np.random.default_rng(1).normal(size=(12, 3))


def shifted_sum(w: Any, X: Any) -> Any:
    return np.sum(np.exp((X - X.mean(axis=0)) @ w))


def kinds(program: SplitProgram) -> list[tuple[int, bool, tuple[str, ...]]]:
    return [(s.stage.level, s.stage.is_map, s.stage.combine) for s in program.program.stages]


def test_heads_and_maps_take_turns() -> None:
    program = SplitProgram(tj.value_and_grad(shifted_sum), (np.ones(3), Rows(X)))
    assert kinds(program) == [
        (0, True, ("add",)),
        (1, False, ()),
        (1, True, ("add", "add")),
    ]


def test_what_was_combined_is_not_computed_of_a_block_again() -> None:
    program = SplitProgram(lambda X: np.exp(X - X.max()) / np.exp(X - X.max()).sum(), (Rows(X),))
    ops = [[n.op.name for n in s.stage.graph.nodes] for s in program.program.stages]
    assert [("max" in names, "sum" in names) for names in ops] == [
        (True, False), (False, True), (False, False),
    ]  # fmt: skip
    assert not [*differences(program.run([5, 1, 6]), np.exp(X) / np.exp(X).sum(), 1e-14)]


def test_a_map_without_rows_to_read_takes_some_for_their_number() -> None:
    program = SplitProgram(tj.grad(lambda X: 3.0 * X.sum()), (Rows(X),))
    assert [source.kind for source in program.program.stages[-1].stage.inputs] == ["block"]
    assert not [*differences(program.run([5, 7]), np.full((12, 3), 3.0), 0.0)]


def test_results_may_be_arguments_and_constants() -> None:
    program = SplitProgram(lambda w, X: (w, X, np.float64(2.0)), (np.ones(3), Rows(X)))
    assert program.program.stages == ()
    w, rows, two = program.run([6, 6])
    assert not [*differences((w, rows), (np.ones(3), X), 0.0)]
    assert two == 2.0


def test_a_value_has_one_name_in_all_stages() -> None:
    program = SplitProgram(tj.value_and_grad(shifted_sum), (np.ones(3), Rows(X)))
    made = [value.name for s in program.program.stages for value in s.stage.graph.outputs]
    read = [value.name for s in program.program.stages for value in s.stage.graph.inputs]
    assert set(read) - {"w", "X", "rows"} <= set(made)
