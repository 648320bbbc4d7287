"""A view of a captured array is an operation on it, and shows the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tracejit as tj
from tests.by_day import by_day
from tracejit.trace.capture.views import CapturedView, view_between

A = np.arange(60.0).reshape(3, 4, 5)


def shows(view: Any, array: np.ndarray) -> bool:
    """Whether what `view_between` finds is exactly this view."""
    found = view_between(array, view)
    if found is None:
        return False
    made = found.of(array)
    return (
        type(made) is np.ndarray
        and made.shape == view.shape
        and made.__array_interface__["data"] == view.__array_interface__["data"]
        and np.array_equal(made, view)
    )


@pytest.mark.parametrize(
    "view",
    [
        A.T,
        A[1],
        A[1, 2],
        A[1, 2, 3, ...],
        A[1:],
        A[:, ::2],
        A[::-1, 1:3, ::-2],
        A[1:2],
        A[:, 3],
        A.swapaxes(0, 1),
        A.transpose(1, 2, 0)[::-1],
        A[None],
        A[:, None, 1],
        A[0:1].T,
        A.ravel(),
        A.reshape(12, 5),
        A.reshape(-1)[7:13],
        A[1].reshape(2, 10),
        A.reshape(-1)[7:13].reshape(2, 3),
    ],
)
def test_what_indexing_turning_and_reshaping_make_is_found(view: np.ndarray) -> None:
    assert shows(view, A)


@pytest.mark.parametrize(
    "view",
    [
        np.broadcast_to(A[0], (2, 4, 5)),
        np.lib.stride_tricks.sliding_window_view(A[0, 0], 2),
        A.view(np.int64),
        (A + 1.0)[1],
        A[:0],
        A[:, :2].copy(),
        np.diagonal(A[0]),
    ],
)
def test_what_is_made_otherwise_is_not(view: np.ndarray) -> None:
    assert view_between(A, view) is None


def test_text_is_a_users() -> None:
    assert view_between(A[0], A[0, 1:3]) == CapturedView((slice(1, 3), slice(None)), (0, 1))
    assert view_between(A[0], A[0, ::-1]) == CapturedView(
        (slice(None, None, -1), slice(None)), (0, 1)
    )
    assert view_between(A[0], A[0].T) == CapturedView((slice(None), slice(None)), (1, 0))


@settings(max_examples=by_day(60, 300), deadline=None)
@given(st.data())
def test_every_chain_of_indices_and_turns_is_found(data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(max_dims=4, max_side=6))
    base = np.arange(float(np.prod(shape))).reshape(shape)
    base = base.transpose(data.draw(st.permutations(range(base.ndim))))
    base = base[data.draw(arrays.basic_indices(base.shape, min_dims=1, allow_ellipsis=True))]
    view = base
    for _ in range(data.draw(st.integers(1, 3))):
        view = view[data.draw(arrays.basic_indices(view.shape, allow_newaxis=True))]
        if not isinstance(view, np.ndarray):
            return
        view = view.transpose(data.draw(st.permutations(range(view.ndim))))
    assert not view.size or not isinstance(base, np.ndarray) or shows(view, base)


# In a function


def arguments(f: Any) -> list[str]:
    """The parameters of the newest kernel."""
    line = next(line for line in f.source.splitlines() if line.startswith("def forward("))
    return line[len("def forward(") : -2].split(", ")


def test_a_hundred_uses_of_a_view_take_one_argument() -> None:
    weights = np.random.default_rng(0).standard_normal((5, 5))

    @tj.function(exact=True)
    def f(x: Any) -> Any:
        for _ in range(100):
            x = np.tanh(weights.T @ x)
        return x

    x = np.linspace(-1.0, 1.0, 5)
    np.testing.assert_array_equal(f(x), f.python(x))
    assert arguments(f) == ["x", "weights"]
    weights *= 0.5
    np.testing.assert_array_equal(f(x), f.python(x))


@pytest.mark.parametrize("exact", [True, False])
def test_windows_into_a_captured_array_take_one_argument(exact: bool) -> None:
    data = np.random.default_rng(1).standard_normal((20, 5))

    @tj.function(exact=exact)
    def f(x: Any) -> Any:
        y = 0.0
        for i in range(20):
            y = y + data[i] @ x
        for start in (0, 10):
            y = y + np.sum(data[start : start + 10] @ x)
        return y + np.sum(data[::-2, ::-1] @ x) + data.reshape(-1)[3:8] @ x

    x = np.linspace(-1.0, 1.0, 5)
    np.testing.assert_allclose(f(x), f.python(x), rtol=1e-14 if not exact else 0)
    assert arguments(f) == ["x", "data"]
    gradient = tj.grad(f)(x)
    np.testing.assert_allclose(gradient, tj.grad(f.python)(x))


def test_a_captured_view_of_what_is_not_captured_is_the_argument() -> None:
    holder = {"w": np.arange(63.0).reshape(7, 9)[1:6, 2:7]}
    f = tj.function(lambda x: holder["w"].T @ x, exact=True)
    x = np.ones(5)
    np.testing.assert_array_equal(f(x), f.python(x))
    assert arguments(f) == ["x", "w"]


def test_what_cannot_be_expressed_is_an_argument_of_its_own() -> None:
    z = np.arange(4.0) + 1j
    windows = np.arange(8.0)

    @tj.function(exact=True)
    def f(x: Any) -> Any:
        parts = np.lib.stride_tricks.sliding_window_view(windows, 4)
        return x * z.real + np.sum(parts @ x)

    x = np.ones(4)
    np.testing.assert_array_equal(f(x), f.python(x))
    z += 5.0
    windows += 1.0
    np.testing.assert_array_equal(f(x), f.python(x))
    assert len(arguments(f)) == 3


def test_a_subclass_is_not_indexed_by_the_kernel() -> None:
    table = np.arange(9.0).reshape(3, 3).view(np.memmap)
    f = tj.function(lambda x: np.asarray(table)[1] * x, exact=True)
    np.testing.assert_array_equal(f(np.ones(3)), [3.0, 4.0, 5.0])


def test_a_view_is_returned_as_an_array_of_its_own() -> None:
    table = np.arange(6.0).reshape(2, 3)
    f = tj.function(lambda x: (table.T, x))
    found, _ = f(np.ones(1))
    np.testing.assert_array_equal(found, table.T)
    assert not np.shares_memory(found, table)


def test_a_decision_reads_the_view() -> None:
    table = np.arange(6.0).reshape(2, 3)
    f = tj.function(lambda x: x + 1.0 if np.sum(table[1] * x) > 10.0 else x - 1.0)
    assert f(np.ones(3))[0] == 2.0
    table[1] = 0.0
    assert f(np.ones(3))[0] == 0.0
