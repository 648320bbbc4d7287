"""Samples of arithmetic, powers, exponentials and trigonometric functions."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, exact, low, normal, positive, unit

INTEGERS = np.array([[3, -1, 4], [1, -5, 9]])
SMALL = np.array([[3, -1, 4], [1, -5, 9]], np.int16)
BYTES = np.array([[3, 0, 4], [1, 5, 9]], np.uint8)
MASK = np.array([[True, False, True], [False, False, True]])
HALF = np.array([[0.1, 2.3, -1.7], [0.7, 0.3, 1.9]], np.float16)
SINGLE = np.array([[0.4, 2.5, 1.7], [0.9, 0.3, 1.2]], np.float32)
NO_ROWS = ((np.zeros((0, 3)),),)
NO_PAIRS = ((np.zeros((0, 3)), np.zeros(3)), (np.zeros((2, 0)), np.zeros((2, 1))))


def unary(op, call, make, **fields):
    """The call on arrays of every rank and order in memory, and on a NumPy scalar."""
    return [
        Sample(op, call, (make(3, 4),), zero_size=NO_ROWS, **fields),
        Sample(op, call, (make(5),), **fields),
        Sample(op, call, (np.asfortranarray(make(3, 4)),), **fields),
        Sample(op, call, (make(4, 3, 2).transpose(1, 2, 0)[:, ::2],), **fields),
        Sample(op, call, (np.asarray(make(1)[0]),), **fields),
        Sample(op, call, (make(1)[0],), **fields),
    ]


def single(op, call, make, **fields):
    """The call on single precision and on Python numbers."""
    return [
        Sample(op, call, (make(3, 4).astype(np.float32),), **fields),
        Sample(op, call, (float(make(1)[0]),), **fields),
    ]


def on_complex(op, call, **fields):
    """The call on complex operands."""
    return [
        Sample(op, call, (complex_normal(3, 2),), **fields),
        Sample(op, call, (complex_normal(3).astype(np.complex64),), **fields),
        Sample(op, call, (complex_normal(1)[0],), **fields),
    ]


def binary(op, call, make, other=None, **fields):
    """The call on operands that broadcast, in mixed forms and dtypes."""
    other = other or make
    return [
        Sample(op, call, (make(3, 4), other(3, 4)), **fields),
        Sample(op, call, (make(3, 4), other(4)), zero_size=NO_PAIRS, **fields),
        Sample(op, call, (make(3, 1), other(4)), **fields),
        Sample(op, call, (make(1, 2), other(3, 2, 1)), **fields),
        Sample(op, call, (make(3), np.asarray(other(1)[0])), **fields),
        Sample(op, call, (np.asarray(make(1)[0]), other(1)[0]), **fields | {"order": 1}),
        Sample(op, call, (make(1)[0], other(1)[0]), **fields),
        Sample(op, call, (make(3), 0.75), **fields),
        Sample(op, call, (1.5, other(3)), **fields),
        Sample(op, call, (make(1)[0], 2), **fields),
        Sample(op, call, (low(make(3)), other(3)), **fields),
        Sample(op, call, (low(make(3)), 0.75), **fields),
        Sample(op, call, (make(2, 3), SMALL % 4 + 1), **fields),
        Sample(op, call, (SMALL % 4 + 1, low(other(2, 3))), **fields),
    ]


def constants(op, call, make, **fields):
    """The call of one operand, each of `calls` holding a constant for the other."""
    return [Sample(op, call, (make(2, 3),), **fields), Sample(op, call, (make(1)[0],), **fields)]


ARITHMETIC = [
    *binary("add", lambda x, y: x + y, normal),
    *binary("add", lambda x, y: np.add(x, y), normal),
    *binary("add", lambda x, y: x + y, complex_normal, normal),
    *exact("add", lambda x, y: x + y, (SMALL, INTEGERS), (SMALL, MASK), (MASK, MASK), (BYTES, 3)),
    *constants("add", lambda x: 2 + x, normal),
    *binary("subtract", lambda x, y: x - y, normal),
    *binary("subtract", lambda x, y: x - y, normal, complex_normal),
    *exact("subtract", lambda x, y: x - y, (SMALL, INTEGERS), (MASK, 2), (BYTES, SMALL)),
    *constants("subtract", lambda x: 1.0 - x, normal),
    *binary("multiply", lambda x, y: x * y, normal),
    *binary("multiply", lambda x, y: x * y, complex_normal, normal),
    *binary("multiply", lambda x, y: x * y, complex_normal),
    *exact("multiply", lambda x, y: x * y, (SMALL, INTEGERS), (MASK, MASK), (BYTES, 2)),
    Sample("multiply", lambda x: x * MASK, (normal(2, 3),)),
    Sample("multiply", lambda x: x * x, (HALF,), order=1),
    *binary("divide", lambda x, y: x / y, normal, positive),
    *binary("divide", lambda x, y: x / y, normal, complex_normal),
    *binary("divide", lambda x, y: np.true_divide(x, y), complex_normal),
    *exact("divide", lambda x, y: x / y, (SMALL, INTEGERS), (MASK, 2), (BYTES, np.uint8(7))),
    *constants("divide", lambda x: 1 / x, positive),
    *unary("negative", lambda x: -x, normal),
    *single("negative", lambda x: np.negative(x), normal),
    *on_complex("negative", lambda x: -x),
    *exact("negative", lambda x: -x, (SMALL,), (BYTES,), (np.int8(-128),)),
    *unary("positive", lambda x: +x, normal),
    *on_complex("positive", lambda x: np.positive(x)),
    *exact("positive", lambda x: +x, (SMALL,)),
    *unary("reciprocal", lambda x: np.reciprocal(x), positive),
    *single("reciprocal", lambda x: np.reciprocal(x), positive),
    *on_complex("reciprocal", lambda x: np.reciprocal(x)),
    *exact("reciprocal", lambda x: np.reciprocal(x), (SMALL,)),
]

HALVES = np.array([[0.5, -1.45, 2.55], [-0.6, 1.4, 0.52]])
NEAR_ONE = np.array([[1.02, 0.97, 1.0], [0.98, 1.01, 1.03]])


def quotients(op, call):
    """The call on dividends and divisors whose quotients stay away from integers."""
    return [
        Sample(op, call, args, holomorphic=False)
        for args in (
            (HALVES, NEAR_ONE),
            (HALVES, -NEAR_ONE[0]),
            (HALVES[:, :1], NEAR_ONE[0]),
            (HALVES[0], np.asarray(-0.98)),
            (np.asarray(2.5), np.float64(1.02)),
            (np.float64(-2.5), np.float64(1.02)),
            (HALVES, 1.01),
            (2.5, NEAR_ONE),
            (HALVES, 2),
            (HALVES, SMALL % 4 + 1),
            (HALVES.astype(np.float32), 1.0),
            (HALVES.astype(np.float32), NEAR_ONE),
        )
    ] + exact(op, call, (INTEGERS, 2), (SMALL, -INTEGERS), (BYTES, BYTES % 2 + 1), (np.int8(-7), 2))


QUOTIENTS = [
    *quotients("floor_divide", lambda x, y: x // y),
    *quotients("floor_divide", lambda x, y: np.floor_divide(x, y)),
    *quotients("remainder", lambda x, y: x % y),
    *quotients("remainder", lambda x, y: np.mod(x, y)),
    *quotients("fmod", lambda x, y: np.fmod(x, y)),
    *quotients("divmod", lambda x, y: np.divmod(x, y)),
    Sample(
        "remainder", lambda x, y: x % y, (NEAR_ONE, NEAR_ONE * 0.6), zero_size=NO_PAIRS, order=1
    ),
    Sample("divmod", lambda x: np.divmod(x, 1)[0], (HALVES,), holomorphic=False),
    *unary("modf", lambda x: np.modf(x), lambda *shape: normal(*shape) * 0.0 + 2.5),
    Sample("modf", lambda x: np.modf(x), (HALVES,), holomorphic=False),
    Sample("modf", lambda x: np.modf(x)[1], (HALVES,), holomorphic=False),
    Sample("modf", lambda x: np.modf(x)[0], (HALVES.astype(np.float32),), holomorphic=False),
    *exact("modf", lambda x: np.modf(x), (INTEGERS,), (np.array([np.inf, -np.inf, np.nan, -0.0]),)),
    *unary("frexp", lambda x: np.frexp(x), lambda *shape: normal(*shape) * 0.0 - 2.9),
    Sample("frexp", lambda x: np.frexp(x), (np.array([0.7, -1.4, 2.9, -0.35]),), holomorphic=False),
    Sample("frexp", lambda x: np.frexp(x)[0], (np.float32(5.6),), holomorphic=False),
    *exact("frexp", lambda x: np.frexp(x), (INTEGERS,), (np.array([np.inf, np.nan, -0.0]),)),
    Sample("ldexp", lambda x, n: np.ldexp(x, n), (normal(2, 3), SMALL), holomorphic=False),
    Sample("ldexp", lambda x, n: np.ldexp(x, n), (SINGLE, np.int32(-3)), holomorphic=False),
    Sample("ldexp", lambda x: np.ldexp(x, 3), (normal(1)[0],), holomorphic=False),
    Sample("nextafter", lambda x: np.nextafter(x, np.inf), (normal(3),), holomorphic=False),
    Sample("nextafter", lambda x, y: np.nextafter(x, y), (SINGLE, normal(3)), holomorphic=False),
]

ROOTS = [
    *unary("square", lambda x: np.square(x), normal),
    *single("square", lambda x: np.square(x), normal),
    *on_complex("square", lambda x: np.square(x)),
    *exact("square", lambda x: np.square(x), (SMALL,), (MASK,)),
    *unary("sqrt", lambda x: np.sqrt(x), positive),
    *single("sqrt", lambda x: np.sqrt(x), positive),
    *on_complex("sqrt", lambda x: np.sqrt(x)),
    *exact("sqrt", lambda x: np.sqrt(x), (BYTES,), (MASK,), (INTEGERS,)),
    *unary("cbrt", lambda x: np.cbrt(x), normal),
    *single("cbrt", lambda x: np.cbrt(x), normal),
    *exact("cbrt", lambda x: np.cbrt(x), (SMALL,)),
    *binary("hypot", lambda x, y: np.hypot(x, y), normal),
    Sample("hypot", lambda x, y: np.hypot(x, y), (np.zeros(3), np.zeros(3)), order=1),
    *exact("hypot", lambda x, y: np.hypot(x, y), (SMALL, INTEGERS)),
    *binary("copysign", lambda x, y: np.copysign(x, y), normal),
    *exact("copysign", lambda x, y: np.copysign(x, y), (SMALL, INTEGERS), (2, normal(3))),
]

WITH_ZEROS = np.array([[0.0, -1.2, 0.7], [2.0, 0.0, -0.4]])
ZERO_OR_POSITIVE = np.array([[0.0, 1.2, 0.7], [2.0, 0.0, 0.4]])
WHOLE = np.array([[0.0, 1.0, 2.0], [3.0, 2.0, 1.0]])
POWERS = [
    *[
        Sample(op, call, args)
        for op, call in (
            ("pow", lambda x, y: x**y),
            ("power", lambda x, y: np.power(x, y)),
            ("float_power", lambda x, y: np.float_power(x, y)),
        )
        for args in (
            (positive(3, 4), normal(3, 4)),
            (positive(3, 1), normal(4)),
            (positive(3), np.asarray(1.7)),
            (np.asarray(1.3), np.float64(-0.7)),
            (positive(3), 2.5),
            (positive(3), 3),
            (2, normal(3)),
            (1.5, normal(1)[0]),
            (np.array([0.3, 1.7, 0.6]), np.array([1, 2, 3], np.int16)),
            (SINGLE, 2.5),
            (SINGLE, SMALL),
            (SINGLE, normal(2, 3)),
            (complex_normal(3), complex_normal(3)),
            (complex_normal(3), normal(3)),
            (positive(3), complex_normal(3)),
            (BYTES, positive(2, 3)),
            (positive(2, 3), MASK),
            (positive(2, 3), BYTES),
            (BYTES, MASK),
        )
    ],
    *[
        Sample(op, call, (x,))
        for exponents, call_of in (
            ("pow", lambda n: lambda a: a**n),
            ("power", lambda n: lambda a: np.power(a, n)),
        )
        for op in (exponents + "_to",)
        for call, points in (
            *[(call_of(n), (WITH_ZEROS, np.asarray(0.0), np.float64(-0.0))) for n in range(5)],
            *[(call_of(float(n)), (WITH_ZEROS, complex_normal(3))) for n in range(4)],
            *[(call_of(n), (normal(3), complex_normal(2))) for n in (-1, -2, -3.0, True)],
            *[(call_of(n), (positive(3), SINGLE, positive(1)[0])) for n in (0.5, 1.5, -0.3)],
            (call_of(1 + 2j), (positive(3), complex_normal(3))),
        )
        for x in points
    ],
    *[
        Sample(op, call, (x,))
        for op, call_of in (
            ("pow_of", lambda b: lambda a: b**a),
            ("power_of", lambda b: lambda a: np.power(b, a)),
        )
        for base in (2, 2.0, 10, 1, 0.3, True, 1 + 2j)
        for call, x in (
            (call_of(base), normal(2, 3)),
            (call_of(base), SINGLE),
            (call_of(base), np.array([0.7, -0.4])),
            *[(call_of(base), np.float64(0.7))] * (type(base) is not complex),
        )
    ],
    Sample("pow_of", lambda x: (-2) ** x, (complex_normal(3),)),
    Sample("pow_of", lambda x: 0.0**x, (positive(3),)),
    Sample("pow_to", lambda x: x**np.inf, (np.array([0.5, 2.0]),), differentiable=False),
    Sample("pow", lambda x: x**WHOLE, (WITH_ZEROS,)),
    Sample("pow", lambda x: x ** np.float64(3.0), (WITH_ZEROS,), float32=False),
    Sample("power", lambda x: np.power(x, WHOLE.astype(int)), (WITH_ZEROS,)),
    Sample("power", lambda y: np.power(ZERO_OR_POSITIVE, y), (positive(2, 3),)),
    *exact("pow_to", lambda x: x**2, (SMALL,), (BYTES,), (MASK,), (np.int8(5),), (np.array(3),)),
    *exact("pow_to", lambda x: x**0.5, (BYTES,), (np.uint8(5),), (np.array(3),)),
    *exact("pow_to", lambda x: x**2.0, (SMALL,), (BYTES,), (MASK,), (np.int8(5),), (np.array(3),)),
    *exact("power_to", lambda x: np.power(x, 2), (SMALL,), (MASK,), (np.int8(5),), (np.array(3),)),
    *exact("power_of", lambda x: np.power(2, x), (BYTES,), (np.uint8(5),)),
    *exact("pow_of", lambda x: 2.0**x, (SMALL,), (np.int8(5),)),
    *exact("pow", lambda x, y: x**y, (SMALL, BYTES), (2, BYTES)),
]

EXPONENTIALS = [
    sample
    for op, call, make in (
        ("exp", lambda x: np.exp(x), normal),
        ("exp2", lambda x: np.exp2(x), normal),
        ("expm1", lambda x: np.expm1(x), normal),
        ("log", lambda x: np.log(x), positive),
        ("log2", lambda x: np.log2(x), positive),
        ("log10", lambda x: np.log10(x), positive),
        ("log1p", lambda x: np.log1p(x), unit),
    )
    for sample in (
        *unary(op, call, make),
        *single(op, call, make),
        *on_complex(op, call),
        *exact(op, call, (BYTES,), (MASK,), (np.int32(2),)),
    )
] + [
    *binary("logaddexp", lambda x, y: np.logaddexp(x, y), normal),
    *binary("logaddexp2", lambda x, y: np.logaddexp2(x, y), normal),
    *exact("logaddexp", lambda x, y: np.logaddexp(x, y), (SMALL, INTEGERS)),
]


def above_one(*shape):
    """Values between 1.3 and 3."""
    return positive(*shape) + 1.0


ANGLES = [
    sample
    for op, call, make in (
        ("sin", lambda x: np.sin(x), normal),
        ("cos", lambda x: np.cos(x), normal),
        ("tan", lambda x: np.tan(x), unit),
        ("arcsin", lambda x: np.arcsin(x), unit),
        ("arccos", lambda x: np.acos(x), unit),
        ("arctan", lambda x: np.arctan(x), normal),
        ("sinh", lambda x: np.sinh(x), normal),
        ("cosh", lambda x: np.cosh(x), normal),
        ("tanh", lambda x: np.tanh(x), normal),
        ("arcsinh", lambda x: np.arcsinh(x), normal),
        ("arccosh", lambda x: np.arccosh(x), above_one),
        ("arctanh", lambda x: np.atanh(x), unit),
    )
    for sample in (
        *unary(op, call, make),
        *single(op, call, make),
        *on_complex(op, call),
        *exact(op, call, (MASK,), (np.int32(1),)),
    )
] + [
    sample
    for op, call in (
        ("deg2rad", lambda x: np.deg2rad(x)),
        ("radians", lambda x: np.radians(x)),
        ("rad2deg", lambda x: np.rad2deg(x)),
        ("degrees", lambda x: np.degrees(x)),
    )
    for sample in (*unary(op, call, normal), *single(op, call, normal), *exact(op, call, (SMALL,)))
] + [
    *binary("arctan2", lambda x, y: np.arctan2(x, y), normal),
    *exact("arctan2", lambda x, y: np.arctan2(x, y), (SMALL, INTEGERS), (0, -INTEGERS)),
    *unary("sinc", lambda x: np.sinc(x), normal, holomorphic=False),
    *single("sinc", lambda x: np.sinc(x), normal, holomorphic=False),
    *exact("sinc", lambda x: np.sinc(x), (SMALL,), (BYTES,), (MASK,), (HALF[:, 1:],)),
    Sample("sinc", lambda x: np.sinc(x), (complex_normal(3),)),
    Sample("sinc", lambda x: np.sinc(x), (np.array([0.0, 1e-9, 0.02, -0.04]),), holomorphic=False),
    Sample("sinc", lambda x: np.sinc(x), (np.float64(0.0),), holomorphic=False),
]  # fmt: skip

SAMPLES = [*ARITHMETIC, *QUOTIENTS, *ROOTS, *POWERS, *EXPONENTIALS, *ANGLES]
