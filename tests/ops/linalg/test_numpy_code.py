"""Functions that are recorded by NumPy's own code: what it is given in place of `np.asarray`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import record
from tracejit.ops.base.op import HANDLERS
from tracejit.ops.linalg import numpy_code
from tracejit.support.errors import ShapeError

X = np.arange(6.0).reshape(2, 3) + 1.0


def test_all_of_them_are_recorded_by_the_numpy_that_is_installed() -> None:
    assert [each for each in numpy_code._FUNCTIONS if each not in HANDLERS] == []


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.atleast_2d(x, 2.0, [1, 2])[2],
        lambda x: np.hstack([x[0], 2.0, x[1, :1]]),
        lambda x: np.vstack([x, [x[0, 0], 1.0, 2.0]]),
        lambda x: np.polyval([x[0, 0], 2.0, x[1, 1]], x[0]),
        lambda x: np.linalg.multi_dot([x, x.T, x, np.ones(3)]),
        lambda x: np.fft.irfftn(x, s=(2, -1), axes=(1, 0)),
        lambda x: np.trapezoid(x, [0.0, 1.0, 3.0]),
    ],
)
def test_lists_and_numbers_are_what_numpy_makes_of_them(call: Callable[..., Any]) -> None:
    found = tj.function(call, cache=False)(X)
    np.testing.assert_array_equal(found, call(X))
    assert np.asarray(found).dtype == call(X).dtype


def test_a_recorded_number_is_an_array() -> None:
    f = tj.function(lambda x, lr: np.column_stack([np.atleast_1d(lr), x[:1, 0]]), cache=False)
    for lr in (0.5, 0.25, 0.125):
        np.testing.assert_array_equal(f(X, lr), [[lr, 1.0]])


def test_what_numpy_says_is_wrong_is_said_of_the_users_line() -> None:
    with pytest.raises(ShapeError, match=r"np\.rot90.*: Axes must be different") as caught:
        record(lambda x: np.rot90(x, 1, (0, 0)), X)
    assert "test_numpy_code.py" in str(caught.value)
    with pytest.raises(ShapeError, match=r"np\.fliplr.*: Input must be"):
        record(lambda x: np.fliplr(x[0]), X)


def test_vectors_of_one_length_are_stacked() -> None:
    """np.vstack and np.column_stack of vectors are np.stack, so rows of a loop are its stack."""
    for join in (np.vstack, np.column_stack):
        f = tj.function(lambda x, y, join=join: join([x, y, [1.0, 2.0]]))
        x, y = np.array([3.0, 4.0]), np.array([5.0, 6.0])
        np.testing.assert_array_equal(f(x, y), join([x, y, [1.0, 2.0]]))
        assert "concatenate" not in f.source

    def decay(y: Any) -> Any:
        rows = [y]
        for _ in range(20):
            rows.append(0.9 * rows[-1])
        return np.sum(np.vstack(rows) ** 2)

    slope = tj.grad(decay)
    np.testing.assert_allclose(
        slope(np.ones(3)), 2.0 * np.sum(0.81 ** np.arange(21.0)) * np.ones(3)
    )
    assert slope.source.count("[None]") <= 2
