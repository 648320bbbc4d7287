"""Comparisons of what tracejit answers with what NumPy does, from the bit to rounding."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj


def array_of(leaf: Any) -> Any:
    """The array of a Tensor or Variable; anything else as an array."""
    return leaf.numpy() if isinstance(leaf, (tj.Tensor, tj.Variable)) else np.asarray(leaf)


def close(found: Any, expected: Any, rtol: float = 1e-13, atol: float = 1e-14) -> None:
    """The same to rounding, in type, shape and dtype exactly; of a Tensor, its array."""
    if not isinstance(found, (tj.Tensor, tj.Variable)):
        assert type(found) is type(expected), (found, expected)
    array, wanted = array_of(found), np.asarray(expected)
    assert (array.shape, array.dtype) == (wanted.shape, wanted.dtype), (found, expected)
    np.testing.assert_allclose(array, wanted, rtol=rtol, atol=atol)


def same(found: Any, expected: Any) -> None:
    """Equal arrays of one shape and dtype; of a Tensor, its array, and of a tuple, each."""
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert_same(np.asarray(array_of(found)), np.asarray(expected))


def same_for_each(call: Callable[[Any], Any], *inputs: Any) -> None:
    """Equal answers of one compiled function and of NumPy for each input, twice."""
    compiled = tj.function(call)
    for x in (*inputs, *inputs):
        same(compiled(x), call(x))


def assert_same(found: Any, expected: Any, bound: float = 0.0) -> None:
    """The same bits in the same types, through containers, but for those inside nan; with a
    `bound`, numbers may differ by as much, relative to the largest."""
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = tuple(found.values()), tuple(expected.values())
    if dataclasses.is_dataclass(expected):
        names = [field.name for field in dataclasses.fields(expected)]
        found, expected = [[getattr(one, name) for name in names] for one in (found, expected)]
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for mine, numpys in zip(found, expected, strict=True):
            assert_same(mine, numpys, bound)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if bound and expected.dtype.kind == "f":
            scale = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)) + 1.0
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=bound * scale)
            return
        np.testing.assert_array_equal(found, expected)
        if expected.dtype.kind in "fc":
            for part in (np.real, np.imag):
                signs = [np.signbit(part(one)) | np.isnan(part(one)) for one in (found, expected)]
                np.testing.assert_array_equal(*signs)
    else:
        assert repr(found) == repr(expected)


def assert_same_bits(found: Any, expected: Any) -> None:
    """The same types, shapes and bytes, those inside nan too; of a tuple, each."""
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same_bits(one, other)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    else:
        assert found == expected


def alike(found: Any, expected: Any) -> None:
    """The same structure, None in the same places, arrays of one shape and dtype, and to rounding
    of one value. An int is a float64."""
    if expected is None:
        assert found is None
    elif isinstance(expected, (list, tuple)):
        assert type(found) is type(expected)
        assert len(found) == len(expected), (found, expected)
        for one, other in zip(found, expected, strict=True):
            alike(one, other)
    elif isinstance(expected, dict):
        assert type(found) is dict and set(found) == set(expected)
        for key, other in expected.items():
            alike(found[key], other)
    else:
        assert found is not None
        wanted = np.float64(expected) if type(expected) is int else expected
        close(np.asarray(array_of(found)), np.asarray(array_of(wanted)), atol=1e-30)
