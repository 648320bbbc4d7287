"""Samples of numpy.fft: transforms along one axis and several, and shifts."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, low, normal

INTEGERS = np.array([[3, -1, 4, 1], [1, -5, 9, 2], [2, 6, -5, 3]], np.int16)
BOOLEANS = np.array([True, False, True, True])


def each(name, *arrays, zero_size=None, **keywords):
    """A sample of np.fft.NAME with these keywords for every array."""

    def call(a):
        return getattr(np.fft, name)(a, **keywords)

    return [Sample(name, call, (array,), zero_size=zero_size) for array in arrays]


def one_axis(name, *kinds):
    """Samples of a transform along one axis, of the kinds of arrays it takes."""
    samples = []
    for kind in kinds:
        samples += each(name, kind(2), kind(5), kind(6), kind(3, 4), kind(2, 3, 4))
        samples += each(name, low(kind(4)), low(kind(2, 3)), kind(4, 6).T, kind(4, 6)[::2])
        samples += each(name, kind(4, 3), low(kind(4, 3)), axis=0)
        samples += each(name, kind(2, 4, 3), axis=-2, norm="ortho")
        samples += each(name, kind(5), kind(2, 4), low(kind(4)), norm="ortho")
        samples += each(name, kind(5), kind(2, 4), low(kind(3)), norm="forward")
        samples += each(name, kind(5), norm="backward")
        for n in (1, 2, 3, 6, 9, 11):  # cropped and padded, odd and even
            samples += each(name, kind(5), n=n)
        samples += each(name, kind(1), n=1)
        samples += each(name, kind(3, 2), n=7, axis=0)
        samples += each(name, kind(3, 2), n=2, axis=0, norm="ortho")
        samples += each(name, low(kind(3, 2)), n=np.int64(4), norm="forward")
        samples.append(
            Sample(name, lambda a: getattr(np.fft, name)(a, 6, 0, "ortho"), (kind(4, 2),))
        )
    samples += each(name, INTEGERS, BOOLEANS, zero_size=(np.zeros((0, 4)),))
    # NumPy's irfft of no frequencies at all is not defined.
    empty = (
        [np.zeros((0, 2))] if name in ("irfft", "hfft") else [np.zeros((0, 2)), np.zeros((3, 0))]
    )
    samples += each(name, normal(3, 4), zero_size=tuple((array,) for array in empty), n=4)
    samples += each(name, normal(4).astype(np.float16))
    return samples


def several_axes(name, *kinds):
    """Samples of a transform along all axes or those named."""
    samples = []
    for kind in kinds:
        samples += each(name, kind(3, 4), kind(2, 3, 3), low(kind(3, 4)), kind(4, 3).T)
        samples += each(name, kind(3, 4), low(kind(3, 4)), norm="ortho")
        samples += each(name, kind(3, 4), norm="forward")
        samples += each(name, kind(2, 3, 4), axes=(0, 2))
        samples += each(name, kind(2, 3, 4), axes=[1, 0], norm="ortho")
        samples += each(name, kind(3, 4), s=(5, 3), axes=(0, 1))
        samples += each(name, kind(3, 4), s=(4, -1), axes=(-1, 0), norm="forward")
        samples += each(name, kind(3, 4), s=[2, 6], axes=(0, 1), norm="ortho")
        samples += each(name, kind(3, 4), axes=(1, 1))
        samples += each(name, kind(2, 3), axes=(1,))
    samples += each(name, INTEGERS, zero_size=(np.zeros((0, 3, 4)),), axes=(-2, -1))
    return samples


def two_axes(name, *kinds):
    """Samples of a transform along the last two axes unless others are named."""
    samples = []
    for kind in kinds:
        samples += each(name, kind(3, 4), kind(2, 3, 3), low(kind(3, 4)))
        samples += each(name, kind(3, 4), s=(5, 3), norm="ortho")
        samples += each(name, kind(2, 3, 4), axes=(0, 2))
    return samples + each(name, INTEGERS)


def shifted(name):
    """Samples of a shift."""
    return [
        *each(name, normal(4), normal(5), normal(2, 3), complex_normal(5), complex_normal(3, 4)),
        *each(name, low(normal(5)), INTEGERS, BOOLEANS),
        *each(name, normal(3), zero_size=((np.zeros(0),), (np.zeros((0, 3)),))),
        *each(name, normal(2, 5), axes=1),
        *each(name, normal(5, 2), axes=np.int64(-2)),
        *each(name, normal(5, 2, 3), axes=(0, -1)),
        *each(name, complex_normal(5, 3), axes=[0]),
    ]


def frequencies(name):
    """Samples of the frequencies of a transform, by the time from point to point."""
    return [
        Sample(name, lambda d, n=n: getattr(np.fft, name)(n, d), (spacing,))
        for n in (1, 4, 5)
        for spacing in (np.array(0.3), np.array(1.7, np.float32))
    ]


SAMPLES = [
    *one_axis("fft", normal, complex_normal),
    *one_axis("ifft", normal, complex_normal),
    *one_axis("rfft", normal),
    *one_axis("irfft", normal, complex_normal),
    *one_axis("hfft", normal, complex_normal),
    *one_axis("ihfft", normal),
    *several_axes("fftn", normal, complex_normal),
    *several_axes("ifftn", normal, complex_normal),
    *several_axes("rfftn", normal),
    *several_axes("irfftn", normal, complex_normal),
    *two_axes("fft2", normal, complex_normal),
    *two_axes("ifft2", normal, complex_normal),
    *two_axes("rfft2", normal),
    *two_axes("irfft2", normal, complex_normal),
    *each("fftn", normal(5), complex_normal(2, 3, 2)),
    *each("ifftn", normal(5), complex_normal(2, 3, 2)),
    *each("rfftn", normal(5), normal(2, 3, 2)),
    *each("irfftn", normal(5), complex_normal(2, 3, 3)),
    *shifted("fftshift"),
    *shifted("ifftshift"),
    *frequencies("fftfreq"),
    *frequencies("rfftfreq"),
]
