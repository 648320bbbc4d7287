"""What guards test, and how long that takes."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit.explorer.guard_costs import GuardCosts, guards_of
from tracejit.specialise.reasons import words_of

SCALE = np.linspace(1.0, 2.0, 4)
LABEL = "a"


def costs_of(function: tj.Function[..., Any]) -> GuardCosts:
    entry, _, _ = function._table.compiled[-1]
    return guards_of(entry, words_of)


def test_each_argument_has_a_row_with_a_time() -> None:
    @tj.function(cache=False)
    def f(x: Any, p: Any, mode: str, rate: float) -> Any:
        return np.sum(x * p["w"]) * rate

    f(np.ones(3), {"w": np.ones(3, np.float32)}, "fast", 0.5)
    found = costs_of(f)
    assert [(row.what, row.wants) for row in found.arguments] == [
        ("x", "an array f8[3]"), ("p['w']", "an array f4[3]"), ("mode", "'fast'"), ("rate", "0.5"),
    ]  # fmt: skip
    assert all(row.seconds is not None and 1e-9 < row.seconds < 1e-3 for row in found.arguments)
    assert found.seconds >= sum(row.seconds or 0.0 for row in found.arguments)


def test_what_a_function_reads_is_listed_with_what_is_compared() -> None:
    @tj.function(cache=False)
    def f(x: Any) -> Any:
        weights = np.cumsum(SCALE) if LABEL == "a" else SCALE
        return np.sum(x * weights)

    f(np.ones(4))
    found = costs_of(f)
    told = {row.what: row.wants for row in found.reads}
    assert told["the global LABEL"] == "'a'"
    assert told["the global np"] == "the same module numpy"
    assert any("32 B compared" in wants for wants in told.values())
    assert found.seconds_of_reads > 0


def test_free_sizes_and_large_arrays_are_timed_without_their_memory() -> None:
    f = tj.function(lambda x: np.sum(x, axis=0), cache=False)
    f(np.ones((3, 2))), f(np.ones((4, 2)))
    (row, sizes) = costs_of(f).arguments
    assert row.wants == "an array f8[n,2]" and row.seconds is not None
    assert sizes.what == "sizes" and "n > 1" in sizes.wants
    f.kernel(tj.TensorSpec((10**7, 10**6)))
    assert costs_of(f).arguments[0].seconds is not None
