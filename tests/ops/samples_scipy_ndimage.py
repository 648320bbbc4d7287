"""Samples of scipy.ndimage's linear filters, in every mode, with kernels larger than the array."""

from __future__ import annotations

import numpy as np
import scipy.ndimage as nd
from table import Sample, complex_normal, distinct, formula, low, normal

from tracejit.scipy import ndimage

MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
ODD, EVEN = np.array([0.5, -1.0, 0.25]), np.array([0.5, -1.0, 0.25, 2.0])
LONG = np.array([1.0, -2.0, 3.0, 0.5, 0.25, -1.0, 4.0])
PLANE = np.array([[1.0, -2.0], [0.5, 3.0], [0.25, -1.0]])


def call(name, *args, **keywords):
    """A function of the array with these arguments."""
    return lambda x: getattr(ndimage, name)(x, *args, **keywords)


def samples(op, functions, arrays):
    """Each function on each array."""
    return [Sample(op, function, (x,)) for function in functions for x in arrays]


ALONG = [
    *[
        sample
        for name in ("correlate1d", "convolve1d")
        for sample in samples(
            f"ndimage_{name}",
            [
                call(name, weights, mode=mode, cval=0.75)
                for mode in MODES
                for weights in (ODD, EVEN, LONG)
            ],
            [normal(5), normal(2)],
        )
    ],
    *samples(
        "ndimage_convolve1d",
        [
            call("convolve1d", EVEN, axis=-2, mode="nearest", origin=-1),
            call("convolve1d", ODD, axis=0, mode="wrap", origin=1),
        ],
        [normal(4, 3), low(normal(3, 4)), complex_normal(3, 3)],
    ),
    *samples(
        "ndimage_correlate1d",
        [
            call("correlate1d", ODD, 0),
            call("correlate1d", EVEN, axis=1, origin=1),
            call("correlate1d", ODD, mode="grid-wrap", origin=-1),
            call("correlate1d", [1, 2, 1], mode="grid-constant", origin=1),
            call("gaussian_filter1d", 0.8),
            call("gaussian_filter1d", 0.8, 0, 1, truncate=2.0),
            call("gaussian_filter1d", 1.5, order=2, mode="grid-mirror", radius=2),
        ],
        [normal(4, 3), normal(2, 3, 2), low(normal(3, 4)), complex_normal(3, 3)],
    ),
    *samples(
        "ndimage_uniform_filter1d",
        [
            call("uniform_filter1d", 3),
            call("uniform_filter1d", 2, axis=0, mode="constant", cval=1.5),
            call("uniform_filter1d", 4, mode="wrap", origin=1),
            call("uniform_filter1d", 9, mode="mirror", origin=-2),
            call("uniform_filter1d", 5, mode="nearest"),
        ],
        [normal(4, 3), low(normal(3, 4))],
    ),
]
SPREAD = [
    *samples(
        "ndimage_correlate",
        [
            *[call("correlate", PLANE, mode=mode, cval=0.5) for mode in MODES],
            call("correlate", np.ones((5, 7)), mode="mirror"),
            call("correlate", PLANE, origin=(-1, 0)),
        ],
        [normal(4, 3), low(normal(3, 4))],
    ),
    *samples(
        "ndimage_convolve",
        [call("convolve", PLANE, mode=mode, origin=(1, -1)) for mode in MODES],
        [normal(4, 3), low(normal(3, 4))],
    ),
    *samples("ndimage_convolve", [call("convolve", ODD), call("convolve", EVEN)], [normal(4)]),
    *samples(
        "ndimage_convolve",
        [call("convolve", np.stack([PLANE, 2 * PLANE]))],
        [normal(3, 3, 2), complex_normal(2, 3, 2)],
    ),
]
COMPOSED = [
    *samples(
        "ndimage_correlate1d",
        [
            call("gaussian_filter", 0.7),
            call("gaussian_filter", (0.5, 0), order=(1, 0), mode=["nearest", "wrap"]),
            call("gaussian_filter", 0.8, 2, truncate=1.5, mode="constant", cval=2.0),
            call("sobel"),
            call("sobel", 0, mode=["constant", "mirror"], cval=1.0),
            call("prewitt", axis=1, mode="wrap"),
            call("laplace"),
            call("laplace", mode=("nearest", "reflect")),
            call("gaussian_laplace", 0.7),
            call("gaussian_laplace", (0.7, 0.4), mode="constant", truncate=2.0),
        ],
        [normal(4, 3), low(normal(3, 3))],
    ),
    *samples(
        "ndimage_correlate1d",
        [call("gaussian_gradient_magnitude", 0.7, mode=mode) for mode in ("nearest", "wrap")],
        [distinct(3, 4)],
    ),
    *samples(
        "ndimage_uniform_filter1d",
        [call("uniform_filter"), call("uniform_filter", (2, 1), mode="nearest", origin=(-1, 0))],
        [normal(4, 3), normal(2, 5)],
    ),
    *[
        Sample("ndimage_correlate1d", call(name, *args), (x,), differentiable=False)
        for name, *args in (("gaussian_filter", 1.0), ("sobel",), ("laplace",),
                            ("gaussian_gradient_magnitude", 1.0))
        for x in (np.arange(12).reshape(3, 4) ** 2, np.arange(6, dtype="u1").reshape(2, 3))
    ],
]  # fmt: skip


def moved(name, *args, **options):
    """An image at other places."""
    return lambda x: formula(getattr(nd, name))(x, *args, **options)


INSIDE = np.array([[0.3, 1.6, 2.7], [1.4, 0.2, 3.1]])
MOVED = [
    *[
        Sample("map_coordinates", lambda x, p, o=order, m=mode: formula(nd.map_coordinates)(
            x, p, order=o, mode=m), (normal(4, 5), INSIDE), order=order_of_slopes,
            holomorphic=False, float32=False)
        for order, mode, order_of_slopes in ((1, "constant", 2), (3, "mirror", 1),
                                             (2, "nearest", 1), (0, "reflect", 1))
    ],
    Sample("shift", lambda x, s: formula(nd.shift)(x, s, mode="reflect"), (normal(4, 5), np.array(
        [0.3, -0.4])), order=1, holomorphic=False, float32=False),
    Sample("spline_filter1d", moved("shift", 0.5), (normal(4, 5),), float32=False),
    *[
        Sample("spline_filter1d", moved("zoom", 1.7, mode=mode), (normal(6),), float32=False)
        for mode in ("nearest", "mirror", "reflect", "grid-wrap")
    ],
    Sample("zoom", moved("zoom", (2.0, 0.5), order=1), (normal(4, 5),), float32=False),
    Sample("rotate", moved("rotate", 30.0, order=1), (normal(4, 5),), float32=False),
    Sample("affine_transform", lambda x, m: formula(nd.affine_transform)(
        x, m, [0.33, 0.27], mode="mirror", order=1), (normal(4, 5), np.array(
        [[0.8, 0.3], [-0.2, 1.1]])), order=1, holomorphic=False, float32=False),
]  # fmt: skip

SAMPLES = ALONG + SPREAD + COMPOSED + MOVED
