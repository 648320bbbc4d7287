"""Elements by position and updates of them, for a batch: as for one element after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.by_day import some_by_day
from tests.rows import each_row
from tracejit.support.errors import TracejitError

SIZE = 3
X = np.random.default_rng(0).normal(size=(SIZE, 4, 3, 2))
ROWS = np.array([[0, 0, 3], [1, 3, 2], [2, -1, 2]])
ONE = np.array([2, 0, 1])
MASK = X[:, :, 0, 0] > 0
VALUES = np.random.default_rng(1).normal(size=(SIZE, 3))


def replaced(x: Any, index: Any, v: Any) -> Any:
    y = x * 2.0
    y[index] = v
    return y


def added(x: Any, index: Any, v: Any) -> Any:
    y = x * 2.0
    y[index] += v
    return y


def accumulated(x: Any, index: Any, v: Any) -> Any:
    y = x * 2.0
    np.add.at(y, index, v)
    return y


def gathered(x: Any, i: Any) -> Any:
    return x[i]


CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "number": (gathered, (X, ONE)),
    "rows": (gathered, (X, ROWS)),
    "behind a slice": (lambda x, i: x[:, i], (X, ONE)),
    "beside a number": (lambda x, i: x[:, 1, i], (X, ONE % 2)),
    "apart": (lambda x, i: x[i, :, 1], (X, ROWS)),
    "apart, with a new axis": (lambda x, i, j: x[i, None, :, j], (X, ROWS, ROWS % 2)),
    "together": (lambda x, i, j: x[:, i, j], (X, ROWS % 3, ROWS % 2)),
    "in the end": (lambda x, i: x[..., i], (X, ROWS % 2)),
    "matrix of places": (lambda x, i: x[:, i[:, None]], (X, ROWS % 3)),
    "take": (lambda x, i: np.take(x, i, axis=1), (X, ROWS % 3)),
    "take flat": (np.take, (X, ROWS)),
    "along an axis": (
        lambda x, i: np.take_along_axis(x, i[:, None, None], 0),
        (X, np.abs(ROWS)),
    ),
    "one row replaced": (replaced, (X, ONE, X[:, 0])),
    "rows replaced": (replaced, (X, ROWS, 7.0)),
    "rows replaced by one": (replaced, (X, ROWS, X[:, 1])),
    "a part replaced": (lambda x, v: replaced(x, np.s_[1:3, ..., 0], v), (X, X[:, 0, :, 1])),
    "apart, replaced": (
        lambda x, i, v: replaced(x, (i, slice(None), 1), v),
        (X, np.array([[0, 1], [3, 2], [2, 0]]), VALUES),
    ),
    "apart in known places, replaced": (
        lambda x, v: replaced(x, ([0, 2], slice(None), [1, 0]), v),
        (X, VALUES),
    ),
    "one row added to": (added, (X, ONE, X[:, 0])),
    "accumulated": (accumulated, (X, ROWS, X[:, :3])),
    "under a mask, a number": (replaced, (X, MASK, VALUES[:, 0])),
    "under a mask behind": (
        lambda x, m, v: replaced(x, (slice(None), m), v),
        (np.swapaxes(X, 1, 2), MASK, VALUES[:, 1]),
    ),
    "under a mask before": (
        lambda x, m, v: replaced(x, (..., m, slice(None)), v),
        (np.moveaxis(X, 1, 2), MASK, 0.5),
    ),
    "under a known mask": (
        lambda x, v: replaced(x, np.arange(24).reshape(4, 3, 2) % 8 == 1, v),
        (X, VALUES),
    ),
}


def stacked(call: Callable[..., Any], args: tuple[Any, ...], axes: tuple[int | None, ...]) -> Any:
    """The call for one element after the other, in NumPy."""
    return np.stack(
        [
            call(*[x if axis is None else x[k] for x, axis in zip(args, axes, strict=True)])
            for k in range(SIZE)
        ]
    )


def choices(args: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], tuple[int | None, ...]]]:
    """All arguments with the batch, and each of them alone without it."""
    whole = tuple(None if np.ndim(x) == 0 else 0 for x in args)
    found = [(args, whole)]
    for k, axis in enumerate(whole):
        axes = (*whole[:k], None, *whole[k + 1 :])
        if axis == 0 and any(one == 0 for one in axes):
            found.append(((*args[:k], args[k][0], *args[k + 1 :]), axes))
    return found


@each_row("name", CALLS)
def test_a_batch_is_one_element_after_the_other(name: str) -> None:
    call, given = CALLS[name]
    for args, axes in choices(given):
        mapped = tj.vmap(call, in_axes=axes)
        np.testing.assert_array_equal(mapped(*args), stacked(call, args, axes))
        assert "each" not in mapped.source


@pytest.mark.parametrize("name", some_by_day(CALLS, 3))
def test_gradients_of_a_batch_are_those_of_its_elements(name: str) -> None:
    call, given = CALLS[name]
    weights = np.random.default_rng(2).normal(size=np.shape(stacked(call, *choices(given)[0]))[1:])

    def loss(*args: Any) -> Any:
        return np.sum(call(*args) ** 2 * weights)

    for args, axes in choices(given):
        for k, x in enumerate(args):
            if np.ndim(x) == 0 or x.dtype.kind != "f":
                continue
            rows = stacked(tj.grad(loss, k), args, axes)
            each = tj.vmap(tj.grad(loss, k), in_axes=axes)(*args)
            np.testing.assert_allclose(each, rows, rtol=1e-12, atol=1e-13)
            mapped = tj.vmap(loss, in_axes=axes)
            total = tj.grad(lambda *args, mapped=mapped: np.sum(mapped(*args)), k)(*args)
            expected = rows if axes[k] == 0 else np.sum(rows, axis=0)
            np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-13)


def test_zeros_that_are_filled_in_the_function() -> None:
    def histogram(i: Any, v: Any) -> Any:
        out = tnp.zeros(5)
        np.add.at(out, i, v)
        return out

    expected = np.stack([np.bincount(i % 5, v, 5) for i, v in zip(ROWS, VALUES, strict=True)])
    np.testing.assert_array_equal(tj.vmap(histogram)(ROWS % 5, VALUES), expected)


def test_as_many_numbers_as_a_mask_of_the_batch_selects_are_refused() -> None:
    with pytest.raises(TracejitError, match="set_item cannot be batched"):
        tj.vmap(replaced)(VALUES, VALUES > 0, VALUES[:, :1].repeat(2, axis=1))


def test_no_element_of_an_argument_can_be_written_to() -> None:
    def write(x: Any) -> Any:
        x[0] = 1.0
        return x

    with pytest.raises(TracejitError, match=r"one element of an argument of tj\.vmap"):
        tj.vmap(write)(VALUES.copy())


def test_rows_written_under_a_mask_have_their_gradient() -> None:
    def rows(v: Any) -> Any:
        x = tnp.zeros((3, 2))
        x[np.array([True, False, True])] = v
        return np.sum(x * np.arange(6.0).reshape(3, 2))

    assert tj.grad(rows)(np.ones(2)).tolist() == [4.0, 6.0]
