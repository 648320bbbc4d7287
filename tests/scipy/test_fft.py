"""tracejit.scipy.fft: what is refused, and what a kernel calls."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.scipy import fft


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: fft.fft(x, workers=2), "workers"),
        (lambda x: fft.dct(x, overwrite_x=True), "overwrite_x"),
        (lambda x: fft.dct(x, orthogonalize=True), "orthogonalize"),
        (lambda x: fft.dct(x, type=5), "invalid type"),
        (lambda x: fft.hfft(x), "hfft is not recorded"),
        (lambda x: fft.fft(x, norm="none"), "Invalid norm"),
    ],
)
def test_refused_by_name(call, words) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.function(call)(np.ones(4))


def test_kernels_call_scipy() -> None:
    f = tj.value_and_grad(lambda x: np.sum(fft.dctn(x, norm="ortho") ** 2))
    x = np.arange(6.0).reshape(2, 3)
    value, grad = f(x)
    assert abs(value - np.sum(x * x)) < 1e-12
    assert np.allclose(grad, 2 * x)
    assert 'dctn(x, norm="ortho")' in f.source


def test_irfft_leaves_out_what_is_the_default() -> None:
    f = tj.function(lambda x: fft.irfft(x))
    f(np.ones(4, complex))
    assert "irfft(x)" in f.source
