"""tracejit.scipy.signal: what is refused, and what a kernel calls."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.scipy import signal


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: signal.convolve2d(x[None], x[None], boundary="wrap"), "boundary"),
        (lambda x: signal.fftconvolve(x, x, axes=0), "axes"),
        (lambda x: signal.correlate(x[:2], x, mode="valid"), "larger than the first"),
        (lambda x: signal.convolve(x, x[None]), "same dimensionality"),
        (lambda x: signal.lfilter([1.0], [1.0], x, zi=[0.0]), "zi"),
        (lambda x: signal.detrend(x, overwrite_data=True), "overwrite_data"),
        (lambda x: signal.savgol_filter(x, 3, 1, mode="constant", cval=1.0), "cval"),
        (lambda x: signal.hilbert(x), "hilbert is not recorded"),
    ],
)
def test_refused_by_name(call, words) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.function(call)(np.ones(4))


def test_kernels_call_scipy() -> None:
    f = tj.value_and_grad(lambda x, k: np.sum(signal.convolve(x, k, mode="same") ** 2))
    x, k = np.arange(5.0), np.array([1.0, -2.0, 0.5])
    assert f(x, k)[0] == np.sum(np.convolve(x, k, "same") ** 2)
    assert 'signal_convolve(x, k, mode="same")' in f.source
