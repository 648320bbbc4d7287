"""Kernels under guards of what was read, beside those of the walk, over tests/captured."""

from __future__ import annotations

import importlib.util
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day, some_by_day
from tests.convert.running import define
from tests.programs import assert_same
from tests.rows import each_row
from tests.test_captured import LEAKS, PROGRAMS, X, answer, answers
from tests.trace.convert.count import TABLES, rows
from tests.trace.convert.table import Row, judge
from tests.trace.reads.deciding import reads_decide
from tests.trace.reads.random_reads import compare_compiled

ROWS: dict[str, Row] = {}
if importlib.util.find_spec("scipy"):
    ROWS |= {row.name: row for kind in TABLES for several in rows(kind).values() for row in several}
NAMES = sorted(PROGRAMS.keys() - LEAKS)

# A singledispatchmethod is still walked from, with all that its functions could read.
RECORDED_MORE = frozenset(("singledispatchmethod_inner",))


def outcomes(name: str) -> tuple[list[Any], int]:
    """Two calls, the change, two calls, and the number of recordings."""
    function, change, *args = PROGRAMS[name]()
    compiled = tj.function(function)
    found = [answer(compiled, args) for _ in range(2)]
    change()
    found += [answer(compiled, args) for _ in range(2)]
    return found, compiled.tracing_count


@each_row("name", some_by_day(NAMES, 16))
def test_no_answer_is_stale_and_no_more_is_recorded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(PROGRAMS[name], lambda function: function)
    _, by_walk = outcomes(name)
    with reads_decide(monkeypatch):
        found, by_reads = outcomes(name)
    for mine, python in zip(found, expected, strict=True):
        if isinstance(python, Exception):
            assert type(mine) is type(python)
        else:
            assert_same(mine, python)
    assert by_reads <= by_walk or name in RECORDED_MORE


@pytest.mark.parametrize("name", some_by_day(sorted(ROWS), 24))
def test_what_works_works_while_reads_are_noted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ROWS[name]
    with reads_decide(monkeypatch):
        verdict = judge(row)
    assert verdict.word == "works" or (row.refused and verdict.word == "refused"), verdict.reason


def test_what_was_not_read_makes_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "k, j, is_first = 2.0, 3.0, True\ndef f(x): return x * k if is_first else x * j"
    monkeypatch.setenv("TRACEJIT_READS", "0")
    for decides, recordings in ((False, 2), (True, 1)):
        module = define(text)
        with reads_decide(monkeypatch) if decides else nullcontext():
            compiled = tj.function(module["f"])
            compiled(X)
            module["j"] = 4.0
            assert compiled(X).tolist() == (2 * X).tolist()
            assert compiled.tracing_count == recordings
            module["k"] = 5.0
            assert compiled(X).tolist() == (5 * X).tolist()
            assert "the global k was 2.0 and became 5.0" in compiled.explain()


def test_traces_that_are_joined_are_guarded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    module = define("k, j = 2.0, 3.0\ndef f(x): return x * k if x[0] > 0 else x * j")
    with reads_decide(monkeypatch):
        compiled = tj.function(module["f"])
        assert (compiled(X) / X).tolist() == [2.0, 2.0, 2.0]
        assert (compiled(-X) / -X).tolist() == [3.0, 3.0, 3.0]
        for name in ("k", "j"):
            module[name] = 7.0
        assert (compiled(X) / X).tolist() == [7.0, 7.0, 7.0]
        assert (compiled(-X) / -X).tolist() == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("first", range(0, by_day(20, 500), 10))
def test_random_functions_compiled(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with reads_decide(monkeypatch):
        for seed in range(first, first + 10):
            assert not compare_compiled(seed, writes=seed % 2 == 1)


def test_what_is_kept_is_kept_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    module = define(
        """
        class A: pass
        kept, a = {}, A()
        def f(x, n):
            kept["a"] = x * 2
            kept[n] = [x]
            a.last = x + 1
            return x * 3
        """
    )
    with reads_decide(monkeypatch):
        compiled = tj.function(module["f"])
        for k in (1, 2, 2, 3):
            assert compiled(X * k, k).tolist() == (X * k * 3).tolist()
            kept, last = module["kept"], module["a"].last
            for found, wanted in ((kept["a"], 2), (kept[k][0], 1)):
                assert_same(found, X * k * wanted)
            assert_same(last, X * k + 1)


def test_sparse_matrices_that_are_dicts(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.dok_array(np.diag(X))
    module = define("def f(x): return m @ x", m=matrix)
    with reads_decide(monkeypatch):
        compiled = tj.function(module["f"])
        for k in range(3):
            assert compiled(X).tolist() == (matrix @ X).tolist()
            matrix[0, k] = 5.0
