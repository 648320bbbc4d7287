"""Samples of scipy.signal and scipy.integrate."""

from __future__ import annotations

import numpy as np
import scipy.signal as ss
from table import Sample, complex_normal, formula, low, normal

from tracejit.scipy import integrate, signal

C = complex_normal


def call(function, **keywords):
    """A function with keywords."""
    return lambda *arrays: function(*arrays, **keywords)


CONVOLVED = [
    *[
        Sample(f"signal_{name}", call(getattr(signal, name), mode=mode), args, holomorphic=False)
        for name in ("convolve", "fftconvolve", "oaconvolve", "correlate")
        for mode in ("full", "same", "valid")
        for args in (
            (normal(6), normal(3)),
            (normal(5), normal(4)),
            (C(5), C(2)),
            (normal(3, 5), normal(2, 4)),
        )
    ],
    *[
        Sample(f"signal_{name}", call(getattr(signal, name), mode=mode), args, holomorphic=False)
        for name in ("convolve2d", "correlate2d")
        for mode in ("full", "same", "valid")
        for args in ((normal(4, 5), normal(2, 3)), (C(3, 3), C(2, 2)))
    ],
    *[
        Sample(
            "signal_convolve",
            call(signal.convolve, mode=mode, method=method),
            args,
            holomorphic=False,
        )
        for mode, method in (("full", "fft"), ("same", "direct"), ("valid", "auto"))
        for args in ((normal(3), normal(5)), (low(normal(3)), low(normal(5))))
    ],
    *[
        Sample(
            "signal_correlate",
            call(signal.correlate, mode=mode),
            (normal(3), normal(5)),
            holomorphic=False,
        )
        for mode in ("full", "same")
    ],
]


def filtered(**keywords):
    """lfilter with a leading coefficient far from zero."""
    return lambda b, a, x: signal.lfilter(b, np.concatenate([[1.5], a]), x, **keywords)


def smoothed(**keywords):
    """savgol_filter of five points and order two."""
    return lambda x: signal.savgol_filter(x, 5, 2, **keywords)


FILTERED = [
    *[
        Sample("detrend", call(signal.detrend, **keywords), (normal(3, 6),))
        for keywords in (
            {}, {"axis": 0}, {"type": "constant"}, {"bp": 3}, {"type": "constant", "axis": 0},
        )
    ],
    Sample("detrend", call(signal.detrend, bp=[2, 4]), (normal(3, 6),)),
    Sample("detrend", signal.detrend, (low(normal(5)),)),
    *[
        Sample("lfilter", filtered(**keywords), args)
        for keywords, args in (
            ({}, (normal(3), 0.3 * normal(2), normal(6))),
            ({}, (normal(2), 0.3 * normal(3), normal(2, 5))),
            ({"axis": 0}, (normal(2), 0.3 * normal(3), normal(5, 2))),
            ({}, (normal(5), 0.3 * normal(1), normal(3))),
        )
    ],
    Sample("lfilter", signal.lfilter, (normal(3), np.array([2.0, 0.3, -0.4]), normal(6))),
    Sample("lfilter", lambda x: signal.lfilter([1.0, 2.0], 1.0, x), (normal(6),)),
    Sample("lfilter", filtered(), (C(3), 0.3 * C(2), C(6)), holomorphic=False),
    *[
        Sample("savgol_filter", smoothed(**keywords), (normal(7, 8),))
        for keywords in (
            {}, {"axis": 0}, {"deriv": 1, "delta": 0.5}, {"mode": "mirror"}, {"mode": "constant"},
            {"mode": "wrap"}, {"mode": "nearest"},
        )
    ],
]  # fmt: skip
PLACES = np.array([0.0, 0.5, 1.5, 1.8, 3.0])
INTEGRATED = [
    *[
        Sample(name, call(getattr(integrate, name), **keywords), args)
        for name in ("trapezoid", "cumulative_trapezoid")
        for keywords, args in (
            ({}, (normal(5),)),
            ({"dx": 0.5, "axis": 0}, (normal(4, 3),)),
            ({}, (normal(3, 5), PLACES)),
            ({"axis": 0}, (normal(5, 3), PLACES)),
            ({}, (normal(2, 5), normal(2, 5))),
            ({}, (low(normal(5)),)),
        )
    ],
    Sample("cumulative_trapezoid", call(integrate.cumulative_trapezoid, initial=0), (normal(5),)),
    *[
        Sample("simpson", call(integrate.simpson, **keywords), (y,), holomorphic=False)
        for keywords in ({}, {"dx": 0.5}, {"axis": 0})
        for y in (normal(5), normal(4), normal(4, 5), C(3))
    ],
    *[
        Sample(
            "simpson_at",
            lambda y, k=k: integrate.simpson(y, x=PLACES, **k),
            (y,),
            holomorphic=False,
        )
        for k, y in (({}, normal(5)), ({}, normal(2, 5)), ({"axis": 0}, normal(5, 2)))
    ],
    Sample("simpson_at", lambda y: integrate.simpson(y, x=PLACES[:4]), (normal(4),)),
]


def sections(x, z):
    """sosfilt from states."""
    sos = np.array([[0.5, 0.2, 0.1, 1.0, -0.4, 0.1], [1.0, 0.3, 0.2, 1.0, 0.2, -0.3]])
    return formula(ss.sosfilt)(sos, x, zi=z)


STATES = [
    Sample("welch", lambda x: formula(ss.welch)(x, nperseg=4)[1], (normal(2, 11),),
           holomorphic=False, float32=False),
    Sample("csd", lambda x, y: formula(ss.csd)(x, y, nperseg=4, detrend="linear")[1],
           (normal(9), normal(7)), holomorphic=False, float32=False),
    Sample("periodogram", lambda x: formula(ss.periodogram)(x, nfft=8)[1], (normal(7),),
           holomorphic=False, float32=False),
    Sample("lfilter_zi", lambda b, a: formula(ss.lfilter_zi)(b, np.concatenate([[1.5], a])),
           (normal(3), 0.3 * normal(2)), holomorphic=False, float32=False),
    Sample("filtfilt", lambda b, x: formula(ss.filtfilt)(b, [1.0, -0.4], x),
           (normal(2), normal(2, 9)), holomorphic=False),
    Sample("sosfilt", sections, (normal(7), normal(2, 2)), holomorphic=False, float32=False),
    Sample("sosfilt_zi", lambda b: formula(ss.sosfilt_zi)(
        np.concatenate([b, np.array([[1.0, -0.4, 0.1], [1.0, 0.2, -0.3]])], axis=1)),
        (normal(2, 3),), holomorphic=False, float32=False),
    Sample("sosfiltfilt", lambda x: formula(ss.sosfiltfilt)(
        np.array([[0.5, 0.2, 0.1, 1.0, -0.4, 0.1]]), x), (normal(12),), holomorphic=False,
        float32=False),
]  # fmt: skip

SAMPLES = CONVOLVED + FILTERED + STATES + INTEGRATED
