"""Classes and methods of NumPy's, and plain arrays that are indexed by what is recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.support.compare import assert_same, same_for_each
from tracejit.support.errors import UnsupportedError

TABLE = np.array([0.5, 1.5, 2.5, 3.5])


def test_a_plain_array_is_read_at_positions_that_are_recorded() -> None:
    def ranked(x: Any) -> Any:
        return TABLE[np.argsort(x)] * x + TABLE[np.argmax(x)] + TABLE.take(np.argsort(x))

    compiled = tj.function(ranked)
    for x in (np.array([3.0, 1.0, 2.0, 0.0]), np.arange(4.0)):
        np.testing.assert_array_equal(compiled(x), ranked(x))
    assert compiled.explain().count("Kernel ") == 1


def test_a_table_is_read_anew_at_each_call() -> None:
    table = TABLE.copy()
    compiled = tj.function(lambda x: table[np.argmax(x)] * x)
    x = np.array([3.0, 1.0])
    np.testing.assert_array_equal(compiled(x), 0.5 * x)
    table[0] = 7.0
    np.testing.assert_array_equal(compiled(x), 7.0 * x)


def test_what_was_read_from_a_table_is_not_written_to() -> None:
    def written(x: Any) -> Any:
        row = np.ones((2, 2))
        part = TABLE[np.argsort(x)]
        part[0] = 9.0
        return part * row[0, 0]

    x = np.array([3.0, 1.0])
    np.testing.assert_array_equal(tj.function(written)(x), written(x))
    assert TABLE[1] == 1.5


def test_scalar_classes_convert() -> None:
    found = tj.function(lambda x: (np.float32(x[0]), np.float64(x[0]), np.int64(x[0])))(TABLE)
    assert [type(one) for one in found] == [np.float32, np.float64, np.int64]


def test_a_memory_that_is_shared_is_told() -> None:
    def shares(x: Any) -> Any:
        return x * np.may_share_memory(x, x[1:]) + np.may_share_memory(x, x + 1)

    np.testing.assert_array_equal(tj.function(shares)(TABLE), shares(TABLE))


def test_non_finite_elements_raise_as_in_numpy() -> None:
    compiled = tj.function(lambda x: np.asarray_chkfinite(x) * 2)
    np.testing.assert_array_equal(compiled(TABLE), TABLE * 2)
    with pytest.raises(ValueError, match="infs or NaNs"):
        compiled(np.array([np.nan, 1.0, 2.0, 3.0]))


def test_no_recorded_array_is_masked() -> None:
    def plain(x: Any) -> Any:
        assert_none = np.ma.getmask(x) is np.ma.nomask
        return np.ma.getdata(x) * np.ma.isMaskedArray(x) + np.ma.filled(x) * assert_none

    np.testing.assert_array_equal(tj.function(plain)(TABLE), TABLE)


LIKE: list[Any] = [2, 2.5, True, np.float32(2.0), [1, 2], (1.0, 2)]


@pytest.mark.parametrize("one", LIKE, ids=repr)
@pytest.mark.parametrize("like", [np.zeros_like, np.ones_like, np.empty_like])
def test_arrays_are_made_like_plain_numbers_and_lists(like: Any, one: Any) -> None:
    def made(x: Any) -> Any:
        return like(one) * 0 + np.full_like(one, 3) + x[0]

    found, expected = tj.function(made)(TABLE), made(TABLE)
    assert (found.dtype, np.shape(found)) == (expected.dtype, np.shape(expected))
    np.testing.assert_array_equal(found, expected)


FLAT: dict[str, Any] = {
    "meets an array that is made here": lambda x: np.ones(4) * x.flat,
    "joined with elements": lambda x: np.concatenate([x.flat, x.flat[:2]]),
    "as an array": lambda x: np.asarray(x.flat) * 2.0,
    "elements of a mask": lambda x: np.asarray(x[x > 1.0]) * 2.0,
}


@pytest.mark.parametrize("name", FLAT)
def test_iterators_and_elements_of_a_mask_are_arrays(name: str) -> None:
    f = FLAT[name]
    np.testing.assert_array_equal(tj.function(f)(TABLE), f(TABLE))
    slope = tj.grad(lambda x: np.sum(f(x)))(TABLE)
    steps = 1e-6 * np.eye(4)
    expected = [(np.sum(f(TABLE + one)) - np.sum(f(TABLE - one))) / 2e-6 for one in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


def test_a_flat_iterator_is_no_argument() -> None:
    inner = tj.function(lambda y: np.sum(y))
    with pytest.raises(tj.TracejitError, match="is a FlatIterator"):
        inner(tj.constant(TABLE).flat)


# Arguments of the functions that make arrays

MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
ROWS = np.arange(6.0).reshape(2, 3)


def _filled(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that writes what is recorded into the array that `make` makes."""

    def written(x: Any) -> Any:
        made = make(x)
        made[0] = x[0, 0]
        return made

    return written


@each_row(
    "make",
    [
        lambda x: np.array(x, like=x),
        lambda x: np.array([[1.0, 2.0]], like=x),
        lambda x: np.array([[1.0, 2.0]], like=ROWS),
        lambda x: np.array(x, subok=True),
        lambda x: np.array([[1.0, 2.0]], order="F"),
        lambda x: np.asarray([1.0, 2.0], device="cpu"),
        lambda x: np.asanyarray([1.0, 2.0], like=x),
        lambda x: np.ascontiguousarray([1.0, 2.0], like=x),
        lambda x: np.zeros(3, like=x),
        lambda x: np.zeros((2, 3), order="F"),
        lambda x: np.ones((2, 3), "f4", "F", device="cpu"),
        lambda x: np.full((2, 3), x[0, 1], like=x),
        lambda x: np.full((2, 3), x[0, 1], order="F"),
        lambda x: np.zeros_like(x, order="C"),
        lambda x: np.zeros_like(x, None, "A", False),
        lambda x: np.zeros_like(ROWS, order="F", subok=True, device="cpu"),
        lambda x: np.ones_like(x, "f4", "K", True, (2, 2)),
        lambda x: np.full_like(x, x[0, 1], None, "C", False),
        lambda x: np.full_like(ROWS, 2.0, subok=False, device=None),
        lambda x: np.eye(3, like=x),
        lambda x: np.arange(3.0, like=x),
    ],
)
def test_every_argument_of_numpys_is_taken(make: Callable[[Any], Any]) -> None:
    same_for_each(_filled(make), ROWS, ROWS + 1.0)


@each_row(
    "call",
    [
        lambda x: np.zeros(3, ordr="F"),  # type: ignore[call-overload]
        lambda x: np.zeros_like(x, shap=3),  # type: ignore[call-overload]
        lambda x: np.array(),  # type: ignore[call-overload]
        lambda x: np.ones(3, like=[1.0]),  # type: ignore[call-overload]
    ],
)
def test_arguments_that_numpy_does_not_take_raise_as_there(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError) as expected:
        call(ROWS)
    with pytest.raises(TypeError, match=f"^{re.escape(str(expected.value))}"):
        tj.function(call)(ROWS)


def test_a_masked_array_from_outside_stays_masked() -> None:
    same_for_each(lambda x: x + np.asanyarray(MASKED).sum(), ROWS, ROWS + 1.0)
    same_for_each(lambda x: x + np.array(MASKED, subok=True).sum(), ROWS, ROWS + 1.0)


def test_a_shape_may_be_an_array() -> None:
    def f(x: Any) -> Any:
        shape = np.asarray(x.shape)
        shape[0] = 2
        y = np.zeros(shape)
        y[0] = x[1]
        return np.sum(y * y) + np.sum(np.full(shape, x[0]))

    x = np.array([0.5, 2.0, 3.0])
    assert tj.function(f)(x) == f(x)
    assert_same(tj.grad(f)(x), np.array([2.0, 4.0, 0.0]))


def _written_by_name(x: Any) -> Any:
    y = np.reshape(x, (1, 3)).copy(order="F")
    np.copyto(dst=y, src=x)
    np.put_along_axis(arr=y, indices=np.array([[0]]), values=x[1], axis=1)
    np.fill_diagonal(a=y, val=x[2])
    np.put(a=y, ind=1, v=x[0])
    return y


X = np.array([1.5, 0.4, 2.25])
BY_NAME: dict[str, Callable[[Any], Any]] = {
    "empty_like": lambda x: np.empty_like(prototype=x).size * x,
    "zeros_like": lambda x: np.zeros_like(a=x) + x,
    "full_like": lambda x: np.full_like(a=x, fill_value=x[0]),
    "array": lambda x: np.array(object=[x[0], x[1]], dtype=float),
    "asarray": lambda x: np.asarray(a=[x[0], 1.0]),
    "mean": lambda x: np.mean(a=[x[0], x[1]]),
    "stack": lambda x: np.stack(arrays=[x, x], axis=1),
    "sinc": lambda x: np.sinc(x=x),
    "i0": lambda x: np.i0(x=x),
    "solve": lambda x: np.linalg.solve(a=np.eye(2), b=[x[0], x[1]]),
    "interp": lambda x: np.interp(x=x, xp=[0.0, 1.0, 3.0], fp=[0.0, x[0], 1.0]),
    "piecewise": lambda x: np.piecewise(x=x, condlist=[x > 1], funclist=[np.log, 0.0]),
    "where": lambda x: np.select(condlist=[x > 1], choicelist=[x], default=0.0),
    "fromiter": lambda x: np.fromiter(iter=(v * v for v in x), dtype=float),
    "writes": _written_by_name,
    "argpartition": lambda x: x[x.argpartition(kth=1)[1]] + x.argpartition(1).size,
}


@pytest.mark.parametrize("name", BY_NAME)
def test_arguments_may_be_given_by_their_names(name: str) -> None:
    np.testing.assert_allclose(tj.function(BY_NAME[name])(X), BY_NAME[name](X))


STRIDED: dict[str, Callable[[Any], Any]] = {
    "windows": lambda x: np.lib.stride_tricks.as_strided(x, (5, 3), x.strides * 2).sum(axis=1),
    "with hops": lambda x: np.lib.stride_tricks.as_strided(
        x, shape=(3, 3), strides=(2 * x.itemsize, x.itemsize)
    ).prod(axis=1),
    "of a matrix": lambda x: np.lib.stride_tricks.as_strided(
        (x[:, None] * x).copy(), (3, 6, 2, 2), (112, 8, 56, 8)
    ).max(axis=(2, 3)),
}


@pytest.mark.parametrize("name", STRIDED)
def test_strides_of_windows_are_recorded(name: str) -> None:
    x = np.array([1.5, 0.4, 2.25, 3.1, 0.2, 0.9, 1.3])
    compiled = tj.function(STRIDED[name])
    np.testing.assert_allclose(compiled(x), STRIDED[name](x))
    with (
        pytest.raises(UnsupportedError, match="layout") if name != "of a matrix" else nullcontext()
    ):
        compiled(x[::-1])


def test_other_strides_are_refused() -> None:
    x = np.arange(6.0)
    for shape, strides in (((2, 3), (8, 16)), ((6, 3), (8, 8)), ((3, 3), (0, 8)), ((4,), (8,))):
        with pytest.raises(tj.TracejitError):
            tj.function(
                lambda x, shape=shape, strides=strides: np.lib.stride_tricks.as_strided(
                    x, shape, strides
                )
            )(x)


def test_strides_follow_what_is_written() -> None:
    def written(x: Any) -> Any:
        y = np.array(x)
        pairs = np.lib.stride_tricks.as_strided(y, (2, 2), y.strides * 2)
        y[1] = 7.0
        return pairs * 1.0

    np.testing.assert_array_equal(tj.function(written)(X), written(X))
