"""Functions and distributions of scipy.stats."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from tests.trace.convert.idioms.idiom import M, P, X, Y
from tests.trace.convert.libraries.library import library


@library(X)
def stats_norm_pdf_x_0_5_2_0(x: Any) -> Any:
    return stats.norm.pdf(x, 0.5, 2.0)


@library(X)
def stats_norm_logcdf_x(x: Any) -> Any:
    return stats.norm.logcdf(x)


@library(X)
def stats_norm_sf_x(x: Any) -> Any:
    return stats.norm.sf(x)


@library(X)
def stats_norm_logsf_x(x: Any) -> Any:
    return stats.norm.logsf(x)


@library(P)
def stats_norm_ppf_x(x: Any) -> Any:
    return stats.norm.ppf(x)


@library(P)
def stats_norm_isf_x(x: Any) -> Any:
    return stats.norm.isf(x)


@library(X)
def stats_t_logpdf_x_4_0_loc_0_2_scale_1_5(x: Any) -> Any:
    return stats.t.logpdf(x, 4.0, loc=0.2, scale=1.5)


@library(X)
def stats_t_pdf_x_4_0(x: Any) -> Any:
    return stats.t.pdf(x, 4.0)


@library(X)
def stats_t_cdf_x_4_0(x: Any) -> Any:
    return stats.t.cdf(x, 4.0)


@library(X)
def stats_gamma_pdf_x_2_0(x: Any) -> Any:
    return stats.gamma.pdf(x, 2.0)


@library(X)
def stats_gamma_cdf_x_2_0(x: Any) -> Any:
    return stats.gamma.cdf(x, 2.0)


@library(P)
def stats_beta_logpdf_x_2_0_3_0(x: Any) -> Any:
    return stats.beta.logpdf(x, 2.0, 3.0)


@library(P)
def stats_beta_pdf_x_2_0_3_0(x: Any) -> Any:
    return stats.beta.pdf(x, 2.0, 3.0)


@library(P)
def stats_beta_cdf_x_2_0_3_0(x: Any) -> Any:
    return stats.beta.cdf(x, 2.0, 3.0)


@library(X)
def stats_expon_pdf_x_scale_2_0(x: Any) -> Any:
    return stats.expon.pdf(x, scale=2.0)


@library(X)
def stats_expon_cdf_x(x: Any) -> Any:
    return stats.expon.cdf(x)


@library(X)
def stats_lognorm_pdf_x_0_7(x: Any) -> Any:
    return stats.lognorm.pdf(x, 0.7)


@library(X)
def stats_lognorm_cdf_x_0_7(x: Any) -> Any:
    return stats.lognorm.cdf(x, 0.7)


@library(X)
def stats_weibull_min_logpdf_x_1_5(x: Any) -> Any:
    return stats.weibull_min.logpdf(x, 1.5)


@library(X)
def stats_weibull_min_cdf_x_1_5(x: Any) -> Any:
    return stats.weibull_min.cdf(x, 1.5)


@library(X)
def stats_weibull_max_logpdf_x_1_5(x: Any) -> Any:
    return stats.weibull_max.logpdf(-x, 1.5)


@library(X)
def stats_gumbel_r_logpdf_x(x: Any) -> Any:
    return stats.gumbel_r.logpdf(x)


@library(X)
def stats_gumbel_l_pdf_x(x: Any) -> Any:
    return stats.gumbel_l.pdf(x)


@library(X)
def stats_logistic_logpdf_x(x: Any) -> Any:
    return stats.logistic.logpdf(x)


@library(X)
def stats_logistic_cdf_x(x: Any) -> Any:
    return stats.logistic.cdf(x)


@library(X)
def stats_cauchy_pdf_x(x: Any) -> Any:
    return stats.cauchy.pdf(x)


@library(X)
def stats_laplace_pdf_x(x: Any) -> Any:
    return stats.laplace.pdf(x)


@library(X)
def stats_laplace_cdf_x(x: Any) -> Any:
    return stats.laplace.cdf(x)


@library(X)
def stats_rayleigh_logpdf_x(x: Any) -> Any:
    return stats.rayleigh.logpdf(x)


@library(X)
def stats_maxwell_pdf_x(x: Any) -> Any:
    return stats.maxwell.pdf(x)


@library(X)
def stats_chi_logpdf_x_3_0(x: Any) -> Any:
    return stats.chi.logpdf(x, 3.0)


@library(X)
def stats_chi2_pdf_x_3_0(x: Any) -> Any:
    return stats.chi2.pdf(x, 3.0)


@library(X)
def stats_f_logpdf_x_3_0_5_0(x: Any) -> Any:
    return stats.f.logpdf(x, 3.0, 5.0)


@library(X)
def stats_invgamma_logpdf_x_2_0(x: Any) -> Any:
    return stats.invgamma.logpdf(x, 2.0)


@library(X)
def stats_pareto_logpdf_1_0_x_2_0(x: Any) -> Any:
    return stats.pareto.logpdf(1.0 + x, 2.0)


@library(X)
def stats_halfnorm_logpdf_x(x: Any) -> Any:
    return stats.halfnorm.logpdf(x)


@library(X)
def stats_halfcauchy_logpdf_x(x: Any) -> Any:
    return stats.halfcauchy.logpdf(x)


@library(X)
def stats_genextreme_logpdf_x_0_1(x: Any) -> Any:
    return stats.genextreme.logpdf(x, -0.1)


@library(X)
def stats_genpareto_logpdf_x_0_2(x: Any) -> Any:
    return stats.genpareto.logpdf(x, 0.2)


@library(X)
def stats_gennorm_logpdf_x_1_3(x: Any) -> Any:
    return stats.gennorm.logpdf(x, 1.3)


@library(X)
def stats_skewnorm_logpdf_x_2_0(x: Any) -> Any:
    return stats.skewnorm.logpdf(x, 2.0)


@library(X)
def stats_exponnorm_logpdf_x_1_5(x: Any) -> Any:
    return stats.exponnorm.logpdf(x, 1.5)


@library(X)
def stats_loggamma_logpdf_x_1_5(x: Any) -> Any:
    return stats.loggamma.logpdf(x, 1.5)


@library(X)
def stats_loglaplace_logpdf_x_1_5(x: Any) -> Any:
    return stats.loglaplace.logpdf(x, 1.5)


@library(X)
def stats_fisk_logpdf_x_2_0(x: Any) -> Any:
    return stats.fisk.logpdf(x, 2.0)


@library(X)
def stats_burr_logpdf_x_2_0_1_5(x: Any) -> Any:
    return stats.burr.logpdf(x, 2.0, 1.5)


@library(X)
def stats_burr12_logpdf_x_2_0_1_5(x: Any) -> Any:
    return stats.burr12.logpdf(x, 2.0, 1.5)


@library(X)
def stats_lomax_logpdf_x_2_0(x: Any) -> Any:
    return stats.lomax.logpdf(x, 2.0)


@library(X)
def stats_invgauss_logpdf_x_1_1(x: Any) -> Any:
    return stats.invgauss.logpdf(x, 1.1)


@library(X)
def stats_nakagami_logpdf_x_1_1(x: Any) -> Any:
    return stats.nakagami.logpdf(x, 1.1)


@library(X)
def stats_rice_logpdf_x_0_8(x: Any) -> Any:
    return stats.rice.logpdf(x, 0.8)


@library(X)
def stats_hypsecant_logpdf_x(x: Any) -> Any:
    return stats.hypsecant.logpdf(x)


@library(X)
def stats_moyal_logpdf_x(x: Any) -> Any:
    return stats.moyal.logpdf(x)


@library(X)
def stats_powerlaw_logpdf_x_4_1_4(x: Any) -> Any:
    return stats.powerlaw.logpdf(x / 4, 1.4)


@library(P)
def stats_kumaraswamy_logpdf_x_2_0_3_0_if_hasatt(x: Any) -> Any:
    return stats.kumaraswamy.logpdf(x, 2.0, 3.0) if hasattr(stats, "kumaraswamy") else x


@library(X)
def stats_triang_pdf_x_4_0_4(x: Any) -> Any:
    return stats.triang.pdf(x / 4, 0.4)


@library(X)
def stats_trapezoid_pdf_x_4_0_2_0_8(x: Any) -> Any:
    return stats.trapezoid.pdf(x / 4, 0.2, 0.8)


@library(X)
def stats_truncnorm_logpdf_x_1_0_5_0(x: Any) -> Any:
    return stats.truncnorm.logpdf(x, -1.0, 5.0)


@library(X)
def stats_vonmises_logpdf_x_1_2(x: Any) -> Any:
    return stats.vonmises.logpdf(x, 1.2)


@library(X)
def stats_exponpow_logpdf_x_1_2(x: Any) -> Any:
    return stats.exponpow.logpdf(x, 1.2)


@library(X)
def stats_gompertz_logpdf_x_1_2(x: Any) -> Any:
    return stats.gompertz.logpdf(x, 1.2)


@library(X)
def stats_uniform_pdf_x_0_0_5_0(x: Any) -> Any:
    return stats.uniform.pdf(x, 0.0, 5.0)


@library(X)
def stats_uniform_cdf_x_0_0_5_0(x: Any) -> Any:
    return stats.uniform.cdf(x, 0.0, 5.0)


@library(X)
def stats_johnsonsu_logpdf_x_0_5_1_2(x: Any) -> Any:
    return stats.johnsonsu.logpdf(x, 0.5, 1.2)


@library(X)
def stats_johnsonsb_logpdf_x_4_0_5_1_2(x: Any) -> Any:
    return stats.johnsonsb.logpdf(x / 4, 0.5, 1.2)


@library(X)
def stats_poisson_pmf_3_x(x: Any) -> Any:
    return stats.poisson.pmf(3, x)


@library(X)
def stats_poisson_logpmf_0_1_2_3_x(x: Any) -> Any:
    return stats.poisson.logpmf([0, 1, 2, 3], x)


@library(P)
def stats_bernoulli_logpmf_0_1_1_0_x(x: Any) -> Any:
    return stats.bernoulli.logpmf([0, 1, 1, 0], x)


@library(P)
def stats_binom_pmf_2_5_x(x: Any) -> Any:
    return stats.binom.pmf(2, 5, x)


@library(P)
def stats_nbinom_logpmf_2_5_x(x: Any) -> Any:
    return stats.nbinom.logpmf(2, 5, x)


@library(P)
def stats_geom_logpmf_2_x(x: Any) -> Any:
    return stats.geom.logpmf(2, x)


@library(P)
def stats_betabinom_logpmf_2_5_1_0_x_2_0(x: Any) -> Any:
    return stats.betabinom.logpmf(2, 5, 1.0 + x, 2.0)


@library(X)
def stats_norm_mean_loc_x(x: Any) -> Any:
    return stats.norm.mean(loc=x)


@library(X)
def stats_gamma_mean_x(x: Any) -> Any:
    return stats.gamma.mean(x)


@library(X)
def stats_gamma_var_x(x: Any) -> Any:
    return stats.gamma.var(x)


@library(X)
def stats_norm_entropy_scale_x(x: Any) -> Any:
    return stats.norm.entropy(scale=x)


@library(X)
def stats_norm_0_5_x_cdf_1_0(x: Any) -> Any:
    return stats.norm(0.5, x).cdf(1.0)


@library(X)
def stats_gamma_2_0_scale_x_logpdf_1_5(x: Any) -> Any:
    return stats.gamma(2.0, scale=x).logpdf(1.5)


@library(X)
def stats_norm_nnlf_0_3_1_2_x(x: Any) -> Any:
    return stats.norm.nnlf((0.3, 1.2), x)


@library(X)
def stats_dirichlet_logpdf_array_0_2_0_3_0_5_x_3(x: Any) -> Any:
    return stats.dirichlet.logpdf(np.array([0.2, 0.3, 0.5]), x[:3])


@library(M)
def stats_multivariate_normal_pdf_array_0_1_0_2(x: Any) -> Any:
    return stats.multivariate_normal.pdf(np.array([0.1, 0.2, 0.3]), np.zeros(3), x)


@library(X)
def stats_multivariate_t_logpdf_x_2_zeros_2_eye(x: Any) -> Any:
    return stats.multivariate_t.logpdf(x[:2], np.zeros(2), np.eye(2), 4.0)


@library(M)
def stats_wishart_logpdf_x_5_eye_3(x: Any) -> Any:
    return stats.wishart.logpdf(x, 5, np.eye(3))


@library(M, refused="C code")
def stats_invwishart_logpdf_x_5_eye_3(x: Any) -> Any:
    return stats.invwishart.logpdf(x, 5, np.eye(3))


@library(X)
def stats_gmean_x(x: Any) -> Any:
    return stats.gmean(x)


@library(X)
def stats_hmean_x(x: Any) -> Any:
    return stats.hmean(x)


@library(X)
def stats_pmean_x_2_0(x: Any) -> Any:
    return stats.pmean(x, 2.0)


@library(X)
def stats_zscore_x_ddof_1(x: Any) -> Any:
    return stats.zscore(x, ddof=1)


@library(X)
def stats_zmap_x_1_0_2_0_4_0(x: Any) -> Any:
    return stats.zmap(x, [1.0, 2.0, 4.0])


@library(X)
def stats_skew_x_bias_false(x: Any) -> Any:
    return stats.skew(x, bias=False)


@library(X)
def stats_kurtosis_x_fisher_false(x: Any) -> Any:
    return stats.kurtosis(x, fisher=False)


@library(X)
def stats_moment_x_3(x: Any) -> Any:
    return stats.moment(x, 3)


@library(X)
def stats_variation_x(x: Any) -> Any:
    return stats.variation(x)


@library(X)
def stats_sem_x(x: Any) -> Any:
    return stats.sem(x)


@library(X)
def stats_tmean_x_0_5_3_0(x: Any) -> Any:
    return stats.tmean(x, (0.5, 3.0))


@library(X)
def stats_tvar_x(x: Any) -> Any:
    return stats.tvar(x)


@library(X)
def stats_tstd_x(x: Any) -> Any:
    return stats.tstd(x)


@library(X)
def stats_iqr_x(x: Any) -> Any:
    return stats.iqr(x)


@library(X)
def stats_median_abs_deviation_x(x: Any) -> Any:
    return stats.median_abs_deviation(x)


@library(X)
def stats_trim_mean_x_0_25(x: Any) -> Any:
    return stats.trim_mean(x, 0.25)


@library(X)
def stats_entropy_x_base_2(x: Any) -> Any:
    return stats.entropy(x, base=2)


@library(X)
def stats_entropy_x_x_1(x: Any) -> Any:
    return stats.entropy(x, x[::-1])


@library(X)
def stats_boxcox_x_0_5(x: Any) -> Any:
    return stats.boxcox(x, 0.5)


@library(X)
def stats_yeojohnson_x_0_5(x: Any) -> Any:
    return stats.yeojohnson(x, 0.5)


@library(X)
def stats_boxcox_llf_0_5_x(x: Any) -> Any:
    return stats.boxcox_llf(0.5, x)


@library(X, Y)
def stats_pearsonr_x_y_statistic(x: Any, y: Any) -> Any:
    return stats.pearsonr(x, y).statistic


@library(X, Y)
def stats_linregress_x_y_intercept(x: Any, y: Any) -> Any:
    return stats.linregress(x, y).intercept


@library(X, Y)
def stats_linregress_x_y_rvalue(x: Any, y: Any) -> Any:
    return stats.linregress(x, y).rvalue


@library(X, Y)
def stats_ttest_ind_x_y_statistic(x: Any, y: Any) -> Any:
    return stats.ttest_ind(x, y).statistic


@library(X)
def stats_ttest_1samp_x_1_0_statistic(x: Any) -> Any:
    return stats.ttest_1samp(x, 1.0).statistic


@library(X, Y)
def stats_ttest_rel_x_y_pvalue(x: Any, y: Any) -> Any:
    return stats.ttest_rel(x, y).pvalue


@library(X)
def stats_chisquare_x_sum_x_4_0_ones_4_statistic(x: Any) -> Any:
    return stats.chisquare(x / np.sum(x) * 4.0, np.ones(4)).statistic


@library(X, Y)
def stats_f_oneway_x_y_statistic(x: Any, y: Any) -> Any:
    return stats.f_oneway(x, y).statistic


@library(X)
def stats_norm_fit_x_0(x: Any) -> Any:
    return stats.norm.fit(x)[0]


@library(X)
def stats_wasserstein_distance_x_0_0_1_0_2_0_3_5(x: Any) -> Any:
    return stats.wasserstein_distance(x, [0.0, 1.0, 2.0, 3.5])


@library(X)
def stats_energy_distance_x_0_0_1_0_2_0_3_5(x: Any) -> Any:
    return stats.energy_distance(x, [0.0, 1.0, 2.0, 3.5])


@library(X, refused="C code")
def stats_gaussian_kde_array_0_1_0_5_1_1_2_2_x(x: Any) -> Any:
    return stats.gaussian_kde(np.array([0.1, 0.5, 1.1, 2.2]))(x)


@library(X, refused="C code")
def stats_cumfreq_x_3_cumcount(x: Any) -> Any:
    return stats.cumfreq(x, 3).cumcount


@library(X)
def stats_rankdata_x(x: Any) -> Any:
    return stats.rankdata(x)


@library(X, Y)
def stats_spearmanr_x_y_statistic(x: Any, y: Any) -> Any:
    return stats.spearmanr(x, y).statistic


@library(X, Y, refused="C code")
def stats_kendalltau_x_y_statistic(x: Any, y: Any) -> Any:
    return stats.kendalltau(x, y).statistic


@library(X, Y, refused="C code")
def stats_siegelslopes_x_y_slope(x: Any, y: Any) -> Any:
    return stats.siegelslopes(x, y).slope


@library(X, Y)
def stats_theilslopes_x_y_slope(x: Any, y: Any) -> Any:
    return stats.theilslopes(x, y).slope


@library(X, slopes=False)
def stats_differential_entropy_x(x: Any) -> Any:
    return stats.differential_entropy(x)


@library(X, refused="a solver")
def stats_expectile_x_0_7(x: Any) -> Any:
    return stats.expectile(x, 0.7)


@library(X)
def stats_circmean_x(x: Any) -> Any:
    return stats.circmean(x)


@library(X)
def stats_circstd_x(x: Any) -> Any:
    return stats.circstd(x)


@library(X)
def stats_jarque_bera_x_statistic(x: Any) -> Any:
    return stats.jarque_bera(x).statistic


@library(X)
def stats_skewtest_tile_x_3_statistic(x: Any) -> Any:
    return stats.skewtest(np.tile(x, 3)).statistic


@library(X)
def stats_combine_pvalues_x_4_statistic(x: Any) -> Any:
    return stats.combine_pvalues(x / 4).statistic


@library(X)
def stats_sigmaclip_x_0(x: Any) -> Any:
    return stats.sigmaclip(x)[0]


@library(X, refused="C code")
def stats_mode_round_x_count(x: Any) -> Any:
    return stats.mode(np.round(x)).count


@library(X)
def stats_scoreatpercentile_x_40(x: Any) -> Any:
    return stats.scoreatpercentile(x, 40)


@library(X)
def stats_percentileofscore_1_0_2_0_3_0_x(x: Any) -> Any:
    return stats.percentileofscore([1.0, 2.0, 3.0], x)


@library(X)
def stats_binned_statistic_0_1_0_2_0_6_0_9_x_bin(x: Any) -> Any:
    return stats.binned_statistic([0.1, 0.2, 0.6, 0.9], x, bins=2).statistic


@library(X)
def stats_bootstrap___name___x(x: Any) -> Any:
    return stats.bootstrap.__name__, x


@library(X)
def stats_logser_logpmf_2_x_4(x: Any) -> Any:
    return stats.logser.logpmf(2, x / 4)
