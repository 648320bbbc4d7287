"""tracejit.scipy.signal: what is refused, and what a kernel calls."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import scipy.signal as ss

import tracejit as tj
from tests.by_day import some_by_day
from tracejit.scipy import signal

RNG = np.random.default_rng(3)
X, Z = RNG.normal(size=(2, 24)), RNG.normal(size=(2, 3))
B, A = ss.butter(3, 0.3)
SOS = ss.butter(4, 0.3, output="sos")
FILTERS = {
    "lfilter": (lambda b, a, x: ss.lfilter(b, a, x, axis=0), (B, A, X.T.copy())),
    "lfilter from states": (lambda b, a, x, z: ss.lfilter(b, a, x, zi=z), (B, A, X[:, :9], Z)),
    "of few samples": (lambda b, a, x, z: ss.lfilter(b, a, x, zi=z), (B, A, X[:, :2], Z)),
    "along the first axis": (
        lambda x, z: ss.lfilter(B, 2.0 * A, x, axis=0, zi=z), (X.T.copy(), Z.T.copy())),
    "of a numerator": (lambda b, x, z: ss.lfilter(b, [2.0], x, zi=z), (B, X, Z)),
    "lfilter_zi": (lambda b, a: ss.lfilter_zi(b, a), (B, A)),
    "filtfilt": (lambda b, a, x: ss.filtfilt(b, a, x), (B, A, X)),
    "even": (lambda x: ss.filtfilt(B, A, x, axis=0, padtype="even", padlen=5), (X.T.copy(),)),
    "constant": (lambda x: ss.filtfilt(B, A, x, padtype="constant", padlen=23), (X,)),
    "not padded": (lambda x: ss.filtfilt(B, A, x, padtype=None), (X,)),
    "sosfilt": (lambda x: ss.sosfilt(SOS, x), (X,)),
    "sosfilt from states": (
        lambda x, z: ss.sosfilt(SOS, x, axis=0, zi=z), (X.T.copy(), RNG.normal(size=(2, 2, 2)))),
    "sections": (
        lambda s, x: ss.sosfilt(np.hstack([s[:, :3], np.ones((2, 1)), s[:, 3:]]), x),
        (np.delete(SOS, 3, axis=1), X[:, :9])),
    "sosfilt_zi": (lambda x: ss.sosfilt_zi(SOS) * x, (X[:, :2],)),
    "sosfiltfilt": (lambda x: ss.sosfiltfilt(SOS, x), (X,)),
    "hilbert": (lambda x: np.abs(ss.hilbert(x)), (X,)),
    "periodogram": (lambda x: ss.periodogram(x)[1], (X,)),
    "welch": (lambda x: ss.welch(x, nperseg=8)[1], (X,)),
    "welch of a window": (
        lambda x: ss.welch(x, 10.0, "hamming", 8, 2, detrend="linear", scaling="spectrum")[1],
        (X,)),
    "welch of all": (
        lambda x: ss.welch(x, window=("kaiser", 3.0), nperseg=7, nfft=12, detrend=False,
                           average="median", return_onesided=False, axis=0)[1], (X.T.copy(),)),
    "periodogram of a part": (lambda x: ss.periodogram(x, 2.0, "hann", nfft=16)[1], (X,)),
    "padded periodogram": (lambda x: ss.periodogram(x, nfft=40)[1], (X,)),
    "csd": (lambda x, y: np.abs(ss.csd(x, y, nperseg=8)[1]), (X, X[::-1, :20])),
    "coherence": (lambda x: ss.coherence(x, X[::-1], nperseg=8)[1], (X,)),
    "freqz": (lambda b, a: np.abs(ss.freqz(b, a, worN=6)[1]), (B, A)),
    "freqz at frequencies": (lambda b: np.real(ss.freqz(b, worN=[0.1, 1.2], fs=6.0)[1]), (B,)),
}  # fmt: skip


@pytest.mark.parametrize("name", FILTERS)
def test_filters_and_spectra_are_scipys(name: str) -> None:
    call, args = FILTERS[name]
    found, expected = tj.function(call)(*args), call(*args)
    pairs = zip(found, expected, strict=True) if type(expected) is tuple else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        assert one.dtype == other.dtype


@pytest.mark.parametrize("name", some_by_day(FILTERS))
def test_gradients_of_filters_and_spectra(name: str) -> None:
    call, args = FILTERS[name]
    tj.check_grads(call, args, order=2 if len(args) == 1 else 1)


@pytest.mark.parametrize("name", ["filtfilt", "sosfilt", "sosfiltfilt", "hilbert", "welch"])
def test_signals_in_a_batch(name: str) -> None:
    call, args = FILTERS[name]
    for one in (lambda x: call(*args[:-1], x), lambda x: call(*args[:-1], x.astype(np.float32))):
        expected = np.stack([one(x) for x in X])
        np.testing.assert_allclose(tj.vmap(one)(X), expected, rtol=1e-4, atol=1e-6)


def test_frequencies_and_dtypes_of_spectra() -> None:
    for x in (X, X.astype(np.float32), X + 1j * X[::-1]):
        found = tj.function(lambda x: ss.welch(x, 3.0, nperseg=8))(x)
        for one, other in zip(
            found, ss.welch(x, 3.0, nperseg=8, return_onesided=x.dtype != complex), strict=True
        ):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-4)


def test_filters_of_float32() -> None:
    b, a, x = (one.astype(np.float32) for one in (B, A, X))
    for call in (lambda x: ss.filtfilt(b, a, x), lambda x: ss.sosfilt(SOS.astype(x.dtype), x)):
        found, expected = tj.function(call)(x), call(x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("mode", ["full", "same"])
def test_images_are_extended_beyond_their_edges(mode: str, boundary: str) -> None:
    options = {"mode": mode, "boundary": boundary, "fillvalue": 2.5}
    for name, shape in itertools.product(("convolve2d", "correlate2d"), ((3, 2), (7, 9))):
        kernel = np.random.default_rng(0).normal(size=shape)

        call = functools.partial(getattr(signal, name), **options)
        image = np.random.default_rng(1).normal(size=(4, 3))
        np.testing.assert_allclose(tj.function(call)(image, kernel), call(image, kernel), 1e-12)
        tj.check_grads(call, (image, kernel), order=1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: signal.convolve2d(x[None], x[None], boundary="edge"), "boundary='edge'"),
        (lambda x: signal.fftconvolve(x, x, axes=0), "axes"),
        (lambda x: signal.correlate(x[:2], x, mode="valid"), "larger than the first"),
        (lambda x: signal.convolve(x, x[None]), "same dimensionality"),
        (lambda x: signal.lfilter([1.0], [1.0], x, zi=[0.0]), "zi"),
        (lambda x: ss.filtfilt([1.0, 0.5], [1.0], x, method="gust"), "take method='pad'"),
        (lambda x: ss.filtfilt([1.0, 0.5], [1.0], x), "greater than padlen"),
        (lambda x: ss.sosfiltfilt(np.outer([1.0], x[[0, 0, 0, 0, 0, 0]]), x), "give padlen"),
        (lambda x: ss.sosfilt(np.ones((1, 5)), x), "n_sections, 6"),
        (lambda x: signal.detrend(x, overwrite_data=True), "overwrite_data"),
        (lambda x: signal.savgol_filter(x, 3, 1, mode="constant", cval=1.0), "cval"),
        (lambda x: ss.welch(x, nperseg=4, noverlap=4), "noverlap less than"),
        (lambda x: ss.periodogram(x, scaling="other"), "Unknown scaling"),
        (lambda x: ss.medfilt(x), "medfilt is not recorded"),
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
