"""Result types: NumPy's own answer on arrays of the same types decides."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ops.program import quiet
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.base.infer import (
    broadcast_shapes,
    normalize_axes,
    normalize_axis,
    promote,
    reduced_shape,
    reduction_type,
    ufunc_dtype,
    ufunc_type,
)
from tracejit.support.memo import Table

F8 = np.dtype("f8")
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)
DTYPES = ["b1", "i1", "u1", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16"]
VALUES: list[Any] = [
    *[np.ones(2, dtype) for dtype in DTYPES],
    *[np.ones((), dtype) for dtype in ("b1", "u1", "f4", "c16")],
    *[np.dtype(dtype).type(1) for dtype in ("b1", "i4", "f4", "f8", "c8")],
    *[True, 1, 1.0, 1j],
]
UFUNCS = [np.add, np.multiply, np.divide, np.power, np.maximum, np.greater, np.arctan2, np.hypot]


def kind(value: Any) -> ArrayType:
    """The type of an array or number."""
    found = type_of(value)
    assert found is not None
    return found


@given(st.lists(SHAPES, min_size=1, max_size=3))
def test_shapes_broadcast_as_in_numpy(shapes: list[tuple[int, ...]]) -> None:
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ValueError, match="cannot be broadcast together"):
            broadcast_shapes(*shapes)
    else:
        assert broadcast_shapes(*shapes) == expected


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_a_binary_ufunc_has_numpys_type(ufunc: np.ufunc) -> None:
    for x in VALUES:
        for y in VALUES:
            try:
                with quiet():
                    expected = ufunc(x, y)
            except TypeError:
                with pytest.raises(TypeError, match=f"{ufunc.__name__} is not defined for dtype"):
                    ufunc_type(ufunc)(kind(x), kind(y))
                continue
            assert ufunc_type(ufunc)(kind(x), kind(y)) is kind(expected), (x, y)


@pytest.mark.parametrize("ufunc", [np.exp, np.negative, np.absolute, np.floor, np.isnan, np.sign])
def test_a_unary_ufunc_has_numpys_type(ufunc: np.ufunc) -> None:
    for x in VALUES:
        try:
            with quiet():
                expected = ufunc(x)
        except TypeError:
            with pytest.raises(TypeError, match="is not defined for dtype"):
                ufunc_type(ufunc)(kind(x))
            continue
        assert ufunc_type(ufunc)(kind(x)) is kind(expected), x


def test_the_first_result_of_several_gives_the_dtype() -> None:
    assert ufunc_dtype(np.modf, kind(np.float32(1))) == np.float32
    assert ufunc_dtype(np.divmod, kind(1), kind(np.float32(1))) == np.float32


def test_values_side_by_side_are_promoted_as_in_numpy() -> None:
    for x in VALUES:
        for y in VALUES:
            expected = np.where(np.array([True]), x, y).dtype
            assert promote(kind(x), kind(y)) == expected, (x, y)


@given(st.integers(-5, 5), st.integers(0, 4))
def test_an_axis_counts_from_either_end(axis: int, ndim: int) -> None:
    if -ndim <= axis < ndim:
        assert normalize_axis(axis, ndim) == range(ndim)[axis]
    else:
        with pytest.raises(np.exceptions.AxisError, match="out of bounds"):
            normalize_axis(axis, ndim)


@pytest.mark.parametrize("axis", [1.0, "0", None, (0,)])
def test_an_axis_is_an_integer(axis: Any) -> None:
    with pytest.raises(TypeError):
        normalize_axis(axis, 2)


def test_axes_are_sorted_numbers() -> None:
    assert normalize_axes(None, 3) == (0, 1, 2)
    assert normalize_axes(None, 0) == ()
    assert normalize_axes(-1, 3) == (2,)
    assert normalize_axes(np.int64(1), 3) == (1,)
    assert normalize_axes((-1, 0), 3) == (0, 2)
    assert normalize_axes([], 3) == ()
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        normalize_axes((0, -3), 3)


@given(SHAPES, st.data())
def test_a_reduction_has_numpys_type(shape: tuple[int, ...], data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True)) if shape else []
    keepdims = data.draw(st.booleans())
    dtype = data.draw(st.sampled_from(DTYPES))
    x = np.ones(shape, dtype)
    axis = tuple(sorted(axes))
    expected = np.add.reduce(x, axis=axis, keepdims=keepdims)
    assert reduced_shape(shape, axis, keepdims) == expected.shape
    found = reduction_type(np.add)(kind(x), axis, keepdims)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.logical_and])
def test_a_full_reduction_is_a_numpy_scalar(ufunc: np.ufunc) -> None:
    for dtype in DTYPES:
        x = np.ones((2, 3), dtype)
        expected = ufunc.reduce(x, axis=(0, 1))
        assert reduction_type(ufunc)(kind(x), (0, 1)) is kind(expected)


def test_types_of_many_shapes_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "LIMIT", 50)
    infer = ufunc_type(np.add)
    known = inspect.getclosurevars(infer).nonlocals["known"]
    for size in range(2, 300):
        type = ArrayType((size,), F8)
        assert infer(type, type) is type
        assert 1 <= len(known) <= 50
