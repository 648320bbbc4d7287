"""Samples of the methods of ufuncs, and of the keywords of their calls."""

from __future__ import annotations

from functools import partial

import numpy as np
from table import Sample, complex_normal, distinct, normal, positive

INTEGERS = np.array([[3, -1, 4], [1, -5, 9]], np.int16)
MASK = np.array([[True, False, True], [False, False, True]])
HALF = np.array([[0.1, 2.3, -1.7], [0.7, 0.3, 1.9]], np.float16)
SINGLE = positive(3, 4).astype(np.float32)
STEADY = np.array([[1.4, 2.6, 0.7], [3.5, 1.3, 1.7]], np.float32)
TIED = np.array([[2.0, 1.0, 2.0, 2.0, 3.0], [0.5, 3.0, 3.0, 1.0, 3.0]])
WHERE = np.array([[True, False, True, True], [False, True, True, True], [True, True, True, False]])
NO_ROWS = (np.zeros((0, 3)),)
CHECKED = ("add", "multiply", "maximum", "minimum", "fmax", "fmin")
FOLDS = ("subtract", "divide", "float_power", "copysign", "floor_divide")
SUMS = ("hypot", "logaddexp", "logaddexp2")
DISCRETE = ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "left_shift")


def reductions(name, make):
    """Masks and first values, in every form."""
    f = getattr(np, name)
    return [
        Sample("reduce", lambda x, m: f.reduce(x, where=m, initial=0.7), (make(3, 4), WHERE)),
        Sample(
            "reduce",
            lambda x, m: f.reduce(x, axis=1, where=m, initial=0.7),
            (np.asfortranarray(make(3, 4)), WHERE[:, :1]),
        ),
        Sample(
            "reduce",
            lambda x, i, m: f.reduce(x, axis=-1, keepdims=True, where=m, initial=i),
            (make(3, 4), np.float64(0.9), WHERE),
            zero_size=((make(3, 0), np.float64(0.9), WHERE[:, :0]),),
        ),
        Sample("reduce", lambda x, i: f.reduce(x, initial=i), (make(3, 4), np.array(1.2))),
        Sample("reduce", lambda x: f.reduce(x, axis=0, initial=1.5), (make(2, 3, 2)[::-1],)),
        Sample("reduce", lambda x: f.reduce(x, axis=0, initial=1.5), (SINGLE,)),
        Sample("reduce", lambda x: f.reduce(x, initial=1.5), (HALF,), order=1),
    ]


def several_axes(name, make):
    """Reductions of several axes at once."""
    f = getattr(np, name)
    return [
        Sample("reduce", lambda x: f.reduce(x, axis=None, initial=0.6), (make(2, 3),)),
        Sample("reduce", lambda x: f.reduce(x, axis=(0, -1), initial=0.6), (make(2, 3, 2),)),
        Sample(
            "reduce",
            lambda x, m: f.reduce(x, axis=(2, 0), keepdims=True, where=m, initial=0.6),
            (make(2, 3, 4), WHERE),
        ),
    ]


def plain(name, make):
    """The methods of a ufunc that has no op for its plain reductions."""
    f = getattr(np, name)
    return [
        Sample("reduce", lambda x: f.reduce(x), (make(5),)),
        Sample("reduce", lambda x: f.reduce(x), (make(1),)),
        Sample("reduce", lambda x: f.reduce(x, 1), (make(3, 4)[:, ::2],)),
        Sample("reduce", lambda x: f.reduce(x, axis=-2, keepdims=True), (make(2, 3, 2),)),
        Sample("reduce", lambda x: f.reduce(x), (SINGLE,)),
        Sample("reduce", lambda x: f.reduce(x, dtype=np.float64), (SINGLE,)),
        Sample("reduce", lambda x: f.reduce(x, axis=()), (make(2, 3),)),
    ]


def accumulations(name, make):
    """Running results."""
    f = getattr(np, name)
    return [
        Sample("accumulate", lambda x: f.accumulate(x), (make(7),)),
        Sample("accumulate", lambda x: f.accumulate(x), (make(1),)),
        Sample(
            "accumulate",
            lambda x: f.accumulate(x, axis=-1),
            (make(3, 4)[::2],),
            zero_size=((make(0, 3),), (make(3, 0),)),
        ),
        Sample("accumulate", lambda x: f.accumulate(x, 1), (np.asfortranarray(make(2, 3, 2)),)),
        Sample("accumulate", lambda x: f.accumulate(x), (SINGLE,)),
        Sample("accumulate", lambda x: f.accumulate(x, 0, np.float64), (SINGLE,)),
    ]


def segments(name, make):
    """Reductions of parts, increasing, repeated and overlapping."""
    f = getattr(np, name)
    return [
        Sample("reduceat", lambda x: f.reduceat(x, [0, 2, 5]), (make(7),)),
        Sample("reduceat", lambda x: f.reduceat(x, [1, 4]), (make(6),)),
        Sample("reduceat", lambda x: f.reduceat(x, [0, 4, 1, 5, 2, 2]), (make(8),)),
        Sample("reduceat", lambda x: f.reduceat(x, np.array([0, 2]), axis=1), (make(3, 4),)),
        Sample(
            "reduceat", lambda x: f.reduceat(x, [1, 2], -2), (make(2, 3, 2).transpose(2, 1, 0),)
        ),
        Sample("reduceat", lambda x: f.reduceat(x, [], axis=1), (make(2, 3),)),
        Sample("reduceat", lambda x: f.reduceat(x, [0, 2], dtype=np.float64), (SINGLE,)),
        Sample("reduceat", lambda x: f.reduceat(x, [0, 2]), (SINGLE,)),
    ]


REDUCTIONS = [
    sample
    for name in (*CHECKED, "hypot", "logaddexp", "logaddexp2")
    for sample in [
        *reductions(name, distinct if name in CHECKED[2:] else positive),
        *several_axes(name, distinct if name in CHECKED[2:] else positive),
    ]
]
REDUCTIONS += [sample for name in SUMS for sample in plain(name, normal)]
REDUCTIONS += [sample for name in FOLDS for sample in plain(name, positive)]
REDUCTIONS += [
    Sample("reduce", lambda x: np.hypot.reduce(x), (np.array([-1.3]),)),
    Sample("reduce", lambda x: np.logaddexp.reduce(x, axis=None), (normal(2, 3),)),
    Sample("reduce", lambda x: np.hypot.reduce(x, axis=(0, 1), keepdims=True), (normal(2, 3),)),
    Sample("reduce", lambda x: np.subtract.reduce(x, initial=2.5), (normal(4),)),
    Sample(
        "reduce",
        lambda x, i, m: np.subtract.reduce(x, 1, initial=i, where=m),
        (normal(3, 4), np.float64(0.4), WHERE),
    ),
    Sample(
        "reduce",
        lambda x, i, m: np.divide.reduce(x, 0, initial=i, where=m),
        (positive(3, 4), np.float64(0.4), WHERE),
    ),
    Sample(
        "reduce",
        lambda x, i, m: np.float_power.reduce(x, 0, initial=i, where=m),
        (positive(3, 4), np.float64(1.4), WHERE),
    ),
    Sample(
        "reduce",
        lambda x, i: np.fmod.reduce(x, initial=i),
        (np.array([5.3, 1.5, 0.25]), np.float64(7.4)),
    ),
    Sample("reduce", lambda x: np.remainder.reduce(x, axis=1), (positive(3, 4),)),
    Sample("reduce", lambda x: np.heaviside.reduce(x, axis=1), (positive(3, 4),)),
    Sample("reduce", lambda x: np.power.reduce(x), (complex_normal(3),)),
    Sample("reduce", lambda x: np.subtract.reduce(x), (complex_normal(4),)),
    Sample("reduce", lambda x: np.divide.reduce(x, axis=1), (complex_normal(2, 3),)),
    Sample("reduce", lambda x: np.power.reduce(x), (INTEGERS[1:] ** 2,)),
    Sample("reduce", lambda x: np.subtract.reduce(x), (INTEGERS,)),
    Sample("reduce", lambda x: np.subtract.reduce(x), (HALF,), order=1),
    Sample("reduce", lambda x: np.add.reduce(x, initial=None), (normal(3, 4),)),
    Sample("reduce", lambda x: np.multiply.reduce(x, 1, initial=None), (normal(3, 4),)),
    Sample("reduce", lambda x: np.add.reduce(x, where=False), (normal(3, 4),)),
    Sample("reduce", lambda x, m: np.add.reduce(x, where=m), (normal(3, 4), WHERE[0])),
    Sample("reduce", lambda x, m: np.add.reduce(x, axis=1, where=m), (complex_normal(3, 4), WHERE)),
    Sample("reduce", lambda x, m: np.sum(x, where=m), (normal(3, 4), WHERE)),
    Sample("reduce", lambda x: np.sum(x, 0, None, None, True, 2.0), (normal(3, 4),)),
    Sample("reduce", lambda x: x.max(0, None, True, 0.3), (distinct(3, 4),)),
    Sample("sum", lambda x: np.sum(x, 0, None, None, True), (normal(3, 4),)),
    Sample("max", lambda x: np.max(x, 1, None, True), (distinct(3, 4),)),
    Sample("reduce", lambda x, m: np.hypot.reduce(array=x, where=m), (normal(3, 4), WHERE)),
    Sample("reduce", lambda x, m: np.sum(x, axis=-1, where=m), (normal(2, 3, 4), WHERE[:, :1])),
    Sample("reduce", lambda x: np.sum(x, where=[True, False, True]), (normal(2, 3),)),
    Sample("reduce", lambda x: np.sum(x, 1, initial=2), (normal(3, 4),)),
    Sample("reduce", lambda x: x.sum(axis=0, initial=2.0, dtype=np.float64), (SINGLE,)),
    Sample("reduce", lambda x, m: np.sum(x, where=m), (INTEGERS, MASK)),
    Sample("reduce", lambda x, m: np.prod(x, 1, where=m), (normal(3, 4), WHERE)),
    Sample("reduce", lambda x: np.prod(x, initial=2.5), (complex_normal(4),)),
    Sample("reduce", lambda x, m: np.max(x, where=m, initial=-1.0), (distinct(3, 4), WHERE)),
    Sample("reduce", lambda x: x.max(axis=1, initial=0.2), (distinct(3, 4),)),
    Sample("reduce", lambda x: np.min(x, axis=1, initial=0.2, keepdims=True), (distinct(3, 4),)),
    Sample("reduce", lambda x: np.max(x, initial=2), (INTEGERS,)),
    Sample("reduce", lambda x: np.nanmax(x, axis=0, initial=0.15), (distinct(3, 4),)),
    Sample("reduce", lambda x: np.maximum.reduce(x, dtype=np.float64), (STEADY,)),
    Sample("reduce", lambda x: np.max(x, initial=0.15), (2.5,)),
    Sample("reduce_discrete", lambda x, m: np.any(x > 0, axis=1, where=m), (normal(3, 4), WHERE)),
    Sample("reduce_discrete", lambda x, m: np.all(x, where=m), (normal(3, 4), WHERE)),
    Sample("reduce_discrete", lambda x: np.logical_xor.reduce(x, axis=None), (INTEGERS,)),
    Sample("reduce_discrete", lambda x: np.logical_or.reduce(x, initial=False), (MASK,)),
    Sample("reduce_discrete", lambda x: np.less.reduce(x), (MASK,)),
]
REDUCTIONS += [
    Sample("reduce_discrete", partial(getattr(np, name).reduce, axis=1), (INTEGERS**2,))
    for name in DISCRETE
]
ACCUMULATIONS = [
    sample
    for name in (*CHECKED[2:], *SUMS, *FOLDS, "power", "arctan2")
    for sample in accumulations(name, distinct if name in CHECKED else positive)
]
ACCUMULATIONS += [
    Sample("accumulate", lambda x: np.maximum.accumulate(x, axis=1), (INTEGERS,)),
    Sample("accumulate", lambda x: np.logaddexp.accumulate(x, axis=(1,)), (HALF,), order=1),
    Sample("accumulate", lambda x: np.subtract.accumulate(x), (complex_normal(4),)),
    Sample("accumulate", lambda x: np.maximum.accumulate(x), (normal(150),)),
    Sample("accumulate", lambda x: np.fmod.accumulate(x), (positive(3, 4)[::-1],)),
    Sample("accumulate", lambda x: np.remainder.accumulate(x, 1), (positive(3, 4),)),
    Sample("accumulate", lambda x: np.power.accumulate(x), (INTEGERS[1:] ** 2,)),
    Sample("cumsum", lambda x: np.add.accumulate(x, axis=None), (normal(4),)),
    Sample("cumprod", lambda x: np.multiply.accumulate(x, axis=-1), (normal(2, 3),)),
    Sample("accumulate_discrete", lambda x: np.logical_and.accumulate(x, 1), (MASK,)),
]
ACCUMULATIONS += [
    Sample("accumulate_discrete", getattr(np, name).accumulate, (INTEGERS**2,)) for name in DISCRETE
]
SEGMENTS = [
    sample
    for name in (*CHECKED, *SUMS, "subtract", "divide")
    for sample in segments(name, distinct if name in CHECKED[2:] else positive)
]
SEGMENTS += [
    Sample("reduceat", lambda x: np.add.reduceat(x, [0, 1]), (INTEGERS,)),
    Sample("reduceat", lambda x: np.add.reduceat(x, [0, 9, 20]), (normal(40),)),
    Sample("reduceat", lambda x: np.multiply.reduceat(x, [0, 2]), (complex_normal(4),)),
    Sample("reduceat", lambda x: np.hypot.reduceat(x, [0, 1, 3]), (normal(4),)),
    Sample("reduceat_discrete", lambda x: np.logical_or.reduceat(x, [0, 2], axis=1), (MASK,)),
]
SEGMENTS += [
    Sample("reduceat_discrete", partial(getattr(np, name).reduceat, indices=[0, 1]), (INTEGERS**2,))
    for name in DISCRETE
]
OUTER = [
    Sample("multiply", lambda x, y: np.multiply.outer(x, y), (normal(3), normal(2))),
    Sample("multiply", lambda x, y: np.multiply.outer(x, y), (normal(2, 3), normal(2, 1))),
    Sample("multiply", lambda x, y: np.multiply.outer(x, y), (normal(3), np.float64(1.5))),
    Sample("multiply", lambda x, y: np.multiply.outer(x, y), (np.array(0.5), normal(3))),
    Sample("multiply", lambda x: np.multiply.outer(x, 2.0), (SINGLE,)),
    Sample("multiply", lambda x: np.multiply.outer([1, 2], x), (SINGLE,)),
    Sample("subtract", lambda x, y: np.subtract.outer(x, y), (complex_normal(2), normal(2, 2))),
    Sample("power", lambda x, y: np.power.outer(x, y), (positive(2), normal(2, 2))),
    Sample("hypot", lambda x, y: np.hypot.outer(x, y, dtype=np.float32), (SINGLE, positive(2))),
    Sample("less", lambda x, y: np.less.outer(x, y), (normal(3), normal(2)[::-1])),
    Sample("divmod", lambda x, y: np.divmod.outer(x, y), (normal(3), positive(2))),
]
KEYWORDS = [
    Sample("add", lambda x, y: np.add(x, y, dtype=np.float32), (normal(3), normal(2, 3)), order=1),
    Sample("add", lambda x: np.add(x, 2, dtype=np.float32), (normal(3),), order=1),
    Sample("add", lambda x: np.add(x, 2.5, dtype=np.int64, casting="unsafe"), (normal(3) * 9,)),
    Sample("add", lambda x, y: np.add(x, y, casting="no", subok=False), (normal(3), normal(3))),
    Sample("multiply", lambda x, y: np.multiply(x, y, dtype=complex), (normal(3), normal(3))),
    Sample("sqrt", lambda x: np.sqrt(x, dtype=np.float64), (SINGLE,)),
    Sample("sqrt", lambda x: np.sqrt(x, signature="d->d"), (SINGLE,)),
    Sample("divide", lambda x: np.divide(x, 2, dtype=np.float32), (INTEGERS,)),
    Sample("divide", lambda x, y: np.divide(x, y, dtype=np.float64), (SINGLE, INTEGERS[0, 0])),
    Sample("less", lambda x, y: np.less(x, y, sig="ff->?"), (normal(3), normal(3))),
    Sample("less", lambda x, y: np.less(x, y, dtype=bool), (normal(3), normal(3))),
    Sample("power_to", lambda x: np.power(x, 2, dtype=np.float64), (SINGLE,)),
    Sample("power", lambda x, y: np.power(x, y, dtype=np.float64), (SINGLE, positive(4))),
    Sample("absolute", lambda x: np.absolute(x, dtype=np.float64), (SINGLE,)),
    Sample("sign", lambda x: np.sign(x, dtype=np.float32), (normal(3),)),
    Sample("modf", lambda x: np.modf(x, dtype=np.float64), (STEADY,)),
    Sample("frexp", lambda x: np.frexp(x, signature="d->di"), (STEADY,)),
    Sample(
        "divmod",
        lambda x, y: np.divmod(x, y, dtype=np.float64),
        (np.array([5.0, 1.0, 3.5], np.float32), np.array([2.0, 2.0, 1.0])),
    ),
    Sample("matmul", lambda x, y: np.matmul(x, y, dtype=np.float64), (SINGLE, positive(4, 2))),
    Sample("vecdot", lambda x, y: np.vecdot(x, y, dtype=np.float64), (SINGLE, positive(4))),
    Sample("add", lambda x: np.add(x, 2.0, dtype=np.float64), (1.5,)),
    Sample("add", lambda x: np.add(x, [1, 2], dtype=np.float64), (normal(2),)),
    Sample("spacing", lambda x: np.spacing(x), (normal(3, 2),), zero_size=NO_ROWS),
    Sample("spacing", lambda x: np.spacing(x), (SINGLE,)),
    Sample("spacing", lambda x: np.spacing(x), (HALF,)),
    Sample("spacing", lambda x: np.spacing(x), (INTEGERS,)),
]

STATISTICS = [
    Sample("mean", lambda x, m: np.mean(x, where=m), (normal(3, 4), WHERE)),
    Sample("mean", lambda x, m: x.mean(axis=1, where=m), (normal(3, 4), WHERE)),
    Sample("mean", lambda x, m: np.mean(x, 0, where=m, keepdims=True), (SINGLE, WHERE[:, :1])),
    Sample("mean", lambda x, m: np.mean(x, where=m), (SINGLE, WHERE)),
    Sample("mean", lambda x: np.mean(x, axis=1, where=[True, False, True]), (HALF,), order=1),
    Sample("mean", lambda x: np.mean(x, where=[True, False, True]), (HALF,), order=1),
    Sample("mean", lambda x, m: np.mean(x, axis=1, where=m), (INTEGERS, MASK)),
    Sample("mean", lambda x, m: np.mean(x, dtype=np.float64, where=m), (SINGLE, WHERE)),
    Sample("mean", lambda x, m: np.mean(x, axis=1, where=m), (complex_normal(3, 4), WHERE)),
    Sample("mean", lambda x: np.mean(x, axis=1, where=WHERE[:, 1:]), (normal(3, 3),)),
    Sample("var", lambda x, m: np.var(x, where=m), (normal(3, 4), WHERE)),
    Sample("var", lambda x, m: np.var(x, axis=1, ddof=1, where=m), (normal(3, 4), WHERE)),
    Sample("var", lambda x, m: x.var(0, keepdims=True, ddof=0.5, where=m), (SINGLE, WHERE)),
    Sample("var", lambda x, m: np.var(x, axis=1, where=m), (INTEGERS, MASK)),
    Sample("var", lambda x: np.var(x, axis=1, where=[True, False, True]), (HALF,), order=1),
    Sample(
        "var",
        lambda x, m: np.var(x, axis=1, where=m),
        (complex_normal(3, 4), WHERE),
        holomorphic=False,
    ),
    Sample("var", lambda x: np.var(x, mean=np.mean(x)), (normal(3, 4),)),
    Sample(
        "var",
        lambda x: np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True)),
        (normal(3, 4),),
    ),
    Sample("var", lambda x, c: np.var(x, mean=c), (normal(3, 4), normal(4))),
    Sample("var", lambda x: np.var(x, axis=0, mean=0.0), (SINGLE,)),
    Sample("std", lambda x, m: np.std(x) * np.std(x, where=m), (normal(3, 4), WHERE)),
    Sample("std", lambda x, m: np.std(x, axis=1, ddof=1, where=m) * x.std(), (SINGLE, WHERE)),
    Sample("std", lambda x: np.std(x, axis=0, mean=0.3) * x.std(), (normal(3, 4),)),
]
for name in ("cumulative_sum", "cumulative_prod"):
    if hasattr(np, name):
        f = getattr(np, name)
        STATISTICS += [
            Sample(name, f, (normal(5),), zero_size=(np.zeros(0),)),
            Sample(name, partial(f, axis=-1), (normal(2, 3),), zero_size=NO_ROWS),
            Sample(name, partial(f, axis=0, include_initial=True), (normal(2, 3),)),
            Sample(name, partial(f, include_initial=True), (np.zeros(0),)),
            Sample(name, partial(f, dtype=np.float64, include_initial=True), (SINGLE[0],)),
            Sample(name, partial(f, axis=1, include_initial=True), (INTEGERS,)),
            Sample(name, partial(f, axis=1, dtype=np.int8), (MASK,)),
            Sample(name, f, (np.float64(1.5),)),
            Sample(name, partial(f, include_initial=True), (complex_normal(5),), order=0),
        ]

PHASES = np.array([[0.1, 2.9, 6.6, -0.3, 3.6], [7.9, 1.2, -2.4, 5.0, 12.3]])
OTHERS = [
    Sample("unwrap", lambda p: np.unwrap(p), (PHASES,), zero_size=(np.zeros((2, 0)),)),
    Sample("unwrap", lambda p: np.unwrap(p, axis=0), (PHASES,)),
    Sample("unwrap", lambda p: np.unwrap(p, 4.0), (np.asfortranarray(PHASES),)),
    Sample("unwrap", lambda p: np.unwrap(p, period=2.5), (PHASES[0],)),
    Sample("unwrap", lambda p: np.unwrap(p), (PHASES.astype(np.float32),)),
    Sample("unwrap", lambda p: np.unwrap(p, period=4), (PHASES.astype(np.float16),), order=1),
    Sample("unwrap", lambda p: np.unwrap(p, period=4), (np.array([0, 3, 5, 7, 6], np.int32),)),
    Sample("unwrap", lambda p: np.unwrap(p, period=5), (np.array([0, 3, 5, 7, 6], np.int32),)),
    Sample("unwrap", lambda p: np.unwrap(p), (np.array([0, 3, 5, 9, 6]),)),
    Sample("unwrap", lambda p: np.unwrap(p, period=np.float64(4)), (np.array([0, 3, 5, 9]),)),
    Sample("unwrap", lambda p: np.unwrap(p), (MASK,)),
    Sample("unwrap", lambda p: np.unwrap(p * np.pi), (np.array([0.0, 1.0, 0.0, -1.0]),), order=0),
    Sample("real_if_close", lambda x: np.real_if_close(x), (normal(2, 3),)),
    Sample("real_if_close", lambda x: np.real_if_close(x), (np.float32(1.5),)),
    Sample("real_if_close", lambda x: np.real_if_close(x), (INTEGERS,)),
    Sample("real_if_close", lambda x: np.real_if_close(x), (1.5,)),
]

OTHERS += [
    Sample("i0", lambda x: np.i0(x), (normal(3, 4) * 3.0,), holomorphic=False, zero_size=NO_ROWS),
    Sample("i0", lambda x: np.i0(x), (normal(4, 3).T[::2] * 20.0,)),
    Sample("i0", lambda x: np.i0(x), (np.array([0.0, 1e-9, -1e-3, 8.0]),)),
    Sample("i0", lambda x: np.i0(x), (SINGLE,)),
    Sample("i0", lambda x: np.i0(x), (HALF,), order=1),
    Sample("i0", lambda x: np.i0(x), (INTEGERS,)),
    Sample("i0", lambda x: np.i0(x), (np.float64(1.5),)),
    Sample("i0", lambda x: np.i0(x), (np.array(-0.5),)),
    Sample("i0", lambda x: np.i0(x), (1.5,)),
]

SAMPLES = [*STATISTICS, *OTHERS, *REDUCTIONS, *ACCUMULATIONS, *SEGMENTS, *OUTER, *KEYWORDS]
