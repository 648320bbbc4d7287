"""scipy.signal: power spectra, as Fourier transforms of all segments at once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.signal as ss

from tracejit.ops.base.creation import as_array, cast, settled, type_in_call
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import OPS, composite
from tracejit.ops.indexing.indexing import take


def _window(window: Any, nperseg: Any, size: int) -> np.ndarray:
    """The window, whose length is that of a segment."""
    window = settled(window)
    if isinstance(window, (str, tuple)):
        length = 256 if nperseg is None else int(nperseg)
        if length < 1:
            raise ValueError("nperseg must be a positive integer")
        if length > size:
            words = f"nperseg = {length} is greater than input length = {size}, using {size}"
            warnings.warn(words, stacklevel=2)
            length = size
        return np.asarray(ss.get_window(window, length))
    found = as_array(window)
    if np.ndim(found) != 1 or np.shape(found)[0] > size:
        raise ValueError("window must be 1-D, and no longer than the input signal")
    if nperseg is not None and nperseg != np.shape(found)[0]:
        raise ValueError("value specified for nperseg is different from length of window")
    return found  # type: ignore[no-any-return]


def _transformed(x: Any, window: Any, step: int, nfft: int, detrend: Any, onesided: bool) -> Any:
    """The transforms of the segments of the last axis."""
    length = np.shape(window)[0]
    starts = np.arange(0, np.shape(x)[-1] - length + 1, step)
    segments = take.record_call(x, starts[:, None] + np.arange(length), axis=-1)
    if callable(detrend):
        segments = detrend(segments)
    elif detrend == "constant":
        segments = segments - np.mean(segments, axis=-1, keepdims=True)
    elif detrend == "linear":
        segments = OPS["detrend"](segments)
    elif detrend:
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    transform = np.fft.rfft if onesided else np.fft.fft
    return transform(segments * window, nfft)


def _median_bias(count: int) -> float:
    """The expected median of so many exponential variables of mean one."""
    even = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    return float(1 + np.sum(1.0 / (even + 1) - 1.0 / even))


def _averaged(power: Any, average: str) -> Any:
    """The mean or the median over the segments, which are in the last axis but one."""
    if average not in ("mean", "median"):
        raise ValueError(f"average must be 'median' or 'mean', got {average}")
    if average == "mean":
        return np.mean(power, axis=-2)
    bias = _median_bias(np.shape(power)[-2])
    if power.dtype.kind == "c":
        return (np.median(power.real, axis=-2) + 1j * np.median(power.imag, axis=-2)) / bias
    return np.median(power, axis=-2) / bias


def _spectrum(
    x: Any, y: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
    onesided: bool, scaling: str, axis: int, average: str,
) -> tuple[Any, Any]:  # fmt: skip
    """Frequencies, and the cross spectrum of two signals; of one that is both, its power."""
    same, x = y is x, as_array(x)
    y = x if same else as_array(y)
    kinds = [type_in_call(one).dtype for one in (x, y)]
    number = normalize_axis(axis, np.ndim(x))
    x, y = (np.moveaxis(one, axis, -1) for one in (x, y))
    size = max(np.shape(x)[-1], np.shape(y)[-1])
    x, y = (_of_length(one, size) for one in (x, y))
    window = _window(window, nperseg, size)
    length = np.shape(window)[0]
    nfft = length if nfft is None else int(nfft)
    overlap = length // 2 if noverlap is None else int(noverlap)
    if nfft < length or not 0 <= overlap < length:
        raise ValueError("nfft must be at least nperseg, and noverlap less than it")
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling!r}")
    onesided = bool(onesided) and all(kind.kind != "c" for kind in kinds)
    total = fs * np.sum(window * window) if scaling == "density" else np.sum(window) ** 2
    options = (window, length - overlap, nfft, detrend, onesided)
    of_x = _transformed(x, *options)
    if same:
        power = np.real(of_x) ** 2 + np.imag(of_x) ** 2
    else:
        power = np.conj(of_x) * _transformed(y, *options)
    power = _averaged(power, average) / total
    if onesided:
        twice = np.full(nfft // 2 + 1, 2.0)
        twice[[0, -1] if nfft % 2 == 0 else 0] = 1.0
        power = power * twice
    frequencies = np.fft.rfftfreq(nfft) * fs if onesided else np.fft.fftfreq(nfft) * fs
    is_double = any(np.finfo(kind).bits > 32 if kind.kind in "fc" else True for kind in kinds)
    kind = np.dtype(("c16" if is_double else "c8") if not same else "f8" if is_double else "f4")
    power = power if power.dtype == kind else cast(power, kind)
    return frequencies, np.moveaxis(power, -1, number)


def _of_length(x: Any, size: int) -> Any:
    """A signal with zeros behind it."""
    missing = size - np.shape(x)[-1]
    if not missing:
        return x
    return np.concatenate([x, np.zeros((*np.shape(x)[:-1], missing), x.dtype)], axis=-1)


@composite(ss.welch)
def welch(
    x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    """The power spectrum by Welch's method."""
    return _spectrum(
        x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    )


@composite(ss.csd)
def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: Any = None, noverlap: Any = None,
    nfft: Any = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    """The cross power spectrum by Welch's method."""
    return _spectrum(
        x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    )


@composite(ss.periodogram)
def periodogram(
    x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> Any:  # fmt: skip
    """The power spectrum of a whole signal."""
    x = as_array(x)
    size = np.shape(x)[axis]
    if nfft is not None and nfft < size:
        x, size = np.moveaxis(np.moveaxis(x, axis, -1)[..., :nfft], -1, axis), int(nfft)
    window = "boxcar" if window is None else window
    return _spectrum(
        x, x, fs, window, size, 0, nfft, detrend, return_onesided, scaling, axis, "mean"
    )
