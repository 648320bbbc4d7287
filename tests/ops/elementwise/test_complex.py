"""Complex numbers: NumPy's functions of a scalar are not always those of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_abs_of_a_complex_number_rounds_as_a_scalar(dtype: Any) -> None:
    z = np.random.default_rng(0).normal(size=(2, 300)).astype(dtype(0).real.dtype)
    by_scalar = tj.function(lambda x, y: abs(x + 1j * y), exact=True)
    by_ufunc = tj.function(lambda x, y: np.absolute(x + 1j * y), exact=True)
    found = np.array([[f(x, y) for f in (by_scalar, by_ufunc)] for x, y in z.T])
    expected = np.array([[abs(x + 1j * y), np.absolute(x + 1j * y)] for x, y in z.T])
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    each = tj.vmap(lambda x, y: abs(x + 1j * y))(*z)
    np.testing.assert_allclose(each, expected[:, 0], rtol=1e-6)


def test_a_complex_number_is_not_rounded() -> None:
    for f in (lambda z: round(z), lambda z: round(z, 1)):
        with pytest.raises(TypeError, match="doesn't define __round__"):
            f(np.complex128(1.25j))
        with pytest.raises(TypeError, match="doesn't define __round__"):
            tj.function(f)(np.complex128(1.25j))
