"""What NumPy takes for an axis, a size or `keepdims`, and what it refuses: recorded the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.support.errors import outcome

X = np.arange(24.0).reshape(2, 3, 4) + 1.0


def named(name: str) -> Callable[[Any, Any], Any]:
    """A function of NumPy's that takes an axis by that name."""
    return lambda x, axis: getattr(np, name)(x, axis=axis)


def method(name: str) -> Callable[[Any, Any], Any]:
    """A method that takes an axis by that name."""
    return lambda x, axis: getattr(x, name)(axis=axis)


FUNCTIONS = """
    sum prod mean std var median max min amax amin ptp any all argmax argmin nansum nanmean nanmax
    nanmin nanstd nanvar nanprod nanmedian nanargmax nanargmin cumsum cumprod nancumsum nancumprod
    sort argsort flip expand_dims diff count_nonzero average trapezoid gradient unwrap
""".split()
METHODS = "sum mean max cumsum argmax any std prod var min argmin cumprod argsort".split()
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: named(name) for name in FUNCTIONS},
    **{f".{name}": method(name) for name in METHODS},
    "squeeze": lambda x, axis: np.squeeze(x[:1, :1], axis=axis),
    "take": lambda x, axis: np.take(x, [0], axis=axis),
    "repeat": lambda x, axis: np.repeat(x, 2, axis=axis),
    "concatenate": lambda x, axis: np.concatenate([x, x], axis=axis),
    "append": lambda x, axis: np.append(x, x, axis=axis),
    "stack": lambda x, axis: np.stack([x, x], axis=axis),
    "split": lambda x, axis: np.split(x, 1, axis=axis)[0],
    "swapaxes": lambda x, axis: np.swapaxes(x, axis, 0),
    "moveaxis": lambda x, axis: np.moveaxis(x, axis, 0),
    "rollaxis": lambda x, axis: np.rollaxis(x, axis),
    "delete": lambda x, axis: np.delete(x, 0, axis=axis),
    "insert": lambda x, axis: np.insert(x, 0, 1.0, axis=axis),
    "apply_over_axes": lambda x, axis: np.apply_over_axes(np.sum, x, axis),
    "apply_along_axis": lambda x, axis: np.apply_along_axis(np.sum, axis, x),
    "quantile": lambda x, axis: np.quantile(x, 0.5, axis=axis),
    "fft": lambda x, axis: np.fft.fft(x, axis=axis),
    "fftshift": lambda x, axis: np.fft.fftshift(x, axes=axis),
    "diagonal": lambda x, axis: np.diagonal(x, 0, axis, 0),
    "partition": lambda x, axis: np.partition(x, 0, axis=axis),
    "argpartition": lambda x, axis: np.argpartition(x, 0, axis=axis),
    "compress": lambda x, axis: np.compress([True], x, axis=axis),
    "cross": lambda x, axis: np.cross(x[[0, 1, 1], :, :3], x[[1, 0, 1], :, :3], axis=axis),
    "vecdot": lambda x, axis: np.vecdot(x, x, axis=axis),
    "add.reduce": lambda x, axis: np.add.reduce(x, axis=axis),
    "add.accumulate": lambda x, axis: np.add.accumulate(x, axis=axis),
    "add.reduceat": lambda x, axis: np.add.reduceat(x, [0], axis=axis),
    "sum of two": lambda x, axis: np.sum(x, axis=(0, axis)),
    "median of two": lambda x, axis: np.median(x, axis=(0, axis)),
    "matrix norm": lambda x, axis: np.linalg.norm(x, axis=(0, axis)),
    "rot90": lambda x, axis: np.rot90(x, 1, (axis, 0)),
    "scalar": lambda x, axis: np.sum(x[0, 0, 0], axis=axis),
    "keepdims": lambda x, keeps: np.sum(x, axis=0, keepdims=keeps),
    "reshape": lambda x, size: np.reshape(x, (size, -1)),
    "zeros_like": lambda x, size: np.zeros_like(x, shape=(size, 2)),
    "broadcast_to": lambda x, size: np.broadcast_to(x[0, 0, 0], (size, 2)),
    "vander": lambda x, size: np.vander(x[0, 0], size),
    "points of fft": lambda x, size: np.fft.fft(x, size),
}
# What stands for an axis or a size, and for many is none.
GIVEN: list[Any] = [
    True, False, np.bool_(True), 1, np.int64(1), np.array(1), 1.0, "0", 1j, 5, -7, (True,), (1, 1),
]  # fmt: skip
LISTS: list[Any] = [[1], [True]]


def closed(call: Callable[..., Any], given: Any) -> Callable[[Any], Any]:
    """The call as a function of its array alone."""
    return lambda x: call(x, given)


@pytest.mark.parametrize("name", some_by_day(CALLS, 2))
def test_an_axis_is_what_numpy_takes_for_one(name: str) -> None:
    call = CALLS[name]
    refusing = not isinstance(outcome(call, X, [1]), Exception)
    for given in [*GIVEN, *([] if refusing else LISTS)]:
        expected = outcome(call, X, given)
        found = outcome(tj.function(closed(call, given)), X)
        assert isinstance(found, Exception) == isinstance(expected, Exception), (given, expected)
        if isinstance(expected, Exception):
            assert isinstance(found, (TypeError, ValueError, IndexError)), given
        else:
            np.testing.assert_array_equal(found, expected)
