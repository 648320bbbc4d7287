"""Sums over one axis and extremes in columns: what each becomes, and that it is the same."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.interpret import interpret, record
from tests.passes.test_lower import bound, normal, ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.dce import drop_dead
from tracejit.passes.reductions import arrange_reductions
from tracejit.passes.simplify import simplify

EDGES = [0.0, -0.0, 1.0, 1e30, -1e30, 1e-30, np.inf, -np.inf, np.nan]
COLUMNS = ["transpose", "ascontiguousarray"]
ARRANGED = {
    "columns of two axes": (
        lambda x: np.sum(x, axis=(0, 1)),
        (40, 50, 6),
        ["reshape", "sum"],
    ),
    "columns of two axes kept": (
        lambda x: np.sum(x, axis=(0, 1), keepdims=True),
        (40, 50, 6),
        ["reshape", "sum", "reshape"],
    ),
    "columns of stacks": (lambda x: np.sum(x, axis=(1, 2)), (30, 10, 10, 8), ["reshape", "sum"]),
    "rows of two axes": (lambda x: np.sum(x, axis=(1, 2)), (2000, 3, 4), ["reshape", "sum"]),
    "a mean": (lambda x: np.mean(x, axis=(0, 1)), (100, 20, 10), ["reshape", "sum", "divide"]),
    "maximum of rows": (lambda x: np.max(x, axis=1), (200, 7), [*COLUMNS, "max"]),
    "maximum of rows kept": (
        lambda x: np.max(x, axis=1, keepdims=True),
        (200, 7),
        [*COLUMNS, "max", "reshape"],
    ),
    "minimum of rows of stacks": (
        lambda x: np.min(x, axis=-1),
        (20, 30, 4),
        ["reshape", *COLUMNS, "min", "reshape"],
    ),
}  # fmt: skip


def graph_of(f: Any, *args: Any) -> Graph:
    """The graph of a call, as it comes to the pass."""
    return drop_dead(simplify(record(f, *args)[0]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("f", "shape", "ops"), ARRANGED.values(), ids=ARRANGED)
def test_what_each_becomes(f: Any, shape: Any, ops: list[str], dtype: str) -> None:
    x = normal(*shape, dtype=dtype)
    graph = graph_of(f, x)
    arranged = drop_dead(arrange_reductions(graph))
    verify(arranged)
    assert ops_of(arranged) == ops
    (expected,), (found,) = interpret(graph, x), interpret(arranged, x)
    assert (type(found), found.dtype, found.shape) == (type(expected), x.dtype, expected.shape)
    wide = f(x.astype(np.longdouble))
    error = np.abs(found - wide)
    assert np.all(error <= np.abs(expected - wide) + bound(f, [x]))


STAYS = {
    "few elements": (lambda x: np.sum(x, axis=(0, 1)), np.ones((10, 10, 10))),
    "one axis": (lambda x: np.sum(x, axis=1), np.ones((2000, 10))),
    "large": (lambda x: np.sum(x, axis=(0, 1)), np.ones((5000, 10, 4))),
    "everything": (lambda x: np.sum(x), np.ones((2000, 7))),
    "axes that are not neighbours": (lambda x: np.sum(x, axis=(0, 2)), np.ones((100, 20, 10))),
    "whole numbers": (lambda x: np.sum(x, axis=(0, 1)), np.ones((200, 70, 2), int)),
    "half precision": (lambda x: np.sum(x, axis=(0, 1)), np.ones((200, 70, 2), "f2")),
    "another dtype": (
        lambda x: np.sum(x, axis=(0, 1), dtype="f8"),
        np.ones((200, 70, 2), "f4"),
    ),
    "maximum of long rows": (lambda x: np.max(x, axis=1), np.ones((200, 100))),
    "maximum of few rows": (lambda x: np.max(x, axis=1), np.ones((20, 10))),
    "maximum of columns": (lambda x: np.max(x, axis=0), np.ones((200, 10))),
}  # fmt: skip


@pytest.mark.parametrize(("f", "x"), STAYS.values(), ids=STAYS)
def test_what_stays(f: Any, x: Any) -> None:
    graph = graph_of(f, x)
    assert ops_of(drop_dead(arrange_reductions(graph))) == ops_of(graph)


def test_a_view_of_other_strides_stays() -> None:
    """Another shape of it would be a copy."""
    graph = graph_of(lambda x: np.sum(x.T, axis=(0, 1)), np.ones((7, 50, 40)))
    assert "reshape" not in ops_of(drop_dead(arrange_reductions(graph)))


def test_rows_that_go_in_tiles_stay() -> None:
    """Extremes of a large array, and of a smaller one with as many rows."""

    def f(x: Any, y: Any) -> Any:
        return np.max(np.tanh(x), axis=1) * np.max(y, axis=1)

    graph = graph_of(f, np.ones((8000, 20)), np.ones((8000, 4)))
    assert "transpose" not in ops_of(drop_dead(arrange_reductions(graph)))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(ARRANGED)),
    st.sampled_from(["f4", "f8"]),
    st.lists(st.sampled_from(EDGES), max_size=5),
    st.randoms(use_true_random=False),
)
def test_kernels_are_as_exact_ones(
    case: str, dtype: str, special: list[float], random: Any
) -> None:
    """Values, and infinities and nan where they were."""
    f, shape, _ = ARRANGED[case]
    x = normal(*shape, dtype=dtype)
    for number in special:
        x.reshape(-1)[random.randrange(x.size)] = number
    with np.errstate(all="ignore"):
        found, expected = _both(case)
        result, exact = found(x), expected(x)
        assert (result.dtype, result.shape) == (exact.dtype, exact.shape)
        finite = np.isfinite(exact)
        np.testing.assert_array_equal(result[~finite], exact[~finite])
        assert np.all(np.isfinite(result[finite]))
        if not np.all(np.isfinite(x)):
            return
        allowed = 4 * x.size**0.5 * bound(f if "m of" not in case else np.max, [x])
        assert np.all(np.abs(result - exact) <= allowed)


_kernels: dict[str, tuple[Any, Any]] = {}


def _both(case: str) -> tuple[Any, Any]:
    f = ARRANGED[case][0]
    if case not in _kernels:
        made = tj.function(f, cache=False), tj.function(f, cache=False, exact=True)
        _kernels[case] = made
    return _kernels[case]


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_sizes_of_terms(scale: float) -> None:
    """Large and small terms add up as they do in NumPy."""
    x = normal(40, 50, 6) * scale
    found, expected = _both("columns of two axes")
    np.testing.assert_allclose(found(x), expected(x), rtol=1e-12, atol=1e-13 * scale)


def test_float32_keeps_its_digits() -> None:
    """Long columns have a smaller error than NumPy's row after row."""
    x = (1.0 + np.random.default_rng(0).random((16, 700, 16))).astype("f4")
    wide = x.astype("f8").sum((0, 1))
    found = tj.function(lambda x: np.sum(x, axis=(0, 1)), cache=False)(x)
    assert np.abs(found - wide).max() < 0.2 * np.abs(np.sum(x, axis=(0, 1)) - wide).max()


SUMS = """
import numpy as np
import tracejit as tj
x = np.random.default_rng(0).normal(size=(8, 1000, 16))
f = tj.function(lambda x: (np.sum(x, axis=(0, 1)), np.sum(x[:, 3:], axis=(1, 2))))
print([part.tobytes().hex() for part in f(x)])
"""


def test_threads_of_the_blas_change_nothing() -> None:
    """The bits of sums in blocks are those of one thread."""
    found = set()
    for count in (1, 2, 4):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(count), "TRACEJIT_CACHE": "0"}
        command = [sys.executable, "-c", SUMS]
        found.add(subprocess.check_output(command, env=environment, text=True))
    assert len(found) == 1
