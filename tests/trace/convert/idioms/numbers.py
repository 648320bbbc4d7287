"""Numbers of Python, and the functions of `math`."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from tests.trace.convert.idioms.idiom import A, S, T, X, idiom


@idiom(X)
def math_exp_x_0(x: Any) -> Any:
    return math.exp(x[0])


@idiom(X)
def math_exp_sum_x(x: Any) -> Any:
    return math.exp(np.sum(x))


@idiom(X)
def math_log_x_1_2_0(x: Any) -> Any:
    return math.log(x[1], 2.0)


@idiom(X)
def math_log_x_0(x: Any) -> Any:
    return math.log(x[0])


@idiom(X)
def math_sqrt_x_0_2_x_1_2(x: Any) -> Any:
    return math.sqrt(x[0] ** 2 + x[1] ** 2)


@idiom(X)
def math_sin_x_0_math_cos_x_1(x: Any) -> Any:
    return math.sin(x[0]) * math.cos(x[1])


@idiom(X)
def math_atan2_x_0_x_1(x: Any) -> Any:
    return math.atan2(x[0], x[1])


@idiom(X)
def math_hypot_x_0_x_1(x: Any) -> Any:
    return math.hypot(x[0], x[1])


@idiom(X)
def math_hypot_x_0_x_1_x_2(x: Any) -> Any:
    return math.hypot(x[0], x[1], x[2])


@idiom(X)
def math_pow_x_0_2(x: Any) -> Any:
    return math.pow(x[0], 2)


@idiom(X)
def math_fabs_x_0(x: Any) -> Any:
    return math.fabs(-x[0])


@idiom(X)
def math_fsum_x(x: Any) -> Any:
    return math.fsum(x)


@idiom(X)
def math_fsum_x_0_x_1(x: Any) -> Any:
    return math.fsum([x[0], x[1]])


@idiom(X)
def math_prod_x(x: Any) -> Any:
    return math.prod(x)


@idiom(X)
def math_prod_x_0_x_1_start_2_0(x: Any) -> Any:
    return math.prod([x[0], x[1]], start=2.0)


@idiom(X)
def math_dist_x_0_x_1_0_0_0_0(x: Any) -> Any:
    return math.dist([x[0], x[1]], [0.0, 0.0])


@idiom(X)
def math_dist_x_x_2(x: Any) -> Any:
    return math.dist(x, x * 2)


@idiom(X)
def math_erf_x_0(x: Any) -> Any:
    return math.erf(x[0])


@idiom(X)
def math_erfc_x_0(x: Any) -> Any:
    return math.erfc(x[0])


@idiom(X)
def math_gamma_x_0(x: Any) -> Any:
    return math.gamma(x[0])


@idiom(X)
def math_lgamma_x_0(x: Any) -> Any:
    return math.lgamma(x[0])


@idiom(X)
def math_floor_x_0_x_0(x: Any) -> Any:
    return math.floor(x[0]) * x[0]


@idiom(X)
def math_ceil_x_0_x_0(x: Any) -> Any:
    return math.ceil(x[0]) * x[0]


@idiom(X)
def math_trunc_x_0_x_0(x: Any) -> Any:
    return math.trunc(x[0]) * x[0]


@idiom(X)
def math_isnan_x_0_x_0(x: Any) -> Any:
    return math.isnan(x[0]) * x[0]


@idiom(X)
def math_isfinite_x_0_x_0(x: Any) -> Any:
    return math.isfinite(x[0]) * x[0]


@idiom(X)
def math_isinf_x_0_x_0(x: Any) -> Any:
    return math.isinf(x[0]) * x[0]


@idiom(X)
def math_isclose_x_0_x_1_x_0(x: Any) -> Any:
    return math.isclose(x[0], x[1]) * x[0]


@idiom(X)
def math_copysign_x_0_1_0(x: Any) -> Any:
    return math.copysign(x[0], -1.0)


@idiom(X)
def math_fmod_x_0_0_4(x: Any) -> Any:
    return math.fmod(x[0], 0.4)


@idiom(X)
def math_remainder_x_0_0_4(x: Any) -> Any:
    return math.remainder(x[0], 0.4)


@idiom(X)
def math_radians_x_0(x: Any) -> Any:
    return math.radians(x[0])


@idiom(X)
def math_degrees_x_0(x: Any) -> Any:
    return math.degrees(x[0])


@idiom(X)
def math_cbrt_x_0_if_hasattr_math_cbrt_else_x_0(x: Any) -> Any:
    return math.cbrt(x[0]) if hasattr(math, "cbrt") else x[0]


@idiom(X)
def math_exp2_x_0_if_hasattr_math_exp2_else_x_0(x: Any) -> Any:
    return math.exp2(x[0]) if hasattr(math, "exp2") else x[0]


@idiom(X)
def math_log1p_x_0_math_expm1_x_1(x: Any) -> Any:
    return math.log1p(x[0]) + math.expm1(x[1])


@idiom(X)
def math_modf_x_0(x: Any) -> Any:
    return math.modf(x[0])


@idiom(X)
def math_pi_x_0_2(x: Any) -> Any:
    return math.pi * x[0] ** 2


@idiom(X)
def math_tanh_x_0(x: Any) -> Any:
    return math.tanh(x[0])


@idiom(X)
def math_sumprod_x_0_x_1_1_0_2_0_if_hasattr_math_sum(x: Any) -> Any:
    return math.sumprod([x[0], x[1]], [1.0, 2.0]) if hasattr(math, "sumprod") else x[0]


@idiom(X)
def math_ldexp_x_0_2(x: Any) -> Any:
    return math.ldexp(x[0], 2)


@idiom(X)
def float_x_0_2(x: Any) -> Any:
    return float(x[0]) * 2


@idiom(X)
def float_sum_x(x: Any) -> Any:
    return float(np.sum(x))


@idiom(X)
def float_x_sum_x(x: Any) -> Any:
    return float(x.sum()) * x


@idiom(X)
def float_mean_x_2(x: Any) -> Any:
    return float(np.mean(x**2))


@idiom(X)
def float_x_x(x: Any) -> Any:
    return float(x @ x)


@idiom(X)
def float_x_0_float_x_1(x: Any) -> Any:
    return float(x[0]) + float(x[1])


@idiom(X)
def float_1_x(x: Any) -> Any:
    return float(1) * x


@idiom(X)
def float_v_for_v_in_x(x: Any) -> Any:
    return [float(v) for v in x]


@idiom(X)
def list_map_float_x(x: Any) -> Any:
    return list(map(float, x))


@idiom(X)
def loss_float_sum_x_2(x: Any) -> Any:
    return {"loss": float(np.sum(x**2))}


@idiom(X)
def complex_x_0_real(x: Any) -> Any:
    return complex(x[0]).real


@idiom(X)
def complex_x_0_x_1_imag_1_0(x: Any) -> Any:
    return complex(x[0], x[1]).imag * 1.0


@idiom(X)
def abs_complex_x_0_x_1(x: Any) -> Any:
    return abs(complex(x[0], x[1]))


@idiom(X)
def int_x_0_x_0(x: Any) -> Any:
    return int(x[0]) * x[0]


@idiom(X)
def int_sum_x_x(x: Any) -> Any:
    return int(np.sum(x)) * x


@idiom(X)
def int_argmax_x_x(x: Any) -> Any:
    return int(np.argmax(x)) * x


@idiom(X, slopes=False)
def int_round_x_0_x_0(x: Any) -> Any:
    return int(round(x[0])) * x[0]


@idiom(X)
def bool_x_0_1_x_0(x: Any) -> Any:
    return bool(x[0] > 1) * x[0]


@idiom(X)
def bool_x_any_x(x: Any) -> Any:
    return bool(x.any()) * x


@idiom(X)
def x_item_0(x: Any) -> Any:
    return x.item(0)


@idiom(X)
def x_0_item(x: Any) -> Any:
    return x[0].item()


@idiom(X)
def sum_x_item(x: Any) -> Any:
    return np.sum(x).item()


@idiom(X)
def x_sum_item_2(x: Any) -> Any:
    return x.sum().item() * 2


@idiom(X)
def x_tolist(x: Any) -> Any:
    return x.tolist()


@idiom(X)
def v_2_for_v_in_x_tolist(x: Any) -> Any:
    return [v * 2 for v in x.tolist()]


@idiom(X)
def x_0_tolist(x: Any) -> Any:
    return x[0].tolist()


@idiom(A)
def x_tolist_2(x: Any) -> Any:
    return x.tolist()


@idiom(A)
def x_item_1_2(x: Any) -> Any:
    return x.item(1, 2)


@idiom(A)
def array_x_tolist_2(x: Any) -> Any:
    return np.array(x.tolist()) * 2


@idiom(S)
def float_x(x: Any) -> Any:
    return float(x)


@idiom(S)
def float_x_2(x: Any) -> Any:
    return float(x) ** 2


@idiom(S)
def int_x_x(x: Any) -> Any:
    return int(x) * x


@idiom(S)
def round_x_1_x(x: Any) -> Any:
    return round(x, 1) * x


@idiom(S)
def round_x_x(x: Any) -> Any:
    return round(x) * x


@idiom(S)
def abs_x(x: Any) -> Any:
    return abs(-x)


@idiom(S)
def math_exp_x_x(x: Any) -> Any:
    return math.exp(-x) * x


@idiom(S)
def math_exp_x_math_log_x(x: Any) -> Any:
    return math.exp(x) + math.log(x)


@idiom(S, T)
def math_atan2_x_y(x: Any, y: Any) -> Any:
    return math.atan2(x, y)


@idiom(S, T)
def x_y(x: Any, y: Any) -> Any:
    return x**y


@idiom(S, T)
def divmod_x_y(x: Any, y: Any) -> Any:
    return divmod(x, y)


@idiom(S, T)
def x_y_x(x: Any, y: Any) -> Any:
    return x // y * x


@idiom(S, T)
def math_log_x_y(x: Any, y: Any) -> Any:
    return math.log(x, y)


@idiom(S, T)
def max_x_y(x: Any, y: Any) -> Any:
    return max(x, y)


@idiom(S, T)
def min_x_y_2_0(x: Any, y: Any) -> Any:
    return min(x, y, 2.0)


@idiom(S, T)
def complex_x_y(x: Any, y: Any) -> Any:
    return complex(x, y)


@idiom(S)
def math_sqrt_x(x: Any) -> Any:
    return math.sqrt(x)


@idiom(S)
def x_real(x: Any) -> Any:
    return x.real


@idiom(S)
def x_conjugate(x: Any) -> Any:
    return x.conjugate()


@idiom(S)
def x_is_integer_x(x: Any) -> Any:
    return x.is_integer() * x


@idiom(S)
def str_type_x___name(x: Any) -> Any:
    return str(type(x).__name__)


@idiom(S)
def exp_x(x: Any) -> Any:
    return np.exp(x)


@idiom(S)
def sqrt_x_item(x: Any) -> Any:
    return np.sqrt(x).item()


@idiom(S)
def math_isnan_x_or_x(x: Any) -> Any:
    return math.isnan(x) or x


@idiom(S)
def math_sqrt_float_x(x: Any) -> Any:
    return math.sqrt(float(x))


@idiom(X)
def float64_float_x_0(x: Any) -> Any:
    return np.float64(float(x[0]))


@idiom(X)
def asarray_float_x_0_2(x: Any) -> Any:
    return np.asarray(float(x[0])) * 2


@idiom(X)
def math_sqrt_dot_x_x(x: Any) -> Any:
    return math.sqrt(np.dot(x, x))


@idiom(X)
def math_exp_0_5_dot_x_x_math_sqrt_2_math_pi(x: Any) -> Any:
    return math.exp(-0.5 * np.dot(x, x)) / math.sqrt(2 * math.pi)


@idiom(X)
def math_log_sum_exp_x(x: Any) -> Any:
    return math.log(np.sum(np.exp(x)))


@idiom(X)
def cmath_exp_x_0_real(x: Any) -> Any:
    return cmath.exp(x[0]).real


@idiom(X)
def abs_cmath_exp_1j_x_0(x: Any) -> Any:
    return abs(cmath.exp(1j * x[0]))


@idiom(X)
def real_if_close_x_2(x: Any) -> Any:
    return np.real_if_close(x) * 2


@idiom(X)
def x_astype_float(x: Any) -> Any:
    return x.astype(float)


@idiom(X, slopes=False)
def x_astype_float32_astype_float(x: Any) -> Any:
    return x.astype(np.float32).astype(float)


@idiom(X)
def x_astype_int_x(x: Any) -> Any:
    return x.astype(int) * x


@idiom(X)
def x_astype_float64(x: Any) -> Any:
    return x.astype("float64")


@idiom(X)
def floor_x_0_astype_int_x(x: Any) -> Any:
    return np.floor(x[0]).astype(int) * x


@idiom(X)
def int64_x_0_x(x: Any) -> Any:
    return np.int64(x[0]) * x


@idiom(X)
def len_x_x(x: Any) -> Any:
    return len(x) * x


@idiom(X)
def x_size_x_ndim_x(x: Any) -> Any:
    return x.size * x.ndim * x


@idiom(X)
def x___len___x(x: Any) -> Any:
    return x.__len__() * x


@idiom(X)
def x___getitem___0(x: Any) -> Any:
    return x.__getitem__(0)


@idiom(X)
def float___mul___2_0_float_x_0(x: Any) -> Any:
    return float.__mul__(2.0, float(x[0]))
