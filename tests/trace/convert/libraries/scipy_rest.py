"""Functions of SciPy other than statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, spatial, special
from scipy.spatial import distance

from tests.trace.convert.idioms.idiom import A, M, X, Y
from tests.trace.convert.libraries.library import library


@library(X)
def special_multigammaln_x_2_0_2(x: Any) -> Any:
    return special.multigammaln(x + 2.0, 2)


@library(X)
def special_comb_5_2_x(x: Any) -> Any:
    return special.comb(5, 2) * x


@library(X)
def special_comb_x_3_0_2_0(x: Any) -> Any:
    return special.comb(x + 3.0, 2.0)


@library(X)
def special_perm_x_3_0_2(x: Any) -> Any:
    return special.perm(x + 3.0, 2)


@library(X)
def special_factorial_x(x: Any) -> Any:
    return special.factorial(x)


@library(X)
def special_factorial2_3_x(x: Any) -> Any:
    return special.factorial2(3) * x


@library(X)
def special_polygamma_1_x(x: Any) -> Any:
    return special.polygamma(1, x)


@library(X)
def special_sinc_x(x: Any) -> Any:
    return special.sinc(x)


@library(X)
def special_logsumexp_x_b_1_0_2_0_1_0_0_5(x: Any) -> Any:
    return special.logsumexp(x, b=[1.0, 2.0, 1.0, 0.5])


@library(X)
def special_logsumexp_x_axis_0_keepdims_true(x: Any) -> Any:
    return special.logsumexp(x, axis=0, keepdims=True)


@library(X)
def special_softmax_x_axis_0(x: Any) -> Any:
    return special.softmax(x, axis=0)


@library(X)
def special_log_softmax_x(x: Any) -> Any:
    return special.log_softmax(x)


@library(X)
def special_diric_x_3(x: Any) -> Any:
    return special.diric(x, 3)


@library(X, refused="no gradient is known")
def special_zeta_x_1_5(x: Any) -> Any:
    return special.zeta(x + 1.5)


@library(X)
def special_jvp_1_x(x: Any) -> Any:
    return special.jvp(1, x)


@library(X)
def special_spherical_jn_1_x(x: Any) -> Any:
    return special.spherical_jn(1, x)


@library(X)
def special_expn_2_x(x: Any) -> Any:
    return special.expn(2, x)


@library(X)
def special_exprel_x(x: Any) -> Any:
    return special.exprel(x)


@library(X)
def special_boxcox_x_0_5(x: Any) -> Any:
    return special.boxcox(x, 0.5)


@library(X)
def special_inv_boxcox_x_0_5(x: Any) -> Any:
    return special.inv_boxcox(x, 0.5)


@library(X)
def special_rel_entr_x_x_1(x: Any) -> Any:
    return special.rel_entr(x, x[::-1])


@library(X)
def special_kl_div_x_x_1(x: Any) -> Any:
    return special.kl_div(x, x[::-1])


@library(X)
def special_pseudo_huber_1_0_x(x: Any) -> Any:
    return special.pseudo_huber(1.0, x)


@library(X)
def special_log_ndtr_x(x: Any) -> Any:
    return special.log_ndtr(x)


@library(X)
def special_betainc_2_0_3_0_x_4(x: Any) -> Any:
    return special.betainc(2.0, 3.0, x / 4)


@library(X)
def special_gammainc_2_0_x(x: Any) -> Any:
    return special.gammainc(2.0, x)


@library(X)
def special_hyp2f1_1_0_2_0_3_0_x_8(x: Any) -> Any:
    return special.hyp2f1(1.0, 2.0, 3.0, x / 8)


@library(X)
def special_ellipk_x_4(x: Any) -> Any:
    return special.ellipk(x / 4)


@library(X)
def special_lambertw_x_real(x: Any) -> Any:
    return special.lambertw(x).real


@library(X)
def special_bernoulli_3_1_x(x: Any) -> Any:
    return special.bernoulli(3)[1] * x


@library(X)
def special_eval_legendre_3_x_4(x: Any) -> Any:
    return special.eval_legendre(3, x / 4)


@library(X)
def special_legendre_3_x_4(x: Any) -> Any:
    return special.legendre(3)(x / 4)


@library(X)
def special_chebyt_3_x_4(x: Any) -> Any:
    return special.chebyt(3)(x / 4)


@library(X)
def special_roots_legendre_3_1_x_3(x: Any) -> Any:
    return special.roots_legendre(3)[1] @ x[:3]


@library(X)
def special_expit_x_special_logit_x_4(x: Any) -> Any:
    return special.expit(x) + special.logit(x / 4)


@library(M)
def linalg_inv_x(x: Any) -> Any:
    return linalg.inv(x)


@library(M)
def linalg_solve_x_1_0_2_0_3_0(x: Any) -> Any:
    return linalg.solve(x, [1.0, 2.0, 3.0])


@library(M)
def linalg_solve_x_ones_3_assume_a_sym(x: Any) -> Any:
    return linalg.solve(x, np.ones(3), assume_a="sym")


@library(M)
def linalg_det_x(x: Any) -> Any:
    return linalg.det(x)


@library(M)
def linalg_cholesky_x(x: Any) -> Any:
    return linalg.cholesky(x)


@library(M)
def linalg_cho_solve_linalg_cho_factor_x_ones_3(x: Any) -> Any:
    return linalg.cho_solve(linalg.cho_factor(x), np.ones(3))


@library(M)
def linalg_lu_solve_linalg_lu_factor_x_ones_3(x: Any) -> Any:
    return linalg.lu_solve(linalg.lu_factor(x), np.ones(3))


@library(M)
def linalg_qr_x_1(x: Any) -> Any:
    return linalg.qr(x)[1]


@library(M)
def linalg_svd_x_1(x: Any) -> Any:
    return linalg.svd(x)[1]


@library(M)
def linalg_svdvals_x(x: Any) -> Any:
    return linalg.svdvals(x)


@library(M)
def linalg_eigh_x_0(x: Any) -> Any:
    return linalg.eigh(x)[0]


@library(M)
def linalg_eigvalsh_x(x: Any) -> Any:
    return linalg.eigvalsh(x)


@library(M)
def linalg_expm_x(x: Any) -> Any:
    return linalg.expm(x)


@library(M)
def linalg_logm_x(x: Any) -> Any:
    return linalg.logm(x)


@library(M)
def linalg_sqrtm_x(x: Any) -> Any:
    return linalg.sqrtm(x)


@library(M)
def linalg_pinv_x(x: Any) -> Any:
    return linalg.pinv(x)


@library(M)
def linalg_pinvh_x(x: Any) -> Any:
    return linalg.pinvh(x)


@library(M)
def linalg_norm_x_1(x: Any) -> Any:
    return linalg.norm(x, 1)


@library(X)
def linalg_norm_x(x: Any) -> Any:
    return linalg.norm(x)


@library(M)
def linalg_lstsq_x_ones_3_0(x: Any) -> Any:
    return linalg.lstsq(x, np.ones(3))[0]


@library(M)
def linalg_solve_triangular_x_ones_3_lower_true(x: Any) -> Any:
    return linalg.solve_triangular(x, np.ones(3), lower=True)


@library(M)
def linalg_solve_sylvester_x_x_eye_3(x: Any) -> Any:
    return linalg.solve_sylvester(x, x, np.eye(3))


@library(M)
def linalg_solve_continuous_lyapunov_x_eye_3(x: Any) -> Any:
    return linalg.solve_continuous_lyapunov(x, np.eye(3))


@library(M)
def linalg_polar_x_1(x: Any) -> Any:
    return linalg.polar(x)[1]


@library(M)
def linalg_block_diag_x_x(x: Any) -> Any:
    return linalg.block_diag(x, x)


@library(M)
def linalg_kron_x_eye_2_if_hasattr_linalg_kron_e(x: Any) -> Any:
    return linalg.kron(x, np.eye(2)) if hasattr(linalg, "kron") else x


@library(M)
def linalg_khatri_rao_x_x(x: Any) -> Any:
    return linalg.khatri_rao(x, x)


@library(M)
def linalg_sinm_x(x: Any) -> Any:
    return linalg.sinm(x)


@library(M)
def linalg_cosm_x(x: Any) -> Any:
    return linalg.cosm(x)


@library(M)
def linalg_tanhm_x(x: Any) -> Any:
    return linalg.tanhm(x)


@library(M)
def linalg_expm_cond_x(x: Any) -> Any:
    return linalg.expm_cond(x)


@library(X)
def linalg_toeplitz_x_x(x: Any) -> Any:
    return linalg.toeplitz(x, x)


@library(X)
def linalg_hankel_x(x: Any) -> Any:
    return linalg.hankel(x)


@library(X)
def linalg_circulant_x(x: Any) -> Any:
    return linalg.circulant(x)


@library(X)
def linalg_companion_x(x: Any) -> Any:
    return linalg.companion(x)


@library(X)
def linalg_leslie_x_x_1(x: Any) -> Any:
    return linalg.leslie(x, x[1:])


@library(X)
def linalg_fiedler_x(x: Any) -> Any:
    return linalg.fiedler(x)


@library(X)
def linalg_solve_toeplitz_x_4_0_0_0_0_ones_4(x: Any) -> Any:
    return linalg.solve_toeplitz(x + [4.0, 0, 0, 0], np.ones(4))


@library(X)
def linalg_matmul_toeplitz_x_ones_4(x: Any) -> Any:
    return linalg.matmul_toeplitz(x, np.ones(4))


@library(X)
def linalg_convolution_matrix_x_3(x: Any) -> Any:
    return linalg.convolution_matrix(x, 3)


@library(M)
def linalg_orth_x_0_2(x: Any) -> Any:
    return linalg.orth(x)[:, 0] ** 2


@library(M)
def linalg_null_space_x_size_x(x: Any) -> Any:
    return linalg.null_space(x).size + x


@library(M, refused="C code")
def linalg_issymmetric_x_x(x: Any) -> Any:
    return linalg.issymmetric(x) * x


@library(M, refused="C code")
def linalg_bandwidth_x_0_x(x: Any) -> Any:
    return linalg.bandwidth(x)[0] * x


@library(X)
def signal_convolve_x_1_0_2_0_0_5(x: Any) -> Any:
    return signal.convolve(x, [1.0, 2.0, 0.5])


@library(X)
def signal_fftconvolve_x_x(x: Any) -> Any:
    return signal.fftconvolve(x, x)


@library(X)
def signal_oaconvolve_x_x(x: Any) -> Any:
    return signal.oaconvolve(x, x)


@library(X)
def signal_correlate_x_1_0_2_0(x: Any) -> Any:
    return signal.correlate(x, [1.0, 2.0])


@library(X)
def signal_lfilter_1_0_0_3_1_0_0_5_x(x: Any) -> Any:
    return signal.lfilter([1.0, 0.3], [1.0, -0.5], x)


@library(X)
def signal_filtfilt_0_5_0_5_1_0_tile_x_4(x: Any) -> Any:
    return signal.filtfilt([0.5, 0.5], [1.0], np.tile(x, 4))


@library(X)
def signal_sosfilt_array_1_0_0_3_0_0_1_0_0_5_0_0(x: Any) -> Any:
    return signal.sosfilt(np.array([[1.0, 0.3, 0.0, 1.0, -0.5, 0.0]]), x)


@library(X)
def signal_detrend_x(x: Any) -> Any:
    return signal.detrend(x)


@library(X)
def signal_detrend_x_type_constant(x: Any) -> Any:
    return signal.detrend(x, type="constant")


@library(X)
def signal_savgol_filter_x_3_1(x: Any) -> Any:
    return signal.savgol_filter(x, 3, 1)


@library(X)
def signal_hilbert_x_imag(x: Any) -> Any:
    return signal.hilbert(x).imag


@library(X)
def signal_periodogram_x_1(x: Any) -> Any:
    return signal.periodogram(x)[1]


@library(X)
def signal_welch_tile_x_4_nperseg_8_1(x: Any) -> Any:
    return signal.welch(np.tile(x, 4), nperseg=8)[1]


@library(X)
def signal_stft_tile_x_4_nperseg_8_2_real(x: Any) -> Any:
    return signal.stft(np.tile(x, 4), nperseg=8)[2].real


@library(X)
def signal_resample_x_6(x: Any) -> Any:
    return signal.resample(x, 6)


@library(X, refused="C code inside is reached after a fallback to Python")
def signal_resample_poly_x_2_1(x: Any) -> Any:
    return signal.resample_poly(x, 2, 1)


@library(X, refused="C code inside is reached after a fallback to Python")
def signal_decimate_tile_x_8_2(x: Any) -> Any:
    return signal.decimate(np.tile(x, 8), 2)


@library(X, refused="C code")
def signal_medfilt_x_3(x: Any) -> Any:
    return signal.medfilt(x, 3)


@library(X)
def signal_wiener_x_3(x: Any) -> Any:
    return signal.wiener(x, 3)


@library(X)
def signal_freqz_x_worn_4_1_real(x: Any) -> Any:
    return signal.freqz(x, worN=4)[1].real


@library(X)
def signal_unit_impulse_4_x(x: Any) -> Any:
    return signal.unit_impulse(4) * x


@library(X)
def signal_square_x_x(x: Any) -> Any:
    return signal.square(x) * x


@library(X)
def signal_chirp_x_0_1_1_0_0_5(x: Any) -> Any:
    return signal.chirp(x, 0.1, 1.0, 0.5)


@library(X)
def signal_gausspulse_x_0_3(x: Any) -> Any:
    return signal.gausspulse(x, 0.3)


@library(X)
def signal_sawtooth_x(x: Any) -> Any:
    return signal.sawtooth(x)


@library(X, refused="C code")
def signal_find_peaks_tile_x_2_0(x: Any) -> Any:
    return signal.find_peaks(np.tile(x, 2))[0]


@library(X)
def signal_argrelmax_tile_x_2_0(x: Any) -> Any:
    return signal.argrelmax(np.tile(x, 2))[0]


@library(X, refused="C code inside is reached after a fallback to Python")
def signal_upfirdn_x_1_0_2_0_2(x: Any) -> Any:
    return signal.upfirdn(x, [1.0, 2.0], 2)


@library(X)
def signal_deconvolve_x_1_0_0_5_0(x: Any) -> Any:
    return signal.deconvolve(x, [1.0, 0.5])[0]


@library(X, refused="the type or shape of the result depends on numbers")
def signal_tf2zpk_1_0_x_2(x: Any) -> Any:
    return signal.tf2zpk([1.0], x)[2]


@library(X)
def signal_bilinear_x_2_x_1_3_0(x: Any) -> Any:
    return signal.bilinear(x[:2], x[1:3])[0]


@library(X)
def signal_lfilter_zi_1_0_0_3_x_2_x_0(x: Any) -> Any:
    return signal.lfilter_zi([1.0, 0.3], x[:2] / x[0])


@library(X)
def signal_envelope___name___x(x: Any) -> Any:
    return signal.envelope.__name__, x


@library(X)
def fft_fft_x_imag(x: Any) -> Any:
    return fft.fft(x).imag


@library(X)
def fft_rfft_x_real(x: Any) -> Any:
    return fft.rfft(x).real


@library(X)
def fft_ifft_x_real(x: Any) -> Any:
    return fft.ifft(x).real


@library(X)
def fft_dct_x(x: Any) -> Any:
    return fft.dct(x)


@library(X)
def fft_idct_x(x: Any) -> Any:
    return fft.idct(x)


@library(X)
def fft_dst_x(x: Any) -> Any:
    return fft.dst(x)


@library(X)
def fft_fftshift_x(x: Any) -> Any:
    return fft.fftshift(x)


@library(X, refused="C code")
def fft_hfft_x(x: Any) -> Any:
    return fft.hfft(x)


@library(X)
def integrate_trapezoid_x_dx_0_5(x: Any) -> Any:
    return integrate.trapezoid(x, dx=0.5)


@library(X)
def integrate_simpson_x(x: Any) -> Any:
    return integrate.simpson(x)


@library(X)
def integrate_simpson_x_x_0_0_1_0_2_0_4_0(x: Any) -> Any:
    return integrate.simpson(x, x=[0.0, 1.0, 2.0, 4.0])


@library(X)
def integrate_cumulative_trapezoid_x(x: Any) -> Any:
    return integrate.cumulative_trapezoid(x)


@library(X)
def integrate_cumulative_simpson_x(x: Any) -> Any:
    return integrate.cumulative_simpson(x)


@library(X)
def integrate_romb_x_0_1_2_3_0(x: Any) -> Any:
    return integrate.romb(x[[0, 1, 2, 3, 0]])


@library(X)
def integrate_fixed_quad_t_t_x_0_x_1_0_0_1_0_n_3(x: Any) -> Any:
    return integrate.fixed_quad(lambda t: t * x[0] + x[1], 0.0, 1.0, n=3)[0]


@library(X, refused="a solver")
def integrate_quad_t_t_x_0_0_0_1_0_0(x: Any) -> Any:
    return integrate.quad(lambda t: t * x[0], 0.0, 1.0)[0]


@library(X)
def integrate_solve_ivp_t_y_x_0_y_0_0_1_0_x_1_3(x: Any) -> Any:
    return integrate.solve_ivp(lambda t, y: -x[0] * y, (0.0, 1.0), x[1:3], rtol=1e-8).y[:, -1]


@library(X, refused="a solver")
def integrate_odeint_y_t_x_0_y_x_1_3_0_0_1_0_1(x: Any) -> Any:
    return integrate.odeint(lambda y, t: -x[0] * y, x[1:3], [0.0, 1.0])[-1]


@library(X)
def interpolate_interp1d_0_0_1_0_2_0_3_0_x_0_5(x: Any) -> Any:
    return interpolate.interp1d([0.0, 1.0, 2.0, 3.0], x)(0.5)


@library(X)
def interpolate_interp1d_0_0_1_0_2_0_3_0_x_kind(x: Any) -> Any:
    return interpolate.interp1d([0.0, 1.0, 2.0, 3.0], x, kind="nearest")(0.6)


@library(X)
def interpolate_cubicspline_0_0_1_0_2_0_3_0_x_bc(x: Any) -> Any:
    return interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], x, bc_type="natural")([0.5, 1.5])


@library(X)
def interpolate_pchipinterpolator_0_0_1_0_2_0_3(x: Any) -> Any:
    return interpolate.PchipInterpolator([0.0, 1.0, 2.0, 3.0], x)([0.5, 1.5])


@library(X)
def interpolate_akima1dinterpolator_0_0_1_0_2_0(x: Any) -> Any:
    return interpolate.Akima1DInterpolator([0.0, 1.0, 2.0, 3.0], x)([0.5, 1.5])


@library(X, refused="it draws random numbers")
def interpolate_barycentricinterpolator_0_0_1_0(x: Any) -> Any:
    return interpolate.BarycentricInterpolator([0.0, 1.0, 2.0, 3.0], x)(0.5)


@library(X)
def interpolate_kroghinterpolator_0_0_1_0_2_0_3(x: Any) -> Any:
    return interpolate.KroghInterpolator([0.0, 1.0, 2.0, 3.0], x)(0.5)


@library(X)
def interpolate_lagrange_0_0_1_0_2_0_3_0_x_0_5(x: Any) -> Any:
    return interpolate.lagrange([0.0, 1.0, 2.0, 3.0], x)(0.5)


@library(X)
def interpolate_make_interp_spline_0_0_1_0_2_0_3(x: Any) -> Any:
    return interpolate.make_interp_spline([0.0, 1.0, 2.0, 3.0], x)(0.5)


@library(X)
def interpolate_bspline_0_0_1_2_3_3_x_1_0_5(x: Any) -> Any:
    return interpolate.BSpline([0, 0, 1, 2, 3, 3], x, 1)(0.5)


@library(X)
def interpolate_ppoly_x_reshape_2_2_0_0_1_0_2_0(x: Any) -> Any:
    return interpolate.PPoly(x.reshape(2, 2), [0.0, 1.0, 2.0])(0.5)


@library(X)
def interpolate_regulargridinterpolator_0_0_1_0(x: Any) -> Any:
    return interpolate.RegularGridInterpolator(([0.0, 1.0], [0.0, 1.0]), x.reshape(2, 2))(
        [[0.3, 0.6]]
    )


@library(X)
def interpolate_griddata_0_0_1_0_2_0_3_0_x_0_5(x: Any) -> Any:
    return interpolate.griddata([[0.0], [1.0], [2.0], [3.0]], x, [[0.5]])


@library(X, refused="C code")
def interpolate_rbfinterpolator_arange_4_0_none(x: Any) -> Any:
    return interpolate.RBFInterpolator(np.arange(4.0)[:, None], x)([[0.5]])


@library(X, Y)
def distance_euclidean_x_y(x: Any, y: Any) -> Any:
    return distance.euclidean(x, y)


@library(X, Y)
def distance_sqeuclidean_x_y(x: Any, y: Any) -> Any:
    return distance.sqeuclidean(x, y)


@library(X, Y)
def distance_cosine_x_y(x: Any, y: Any) -> Any:
    return distance.cosine(x, y)


@library(X, Y)
def distance_correlation_x_y(x: Any, y: Any) -> Any:
    return distance.correlation(x, y)


@library(X, Y)
def distance_cityblock_x_y(x: Any, y: Any) -> Any:
    return distance.cityblock(x, y)


@library(X, Y)
def distance_chebyshev_x_y(x: Any, y: Any) -> Any:
    return distance.chebyshev(x, y)


@library(X, Y)
def distance_canberra_x_y(x: Any, y: Any) -> Any:
    return distance.canberra(x, y)


@library(X, Y)
def distance_braycurtis_x_y(x: Any, y: Any) -> Any:
    return distance.braycurtis(x, y)


@library(X, Y)
def distance_minkowski_x_y_3(x: Any, y: Any) -> Any:
    return distance.minkowski(x, y, 3)


@library(X, Y)
def distance_mahalanobis_x_y_eye_4(x: Any, y: Any) -> Any:
    return distance.mahalanobis(x, y, np.eye(4))


@library(X, Y)
def distance_seuclidean_x_y_ones_4(x: Any, y: Any) -> Any:
    return distance.seuclidean(x, y, np.ones(4))


@library(X, Y)
def distance_jensenshannon_x_y_2(x: Any, y: Any) -> Any:
    return distance.jensenshannon(x, y**2)


@library(A)
def distance_pdist_x(x: Any) -> Any:
    return distance.pdist(x)


@library(A)
def distance_cdist_x_x_1_0(x: Any) -> Any:
    return distance.cdist(x, x + 1.0)


@library(A)
def distance_squareform_distance_pdist_x(x: Any) -> Any:
    return distance.squareform(distance.pdist(x))


@library(A)
def spatial_distance_matrix_x_x_1_0(x: Any) -> Any:
    return spatial.distance_matrix(x, x + 1.0)


@library(A)
def spatial_minkowski_distance_x_x_1_0(x: Any) -> Any:
    return spatial.minkowski_distance(x, x + 1.0)


@library(A)
def spatial_procrustes_x_x_1_1_0_2(x: Any) -> Any:
    return spatial.procrustes(x, x[::-1] + 1.0)[2]


@library(X)
def spatial_geometric_slerp_x_2_linalg_norm_x_2(x: Any) -> Any:
    return spatial.geometric_slerp(x[:2] / np.linalg.norm(x[:2]), np.array([0.0, 1.0]), 0.5)


@library(X)
def optimize_rosen_x(x: Any) -> Any:
    return optimize.rosen(x)


@library(X)
def optimize_rosen_der_x(x: Any) -> Any:
    return optimize.rosen_der(x)


@library(X)
def optimize_rosen_hess_x(x: Any) -> Any:
    return optimize.rosen_hess(x)


@library(X)
def optimize_rosen_hess_prod_x_x(x: Any) -> Any:
    return optimize.rosen_hess_prod(x, x)


@library(X, slopes=False)
def optimize_approx_fprime_x_optimize_rosen(x: Any) -> Any:
    return optimize.approx_fprime(x, optimize.rosen)


@library(X, refused="a solver")
def optimize_brentq_v_v_3_x_0_0_0_3_0(x: Any) -> Any:
    return optimize.brentq(lambda v: v**3 - x[0], 0.0, 3.0)


@library(X)
def optimize_newton_v_v_3_x_0_1_0(x: Any) -> Any:
    return optimize.newton(lambda v: v**3 - x[0], 1.0)


@library(X, refused="a solver")
def optimize_bisect_v_v_3_x_0_0_0_3_0(x: Any) -> Any:
    return optimize.bisect(lambda v: v**3 - x[0], 0.0, 3.0)


@library(X, refused="a solver")
def optimize_minimize_v_sum_v_x_2_zeros_4_x(x: Any) -> Any:
    return optimize.minimize(lambda v: np.sum((v - x) ** 2), np.zeros(4)).x


@library(X, refused="a solver")
def optimize_least_squares_v_v_x_zeros_4_x(x: Any) -> Any:
    return optimize.least_squares(lambda v: v - x, np.zeros(4)).x


@library(X, refused="a solver")
def optimize_nnls_eye_4_x_0(x: Any) -> Any:
    return optimize.nnls(np.eye(4), x)[0]


@library(X, refused="a solver")
def optimize_curve_fit_t_a_b_a_t_b_arange_4_0_x(x: Any) -> Any:
    return optimize.curve_fit(lambda t, a, b: a * t + b, np.arange(4.0), x)[0]


@library(X)
def optimize_fsolve_v_v_2_x_ones_4(x: Any) -> Any:
    return optimize.fsolve(lambda v: v**2 - x, np.ones(4))


@library(X)
def ndimage_gaussian_filter1d_x_1_0(x: Any) -> Any:
    return ndimage.gaussian_filter1d(x, 1.0)


@library(X)
def ndimage_uniform_filter1d_x_3(x: Any) -> Any:
    return ndimage.uniform_filter1d(x, 3)


@library(X)
def ndimage_convolve1d_x_0_2_0_6_0_2(x: Any) -> Any:
    return ndimage.convolve1d(x, [0.2, 0.6, 0.2])


@library(X)
def ndimage_correlate1d_x_0_2_0_6_0_2(x: Any) -> Any:
    return ndimage.correlate1d(x, [0.2, 0.6, 0.2])


@library(A)
def ndimage_gaussian_filter_x_1_0(x: Any) -> Any:
    return ndimage.gaussian_filter(x, 1.0)


@library(A)
def ndimage_sobel_x(x: Any) -> Any:
    return ndimage.sobel(x)


@library(A)
def ndimage_laplace_x(x: Any) -> Any:
    return ndimage.laplace(x)


@library(A)
def ndimage_gaussian_gradient_magnitude_x_1_0(x: Any) -> Any:
    return ndimage.gaussian_gradient_magnitude(x, 1.0)


@library(A)
def ndimage_shift_x_0_5(x: Any) -> Any:
    return ndimage.shift(x, 0.5)


@library(A)
def ndimage_zoom_x_2_0(x: Any) -> Any:
    return ndimage.zoom(x, 2.0)


@library(A)
def ndimage_map_coordinates_x_0_5_1_5_order_1(x: Any) -> Any:
    return ndimage.map_coordinates(x, [[0.5], [1.5]], order=1)


@library(A)
def ndimage_center_of_mass_x(x: Any) -> Any:
    return ndimage.center_of_mass(x)


@library(A, refused="C code")
def ndimage_median_filter_x_3(x: Any) -> Any:
    return ndimage.median_filter(x, 3)


@library(A, refused="C code")
def ndimage_maximum_filter_x_3(x: Any) -> Any:
    return ndimage.maximum_filter(x, 3)


@library(A)
def ndimage_sum_labels_x_arange_12_reshape_3_4_6(x: Any) -> Any:
    return ndimage.sum_labels(x, np.arange(12).reshape(3, 4) // 6, [0, 1])
