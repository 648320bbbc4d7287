"""Samples of sampled functions, quantiles, covariances, and reductions without nan."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, distinct, normal, positive

SINGLE = normal(3, 4).astype(np.float32)
HALF = np.array([[0.1, 2.3, -1.7], [0.7, 0.3, 1.9]], np.float16)
INTEGERS = np.array([[3, -1, 4, 8], [1, -5, 9, 2]], np.int16)
MASK = np.array([[True, False, True], [False, False, True]])
UNEVEN = np.array([0.0, 0.4, 1.1, 1.9])
EVEN = np.array([0.0, 0.5, 1.0, 1.5])

SLOPES = [
    Sample("trapezoid", lambda y: np.trapezoid(y), (normal(5),)),
    Sample("trapezoid", lambda y: np.trapezoid(y), (normal(3, 4),), zero_size=(np.zeros((0, 3)),)),
    Sample("trapezoid", lambda y: np.trapezoid(y, dx=0.3, axis=0), (normal(3, 4),)),
    Sample("trapezoid", lambda y, dx: np.trapezoid(y, dx=dx), (normal(3, 4), np.float64(0.7))),
    Sample("trapezoid", lambda y, x: np.trapezoid(y, x), (normal(4), positive(4))),
    Sample("trapezoid", lambda y, x: np.trapezoid(y, x, axis=1), (normal(2, 4, 3), positive(4))),
    Sample("trapezoid", lambda y, x: np.trapezoid(y, x, axis=0), (normal(3, 2), positive(3, 2))),
    Sample("trapezoid", lambda y: np.trapezoid(y, x=UNEVEN), (normal(2, 4),), float32=False),
    Sample("trapezoid", lambda y: np.trapezoid(y), (complex_normal(4),)),
    Sample("trapezoid", lambda y: np.trapezoid(y), (INTEGERS,)),
    Sample("gradient", lambda f: np.gradient(f), (normal(5),)),
    Sample("gradient", lambda f: np.gradient(f), (normal(2),)),
    Sample("gradient", lambda f: np.gradient(f), (normal(3, 4),)),
    Sample("gradient", lambda f: np.gradient(f, 0.3, edge_order=2), (normal(3, 4),)),
    Sample("gradient", lambda f: np.gradient(f, 0.3, 2, axis=(1, 0)), (normal(3, 4),)),
    Sample("gradient", lambda f: np.gradient(f, UNEVEN, axis=-1), (normal(3, 4),)),
    Sample("gradient", lambda f: np.gradient(f, UNEVEN, axis=0, edge_order=2), (normal(4, 2),)),
    Sample("gradient", lambda f: np.gradient(f, EVEN, edge_order=2), (normal(4),)),
    Sample("gradient", lambda f: np.gradient(f, 0.7, UNEVEN), (normal(3, 4),)),
    Sample("gradient", lambda f: np.gradient(f, [1, 2, 5, 6], axis=1), (normal(2, 4),)),
    Sample("gradient", lambda f, h: np.gradient(f, h), (normal(5), np.float64(0.4))),
    Sample("gradient", lambda f, h: np.gradient(f, h, edge_order=2), (normal(5), np.float64(0.4))),
    Sample("gradient", lambda f: np.gradient(f, UNEVEN), (complex_normal(4),)),
    Sample("gradient", lambda f: np.gradient(f), (INTEGERS,)),
    Sample("gradient", lambda f: np.gradient(f, 2.0), (SINGLE,), order=1),
    Sample("gradient", lambda f: np.gradient(f, axis=1), (HALF,), order=1),
    Sample("ediff1d", lambda a: np.ediff1d(a), (normal(5),), zero_size=(np.zeros(0),)),
    Sample("ediff1d", lambda a: np.ediff1d(a), (normal(3, 2),)),
    Sample("ediff1d", lambda a: np.ediff1d(a), (np.array(1.3),)),
    Sample("ediff1d", lambda a: np.ediff1d(a, 5.0, [1.0, 2.0]), (normal(4),)),
    Sample("ediff1d", lambda a, b: np.ediff1d(a, to_begin=b), (normal(4), normal(2, 2))),
    Sample("ediff1d", lambda a: np.ediff1d(a, to_end=1.0), (SINGLE,), order=1),
    Sample("ediff1d", lambda a: np.ediff1d(a, to_end=7), (INTEGERS,)),
]
FILTERS = [
    sample
    for op, function in (("convolve", np.convolve), ("correlate", np.correlate))
    for mode in ("full", "same", "valid")
    for make in (normal, complex_normal)
    for sizes in ((7, 3), (3, 7), (6, 4), (4, 6), (5, 5), (4, 1), (1, 4))
    for sample in [
        Sample(
            op,
            lambda a, v, function=function, mode=mode: function(a, v, mode),
            (make(sizes[0]), make(sizes[1])),
        )
    ]
] + [
    sample
    for op, function in (("convolve", np.convolve), ("correlate", np.correlate))
    for sample in (
        Sample(op, lambda a, v, f=function: f(a, v), (normal(40), normal(17))),
        Sample(op, lambda a, v, f=function: f(a, v), (normal(5), complex_normal(3))),
        Sample(op, lambda a, v, f=function: f(a, v, mode="same"), (complex_normal(5), normal(3))),
        Sample(op, lambda a, v, f=function: f(a[::-2], v), (normal(9), normal(3))),
        Sample(op, lambda a, f=function: f(a, [1.0, -2.0, 0.5], "same"), (normal(6),)),
        Sample(op, lambda a, f=function: f(a, a, "full"), (normal(5),)),
        Sample(op, lambda a, v, f=function: f(a, v), (INTEGERS[0], INTEGERS[1])),
        Sample(op, lambda a, v, f=function: f(a, v, "same"), (normal(4), INTEGERS[1, :3])),
        Sample(op, lambda a, v, f=function: f(a, v, "full"), (SINGLE[0], INTEGERS[1, :3]), order=1),
        Sample(op, lambda a, v, f=function: f(a, v), (MASK[0], MASK[1])),
    )
]
FILTERS = [
    Sample("convolve", lambda a, v: np.convolve(a, v), (normal(5), np.float64(0.7))),
    Sample("convolve", lambda a: np.convolve(a, 2.0), (normal(5),)),
    # The conjugate in a correlation is not holomorphic.
    *(
        Sample(s.op, s.call, s.args, s.differentiable, s.order, s.op != "correlate")
        for s in FILTERS
    ),
]
GRID = np.array([-1.0, 0.1, 0.6, 1.7])
PLACES = np.array([[-2.0, -0.7, 0.3], [0.5, 1.2, 3.0]])
INTERPOLATION = [
    Sample("interp", lambda x, xp, fp: np.interp(x, xp, fp), (PLACES, GRID, normal(4))),
    Sample("interp", lambda x, fp: np.interp(x, GRID, fp), (PLACES[0], normal(4))),
    Sample("interp", lambda x: np.interp(x, GRID, [1.0, -2.0, 0.5, 3]), (np.float64(0.3),)),
    Sample("interp", lambda x, fp: np.interp(x, GRID, fp), (np.array(0.3), normal(4))),
    Sample("interp", lambda x, fp: np.interp(x, GRID, fp, left=0.3), (np.array(-3.0), normal(4))),
    Sample("interp", lambda x, fp: np.interp(x, GRID, fp, right=0.3), (np.array(3.0), normal(4))),
    Sample("interp", lambda x, fp: np.interp(x, GRID, fp, -1, 2.5), (PLACES, normal(4))),
    Sample(
        "interp",
        lambda x, fp, end: np.interp(x, GRID, fp, right=end),
        (PLACES, normal(4), np.float64(0.7)),
    ),
    Sample("interp", lambda fp: np.interp(0.3, GRID, fp), (normal(4),)),
    Sample("interp", lambda fp: np.interp([0.3, 9], GRID, fp), (normal(4),)),
    Sample("interp", lambda x, fp: np.interp(x, GRID, fp), (PLACES, complex_normal(4))),
    Sample("interp", lambda x: np.interp(x, GRID, [1, 2, 5, 4]), (INTEGERS,)),
    Sample(
        "interp",
        lambda x: np.interp(x, GRID, [1, 2, 5, 4]),
        (PLACES,),
        zero_size=(np.zeros((0, 2)),),
    ),
]
INTERPOLATION = [
    Sample(s.op, s.call, s.args, holomorphic=False, zero_size=s.zero_size) for s in INTERPOLATION
]
METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint",
    "nearest",
)  # fmt: skip
THREE, FOUR = np.array([0.1, 0.5, 0.93]), np.array([[0.1, 0.5], [0.5, 1]])
DOUBLE_Q, SINGLE_Q = np.float64(0.4), np.float32(0.4)
ORDERED = [
    Sample("median", lambda x: np.median(x), (distinct(5),)),
    Sample("median", lambda x: np.median(x), (distinct(3, 4),)),
    Sample("median", lambda x: np.median(x, axis=0), (distinct(3, 4),)),
    Sample("median", lambda x: np.median(x, 1, keepdims=True), (distinct(3, 4),)),
    Sample("median", lambda x: np.median(x, axis=(0, -1)), (distinct(3, 2, 4),)),
    Sample("median", lambda x: np.median(x, axis=(2, 0), keepdims=True), (distinct(3, 2, 2),)),
    Sample("median", lambda x: np.median(x, keepdims=True), (distinct(3, 2),)),
    Sample("median", lambda x: np.median(x, axis=1), (complex_normal(2, 4),)),
    Sample("median", lambda x: np.median(x, axis=0), (SINGLE,), order=1),
    Sample("median", lambda x: np.median(x, axis=1), (HALF,), order=1),
    Sample("median", lambda x: np.median(x, axis=1), (INTEGERS,)),
    Sample("median", lambda x: np.median(x), (MASK,)),
    *(
        Sample("quantile", lambda x, m=m: np.quantile(x, 0.4, axis=0, method=m), (distinct(7, 2),))
        for m in METHODS
    ),
    *(
        Sample("percentile", lambda x, m=m: np.percentile(x, [10, 55.0], method=m), (distinct(6),))
        for m in METHODS
    ),
    *(
        sample
        for op, f, one in (("quantile", np.quantile, 1), ("percentile", np.percentile, 100))
        for sample in (
            Sample(op, lambda x, f=f, q=0.3 * one: f(x, q), (distinct(5),)),
            Sample(op, lambda x, f=f, q=one: f(x, q), (distinct(3, 4),)),
            Sample(op, lambda x, f=f, q=0.71 * one: f(x, q), (np.array(1.3),)),
            Sample(op, lambda x, f=f, q=0.71 * one: f(x, q), (np.float64(1.3),)),
            Sample(op, lambda x, f=f, q=0.3 * one: f(x, q, axis=0), (distinct(4, 3),)),
            Sample(op, lambda x, f=f, q=0.3 * one: f(x, q, 1, keepdims=True), (distinct(4, 3),)),
            Sample(op, lambda x, f=f, q=0.3 * one: f(x, q, axis=(0, 2)), (distinct(2, 3, 2),)),
            Sample(
                op,
                lambda x, f=f, q=THREE * one: f(x, q, axis=(0, 2)),
                (distinct(2, 3, 2),),
                float32=False,
            ),
            Sample(
                op,
                lambda x, f=f, q=FOUR * one: f(x, q, axis=1, keepdims=True),
                (distinct(3, 6),),
                float32=False,
            ),
            Sample(op, lambda x, f=f, q=DOUBLE_Q * one: f(x, q), (distinct(5),)),
            Sample(op, lambda x, f=f, q=SINGLE_Q * one: f(x, q), (distinct(5),)),
            Sample(op, lambda x, f=f, q=SINGLE_Q * one: f(x, np.array(q)), (distinct(5),)),
            Sample(op, lambda x, f=f, q=0.4 * one: f(x, np.array(q)), (distinct(5),)),
            Sample(op, lambda x, f=f, q=0.4 * one: f(x, q), (SINGLE,), order=1),
            Sample(op, lambda x, f=f, q=0.4 * one: f(x, q, axis=1), (HALF,), order=1),
            Sample(op, lambda x, f=f, q=0.4 * one: f(x, q), (INTEGERS,)),
        )
    ),
    *(
        Sample(
            "cov",
            lambda x, options=options: np.cov(x, **options),
            (normal(3, 5),),
            holomorphic=False,
        )
        for options in ({}, {"rowvar": False}, {"bias": True}, {"ddof": 2})
    ),
    Sample("cov", lambda x: np.cov(x), (normal(5),), holomorphic=False),
    Sample("cov", lambda x, y: np.cov(x, y), (normal(5), normal(5)), holomorphic=False),
    Sample(
        "cov",
        lambda x, y: np.cov(x, y, rowvar=False),
        (normal(5, 2), normal(5, 3)),
        holomorphic=False,
    ),
    Sample("cov", lambda x: np.cov(x), (complex_normal(3, 4),), holomorphic=False),
    Sample("cov", lambda x, y: np.cov(x, y), (normal(4), complex_normal(4)), holomorphic=False),
    Sample("cov", lambda x: np.cov(x), (normal(40, 60),), holomorphic=False, order=1),
    Sample("cov", lambda x: np.cov(x), (INTEGERS,)),
    Sample("cov", lambda x: np.cov(x), (SINGLE,), order=1),
    Sample("corrcoef", lambda x: np.corrcoef(x), (normal(3, 5),), holomorphic=False),
    Sample("corrcoef", lambda x: np.corrcoef(x, rowvar=False), (normal(5, 3),), holomorphic=False),
    Sample("corrcoef", lambda x, y: np.corrcoef(x, y), (normal(5), normal(5)), holomorphic=False),
    Sample("corrcoef", lambda x: np.corrcoef(x), (normal(5),), holomorphic=False, order=1),
    Sample("corrcoef", lambda x: np.corrcoef(x), (INTEGERS,)),
]


def gaps(x):
    """x without a third of its elements."""
    return np.where(np.arange(x.size).reshape(x.shape) % 3 == 1, np.nan, x)


def without_nan(op, function, make, **fields):
    """The call on arrays with and without nan, along every choice of axes."""
    return [
        Sample(op, lambda x: function(gaps(x)), (make(5),), **fields),
        Sample(op, lambda x: function(x), (make(5),), **fields),
        Sample(op, lambda x: function(x), (np.array(1.3),), **fields),
        Sample(op, lambda x: function(x), (np.float64(1.3),), **fields),
        Sample(op, lambda x: function(gaps(x), axis=0), (make(4, 5),), **fields),
        Sample(op, lambda x: function(gaps(x), axis=1), (make(4, 5),), **fields),
        Sample(op, lambda x: function(gaps(x), axis=-1, keepdims=True), (make(4, 5),), **fields),
        Sample(op, lambda x: function(gaps(x), axis=(0, 2)), (make(4, 2, 3),), **fields),
        Sample(op, lambda x: function(gaps(x), keepdims=True), (make(4, 2),), **fields),
        Sample(op, lambda x: function(gaps(x)), (make(300, 7),), **(fields | {"order": 1})),
        Sample(op, function, (np.array([[np.nan, 1.5], [2.0, -0.5]]),), differentiable=False),
        Sample(op, function, (gaps(make(4, 3)).astype(np.float32),), differentiable=False),
        Sample(op, function, (gaps(make(4, 3)).astype(np.float16),), differentiable=False),
        Sample(op, lambda x: function(x, axis=1), (INTEGERS,)),
        Sample(op, lambda x: function(x), (MASK,)),
    ]


ALL_NAN = np.array([[np.nan, np.nan], [1.0, np.nan]])
WITHOUT_NAN = [
    *without_nan("nansum", np.nansum, normal),
    Sample("nansum", lambda x: np.nansum(gaps(x)), (complex_normal(5),)),
    Sample("nansum", lambda x: np.nansum(x, axis=1, dtype=np.float64), (SINGLE,)),
    Sample("nansum", lambda x: np.nansum(x, axis=1), (ALL_NAN,), differentiable=False),
    *without_nan("nanmean", np.nanmean, normal),
    Sample("nanmean", lambda x: np.nanmean(gaps(x), axis=0), (complex_normal(5, 2),)),
    Sample("nanmean", lambda x: np.nanmean(x, axis=1, dtype=np.float64), (SINGLE,)),
    *without_nan("nanmax", np.nanmax, distinct, holomorphic=False),
    *without_nan("nanmin", np.nanmin, distinct, holomorphic=False),
    *without_nan("nanvar", np.nanvar, normal),
    Sample("nanvar", lambda x: np.nanvar(gaps(x), axis=0, ddof=1), (normal(5, 2),)),
    Sample("nanvar", lambda x: np.nanvar(gaps(x), correction=1), (normal(5, 2),)),
    Sample("nanvar", lambda x: np.nanvar(gaps(x)), (complex_normal(5),), holomorphic=False),
    Sample("nanvar", lambda x: np.nanvar(x, axis=1, ddof=1), (ALL_NAN,), differentiable=False),
    *without_nan("nanstd", np.nanstd, normal, holomorphic=False, order=1),
    Sample("nanstd", lambda x: np.nanstd(gaps(x), axis=0, ddof=1), (normal(5, 2),)),
]

SAMPLES = [*SLOPES, *FILTERS, *INTERPOLATION, *ORDERED, *WITHOUT_NAN]
