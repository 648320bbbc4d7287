"""Arranging arrays, counting in them, and asking about them: spellings, corners and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import tracejit as tj
from tests.interpret import record, run
from tests.rows import each_row
from tests.support.compare import same_for_each
from tests.support.graphs import template_of
from tracejit.support.errors import InPlaceError, ShapeError, UnsupportedError, ValueNeededError

X = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, 0.0]])
V = np.array([0.0, 2.0, -1.0, 0.5])
N = np.array([2, 0, 1])


@pytest.mark.parametrize(
    ("call", "spelling"),
    [
        (lambda x: np.histogram(x, 4)[0], "np.histogram({0}, 4)[0]"),
        (lambda x: np.histogram(x, 4, (0, 1))[0], "np.histogram({0}, 4, range=({1}, {2}))[0]"),
        (lambda x: np.histogram(x, 4, weights=x)[0], "np.histogram({1}, 4, weights={0})[0]"),
        (lambda x: np.histogram_bin_edges(x, 4), "np.histogram_bin_edges({0}, 4)"),
        (lambda x: np.bincount(N, x), "np.bincount({0}, {1})"),
        (lambda x: np.bincount(N, x, 5), "np.bincount({0}, {1}, minlength=5)"),
        (lambda x: np.digitize(x, [0.0, 1.0]), "np.digitize({0}, {1})"),
        (lambda x: np.digitize(x, [0.0, 1.0], True), "np.digitize({0}, {1}, right=True)"),
        (lambda x: np.isin(x, [1.0], kind="sort"), "np.isin({0}, {1}, kind='sort')"),
        (lambda x: np.lexsort((x, x)), "np.lexsort(({0}, {1}))"),
        (
            lambda x: np.ravel_multi_index((x.astype(int),), (4,), "clip"),
            "np.ravel_multi_index(({0},), (4,), mode='clip')",
        ),
        (
            lambda x: sliding_window_view(x, 2),
            "np.lib.stride_tricks.sliding_window_view({0}, 2)",
        ),
        (lambda x: np.copy(x, order="F"), "np.array({0}, order='F')"),
    ],
)
def test_spelling(call: Callable[..., Any], spelling: str) -> None:
    node = record(call, V[:3])[0].nodes[-1]
    assert template_of(node) == spelling


# What is known without the numbers


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: np.result_type(x, np.float32),
        lambda x: np.result_type(x.astype(np.float32), 2.0, 1),
        lambda x: np.result_type(x[0, 0].astype("i1"), 300),
        lambda x: np.can_cast(x, np.float32),
        lambda x: np.can_cast(x, "f4", casting="same_kind"),
        lambda x: np.can_cast("i4", x.dtype),
        lambda x: np.common_type(x, x.astype(np.complex64)),
        lambda x: np.min_scalar_type(x),
        lambda x: np.size(x, -1),
        lambda x: (np.ndim(x), np.shape(x), np.iterable(x), np.isscalar(x), np.isscalar(x[0, 0])),
        lambda x: (np.iscomplexobj(x), np.isrealobj(x), np.broadcast_shapes(x.shape, (2, 1))),
        lambda x: (np.array_equal(x, x[0]), np.array_equal(x, x.T), np.array_equiv(x, x.T)),
        lambda x: (
            np.arange(3, like=x).tolist() + np.fromfunction(np.add, (2,) * 2, like=x).tolist()
        ),
    ],
)
def test_types_and_shapes_are_answered_while_recording(ask: Callable[..., Any]) -> None:
    answers: list[Any] = []
    tj.function(lambda x: answers.append(ask(x)) or x)(X)
    assert answers == [ask(X)]
    assert [type(answer) for answer in answers] == [type(ask(X))]


def test_sizes_of_several_axes_multiply() -> None:
    answers: list[int] = []
    tj.function(lambda x: answers.append(np.size(x, (0, 1))) or x)(X)
    assert answers == [6]


def test_equality_of_arrays_is_a_decision() -> None:
    f = tj.function(lambda x, y: x * 2.0 if np.array_equal(x, y) else x + y)
    for y in (X, X + 1.0, X):
        assert np.array_equal(f(X, y), X * 2.0 if y is X else X + y)
    x = tj.constant([1.0, np.nan])
    assert np.array_equal(x, x, equal_nan=True)
    assert not np.array_equal(x, x)
    assert not np.array_equal(x, x * 2.0, equal_nan=True)
    assert np.array_equiv(x[:1], tj.constant([[1.0], [1.0]]))


# Piecewise


def test_a_branch_that_is_not_taken_leaves_no_trace_in_the_gradient() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.piecewise(x, [x > 0], [np.log, lambda v: v * 3.0]))

    np.testing.assert_array_equal(tj.grad(f)(V), [3.0, 0.5, 3.0, 2.0])
    none = np.array([0.0, -1.0])
    np.testing.assert_array_equal(tj.grad(f)(none), [3.0, 3.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda v: v - np.mean(v),
        lambda v: np.cumsum(v),
        lambda v: v * len(v),
        lambda v: v[::-1],
        lambda v: v * np.arange(v.size),
        lambda v: v + np.sum(v * 0.0),
        lambda v: np.max(v),
        lambda v: [1.0, 2.0],
    ],
)
def test_pieces_under_recorded_conditions_are_elementwise(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="elementwise"):
        tj.function(lambda x: np.piecewise(x, [x > 0], [function]))(V)


def test_pieces_may_use_numbers_from_outside() -> None:
    def f(x: Any, scale: Any) -> Any:
        return np.piecewise(x, [x > 0], [lambda v: np.exp(v * scale) + scale.astype(float), scale])

    scale = np.float64(0.3)
    np.testing.assert_array_equal(tj.function(f)(V, scale), f(V, scale))


# Captured arrays


def test_counts_follow_a_captured_array() -> None:
    places = np.array([0, 1, 1])
    f = tj.function(lambda w: np.bincount(places, w))
    np.testing.assert_array_equal(f(np.ones(3)), [1.0, 2.0])
    places[0] = 3
    np.testing.assert_array_equal(f(np.ones(3)), [0.0, 2.0, 0.0, 1.0])


def test_histograms_follow_captured_edges() -> None:
    edges = np.array([0.0, 1.0, 2.0])
    f = tj.function(lambda x: np.histogram(x, edges)[0])
    np.testing.assert_array_equal(f(V), [2, 1])
    edges[2] = 1.5
    np.testing.assert_array_equal(f(V), [2, 0])


def test_margins_that_numpy_leaves_open_are_zero() -> None:
    np.testing.assert_array_equal(tj.function(lambda x: np.pad(x, 1, "empty"))(N), [0, *N, 0])


# Memory: what is written to a copy is not seen elsewhere, and a view shows what is written


def _written_before(call: Callable[..., Any], arranged: Callable[..., Any], x: Any) -> Any:
    x = arranged(x.copy())
    y = call(x)
    x[(0,) * x.ndim] = 7.0
    return y


def _written_after(call: Callable[..., Any], arranged: Callable[..., Any], x: Any) -> Any:
    x = arranged(x.copy())
    y = call(x)
    y[(0,) * y.ndim] = 7.0
    return [x, y]


@each_row("write", [_written_before, _written_after])
@each_row(
    "arranged",
    [lambda x: x, lambda x: x.T, lambda x: x[:, ::2], lambda x: x[0, ::2]],
)
@each_row(
    "call",
    [
        lambda x: np.pad(x, 0, "edge"),
        lambda x: np.pad(x, 0, "mean"),
        lambda x: np.meshgrid(x[0], x)[0],
        lambda x: np.meshgrid(x, [1.0], sparse=True)[0],
        lambda x: np.meshgrid(x, [1.0], sparse=True, copy=False)[0],
        lambda x: x.astype(float),
        lambda x: x.astype(float, copy=False),
        lambda x: np.reshape(x, -1, copy=True),
        lambda x: np.reshape(x, -1, order="F"),
        lambda x: np.ravel(x),
        lambda x: np.ravel(x, "F"),
        lambda x: np.ravel(np.copy(x, "F")),
        lambda x: np.block(x),
        lambda x: np.full_like(x, x.T[0, :1] if x.ndim > 1 else x[:1]),
        lambda x: np.array(x, like=x),
        lambda x: np.asarray(x, like=x),
        lambda x: np.ascontiguousarray(x, like=x),
        lambda x: np.apply_over_axes(np.sum, x, []),
        lambda x: np.flip(x, 0),
        lambda x: sliding_window_view(x, 1, 0),
        lambda x: np.piecewise(x, [x > 9], [1.0]),
    ],
)
def test_results_share_memory_as_numpys_do_or_refuse(
    call: Callable[..., Any], arranged: Callable[..., Any], write: Callable[..., Any]
) -> None:
    x = np.arange(1.0, 13.0).reshape(3, 4)
    try:
        found = tj.function(lambda x: write(call, arranged, x))(x)
    except (InPlaceError, ShapeError):
        return
    expected = write(call, arranged, x)
    assert len(found) == len(expected)
    for actual, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)


# Refusals


def _ignore(*args: Any) -> None:
    """A function for np.pad."""


@each_row(
    ("call", "error", "text"),
    [
        (lambda x: np.isin(x, [1.0], kind="table"), ShapeError, "integer"),
        (lambda x: np.bincount(N, x), ShapeError, "depth"),
        (lambda x: np.bincount(N, x[0, :2]), ShapeError, "same length"),
        (lambda x: np.bincount(-N, x[0]), ShapeError, "negative"),
        (lambda x: np.bincount(N, x[0] * 1j), UnsupportedError, "double precision"),
        (lambda x: np.bincount(N, x[0], x[0]), UnsupportedError, "depends on minlength"),
        (lambda x: np.digitize(x, x), ShapeError, "depth"),
        (lambda x: np.digitize(x * 1j, [0.0]), UnsupportedError, "complex"),
        (lambda x: np.histogram(x, "auto"), UnsupportedError, "bins='auto'"),
        (lambda x: np.histogram(x, 0), ShapeError, "positive"),
        (lambda x: np.histogram(x, [2, 1]), ShapeError, "monotonically"),
        (lambda x: np.histogram(x, 3, (1, 0)), ShapeError, "max must be larger"),
        (lambda x: np.histogram(x, 3, weights=x[0]), ShapeError, "same shape"),
        (lambda x: np.histogram(x * 1j), UnsupportedError, "complex"),
        (lambda x: np.histogram(x, [[1, 2]]), ShapeError, "1d"),
        (lambda x: np.histogramdd(x, (2, 2)), ShapeError, "dimension"),
        (lambda x: np.histogramdd(x, 2, [None]), ShapeError, "one entry per dimension"),
        (lambda x: np.histogram2d(x[0], x[0, 1:]), ShapeError, "same length"),
        (lambda x: np.lexsort((x, x[0])), ShapeError, "same shape"),
        (lambda x: np.lexsort(()) if x is None else np.lexsort(x, 2), ShapeError, "out of bounds"),
        (lambda x: np.sort(x, order="name"), UnsupportedError, "fields"),
        (lambda x: np.partition(x, 1, kind="sort"), ShapeError, "introselect"),
        (lambda x: np.searchsorted(x[0], 1.0, sorter=[0]), ShapeError, "sorter.size"),
        (lambda x: np.ravel_multi_index(x, (2, 2)), UnsupportedError, "int"),
        (lambda x: np.ravel_multi_index(x.astype(int), (2,)), ShapeError, "length 1, not 2"),
        (lambda x: np.ravel_multi_index(x.astype(int), (2, 2), "no"), ShapeError, "mode must"),
        (lambda x: np.unravel_index(x.astype(int), (2, 2), "K"), ShapeError, "order"),
        (lambda x: np.ix_(x), ShapeError, "1 dimensional"),
        (lambda x: sliding_window_view(x, 3, axis=0), ShapeError, "larger than input"),
        (lambda x: sliding_window_view(x, -1, axis=0), ShapeError, "negative"),
        (lambda x: sliding_window_view(x, 2), ShapeError, "all dimensions"),
        (lambda x: sliding_window_view(x, 2, axis=(0, 1)), ShapeError, "matching length"),
        (lambda x: as_strided(x, (2,), (8,)), ValueNeededError, "np.asarray"),
        (lambda x: np.pad(x, 1, "reflect", reflect_type="no"), ShapeError, "reflect_type"),
        (lambda x: np.pad(x, 1, "edge", constant_values=1), UnsupportedError, "constant_values"),
        (lambda x: np.pad(x, 1, "no"), ShapeError, "mode 'no'"),
        (lambda x: np.pad(x, 1, _ignore), UnsupportedError, "a function as mode"),
        (lambda x: np.pad(x[:0], 1, "mean"), ShapeError, "empty axis 0"),
        (lambda x: np.pad(x, 1, "maximum", stat_length=0), ShapeError, "stat_length of 0"),
        (lambda x: np.piecewise(x, [x > 1], [1, 2, 3]), ShapeError, "either 1 or 2 functions"),
        (lambda x: np.piecewise(x, [x[0] > 1], [1]), UnsupportedError, "condition of shape"),
        (lambda x: np.apply_along_axis(np.sum, 2, x), ShapeError, "out of bounds"),
        (lambda x: np.apply_along_axis(np.sum, 0, x[:, :0]), ShapeError, "dimensions are 0"),
        (lambda x: np.apply_over_axes(lambda a, k: a[0, 0], x, 0), ShapeError, "correct shape"),
        (lambda x: np.array2string(x), UnsupportedError, "needs its numbers"),
        (lambda x: np.array_repr(x), UnsupportedError, "needs its numbers"),
        (lambda x: np.may_share_memory(x, x), UnsupportedError, "np.may_share_memory"),
        (lambda x: np.shares_memory(X, x), UnsupportedError, "share memory"),
        (lambda x: np.min_scalar_type(x[0, 0]), UnsupportedError, "depends on the number"),
        (lambda x: np.stack((x, x), dtype="i4"), UnsupportedError, "rule 'same_kind'"),
        (lambda x: np.ravel(x, "K"), UnsupportedError, "lies in memory"),
        (lambda x: np.copy(x, "Z"), ShapeError, "order must be"),
        (lambda x: np.zeros_like(x, device="gpu"), ShapeError, "Device not understood"),
        (lambda x: np.array(x, order="F", like=x), UnsupportedError, "order='F'"),
        (lambda x: np.require(x, requirements="F", like=x), UnsupportedError, "requirement 'F'"),
        (lambda x: np.asarray(x), ValueNeededError, "np.stack"),
        (lambda x: np.array([x, x]), ValueNeededError, "np.stack"),
        (lambda x: np.require(x), ValueNeededError, "np.stack"),
        (lambda x: np.ascontiguousarray(x), ValueNeededError, "np.stack"),
        (lambda x: np.r_[x, x], ValueNeededError, "np.concatenate"),
        (lambda x: np.c_[x, x], ValueNeededError, "np.concatenate"),
        (lambda x: list(np.ndenumerate(x)), ValueNeededError, "np.asarray"),
    ],
)
def test_what_numpy_or_tracejit_refuses(
    call: Callable[..., Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        run(call, X)


@pytest.mark.usefixtures("as_written")
@each_row(
    ("call", "text"),
    [
        (lambda x: np.unique(x), "np.unique .* how many elements"),
        (lambda x: np.unique_counts(x), "how many elements"),
        (lambda x: np.setdiff1d([1.0], x), "how many elements"),
        (lambda x: np.intersect1d(x, [1.0]), "how many elements"),
        (lambda x: np.trim_zeros(x[0]), "how many elements"),
        (lambda x: np.bincount(x[0].astype(int)), "depends on x"),
        (lambda x: np.bincount(x[0].astype(int), minlength=9), "depends on x"),
        (lambda x: np.histogram(x, np.argmax(x)), "depends on bins"),
        (lambda x: np.partition(x, np.argmax(x)), "depends on kth"),
        (lambda x: np.ix_(x[0] > 1), "how many elements a condition selects"),
        (lambda x: sliding_window_view(x, 2, 0, writeable=True), "writeable"),
    ],
)
def test_what_is_refused_as_written(call: Callable[..., Any], text: str) -> None:
    with pytest.raises(UnsupportedError, match=text):
        run(call, X)


@each_row(
    "call",
    [
        lambda x: np.unique(x),
        lambda x: np.intersect1d(x, [1.0]),
        lambda x: np.setdiff1d([1.0, 9.0], x),
        lambda x: np.trim_zeros(x[0]),
        lambda x: np.bincount(x[0].astype(int)),
        lambda x: np.bincount(x[0].astype(int), minlength=9),
        lambda x: np.histogram(x, np.argmax(x)),
        lambda x: np.partition(x, np.argmax(x), axis=None),
        lambda x: x[np.ix_([1, 0], x[0] > 1)],
        lambda x: sliding_window_view(x, 2, 0, writeable=True) * 2.0,
    ],
)
def test_numbers_that_arrange_have_a_recording_for_each_pattern(call: Callable[..., Any]) -> None:
    same_for_each(call, X, np.array([[0.0, 1.0, 1.0], [0.5, 0.25, 7.0]]))
