"""Reductions and statistics, of arrays and of lists."""

from __future__ import annotations

import functools
import operator
import statistics
from typing import Any

import numpy as np

from tests.trace.convert.idioms.idiom import A, M, X, Y, idiom


@idiom(X)
def mean_x_0_x_1(x: Any) -> Any:
    return np.mean([x[0], x[1]])


@idiom(X)
def sum_x_0_x_1_2_0(x: Any) -> Any:
    return np.sum([x[0], x[1], 2.0])


@idiom(X)
def sum_v_2_for_v_in_x(x: Any) -> Any:
    return np.sum([v**2 for v in x])


@idiom(X)
def prod_x_0_x_1(x: Any) -> Any:
    return np.prod([x[0], x[1]])


@idiom(X)
def max_x_0_x_1(x: Any) -> Any:
    return np.max([x[0], x[1]])


@idiom(X)
def min_x_0_x_1(x: Any) -> Any:
    return np.min((x[0], x[1]))


@idiom(X)
def median_x_0_x_1_x_2(x: Any) -> Any:
    return np.median([x[0], x[1], x[2]])


@idiom(X)
def std_x_0_x_1_x_3(x: Any) -> Any:
    return np.std([x[0], x[1], x[3]])


@idiom(X)
def var_x_ddof_1(x: Any) -> Any:
    return np.var(x, ddof=1)


@idiom(X)
def average_x_0_x_1_weights_1_0_2_0(x: Any) -> Any:
    return np.average([x[0], x[1]], weights=[1.0, 2.0])


@idiom(X)
def average_x_weights_arange_4_1(x: Any) -> Any:
    return np.average(x, weights=np.arange(4) + 1)


@idiom(X)
def dot_x_0_x_1_1_0_2_0(x: Any) -> Any:
    return np.dot([x[0], x[1]], [1.0, 2.0])


@idiom(X)
def dot_1_0_2_0_3_0_4_0_x(x: Any) -> Any:
    return np.dot([1.0, 2.0, 3.0, 4.0], x)


@idiom(X, Y)
def inner_x_0_x_1_y_0_y_1(x: Any, y: Any) -> Any:
    return np.inner([x[0], x[1]], [y[0], y[1]])


@idiom(X, Y)
def outer_x_0_x_1_y(x: Any, y: Any) -> Any:
    return np.outer([x[0], x[1]], y)


@idiom(X)
def cross_x_0_x_1_0_0_1_0_2_0_3_0(x: Any) -> Any:
    return np.cross([x[0], x[1], 0.0], [1.0, 2.0, 3.0])


@idiom(X)
def linalg_norm_x_0_x_1(x: Any) -> Any:
    return np.linalg.norm([x[0], x[1]])


@idiom(X)
def linalg_norm_x(x: Any) -> Any:
    return np.linalg.norm(x)


@idiom(X)
def cumsum_x_0_x_1(x: Any) -> Any:
    return np.cumsum([x[0], x[1]])


@idiom(X)
def cumprod_x(x: Any) -> Any:
    return np.cumprod(x)


@idiom(X)
def diff_x_0_x_1_x_3(x: Any) -> Any:
    return np.diff([x[0], x[1], x[3]])


@idiom(X)
def diff_x_prepend_0_0(x: Any) -> Any:
    return np.diff(x, prepend=0.0)


@idiom(X)
def trapezoid_x_0_x_1_dx_0_5(x: Any) -> Any:
    return np.trapezoid([x[0], x[1]], dx=0.5)


@idiom(X)
def interp_0_5_0_0_1_0_x_0_x_1(x: Any) -> Any:
    return np.interp(0.5, [0.0, 1.0], [x[0], x[1]])


@idiom(X)
def polyval_x_0_x_1_1_0_2_0(x: Any) -> Any:
    return np.polyval([x[0], x[1], 1.0], 2.0)


@idiom(X)
def clip_x_0_x_1_1_0_2_0(x: Any) -> Any:
    return np.clip([x[0], x[1]], 1.0, 2.0)


@idiom(X)
def maximum_x_0_x_1_1_0(x: Any) -> Any:
    return np.maximum([x[0], x[1]], 1.0)


@idiom(X)
def maximum_reduce_x_0_x_1_x_2(x: Any) -> Any:
    return np.maximum.reduce([x[0], x[1], x[2]])


@idiom(X)
def add_reduce_x_0_x_1_x_2(x: Any) -> Any:
    return np.add.reduce([x[0], x[1], x[2]])


@idiom(X)
def hypot_x_0_1_0_x_1(x: Any) -> Any:
    return np.hypot(x[0], [1.0, x[1]])


@idiom(X)
def where_true_false_true_true_x_0_0_1_0_x_0_2_0(x: Any) -> Any:
    return np.where([True, False, True, True], x, [0.0, 1.0, x[0], 2.0])


@idiom(X)
def sqrt_x_0_x_1(x: Any) -> Any:
    return np.sqrt([x[0], x[1]])


@idiom(X)
def exp_x_0_x_1(x: Any) -> Any:
    return np.exp((x[0], x[1]))


@idiom(X)
def percentile_x_50(x: Any) -> Any:
    return np.percentile(x, 50)


@idiom(X)
def quantile_x_0_x_1_x_2_0_3(x: Any) -> Any:
    return np.quantile([x[0], x[1], x[2]], 0.3)


@idiom(X)
def ptp_x(x: Any) -> Any:
    return np.ptp(x)


@idiom(X)
def argmax_x_x_0(x: Any) -> Any:
    return np.argmax(x) + x[0]


@idiom(X)
def x_argmax_x(x: Any) -> Any:
    return x[np.argmax(x)]


@idiom(X)
def argmin_x_0_x_1_x_0(x: Any) -> Any:
    return np.argmin([x[0], x[1]]) * x[0]


@idiom(X)
def sort_x_2_x_0(x: Any) -> Any:
    return np.sort([x[2], x[0]])


@idiom(X)
def count_nonzero_x_x(x: Any) -> Any:
    return np.count_nonzero(x) * x


@idiom(X)
def any_x_2_x(x: Any) -> Any:
    return np.any(x > 2) * x


@idiom(X)
def all_x_0_0_x_1_0_x_0(x: Any) -> Any:
    return np.all([x[0] > 0, x[1] > 0]) * x[0]


@idiom(X)
def nanmean_x_0_nan_x_1(x: Any) -> Any:
    return np.nanmean([x[0], np.nan, x[1]])


@idiom(X)
def cov_array_x_x_2(x: Any) -> Any:
    return np.cov(np.array([x, x**2]))


@idiom(X)
def corrcoef_x_x_2_0_1(x: Any) -> Any:
    return np.corrcoef(x, x**2)[0, 1]


@idiom(X)
def allclose_x_x_x(x: Any) -> Any:
    return np.allclose(x, x) * x


@idiom(X)
def isclose_x_x_0_x(x: Any) -> Any:
    return np.isclose(x, x[0]) * x


@idiom(X)
def array_equal_x_x_x(x: Any) -> Any:
    return np.array_equal(x, x) * x


@idiom(X)
def isfinite_x_all_x(x: Any) -> Any:
    return np.isfinite(x).all() * x


@idiom(X)
def isscalar_x_0_x(x: Any) -> Any:
    return np.isscalar(x[0]) * x


@idiom(X)
def isrealobj_x_x(x: Any) -> Any:
    return np.isrealobj(x) * x


@idiom(X)
def iscomplexobj_x_x(x: Any) -> Any:
    return np.iscomplexobj(x) + x


@idiom(X)
def ndim_x_x(x: Any) -> Any:
    return np.ndim(x) * x


@idiom(X)
def shape_x_0_x(x: Any) -> Any:
    return np.shape(x)[0] * x


@idiom(X)
def shape_x_0_x_1_0_x(x: Any) -> Any:
    return np.shape([x[0], x[1]])[0] * x


@idiom(X)
def size_x_0_x_1_x(x: Any) -> Any:
    return np.size([x[0], x[1]]) * x


@idiom(X)
def sum_x(x: Any) -> Any:
    return sum(x)


@idiom(X)
def sum_x_0_x_1_1_0(x: Any) -> Any:
    return sum([x[0], x[1]], 1.0)


@idiom(X)
def sum_v_2_for_v_in_x_2(x: Any) -> Any:
    return sum(v**2 for v in x)


@idiom(X)
def sum_map_v_v_2_x(x: Any) -> Any:
    return sum(map(lambda v: v * 2, x))


@idiom(X)
def min_x_0_x_1_2(x: Any) -> Any:
    return min(x[0], x[1])


@idiom(X)
def max_x_0_x_1_1_0(x: Any) -> Any:
    return max(x[0], x[1], 1.0)


@idiom(X)
def max_x(x: Any) -> Any:
    return max(x)


@idiom(X)
def min_x_0_2_0(x: Any) -> Any:
    return min([x[0], 2.0])


@idiom(X)
def max_x_key_v_v(x: Any) -> Any:
    return max(x, key=lambda v: -v)


@idiom(X)
def max_default_x_0(x: Any) -> Any:
    return max([], default=x[0])


@idiom(X)
def sorted_x(x: Any) -> Any:
    return sorted(x)


@idiom(X)
def sorted_x_0_x_1_reverse_true(x: Any) -> Any:
    return sorted([x[0], x[1]], reverse=True)


@idiom(X)
def sorted_x_key_v_v(x: Any) -> Any:
    return sorted(x, key=lambda v: -v)


@idiom(X)
def sorted_x_tolist(x: Any) -> Any:
    return sorted(x.tolist())


@idiom(X)
def abs_x_1_x_0(x: Any) -> Any:
    return abs(x[1] - x[0])


@idiom(X, slopes=False)
def round_x_0_3_x_0(x: Any) -> Any:
    return round(x[0] * 3) * x[0]


@idiom(X, slopes=False)
def round_x_0_1(x: Any) -> Any:
    return round(x[0], 1)


@idiom(X)
def pow_x_0_2(x: Any) -> Any:
    return pow(x[0], 2)


@idiom(X)
def divmod_x_0_0_4(x: Any) -> Any:
    return divmod(x[0], 0.4)


@idiom(X)
def statistics_mean_x_0_x_1(x: Any) -> Any:
    return statistics.mean([x[0], x[1]])


@idiom(X)
def statistics_mean_x(x: Any) -> Any:
    return statistics.mean(x)


@idiom(X)
def statistics_fmean_x(x: Any) -> Any:
    return statistics.fmean(x)


@idiom(X)
def statistics_pstdev_x_0_x_1_x_2(x: Any) -> Any:
    return statistics.pstdev([x[0], x[1], x[2]])


@idiom(X)
def statistics_stdev_list_x(x: Any) -> Any:
    return statistics.stdev(list(x))


@idiom(X)
def statistics_variance_x_0_x_1_x_2(x: Any) -> Any:
    return statistics.variance([x[0], x[1], x[2]])


@idiom(X)
def statistics_median_x_0_x_1_x_2(x: Any) -> Any:
    return statistics.median([x[0], x[1], x[2]])


@idiom(X)
def statistics_median_list_x(x: Any) -> Any:
    return statistics.median(list(x))


@idiom(X)
def statistics_geometric_mean_x_0_x_1(x: Any) -> Any:
    return statistics.geometric_mean([x[0], x[1]])


@idiom(X)
def statistics_harmonic_mean_x_0_x_1(x: Any) -> Any:
    return statistics.harmonic_mean([x[0], x[1]])


@idiom(X)
def functools_reduce_a_b_a_b_x(x: Any) -> Any:
    return functools.reduce(lambda a, b: a * b, x)


@idiom(X)
def functools_reduce_operator_mul_x_0_x_1_2_0(x: Any) -> Any:
    return functools.reduce(operator.mul, [x[0], x[1]], 2.0)


@idiom(X)
def functools_reduce_operator_add_x(x: Any) -> Any:
    return functools.reduce(operator.add, x)


@idiom(X)
def functools_reduce_maximum_x_0_x_1_x_2(x: Any) -> Any:
    return functools.reduce(np.maximum, [x[0], x[1], x[2]])


@idiom(X, Y)
def functools_reduce_dot_diag_x_y_y(x: Any, y: Any) -> Any:
    return functools.reduce(np.dot, [np.diag(x), y, y])


@idiom(M)
def functools_reduce_matmul_x_x_x(x: Any) -> Any:
    return functools.reduce(np.matmul, [x, x, x])


@idiom(M)
def linalg_multi_dot_x_x_x(x: Any) -> Any:
    return np.linalg.multi_dot([x, x, x])


@idiom(A)
def mean_x_axis_0(x: Any) -> Any:
    return np.mean(x, axis=0)


@idiom(A)
def mean_x_axis_0_1(x: Any) -> Any:
    return np.mean(x, axis=(0, 1))


@idiom(A)
def x_mean_axis_1_keepdims_true(x: Any) -> Any:
    return x.mean(axis=1, keepdims=True)


@idiom(A)
def apply_along_axis_sum_1_x(x: Any) -> Any:
    return np.apply_along_axis(np.sum, 1, x)


@idiom(A)
def apply_along_axis_row_row_sum_row_2_1_x(x: Any) -> Any:
    return np.apply_along_axis(lambda row: row / np.sum(row**2), 1, x)


@idiom(A)
def apply_over_axes_sum_x_0(x: Any) -> Any:
    return np.apply_over_axes(np.sum, x, [0])


@idiom(A)
def sum_x_axis_1_tolist(x: Any) -> Any:
    return np.sum(x, axis=-1).tolist()


@idiom(A)
def row_sum_for_row_in_x(x: Any) -> Any:
    return [row.sum() for row in x]


@idiom(A)
def dot_row_row_for_row_in_x(x: Any) -> Any:
    return [np.dot(row, row) for row in x]


@idiom(A)
def sum_x_2(x: Any) -> Any:
    return sum(x)


@idiom(A)
def sum_list_map_sum_x(x: Any) -> Any:
    return np.sum(list(map(np.sum, x)))


@idiom(A)
def einsum_ij_i_x(x: Any) -> Any:
    return np.einsum("ij->i", x)


@idiom(A)
def add_reduce_x_axis_1(x: Any) -> Any:
    return np.add.reduce(x, axis=1)


@idiom(A)
def linalg_norm_x_axis_1(x: Any) -> Any:
    return np.linalg.norm(x, axis=1)
