"""Samples of reductions without nan, of chosen elements; the Kaiser window."""

from __future__ import annotations

import numpy as np
from samples_sampling import gaps
from table import Sample, complex_normal, distinct, normal

MASK = np.array([[True, False, True, True], [True, True, False, True], [False, True, True, True]])
INTEGERS = np.array([[3, -1, 4, 8], [1, -5, 9, 2], [0, 1, 7, 3]], np.int16)
SINGLE = normal(3, 4).astype(np.float32)

SAMPLES = [
    sample
    for op, f in (
        ("nansum", np.nansum),
        ("nanprod", np.nanprod),
        ("nanmean", np.nanmean),
        ("nanvar", np.nanvar),
        ("nanstd", np.nanstd),
    )
    for order in [1 if op == "nanstd" else 2]
    for sample in (
        Sample(op, lambda x, f=f: f(gaps(x), where=MASK), (normal(3, 4),), order=order),
        Sample(op, lambda x, f=f: f(gaps(x), axis=1, where=MASK), (normal(3, 4),), order=order),
        Sample(
            op,
            lambda x, f=f: f(gaps(x), axis=0, keepdims=True, where=MASK[:, :1]),
            (normal(3, 4),),
            order=order,
        ),
        Sample(
            op, lambda x, w, f=f: f(gaps(x), axis=-1, where=w), (normal(3, 4), MASK), order=order
        ),
        Sample(op, lambda x, f=f: f(x, where=MASK), (INTEGERS,)),
        Sample(op, lambda x, f=f: f(gaps(x), axis=0, where=MASK), (SINGLE,), differentiable=False),
    )
]
SAMPLES += [
    sample
    for op, f in (("nansum", np.nansum), ("nanprod", np.nanprod))
    for sample in (
        Sample(op, lambda x, f=f: f(gaps(x), initial=2.5), (normal(3, 4),)),
        Sample(op, lambda x, f=f: f(gaps(x), 1, initial=2, where=MASK), (complex_normal(3, 4),)),
    )
]
SAMPLES += [
    sample
    for op, f in (("nanmax", np.nanmax), ("nanmin", np.nanmin))
    for sample in (
        Sample(op, lambda x, f=f: f(gaps(x), initial=0.31), (distinct(3, 4),), holomorphic=False),
        Sample(
            op,
            lambda x, f=f: f(gaps(x), axis=1, initial=0.31, where=MASK),
            (distinct(3, 4),),
            holomorphic=False,
        ),
    )
]
SAMPLES = [
    Sample(s.op, s.call, s.args, s.differentiable, s.order, holomorphic=False) for s in SAMPLES
]
