"""Samples of medians, quantiles, products and scans without nan, and of weighted averages."""

from __future__ import annotations

import numpy as np
from samples_sampling import METHODS, gaps, without_nan
from table import Sample, complex_normal, distinct, normal, positive

SINGLE = normal(3, 4).astype(np.float32)
HALF = np.array([[0.1, np.nan, -1.7], [0.7, 0.3, 1.9]], np.float16)
INTEGERS = np.array([[3, -1, 4, 8], [1, -5, 9, 2]], np.int16)
MASK = np.array([[True, False, True], [False, False, True]])
ALL_NAN = np.array([[np.nan, np.nan, np.nan], [1.0, np.nan, 2.0]])
NO_ROWS = (np.zeros((0, 3)),)
TWO, FOUR = np.array([0.2, 0.9]), np.array([[0.2, 0.9], [0, 0.4]])


def each(op, function, arrays, calls, **fields):
    """A sample for every call of every array."""
    return [
        Sample(op, lambda x, call=call: call(function, gaps(x)), (array,), **fields)
        for array in arrays
        for call in calls
    ]


MEDIANS = [
    *each(
        "nanmedian",
        np.nanmedian,
        [distinct(3, 4), distinct(4, 3, 2)[:, ::-1], distinct(2, 5).T],
        [
            lambda f, x: f(x),
            lambda f, x: f(x, 0),
            lambda f, x: f(x, axis=-1),
            lambda f, x: f(x, axis=(0, -1)),
            lambda f, x: f(x, axis=1, keepdims=True),
            lambda f, x: f(x, keepdims=True, overwrite_input=True),
        ],
    ),
    *each("nanmedian", np.nanmedian, [distinct(1), distinct(4), distinct(5)], [lambda f, x: f(x)]),
    *each("nanmedian", np.nanmedian, [distinct(700, 2)], [lambda f, x: f(x, axis=0)], order=1),
    *each("nanmedian", np.nanmedian, [complex_normal(5)], [lambda f, x: f(x)]),
    Sample("nanmedian", lambda x: np.nanmedian(x, axis=1), (distinct(2, 3),), zero_size=NO_ROWS),
    Sample("nanmedian", lambda x: np.nanmedian(x), (np.array(1.3),)),
    Sample("nanmedian", lambda x: np.nanmedian(x, keepdims=True), (np.float64(1.3),)),
    Sample("quantile", lambda x: np.quantile(x, 0.3, keepdims=True), (np.array(1.3),)),
    Sample("nanmedian", lambda x: np.nanmedian(x, axis=1), (ALL_NAN,), differentiable=False),
    Sample("nanmedian", lambda x: np.nanmedian(x), (ALL_NAN[0],), differentiable=False),
    Sample("nanmedian", lambda x: np.nanmedian(x, axis=0), (SINGLE,), order=1),
    Sample("nanmedian", lambda x: np.nanmedian(x, axis=1), (HALF,), differentiable=False),
    Sample("nanmedian", lambda x: np.nanmedian(x, axis=1), (INTEGERS,)),
    Sample("nanmedian", lambda x: np.nanmedian(x), (MASK,)),
    Sample("median", lambda x: np.median(x, overwrite_input=True), (distinct(3, 4),)),
]
QUANTILES = [
    sample
    for op, f, one in (("nanquantile", np.nanquantile, 1), ("nanpercentile", np.nanpercentile, 100))
    for sample in (
        *(
            Sample(
                op,
                lambda x, m=m, f=f, q=0.4 * one: f(gaps(x), q, axis=0, method=m),
                (distinct(7, 2),),
                float32=False,
            )
            for m in METHODS
        ),
        *each(
            op,
            f,
            [distinct(3, 4), distinct(4, 2, 4)[:, :, ::-1]],
            [
                lambda f, x, q=0.3 * one: f(x, q),
                lambda f, x, q=one: f(x, q, axis=1),
                lambda f, x, q=0.5 * one: f(x, q, axis=(0, -1), keepdims=True),
                lambda f, x, q=TWO * one: f(x, q, axis=0),
                lambda f, x, q=FOUR * one: f(x, q, axis=1),
                lambda f, x, q=FOUR * one: f(x, q, keepdims=True),
            ],
            float32=False,
        ),
        Sample(op, lambda x, f=f, q=0.7 * one: f(x, q), (np.array(1.3),), float32=False),
        Sample(op, lambda x, f=f, q=0.4 * one: f(x, q, axis=1), (ALL_NAN,), differentiable=False),
        Sample(op, lambda x, f=f, q=0.4 * one: f(x, q, axis=1), (SINGLE,), differentiable=False),
        Sample(op, lambda x, f=f, q=0.4 * one: f(x, q, axis=1), (HALF,), differentiable=False),
        Sample(op, lambda x, f=f, q=0.4 * one: f(x, q), (INTEGERS,)),
    )
]
AT_RECORDED = [
    sample
    for op, f, one in (
        ("quantile_at", np.quantile, 1),
        ("percentile_at", np.percentile, 100),
        ("nanquantile_at", np.nanquantile, 1),
        ("nanpercentile_at", np.nanpercentile, 100),
    )
    for sample in (
        *(
            Sample(
                op,
                lambda x, q, m=m, f=f: f(x, q, axis=0, method=m),
                (distinct(7, 2), np.array([0.23, 0.64]) * one),
            )
            for m in (*METHODS, "linear")
        ),
        Sample(op, lambda x, q, f=f: f(x, q), (distinct(5), np.float64(0.37) * one)),
        Sample(op, lambda x, q, f=f: f(x, q), (distinct(5), np.array(0.37) * one)),
        Sample(
            op,
            lambda x, q, f=f: f(x, q, (0, -1), keepdims=True),
            (distinct(2, 3, 4), np.array([0.37, 0.2]) * one),
        ),
        Sample(op, lambda x, q, f=f: f(x, q), (INTEGERS, np.array([0.37, 0.2]) * one)),
        Sample(op, lambda x, q, f=f: f(x, q), (SINGLE, np.float32(0.37) * one), order=0),
        Sample(op, lambda q, f=f: f(q, q / 5), (distinct(5) ** 2,), order=0),
    )
] + [
    Sample(
        "nanquantile_at",
        lambda x, q: np.nanquantile(gaps(x), q, axis=1),
        (distinct(3, 5), np.array([0.23, 0.64])),
    ),
]
AT_RECORDED = [
    Sample(s.op, s.call, s.args, order=s.order, holomorphic=False, float32=False)
    for s in AT_RECORDED
]
WEIGHTED = [
    sample
    for op, f, one in (
        ("weighted_quantile", np.quantile, 1),
        ("weighted_percentile", np.percentile, 100),
        ("weighted_nanquantile", np.nanquantile, 1),
        ("weighted_nanpercentile", np.nanpercentile, 100),
    )
    for q in (0.4 * one, np.array([0.2, 0.7]) * one)
    for sample in (
        Sample(
            op,
            lambda x, w, f=f, q=q: f(x, q, weights=w, method="inverted_cdf"),
            (distinct(5), positive(5)),
            float32=False,
        ),
        Sample(
            op,
            lambda x, w, f=f, q=q: f(x, q, axis=1, weights=w, method="inverted_cdf"),
            (distinct(2, 5), positive(2, 5)),
            float32=False,
        ),
    )
] + [
    *(
        sample
        for op, f, one in (
            ("weighted_quantile", np.quantile, 1),
            ("weighted_percentile", np.percentile, 100),
        )
        for sample in (
            Sample(
                op,
                lambda x, f=f, q=0.4 * one: f(
                    x, q, 0, weights=[1, 3, 2], method="inverted_cdf", keepdims=True
                ),
                (distinct(3, 2),),
                float32=False,
            ),
            Sample(
                op,
                lambda x, w, f=f, q=0.4 * one: f(
                    x, q, axis=(0, 2), weights=w, method="inverted_cdf"
                ),
                (distinct(2, 2, 3), positive(2, 3)),
                float32=False,
            ),
        )
    ),
    Sample(
        "weighted_nanquantile",
        lambda x, w: np.nanquantile(gaps(x), 0.4, axis=0, weights=w, method="inverted_cdf"),
        (distinct(4, 2), positive(4, 2)),
        float32=False,
    ),
]
WITHOUT_NAN = [
    *without_nan("nanprod", np.nanprod, positive),
    Sample("nanprod", lambda x: np.nanprod(gaps(x)), (complex_normal(5),)),
    Sample("nanprod", lambda x: np.nanprod(x, axis=1, dtype=np.float64), (SINGLE,)),
    *(
        sample
        for op, f in (("nancumsum", np.nancumsum), ("nancumprod", np.nancumprod))
        for sample in (
            Sample(op, lambda x, f=f: f(gaps(x)), (normal(5),), zero_size=(np.zeros(0),)),
            Sample(op, lambda x, f=f: f(gaps(x)), (normal(3, 2),)),
            Sample(op, lambda x, f=f: f(gaps(x), axis=0), (normal(3, 2),)),
            Sample(op, lambda x, f=f: f(gaps(x), -1), (complex_normal(2, 3),)),
            Sample(op, lambda x, f=f: f(x), (np.array(1.3),)),
            Sample(op, lambda x, f=f: f(x, 0, np.float64), (SINGLE,)),
            Sample(op, lambda x, f=f: f(x, axis=0), (HALF,), differentiable=False),
            Sample(op, lambda x, f=f: f(x), (INTEGERS,)),
            Sample(op, lambda x, f=f: f(x, 1), (MASK,)),
        )
    ),
    *(
        Sample(op, lambda x, call=call, f=f: call(f, gaps(x)), (array,))
        for op, f in (("nanargmax", np.nanargmax), ("nanargmin", np.nanargmin))
        for array in (distinct(3, 4), distinct(4, 2, 2).T)
        for call in (
            lambda f, x: f(x),
            lambda f, x: f(x, axis=0),
            lambda f, x: f(x, -1, keepdims=True),
        )
    ),
    *(
        Sample(op, lambda x, f=f: f(x), (x,))
        for op, f in (("nanargmax", np.nanargmax), ("nanargmin", np.nanargmin))
        for x in (INTEGERS, HALF, MASK, np.float64(2.0))
    ),
    Sample("nanmean", lambda x: np.nanmean(x, axis=0, dtype=np.float64), (HALF,), order=0),
    Sample("nanvar", lambda x: np.nanvar(gaps(x), dtype=np.float64), (SINGLE,), order=1),
    Sample("nanvar", lambda x: np.nanvar(x, axis=1, dtype=np.float64), (INTEGERS,)),
    Sample("nanstd", lambda x: np.nanstd(gaps(x), axis=0, dtype=np.float64), (SINGLE,), order=1),
    Sample("nanvar", lambda x, m: np.nanvar(gaps(x), axis=0, mean=m), (normal(5, 2), normal(1, 2))),
]
AVERAGES = [
    Sample("average", lambda x: np.average(x, returned=True), (normal(3, 4),)),
    Sample("average", lambda x: np.average(x, 0, returned=True), (normal(3, 4),)),
    Sample("average", lambda x: np.average(x, 1, returned=True, keepdims=True), (INTEGERS,)),
    Sample("average", lambda x, w: np.average(x, 1, w, returned=True), (normal(3, 4), positive(4))),
    Sample("average", lambda x, w: np.average(x, None, w, True), (normal(3, 4), positive(3, 4))),
    Sample(
        "average",
        lambda x, w: np.average(x, (2, 0), w, returned=True, keepdims=True),
        (normal(2, 2, 3), positive(3, 2)),
    ),
]
COUNTS = np.array([1, 3, 2, 1, 0])
WEIGHTED_COVARIANCES = [
    Sample("cov", lambda x, w: np.cov(x, aweights=w), (normal(3, 5), positive(5))),
    Sample("cov", lambda x, w: np.cov(x, aweights=w, ddof=0), (normal(3, 5), positive(5))),
    Sample("cov", lambda x, w: np.cov(x, aweights=w, bias=True), (normal(5), positive(5))),
    Sample("cov", lambda x: np.cov(x, fweights=COUNTS), (normal(3, 5),)),
    Sample("cov", lambda x, n: np.cov(x, fweights=n, ddof=2), (normal(3, 5), COUNTS)),
    Sample("cov", lambda x: np.cov(x, fweights=[1, 2, 0, 1, 1], ddof=0), (complex_normal(2, 5),)),
    Sample(
        "cov",
        lambda x, y, w: np.cov(x, y, False, fweights=COUNTS, aweights=w),
        (normal(5, 2), normal(5), positive(5)),
    ),
    Sample("cov", lambda x: np.cov(x, dtype=np.float32), (normal(3, 5),), order=1),
    Sample("cov", lambda x: np.cov(x, dtype=np.float32), (SINGLE,), order=1),
    Sample("cov", lambda x: np.cov(x, dtype=complex), (normal(2, 4),)),
    Sample("cov", lambda x: np.cov(x, dtype=np.float32, aweights=[1, 2, 3, 1]), (SINGLE,), order=1),
    Sample("corrcoef", lambda x: np.corrcoef(x, dtype=np.float32), (SINGLE,), order=1),
    Sample("corrcoef", lambda x: np.corrcoef(x, dtype=np.float64), (normal(3, 5),)),
]
WEIGHTED_COVARIANCES = [
    Sample(s.op, s.call, s.args, order=s.order, holomorphic=False) for s in WEIGHTED_COVARIANCES
]
PATH = ["einsum_path", (1, 2), (0, 1)]
EINSUM = [
    *(
        Sample("einsum", lambda a, b, call=call: call(a, b), (normal(2, 3), normal(3, 4)))
        for call in (
            lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]),
            lambda a, b: np.einsum(a, [0, 1], b, [1, 2]),
            lambda a, b: np.einsum(a, [4, 1], b, [1, 2]),
            lambda a, b: np.einsum(a, [0, 1], b, [1, 30], [30, 0]),
            lambda a, b: np.einsum(a, [..., 1], b, [1, 2], [2, ...]),
            lambda a, b: np.einsum(a, (0, 1), b, (1, 2), ()),
            lambda a, b: np.einsum(a, [0, 1], b, [1, 2], optimize="greedy"),
        )
    ),
    Sample("einsum", lambda a: np.einsum(a, [0, 0]), (normal(3, 3),)),
    Sample("einsum", lambda a: np.einsum(a, [..., 0], [..., 0]) * 2.0, (normal(2, 3),)),
    *(
        Sample(
            "einsum",
            lambda a, b, c, how=how: np.einsum("ij,jk,kl->il", a, b, c, optimize=how),
            (normal(2, 3), normal(3, 4), normal(4, 2)),
        )
        for how in ("greedy", "optimal", ("greedy", 1000), PATH)
    ),
    Sample(
        "einsum",
        lambda *xs: np.einsum("i,ij,j,->", *xs, optimize="optimal"),
        (normal(2), normal(2, 3), normal(3), np.float64(0.7)),
    ),
]

SAMPLES = [
    *MEDIANS,
    *QUANTILES,
    *AT_RECORDED,
    *WEIGHTED,
    *WITHOUT_NAN,
    *AVERAGES,
    *WEIGHTED_COVARIANCES,
    *EINSUM,
]
