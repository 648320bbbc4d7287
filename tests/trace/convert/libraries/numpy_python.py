"""Functions that NumPy writes in Python, and libraries over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.polynomial as npp
from numpy.lib import scimath, stride_tricks

from tests.trace.convert.idioms.idiom import X
from tests.trace.convert.libraries.library import library


@library(X)
def average_x_weights_1_2_3_4(x: Any) -> Any:
    return np.average(x, weights=[1, 2, 3, 4])


@library(X)
def cov_x_1_0_2_0_0_5_1_0(x: Any) -> Any:
    return np.cov(x, [1.0, 2.0, 0.5, 1.0])


@library(X)
def corrcoef_x_x_2(x: Any) -> Any:
    return np.corrcoef([x, x**2])


@library(X)
def polyfit_arange_4_0_x_2(x: Any) -> Any:
    return np.polyfit(np.arange(4.0), x, 2)


@library(X)
def polyval_x_0_5_1_0(x: Any) -> Any:
    return np.polyval(x, [0.5, 1.0])


@library(X)
def polyadd_x_1_0_2_0(x: Any) -> Any:
    return np.polyadd(x, [1.0, 2.0])


@library(X)
def polymul_x_1_0_2_0(x: Any) -> Any:
    return np.polymul(x, [1.0, 2.0])


@library(X)
def polyint_x(x: Any) -> Any:
    return np.polyint(x)


@library(X, refused="the type or shape of the result depends on numbers")
def polydiv_x_1_0_0_5_0(x: Any) -> Any:
    return np.polydiv(x, [1.0, 0.5])[0]


@library(X, refused="the type or shape of the result depends on numbers")
def roots_x_3_real(x: Any) -> Any:
    return np.roots(x[:3]).real


@library(X)
def poly_x(x: Any) -> Any:
    return np.poly(x)


@library(X)
def interp_x_2_0_0_1_0_2_0_1_0_3_0_2_0(x: Any) -> Any:
    return np.interp(x / 2, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0])


@library(X)
def gradient_x_0_0_1_0_2_0_4_0(x: Any) -> Any:
    return np.gradient(x, [0.0, 1.0, 2.0, 4.0])


@library(X)
def trapezoid_x_axis_0(x: Any) -> Any:
    return np.trapezoid(x, axis=0)


@library(X)
def unwrap_x_3(x: Any) -> Any:
    return np.unwrap(x * 3)


@library(X)
def vander_x(x: Any) -> Any:
    return np.vander(x)


@library(X)
def kron_x_x(x: Any) -> Any:
    return np.kron(x, x)


@library(X)
def histogram_x_bins_2_weights_x_0(x: Any) -> Any:
    return np.histogram(x, bins=2, weights=x)[0]


@library(X)
def apply_along_axis_v_v_sum_v_0_x(x: Any) -> Any:
    return np.apply_along_axis(lambda v: v / np.sum(v), 0, x)


@library(X)
def percentile_x_25_75(x: Any) -> Any:
    return np.percentile(x, [25, 75])


@library(X)
def nanpercentile_x_40(x: Any) -> Any:
    return np.nanpercentile(x, 40)


@library(X)
def nanmedian_x(x: Any) -> Any:
    return np.nanmedian(x)


@library(X)
def nanstd_x(x: Any) -> Any:
    return np.nanstd(x)


@library(X)
def nan_to_num_x_nan_1_0(x: Any) -> Any:
    return np.nan_to_num(x, nan=1.0)


@library(X)
def cross_x_0_x_1_x_2_x_1_x_2_x_3(x: Any) -> Any:
    return np.cross([x[0], x[1], x[2]], [x[1], x[2], x[3]])


@library(X)
def rot90_x_reshape_2_2(x: Any) -> Any:
    return np.rot90(x.reshape(2, 2))


@library(X)
def insert_x_1_2_5_0_6_0(x: Any) -> Any:
    return np.insert(x, [1, 2], [5.0, 6.0])


@library(X)
def array_split_x_3(x: Any) -> Any:
    return np.array_split(x, 3)


@library(X)
def hsplit_x_2_0(x: Any) -> Any:
    return np.hsplit(x, 2)[0]


@library(X)
def column_stack_x_x(x: Any) -> Any:
    return np.column_stack((x, x))


@library(X)
def broadcast_arrays_x_1_0_1_x(x: Any) -> Any:
    return np.broadcast_arrays(x, 1.0)[1] * x


@library(X)
def blackman_4_x(x: Any) -> Any:
    return np.blackman(4) * x


@library(X)
def kaiser_4_2_0_x(x: Any) -> Any:
    return np.kaiser(4, 2.0) * x


@library(X)
def fft_fftshift_x_2(x: Any) -> Any:
    return np.fft.fftshift(x)


@library(X)
def fft_rfftfreq_4_x_3(x: Any) -> Any:
    return np.fft.rfftfreq(4) @ x[:3]


@library(X)
def fft_irfft_fft_rfft_x_4(x: Any) -> Any:
    return np.fft.irfft(np.fft.rfft(x), 4)


@library(X)
def linalg_cond_diag_x(x: Any) -> Any:
    return np.linalg.cond(np.diag(x))


@library(X)
def linalg_matrix_norm_diag_x(x: Any) -> Any:
    return np.linalg.matrix_norm(np.diag(x))


@library(X)
def linalg_vector_norm_x(x: Any) -> Any:
    return np.linalg.vector_norm(x)


@library(X)
def linalg_tensorinv_diag_x_1(x: Any) -> Any:
    return np.linalg.tensorinv(np.diag(x), 1)


@library(X)
def linalg_tensorsolve_diag_x_ones_4(x: Any) -> Any:
    return np.linalg.tensorsolve(np.diag(x), np.ones(4))


@library(X, refused="no rule")
def testing_assert_allclose_x_x_or_x(x: Any) -> Any:
    return np.testing.assert_allclose(x, x) or x


@library(X)
def npp_polynomial_polyval_0_5_x(x: Any) -> Any:
    return npp.polynomial.polyval(0.5, x)


@library(X)
def npp_polynomial_polyfit_arange_4_0_x_2(x: Any) -> Any:
    return npp.polynomial.polyfit(np.arange(4.0), x, 2)


@library(X)
def npp_polynomial_polyder_x(x: Any) -> Any:
    return npp.polynomial.polyder(x)


@library(X)
def npp_polynomial_polyint_x(x: Any) -> Any:
    return npp.polynomial.polyint(x)


@library(X)
def npp_polynomial_polymul_x_x(x: Any) -> Any:
    return npp.polynomial.polymul(x, x)


@library(X)
def npp_chebyshev_chebval_0_3_x(x: Any) -> Any:
    return npp.chebyshev.chebval(0.3, x)


@library(X)
def npp_chebyshev_chebfit_linspace_1_1_4_x_2(x: Any) -> Any:
    return npp.chebyshev.chebfit(np.linspace(-1, 1, 4), x, 2)


@library(X)
def npp_legendre_legval_0_3_x(x: Any) -> Any:
    return npp.legendre.legval(0.3, x)


@library(X)
def npp_hermite_hermval_0_3_x(x: Any) -> Any:
    return npp.hermite.hermval(0.3, x)


@library(X)
def npp_laguerre_lagval_0_3_x(x: Any) -> Any:
    return npp.laguerre.lagval(0.3, x)


@library(X)
def npp_polynomial_x_0_5(x: Any) -> Any:
    return npp.Polynomial(x)(0.5)


@library(X)
def npp_chebyshev_x_0_5(x: Any) -> Any:
    return npp.Chebyshev(x)(0.5)


@library(X)
def npp_polynomial_x_deriv_0_5(x: Any) -> Any:
    return npp.Polynomial(x).deriv()(0.5)


@library(X)
def npp_polynomial_fit_arange_4_0_x_2_0_5(x: Any) -> Any:
    return npp.Polynomial.fit(np.arange(4.0), x, 2)(0.5)


@library(X)
def scimath_log_x(x: Any) -> Any:
    return scimath.log(x)


@library(X)
def stride_tricks_sliding_window_view_x_2_sum_ax(x: Any) -> Any:
    return stride_tricks.sliding_window_view(x, 2).sum(axis=1)


@library(X, refused="masked arrays")
def ma_masked_invalid_x_mean(x: Any) -> Any:
    return np.ma.masked_invalid(x).mean()


@library(X, refused="masked arrays")
def ma_array_x_mask_0_1_0_0_sum(x: Any) -> Any:
    return np.ma.array(x, mask=[0, 1, 0, 0]).sum()


@library(X, refused="no rule")
def rec_fromarrays_x_x_size_x(x: Any) -> Any:
    return np.rec.fromarrays([x, x]).size * x


@library(X, refused="no rule")
def matrix_x_a1_if_hasattr_np_matrix_else_x(x: Any) -> Any:
    return np.matrix(x).A1 if hasattr(np, "matrix") else x


@library(X, refused="strings")
def char_upper_a_x(x: Any) -> Any:
    return np.char.upper("a"), x
