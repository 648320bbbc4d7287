"""autograd's convolution along pairs of axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit.autograd as ag
from tests.rows import each_row

signal = pytest.importorskip("tracejit.autograd.scipy.signal")
whole = pytest.importorskip("scipy.signal").convolve


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_the_other_axes_stand_first(mode: str) -> None:
    a, b = arrays((2, 3, 6, 5), (3, 4, 3, 2))
    found = signal.convolve(a, b, ([2, 3], [2, 3]), ([1], [0]), mode)
    for i in range(2):
        for j in range(4):
            wanted = sum(whole(a[i, k], b[k, j], mode) for k in range(3))
            np.testing.assert_allclose(found[i, j], wanted, rtol=1e-12)


def test_the_larger_array_may_be_the_second() -> None:
    a, b = arrays((2, 3), (5, 6, 4))
    found = signal.convolve(a, b, ([1], [2]), mode="valid")
    assert found.shape == (2, 5, 6, 2)
    for i, j, k in np.ndindex(2, 5, 6):
        np.testing.assert_allclose(found[i, j, k], whole(a[i], b[j, k], "valid"), rtol=1e-12)


@each_row(
    "axes, dot_axes, shapes",
    [
        (([2, 3], [2, 3]), ([1], [0]), ((2, 3, 4, 4), (3, 2, 2, 3))),
        (([-1], [0]), ((), ()), ((2, 5), (3, 2))),
        (None, ((), ()), ((4, 5), (2, 3))),
    ],
)
def test_it_has_a_gradient(axes: Any, dot_axes: Any, shapes: Any) -> None:
    a, b = arrays(*shapes)
    for mode in ("full", "valid", "same"):

        def f(a: Any, b: Any, mode: str = mode) -> Any:
            return signal.convolve(a, b, axes, dot_axes, mode)

        pull, out = ag.make_vjp(lambda pair: f(*pair))((a, b))
        g = np.cos(out)
        da, db = pull(g)
        np.testing.assert_allclose(np.sum(da * a), np.sum(g * out), rtol=1e-10)
        np.testing.assert_allclose(np.sum(db * b), np.sum(g * out), rtol=1e-10)
