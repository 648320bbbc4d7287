"""Samples of comparisons, bits, rounding, predicates, choices and parts of complex numbers."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, exact, normal, unit

INTEGERS = np.array([[3, -1, 4], [1, -5, 9]])
SMALL = np.array([[3, -1, 4], [1, -5, 9]], np.int16)
BYTES = np.array([[3, 0, 4], [1, 5, 9]], np.uint8)
MASK = np.array([[True, False, True], [False, False, True]])
SINGLE = np.array([[0.4, 2.5, 1.7], [0.9, 0.3, 1.2]], np.float32)
COMPLEX = np.array([1 + 2j, 1 - 2j, 0j, -3.5 + 0j])
NOT_FINITE = np.array([np.nan, np.inf, -np.inf, -0.0, 2.5, -1.5])
COMPLEX_NOT_FINITE = np.array(
    [complex(np.nan, 1), complex(2, np.inf), complex(-np.inf, np.nan), -1j]
)
NO_ROWS = ((np.zeros((0, 3)),),)
NO_PAIRS = ((np.zeros((0, 3)), np.zeros(3)), (np.zeros((2, 0)), np.zeros((2, 1))))


def disconnected(op, call, *arguments):
    """The call on each tuple of arguments; its derivative is zero, beside one that is not."""
    return [
        Sample(op, lambda *xs: (xs[0] * 2.0, call(*xs)), args, holomorphic=False)
        for args in arguments
    ]


_rng = np.random.default_rng(3)


def grid(*shape):
    """Multiples of 0.2 in random order."""
    count = int(np.prod(shape, dtype=int))
    return (_rng.permutation(count) - count // 2).reshape(shape) * 0.2


# NumPy 2.0 ends the process where such an array is turned around.
BEYOND = ((BYTES, 300), (BYTES, -1)) if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else ()
COMPARISONS = [
    sample
    for op, call, function in (
        ("less", lambda x, y: x < y, np.less),
        ("less_equal", lambda x, y: x <= y, np.less_equal),
        ("greater", lambda x, y: x > y, np.greater),
        ("greater_equal", lambda x, y: x >= y, np.greater_equal),
        ("equal", lambda x, y: x == y, np.equal),
        ("not_equal", lambda x, y: x != y, np.not_equal),
    )
    for sample in (
        *disconnected(op, call, (normal(3, 4), normal(4)), (normal(1)[0], normal(1)[0])),
        *disconnected(op, call, (np.asarray(0.4), 0.4), (0.7, SINGLE)),
        *exact(op, call, (unit(3), NOT_FINITE[:3]), (NOT_FINITE, NOT_FINITE[::-1])),
        *exact(op, function, (SMALL, INTEGERS), *BEYOND, (MASK, BYTES)),
        *exact(op, call, (COMPLEX, COMPLEX[::-1]), (np.int8(3), 3), (MASK, True)),
        Sample(op, call, (normal(2), normal(2)), zero_size=NO_PAIRS),
    )
]
LOGIC = [
    sample
    for op, call in (
        ("logical_and", lambda x, y: np.logical_and(x, y)),
        ("logical_or", lambda x, y: np.logical_or(x, y)),
        ("logical_xor", lambda x, y: np.logical_xor(x, y)),
    )
    for sample in (
        *disconnected(op, call, (normal(2, 3), np.arange(3.0)), (normal(1)[0], 0.0)),
        *exact(op, call, (SMALL, MASK), (COMPLEX, 1), (BYTES, True)),
    )
] + [
    *disconnected("logical_not", lambda x: np.logical_not(x), (np.arange(3.0),), (normal(1)[0],)),
    *exact("logical_not", lambda x: np.logical_not(x), (MASK,), (BYTES,), (COMPLEX,)),
]
BITS = [
    sample
    for op, call in (
        ("bitwise_and", lambda x, y: x & y),
        ("bitwise_or", lambda x, y: x | y),
        ("bitwise_xor", lambda x, y: x ^ y),
        ("left_shift", lambda x, y: x << y),
        ("right_shift", lambda x, y: x >> y),
        ("gcd", lambda x, y: np.gcd(x, y)),
        ("lcm", lambda x, y: np.lcm(x, y)),
    )
    for sample in exact(
        op, call, (INTEGERS, SMALL % 5), (SMALL, 2), (BYTES, BYTES), (np.int8(5), 3), (7, BYTES)
    )
] + [
    *exact("bitwise_and", lambda x, y: (x > 0) & y, (normal(2, 3), MASK), (normal(1)[0], True)),
    *exact("bitwise_or", lambda x, y: (x > 0) | y, (normal(2, 3), MASK), (normal(1)[0], False)),
    *exact("bitwise_xor", lambda x, y: np.bitwise_xor(x, y), (MASK, MASK[0]), (MASK, True)),
    *exact("invert", lambda x: ~x, (INTEGERS,), (BYTES,), (MASK,), (np.int8(5),), (np.True_,)),
    *exact("bitwise_count", lambda x: np.bitwise_count(x), (INTEGERS,), (BYTES,), (np.int8(5),)),
]
TENTHS = np.array([2.5, 3.5, -0.5, 1234.5678, -0.05, 0.25])
ROUNDING = [
    sample
    for op, call in (
        ("floor", lambda x: np.floor(x)),
        ("ceil", lambda x: np.ceil(x)),
        ("trunc", lambda x: np.trunc(x)),
        ("fix", lambda x: np.fix(x)),
        ("rint", lambda x: np.rint(x)),
        ("rint", lambda x: np.round(x)),
        ("round", lambda x: np.round(x, 2)),
        ("round", lambda x: x.round(-2)),
        ("round", lambda x: np.around(x, decimals=1)),
    )
    for sample in (
        *disconnected(
            op, call, (np.array([0.3, -1.2, 2.7]),), (np.asarray(0.3),), (np.float64(-0.3),)
        ),
        *exact(op, call, (TENTHS,), (SINGLE,), (np.asarray(-2.5),), (np.float64(1234.567),)),
        *exact(op, call, (NOT_FINITE,), (SMALL,), (BYTES,), (np.int32(250),)),
    )
] + [
    *exact("rint", lambda x: np.rint(x), (COMPLEX,), (MASK,)),
    *exact("rint", lambda x: np.round(x), (COMPLEX,)),
    *exact("round", lambda x: np.round(x, 1), (COMPLEX * 1.26,)),
    *exact("floor", lambda x: np.floor(x), (MASK,)),
]
PREDICATES = [
    sample
    for op, call in (
        ("isfinite", lambda x: np.isfinite(x)),
        ("isnan", lambda x: np.isnan(x)),
        ("isinf", lambda x: np.isinf(x)),
        ("isreal", lambda x: np.isreal(x)),
        ("iscomplex", lambda x: np.iscomplex(x)),
    )
    for sample in (
        *disconnected(op, call, (normal(3),), (np.asarray(2.5),), (normal(1)[0],)),
        *exact(op, call, (NOT_FINITE,), (SMALL,), (MASK,), (COMPLEX,), (COMPLEX_NOT_FINITE,)),
    )
] + [
    *disconnected("signbit", lambda x: np.signbit(x), (normal(3),), (np.asarray(0.4),)),
    *exact("signbit", lambda x: np.signbit(x), (SMALL,), (SINGLE,), (NOT_FINITE,)),
    *disconnected("isposinf", lambda x: np.isposinf(x), (normal(3),)),
    *exact("isposinf", lambda x: np.isposinf(x), (NOT_FINITE,), (np.float64(np.inf),), (SMALL,)),
    *disconnected("isneginf", lambda x: np.isneginf(x), (normal(3),)),
    *exact("isneginf", lambda x: np.isneginf(x), (NOT_FINITE,), (np.asarray(-np.inf),), (SMALL,)),
    *disconnected("isclose", lambda x, y: np.isclose(x, y), (normal(3), np.full(2, 1e-9)[:1])),
    *exact("isclose", lambda x, y: np.isclose(x, y, equal_nan=True), (NOT_FINITE, NOT_FINITE)),
    *exact("isclose", lambda x, y: np.isclose(x, y), (NOT_FINITE, NOT_FINITE), (SMALL, INTEGERS)),
    *exact("isclose", lambda x, y: np.isclose(x, y, 0.1, atol=2.0), (SINGLE, 1), (1.5, SINGLE)),
    *exact("isclose", lambda x: np.isclose(x, [1.0, 2.5, 1.7]), (SINGLE,), (SMALL,)),
]


def pairs(op, call, **fields):
    """The call on operands that broadcast, in mixed forms and dtypes, none nearer than 0.1."""
    return [
        Sample(op, call, args, holomorphic=False, zero_size=NO_PAIRS, **fields)
        for args in (
            (grid(3, 4), grid(4) + 0.1),
            (grid(3, 1), grid(4) + 0.1),
            (grid(3), np.asarray(0.1)),
            (np.asarray(0.4), np.float64(-0.7)),
            (np.float64(-0.4), np.float64(0.7)),
            (grid(3, 4), 0.1),
            (0.1, grid(3, 4).astype(np.float32)),
            (grid(2, 3).astype(np.float32), grid(3) + 0.1),
            (grid(2, 3) + 0.1, SMALL),
        )
    ]


TIED = np.array([[0.5, -1.0, 2.0], [2.0, 0.0, -3.0]])
TIED_WITH = np.array([0.5, 0.0, 2.0])
EXTREMES = [
    sample
    for op, call in (
        ("maximum", lambda x, y: np.maximum(x, y)),
        ("minimum", lambda x, y: np.minimum(x, y)),
        ("fmax", lambda x, y: np.fmax(x, y)),
        ("fmin", lambda x, y: np.fmin(x, y)),
    )
    for sample in (
        *pairs(op, call),
        Sample(op, call, (TIED, TIED_WITH), holomorphic=False, order=1),
        Sample(op, call, (complex_normal(3), complex_normal(3)), holomorphic=False),
        *exact(op, call, (SMALL, INTEGERS), (MASK, MASK[0]), (NOT_FINITE, 1.0), (BYTES, 3)),
        *exact(op, call, (NOT_FINITE, NOT_FINITE[::-1])),
    )
] + [
    Sample("maximum", lambda x: np.maximum(x, 0), (normal(3, 4),), holomorphic=False),
    Sample("maximum", lambda x: np.maximum(0.0, x), (np.array([0.0, 1.0]),), False, 1),
    *pairs("heaviside", lambda x, y: np.heaviside(x + 0.07, y)),
    Sample(
        "heaviside",
        lambda y: np.heaviside(np.array([-1.0, 0.0, 2.0]), y),
        (normal(3),),
        holomorphic=False,
    ),
    *exact("heaviside", lambda x: np.heaviside(x, 1), (SMALL,), (TIED,)),
]

LOW, HIGH = np.array([-0.5, -0.1, 0.1]), np.array([0.7, -0.3, 0.9])
CLIPS = [
    Sample(op, call, (x,), holomorphic=False)
    for op, call in (
        ("clip", lambda x: np.clip(x, -0.3, 0.7)),
        ("clip", lambda x: x.clip(-0.9, 1.1)),
        ("clip", lambda x: np.clip(x, min=-0.3, max=0.7)),
        ("clip", lambda x: np.clip(x, np.float64(-0.3), np.asarray(0.7))),
        ("clip_min", lambda x: np.clip(x, 0.1, None)),
        ("clip_min", lambda x: x.clip(min=0.1)),
        ("clip_max", lambda x: np.clip(x, None, 0.1)),
        ("clip_max", lambda x: np.clip(x, max=0.1)),
        ("positive", lambda x: np.clip(x, None, None)),
    )
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0" or op == "clip"
    for x in (grid(3, 4), np.float64(-0.4), np.asarray(0.4), SINGLE)
] + [
    Sample("clip", lambda x, a, b: np.clip(x, a, b), (grid(4, 3), LOW, HIGH), holomorphic=False),
    Sample("clip", lambda x, a, b: np.clip(x, a, b), (LOW, grid(4, 3), 0.3), holomorphic=False),
    Sample("clip", lambda x, a, b: np.clip(x, a, b), (SINGLE, -LOW, 2), holomorphic=False),
    Sample("clip", lambda x, a: np.clip(x, a, [0.3, 0.4, 0.6]), (SINGLE, -LOW), holomorphic=False),
    Sample("clip", lambda a, b: np.clip(2.0, a, b), (SINGLE, SINGLE + 1), holomorphic=False),
    Sample("clip_min", lambda a: np.clip(0.7, a, None), (SINGLE,), holomorphic=False),
    Sample("clip_min", lambda x, a: np.clip(x, a, None), (grid(4, 3), LOW), holomorphic=False),
    Sample("clip_max", lambda x, b: np.clip(x, None, b), (grid(3, 1), HIGH), holomorphic=False),
    *exact("clip", lambda x: np.clip(x, -5, 3), (SMALL,), (INTEGERS,), (BYTES,), (np.int8(9),)),
    *exact("clip", lambda x: np.clip(x, 0, 1), (NOT_FINITE,), (MASK,), (COMPLEX,), (3,)),
    *exact("clip", lambda x, a, b: np.clip(x, a, b), (SMALL, 0.5, 2.0), (NOT_FINITE, np.nan, 1.0)),
    *exact("clip", lambda x, a, b: np.clip(x, a, b), (BYTES, SMALL, 7), (MASK, MASK, MASK)),
    *exact("clip_min", lambda x: np.clip(x, -5, None), (SMALL,), (BYTES,), (np.uint8(9),)),
    *exact("clip_min", lambda x: np.clip(x, 1.0, None), (NOT_FINITE,), (COMPLEX,)),
    *exact("clip_max", lambda x: np.clip(x, None, 300), (SMALL,), (BYTES,), (np.uint8(9),)),
]
CONDITIONS = [
    Sample("where", lambda x, y: np.where(x > 0, x, y), (normal(3, 4), normal(4))),
    Sample("where", lambda x, y: np.where(MASK, x, y), (normal(2, 1), normal(3))),
    Sample("where", lambda x: np.where(x > 0, x, 0), (normal(3, 4),)),
    Sample("where", lambda x: np.where(x > 0, 0.5, x * x), (SINGLE,)),
    Sample("where", lambda x: np.where(x > 0, 1, x), (complex_normal(3),)),
    Sample("where", lambda x: np.where(x > 0, x, -x), (np.asarray(0.4),)),
    Sample("where", lambda x: np.where(x > 0, x, -x), (normal(1)[0],)),
    Sample("where", lambda x: np.where(True, x, 2.0), (normal(1)[0],)),
    Sample("where", lambda x, y: np.where(BYTES, x, y), (SINGLE, normal(3))),
    Sample("where", lambda x, y: np.where([True, False], x, [y, 2.0]), (normal(2), normal(1)[0])),
    Sample(
        "where",
        lambda c, x, y: np.where(c, x, y),
        (np.arange(3.0), normal(2, 3), normal(2, 1)),
        zero_size=((np.zeros((0, 3)), np.zeros(3), 1.0),),
    ),
    *exact("where", lambda x, y: np.where(x > 1, x, y), (SMALL, BYTES), (BYTES, 3), (MASK, 2)),
    *exact("where", lambda x: np.where(x > 1, 1, 0.5), (SMALL,), (SINGLE,)),
    *exact("where", lambda x: np.where(x > 1, True, 2), (SMALL,)),
]
ANY_NUMBERS = [
    Sample("nan_to_num", lambda x: np.nan_to_num(x), (normal(3),)),
    Sample("nan_to_num", lambda x: np.nan_to_num(x, nan=1.0), (np.asarray(0.4),)),
    Sample("nan_to_num", lambda x: np.nan_to_num(x), (normal(1)[0],)),
    *exact("nan_to_num", lambda x: np.nan_to_num(x), (SMALL,), (MASK,), (np.asarray(2),)),
    *exact("nan_to_num", lambda x: np.nan_to_num(x), (NOT_FINITE.astype(np.float32),)),
    *[
        Sample("nan_to_num", lambda x: np.nan_to_num(x), (x,), False, float32=False)
        for x in (NOT_FINITE, np.asarray(np.inf), np.float64(-np.inf))
    ],
    *exact("nan_to_num", lambda x: np.nan_to_num(x, True, 1, 2.5, -np.inf), (NOT_FINITE,)),
    Sample("complex_nan_to_num", lambda x: np.nan_to_num(x, nan=2.0), (complex_normal(3),)),
    Sample("complex_nan_to_num", lambda x: np.nan_to_num(x), (complex_normal(1)[0],)),
    *[
        Sample("complex_nan_to_num", call, (COMPLEX_NOT_FINITE,), False, float32=False)
        for call in (lambda x: np.nan_to_num(x), lambda x: np.nan_to_num(x, posinf=np.inf))
    ],
]

PARTS = [
    Sample(op, call, args, holomorphic=False)
    for op, call in (
        ("real", lambda x: np.real(x) ** 2),
        ("real", lambda x: x.real),
        ("imag", lambda x: np.sin(np.imag(x))),
        ("imag", lambda x: x.imag * x),
        ("conjugate", lambda x: np.conj(x)),
        ("conjugate", lambda x: x.conj() * x),
        ("angle", lambda x: np.angle(x)),
        ("angle", lambda x: np.angle(x, deg=True)),
        ("complex_absolute", lambda x: np.abs(x)),
        ("complex_absolute", lambda x: np.abs(x) * x),
        ("complex_sign", lambda x: np.sign(x)),
        ("complex_sign", lambda x: np.sign(x * x) * x),
    )
    for args in (
        (complex_normal(3, 2),),
        (complex_normal(4),),
        (np.asarray(complex_normal(1)[0]),),
        (complex_normal(1)[0],),
        (complex_normal(3).astype(np.complex64),),
    )
] + [
    Sample("real", lambda x: np.real(x * 1j), (normal(3),), holomorphic=False),
    Sample("real", lambda x: (x * 1j).real + x.real, (normal(3),), holomorphic=False),
    Sample("imag", lambda x: np.imag(np.exp(x * 1j)), (normal(3),), zero_size=NO_ROWS),
    Sample("angle", lambda x: np.angle(x), (normal(3),), holomorphic=False),
    Sample("angle", lambda x: np.angle(x, True), (SINGLE,), holomorphic=False),
    Sample("conjugate", lambda x: np.conj(x), (normal(3),), holomorphic=False),
    Sample("conjugate", lambda x: np.conj(x), (normal(1)[0],), holomorphic=False),
    Sample("complex_absolute", lambda x: np.abs(x), (np.zeros(3, complex),), order=0),
    Sample("scalar_absolute", lambda x: abs(x), (complex_normal(1)[0],)),
    Sample("scalar_absolute", lambda x: abs(x) * x, (np.complex64(complex_normal(1)[0]),)),
    Sample("scalar_absolute", lambda x: abs(x), (np.complex128(0),), order=0),
    *exact("conjugate", lambda x: np.conj(x), (SMALL,), (COMPLEX,)),
    *exact("angle", lambda x: np.angle(x), (SMALL,), (COMPLEX,)),
    *exact("real_imag", lambda x: np.imag(x), (SMALL,), (np.int8(3),), (2.5,)),
    *disconnected("real_imag", lambda x: x.imag, (normal(3),), (np.asarray(0.4),), (normal(1)[0],)),
    *disconnected("sign", lambda x: np.sign(x), (normal(2, 3),), (np.asarray(0.4),)),
    *exact("sign", lambda x: np.sign(x), (NOT_FINITE,), (SMALL,), (BYTES,), (np.int8(-3),)),
    *exact("complex_sign", lambda x: np.sign(x), (COMPLEX,)),
]
MODULI = [
    sample
    for op, call in (
        ("absolute", lambda x: np.abs(x)),
        ("absolute", lambda x: abs(x)),
        ("fabs", lambda x: np.fabs(x)),
    )
    for sample in (
        Sample(op, call, (normal(3, 4),), holomorphic=False, zero_size=NO_ROWS),
        Sample(op, call, (np.array([0.0, -0.0, 1.0]),), holomorphic=False, order=1),
        Sample(op, call, (np.asarray(-0.4),), holomorphic=False),
        Sample(op, call, (normal(1)[0],), holomorphic=False),
        Sample(op, call, (SINGLE,), holomorphic=False),
        *exact(op, call, (SMALL,), (BYTES,), (NOT_FINITE,), (np.int8(-128),)),
    )
] + [
    *exact("absolute", lambda x: np.abs(x), (MASK,)),
    Sample("absolute", lambda x: np.absolute(x) * x, (normal(3),), holomorphic=False),
    *exact("complex_absolute", lambda x: np.abs(x), (COMPLEX,), (COMPLEX_NOT_FINITE,)),
]

SAMPLES = [
    *COMPARISONS,
    *LOGIC,
    *BITS,
    *ROUNDING,
    *PREDICATES,
    *EXTREMES,
    *CLIPS,
    *CONDITIONS,
    *ANY_NUMBERS,
    *PARTS,
    *MODULI,
]
