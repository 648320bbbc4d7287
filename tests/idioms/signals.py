"""Spectra, filters, images."""

from __future__ import annotations

import numpy as np

from tests.idioms.table import complex_normal, idiom, normal, positive


@idiom(normal(8))
def power_spectrum(x):
    return np.abs(np.fft.rfft(x)) ** 2 / len(x)


@idiom(normal(8))
def low_pass_filter(x):
    spectrum = np.fft.fft(x)
    keep = np.abs(np.fft.fftfreq(len(x))) < 0.3
    return np.fft.ifft(spectrum * keep).real


@idiom(normal(8))
def spectral_derivative(u):
    k = 2j * np.pi * np.fft.rfftfreq(len(u), d=1 / len(u))
    return np.fft.irfft(k * np.fft.rfft(u), n=len(u))


@idiom(normal(6), normal(4))
def convolution_by_fft(x, y):
    n = len(x) + len(y) - 1
    return np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(y, n), n)


@idiom(normal(8))
def windowed_frames(x):
    frames = np.lib.stride_tricks.sliding_window_view(x, 4)[::2]
    return np.abs(np.fft.rfft(frames * np.hanning(4), axis=-1))


@idiom(normal(8))
def analytic_envelope(x):
    spectrum = np.fft.fft(x)
    step = np.concatenate([[1.0], np.full(3, 2.0), [1.0], np.zeros(3)])
    return np.abs(np.fft.ifft(spectrum * step))


@idiom(normal(4, 4))
def image_filtered_by_fft2(image):
    return np.fft.ifft2(np.fft.fft2(image) * np.exp(-np.arange(4) / 2)).real


@idiom(normal(6))
def cosine_transform(x):
    n = len(x)
    k = np.arange(n)
    return np.cos(np.pi * np.outer(k, k + 0.5) / n) @ x


@idiom(normal(6, 6))
def sobel_magnitude(image):
    gx = image[:, 2:] - image[:, :-2]
    gx = gx[:-2] + 2 * gx[1:-1] + gx[2:]
    gy = image[2:] - image[:-2]
    gy = gy[:, :-2] + 2 * gy[:, 1:-1] + gy[:, 2:]
    return np.hypot(gx, gy)


@idiom(normal(5, 6))
def separable_blur(image):
    kernel = np.array([0.25, 0.5, 0.25])
    padded = np.pad(image, 1, mode="edge")
    rows = sum(w * padded[k : k + 5] for k, w in enumerate(kernel))
    return sum(w * rows[:, k : k + 6] for k, w in enumerate(kernel))


@idiom(positive(3, 4, 3))
def grey_image(rgb):
    return np.dot(rgb, [0.299, 0.587, 0.114]) ** (1 / 2.2)


@idiom(positive(2, 3), positive(2, 3), positive(2, 3) / 2)
def alpha_blend(front, back, alpha):
    return alpha * front + (1 - alpha) * back


@idiom(normal(5, 5))
def total_variation(image):
    dx, dy = np.diff(image, axis=0), np.diff(image, axis=1)
    return np.sum(np.abs(dx)) + np.sum(np.abs(dy))


@idiom(np.float64(1.3), np.float64(2.4), normal(4, 5))
def bilinear_sample(x, y, image):
    i, j = np.floor(x).astype(int), np.floor(y).astype(int)
    s, t = x - i, y - j
    top = (1 - t) * image[i, j] + t * image[i, j + 1]
    return (1 - s) * top + s * ((1 - t) * image[i + 1, j] + t * image[i + 1, j + 1])


@idiom(normal(6))
def frequency_response(taps):
    omega = np.linspace(0, np.pi, 4)
    return np.abs(np.exp(-1j * np.outer(omega, np.arange(len(taps)))) @ taps)


@idiom(complex_normal(4), complex_normal(4))
def coherence(a, b):
    cross = np.vdot(a, b)
    return np.abs(cross) ** 2 / (np.vdot(a, a).real * np.vdot(b, b).real)


@idiom(normal(8), np.float64(0.9))
def autoregressive_filter(x, a):
    y, out = 0.0, []
    for value in x:
        y = a * y + value
        out.append(y)
    return np.stack(out)


@idiom(normal(8))
def pre_emphasis(x):
    return np.append(x[0], x[1:] - 0.97 * x[:-1])


@idiom(normal(8))
def zero_mean_energy(x):
    return np.linalg.norm(x - np.mean(x)) ** 2


@idiom(normal(6))
def half_sample_shift(x):
    shift = np.exp(-1j * np.pi * np.fft.fftfreq(len(x)))
    return np.fft.ifft(np.fft.fft(x) * shift).real


@idiom(normal(4, 6))
def downsample(image):
    return image[::2, ::2] + image[1::2, 1::2]


@idiom(normal(10))
def cross_correlation_lag(x):
    return np.correlate(x, x[3:6], mode="valid")


@idiom(positive(5))
def decibels(power):
    return 10 * np.log10(power / power.max())


@idiom(normal(4), normal(4))
def complex_signal(i, q):
    z = i + 1j * q
    return np.unwrap(np.angle(z)), np.abs(z)
