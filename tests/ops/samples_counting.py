"""Samples of counts and histograms."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, distinct, normal, positive

PLACES = np.array([2, 0, 0, 5, 2])
INTEGERS = np.array([3, -1, 4, 8, 3, 1])
SINGLE = np.array([-1.0, 2.0, -0.6, 0.34, 0.8, 1.63, -0.42, 0.27, 1.78], np.float32)
EDGES = np.array([-1.0, -0.3, 0.2, 0.7])
AROUND = np.array([-1.1, -0.3, 0.1, 0.7])
UNEVEN = [-2.0, -0.55, 0.01, 0.25, 3.0]
# None of them near an edge where they are divided among three or four bins.
SPREAD = np.array([-1.0, 2.0, -0.6, 0.34, 0.87, 1.63, -0.42, 0.21, 1.78])
NO_ELEMENTS = (np.zeros(0),)
HOLES = np.array([0.3, np.nan, -0.2, 0.3])

COUNTED = [
    Sample("bincount", lambda w: np.bincount(PLACES, w), (normal(5),)),
    Sample("bincount", lambda w: np.bincount(PLACES, weights=w, minlength=9), (normal(5),)),
    Sample("bincount", lambda w: np.bincount(PLACES, w, 3) ** 2, (normal(5),)),
    Sample("bincount", lambda w: np.bincount([1, 1, 0], w), (INTEGERS[:3],)),
    Sample("bincount", lambda w: np.bincount(PLACES.astype(np.uint8), w), (normal(10)[::2],)),
    Sample("bincount", lambda w: np.bincount(PLACES, w), (SINGLE[:5],), order=1),
    Sample("bincount", lambda w: np.bincount([], w), (normal(0),)),
    Sample("digitize", lambda x: np.digitize(x, EDGES), (normal(2, 3),), zero_size=NO_ELEMENTS),
    Sample("digitize", lambda x: np.digitize(x, EDGES[::-1]), (normal(6),)),
    Sample("digitize", lambda x: np.digitize(x, [0, 1, 2], right=True), (INTEGERS,)),
    Sample("digitize", lambda x: np.digitize(x, EDGES), (np.float64(0.3),)),
    Sample("digitize", lambda x: np.digitize(x, EDGES), (np.array(0.3),)),
    Sample("digitize", lambda x: np.digitize(x, EDGES), (0.3,)),
    Sample("digitize", lambda x, bins: np.digitize(x, bins), (normal(6), EDGES)),
    Sample("digitize", lambda bins: np.digitize(0.3, bins), (EDGES,)),
    Sample("digitize", lambda x: np.digitize(x, EDGES), (SINGLE,)),
]


def hist(call, *args, op="histogram", **fields):
    """A histogram, whose counts have no complex step."""
    return Sample(op, call, args, holomorphic=False, **fields)


EVEN = [
    hist(lambda a: np.histogram(a, 4)[0], SPREAD, zero_size=NO_ELEMENTS),
    hist(lambda a: np.histogram(a), normal(3, 4)),
    hist(lambda a: np.histogram(a, bins=3, density=True), SPREAD),
    hist(lambda a: np.histogram(a, 3, (-0.9, 0.9))[0], SPREAD),
    hist(lambda a: np.histogram(a, 3, range=(0, 1))[0], INTEGERS),
    hist(lambda a: np.histogram(a, 3, range=(np.float64(-1), 1))[0], SINGLE, order=1),
    hist(lambda a, s, e: np.histogram(a, 4, (s, e)), SPREAD, np.float64(-0.8), np.array(1.6)),
    hist(lambda a, e: np.histogram(a, 4, (-1.1, e), density=True), SPREAD, np.float64(1.3)),
    hist(lambda a: np.histogram(a, 3), SINGLE, order=1),
    hist(lambda a: np.histogram(a, 3), SINGLE.astype(np.float16), order=1),
    hist(lambda a: np.histogram(a, 3, density=True), SINGLE, order=1),
    hist(lambda a: np.histogram(a, 3), INTEGERS),
    hist(lambda a: np.histogram(a, 3), INTEGERS > 2),
    hist(lambda a: np.histogram(a, 2), np.full(4, 0.3), differentiable=False),
    hist(lambda a: np.histogram(a, 2), np.array(0.3)),
    hist(lambda a: np.histogram(a, UNEVEN)[0], distinct(9), zero_size=NO_ELEMENTS),
    hist(lambda a: np.histogram(a, bins=UNEVEN, density=True)[0], distinct(2, 5)),
    hist(lambda a: np.histogram(a, [0, 2, 5])[0], INTEGERS),
    hist(lambda a: np.histogram(a, UNEVEN)[0], HOLES),
    hist(lambda a, edges: np.histogram(a, edges, density=True), SPREAD, AROUND),
    hist(lambda edges: np.histogram([0.1, 0.3, -0.5], edges), EDGES),
]
EVEN_EDGES = [
    hist(call, *args, op="histogram_bin_edges", **fields)
    for call, args, fields in (
        (lambda a: np.histogram_bin_edges(a), (distinct(3, 4),), {}),
        (lambda a: np.histogram_bin_edges(a, 4) ** 2, (distinct(7),), {}),
        (lambda a: np.histogram_bin_edges(a, 4), (np.array([0.3, 1.0, 0.3, 1.0]),), {"order": 0}),
        (lambda a: np.histogram_bin_edges(a, 4), (INTEGERS,), {}),
        (lambda a: np.histogram_bin_edges(a, 4), (SINGLE,), {"order": 1}),
        (lambda a, e: np.histogram_bin_edges(a, 3, (0, e)), (distinct(7), np.float64(0.9)), {}),
    )
]


def weighted(call, *args, **fields):
    """A histogram of weights."""
    return hist(call, *args, op="histogram_of_weights", **fields)


WEIGHTED = [
    weighted(lambda a, w: np.histogram(a, 4, weights=w), SPREAD, normal(9)),
    weighted(lambda a, w: np.histogram(a, 4, None, False, w)[0] ** 2, SPREAD, normal(9)),
    weighted(
        lambda a, w: np.histogram(a, UNEVEN, weights=w)[0], SPREAD.reshape(3, 3), normal(3, 3)
    ),
    weighted(lambda a, w: np.histogram(a, 3, (-0.9, 0.9), weights=w)[0], SPREAD, normal(9)),
    weighted(lambda w: np.histogram(HOLES, UNEVEN, weights=w)[0], normal(4)),
    weighted(lambda w: np.histogram(EDGES, EDGES, weights=w)[0], normal(4)),
    weighted(lambda w: np.histogram(EDGES, 3, weights=w)[0], normal(4), float32=False),
    weighted(lambda a, w: np.histogram(a, 4, density=True, weights=w), SPREAD, positive(9)),
    weighted(
        lambda a, w, e: np.histogram(a, e, weights=w, density=True)[0], SPREAD, positive(9), AROUND
    ),
    weighted(lambda a, w: np.histogram(a, 4, weights=w), SPREAD, complex_normal(9)),
    weighted(lambda a, w: np.histogram(a, 3, weights=w), SINGLE, SINGLE[::-1], order=1),
    weighted(lambda a, w: np.histogram(a, 4, weights=w), SPREAD, PLACES[[0, 1, 2, 3, 4] * 2][:9]),
    weighted(
        lambda w: np.histogram(np.sin(np.arange(500)), 50, weights=w)[0],
        normal(500),
        order=1,
        float32=False,
    ),
]


def grid(call, *args, **fields):
    """A histogram of points."""
    return hist(call, *args, op="histogramdd", **fields)


PAIR, OTHER = SPREAD.reshape(3, 3), SPREAD[[4, 2, 0, 1, 8, 3, 5, 7, 6]]
GRIDS = [
    grid(lambda p: np.histogramdd(p, 3), PAIR),
    grid(lambda p: np.histogramdd(p, (4, 3, 3), density=True), PAIR),
    grid(lambda p: np.histogramdd(p, 2, ((-0.9, 1), None))[0], np.stack((SPREAD, OTHER), 1)),
    grid(lambda p: np.histogramdd(p, [UNEVEN, 2])[0], np.stack((SPREAD, OTHER), 1)),
    grid(lambda p: np.histogramdd(p, 4), SPREAD),
    grid(lambda x, y: np.histogramdd([x, y], 4), SPREAD, OTHER),
    grid(lambda p, w: np.histogramdd(p, 3, weights=w), PAIR, normal(3)),
    grid(lambda w: np.histogramdd(PAIR, 3, weights=w, density=True)[0], positive(3)),
    grid(lambda p: np.histogramdd(p, 3), INTEGERS.reshape(3, 2)),
    grid(lambda p: np.histogramdd(p, 2), SINGLE.reshape(3, 3), order=1),
    hist(lambda x, y: np.histogram2d(x, y), SPREAD, OTHER, op="histogram2d"),
    hist(lambda x, y: np.histogram2d(x, y, (3, 4)), SPREAD, OTHER, op="histogram2d"),
    hist(lambda x, y: np.histogram2d(x, y, UNEVEN)[0], SPREAD, OTHER, op="histogram2d"),
    hist(
        lambda x, y, w: np.histogram2d(x, y, 3, density=True, weights=w),
        SPREAD,
        OTHER,
        positive(9),
        op="histogram2d",
    ),
]

SAMPLES = [*COUNTED, *EVEN, *EVEN_EDGES, *WEIGHTED, *GRIDS]
