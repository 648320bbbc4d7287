"""Samples of reductions, scans and statistics."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, distinct, normal, positive

TIED = np.array([[2.0, 1.0, 2.0], [0.5, 3.0, 3.0]])
WITH_ZEROS = np.array([[2.0, 0.0, -1.5, 0.0], [0.0, 3.0, 0.7, 1.2], [0.5, -2.0, 3.0, 1.1]])
INTEGERS = np.array([[3, -1, 4], [1, -5, 9]], np.int16)
MASK = np.array([[True, False, True], [False, False, True]])
HALF = np.array([[0.1, 2.3, -1.7], [0.7, 0.3, 1.9]], np.float16)
SINGLE = normal(3, 4).astype(np.float32)
NO_ROWS = (np.zeros((0, 3)),)
COUNTS_ARE_SCALARS = type(np.count_nonzero(np.ones(1))) is not int


def layouts(op, call, make, **fields):
    """The call on arrays of every rank and order in memory."""
    return [
        Sample(op, call, (make(5),), **fields),
        Sample(op, call, (make(3, 4),), **fields),
        Sample(op, call, (np.asfortranarray(make(3, 4)),), **fields),
        Sample(op, call, (make(4, 3, 2).transpose(1, 2, 0),), **fields),
        Sample(op, call, (np.array(1.3),), **fields),
        Sample(op, call, (np.float64(-0.7),), **fields),
    ]


def axes(op, function, make, **fields):
    """The call along one axis, several, none and all, with and without keepdims."""
    return [
        Sample(
            op, lambda x: function(x, axis=0), (make(3, 4),), zero_size=((make(2, 0),),), **fields
        ),
        Sample(op, lambda x: function(x, axis=-1), (make(3, 4),), zero_size=NO_ROWS, **fields),
        Sample(op, lambda x: function(x, 1), (make(2, 3, 2),), **fields),
        Sample(op, lambda x: function(x, axis=(0, 2)), (make(2, 3, 2),), **fields),
        Sample(op, lambda x: function(x, axis=(-1, 0)), (np.asfortranarray(make(2, 3)),), **fields),
        Sample(op, lambda x: function(x, axis=()), (make(2, 3),), **fields),
        Sample(op, lambda x: function(x, keepdims=True), (make(2, 3),), **fields),
        Sample(op, lambda x: function(x, axis=1, keepdims=True), (make(2, 3),), **fields),
        Sample(op, lambda x: function(x, axis=(1, 2), keepdims=True), (make(2, 3, 2),), **fields),
    ]


SUMS = [
    *layouts("sum", lambda x: np.sum(x), normal, zero_size=NO_ROWS),
    Sample("sum", lambda x: np.sum(x, axis=0), (np.array(1.3),)),
    *axes("sum", np.sum, normal),
    Sample("sum", lambda x: x.sum(0), (complex_normal(3, 2),)),
    Sample("sum", lambda x: np.sum(x, axis=1, dtype=np.float64), (SINGLE,)),
    Sample("sum", lambda x: np.sum(x, dtype=np.float32), (normal(7),)),
    Sample("sum", lambda x: np.sum(x, dtype=float, keepdims=True), (normal(2, 2),)),
    Sample("sum", lambda x: np.sum(x, axis=0), (HALF,), order=1),
    Sample("sum", lambda x: np.sum(x, axis=0), (INTEGERS,)),
    Sample("sum", lambda x: np.sum(x, dtype=np.int8), (INTEGERS,)),
    Sample("sum", lambda x: np.sum(x), (MASK,)),
    Sample("sum", lambda x: np.sum(x), (2.5,)),
    Sample("sum", lambda x: np.add.reduce(x), (normal(3, 2),)),
    Sample("sum", lambda x: np.add.reduce(x, axis=None), (normal(3, 2),)),
    Sample("sum", lambda x: np.sum(x) * np.sum(x, axis=0), (normal(300, 7),)),
]
PRODS = [
    *layouts("prod", lambda x: np.prod(x), normal, zero_size=NO_ROWS),
    Sample("prod", lambda x: np.prod(x, axis=0), (np.array(1.3),)),
    *axes("prod", np.prod, normal),
    Sample("prod", lambda x: np.prod(x), (WITH_ZEROS,)),
    Sample("prod", lambda x: np.prod(x, axis=0), (WITH_ZEROS,)),
    Sample("prod", lambda x: x.prod(axis=1), (WITH_ZEROS,)),
    Sample("prod", lambda x: np.prod(x, axis=(0, 2)), (WITH_ZEROS.reshape(3, 2, 2),)),
    Sample("prod", lambda x: np.prod(x * x, axis=1), (WITH_ZEROS,)),
    Sample("prod", lambda x: np.prod(x, axis=1), (complex_normal(2, 4),)),
    Sample("prod", lambda x: np.prod(x, axis=1, dtype=np.float64), (SINGLE,)),
    Sample("prod", lambda x: np.prod(x), (INTEGERS,)),
    Sample("prod", lambda x: np.multiply.reduce(x), (normal(3, 2),)),
]
EXTREMES = [
    *layouts("max", lambda x: np.max(x), distinct),
    Sample("max", lambda x: np.max(x, axis=0), (np.array(1.3),)),
    *axes("max", np.max, distinct),
    Sample("max", lambda x: np.amax(x, axis=1), (distinct(3, 4),)),
    Sample("max", lambda x: x.max(), (complex_normal(3, 2),)),
    Sample("max", lambda x: x.max(axis=0), (INTEGERS,)),
    Sample("max", lambda x: np.max(x), (MASK,)),
    Sample("max", lambda x: np.max(x, axis=0), (HALF,), order=1),
    Sample("max", lambda x: np.maximum.reduce(x), (distinct(3, 2),)),
    *layouts("min", lambda x: np.min(x), distinct),
    *axes("min", np.min, distinct),
    Sample("min", lambda x: np.amin(x), (distinct(3, 4),)),
    Sample("min", lambda x: x.min(axis=0), (INTEGERS,)),
    Sample("min", lambda x: np.minimum.reduce(x, axis=1), (distinct(3, 2),)),
    # Tied elements that move together: equal shares add up to the derivative.
    Sample("max", lambda t: np.max(TIED * t, axis=1), (np.float64(1.3),)),
    Sample("min", lambda t: np.min(-TIED * t), (np.float64(1.3),)),
]
TRUTHS = [
    *layouts("any", lambda x: np.any(x), normal, zero_size=NO_ROWS),
    Sample("any", lambda x: np.any(x, axis=0), (np.array(1.3),)),
    *axes("any", np.any, normal),
    Sample("any", lambda x: x.any(axis=1), (MASK,)),
    Sample("any", lambda x: np.logical_or.reduce(x), (INTEGERS,)),
    *layouts("all", lambda x: np.all(x), normal, zero_size=NO_ROWS),
    *axes("all", np.all, normal),
    Sample("all", lambda x: x.all(axis=0), (MASK,)),
    Sample("all", lambda x: np.logical_and.reduce(x), (MASK,)),
    *axes("count_nonzero", np.count_nonzero, normal)[:6],
    Sample("count_nonzero", lambda x: np.count_nonzero(x, axis=1), (MASK,)),
    Sample("count_nonzero", lambda x: np.count_nonzero(x, keepdims=True), (WITH_ZEROS,)),
    *([Sample("count_nonzero", np.count_nonzero, (MASK,))] if COUNTS_ARE_SCALARS else []),
]
PLACES = [
    sample
    for name, function in (("argmax", np.argmax), ("argmin", np.argmin))
    for sample in (
        *layouts(name, function, distinct),
        Sample(
            name,
            lambda x, f=function: f(x, axis=0),
            (distinct(3, 4),),
            zero_size=(np.ones((2, 0)),),
        ),
        Sample(name, lambda x, f=function: f(x, -1), (distinct(3, 4),)),
        Sample(name, lambda x, f=function: f(x, axis=1, keepdims=True), (distinct(3, 4),)),
        Sample(name, lambda x, f=function: f(x, keepdims=True), (distinct(3, 4),)),
        Sample(name, lambda x, f=function: f(x), (2.5,)),
        Sample(name, lambda x, f=function: f(x, axis=0), (np.array(2.5),)),
        Sample(name, lambda x, f=function: f(x, axis=0), (TIED,)),
        Sample(name, lambda x, f=function: f(x, axis=0), (INTEGERS,)),
        Sample(name, lambda x, f=function: f(x), (MASK,)),
    )
] + [
    Sample("argmax", lambda x: x.argmax(1), (distinct(3, 4),)),
    Sample("argmin", lambda x: x.argmin(), (distinct(3, 4),)),
]


def scans(op, function, make):
    """The scan along every axis, of the flattened array, of scalars."""
    return [
        *layouts(op, lambda x: function(x), make, zero_size=NO_ROWS),
        Sample(op, lambda x: function(x, axis=0), (make(3, 4),), zero_size=NO_ROWS),
        Sample(op, lambda x: function(x, axis=-1), (make(2, 7),), zero_size=(np.zeros((2, 0)),)),
        Sample(op, lambda x: function(x, 1), (make(2, 6, 2),)),
        Sample(op, lambda x: function(x, axis=1), (make(3, 1),)),
        Sample(op, lambda x: function(x, axis=0), (np.array(1.3),)),
        Sample(op, lambda x: function(x, axis=1), (complex_normal(2, 4),)),
        Sample(op, lambda x: function(x, axis=1, dtype=np.float64), (SINGLE,)),
        Sample(op, lambda x: function(x, axis=0), (INTEGERS,)),
        Sample(op, lambda x: function(x), (MASK,)),
        Sample(op, lambda x: function(x), (2.5,)),
    ]


SCANS = [
    *scans("cumsum", np.cumsum, normal),
    Sample("cumsum", lambda x: x.cumsum(axis=0), (normal(3, 2),)),
    Sample("cumsum", lambda x: np.add.accumulate(x), (normal(3, 2),)),
    *scans("cumprod", np.cumprod, positive),
    Sample("cumprod", lambda x: x.cumprod(axis=1), (WITH_ZEROS,)),
    Sample("cumprod", lambda x: np.cumprod(x, axis=0), (WITH_ZEROS,)),
    Sample("cumprod", lambda x: np.cumprod(x), (WITH_ZEROS,)),
    Sample("cumprod", lambda x: np.cumprod(x * x, axis=1), (WITH_ZEROS,)),
    Sample("cumprod", lambda x: np.multiply.accumulate(x, axis=1), (normal(2, 9),)),
]
MEANS = [
    *layouts("mean", lambda x: np.mean(x), normal),
    *axes("mean", np.mean, normal),
    Sample("mean", lambda x: x.mean(axis=1), (complex_normal(3, 2),)),
    Sample("mean", lambda x: np.mean(x), (complex_normal(3, 7).astype(np.complex64),)),
    Sample("mean", lambda x: np.mean(x, axis=0), (SINGLE,)),
    Sample("mean", lambda x: np.mean(x, dtype=np.float64), (SINGLE,)),
    Sample("mean", lambda x: np.mean(x, dtype=np.float32), (normal(7),)),
    Sample("mean", lambda x: np.mean(x), (HALF,), order=1),
    Sample("mean", lambda x: np.mean(x, axis=1), (HALF,), order=1),
    Sample("mean", lambda x: np.mean(x, dtype=np.float16), (HALF,), differentiable=False),
    Sample("mean", lambda x: np.mean(x, axis=1), (INTEGERS,)),
    Sample("mean", lambda x: np.mean(x, dtype=np.int32), (INTEGERS,)),
    Sample("mean", lambda x: np.mean(x), (MASK,)),
    Sample("mean", lambda x: np.mean(x), (2.5,)),
    Sample("mean", lambda x: np.mean(x, axis=1) + np.mean(x), (normal(33, 57).astype(np.float32),)),
]


def spreads(op, function):
    """Variances or standard deviations: every keyword, every kind of dtype."""
    return [
        *layouts(op, lambda x: function(x), normal, order=1)[:4],
        *axes(op, function, normal)[:5],
        *axes(op, function, normal)[6:],
        Sample(op, lambda x: function(x, axis=1, ddof=1), (normal(3, 4),)),
        Sample(op, lambda x: function(x, ddof=1.5), (normal(3, 4),)),
        Sample(op, lambda x: function(x, correction=1), (normal(5),)),
        Sample(op, lambda x: function(x, axis=0), (complex_normal(4, 2),), holomorphic=False),
        Sample(op, lambda x: function(x, axis=0), (SINGLE,)),
        Sample(op, lambda x: function(x, axis=0, ddof=1.5), (SINGLE,)),
        Sample(op, lambda x: function(x, dtype=np.float64), (SINGLE,)),
        Sample(op, lambda x: function(x, axis=1, dtype=np.float32), (normal(3, 4),)),
        Sample(op, lambda x: function(x, axis=1), (HALF,), differentiable=False),
        Sample(op, lambda x: function(x), (HALF,), differentiable=False),
        Sample(op, lambda x: function(x, axis=1), (INTEGERS,)),
        Sample(op, lambda x: function(x), (MASK,)),
        Sample(op, lambda x: function(x), (2.5,)),
        Sample(op, lambda x: function(x, axis=0), (normal(300, 7),), order=1),
    ]


SPREADS = [
    *spreads("var", np.var),
    Sample("var", lambda x: x.var(axis=0), (normal(3, 4),)),
    Sample("var", lambda x: np.var(x), (np.array(1.3),)),
    *spreads("std", np.std),
    Sample("std", lambda x: x.std(axis=0), (normal(3, 4),)),
    Sample("std", lambda x: np.std(x), (np.array(1.3),), differentiable=False),
    Sample("std", lambda x: np.std(x), (np.float64(1.3),), differentiable=False),
    *layouts("ptp", lambda x: np.ptp(x), distinct)[:4],
    Sample("ptp", lambda x: np.ptp(x, axis=1), (distinct(3, 4),), zero_size=NO_ROWS),
    Sample("ptp", lambda x: np.ptp(x, axis=(0, 2), keepdims=True), (distinct(2, 3, 2),)),
    Sample("ptp", lambda x: np.ptp(x), (INTEGERS,)),
]
WEIGHTED = [
    Sample("average", lambda x: np.average(x), (normal(3, 4),)),
    Sample("average", lambda x: np.average(x, axis=0, keepdims=True), (normal(3, 4),)),
    Sample("average", lambda x, w: np.average(x, weights=w), (normal(3, 4), positive(3, 4))),
    Sample("average", lambda x, w: np.average(x, 1, w), (normal(3, 4), positive(4))),
    Sample(
        "average", lambda x, w: np.average(x, -1, w, keepdims=True), (normal(3, 4), positive(4))
    ),
    Sample(
        "average",
        lambda x, w: np.average(x, axis=(2, 0), weights=w),
        (normal(2, 3, 4), positive(4, 2)),
    ),
    Sample("average", lambda w: np.average([1.0, 2.0, 5.0], weights=w), (positive(3),)),
    Sample("average", lambda w: np.average(INTEGERS, axis=1, weights=w), (positive(3),)),
    Sample("average", lambda x: np.average(x, weights=[1, 2, 4], axis=1), (SINGLE[:, :3],)),
    Sample("average", lambda x, w: np.average(x, weights=w), (INTEGERS, INTEGERS + np.int16(7))),
]
DIAGONALS = [
    Sample("trace", lambda x: np.trace(x), (normal(3, 3),)),
    Sample("trace", lambda x: x.trace(1), (normal(3, 4),)),
    Sample("trace", lambda x: np.trace(x, -1, 1, 2), (normal(2, 4, 3),)),
    Sample("trace", lambda x: np.trace(x, axis1=2, axis2=0), (normal(2, 4, 3),)),
    Sample("trace", lambda x: np.trace(x, dtype=np.float64), (SINGLE,)),
    Sample("trace", lambda x: np.trace(x), (INTEGERS,)),
]
DIFFERENCES = [
    Sample("diff", lambda x: np.diff(x), (normal(5),), zero_size=(np.zeros(0),)),
    Sample("diff", lambda x: np.diff(x, axis=0), (normal(4, 3),)),
    Sample("diff", lambda x: np.diff(x, n=2), (normal(2, 5),)),
    Sample("diff", lambda x: np.diff(x, 0), (normal(2, 5),)),
    Sample("diff", lambda x: np.diff(x, 4), (normal(2, 3),)),
    Sample("diff", lambda x: np.diff(x, prepend=0), (SINGLE,)),
    Sample("diff", lambda x, y: np.diff(x, axis=0, append=y), (normal(3, 2), normal(1, 2))),
    Sample(
        "diff", lambda x, y: np.diff(x, prepend=y, append=2.0 * y), (normal(5), np.float64(0.3))
    ),
    Sample("diff", lambda y: np.diff([1.0, 2.0, 4.0], prepend=y), (np.array(0.3),)),
    Sample("diff", lambda x: np.diff(x), (MASK,)),
    Sample("diff", lambda x: np.diff(x, axis=0), (INTEGERS,)),
]
SAMPLES = [
    *SUMS,
    *PRODS,
    *EXTREMES,
    *TRUTHS,
    *PLACES,
    *SCANS,
    *MEANS,
    *SPREADS,
    *WEIGHTED,
    *DIAGONALS,
    *DIFFERENCES,
]
