"""Linear algebra, polynomials and transforms of NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.trace.convert.idioms.idiom import M, X, idiom


@idiom(M)
def linalg_inv_x(x: Any) -> Any:
    return np.linalg.inv(x)


@idiom(M)
def linalg_solve_x_1_0_2_0_3_0(x: Any) -> Any:
    return np.linalg.solve(x, [1.0, 2.0, 3.0])


@idiom(M)
def linalg_solve_x_ones_3(x: Any) -> Any:
    return np.linalg.solve(x, np.ones(3))


@idiom(M)
def linalg_det_x(x: Any) -> Any:
    return np.linalg.det(x)


@idiom(M)
def linalg_slogdet_x_1(x: Any) -> Any:
    return np.linalg.slogdet(x)[1]


@idiom(M)
def linalg_slogdet_x_logabsdet(x: Any) -> Any:
    return np.linalg.slogdet(x).logabsdet


@idiom(M)
def linalg_cholesky_x(x: Any) -> Any:
    return np.linalg.cholesky(x)


@idiom(M)
def linalg_eigvalsh_x(x: Any) -> Any:
    return np.linalg.eigvalsh(x)


@idiom(M)
def linalg_eigh_x_0(x: Any) -> Any:
    return np.linalg.eigh(x)[0]


@idiom(M)
def linalg_eigh_x_eigenvalues(x: Any) -> Any:
    return np.linalg.eigh(x).eigenvalues


@idiom(M)
def linalg_svd_x_compute_uv_false(x: Any) -> Any:
    return np.linalg.svd(x, compute_uv=False)


@idiom(M)
def linalg_svd_x_1(x: Any) -> Any:
    return np.linalg.svd(x)[1]


@idiom(M)
def linalg_matrix_power_x_3(x: Any) -> Any:
    return np.linalg.matrix_power(x, 3)


@idiom(M)
def linalg_pinv_x(x: Any) -> Any:
    return np.linalg.pinv(x)


@idiom(M)
def linalg_qr_x_1(x: Any) -> Any:
    return np.linalg.qr(x)[1]


@idiom(M)
def linalg_cond_x(x: Any) -> Any:
    return np.linalg.cond(x)


@idiom(M)
def linalg_matrix_rank_x_x(x: Any) -> Any:
    return np.linalg.matrix_rank(x) * x


@idiom(M)
def linalg_lstsq_x_ones_3_rcond_none_0(x: Any) -> Any:
    return np.linalg.lstsq(x, np.ones(3), rcond=None)[0]


@idiom(M)
def trace_x(x: Any) -> Any:
    return np.trace(x)


@idiom(M)
def kron_x_1_0_2_0(x: Any) -> Any:
    return np.kron(x, [1.0, 2.0])


@idiom(M)
def dot_x_1_0_0_0_2_0(x: Any) -> Any:
    return np.dot(x, [1.0, 0.0, 2.0])


@idiom(M)
def x_1_0_0_0_2_0(x: Any) -> Any:
    return x @ [1.0, 0.0, 2.0]


@idiom(M)
def of_1_0_0_0_2_0_x(x: Any) -> Any:
    return [1.0, 0.0, 2.0] @ x


@idiom(M)
def x_dot_1_0_2_0_3_0(x: Any) -> Any:
    return x.dot([1.0, 2.0, 3.0])


@idiom(M)
def matmul_x_1_0_2_0_3_0(x: Any) -> Any:
    return np.matmul(x, [[1.0], [2.0], [3.0]])


@idiom(M)
def einsum_ii_x(x: Any) -> Any:
    return np.einsum("ii", x)


@idiom(M)
def tensordot_x_x_axes_2(x: Any) -> Any:
    return np.tensordot(x, x, axes=2)


@idiom(M)
def vdot_x_x(x: Any) -> Any:
    return np.vdot(x, x)


@idiom(M)
def linalg_norm_x_fro(x: Any) -> Any:
    return np.linalg.norm(x, "fro")


@idiom(M)
def linalg_norm_x_2(x: Any) -> Any:
    return np.linalg.norm(x, 2)


@idiom(M, refused="the type or shape of the result depends on numbers")
def linalg_eigvals_x_real_max(x: Any) -> Any:
    return np.linalg.eigvals(x).real.max()


@idiom(M)
def tril_x_1(x: Any) -> Any:
    return np.tril(x, -1)


@idiom(M)
def fill_diagonal_x_copy_0_0_or_x(x: Any) -> Any:
    return np.fill_diagonal(x.copy(), 0.0) or x


@idiom(M)
def fft_fft_x_real(x: Any) -> Any:
    return np.fft.fft(x).real


@idiom(X)
def abs_fft_rfft_x(x: Any) -> Any:
    return np.abs(np.fft.rfft(x))


@idiom(X)
def fft_ifft_fft_fft_x_real(x: Any) -> Any:
    return np.fft.ifft(np.fft.fft(x)).real


@idiom(X)
def convolve_x_1_0_2_0(x: Any) -> Any:
    return np.convolve(x, [1.0, 2.0])


@idiom(X)
def convolve_1_0_2_0_1_0_x_mode_same(x: Any) -> Any:
    return np.convolve([1.0, 2.0, 1.0], x, mode="same")


@idiom(X)
def correlate_x_1_0_2_0(x: Any) -> Any:
    return np.correlate(x, [1.0, 2.0])


@idiom(X)
def polyfit_0_0_1_0_2_0_3_0_x_1(x: Any) -> Any:
    return np.polyfit([0.0, 1.0, 2.0, 3.0], x, 1)


@idiom(X)
def polyval_x_0_5(x: Any) -> Any:
    return np.polyval(x, 0.5)


@idiom(X)
def polynomial_polynomial_polyval_0_5_x(x: Any) -> Any:
    return np.polynomial.polynomial.polyval(0.5, x)


@idiom(X)
def polynomial_polynomial_x_0_5(x: Any) -> Any:
    return np.polynomial.Polynomial(x)(0.5)


@idiom(X)
def polynomial_chebyshev_chebval_0_5_x(x: Any) -> Any:
    return np.polynomial.chebyshev.chebval(0.5, x)


@idiom(X)
def poly1d_x_0_5(x: Any) -> Any:
    return np.poly1d(x)(0.5)


@idiom(X)
def polyder_x(x: Any) -> Any:
    return np.polyder(x)


@idiom(X)
def poly1d_x_0_x_1_deriv_1_0(x: Any) -> Any:
    return np.poly1d([x[0], x[1]]).deriv()(1.0)


@idiom(X)
def gradient_x(x: Any) -> Any:
    return np.gradient(x)


@idiom(X)
def gradient_x_0_5(x: Any) -> Any:
    return np.gradient(x, 0.5)


@idiom(X)
def interp_0_5_1_5_0_1_2_3_x(x: Any) -> Any:
    return np.interp([0.5, 1.5], [0, 1, 2, 3], x)


@idiom(X)
def trapezoid_x_0_0_1_0_2_0_4_0(x: Any) -> Any:
    return np.trapezoid(x, [0.0, 1.0, 2.0, 4.0])


@idiom(X)
def ediff1d_x(x: Any) -> Any:
    return np.ediff1d(x)


@idiom(X)
def cross_x_3_x_1(x: Any) -> Any:
    return np.cross(x[:3], x[1:])


@idiom(X)
def vectorize_v_v_2_x(x: Any) -> Any:
    return np.vectorize(lambda v: v**2)(x)


@idiom(X)
def vectorize_v_v_if_v_1_else_0_0_x(x: Any) -> Any:
    return np.vectorize(lambda v: v if v > 1 else 0.0)(x)


@idiom(X)
def vectorize_v_k_v_k_x_2_0(x: Any) -> Any:
    return np.vectorize(lambda v, k: v * k)(x, 2.0)


@idiom(X, refused="a branch inside of a batch")
def frompyfunc_v_v_2_1_1_x_sum(x: Any) -> Any:
    return np.frompyfunc(lambda v: v * 2, 1, 1)(x).sum()


@idiom(X)
def nansum_x(x: Any) -> Any:
    return np.nansum(x)


@idiom(X)
def logaddexp_reduce_x(x: Any) -> Any:
    return np.logaddexp.reduce(x)


@idiom(X)
def logaddexp_x_0_x_1(x: Any) -> Any:
    return np.logaddexp(x[0], x[1])


@idiom(X)
def heaviside_x_0_5_x(x: Any) -> Any:
    return np.heaviside(x, 0.5) * x


@idiom(X)
def sinc_x(x: Any) -> Any:
    return np.sinc(x)


@idiom(X)
def i0_x(x: Any) -> Any:
    return np.i0(x)


@idiom(X)
def angle_x_1j(x: Any) -> Any:
    return np.angle(x + 1j)


@idiom(X)
def unwrap_x(x: Any) -> Any:
    return np.unwrap(x)


@idiom(X)
def real_x_1j_x(x: Any) -> Any:
    return np.real(x * 1j + x)


@idiom(X)
def sign_x_x(x: Any) -> Any:
    return np.sign(x) * x


@idiom(X)
def fabs_x_cbrt_x(x: Any) -> Any:
    return np.fabs(x) + np.cbrt(x)


@idiom(X, slopes=False)
def rint_x_x(x: Any) -> Any:
    return np.rint(x) * x


@idiom(X, slopes=False)
def around_x_1(x: Any) -> Any:
    return np.around(x, 1)


@idiom(X)
def fix_x_x(x: Any) -> Any:
    return np.fix(x) * x


@idiom(X)
def modf_x_0(x: Any) -> Any:
    return np.modf(x)[0]


@idiom(X)
def frexp_x_0(x: Any) -> Any:
    return np.frexp(x)[0]


@idiom(X)
def power_x_1_2_3_4(x: Any) -> Any:
    return np.power(x, [1, 2, 3, 4])


@idiom(X)
def float_power_x_2(x: Any) -> Any:
    return np.float_power(x, 2)


@idiom(X)
def multiply_outer_x_x(x: Any) -> Any:
    return np.multiply.outer(x, x)


@idiom(X)
def subtract_outer_1_0_2_0_x(x: Any) -> Any:
    return np.subtract.outer([1.0, 2.0], x)


@idiom(X)
def add_accumulate_x(x: Any) -> Any:
    return np.add.accumulate(x)


@idiom(X)
def add_reduceat_x_0_2(x: Any) -> Any:
    return np.add.reduceat(x, [0, 2])


@idiom(X)
def minimum_accumulate_x(x: Any) -> Any:
    return np.minimum.accumulate(x)


@idiom(X)
def nan_to_num_x_0_5(x: Any) -> Any:
    return np.nan_to_num(x / 0.5)


@idiom(X)
def errstate_all_ignore___class_____name(x: Any) -> Any:
    return np.errstate(all="ignore").__class__.__name__


@idiom(X)
def may_share_memory_x_x_x(x: Any) -> Any:
    return np.may_share_memory(x, x) * x


@idiom(X)
def result_type_x_float32_itemsize_x(x: Any) -> Any:
    return np.result_type(x, np.float32).itemsize * x


@idiom(X)
def finfo_x_dtype_eps_x(x: Any) -> Any:
    return np.finfo(x.dtype).eps + x


@idiom(X)
def can_cast_x_dtype_float_x(x: Any) -> Any:
    return np.can_cast(x.dtype, float) * x


@idiom(X)
def issubdtype_x_dtype_floating_x(x: Any) -> Any:
    return np.issubdtype(x.dtype, np.floating) * x


@idiom(X)
def promote_types_x_dtype_int_name(x: Any) -> Any:
    return np.promote_types(x.dtype, int).name


@idiom(X)
def common_type_x_2_0_x(x: Any) -> Any:
    return np.common_type(x)(2.0) * x


@idiom(X)
def spacing_1_0_x(x: Any) -> Any:
    return np.spacing(1.0) * x


@idiom(X)
def emath_sqrt_x(x: Any) -> Any:
    return np.emath.sqrt(x)


@idiom(X)
def lib_scimath_sqrt_x_if_hasattr_lib_scimath_else_x(x: Any) -> Any:
    return np.lib.scimath.sqrt(x) if hasattr(np.lib, "scimath") else x


@idiom(X)
def histogram_bin_edges_x_3(x: Any) -> Any:
    return np.histogram_bin_edges(x, 3)


@idiom(X)
def broadcast_shapes_x_shape_1_0_x(x: Any) -> Any:
    return np.broadcast_shapes(x.shape, (1,))[0] * x


@idiom(X, refused="no rule")
def broadcast_x_1_0_size_x(x: Any) -> Any:
    return np.broadcast(x, 1.0).size * x


@idiom(X)
def ndindex_2___class_____name(x: Any) -> Any:
    return np.ndindex(2).__class__.__name__


@idiom(X)
def x_i_for_i_in_ndindex_4(x: Any) -> Any:
    return [x[i] for i in np.ndindex(4)]


@idiom(X)
def v_for_i_v_in_ndenumerate_x(x: Any) -> Any:
    return [v for i, v in np.ndenumerate(x)]


@idiom(X)
def sum_float_v_for_v_in_nditer_x(x: Any) -> Any:
    return sum(float(v) for v in np.nditer(x))


@idiom(X)
def iterable_x_x(x: Any) -> Any:
    return np.iterable(x) * x


@idiom(X)
def sum_x_flat(x: Any) -> Any:
    return np.sum(x.flat)


@idiom(X)
def x_flat_0(x: Any) -> Any:
    return x.flat[0]


@idiom(X)
def squeeze_x_none_ravel_flatten(x: Any) -> Any:
    return np.squeeze(x[None]).ravel().flatten()


@idiom(X)
def x_reshape_2_2_swapaxes_0_1(x: Any) -> Any:
    return x.reshape(2, 2).swapaxes(0, 1)


@idiom(X)
def x_clip_1_0_2_0(x: Any) -> Any:
    return x.clip(1.0, 2.0)


@idiom(X)
def x_cumsum_1(x: Any) -> Any:
    return x.cumsum()[-1]


@idiom(X)
def x_std(x: Any) -> Any:
    return x.std()


@idiom(X)
def x_argmax_x_2(x: Any) -> Any:
    return x.argmax() * x


@idiom(X)
def x_nonzero_0_size_x(x: Any) -> Any:
    return x.nonzero()[0].size * x


@idiom(X, slopes=False)
def x_round_1(x: Any) -> Any:
    return x.round(1)


@idiom(X)
def x_conj(x: Any) -> Any:
    return x.conj()


@idiom(X)
def x_dot_x(x: Any) -> Any:
    return x.dot(x)


@idiom(X)
def x_take_0_1(x: Any) -> Any:
    return x.take([0, 1])


@idiom(X)
def x_repeat_2(x: Any) -> Any:
    return x.repeat(2)


@idiom(X)
def x_ptp_if_hasattr_x_ptp_else_x(x: Any) -> Any:
    return x.ptp() if hasattr(x, "ptp") else x


@idiom(X)
def x_compress_true_false_true_true(x: Any) -> Any:
    return x.compress([True, False, True, True])


@idiom(X)
def x_searchsorted_1_0_x(x: Any) -> Any:
    return x.searchsorted(1.0) * x


@idiom(X)
def x_prod_x_min(x: Any) -> Any:
    return x.prod() / x.min()


@idiom(X)
def x_view(x: Any) -> Any:
    return x.view()


@idiom(X)
def x___array(x: Any) -> Any:
    return x.__array__()


@idiom(X, refused="no rule")
def x_tobytes___class_____name(x: Any) -> Any:
    return x.tobytes().__class__.__name__


@idiom(X)
def x_itemsize_x_nbytes_x(x: Any) -> Any:
    return x.itemsize * x.nbytes * x


@idiom(X)
def x_strides_0_x(x: Any) -> Any:
    return x.strides[0] * x


@idiom(X)
def x_flags_writeable_x(x: Any) -> Any:
    return x.flags.writeable * x


@idiom(X)
def x_t_x(x: Any) -> Any:
    return x.T @ x
