"""SciPy's functions under their own names."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.special
import scipy.stats
from scipy import stats
from scipy.linalg import cho_factor, cho_solve, solve
from scipy.special import expit, gammaln, logsumexp

from tests.trace.convert.idioms.idiom import A, M, X, Y, idiom


@idiom(M)
def linalg_inv_x_2(x: Any) -> Any:
    return scipy.linalg.inv(x)


@idiom(M)
def linalg_solve_x_ones_3_2(x: Any) -> Any:
    return scipy.linalg.solve(x, np.ones(3))


@idiom(M)
def solve_x_1_0_2_0_3_0_assume_a_pos(x: Any) -> Any:
    return solve(x, [1.0, 2.0, 3.0], assume_a="pos")


@idiom(M)
def linalg_det_x_2(x: Any) -> Any:
    return scipy.linalg.det(x)


@idiom(M)
def linalg_cholesky_x_lower_true(x: Any) -> Any:
    return scipy.linalg.cholesky(x, lower=True)


@idiom(M)
def cho_solve_cho_factor_x_ones_3(x: Any) -> Any:
    return cho_solve(cho_factor(x), np.ones(3))


@idiom(M)
def linalg_solve_triangular_linalg_cholesky_x_ones_3(x: Any) -> Any:
    return scipy.linalg.solve_triangular(np.linalg.cholesky(x), np.ones(3), lower=True)


@idiom(M)
def linalg_expm_x(x: Any) -> Any:
    return scipy.linalg.expm(x)


@idiom(M)
def linalg_eigh_x_eigvals_only_true(x: Any) -> Any:
    return scipy.linalg.eigh(x, eigvals_only=True)


@idiom(M)
def linalg_norm_x_3(x: Any) -> Any:
    return scipy.linalg.norm(x)


@idiom(M)
def linalg_block_diag_x_1_0(x: Any) -> Any:
    return scipy.linalg.block_diag(x, [[1.0]])


@idiom(M)
def linalg_lu_x_2(x: Any) -> Any:
    return scipy.linalg.lu(x)[2]


@idiom(M)
def linalg_svdvals_x(x: Any) -> Any:
    return scipy.linalg.svdvals(x)


@idiom(X)
def linalg_toeplitz_x(x: Any) -> Any:
    return scipy.linalg.toeplitz(x)


@idiom(X)
def linalg_circulant_x(x: Any) -> Any:
    return scipy.linalg.circulant(x)


@idiom(X)
def special_gammaln_x(x: Any) -> Any:
    return scipy.special.gammaln(x)


@idiom(X)
def gammaln_x_0(x: Any) -> Any:
    return gammaln(x[0])


@idiom(X)
def expit_x(x: Any) -> Any:
    return expit(x)


@idiom(X)
def special_expit_x_0_x_1(x: Any) -> Any:
    return scipy.special.expit([x[0], x[1]])


@idiom(X)
def logsumexp_x(x: Any) -> Any:
    return logsumexp(x)


@idiom(X)
def logsumexp_x_0_x_1(x: Any) -> Any:
    return logsumexp([x[0], x[1]])


@idiom(X)
def special_logsumexp_x_b_ones_4(x: Any) -> Any:
    return scipy.special.logsumexp(x, b=np.ones(4))


@idiom(X)
def special_softmax_x(x: Any) -> Any:
    return scipy.special.softmax(x)


@idiom(X)
def special_log_softmax_x(x: Any) -> Any:
    return scipy.special.log_softmax(x)


@idiom(X)
def special_xlogy_x_x(x: Any) -> Any:
    return scipy.special.xlogy(x, x)


@idiom(X)
def special_erf_x(x: Any) -> Any:
    return scipy.special.erf(x)


@idiom(X)
def special_ndtr_x(x: Any) -> Any:
    return scipy.special.ndtr(x)


@idiom(X)
def special_digamma_x(x: Any) -> Any:
    return scipy.special.digamma(x)


@idiom(X)
def special_beta_x_2_0(x: Any) -> Any:
    return scipy.special.beta(x, 2.0)


@idiom(X)
def special_betaln_x_0_x_1(x: Any) -> Any:
    return scipy.special.betaln(x[0], x[1])


@idiom(X)
def special_comb_5_2_x(x: Any) -> Any:
    return scipy.special.comb(5, 2) * x


@idiom(X)
def special_factorial_3_x(x: Any) -> Any:
    return scipy.special.factorial(3) * x


@idiom(X)
def special_logit_x_4(x: Any) -> Any:
    return scipy.special.logit(x / 4)


@idiom(X)
def special_multigammaln_x_0_2_2(x: Any) -> Any:
    return scipy.special.multigammaln(x[0] + 2, 2)


@idiom(X)
def special_entr_x(x: Any) -> Any:
    return scipy.special.entr(x)


@idiom(X)
def special_j0_x(x: Any) -> Any:
    return scipy.special.j0(x)


@idiom(X)
def special_huber_1_0_x(x: Any) -> Any:
    return scipy.special.huber(1.0, x)


@idiom(X)
def stats_norm_logpdf_x(x: Any) -> Any:
    return stats.norm.logpdf(x)


@idiom(X)
def stats_norm_logpdf_x_0_5_2_0_sum(x: Any) -> Any:
    return scipy.stats.norm.logpdf(x, 0.5, 2.0).sum()


@idiom(X)
def stats_norm_logpdf_1_0_loc_x_0_scale_x_1(x: Any) -> Any:
    return scipy.stats.norm.logpdf(1.0, loc=x[0], scale=x[1])


@idiom(X)
def stats_norm_pdf_x(x: Any) -> Any:
    return scipy.stats.norm.pdf(x)


@idiom(X)
def stats_norm_cdf_x(x: Any) -> Any:
    return scipy.stats.norm.cdf(x)


@idiom(X)
def stats_norm_x_0_x_1_logpdf_0_3(x: Any) -> Any:
    return stats.norm(x[0], x[1]).logpdf(0.3)


@idiom(X)
def stats_norm_0_0_1_0_pdf_x(x: Any) -> Any:
    return stats.norm(0.0, 1.0).pdf(x)


@idiom(X)
def stats_norm_ppf_x_4(x: Any) -> Any:
    return scipy.stats.norm.ppf(x / 4)


@idiom(X)
def stats_t_logpdf_x_3_0(x: Any) -> Any:
    return scipy.stats.t.logpdf(x, 3.0)


@idiom(X)
def stats_gamma_logpdf_x_2_0_scale_x_0(x: Any) -> Any:
    return scipy.stats.gamma.logpdf(x, 2.0, scale=x[0])


@idiom(X)
def stats_beta_logpdf_x_4_2_0_3_0(x: Any) -> Any:
    return scipy.stats.beta.logpdf(x / 4, 2.0, 3.0)


@idiom(X)
def stats_expon_logpdf_x(x: Any) -> Any:
    return scipy.stats.expon.logpdf(x)


@idiom(X)
def stats_poisson_logpmf_2_x(x: Any) -> Any:
    return scipy.stats.poisson.logpmf(2, x)


@idiom(X)
def stats_binom_logpmf_2_5_x_4(x: Any) -> Any:
    return scipy.stats.binom.logpmf(2, 5, x / 4)


@idiom(X)
def stats_uniform_logpdf_x_0_0_5_0(x: Any) -> Any:
    return scipy.stats.uniform.logpdf(x, 0.0, 5.0)


@idiom(X)
def stats_lognorm_logpdf_x_1_0(x: Any) -> Any:
    return scipy.stats.lognorm.logpdf(x, 1.0)


@idiom(X)
def stats_laplace_logpdf_x(x: Any) -> Any:
    return scipy.stats.laplace.logpdf(x)


@idiom(X)
def stats_cauchy_logpdf_x(x: Any) -> Any:
    return scipy.stats.cauchy.logpdf(x)


@idiom(X)
def stats_chi2_logpdf_x_3(x: Any) -> Any:
    return scipy.stats.chi2.logpdf(x, 3)


@idiom(X)
def stats_multivariate_normal_logpdf_x_zeros_4_eye_4(x: Any) -> Any:
    return scipy.stats.multivariate_normal.logpdf(x, np.zeros(4), np.eye(4))


@idiom(X)
def stats_multivariate_normal_zeros_4_eye_4_logpdf_x(x: Any) -> Any:
    return scipy.stats.multivariate_normal(np.zeros(4), np.eye(4)).logpdf(x)


@idiom(M)
def stats_multivariate_normal_logpdf_ones_3_zeros_3(x: Any) -> Any:
    return scipy.stats.multivariate_normal.logpdf(np.ones(3), np.zeros(3), x)


@idiom(X)
def stats_zscore_x(x: Any) -> Any:
    return scipy.stats.zscore(x)


@idiom(X)
def stats_gmean_x(x: Any) -> Any:
    return scipy.stats.gmean(x)


@idiom(X)
def stats_hmean_x(x: Any) -> Any:
    return scipy.stats.hmean(x)


@idiom(X)
def stats_skew_x(x: Any) -> Any:
    return scipy.stats.skew(x)


@idiom(X)
def stats_kurtosis_x(x: Any) -> Any:
    return scipy.stats.kurtosis(x)


@idiom(X)
def stats_sem_x(x: Any) -> Any:
    return scipy.stats.sem(x)


@idiom(X, Y)
def stats_pearsonr_x_y_0(x: Any, y: Any) -> Any:
    return scipy.stats.pearsonr(x, y)[0]


@idiom(X)
def stats_entropy_x(x: Any) -> Any:
    return scipy.stats.entropy(x)


@idiom(X)
def stats_rankdata_x_x(x: Any) -> Any:
    return scipy.stats.rankdata(x) * x


@idiom(X)
def stats_trim_mean_x_0_25(x: Any) -> Any:
    return scipy.stats.trim_mean(x, 0.25)


@idiom(X)
def stats_iqr_x(x: Any) -> Any:
    return scipy.stats.iqr(x)


@idiom(X, Y)
def stats_linregress_x_y_slope(x: Any, y: Any) -> Any:
    return scipy.stats.linregress(x, y).slope


@idiom(X)
def stats_describe_x_mean(x: Any) -> Any:
    return scipy.stats.describe(x).mean


@idiom(X)
def fft_fft_x_real_2(x: Any) -> Any:
    return scipy.fft.fft(x).real


@idiom(X)
def fft_dct_x_norm_ortho(x: Any) -> Any:
    return scipy.fft.dct(x, norm="ortho")


@idiom(X)
def signal_convolve_x_1_0_2_0(x: Any) -> Any:
    return scipy.signal.convolve(x, [1.0, 2.0])


@idiom(X)
def signal_fftconvolve_x_1_0_2_0(x: Any) -> Any:
    return scipy.signal.fftconvolve(x, [1.0, 2.0])


@idiom(X)
def signal_lfilter_1_0_0_5_1_0_x(x: Any) -> Any:
    return scipy.signal.lfilter([1.0, 0.5], [1.0], x)


@idiom(X)
def signal_detrend_x(x: Any) -> Any:
    return scipy.signal.detrend(x)


@idiom(X)
def signal_savgol_filter_x_3_1(x: Any) -> Any:
    return scipy.signal.savgol_filter(x, 3, 1)


@idiom(X)
def ndimage_gaussian_filter1d_x_1_0(x: Any) -> Any:
    return scipy.ndimage.gaussian_filter1d(x, 1.0)


@idiom(X)
def ndimage_uniform_filter_x_3(x: Any) -> Any:
    return scipy.ndimage.uniform_filter(x, 3)


@idiom(X)
def integrate_trapezoid_x(x: Any) -> Any:
    return scipy.integrate.trapezoid(x)


@idiom(X)
def integrate_simpson_x(x: Any) -> Any:
    return scipy.integrate.simpson(x)


@idiom(X)
def integrate_cumulative_trapezoid_x_initial_0(x: Any) -> Any:
    return scipy.integrate.cumulative_trapezoid(x, initial=0)


@idiom(X)
def interpolate_interp1d_0_0_1_0_2_0_3_0_x_1_5(x: Any) -> Any:
    return scipy.interpolate.interp1d([0.0, 1.0, 2.0, 3.0], x)(1.5)


@idiom(X)
def interpolate_cubicspline_0_0_1_0_2_0_3_0_x_1_5(x: Any) -> Any:
    return scipy.interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], x)(1.5)


@idiom(X)
def interpolate_pchipinterpolator_0_0_1_0_2_0_3_0_x(x: Any) -> Any:
    return scipy.interpolate.PchipInterpolator([0.0, 1.0, 2.0, 3.0], x)(1.5)


@idiom(X)
def interpolate_lagrange_0_0_1_0_2_0_3_0_x_1_5(x: Any) -> Any:
    return scipy.interpolate.lagrange([0.0, 1.0, 2.0, 3.0], x)(1.5)


@idiom(X, Y)
def spatial_distance_euclidean_x_y(x: Any, y: Any) -> Any:
    return scipy.spatial.distance.euclidean(x, y)


@idiom(X, Y)
def spatial_distance_cosine_x_y(x: Any, y: Any) -> Any:
    return scipy.spatial.distance.cosine(x, y)


@idiom(X, Y)
def spatial_distance_cityblock_x_y(x: Any, y: Any) -> Any:
    return scipy.spatial.distance.cityblock(x, y)


@idiom(A)
def spatial_distance_pdist_x(x: Any) -> Any:
    return scipy.spatial.distance.pdist(x)


@idiom(A, A)
def spatial_distance_cdist_x_y_1(x: Any, y: Any) -> Any:
    return scipy.spatial.distance.cdist(x, y + 1)


@idiom(X)
def optimize_rosen_x(x: Any) -> Any:
    return scipy.optimize.rosen(x)


@idiom(X)
def optimize_rosen_der_x(x: Any) -> Any:
    return scipy.optimize.rosen_der(x)


@idiom(X, refused="a solver")
def optimize_brentq_v_v_3_x_0_0_0_3_0(x: Any) -> Any:
    return scipy.optimize.brentq(lambda v: v**3 - x[0], 0.0, 3.0)


@idiom(X, refused="a solver")
def integrate_quad_v_v_x_0_0_0_1_0_0(x: Any) -> Any:
    return scipy.integrate.quad(lambda v: v * x[0], 0.0, 1.0)[0]


@idiom(X)
def spatial_transform_rotation_from_rotvec_x_3_as_ma(x: Any) -> Any:
    return scipy.spatial.transform.Rotation.from_rotvec(x[:3]).as_matrix()
