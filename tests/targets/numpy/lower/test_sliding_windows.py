"""Slices that are put together as windows: which are, and that not a bit changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret
from tests.rows import each_row
from tests.support.arrays import normal
from tests.support.graphs import graph_of, ops_of
from tracejit.ir.verify import verify
from tracejit.passes.framework.dce import drop_dead
from tracejit.targets.numpy.lower.sliding_windows import view_windows


def patches(x: Any) -> Any:
    """What a filter of 3 x 3 sees of each place."""
    height, width = x.shape[1] - 2, x.shape[2] - 2
    slices = [x[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return np.concatenate(slices, axis=-1)


def lags(x: Any) -> Any:
    """Every row with the four before it."""
    return np.concatenate([x[k : len(x) - 4 + k] for k in range(5)], axis=1)


SHOWN = {
    "patches": (patches, (9, 28, 28, 3), 3),
    "patches of many channels": (patches, (4, 28, 28, 16), 3),
    "lags": (lags, (4000, 2), 1),
    "two runs": (
        lambda x: np.concatenate([x[:-3], x[1:-2], x[:-3], x[1:-2], x[2:-1]], axis=1),
        (4000, 4),
        2,
    ),
    "a run among others": (
        lambda x: np.concatenate([x[2:] * x[2:], x[:-2], x[1:-1], x[2:], x[2:]], axis=1),
        (4000, 4),
        1,
    ),
    "parts in other axes": (
        lambda x: np.concatenate([x[3:5, :-1], x[3:5, 1:]], axis=2),
        (9, 4000, 3),
        1,
    ),
    "what is computed": (lambda x: lags(np.sin(x)), (4000, 3), 1),
}


@each_row("dtype", ["f4", "f8", "c16", "i8", "b1"])
@each_row(("f", "shape", "count"), SHOWN.values())
def test_what_is_shown(f: Any, shape: Any, count: int, dtype: str) -> None:
    x = (normal(*shape) * 9.0).astype(dtype)
    graph = graph_of(f, x)
    shown = drop_dead(view_windows(graph))
    verify(shown)
    assert ops_of(shown).count("windows") == count
    (expected,), (found,) = interpret(graph, x), interpret(shown, x)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


STAYS = {
    "few elements": (lags, (100, 2)),
    "one channel": (lags, (9000, 1)),
    "many channels": (lags, (4000, 17)),
    "another axis": (lambda x: np.concatenate([x[:-1], x[1:]], axis=0), (9000, 3)),
    "two places further": (lambda x: np.concatenate([x[:-2], x[2:]], axis=1), (9000, 3)),
    "backwards": (lambda x: np.concatenate([x[1:], x[:-1]], axis=1), (9000, 3)),
    "every other row": (lambda x: np.concatenate([x[:-1:2], x[1::2]], axis=1), (9000, 3)),
    "some channels": (lambda x: np.concatenate([x[:-1, :2], x[1:, :2]], axis=1), (9000, 3)),
    "along the first axis": (
        lambda x: np.concatenate([x[:-1, 1:], x[1:, 1:]], axis=2),
        (90, 90, 3),
    ),
    "other arrays": (lambda x: np.concatenate([x[:-1], (x * 2.0)[1:]], axis=1), (9000, 3)),
}


@pytest.mark.parametrize(("f", "shape"), STAYS.values(), ids=STAYS)
def test_what_stays(f: Any, shape: Any) -> None:
    assert "windows" not in ops_of(drop_dead(view_windows(graph_of(f, normal(*shape)))))


@pytest.mark.parametrize("make", [np.ascontiguousarray, np.asfortranarray, lambda x: x[::-1]])
@pytest.mark.parametrize(("f", "shape"), [(patches, (9, 28, 28, 3)), (lags, (4000, 2))])
def test_kernels_and_gradients(f: Any, shape: Any, make: Any) -> None:
    """Also of arrays whose last axes do not lie in a row; the argument stays as it is, and the
    result is the caller's."""
    x = make(normal(*shape))
    before = x.copy()
    function = tj.function(f, cache=False)
    found = function(x)
    assert "sliding_window_view(" in function.kernels[-1].source
    np.testing.assert_array_equal(found, f(x))
    found[...] = 0.0
    np.testing.assert_array_equal(x, before)

    def loss(x: Any) -> Any:
        return np.sum(np.sin(f(x)) ** 2)

    value, gradient = tj.value_and_grad(tj.function(loss, cache=False))(x)
    exact, expected = tj.value_and_grad(tj.function(loss, cache=False, exact=True))(x)
    np.testing.assert_allclose(value, exact, rtol=1e-13)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-13)
