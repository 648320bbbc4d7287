"""Values between stages, kept under a budget or computed again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sharding.driver import Rows, SplitProgram
from tests.support.graphs import ops_of
from tracejit.sharding.analysis import analyse
from tracejit.sharding.residuals import kept_values
from tracejit.sharding.stages import cut

X = np.random.default_rng(6).normal(size=(10, 3))


def normalised(w: Any, X: Any) -> Any:
    h = np.tanh(X @ w)
    return np.sum(np.exp(h - h.max(axis=0)), axis=0)


@pytest.mark.parametrize(("budget", "kept"), [(None, 0), (100, 0), (10 * 4 * 8, 1)])
def test_values_are_kept_within_the_budget(budget: int | None, kept: int) -> None:
    program = SplitProgram(normalised, (np.ones((3, 4)), Rows(X)))
    found = analyse(program.recording.graph)
    values = kept_values(found, 10, budget)
    assert len(values) == kept
    stages, _ = cut(found, values)
    last = [s for s in stages if s.is_map][-1]
    assert ("kept" in [source.kind for source in last.inputs]) == bool(kept)
    assert ("tanh" in ops_of(last.graph)) == (not kept)


def test_what_costs_no_more_than_reading_it_is_not_kept() -> None:
    program = SplitProgram(lambda X: np.sum(-X / np.max(-X)), (Rows(X),))
    assert kept_values(analyse(program.recording.graph), 10, 10**9) == []
