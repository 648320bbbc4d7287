"""Samples of windows, padding, pieces, places, membership, and arrays made like others."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from table import Sample, complex_normal, distinct, normal

INTS = np.array([[3, -1, 4, 8], [1, -5, 9, 2]], np.int16)
MASK = np.array([True, False, True, True, False])
SINGLE = normal(3, 4).astype(np.float32)
HALF = np.array([0.1, 2.3, -1.7], np.float16)
SPACED = distinct(3, 4).astype(np.float32)
SCALAR = np.float64(0.7)
ZERO_D = np.array(0.3)
NO_ROWS = (np.zeros((0, 3)),)
FORTRAN = np.asfortranarray(normal(3, 4))

WINDOWS = [
    Sample("sliding_window_view", call, args)
    for call, args in (
        (lambda x: sliding_window_view(x, (2, 3)) ** 2, (normal(4, 5),)),
        (lambda x: sliding_window_view(x, 2, axis=0), (normal(4, 3),)),
        (lambda x: sliding_window_view(x, 3, axis=-1), (normal(2, 3),)),
        (lambda x: sliding_window_view(x, (2, 2), axis=(2, 0)), (normal(3, 2, 4),)),
        (lambda x: sliding_window_view(x, (2, 3), axis=(1, 1)) ** 2, (normal(2, 6),)),
        (lambda x: sliding_window_view(x, 1), (normal(4),)),
        (lambda x: sliding_window_view(x, 0), (normal(4),)),
        (lambda x: sliding_window_view(x, ()), (ZERO_D,)),
        (lambda x: sliding_window_view(x, 2, 1), (complex_normal(2, 4),)),
        (lambda x: sliding_window_view(x, 2, 1), (INTS,)),
        (lambda x: sliding_window_view(x[::-2], np.array([3])), (normal(9),)),
        (lambda x: np.mean(sliding_window_view(x, 4, subok=True), axis=-1), (normal(9),)),
    )
]
WINDOWS += [
    Sample("add_windows", call, args)
    for call, args in (
        (lambda x: sliding_window_view(x, (2, 3), axis=(1, 0)) ** 2, (normal(4, 5),)),
        (lambda x: sliding_window_view(x, 5) ** 2, (normal(7),)),
        (lambda x: sliding_window_view(x, (2, 4, 2), axis=(0, 1, 0)) ** 2, (normal(5, 5),)),
    )
]
WINDOWS.append(
    Sample(
        "sliding_window_view",
        lambda x: sliding_window_view(x, 3, axis=1),
        (normal(2, 6),),
        zero_size=NO_ROWS,
    )
)
PADDING = [
    Sample("pad", lambda x, v: np.pad(x, 1, constant_values=v), (normal(2, 3), SCALAR)),
    Sample(
        "pad",
        lambda x, v: np.pad(x, ((1, 2), (0, 1)), constant_values=v),
        (normal(2, 3), normal(2, 2)),
    ),
    Sample("pad", lambda x, v: np.pad(x, (1, 2), constant_values=v), (SINGLE, normal(2)), order=1),
    Sample("pad", lambda x: np.pad(x, {0: (1, 2)}), (normal(2, 3),))
    if np.lib.NumpyVersion(np.__version__) >= "2.3.0"
    else Sample("pad", lambda x: np.pad(x, ((1, 2), (0, 0))), (normal(2, 3),)),
]
MARGINS = [
    *(
        Sample("pad_odd", lambda x, w=w, m=m: np.pad(x, w, m, reflect_type="odd"), (x,), order=o)
        for m in ("reflect", "symmetric")
        for w, x, o in (
            (1, normal(4), 2),
            (((2, 0), (0, 7)), normal(3, 4), 2),
            (9, normal(3, 1), 2),
            (2, complex_normal(3), 2),
            (3, INTS, 2),
            (2, SINGLE, 1),
            (2, HALF, 0),
        )
    ),
    Sample("take", lambda x: np.pad(x, 2, "reflect", reflect_type="even"), (normal(3, 4),)),
    Sample("take", lambda x: np.pad(x, 5, "symmetric"), (normal(3),)),
    *(
        sample
        for mode in ("mean", "maximum", "minimum", "median")
        for sample in (
            Sample(
                "concatenate",
                lambda x, mode=mode: np.pad(x, ((1, 2), (2, 0)), mode),
                (normal(3, 4),),
                holomorphic=False,
            ),
            Sample(
                "concatenate",
                lambda x, mode=mode: np.pad(x, 2, mode, stat_length=((1, 2), (3, 9))),
                (normal(3, 4),),
                holomorphic=False,
            ),
            Sample(
                "concatenate",
                lambda x, mode=mode: np.pad(x, (0, 3), mode, stat_length=2),
                (normal(2, 3, 2),),
                holomorphic=False,
                order=1,
            ),
            Sample("concatenate", lambda x, mode=mode: np.pad(x, 1, mode), (INTS,)),
            Sample("concatenate", lambda x, mode=mode: np.pad(x, 1, mode), (SPACED,), order=1),
            Sample("concatenate", lambda x, mode=mode: np.pad(x, 1, mode), (HALF,), False),
        )
    ),
    Sample("concatenate", lambda x: np.pad(x, 1, "mean"), (complex_normal(3, 2),)),
    Sample("concatenate", lambda x: np.pad(x, 3, "linear_ramp"), (normal(2, 3),)),
    Sample(
        "concatenate",
        lambda x: np.pad(x, ((1, 2), (3, 0)), "linear_ramp", end_values=((1, 2.5), (-1, 0))),
        (normal(2, 3),),
    ),
    Sample("concatenate", lambda x: np.pad(x, 3, "linear_ramp", end_values=(9, -5)), (INTS,)),
    Sample(
        "concatenate", lambda x: np.pad(x, 2, "linear_ramp", end_values=1.5), (SINGLE,), order=1
    ),
    Sample("concatenate", lambda x: np.pad(x, 2, "linear_ramp"), (complex_normal(3),)),
]
JOINED = [
    Sample("concatenate", lambda x, y: np.concatenate((x, y), dtype="f4"), (normal(3), normal(2))),
    Sample("concatenate", lambda x: np.concatenate((x, [1, 2]), dtype=complex), (normal(3),)),
    Sample("concatenate", lambda x: np.concatenate((x, x), dtype=int, casting="unsafe"), (SINGLE,)),
    Sample(
        "concatenate",
        lambda x: np.concatenate((x, 2), axis=None, dtype=np.float32),
        (normal(2, 3),),
    ),
    Sample("stack", lambda x, y: np.stack((x, y), 1, dtype=np.float32), (normal(3), SINGLE[0, :3])),
    Sample("stack", lambda x: np.stack((x, 1, 2.5), dtype=np.float32), (SCALAR,)),
    Sample("vstack", lambda x: np.vstack((x, [1, 2, 3]), dtype="f8"), (SINGLE[0, :3],)),
    Sample("hstack", lambda x, y: np.hstack((x, y), dtype="c16"), (normal(3), normal(2))),
    Sample("stack", lambda x: np.array([x[0], 2 * x[1], 1.0], like=x), (normal(3),)),
    Sample("stack", lambda x: np.array([[x[0], 0], [1, x[1]]], like=x), (normal(3),)),
    Sample("stack", lambda x: np.array([x, x], dtype=np.float32, like=x), (normal(3),)),
    Sample("copy", lambda x: np.array(x, like=x), (normal(3),)),
    Sample("copy", lambda x: np.array(x, ndmin=2, like=x), (normal(3),)),
    Sample("copy", lambda x: np.asarray(x[0], like=x), (normal(3),)),
    Sample("astype", lambda x: np.asanyarray(x, np.float32, like=x), (normal(3),)),
    Sample("ascontiguousarray", lambda x: np.ascontiguousarray(x[0], like=x), (normal(3),)),
    Sample("ascontiguousarray", lambda x: np.ascontiguousarray(x.T, like=x) ** 2, (normal(3, 4),)),
    Sample("ascontiguousarray", lambda x: np.sum(np.require(x, None, "C", like=x), 0), (FORTRAN,)),
    Sample("astype", lambda x: np.require(x, "f4", "C", like=x), (normal(3),)),
    Sample("full_of", lambda x: np.full(3, x[1], like=x), (normal(3),)),
    Sample("full_of", lambda x: np.full((2, 3), x, dtype=np.float32, like=x), (normal(3),)),
    Sample("full_of", lambda x: np.full_like(x, x[0]) ** 2, (normal(2, 3),)),
    Sample("full_of", lambda x: np.full_like(x, x, shape=(2, 2, 3)), (complex_normal(2, 1),)),
    Sample("full_of", lambda x: np.full_like(x, 2 * x[0, 0], dtype=float), (INTS,)),
    Sample("exp", lambda x: np.exp(x) + np.zeros(3, like=x) + np.eye(3, like=x), (normal(3),)),
    Sample("full", lambda x: np.zeros_like(x, order="C", subok=False, device="cpu"), (normal(3),)),
    Sample("full", lambda x: np.full_like(x, 2, None, "K", True, (2, 2)), (normal(3),)),
]
SHAPED = [
    Sample("reshape", lambda x: np.reshape(x, (4, 3), order="F"), (normal(3, 4),)),
    Sample("reshape", lambda x: x.reshape((2, -1), order="F") ** 2, (complex_normal(3, 4),)),
    Sample("reshape", lambda x: x.reshape(-1, order="F"), (FORTRAN,), zero_size=NO_ROWS),
    Sample("reshape", lambda x: np.sum(x.reshape((40, 6), order="F"), 0), (normal(6, 8, 5),)),
    Sample("ravel", lambda x: np.ravel(x, "F"), (normal(2, 3, 4),)),
    Sample("ravel", lambda x: x.flatten("F"), (normal(3, 4),)),
    Sample("copy_fortran", lambda x: np.copy(x, order="F") ** 2, (normal(3, 4),)),
    Sample("copy", lambda x: np.copy(x, "C"), (FORTRAN,)),
    Sample("copy", lambda x: np.copy(x, "A"), (SCALAR,)),
    Sample("copy_fortran", lambda x: np.sum(np.copy(x, "F"), axis=0), (normal(40, 50),), order=1),
    Sample("broadcast_to", lambda x: np.broadcast_to(x, (2, 3), subok=True), (normal(3),)),
    Sample("astype", lambda x: np.astype(x, np.float32, copy=False), (normal(3),)),
]
ORDERED = [
    Sample("sort", lambda x: np.sort(x, 0, None, None) ** 2, (distinct(3, 2),), holomorphic=False),
    Sample("sort", lambda x: np.sort(x, axis=None, kind="heapsort"), (INTS,)),
    Sample("sort", lambda x: np.sort(x, axis=-2) ** 3, (distinct(2, 3, 2),), holomorphic=False),
    Sample("argsort", lambda x: np.argsort(x, 1, stable=True), (distinct(2, 3, 2),)),
    Sample(
        "partition",
        lambda x: np.partition(x, [1, 2], -2, "introselect"),
        (distinct(2, 4, 2),),
        holomorphic=False,
    ),
    Sample("argpartition", lambda x: np.argpartition(x, 1, axis=None), (distinct(2, 3),)),
    Sample("sort_complex", lambda x: np.sort_complex(x), (distinct(4),), holomorphic=False),
    Sample("sort_complex", lambda x: np.sort_complex(x), (complex_normal(2, 3),)),
    Sample("sort_complex", lambda x: np.sort_complex(x), (SPACED,), order=1),
    *(
        Sample("sort_complex", lambda x: np.sort_complex(x), (INTS.astype(dtype),))
        for dtype in ("i2", "u1", "i4", "i8", "b1")
    ),
    Sample("lexsort", lambda x, y: np.lexsort((x, y)), (distinct(5), INTS[0, [0, 1, 1, 0, 2]])),
    Sample("lexsort", lambda x: np.lexsort(x), (INTS,), zero_size=(np.zeros((2, 0)),)),
    Sample("lexsort", lambda x: np.lexsort(x, axis=0), (distinct(2, 3, 2),)),
    Sample("lexsort", lambda x: np.lexsort((x,), axis=0), (distinct(3, 2),)),
    Sample("lexsort", lambda x: np.lexsort((x, [[2, 1], [1, 1]])), (distinct(2, 2),)),
    Sample("lexsort", lambda x: np.lexsort((x, x)), (SCALAR,)),
    Sample(
        "searchsorted",
        lambda x, v: np.searchsorted(x, v, sorter=[2, 0, 1]),
        (np.array([0.3, 0.9, -1.0]), normal(2, 2)),
    ),
    Sample(
        "searchsorted",
        lambda x, v: np.searchsorted(x, v, "right", np.argsort(x)),
        (distinct(5), normal(3)),
    ),
    Sample("isin", lambda x: np.isin(x, [1, 4, -5]), (INTS,), zero_size=NO_ROWS),
    Sample("isin", lambda x: np.isin([1, 4, -5], x, invert=True), (INTS,)),
    Sample("isin", lambda x, y: np.isin(x, y, assume_unique=True), (distinct(4), distinct(6))),
    Sample("isin", lambda x: np.isin(x, [1, 3], kind="table"), (INTS,)),
    Sample("isin", lambda x: np.isin(x, [1, 3], kind="sort") * x, (distinct(3, 2),)),
    Sample("isin", lambda x: np.isin(x, [0.7]), (SCALAR,)),
    Sample("isin", lambda x: np.isin(x, 2.5), (2.5,)),
]
PLACES = np.array([[1, 0, 2], [2, 2, 0]])
PLACED = [
    Sample("unravel_index", lambda i: np.unravel_index(i, (2, 4), order="F"), (PLACES,)),
    Sample("ravel_multi_index", lambda i: np.ravel_multi_index((i, 1), (3, 4)), (PLACES,)),
    Sample("ravel_multi_index", lambda i: np.ravel_multi_index(i, (3, 4)), (PLACES,)),
    Sample(
        "ravel_multi_index",
        lambda i: np.ravel_multi_index(i, (2, 2), mode=("wrap", "clip"), order="F"),
        (PLACES,),
    ),
    Sample("ravel_multi_index", lambda i: np.ravel_multi_index(i, 2, "wrap"), ((PLACES,),)),
    Sample("ravel_multi_index", lambda i: np.ravel_multi_index((i, 0), (3, 3)), (np.int64(2),)),
    Sample("ravel_multi_index", lambda i: np.ravel_multi_index((i, 0), (3, 3)), (np.array(2),)),
    Sample("ix_", lambda i: np.ix_(i, i[:0])[0], (PLACES[0],)),
    Sample("take_at", lambda x, i: x[np.ix_(i, [1, 0])] ** 2, (normal(3, 4), PLACES[0])),
    Sample("ix_", lambda x: np.ix_(x, x[1:]), (normal(3),)),
]


def softplus_of(v, scale=1.0):
    """A smooth function with a keyword."""
    return np.log1p(np.exp(v * scale))


APPLIED = [
    Sample("apply_along_axis", lambda x: np.apply_along_axis(np.sum, 0, x), (normal(3, 2),)),
    Sample(
        "apply_along_axis",
        lambda x: np.apply_along_axis(lambda r: r * r[::-1], 1, x),
        (normal(3, 2),),
    ),
    Sample(
        "apply_along_axis",
        lambda x: np.apply_along_axis(lambda r: np.outer(r, r), 1, x),
        (normal(2, 3, 2),),
    ),
    Sample("apply_along_axis", lambda x: np.apply_along_axis(np.max, -1, x), (INTS,)),
    Sample(
        "apply_along_axis",
        lambda x: np.apply_along_axis(softplus_of, 0, x, scale=0.5),
        (normal(3),),
    ),
    Sample("apply_along_axis", lambda x: np.apply_along_axis(np.prod, 0, x), (SINGLE,), order=1),
    Sample("apply_along_axis", lambda x: np.apply_along_axis(lambda r: [r[0], 2], 0, x), (INTS,)),
    Sample("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, -1]), (normal(2, 3, 2),)),
    Sample("apply_over_axes", lambda x: np.apply_over_axes(np.prod, x, 1), (normal(2, 3),)),
    Sample("apply_over_axes", lambda x: np.apply_over_axes(np.cumsum, x, (0, 1)), (normal(2, 3),)),
    Sample(
        "piecewise",
        lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: v**2, softplus_of]),
        (normal(6),),
        zero_size=(np.zeros(0),),
    ),
    Sample(
        "piecewise",
        lambda x: np.piecewise(x, [x < -0.5, x > 0.5], [-1, 2.5, lambda v: v**3]),
        (normal(2, 3),),
    ),
    Sample("piecewise", lambda x: np.piecewise(x, x > 0, [np.log]), (normal(6),)),
    Sample("piecewise", lambda x: np.piecewise(x, [x > 0], [np.log, np.exp]), (normal(6),)),
    Sample(
        "piecewise",
        lambda x: (
            np.piecewise(x, [x > 0, x > 1], [softplus_of, np.sin], scale=2.0)
            if False
            else np.piecewise(x, [x > 0, x > 1], [softplus_of, softplus_of], scale=2.0)
        ),
        (normal(6),),
    ),
    Sample("piecewise", lambda x: np.piecewise(x, [x > 0], [np.sqrt, 1.0]), (SCALAR,)),
    Sample("piecewise", lambda x: np.piecewise(x, x > 0, [np.sqrt, 1.0]), (ZERO_D,)),
    Sample("piecewise", lambda x: np.piecewise(x, [x > 2], [lambda v: v / 2, 2.7]), (INTS,)),
    Sample("piecewise", lambda x: np.piecewise(x, [x > 0], [np.exp, 1]), (SINGLE,), order=1),
    Sample("piecewise", lambda x: np.piecewise(x, [x.real > 0], [np.exp, 1]), (complex_normal(4),)),
    Sample(
        "piecewise", lambda x, y: np.piecewise(x, [x > y], [y[0], np.sin]), (normal(4), normal(4))
    ),
    Sample(
        "piecewise",
        lambda x: np.piecewise(x, [MASK, ~MASK], [lambda v: v - np.mean(v), np.cumsum]),
        (normal(5),),
    ),
    Sample(
        "piecewise",
        lambda x: np.piecewise(x, [MASK, ~MASK], [[1, 2, 3], lambda v: v * len(v)]),
        (normal(5),),
    ),
    Sample("piecewise", lambda x: np.piecewise(x, [MASK & False], [np.log, 2.0]), (normal(5),)),
    Sample("piecewise", lambda x: np.piecewise(x, [x > 9], [np.log, 2.0]), (normal(5),)),
    Sample("piecewise", lambda x: np.piecewise([0.1, 2, 3], [x > 0], [np.log, 2]), (normal(3),)),
    Sample(
        "selected_element",
        lambda x: np.piecewise(x, [x > 0], [np.sqrt]) * x,
        (np.array([-1.0, 0.3, -0.5, 2.0]),),
    ),
]

SAMPLES = [*WINDOWS, *PADDING, *MARGINS, *JOINED, *SHAPED, *ORDERED, *PLACED, *APPLIED]
