"""Arrays made of numbers, of lists and of other arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.trace.convert.idioms.idiom import M, S, X, Y, idiom


@idiom(X)
def array_x_0_x_1_2(x: Any) -> Any:
    return np.array([x[0], x[1] * 2])


@idiom(X)
def array_x_0_1_0_0_0_x_1(x: Any) -> Any:
    return np.array([[x[0], 1.0], [0.0, x[1]]])


@idiom(X)
def array_x_0_x_1_x_2_2(x: Any) -> Any:
    return np.array((x[0], x[1], x[2] ** 2))


@idiom(X)
def array_x_2(x: Any) -> Any:
    return np.array(x) * 2


@idiom(X)
def array_x_dtype_float(x: Any) -> Any:
    return np.array(x, dtype=float)


@idiom(X)
def array_x_copy_true(x: Any) -> Any:
    return np.array(x, copy=True)


@idiom(X)
def array_x_ndmin_2(x: Any) -> Any:
    return np.array(x, ndmin=2)


@idiom(X)
def array_x_x_2(x: Any) -> Any:
    return np.array([x, x * 2])


@idiom(X)
def array_v_v_v_for_v_in_x(x: Any) -> Any:
    return np.array([[v, v * v] for v in x])


@idiom(X)
def array_v_2_for_v_in_x(x: Any) -> Any:
    return np.array([v * 2 for v in x])


@idiom(X)
def array_list_x(x: Any) -> Any:
    return np.array(list(x))


@idiom(X)
def array_tuple_x(x: Any) -> Any:
    return np.array(tuple(x))


@idiom(X)
def array_float_v_for_v_in_x(x: Any) -> Any:
    return np.array([float(v) for v in x])


@idiom(X)
def asarray_x_2(x: Any) -> Any:
    return np.asarray(x) ** 2


@idiom(X)
def asarray_x_dtype_float_sum(x: Any) -> Any:
    return np.asarray(x, dtype=float).sum()


@idiom(X)
def asarray_x_float(x: Any) -> Any:
    return np.asarray(x, float)


@idiom(X)
def asarray_x_0_x_2(x: Any) -> Any:
    return np.asarray([x[0], x[2]])


@idiom(X)
def asanyarray_x_3(x: Any) -> Any:
    return np.asanyarray(x) * 3


@idiom(X)
def ascontiguousarray_x_1(x: Any) -> Any:
    return np.ascontiguousarray(x) + 1


@idiom(X)
def asfortranarray_x_1(x: Any) -> Any:
    return np.asfortranarray(x) + 1


@idiom(X)
def asarray_chkfinite_x_2(x: Any) -> Any:
    return np.asarray_chkfinite(x) * 2


@idiom(X)
def require_x_dtype_float_2(x: Any) -> Any:
    return np.require(x, dtype=float) * 2


@idiom(X)
def atleast_1d_x_0_2(x: Any) -> Any:
    return np.atleast_1d(x[0]) * 2


@idiom(X)
def atleast_1d_x_2(x: Any) -> Any:
    return np.atleast_1d(x) * 2


@idiom(X)
def atleast_2d_x_x(x: Any) -> Any:
    return np.atleast_2d(x) @ x


@idiom(X)
def atleast_3d_x_sum(x: Any) -> Any:
    return np.atleast_3d(x).sum()


@idiom(X, Y)
def a_b_for_a_b_in_zip_atleast_1d_x_atleast_1d_y(x: Any, y: Any) -> Any:
    return [a + b for a, b in zip(np.atleast_1d(x), np.atleast_1d(y))]


@idiom(X)
def copy_x_2(x: Any) -> Any:
    return np.copy(x) * 2


@idiom(X)
def x_copy_2(x: Any) -> Any:
    return x.copy() * 2


@idiom(X)
def zeros_like_x_x(x: Any) -> Any:
    return np.zeros_like(x) + x


@idiom(X)
def ones_like_x_x(x: Any) -> Any:
    return np.ones_like(x) * x


@idiom(X)
def full_like_x_2_0_x(x: Any) -> Any:
    return np.full_like(x, 2.0) * x


@idiom(X)
def full_3_x_0(x: Any) -> Any:
    return np.full(3, x[0])


@idiom(X)
def full_2_2_x_1_ones_2(x: Any) -> Any:
    return np.full((2, 2), x[1]) @ np.ones(2)


@idiom(X)
def empty_like_x_shape(x: Any) -> Any:
    return np.empty_like(x).shape


@idiom(S)
def repeat_x_4(x: Any) -> Any:
    return np.repeat(x, 4)


@idiom(S)
def ones_3_x(x: Any) -> Any:
    return np.ones(3) * x


@idiom(S)
def x_arange_4(x: Any) -> Any:
    return x * np.arange(4)


@idiom(S)
def linspace_0_x_5(x: Any) -> Any:
    return np.linspace(0, x, 5)


@idiom(S)
def linspace_x_2_x_num_4_endpoint_false(x: Any) -> Any:
    return np.linspace(x, 2 * x, num=4, endpoint=False)


@idiom(S)
def arange_4_x(x: Any) -> Any:
    return np.arange(4) * x


@idiom(S)
def logspace_0_0_x_4(x: Any) -> Any:
    return np.logspace(0.0, x, 4)


@idiom(S)
def geomspace_1_0_x_4(x: Any) -> Any:
    return np.geomspace(1.0, x, 4)


@idiom(X)
def diag_x_0_x_1(x: Any) -> Any:
    return np.diag([x[0], x[1]])


@idiom(X)
def diag_x(x: Any) -> Any:
    return np.diag(x)


@idiom(X)
def eye_4_x(x: Any) -> Any:
    return np.eye(4) * x


@idiom(X)
def identity_4_x(x: Any) -> Any:
    return np.identity(4) @ x


@idiom(X)
def tri_4_x(x: Any) -> Any:
    return np.tri(4) @ x


@idiom(X)
def vander_x_3(x: Any) -> Any:
    return np.vander(x, 3)


@idiom(X)
def stack_x_x_2(x: Any) -> Any:
    return np.stack([x, x**2])


@idiom(X)
def stack_x_x_2_axis_1(x: Any) -> Any:
    return np.stack([x, x**2], axis=-1)


@idiom(X)
def vstack_x_2_x(x: Any) -> Any:
    return np.vstack([x, 2 * x])


@idiom(X)
def vstack_x_ones_4(x: Any) -> Any:
    return np.vstack((x, np.ones(4)))


@idiom(X)
def hstack_x_x_0(x: Any) -> Any:
    return np.hstack([x, x[0]])


@idiom(X)
def hstack_x_1_0_2_0(x: Any) -> Any:
    return np.hstack((x, [1.0, 2.0]))


@idiom(X)
def column_stack_x_ones_4(x: Any) -> Any:
    return np.column_stack([x, np.ones(4)])


@idiom(X)
def column_stack_ones_like_x_x_x_2(x: Any) -> Any:
    return np.column_stack((np.ones_like(x), x, x**2))


@idiom(X)
def concatenate_x_x_0(x: Any) -> Any:
    return np.concatenate([x, [x[0]]])


@idiom(X)
def concatenate_0_0_cumsum_x(x: Any) -> Any:
    return np.concatenate(([0.0], np.cumsum(x)))


@idiom(X)
def append_x_x_0(x: Any) -> Any:
    return np.append(x, x[0])


@idiom(X)
def append_x_1_0_2_0(x: Any) -> Any:
    return np.append(x, [1.0, 2.0])


@idiom(X)
def insert_x_1_x_0_2(x: Any) -> Any:
    return np.insert(x, 1, x[0] * 2)


@idiom(X)
def insert_x_0_0_0(x: Any) -> Any:
    return np.insert(x, 0, 0.0)


@idiom(X)
def delete_x_1(x: Any) -> Any:
    return np.delete(x, 1)


@idiom(X)
def r__x_1_0(x: Any) -> Any:
    return np.r_[x, 1.0]


@idiom(X)
def r__0_0_x(x: Any) -> Any:
    return np.r_[0.0, x]


@idiom(X)
def c__x_x_2(x: Any) -> Any:
    return np.c_[x, x**2]


@idiom(X)
def r__x_2_x_0_x_1(x: Any) -> Any:
    return np.r_[x[:2], x[0] * x[1]]


@idiom(X, Y)
def dstack_x_y(x: Any, y: Any) -> Any:
    return np.dstack([x, y])


@idiom(X, Y)
def block_x_y_y_x(x: Any, y: Any) -> Any:
    return np.block([[x, y], [y, x]])


@idiom(X, Y)
def meshgrid_x_y(x: Any, y: Any) -> Any:
    return np.meshgrid(x, y)


@idiom(X, Y)
def meshgrid_x_y_indexing_ij_0(x: Any, y: Any) -> Any:
    return np.meshgrid(x, y, indexing="ij")[0]


@idiom(M)
def array_x_astype_float_t(x: Any) -> Any:
    return np.array(x).astype(float).T


@idiom(X)
def array_x_0_2_3(x: Any) -> Any:
    return np.array([x[0], 2, 3])


@idiom(X)
def array_1_x_0(x: Any) -> Any:
    return np.array([1, x[0]])


@idiom(X)
def array_x_2_x_2(x: Any) -> Any:
    return np.array([x[:2], x[2:]])


@idiom(X)
def array_x_2_1_0_2_0(x: Any) -> Any:
    return np.array([x[:2], [1.0, 2.0]])


@idiom(X)
def array_sum_x_mean_x_max_x(x: Any) -> Any:
    return np.array([np.sum(x), np.mean(x), np.max(x)])


@idiom(X)
def array_dict_a_x_0_b_x_1_b(x: Any) -> Any:
    return np.array(dict(a=x[0], b=x[1])["b"])


@idiom(X)
def array_x_1_0(x: Any) -> Any:
    return np.array([*x, 1.0])


@idiom(X)
def array_array_x_0_x_1_array_x_2_0_0(x: Any) -> Any:
    return np.array([np.array([x[0], x[1]]), np.array([x[2], 0.0])])


@idiom(X)
def fromiter_v_2_for_v_in_x_float(x: Any) -> Any:
    return np.fromiter((v * 2 for v in x), float)


@idiom(X)
def fromiter_v_2_for_v_in_x_dtype_float_count_4(x: Any) -> Any:
    return np.fromiter((v * 2 for v in x), dtype=float, count=4)


@idiom(X)
def fromfunction_i_i_x_0_3(x: Any) -> Any:
    return np.fromfunction(lambda i: i * x[0], (3,))


@idiom(X)
def tile_x_2(x: Any) -> Any:
    return np.tile(x, 2)


@idiom(X)
def tile_x_0_2_2(x: Any) -> Any:
    return np.tile(x[0], (2, 2))


@idiom(X)
def broadcast_to_x_0_3(x: Any) -> Any:
    return np.broadcast_to(x[0], (3,))


@idiom(X)
def broadcast_to_x_2_4_sum_axis_0(x: Any) -> Any:
    return np.broadcast_to(x, (2, 4)).sum(axis=0)


@idiom(X)
def array_x_0(x: Any) -> Any:
    return np.array(x[0])


@idiom(X)
def array_x_0_item(x: Any) -> Any:
    return np.array(x[0]).item()


@idiom(X)
def array_x_0_ndmin_1(x: Any) -> Any:
    return np.array(x[0], ndmin=1)


@idiom(X)
def float64_x_0_2(x: Any) -> Any:
    return np.float64(x[0]) * 2


@idiom(X, slopes=False)
def float32_x_0_float32_2_0(x: Any) -> Any:
    return np.float32(x[0]) * np.float32(2.0)


@idiom(X)
def float64_2_0_x(x: Any) -> Any:
    return np.float64(2.0) * x


@idiom(S)
def array_x(x: Any) -> Any:
    return np.array(x)


@idiom(S)
def array_x_2_x(x: Any) -> Any:
    return np.array([x, 2 * x])


@idiom(S)
def array_x_0_0_x_1_0_2_0(x: Any) -> Any:
    return np.array([[x, 0], [0, x]]) @ [1.0, 2.0]


@idiom(S)
def asarray_x_1(x: Any) -> Any:
    return np.asarray(x) + 1


@idiom(S)
def asarray_x_dtype_float_ndim(x: Any) -> Any:
    return np.asarray(x, dtype=float).ndim


@idiom(S)
def float64_x_2(x: Any) -> Any:
    return np.float64(x) ** 2


@idiom(S)
def atleast_1d_x(x: Any) -> Any:
    return np.atleast_1d(x)


@idiom(S)
def atleast_1d_asarray_x_shape(x: Any) -> Any:
    return np.atleast_1d(np.asarray(x)).shape


@idiom(X)
def matrix_transpose_array_x_x(x: Any) -> Any:
    return np.matrix_transpose(np.array([x, x]))


@idiom(X)
def ravel_x_x(x: Any) -> Any:
    return np.ravel([x, x])


@idiom(X)
def reshape_x_0_x_1_x_2_x_3_2_2(x: Any) -> Any:
    return np.reshape([x[0], x[1], x[2], x[3]], (2, 2))


@idiom(X)
def reshape_x_2_1(x: Any) -> Any:
    return np.reshape(x, (2, -1))


@idiom(X)
def reshape_x_1_1(x: Any) -> Any:
    return np.reshape(x, (-1, 1))


@idiom(X)
def expand_dims_x_0(x: Any) -> Any:
    return np.expand_dims(x, 0)


@idiom(X)
def squeeze_asarray_x(x: Any) -> Any:
    return np.squeeze(np.asarray([x]))


@idiom(X)
def x_newaxis_x_none(x: Any) -> Any:
    return x[np.newaxis, :] + x[:, None]


@idiom(X)
def pad_x_1(x: Any) -> Any:
    return np.pad(x, 1)


@idiom(X)
def pad_x_1_2_mode_edge(x: Any) -> Any:
    return np.pad(x, (1, 2), mode="edge")


@idiom(X)
def split_x_2(x: Any) -> Any:
    return np.split(x, 2)


@idiom(X)
def array_split_x_3_0(x: Any) -> Any:
    return np.array_split(x, 3)[0]


@idiom(X)
def roll_x_1(x: Any) -> Any:
    return np.roll(x, 1)


@idiom(X)
def flip_x(x: Any) -> Any:
    return np.flip(x)


@idiom(X)
def x_1(x: Any) -> Any:
    return x[::-1]


@idiom(X)
def trim_zeros_x_1_0(x: Any) -> Any:
    return np.trim_zeros(x) * 1.0


@idiom(X)
def ndarray_copy_x_2(x: Any) -> Any:
    return np.ndarray.copy(x) * 2


@idiom(X)
def ma_getdata_x_2(x: Any) -> Any:
    return np.ma.getdata(x) * 2


@idiom(X)
def nan_to_num_x(x: Any) -> Any:
    return np.nan_to_num(x)


@idiom(X)
def nan_to_num_x_0_x_1(x: Any) -> Any:
    return np.nan_to_num([x[0], x[1]])


@idiom(X)
def array_x_t(x: Any) -> Any:
    return np.array([x]).T


@idiom(X)
def transpose_x_2_x(x: Any) -> Any:
    return np.transpose([x, 2 * x])


@idiom(X)
def array_range_4_x(x: Any) -> Any:
    return np.array(range(4)) * x


@idiom(X)
def triu_outer_x_x(x: Any) -> Any:
    return np.triu(np.outer(x, x))


@idiom(X)
def arange_x_size_x(x: Any) -> Any:
    return np.arange(x.size) * x


@idiom(X)
def arange_len_x_dtype_float_x(x: Any) -> Any:
    return np.arange(len(x), dtype=float) @ x


@idiom(X)
def indices_4_0_x(x: Any) -> Any:
    return np.indices((4,))[0] * x


@idiom(X)
def array_x_shape_x_0(x: Any) -> Any:
    return np.array(x.shape) * x[0]


@idiom(X)
def zeros_x_shape_x(x: Any) -> Any:
    return np.zeros(x.shape) + x


@idiom(X)
def zeros_x_shape_dtype_x_dtype_x(x: Any) -> Any:
    return np.zeros(x.shape, dtype=x.dtype) + x


@idiom(X)
def ones_len_x_1_x(x: Any) -> Any:
    return np.ones((len(x), 1)) * x


@idiom(X)
def empty_0_size_x(x: Any) -> Any:
    return np.empty((0,)).size + x


@idiom(X)
def lib_stride_tricks_sliding_window_view_x_2(x: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, 2)


@idiom(X)
def array_dtype_float_sum_x(x: Any) -> Any:
    return np.array([], dtype=float).sum() + x
