"""Samples of indexing, diagonals, sorting, searching and selection."""

import numpy as np
from table import Sample, complex_normal, distinct, normal, unit

INTS = np.arange(6).reshape(2, 3)
F32 = np.array([0.5, -1.5, 2.0], np.float32)
SCALAR = np.float64(0.7)
ZERO_D = np.array(0.3)
EMPTY = np.zeros((0, 3))
CUBE = normal(3, 4, 5)
MASK = np.array([[True, False, True, True], [False] * 4, [False, True, False, False]])
ONE, TWO = np.array([0, 2]), np.array([[1, -1], [0, 1]])

GETITEM = [
    Sample("getitem", lambda x: x[1:], (normal(4),), zero_size=(EMPTY,)),
    Sample("getitem", lambda x: x[0], (normal(4),)),
    Sample("getitem", lambda x: x[-1, 2], (normal(3, 4),)),
    Sample("getitem", lambda x: x[-1], (normal(3, 4),)),
    Sample("getitem", lambda x: x[np.int64(1)], (normal(3, 4),)),
    Sample("getitem", lambda x: x[1:, None, ::2], (normal(3, 4),)),
    Sample("getitem", lambda x: x[..., 0], (CUBE,)),
    Sample("getitem", lambda x: x[0, ..., 1:3], (CUBE,)),
    Sample("getitem", lambda x: x[..., 1:, :], (CUBE,)),
    Sample("getitem", lambda x: x[..., :1, :, :], (CUBE,)),
    Sample("getitem", lambda x: x[0, ..., 1:, :], (CUBE,)),
    Sample("getitem", lambda x: x[:, :2], (CUBE,)),
    Sample("getitem", lambda x: x[::-1, 3:0:-2], (normal(3, 4),)),
    Sample("getitem", lambda x: x[None], (normal(3),)),
    Sample("getitem", lambda x: x[:, None] - x, (normal(3),)),
    Sample("getitem", lambda x: x[:], (normal(3),)),
    Sample("getitem", lambda x: x[...], (normal(2, 3),)),
    Sample("getitem", lambda x: x[()], (normal(2, 3),)),
    Sample("getitem", lambda x: x[()], (ZERO_D,)),
    Sample("getitem", lambda x: x[...], (ZERO_D,)),
    Sample("getitem", lambda x: x[None, ...], (ZERO_D,)),
    Sample("getitem", lambda x: x[()], (SCALAR,)),
    Sample("getitem", lambda x: x[...], (SCALAR,)),
    Sample("getitem", lambda x: x[None], (SCALAR,)),
    Sample("getitem", lambda x: x[0, 1, ...], (normal(2, 3),)),
    Sample("getitem", lambda x: x[0, ..., 1], (normal(2, 3),)),
    Sample("getitem", lambda x: x[5:2], (normal(6),)),
    Sample("getitem", lambda x: x[np.int64(1) : np.int32(4) : 2], (normal(6),)),
    Sample("getitem", lambda x: x[-100:100], (normal(6),)),
    Sample("getitem", lambda z: z[1] * z[0], (complex_normal(3),)),
    Sample("getitem", lambda n: n[1, ::-1], (INTS,)),
    Sample("getitem", lambda b: b[0], (INTS > 2,)),
    Sample("getitem", lambda x: x[0] * x[1] + x[0] * x[2], (normal(3),)),
    Sample("getitem", lambda x: [row * row[::-1] for row in x], (normal(2, 3),)),
    Sample("getitem", lambda x, i: x[i], (normal(4), np.int64(2))),
    Sample("getitem", lambda x, i: x[i, :2], (normal(4, 3), np.int32(-1))),
    Sample("getitem", lambda x: x[np.argmax(x)], (distinct(5),)),
    Sample("put_slice", lambda x: x[1:3] * x[:2], (normal(4),)),
    Sample("put_slice", lambda x: x[:0] * 2.0, (normal(4),)),
    Sample("put_slice", lambda x: x[0, 1] * x[1, ::2], (normal(2, 3),)),
    Sample("put_slice", lambda x: x[0] * x[1], (F32,)),
    Sample("take_at", lambda x: x[[0, 2, 0]], (normal(4),)),
    Sample("take_at", lambda x: x[ONE], (normal(3, 4),), zero_size=(np.zeros((3, 0)),)),
    Sample("take_at", lambda x: x[:, TWO], (normal(3, 4),)),
    Sample("take_at", lambda x: x[ONE, :, [[1], [0]]], (CUBE,)),
    Sample("take_at", lambda x: x[ONE, [1, 3]], (CUBE,)),
    Sample("take_at", lambda x: x[:, ONE, ..., ONE], (CUBE,)),
    Sample("take_at", lambda x: x[:, ONE, [0, 1]], (CUBE,)),
    Sample("take_at", lambda x: x[0, :, ONE], (CUBE,)),
    Sample("take_at", lambda x: x[1:, 0, ONE], (CUBE,)),
    Sample("take_at", lambda x: x[ONE, None, 1:, ::2], (CUBE,)),
    Sample("take_at", lambda x: x[..., ONE], (CUBE,)),
    Sample("take_at", lambda x: x[[]], (normal(4),)),
    Sample("take_at", lambda x: x[[], 1:], (normal(4, 2),)),
    Sample("take_at", lambda x: x[np.array([1, 0], np.uint8)], (normal(4),)),
    Sample("take_at", lambda x: x[np.array(1)], (normal(4),)),
    Sample("take_at", lambda x: x[np.array(1)], (normal(4, 2),)),
    Sample("take_at", lambda x: x[np.array(1), 0, ...], (normal(4, 2),)),
    Sample("take_at", lambda x: x[MASK], (normal(3, 4),)),
    Sample("take_at", lambda x: x[MASK, 1:], (CUBE,)),
    Sample("take_at", lambda x: x[:, MASK[0]], (CUBE,)),
    Sample("take_at", lambda x: x[[True, False, True], 1], (normal(3, 4),)),
    Sample("take_at", lambda x: x[[True, False, True], [1, 0]], (normal(3, 4),)),
    Sample("take_at", lambda x: x[MASK & False], (normal(3, 4),)),
    Sample("take_at", lambda x: x[np.triu_indices(3, 1)], (normal(3, 3),)),
    Sample("take_at", lambda z: z[ONE] * z[[1, 1]], (complex_normal(3),)),
    Sample("take_at", lambda n: n[ONE], (np.arange(5),)),
    Sample("take_at", lambda x: x[np.ix_([0, 2], [1, 3])], (normal(3, 4),)),
    Sample("take_at", lambda x, i: x[i], (normal(4), ONE)),
    Sample("take_at", lambda x, i: x[:, i, 1:], (CUBE, TWO)),
    Sample("take_at", lambda x, i, j: x[i, j], (normal(3, 4), ONE, TWO)),
    Sample("take_at", lambda x, i, j: x[i, :, j], (CUBE, ONE, np.int64(1))),
    Sample("take_at", lambda x, i: x[np.arange(3), i], (normal(3, 4), np.array([0, 3, 0]))),
    Sample("take_at", lambda x, i: x[i], (normal(3, 4), np.array(2))),
    Sample("take_at", lambda x: x[np.argsort(x)] ** 2, (distinct(5),)),
    Sample("put_at", lambda x: x[[2, 0]] * x[[0, 1]], (normal(4),)),
    Sample("put_at", lambda x: x[:, [2, 0]] ** 2, (normal(2, 3),)),
    Sample("put_at", lambda x: x[[0, 1], [1, 0]] ** 2, (normal(2, 3),)),
    Sample("add_at", lambda x: x[[1, 1, 0, -1]] ** 2, (normal(4),)),
    Sample("add_at", lambda x: x[1:, [1, 1], None, ::2] ** 2, (CUBE,)),
    Sample("add_at", lambda x: x[..., [1, 1]] ** 2, (F32,)),
]

TAKE = [
    Sample("take", lambda x: np.take(x, [0, 2, 0]), (normal(4),)),
    Sample("take", lambda x: x.take([[0, 5], [2, -1]]), (normal(2, 3),)),
    Sample("take", lambda x: np.take(x, [1, 0], axis=1), (normal(2, 3),), zero_size=(EMPTY,)),
    Sample("take", lambda x: np.take(x, TWO, axis=-2) ** 2, (CUBE,)),
    Sample("take", lambda x: np.take(x, 2), (normal(4),)),
    Sample("take", lambda x: np.take(x, 1, axis=0) ** 2, (normal(2, 3),)),
    Sample("take", lambda x: np.take(x, 0), (ZERO_D,)),
    Sample("take", lambda x: np.take(x, [-5, 1, 9], mode="wrap"), (normal(4),)),
    Sample("take", lambda x: np.take(x, [-5, 1, 9], mode="clip"), (normal(4),)),
    Sample("take", lambda x: np.take(x, []), (normal(4),)),
    Sample("take", lambda x: np.take(x, [True, False]), (normal(4),)),
    Sample("take", lambda x, i: np.take(x, i, axis=0) ** 2, (normal(4, 2), TWO)),
    Sample("take", lambda x, i: x.take(i), (normal(4), np.int64(1))),
    Sample("take", lambda x, i: np.take(x, i, mode="wrap"), (normal(4), np.array([-7, 5]))),
    Sample("take", lambda x, i: np.take(x, i, mode="clip"), (normal(4), np.array([-7, 5]))),
    Sample("take", lambda x: np.take(x, np.argmin(x)), (distinct(4),)),
    Sample("take_along_axis", lambda x: np.take_along_axis(x, TWO, 1), (normal(2, 3),)),
    Sample("take_along_axis", lambda x: np.take_along_axis(x, TWO, 0) ** 2, (normal(2, 2),)),
    Sample(
        "take_along_axis", lambda x: np.take_along_axis(x, np.array([2, 0]), None), (normal(2, 3),)
    ),
    Sample(
        "take_along_axis", lambda x: np.take_along_axis(x, np.array([[0], [1]]), 1), (normal(1, 3),)
    ),
    Sample(
        "take_along_axis", lambda x: np.take_along_axis(x, np.array([[0, 2]]), 1), (normal(2, 3),)
    ),
    Sample(
        "take_along_axis",
        lambda x: np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), axis=1),
        (distinct(2, 3),),
    ),
    Sample(
        "take_along_axis", lambda x, i: np.take_along_axis(x, i, 0), (complex_normal(2, 2), TWO)
    ),
    Sample(
        "take_along_axis",
        lambda x: np.take_along_axis(x, np.zeros((2, 0), int), 1),
        (normal(2, 3),),
    ),
    Sample(
        "put_along_axis",
        lambda x: np.take_along_axis(x, np.array([[2, 0]]), 1) ** 2,
        (normal(1, 3),),
    ),
    Sample("add_along_axis", lambda x: np.take_along_axis(x, TWO, 1) ** 2, (normal(2, 3),)),
    Sample(
        "add_along_axis",
        lambda x, i: np.take_along_axis(x, i, 1) ** 2,
        (normal(2, 2, 2), np.array([[[0, 0], [0, 1]], [[1, 0], [1, 1]]])),
    ),
]

DIAGONALS = [
    Sample("diagonal", lambda x: np.diagonal(x), (normal(3, 4),), zero_size=(EMPTY,)),
    Sample("diagonal", lambda x: x.diagonal(1), (normal(3, 4),)),
    Sample("diagonal", lambda x: x.diagonal(-1) ** 2, (normal(3, 3),)),
    Sample("diagonal", lambda x: np.diagonal(x, 9), (normal(3, 3),)),
    Sample("diagonal", lambda x: np.diagonal(x, 1, 1, 2) ** 2, (CUBE,)),
    Sample("diagonal", lambda x: np.diagonal(x, axis1=2, axis2=0) ** 2, (CUBE,)),
    Sample("diagonal", lambda x: np.diagonal(x, -1) ** 2, (CUBE,)),
    Sample("diagonal", lambda x: np.linalg.diagonal(x, offset=-1) ** 2, (CUBE,)),
    Sample("put_diagonal", lambda x: np.diagonal(x, 2) ** 2, (complex_normal(3, 4),)),
    Sample("diag", lambda x: np.diag(x), (normal(3),), zero_size=(np.zeros(0),)),
    Sample("diag", lambda x: np.diag(x, 2) ** 2, (complex_normal(2),)),
    Sample("diag", lambda x: np.diag(x, -1), (normal(2),)),
    Sample("diagonal", lambda x: np.diag(x, -1) * 2.0, (normal(3, 3),)),
    Sample("diagflat", lambda x: np.diagflat(x, 1), (normal(2, 2),)),
    Sample("tril", lambda x: np.tril(x), (normal(3, 3),), zero_size=(EMPTY,)),
    Sample("tril", lambda x: np.tril(x, -1) ** 2, (normal(2, 3, 4),)),
    Sample("tril", lambda x: np.tril(x), (normal(3),)),
    Sample("triu", lambda x: np.triu(x, 1), (complex_normal(3, 2),)),
    Sample("triu", lambda x: np.triu(x), (normal(3),)),
    Sample("triu", lambda n: np.triu(n), (INTS,)),
    Sample("take_at", lambda x: x[np.tril_indices_from(x)], (normal(3, 3),)),
    Sample("take_at", lambda x: x[np.triu_indices_from(x, k=1)], (normal(3, 4),)),
    Sample("take_at", lambda x: x[np.diag_indices_from(x)], (normal(3, 3),)),
]

SORTING = [
    Sample("sort", lambda x: np.sort(x), (distinct(5),), holomorphic=False, zero_size=(EMPTY,)),
    Sample("sort", lambda x: np.sort(x, axis=0) ** 2, (distinct(3, 2),), holomorphic=False),
    Sample("sort", lambda x: np.sort(x, axis=None) ** 2, (distinct(3, 2),), holomorphic=False),
    Sample("sort", lambda x: np.sort(x, kind="stable"), (distinct(3, 2),), holomorphic=False),
    Sample("sort", lambda x: np.sort(x, stable=True), (distinct(3, 2),), holomorphic=False),
    Sample("sort", lambda n: np.sort(n), (INTS[:, ::-1].copy(),)),
    Sample("sort", lambda z: np.sort(z), (distinct(4) + 0.5j,)),
    Sample("argsort", lambda x: np.argsort(x), (distinct(5),), zero_size=(EMPTY,)),
    Sample("argsort", lambda x: x.argsort(axis=0), (distinct(3, 2),)),
    Sample("argsort", lambda x: np.argsort(x, None, "stable"), (distinct(3, 2),)),
    Sample("argsort", lambda x: np.argsort(x), (ZERO_D,)),
    Sample("partition", lambda x: np.partition(x, 2), (distinct(6),), holomorphic=False),
    Sample(
        "partition",
        lambda x: np.partition(x, (1, -1), axis=0) ** 2,
        (distinct(4, 2),),
        holomorphic=False,
    ),
    Sample(
        "partition", lambda x: np.partition(x, 2, axis=None), (distinct(2, 3),), holomorphic=False
    ),
    Sample("argpartition", lambda x: np.argpartition(x, 2), (distinct(6),)),
    Sample("argpartition", lambda x: np.argpartition(x, 1, 0), (distinct(3, 2),)),
    Sample("searchsorted", lambda x: np.searchsorted(x, 0.5), (np.arange(4.0),)),
    Sample(
        "searchsorted",
        lambda x, v: np.searchsorted(x, v, side="right"),
        (np.arange(4.0), unit(2, 3)),
    ),
    Sample("searchsorted", lambda x, v: x.searchsorted(v), (np.arange(4.0), ZERO_D)),
    Sample("searchsorted", lambda v: np.searchsorted([0.0, 0.5, 1.0], v, "right"), (unit(3),)),
    Sample("unravel_index", lambda x: np.unravel_index(np.argmax(x), x.shape), (distinct(2, 3),)),
    Sample(
        "unravel_index", lambda x: x[np.unravel_index(np.argmax(x), x.shape)], (distinct(2, 3),)
    ),
    Sample("unravel_index", lambda i: np.unravel_index(i, (2, 4)), (TWO % 4,)),
    Sample("unravel_index", lambda i: np.unravel_index(i, 9), (ONE,)),
]

SELECTION = [
    Sample("compress", lambda x: np.compress([True, False, True], x), (normal(4),)),
    Sample("compress", lambda x: np.compress([0, 1, 1], x, axis=1), (normal(2, 3),)),
    Sample("compress", lambda x: x.compress([True, False], axis=0), (normal(2, 3),)),
    Sample("extract", lambda x: np.extract(MASK, x) ** 2, (normal(3, 4),)),
    Sample("select", lambda x: np.select([x > 1, x > 0], [x, 2 * x], -x), (normal(6),)),
    Sample("select", lambda x: np.select([x > 1, x > 0], [1.0, 2.0]), (normal(6),)),
    Sample("select", lambda x: np.select([x > 0], [x]), (F32,)),
    Sample("select", lambda x, y: np.select([x > 0], [x], y), (normal(2, 3), complex_normal(3))),
    Sample("select", lambda x: np.select([x > 0], [x]), (ZERO_D,)),
    Sample("select", lambda x: np.select([MASK, ~MASK], [x, [1, 2, 3, 4]]), (normal(3, 4),)),
    Sample("select", lambda n: np.select([n > 2], [n.astype(np.int8)], 1.0), (INTS,)),
    Sample("choose", lambda x, y: np.choose([0, 1, 0], (x, y)) ** 2, (normal(3), normal(3))),
    Sample("choose", lambda x, y, n: np.choose(n, [x, y, 1.0]), (normal(3), SCALAR, INTS % 3)),
    Sample("choose", lambda x: np.choose(1, (x, 2 * x)), (normal(3),)),
    Sample("choose", lambda x: np.choose(1, (x, 2 * x)), (SCALAR,)),
    Sample("choose", lambda x: np.choose([0, 1, 1], (x, 1.0)), (F32,)),
    Sample("choose", lambda x: np.choose(x > 0, (0.1 * x, x)), (normal(4),)),
    Sample("choose", lambda x: np.choose([-3, 5, 1], x, mode="clip"), (normal(3, 3),)),
    Sample("choose", lambda x: np.choose([-3, 5, 1], x, mode="wrap"), (normal(3, 3),)),
    Sample("choose", lambda n, x: n.choose((x, -x)), (INTS % 2, normal(2, 3))),
    Sample(
        "choose", lambda z, n: np.choose(n, (z, z * 2)), (complex_normal(3), np.array([0, 1, 1]))
    ),
]

SAMPLES = [*GETITEM, *TAKE, *DIAGONALS, *SORTING, *SELECTION]
