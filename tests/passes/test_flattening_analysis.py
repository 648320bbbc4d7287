"""Flattening analysis: what is done on flat slices together."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.interpret import record
from tracejit.passes.dce import drop_dead
from tracejit.passes.flattening_analysis import Flattening


def laid(f: Any, *shapes: tuple[int, ...]) -> list[str]:
    """The ops that are laid, in order."""
    graph = drop_dead(record(f, *[np.ones(shape) for shape in shapes])[0])
    found = Flattening(graph).laid()
    return [node.op.name for node in graph.nodes if node in found]


def test_parts_of_what_is_computed_belong_to_it() -> None:
    def f(u: Any) -> Any:
        across = u[1:, 1:-1] - u[:-1, 1:-1]
        inner = across[1:] - across[:-1] * 2.0
        v = u.copy()
        v[1:-1, 1:-1] += inner
        return v

    assert laid(f, (90, 90)) == ["subtract", "multiply", "subtract", "add_item"]


def test_what_is_read_elsewhere_costs() -> None:
    def f(u: Any) -> Any:
        across = u[1:, 1:-1] - u[:-1, 1:-1]
        return np.exp(across[1:] - across[:-1])

    assert laid(f, (90, 90)) == []


def test_groups_are_laid_each_by_itself() -> None:
    def f(u: Any, w: Any) -> Any:
        v = u.copy()
        v[1:, 1:] += u[1:, 1:] * u[:-1, :-1] - u[1:, :-1]
        return v, np.exp(w[1:, 1:] - w[:-1, 1:])

    assert laid(f, (90, 90), (80, 80)) == ["multiply", "subtract", "add_item"]
