"""Samples of ranges between recorded ends, slopes at recorded places, periodic interpolation."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, distinct, normal, positive

SCALAR = np.float64(0.7)
SINGLE = np.float32(0.7)
INTEGERS = np.array([3, 8, 1, 6], np.int16)


def grid(size):
    """Growing places, no two steps alike."""
    return np.cumsum(positive(size))


RANGES = [
    Sample("linspace", lambda x, y: np.linspace(x, y, 5, retstep=True), (SCALAR, np.float64(2.5))),
    Sample("linspace", lambda x, y: np.linspace(x, y, 3, False, True), (normal(2), normal(3, 1))),
    Sample("linspace", lambda x, y: np.linspace(x, y, 4, retstep=True), (SINGLE, normal(2))),
    Sample("linspace", lambda x: np.linspace(x, 2, 4, retstep=True), (np.int64(3),)),
    Sample("linspace", lambda x: np.linspace(x, 2, 4, dtype=np.float32), (SCALAR,), order=1),
    Sample("linspace", lambda x: np.linspace(x, 2, 4, dtype=complex), (SCALAR,)),
    Sample("linspace", lambda x: np.linspace(x, 9, 4, dtype=int, axis=-1), (normal(2),)),
    Sample("linspace", lambda x, y: np.linspace(x, y, 4, dtype=int), (INTEGERS, INTEGERS[::-1])),
    Sample("logspace", lambda x: np.logspace(x, 1.0, 3, dtype=np.float32), (SCALAR,), order=1),
    Sample("logspace", lambda x, b: np.logspace(x, 1.5, 3, base=b), (SCALAR, positive(2))),
    Sample(
        "logspace", lambda x, b: np.logspace(x, 1.5, 3, base=b, axis=-1), (normal(2), positive(2))
    ),
    Sample("logspace", lambda x, b: np.logspace(x, x * 2, 4, base=b), (SCALAR, np.float64(1.7))),
    Sample("logspace", lambda x, b: np.logspace(x, 1.5, 3, base=b), (normal(3, 2), positive(2))),
    *(
        Sample(
            "geomspace", lambda x, y, o=options: np.geomspace(x, y, **o), (x, y), holomorphic=False
        )
        for options in ({"num": 4}, {"num": 3, "endpoint": False}, {"num": 3, "axis": -1})
        for x, y in (
            (SCALAR, np.float64(9.0)),
            (positive(2), positive(2)),
            (-positive(3), -positive(2, 1)),
            (SINGLE, positive(2)),
            (np.int64(3), positive(2)),
            (complex_normal(2), complex_normal(2)),
        )
    ),
    Sample("geomspace", lambda x: np.geomspace(x, 9.0), (SCALAR,)),
    Sample("geomspace", lambda x: np.geomspace(x, 9.0, 1), (SCALAR,)),
    Sample("geomspace", lambda x: np.geomspace(1, x, 0), (SCALAR,)),
    Sample("geomspace", lambda x: np.geomspace(x, 2, 3, dtype=np.float32), (SINGLE,), order=1),
    Sample("geomspace", lambda x: np.geomspace(x, 99, 3, dtype=int), (INTEGERS,)),
]
SLOPES = [
    *(
        Sample("gradient_at", lambda f, x: np.gradient(f, x), (normal(n), grid(n)))
        for n in (2, 3, 4, 7)
    ),
    *(
        Sample("gradient_at", lambda f, x: np.gradient(f, x, edge_order=2), (normal(n), grid(n)))
        for n in (3, 4, 5, 7)
    ),
    Sample("gradient_at", lambda f, x: np.gradient(f, x), (normal(4), np.arange(4.0) * 0.5)),
    Sample("gradient_at", lambda f, x: np.gradient(f, x), (normal(8)[::-2], grid(8)[::2])),
    Sample("gradient_at", lambda f, x: np.gradient(f, x, axis=0), (normal(4, 2), grid(4))),
    Sample("gradient_at", lambda f, x: np.gradient(f, x, axis=-1), (normal(2, 4), grid(4))),
    Sample(
        "gradient_at",
        lambda f, x: np.gradient(f, x, axis=1, edge_order=2),
        (normal(2, 5, 2), grid(5)),
    ),
    Sample("gradient_at", lambda f, x, y: np.gradient(f, x, y), (normal(3, 4), grid(3), grid(4))),
    Sample("gradient_at", lambda f, x: np.gradient(f, 0.3, x), (normal(3, 4), grid(4))),
    Sample(
        "gradient_at",
        lambda f, x: np.gradient(f, x),
        (complex_normal(4), grid(4)),
        holomorphic=False,
    ),
    Sample("gradient_at", lambda f, x: np.gradient(f, x), (INTEGERS, grid(4))),
    Sample("gradient_at", lambda f: np.gradient(f, f), (distinct(4),)),
    Sample(
        "gradient_at",
        lambda f, x: np.gradient(f, x),
        (normal(4).astype(np.float32), grid(4)),
        order=1,
    ),
    Sample("gradient_at", lambda f, x: np.gradient(f, x), (INTEGERS, INTEGERS * INTEGERS)),
]
PLACES = np.array([[-2.0, -0.7, 0.33], [0.52, 1.2, 13.0]])
POINTS = np.array([0.3, 2.9, 1.1, 1.9])
PERIODIC = [
    Sample("interp", lambda x, fp: np.interp(x, [1.0], fp, left=3.0), (PLACES, normal(1))),
    Sample("interp", lambda x, xp: np.interp(x, xp, [2], right=3.0), (SCALAR, normal(1))),
    Sample("interp", lambda x, fp: np.interp(x, [1.0], fp), (PLACES, complex_normal(1))),
    Sample(
        "interp", lambda x, xp, fp: np.interp(x, xp, fp, period=3.3), (PLACES, POINTS, normal(4))
    ),
    Sample("interp", lambda x, fp: np.interp(x, POINTS, fp, period=-3.3), (SCALAR, normal(4))),
    Sample("interp", lambda fp: np.interp([0.3, 9], [0, 1], fp, period=2), (normal(2),)),
    Sample(
        "interp", lambda x, fp: np.interp(x, POINTS, fp, 0, 1, 4.4), (PLACES, complex_normal(4))
    ),
    Sample(
        "interp",
        lambda x, p: np.interp(x, POINTS, [1, 2, 4, 3], period=p),
        (PLACES, np.float64(3.5)),
    ),
    Sample("interp", lambda fp: np.interp([0.3, 9], [1], fp, period=2), (normal(1),)),
]
PERIODIC = [Sample(s.op, s.call, s.args, holomorphic=False, float32=False) for s in PERIODIC]

SAMPLES = [*RANGES, *SLOPES, *PERIODIC]
