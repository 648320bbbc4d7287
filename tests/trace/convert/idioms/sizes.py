"""Positions that are computed, and sizes that depend on data."""

from __future__ import annotations

from typing import Any

import numpy as np

TABLE = np.array([0.5, 1.5, 2.5, 3.5])
LEVELS = [1.0, 2.0, 4.0, 8.0]
NAMES = ["a", "b", "c", "d"]
SLOPES = (1.0, 2.0, 3.0, 4.0)

from tests.trace.convert.idioms.idiom import A, X, idiom


@idiom(X)
def table_argsort_x_x(x: Any) -> Any:
    return TABLE[np.argsort(x)] * x


@idiom(X)
def table_argmax_x_x(x: Any) -> Any:
    return TABLE[np.argmax(x)] * x


@idiom(X)
def levels_argmax_x_x(x: Any) -> Any:
    return LEVELS[np.argmax(x)] * x


@idiom(X)
def slopes_int_argmin_x_x(x: Any) -> Any:
    return SLOPES[int(np.argmin(x))] * x


@idiom(X)
def names_argmax_x(x: Any) -> Any:
    return NAMES[np.argmax(x)]


@idiom(X)
def levels_int_x_0_x(x: Any) -> Any:
    return LEVELS[int(x[0])] * x


@idiom(X)
def array_levels_argsort_x_x(x: Any) -> Any:
    return np.array(LEVELS)[np.argsort(x)] * x


@idiom(X)
def take_table_argsort_x_x(x: Any) -> Any:
    return np.take(TABLE, np.argsort(x)) * x


@idiom(X)
def take_levels_argsort_x_x(x: Any) -> Any:
    return np.take(LEVELS, np.argsort(x)) * x


@idiom(X)
def table_x_astype_int_x(x: Any) -> Any:
    return TABLE[x.astype(int)] * x


@idiom(X)
def table_digitize_x_1_0_2_0_x(x: Any) -> Any:
    return TABLE[np.digitize(x, [1.0, 2.0])] * x


@idiom(X, slopes=False)
def table_searchsorted_table_x_1_x(x: Any) -> Any:
    return TABLE[np.searchsorted(TABLE, x) - 1] * x


@idiom(X)
def table_searchsorted_1_0_2_0_3_0_x_x(x: Any) -> Any:
    return TABLE[np.searchsorted([1.0, 2.0, 3.0], x)] + x


@idiom(X)
def table_x_1_sum_x(x: Any) -> Any:
    return TABLE[x > 1].sum() * x


@idiom(X)
def sum_x_x_1(x: Any) -> Any:
    return np.sum(x[x > 1])


@idiom(X)
def x_x_1(x: Any) -> Any:
    return x[x > 1]


@idiom(X)
def x_x_1_2(x: Any) -> Any:
    return x[x > 1] * 2


@idiom(X)
def mean_x_x_1(x: Any) -> Any:
    return np.mean(x[x > 1])


@idiom(X)
def x_x_1_sum(x: Any) -> Any:
    return x[x > 1].sum()


@idiom(X)
def x_x_1_max(x: Any) -> Any:
    return x[x > 1].max()


@idiom(X)
def sort_x_x_1(x: Any) -> Any:
    return np.sort(x[x > 1])


@idiom(X)
def cumsum_x_x_1(x: Any) -> Any:
    return np.cumsum(x[x > 1])


@idiom(X)
def median_x_x_1(x: Any) -> Any:
    return np.median(x[x > 1])


@idiom(X)
def x_where_x_1(x: Any) -> Any:
    return x[np.where(x > 1)]


@idiom(X)
def x_where_x_1_0_2(x: Any) -> Any:
    return x[np.where(x > 1)[0]] * 2


@idiom(X)
def sum_x_where_x_1(x: Any) -> Any:
    return np.sum(x[np.where(x > 1)])


@idiom(X)
def x_nonzero_x_1(x: Any) -> Any:
    return x[np.nonzero(x > 1)]


@idiom(X)
def x_nonzero_x_1_0(x: Any) -> Any:
    return x[np.nonzero(x > 1)[0]]


@idiom(X)
def x_flatnonzero_x_1(x: Any) -> Any:
    return x[np.flatnonzero(x > 1)]


@idiom(X)
def x_x_1_nonzero_0(x: Any) -> Any:
    return x[(x > 1).nonzero()[0]]


@idiom(X)
def nonzero_x_1_0(x: Any) -> Any:
    return np.nonzero(x > 1)[0]


@idiom(X)
def where_x_1_0(x: Any) -> Any:
    return np.where(x > 1)[0]


@idiom(X)
def where_x_1_0_0_x(x: Any) -> Any:
    return np.where(x > 1)[0][0] * x


@idiom(X)
def len_where_x_1_0_x(x: Any) -> Any:
    return len(np.where(x > 1)[0]) * x


@idiom(X)
def len_x_x_1_x(x: Any) -> Any:
    return len(x[x > 1]) * x


@idiom(X)
def x_x_1_size_x(x: Any) -> Any:
    return x[x > 1].size * x


@idiom(X)
def x_x_1_shape_0_x(x: Any) -> Any:
    return x[x > 1].shape[0] * x


@idiom(X)
def x_x_1_0(x: Any) -> Any:
    return x[x > 1][0]


@idiom(X)
def x_x_1_1_x(x: Any) -> Any:
    return x[x > 1][-1] * x


@idiom(X)
def compress_x_1_x(x: Any) -> Any:
    return np.compress(x > 1, x)


@idiom(X)
def extract_x_1_x(x: Any) -> Any:
    return np.extract(x > 1, x)


@idiom(X)
def unique_x(x: Any) -> Any:
    return np.unique(x)


@idiom(X, slopes=False)
def unique_round_x_x_0(x: Any) -> Any:
    return np.unique(np.round(x)) * x[0]


@idiom(X)
def unique_x_return_counts_true_1_1_0(x: Any) -> Any:
    return np.unique(x, return_counts=True)[1] * 1.0


@idiom(X)
def unique_x_return_index_true_1(x: Any) -> Any:
    return np.unique(x, return_index=True)[1]


@idiom(X)
def argwhere_x_1(x: Any) -> Any:
    return np.argwhere(x > 1)


@idiom(X)
def v_for_v_in_x_if_v_1(x: Any) -> Any:
    return [v for v in x if v > 1]


@idiom(X)
def i_for_i_v_in_enumerate_x_if_v_1(x: Any) -> Any:
    return [i for i, v in enumerate(x) if v > 1]


@idiom(X)
def array_v_for_v_in_x_if_v_1(x: Any) -> Any:
    return np.array([v for v in x if v > 1])


@idiom(X)
def sum_v_for_v_in_x_if_v_1(x: Any) -> Any:
    return sum(v for v in x if v > 1)


@idiom(X)
def v_2_for_v_in_x_x_1(x: Any) -> Any:
    return [v * 2 for v in x[x > 1]]


@idiom(X)
def list_filter_v_v_1_x(x: Any) -> Any:
    return list(filter(lambda v: v > 1, x))


@idiom(X)
def concatenate_x_x_1_x_x_1(x: Any) -> Any:
    return np.concatenate([x[x > 1], x[x <= 1]])


@idiom(X)
def sum_x_1_x(x: Any) -> Any:
    return np.sum(x > 1) * x


@idiom(X)
def count_nonzero_x_1_x(x: Any) -> Any:
    return np.count_nonzero(x > 1) * x


@idiom(X)
def bincount_x_astype_int(x: Any) -> Any:
    return np.bincount(x.astype(int))


@idiom(X)
def bincount_x_astype_int_weights_x(x: Any) -> Any:
    return np.bincount(x.astype(int), weights=x)


@idiom(X, slopes=False)
def histogram_x_bins_3_0(x: Any) -> Any:
    return np.histogram(x, bins=3)[0]


@idiom(X)
def histogram_x_bins_0_0_1_0_2_0_4_0_0_x_0(x: Any) -> Any:
    return np.histogram(x, bins=[0.0, 1.0, 2.0, 4.0])[0] * x[0]


@idiom(X)
def delete_x_argmax_x(x: Any) -> Any:
    return np.delete(x, np.argmax(x))


@idiom(X, slopes=False)
def setdiff1d_x_0_4(x: Any) -> Any:
    return np.setdiff1d(x, [0.4])


@idiom(X, slopes=False)
def intersect1d_x_0_4_1_5(x: Any) -> Any:
    return np.intersect1d(x, [0.4, 1.5])


@idiom(X)
def union1d_x_7_0(x: Any) -> Any:
    return np.union1d(x, [7.0])


@idiom(X, slopes=False)
def isin_x_0_4_1_5_x(x: Any) -> Any:
    return np.isin(x, [0.4, 1.5]) * x


@idiom(X, slopes=False)
def in1d_x_0_4_x_if_hasattr_np_in1d_else_x(x: Any) -> Any:
    return np.in1d(x, [0.4]) * x if hasattr(np, "in1d") else x


@idiom(X)
def repeat_x_1_0_2_1(x: Any) -> Any:
    return np.repeat(x, [1, 0, 2, 1])


@idiom(X)
def repeat_x_x_astype_int(x: Any) -> Any:
    return np.repeat(x, x.astype(int))


@idiom(X)
def arange_int_x_3_x_0(x: Any) -> Any:
    return np.arange(int(x[3])) * x[0]


@idiom(X)
def zeros_int_ceil_x_2_x_0(x: Any) -> Any:
    return np.zeros(int(np.ceil(x[2]))) + x[0]


@idiom(X)
def x_int_x_2(x: Any) -> Any:
    return x[: int(x[2])]


@idiom(X)
def x_int_x_0(x: Any) -> Any:
    return x[int(x[0]) :]


@idiom(X)
def x_argsort_x(x: Any) -> Any:
    return x[np.argsort(x)]


@idiom(X)
def x_argsort_x_1(x: Any) -> Any:
    return x[np.argsort(x)][::-1]


@idiom(X)
def x_argsort_x_2(x: Any) -> Any:
    return x[np.argsort(-x)[:2]]


@idiom(X)
def x_argpartition_x_1_2_sum(x: Any) -> Any:
    return x[np.argpartition(x, 1)[:2]].sum()


@idiom(X)
def partition_x_2_2_sum(x: Any) -> Any:
    return np.partition(x, 2)[:2].sum()


@idiom(X)
def x_0_2(x: Any) -> Any:
    return x[[0, 2]]


@idiom(X)
def x_true_false_true_true(x: Any) -> Any:
    return x[[True, False, True, True]]


@idiom(X)
def x_array_0_2_x_1_3(x: Any) -> Any:
    return x[np.array([0, 2])] * x[[1, 3]]


@idiom(X)
def take_along_axis_x_argsort_x_0(x: Any) -> Any:
    return np.take_along_axis(x, np.argsort(x), 0)


@idiom(X)
def choose_argmax_x_2_x_2_x(x: Any) -> Any:
    return np.choose(np.argmax(x) % 2, [x, 2 * x])


@idiom(X)
def select_x_2_x_1_x_x_2_default_0_0(x: Any) -> Any:
    return np.select([x > 2, x > 1], [x, x**2], default=0.0)


@idiom(X)
def piecewise_x_x_1_x_1_v_v_2_v_2_v(x: Any) -> Any:
    return np.piecewise(x, [x < 1, x >= 1], [lambda v: v**2, lambda v: 2 * v])


@idiom(X)
def where_x_1_0_size_x(x: Any) -> Any:
    return np.where(x > 1)[0].size * x


@idiom(X)
def any_x_1_and_sum_x(x: Any) -> Any:
    return np.any(x > 1) and np.sum(x)


@idiom(X)
def unravel_index_argmax_x_x_shape(x: Any) -> Any:
    return np.unravel_index(np.argmax(x), x.shape)


@idiom(A)
def x_unravel_index_argmax_x_x_shape(x: Any) -> Any:
    return x[np.unravel_index(np.argmax(x), x.shape)]


@idiom(A)
def x_x_1_3(x: Any) -> Any:
    return x[x > 1]


@idiom(A)
def x_x_sum_axis_1_1(x: Any) -> Any:
    return x[x.sum(axis=1) > 1]


@idiom(A, slopes=False)
def x_x_mean_axis_0_0_6(x: Any) -> Any:
    return x[:, x.mean(axis=0) > 0.6]


@idiom(A)
def x_where_x_1_sum(x: Any) -> Any:
    return x[np.where(x > 1)].sum()


@idiom(A)
def x_nonzero_x_1_2(x: Any) -> Any:
    return x[np.nonzero(x > 1)] * 2


@idiom(A)
def x_triu_indices_3(x: Any) -> Any:
    return x[np.triu_indices(3)]


@idiom(A)
def x_diag_indices_3(x: Any) -> Any:
    return x[np.diag_indices(3)]


@idiom(A)
def x_arange_3_argmax_x_axis_1(x: Any) -> Any:
    return x[np.arange(3), np.argmax(x, axis=1)]


@idiom(A)
def x_lexsort_x_0_x_1(x: Any) -> Any:
    return x[np.lexsort((x[:, 0], x[:, 1]))]


@idiom(A)
def x_ix__0_1_1_2(x: Any) -> Any:
    return x[np.ix_([0, 1], [1, 2])]


@idiom(A)
def take_x_argmax_x_axis_1_axis_1(x: Any) -> Any:
    return np.take(x, np.argmax(x, axis=1), axis=1)


@idiom(A)
def x_argmax_x_0(x: Any) -> Any:
    return x[np.argmax(x[:, 0])]


@idiom(A)
def x_isfinite_x_sum(x: Any) -> Any:
    return x[np.isfinite(x)].sum()


@idiom(A)
def x_isnan_x_mean(x: Any) -> Any:
    return x[~np.isnan(x)].mean()


@idiom(A)
def x_isnan_x_any_axis_1(x: Any) -> Any:
    return x[~np.isnan(x).any(axis=1)]


@idiom(A)
def argwhere_x_2(x: Any) -> Any:
    return np.argwhere(x > 2)


@idiom(A)
def unique_x_2(x: Any) -> Any:
    return np.unique(x)


@idiom(X, refused="masked arrays")
def ma_masked_where_x_2_x_sum(x: Any) -> Any:
    return np.ma.masked_where(x > 2, x).sum()


@idiom(X)
def nanmax_where_x_2_nan_x(x: Any) -> Any:
    return np.nanmax(np.where(x > 2, np.nan, x))


@idiom(X)
def n_v_for_n_v_in_zip_names_x_names_argmax_x(x: Any) -> Any:
    return {n: v for n, v in zip(NAMES, x)}[NAMES[np.argmax(x)]]
