"""Functions of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

metrics = pytest.importorskip("sklearn.metrics")
pairwise = pytest.importorskip("sklearn.metrics.pairwise")
preprocessing = pytest.importorskip("sklearn.preprocessing")
extmath = pytest.importorskip("sklearn.utils.extmath")
kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
covariance = pytest.importorskip("sklearn.covariance")

from tests.trace.convert.idioms.idiom import A, M, P, X, Y
from tests.trace.convert.libraries.library import library


@library(X, Y)
def metrics_mean_squared_error_y_x(x: Any, y: Any) -> Any:
    return metrics.mean_squared_error(y, x)


@library(X, Y)
def metrics_root_mean_squared_error_y_x(x: Any, y: Any) -> Any:
    return metrics.root_mean_squared_error(y, x)


@library(X, Y)
def metrics_mean_absolute_error_y_x(x: Any, y: Any) -> Any:
    return metrics.mean_absolute_error(y, x)


@library(X, Y)
def metrics_median_absolute_error_y_x(x: Any, y: Any) -> Any:
    return metrics.median_absolute_error(y, x)


@library(X, Y)
def metrics_max_error_y_x(x: Any, y: Any) -> Any:
    return metrics.max_error(y, x)


@library(X, Y)
def metrics_r2_score_y_x(x: Any, y: Any) -> Any:
    return metrics.r2_score(y, x)


@library(X, Y)
def metrics_explained_variance_score_y_x(x: Any, y: Any) -> Any:
    return metrics.explained_variance_score(y, x)


@library(X, Y)
def metrics_mean_squared_log_error_y_2_x(x: Any, y: Any) -> Any:
    return metrics.mean_squared_log_error(y**2, x)


@library(X, Y)
def metrics_mean_absolute_percentage_error_y_x(x: Any, y: Any) -> Any:
    return metrics.mean_absolute_percentage_error(y, x)


@library(X, Y)
def metrics_mean_pinball_loss_y_x_alpha_0_3(x: Any, y: Any) -> Any:
    return metrics.mean_pinball_loss(y, x, alpha=0.3)


@library(X, Y)
def metrics_mean_poisson_deviance_y_2_x(x: Any, y: Any) -> Any:
    return metrics.mean_poisson_deviance(y**2, x)


@library(X, Y)
def metrics_mean_gamma_deviance_y_2_x(x: Any, y: Any) -> Any:
    return metrics.mean_gamma_deviance(y**2, x)


@library(X, Y)
def metrics_mean_tweedie_deviance_y_2_x_power_1(x: Any, y: Any) -> Any:
    return metrics.mean_tweedie_deviance(y**2, x, power=1.5)


@library(X, Y)
def metrics_d2_absolute_error_score_y_x(x: Any, y: Any) -> Any:
    return metrics.d2_absolute_error_score(y, x)


@library(P)
def metrics_log_loss_0_1_1_0_x(x: Any) -> Any:
    return metrics.log_loss([0, 1, 1, 0], x)


@library(P)
def metrics_brier_score_loss_0_1_1_0_x(x: Any) -> Any:
    return metrics.brier_score_loss([0, 1, 1, 0], x)


@library(X)
def metrics_hinge_loss_1_1_1_1_x(x: Any) -> Any:
    return metrics.hinge_loss([-1, 1, 1, -1], x)


@library(P)
def metrics_roc_auc_score_0_1_1_0_x(x: Any) -> Any:
    return metrics.roc_auc_score([0, 1, 1, 0], x)


@library(A)
def pairwise_linear_kernel_x(x: Any) -> Any:
    return pairwise.linear_kernel(x)


@library(A)
def pairwise_polynomial_kernel_x(x: Any) -> Any:
    return pairwise.polynomial_kernel(x)


@library(A)
def pairwise_rbf_kernel_x(x: Any) -> Any:
    return pairwise.rbf_kernel(x)


@library(A)
def pairwise_sigmoid_kernel_x(x: Any) -> Any:
    return pairwise.sigmoid_kernel(x)


@library(A)
def pairwise_laplacian_kernel_x(x: Any) -> Any:
    return pairwise.laplacian_kernel(x)


@library(A)
def pairwise_cosine_similarity_x(x: Any) -> Any:
    return pairwise.cosine_similarity(x)


@library(A)
def pairwise_euclidean_distances_x_x_1_0(x: Any) -> Any:
    return pairwise.euclidean_distances(x, x + 1.0)


@library(A)
def pairwise_manhattan_distances_x_x_1_0(x: Any) -> Any:
    return pairwise.manhattan_distances(x, x + 1.05)


@library(A)
def pairwise_cosine_distances_x_x_1_0(x: Any) -> Any:
    return pairwise.cosine_distances(x, x + 1.0)


@library(A)
def pairwise_paired_euclidean_distances_x_x_1_0(x: Any) -> Any:
    return pairwise.paired_euclidean_distances(x, x + 1.0)


@library(A, refused="no rule")
def pairwise_haversine_distances_x_2_x_2_0_3(x: Any) -> Any:
    return pairwise.haversine_distances(x[:, :2], x[:, :2] + 0.3)


@library(A, refused="C code")
def pairwise_chi2_kernel_x_2(x: Any) -> Any:
    return pairwise.chi2_kernel(x**2)


@library(A)
def preprocessing_scale_x(x: Any) -> Any:
    return preprocessing.scale(x)


@library(A)
def preprocessing_normalize_x(x: Any) -> Any:
    return preprocessing.normalize(x)


@library(A)
def preprocessing_minmax_scale_x(x: Any) -> Any:
    return preprocessing.minmax_scale(x)


@library(A)
def preprocessing_maxabs_scale_x(x: Any) -> Any:
    return preprocessing.maxabs_scale(x)


@library(A)
def preprocessing_robust_scale_x(x: Any) -> Any:
    return preprocessing.robust_scale(x)


@library(A)
def preprocessing_add_dummy_feature_x(x: Any) -> Any:
    return preprocessing.add_dummy_feature(x)


@library(A)
def preprocessing_standardscaler_fit_transform_x(x: Any) -> Any:
    return preprocessing.StandardScaler().fit_transform(x)


@library(A)
def preprocessing_polynomialfeatures_2_fit_trans(x: Any) -> Any:
    return preprocessing.PolynomialFeatures(2).fit_transform(x)


@library(A)
def extmath_softmax_x(x: Any) -> Any:
    return extmath.softmax(x)


@library(A)
def extmath_row_norms_x(x: Any) -> Any:
    return extmath.row_norms(x)


@library(A, refused="it asks how an array lies in memory")
def extmath_squared_norm_x(x: Any) -> Any:
    return extmath.squared_norm(x)


@library(A)
def extmath_safe_sparse_dot_x_x_t(x: Any) -> Any:
    return extmath.safe_sparse_dot(x, x.T)


@library(A)
def extmath_density_x_x(x: Any) -> Any:
    return extmath.density(x) * x


@library(A)
def extmath_stable_cumsum_x_if_hasattr_extmath_s(x: Any) -> Any:
    return extmath.stable_cumsum(x) if hasattr(extmath, "stable_cumsum") else x


@library(A)
def extmath_weighted_mode_round_x_ones_3_4_0(x: Any) -> Any:
    return extmath.weighted_mode(np.round(x), np.ones((3, 4)))[0]


@library(A)
def extmath_cartesian_x_0_2_x_1_2(x: Any) -> Any:
    return extmath.cartesian([x[0, :2], x[1, :2]])


@library(A)
def extmath_svd_flip_x_3_x_3_0(x: Any) -> Any:
    return extmath.svd_flip(x[:, :3], x[:3])[0]


@library(A)
def kernels_rbf_1_5_x(x: Any) -> Any:
    return kernels.RBF(1.5)(x)


@library(A)
def kernels_matern_1_5_nu_1_5_x(x: Any) -> Any:
    return kernels.Matern(1.5, nu=1.5)(x)


@library(A)
def kernels_rationalquadratic_x(x: Any) -> Any:
    return kernels.RationalQuadratic()(x)


@library(A)
def kernels_dotproduct_x(x: Any) -> Any:
    return kernels.DotProduct()(x)


@library(A)
def kernels_expsinesquared_x(x: Any) -> Any:
    return kernels.ExpSineSquared()(x)


@library(A)
def kernels_constantkernel_2_0_kernels_rbf_kerne(x: Any) -> Any:
    return (kernels.ConstantKernel(2.0) * kernels.RBF() + kernels.WhiteKernel(0.1))(x)


@library(A)
def covariance_empirical_covariance_x(x: Any) -> Any:
    return covariance.empirical_covariance(x)


@library(M)
def covariance_shrunk_covariance_x(x: Any) -> Any:
    return covariance.shrunk_covariance(x)


@library(M)
def covariance_log_likelihood_x_linalg_inv_x(x: Any) -> Any:
    return covariance.log_likelihood(x, np.linalg.inv(x))
