"""What NumPy's functions write into `out`, given by name or by position, to functions and methods;
and what they write into plain arrays, where nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.support.compare import assert_same
from tracejit.support.errors import InPlaceError

M = np.random.default_rng(3).normal(size=(3, 4))


def by_name(m: Any, np: Any) -> Any:
    y, z = tnp.zeros(4), tnp.zeros((2, 4))
    np.sum(m, axis=0, out=y)
    np.stack([y, m[0]], out=z)
    np.concatenate([m[0], m[1, :2]], out=tnp.zeros(6))
    np.clip(z[1], -0.5, 0.5, out=z[0])
    np.copyto(y, z[0])
    return np.add(y, z, out=z)


def by_position(m: Any, np: Any) -> Any:
    y, z = tnp.zeros(4), tnp.zeros(3)
    np.max(m, 0, y)
    np.sum(m, 1, None, z)
    np.clip(y, -0.5, 0.5, y)
    np.cumsum(z, 0, None, z)
    return np.dot(m, y, z)


def of_methods(m: Any, np: Any) -> Any:
    y, z = tnp.zeros(4), tnp.zeros(3)
    m.mean(0, None, y)
    m[1].clip(-0.2, 0.9, y[:])
    m.dot(y, z)
    m[0].take([2, 1], None, z[:2])
    z[1:].round(1, z[1:])
    return y[:3] * z


@pytest.mark.parametrize("numpys", [np, tnp])
@pytest.mark.parametrize("f", [by_name, by_position, of_methods])
def test_out_is_numpys(f: Callable[..., Any], numpys: Any) -> None:
    expected = f(M, np)
    recorded = tj.function(lambda m: f(m, numpys), exact=True)
    np.testing.assert_array_equal(recorded(M), expected)
    np.testing.assert_array_equal(np.asarray(f(tj.constant(M), numpys)), expected)


def into_plain(x: Any) -> Any:
    y = np.zeros(4)
    np.copyto(y, x)
    np.put(y, [0], x[1])
    np.putmask(y, y > 0.2, x)
    np.place(y, y < -0.5, x[2])
    np.put_along_axis(y, np.array([1]), x[3], 0)
    np.concatenate([x[:2], x[:2]], out=y)
    square = np.zeros((4, 4))
    np.fill_diagonal(square, x)
    return square + y + np.matmul(square, square, out=np.zeros((4, 4)))


def test_numbers_of_eager_tensors_may_be_written_into_plain_arrays() -> None:
    found = into_plain(tj.constant(M[0]))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, into_plain(M[0]))


def joined(x: Any) -> Any:
    return np.concatenate([x, x], out=np.zeros(8))


@pytest.mark.parametrize("f", [into_plain, joined])
def test_converted_their_arrays_are_recorded(f: Any) -> None:
    assert_same(tj.function(f)(M[0]), f(M[0]))
    tangent = tj.jvp(f, (M[0],), (np.ones_like(M[0]),))[1]
    slope = (f(M[0] + 1e-6) - f(M[0] - 1e-6)) / 2e-6
    np.testing.assert_allclose(tangent, slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("mode", ["recorded", "taped"])
@pytest.mark.usefixtures("as_written")
def test_what_is_recorded_may_not(mode: str) -> None:
    for f in (into_plain, joined):
        with pytest.raises(InPlaceError, match="plain array"):
            if mode == "recorded":
                tj.function(f)(M[0])
            else:
                x = tj.constant(M[0])
                with tj.GradientTape() as tape:
                    tape.watch(x)
                    f(x)
