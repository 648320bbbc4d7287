"""How indices are spelled, which adjoint they get, NumPy's rules for mixed indices, refusals."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tracejit as tj
from tests.interpret import interpret, record, run
from tests.rows import each_row
from tests.support.compare import same_for_each
from tests.support.graphs import template_of
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.ir.types import type_of
from tracejit.ops.base.op import OPS
from tracejit.support.errors import ShapeError, TracejitError, UnsupportedError

X = np.arange(24.0).reshape(2, 3, 4)
I = np.array([0, 1])  # noqa: E741  an index array


def spelled(call: Any, *args: Any) -> str:
    """The one operation of a call, with the user's arguments x, y, ... and constants c."""
    graph = record(call, *args)[0]
    node = graph.nodes[-1]
    names = [value.name if value in graph.inputs else "c" for value in node.operands]
    return template_of(node).format(*names)


@pytest.mark.parametrize(
    ("call", "spelling"),
    [
        (lambda x: x[1], "x[1]"),
        (lambda x: x[np.int8(-1), 2], "x[-1, 2]"),
        (lambda x: x[1:, None, ::2], "x[1:, None, ::2]"),
        (lambda x: x[:-1, 2:0:-1], "x[:-1, 2:0:-1]"),
        (lambda x: x[..., 0], "x[..., 0]"),
        (lambda x: x[0, ..., 1], "x[0, ..., 1]"),
        (lambda x: x[0, 1, ..., 2], "x[0, 1, ..., 2]"),
        (lambda x: x[0, :, ..., 2], "x[0, :, 2]"),
        (lambda x: x[1:, :, :], "x[1:]"),
        (lambda x: x[None, ...], "x[None]"),
        (lambda x: x[:, ...], "x[...]"),
        (lambda x: x[()], "x[...]"),
        (lambda x: x[[0, 1]], "x.take(c, axis=0)"),
        (lambda x: x[:, [0, 1], 1:], "x[:, c, 1:]"),
        (lambda x: x[X > 3], "x[c, c, c]"),
        (lambda x: x.take([0, 1], axis=1), "x.take(c, axis=1)"),
        (lambda x: np.take_along_axis(x, X.astype(int) % 2, 0), "np.take_along_axis(x, c, axis=0)"),
    ],
)
def test_spelling(call: Any, spelling: str) -> None:
    assert spelled(call, X) == spelling


def test_recorded_integers_are_operands() -> None:
    assert spelled(lambda x, i: x[i, 1:], X, np.int64(1)) == "x[i, 1:]"
    assert spelled(lambda x, i: x[:, i], X, I) == "x[:, i]"
    assert spelled(lambda x, i: x.take(i, 0), X, I) == "x.take(i, axis=0)"


def test_python_numbers_in_an_index_are_read() -> None:
    assert spelled(lambda x, n: x[n, n : 2 * n], X, 1) == "x[1, 1:2]"


@pytest.mark.parametrize(
    ("call", "adjoint"),
    [
        (lambda x, i: x[1:], "put_slice"),
        (lambda x, i: x[0, 1, 2], "put_slice"),
        (lambda x, i: x[i[0]], "put_slice"),
        (lambda x, i: x[[1, 0]], "put_at"),
        (lambda x, i: x[[0, 0], [1, 2]], "put_at"),
        (lambda x, i: x[:, [-1, -2]], "put_at"),
        (lambda x, i: x[X > 3], "put_at"),
        (lambda x, i: x.take([1, 0], axis=1), "put_at"),
        (lambda x, i: x.take(1, axis=1), "put_slice"),
        (lambda x, i: x[[1, 1]], "add_at"),
        (lambda x, i: x[[0, 1], [[1], [2]]], "put_at"),
        (lambda x, i: x[[0, 0], [[1], [1]]], "add_at"),
        (lambda x, i: x[:, [0, -1]], "add_at"),
        (lambda x, i: x[i], "add_at"),
        (lambda x, i: x.take(i), "add_at"),
        (lambda x, i: np.take_along_axis(x, np.argmax(x, 1, keepdims=True), 1), "put_along_axis"),
        (lambda x, i: np.take_along_axis(x, X.argsort(2), 2), "put_along_axis"),
        (lambda x, i: np.take_along_axis(x, np.argsort(x, 2), 2), "add_along_axis"),
        (lambda x, i: np.take_along_axis(x, X.astype(int) % 2, 2), "add_along_axis"),
        (lambda x, i: np.take_along_axis(x[:1], np.array([[[0]], [[0]]]), 2), "add_along_axis"),
    ],
)
def test_places_are_assigned_where_none_can_occur_twice(call: Any, adjoint: str) -> None:
    started = run(call, X, I)
    (y,) = started.tensors
    (g,) = gradients([y], started.inputs[:1], [started.recording.argument("g", y.type)])
    assert adjoint in [node.op.name for node in started.finish(g).nodes]


def draw_item(rng: random.Random, sizes: tuple[int, ...]) -> tuple[Any, int]:
    """One entry of an index, in bounds more often than not, and how many axes it takes."""
    bound = [None, None, 0, 1, 2, -1, -2, 5]
    mask = np.array([rng.random() < 0.6 for _ in range(sizes[0])]) if sizes else None
    return rng.choice(
        [
            (rng.choice([0, 1, -1]), 1),
            (slice(rng.choice(bound), rng.choice(bound), rng.choice([None, 1, 2, -1])), 1),
            (None, 0),
            (Ellipsis, 9),
            (np.array(rng.choice([[0], [0, 1], [1, 1], [[0], [1]], [0, -1], []]), int), 1),
            (rng.choice([[0, 1], [1], []]), 1),
            (np.array(rng.choice([0, 1])), 1),
            (np.int32(1), 1),
            (mask, 1),
        ]
    )


@each_row("seed", range(300))
def test_any_mixture_is_numpys(seed: int) -> None:
    rng = random.Random(seed)
    x = np.arange(4.0 * 3 * 2).reshape(4, 3, 2)[: rng.randint(2, 4)]
    items: list[Any] = []
    axis = 0
    for _ in range(rng.randint(0, 4)):
        item, taken = draw_item(rng, x.shape[axis:])
        items.append(item)
        axis += taken
    index = tuple(items)
    try:
        expected = x[index]
    except IndexError:
        with pytest.raises((TracejitError, IndexError)):
            interpret(record(lambda x: x[index], x)[0], x)
        return
    (actual,) = interpret(record(lambda x: x[index], x)[0], x)
    assert type_of(actual) is type_of(expected)
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x[True], UnsupportedError, "a single True or False"),
        (lambda x: x[np.array(False)], UnsupportedError, "a single True or False"),
        (lambda x: x[2], ShapeError, "index 2 is out of bounds for axis 0 with size 2"),
        (lambda x: x[0, 0, 0, 0], ShapeError, "too many indices .* 3-dimensional, but 4"),
        (lambda x: x[..., ...], ShapeError, "single ellipsis"),
        (lambda x: x[1.5], ShapeError, "must be of integer"),
        (lambda x: x[x], ShapeError, "must be of integer"),
        (lambda x: x[[True, False, True]], ShapeError, "size of axis is 2 .* boolean axis is 3"),
        (lambda x: x[[0, 1], [0, 1, 2]], ShapeError, "broadcast"),
        (lambda x: x[::0], ShapeError, "slice step cannot be zero"),
        (lambda x: np.take(x, [0.5]), UnsupportedError, "no integers"),
        (lambda x: np.take(x, [0], axis=3), ShapeError, "axis 3 is out of bounds"),
        (lambda x: np.take(x, [0], mode="mean"), UnsupportedError, "mode='mean'"),
        (lambda x: np.take_along_axis(x, I, 0), ShapeError, "same number of dimensions"),
        (lambda x: np.take_along_axis(x, x, 0), ShapeError, "integer array"),
    ],
)
def test_what_numpy_or_tracejit_refuses(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(call, X)


MASKED = [lambda x: np.sort(x[x > 0]), lambda x: x[0, x[0] > 0]]


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("call", MASKED)
def test_a_mask_is_refused_as_written(call: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"np.where\(mask, x, 0.0\)"):
        run(call, X)


@pytest.mark.parametrize("call", MASKED)
def test_a_mask_has_a_recording_for_each_pattern(call: Any) -> None:
    same_for_each(call, X, 5.0 - X)


def test_add_slice_adds_to_the_slice_alone_and_changes_no_operand() -> None:
    x, v = np.arange(5.0), np.array([10.0, 20.0])
    added = OPS["add_slice"](x, v, index=(("slice", 1, 3, None),))
    assert_array_equal(added, [0.0, 11.0, 22.0, 3.0, 4.0])
    assert_array_equal(x, np.arange(5.0))


def test_gradient_of_overlapping_slices_is_gathered_in_one_array() -> None:
    def stencil(x: Any) -> Any:
        return np.sum((x[1:] - x[:-1]) ** 3)

    kernel = tj.value_and_grad(stencil).kernel(np.ones(5))
    assert kernel.source.count("zeros(5)") == 2  # once in backward, once in value_and_grad
    x = np.array([0.5, -1.0, 2.0, 0.25, 3.0])
    step = 3 * (x[1:] - x[:-1]) ** 2
    expected = np.concatenate([[0.0], step]) - np.concatenate([step, [0.0]])
    assert_allclose(kernel.value_and_grad(x)[1], expected, rtol=1e-14)


def test_second_gradient_through_gathered_slices() -> None:
    def total(x: Any) -> Any:
        return np.sum(x[1:] * x[:-1] ** 2)

    def slope(x: Any) -> Any:
        return np.sum(tj.grad(total)(x) * np.arange(4.0))

    x, step = np.array([0.5, -1.0, 2.0, 0.25]), 1e-6
    found = tj.grad(slope)(x)
    for k, move in enumerate(np.eye(4) * step):
        assert abs((slope(x + move) - slope(x - move)) / (2 * step) - found[k]) < 1e-7
