"""How sorting and searching are spelled, ties, and what depends on values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpret import interpret, record, run
from tests.support.compare import same_for_each
from tests.support.graphs import template_of
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.support.errors import ShapeError, UnsupportedError

X = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "spelling"),
    [
        (lambda x: np.sort(x), "np.sort({0})"),
        (lambda x: np.sort(x, axis=0), "np.sort({0}, axis=0)"),
        (lambda x: np.sort(x, stable=True), "np.sort({0}, kind='stable')"),
        (lambda x: x.argsort(0, "heapsort"), "{0}.argsort(axis=0, kind='heapsort')"),
        (lambda x: np.argsort(x, axis=1), "{0}.argsort()"),
        (lambda x: np.partition(x, [1, 2]), "np.partition({0}, (1, 2))"),
        (lambda x: np.searchsorted([1.0, 2.0], x), "{0}.searchsorted({1})"),
        (lambda x: np.unravel_index(x.astype(int), (9, 9)), "np.unravel_index({0}, (9, 9))"),
        (lambda x: np.choose([0, 1, 0], x), "np.choose({0}, ({1}, {2},))"),
    ],
)
def test_spelling(call: Any, spelling: str) -> None:
    node = record(call, X)[0].nodes[-1]
    assert template_of(node) == spelling


@pytest.mark.parametrize("call", [np.sort, lambda x: np.partition(x, 2)])
def test_equal_elements_keep_one_cotangent_each(call: Any) -> None:
    x = np.array([2.0, 1.0, 2.0, 1.0, 1.0])
    started = run(call, x)
    (y,) = started.tensors
    (g,) = gradients([y], started.inputs, [started.recording.argument("g", y.type)])
    seed = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    (found,) = interpret(started.finish(g), x, seed)[1:]
    assert sorted(found) == sorted(seed)
    assert {found[1], found[3], found[4]} == {1.0, 2.0, 4.0}


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.sort(x, axis=2), ShapeError, "axis 2 is out of bounds"),
        (lambda x: np.sort(x, order="name"), UnsupportedError, "keyword order"),
        (lambda x: np.sort(x, kind="stable", stable=True), ShapeError, "at the same time"),
        (lambda x: np.partition(x, 3), ShapeError, "out of bounds"),
        (lambda x: np.searchsorted(x, 1.0), ShapeError, "depth"),
        (lambda x: np.searchsorted(x[0], 1.0, "top"), ShapeError, "search side"),
        (lambda x: np.select([x], [x]), UnsupportedError, "boolean"),
        (lambda x: np.select([x > 1], [x, x]), ShapeError, "same length"),
        (lambda x: np.choose(x, [x, x]), UnsupportedError, "by integers"),
        (lambda x: np.choose([0], [x, x], mode="near"), UnsupportedError, "mode='near'"),
    ],
)
def test_what_numpy_or_tracejit_refuses(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(call, X)


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.nonzero(x), r"np.where\(condition, a, b\)"),
        (lambda x: x.nonzero(), r"np.where\(condition, a, b\)"),
        (lambda x: np.argwhere(x), r"np.where\(condition, a, b\)"),
        (lambda x: np.flatnonzero(x), r"np.where\(condition, a, b\)"),
        (lambda x: np.compress(x[0] > 1, x), r"np.where\(mask, x, 0.0\)"),
        (lambda x: np.extract(x > 1, x), r"np.where\(mask, x, 0.0\)"),
    ],
)
def test_what_is_refused_as_written(call: Any, text: str) -> None:
    with pytest.raises(UnsupportedError, match=text):
        run(call, X)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.nonzero(x),
        lambda x: x.nonzero(),
        lambda x: np.argwhere(x),
        lambda x: np.flatnonzero(x),
        lambda x: np.compress(x[0] > 1, x, axis=1),
        lambda x: np.extract(x > 1, x),
    ],
)
def test_a_selection_has_a_recording_for_each_pattern(call: Any) -> None:
    same_for_each(call, X, np.array([[0.0, 1.0, 7.0], [0.5, 0.0, 0.0]]))
