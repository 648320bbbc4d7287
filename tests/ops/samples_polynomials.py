"""Samples of polynomials."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, distinct, normal, positive

SINGLE = normal(4).astype(np.float32)
HALF = np.array([0.1, 2.3, -1.7], np.float16)
INTEGERS = np.array([3, -1, 4, 8], np.int16)
MASK = np.array([True, False, True])
PLACES = np.array([0.0, 0.4, 1.1, 1.9, 2.3])

VALUES = [
    Sample("polyval", lambda p, x: np.polyval(p, x), (normal(4), normal(3, 2))),
    Sample("polyval", lambda p, x: np.polyval(p, x), (normal(3), np.float64(0.7))),
    Sample("polyval", lambda p, x: np.polyval(p, x), (normal(3), np.array(0.7))),
    Sample("polyval", lambda x: np.polyval([3, 0, 1], x), (normal(4),), zero_size=(np.zeros(0),)),
    Sample("polyval", lambda p: np.polyval(p, 2.0), (normal(4),)),
    Sample("polyval", lambda p: np.polyval(p, [1, 2]), (normal(4),)),
    Sample("polyval", lambda p, x: np.polyval(p, x), (complex_normal(3), normal(2))),
    Sample("polyval", lambda p, x: np.polyval(p, x), (normal(3), INTEGERS)),
    Sample("polyval", lambda x: np.polyval([2, 1], x), (INTEGERS,)),
    Sample("polyval", lambda x: np.polyval(np.poly1d([1.0, 2.0, 3.0]), x), (normal(3),)),
    *(
        Sample("vander", call, (x,))
        for x in (normal(3), normal(6)[::2], complex_normal(2), INTEGERS)
        for call in (
            np.vander,
            lambda x: np.vander(x, 4),
            lambda x: np.vander(x, N=2, increasing=True),
            lambda x: np.vander(x, 1),
        )
    ),
    Sample("vander", lambda x: np.vander(x, 0), (normal(3),)),
    Sample("vander", lambda x: np.vander(x, 3), (normal(2),), zero_size=(np.zeros(0),)),
    Sample("vander", lambda x: np.vander(x, 3), (SINGLE,), order=1),
    Sample("vander", lambda x: np.vander(x, 3), (HALF,), order=1),
    Sample("vander", lambda x: np.vander(x, 3), (MASK,)),
]
ARITHMETIC = [
    sample
    for op, f in (("polyadd", np.polyadd), ("polysub", np.polysub), ("polymul", np.polymul))
    for sample in (
        *(
            Sample(op, lambda a, b, f=f: f(a, b), (a, b))
            for a, b in (
                (normal(4), normal(2)),
                (normal(2), normal(4)),
                (normal(3), normal(3)),
                (normal(6)[::-2], complex_normal(2)),
                (SINGLE, normal(2)),
                (INTEGERS, normal(3)),
                (INTEGERS, INTEGERS[:2]),
                (np.float64(1.5), normal(3)),
            )
        ),
        Sample(op, lambda a, f=f: f(a, [1, 2.0]), (normal(3),)),
        Sample(op, lambda a, f=f: f([0.0, 2, 1], a), (normal(2),)),
        Sample(op, lambda a, f=f: f(a, 2.0), (normal(3),)),
        Sample(op, lambda a, f=f: f(a, 2), (SINGLE,)),
    )
]
ARITHMETIC += [
    Sample("without_leading_zeros", lambda a: np.polymul(a, [1.0, 2.0]), (normal(3),)),
]
CALCULUS = [
    sample
    for x in (normal(5), complex_normal(4), INTEGERS, SINGLE, normal(1), normal(8)[::2], HALF)
    for order in [1 if x.dtype.char in "ef" else 2]
    for sample in (
        Sample("polyder", lambda p: np.polyder(p), (x,), order=order),
        Sample("polyder", lambda p: np.polyder(p, 2), (x,), order=order),
        Sample("polyder", lambda p: np.polyder(p, m=0), (x,), order=order),
        Sample("polyint", lambda p: np.polyint(p), (x,), order=order),
        Sample("polyint", lambda p: np.polyint(p, 2), (x,), order=order),
        Sample("polyint", lambda p: np.polyint(p, 2, 3), (x,), order=order),
        Sample("polyint", lambda p: np.polyint(p, 2, [1.0, 2.0, 4.0]), (x,), order=order),
        Sample("polyint", lambda p, k: np.polyint(p, 2, k), (x, normal(2)), order=order),
        Sample("polyint", lambda p: np.polyint(p, 0), (x,), order=order),
    )
]
WITH_ROOTS = np.convolve([1.0, -1.0 + 0.5j], np.convolve([1.0, 2.0 - 1j], [2.0, 0.7j]))
ROOTS = [
    Sample("roots", np.roots, (WITH_ROOTS,), holomorphic=False, float32=False),
    Sample(
        "roots", lambda p: np.roots(p.astype(complex)), (np.poly([1.0, 2, -3]),), holomorphic=False
    ),
    Sample("roots", np.roots, (complex_normal(2),), holomorphic=False, float32=False),
    Sample("roots", np.roots, (complex_normal(1),), holomorphic=False),
    Sample("roots", np.roots, (np.array([1.0, -1j, 0.0]),), differentiable=False),
    Sample("poly", np.poly, (normal(4),), zero_size=(np.zeros(0),)),
    Sample("poly", np.poly, (SINGLE,), order=1),
    Sample("poly", np.poly, (HALF,), order=1),
    Sample("poly", np.poly, (INTEGERS,)),
    Sample("poly", lambda z: np.poly([z, 1.0, z * 2]), (np.float64(0.3),)),
]
FITS = [
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 2), (PLACES, normal(5))),
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 1), (PLACES, normal(5, 2))),
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 0, 1e-9), (PLACES, normal(5))),
    Sample("polyfit", lambda x, y, w: np.polyfit(x, y, 2, w=w), (PLACES, normal(5), positive(5))),
    Sample("polyfit", lambda y: np.polyfit([0, 1, 2, 4], y, 1, w=[1, 2, 1, 1]), (normal(4, 2),)),
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 1, full=True)[:4], (PLACES, normal(5))),
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 1, cov=True), (PLACES, normal(5))),
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 1, cov=True), (PLACES, normal(5, 2))),
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 1, cov="unscaled"), (PLACES, normal(5))),
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 2), (distinct(5), complex_normal(5))),
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 1), (INTEGERS, INTEGERS[::-1])),
    Sample("polyfit", lambda x, y: np.polyfit(x, y, 1), (SINGLE, SINGLE[::-1].copy()), order=1),
]
FITS = [Sample(s.op, s.call, s.args, order=s.order, holomorphic=False, float32=False) for s in FITS]

SAMPLES = [*VALUES, *ARITHMETIC, *CALCULUS, *ROOTS, *FITS]
