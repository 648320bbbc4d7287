"""Python numbers as arguments: static on their first value, dynamic from the second on, and always
what Python and NumPy answer."""

from __future__ import annotations

import decimal
import enum
import fractions
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.convert.running import define
from tests.support.compare import assert_same
from tests.support.errors import outcome

X = np.array([1.0, 2.0, 3.0])
X4 = X.astype("f4")
U1 = np.array([1, 2, 3], "u1")
I8 = np.array([1, 2, 3])


class Level(enum.IntEnum):
    LOW = 2
    HIGH = 3


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Flag(enum.IntFlag):
    A = 1
    B = 2


class Real(float):
    pass


ONES = [
    1, 1.0, True, np.float64(1), np.float32(1), np.int64(1), np.uint8(1), np.bool_(True), 1 + 0j,
    Level.LOW, Flag.A, Real(1.0), np.complex128(1),
]  # fmt: skip
ORDINARY = [1, 2, 3, 4, 1.5, 2.5]
COUNTS = [1, 2, 3, 2, 1, 0]
inf, nan = math.inf, math.nan


class Numbers(NamedTuple):
    """A function of an array and a number, and the numbers it is called with, in turn; `kernels` is
    how many it has then."""

    function: Callable[[Any, Any], Any]
    numbers: Sequence[Any]
    x: np.ndarray = X
    kernels: int | None = None


def countdown(x: Any, n: Any) -> Any:
    while n > 0:
        x = x * 2
        n = n - 1
    return x


def matched(x: Any, n: Any) -> Any:
    match n:
        case 1:
            return x
        case int():
            return x * 2
        case float():
            return x * 3
        case str():
            return x * 4
    return x * 5


PROGRAMS: dict[str, Numbers] = {
    "kinds mul": Numbers(lambda x, n: x * n, ONES * 2),
    "kinds mul f4": Numbers(lambda x, n: x * n, ONES * 2, X4),
    "kinds add u1": Numbers(lambda x, n: x + n, ONES * 2, U1),
    "kinds returned": Numbers(lambda x, n: n, ONES * 2),
    "kinds plus one": Numbers(lambda x, n: n + 1, ONES * 2),
    "kinds isinstance": Numbers(
        lambda x, n: x * (isinstance(n, int) + 2 * isinstance(n, float) + 4 * isinstance(n, bool)),
        ONES * 2 + [3, 4, 5, 2.5, 3.5],
    ),
    "zeros sign": Numbers(
        lambda x, n: np.copysign(x, n), [0.0, -0.0, 0.0, 1.0, -0.0, -1.0, nan, -nan, inf, -inf, 0.0]
    ),
    "div zero": Numbers(lambda x, n: x / n, [0.0, -0.0, 0.0, 2.0, inf, -0.0]),
    "atan2": Numbers(lambda x, n: math.atan2(n, -1.0) * x, [0.0, -0.0, 0.0, -0.0]),
    "nan inf": Numbers(lambda x, n: x * n + n, [nan, inf, -inf, nan, 1.0, 2.0, nan, inf]),
    "nan cmp": Numbers(lambda x, n: x if n == n else x * 2, [1.0, nan, 2.0, nan]),
    "huge int returned": Numbers(
        lambda x, n: n * 2, [2**70, 1, 2**70, 5, 2**62, 2**63, -(2**63), 2**64]
    ),
    "huge int times": Numbers(
        lambda x, n: x * n, [2**70, 1, 2, 2**70, 2**62, 2**63, 2**64, 2**100, 10**400]
    ),
    "huge int times int array": Numbers(lambda x, n: x * n, [1, 2, 2**62, 2**63, 2**70, 3], I8),
    "int pow": Numbers(lambda x, n: x * 2**n, [3, 4, 5, -1, -2, 0, 10, 100, 62, 63, 64, 1000]),
    "int pow neg base": Numbers(lambda x, n: x * n**2, [3, 4, -5]),
    "int pow exp": Numbers(lambda x, n: n ** (-1) * x, [2, 4, 5, -1, 0, 3]),
    "int pow returned": Numbers(lambda x, n: n**n, [2, 3, -2, 0, 5, -3]),
    "array pow": Numbers(lambda x, n: x**n, [2, 3, -1, 0, 2.5, 0.5, 1, -2]),
    "int array pow": Numbers(lambda x, n: x**n, [2, 3, -1, 0, 2], I8),
    "float pow neg": Numbers(lambda x, n: (-8.0) ** n * x, [2.0, 3.0, 1.0 / 3, 2.0]),
    "float pow zero": Numbers(lambda x, n: 0.0**n * x, [2.0, 0.0, -1.0, 2.0]),
    "pow overflow": Numbers(lambda x, n: 2.0**n * x, [2.0, 3.0, 5000.0, 4.0]),
    "divmod": Numbers(lambda x, n: divmod(n, 3)[0] * x + divmod(n, 3)[1], [7, 8, -7, 7.5, -0.5]),
    "floordiv zero": Numbers(lambda x, n: 7 // n * x, [2, 3, 0, 4, 0.0, 2.0]),
    "mod zero": Numbers(lambda x, n: x + 7 % n, [2, 3, 0, 4, -3]),
    "truediv zero": Numbers(lambda x, n: x * (1 / n), [2, 4, 0, 5, 0.0]),
    "round": Numbers(lambda x, n: x * round(n) + round(n, 1), [1.25, 2.5, 3.5, 7, -0.5]),
    "trunc floor ceil": Numbers(
        lambda x, n: x * math.trunc(n) + math.floor(n) + math.ceil(n), [1.25, 2.5, 3, -0.5, 4]
    ),
    "sqrt": Numbers(lambda x, n: x * math.sqrt(n), [1.0, 4.0, 9.0, -1.0, 4]),
    "exp": Numbers(lambda x, n: x * math.exp(-n), [1.0, 4.0, 9.0]),
    "np.sqrt": Numbers(lambda x, n: x * np.sqrt(n), [1.0, 4.0, 9.0, 4, 16]),
    "np.exp weak f4": Numbers(lambda x, n: x * np.exp(n), [1.0, 4.0, 9.0, 4, 16], X4),
    "np.float32 weak": Numbers(lambda x, n: x * np.float32(n), [1.0, 4.0, 0.1, 4, 16], X4),
    "np.asarray": Numbers(lambda x, n: x * np.asarray(n), [1.0, 4.0, 0.1, 4, 16], X4),
    "np.array list": Numbers(lambda x, n: x[:2] * np.array([1.0, n]), [1.0, 4.0, 0.1, 4, 16], X4),
    "fstring": Numbers(lambda x, n: {f"{n:.2g}": x}, [0.1, 0.2, 0.3, 1, 2, 3]),
    "fstring int": Numbers(lambda x, n: {f"{n:03d}": x}, [1, 2, 3]),
    "str": Numbers(lambda x, n: {str(n): x}, [1, 2, 3, 1.0, True]),
    "repr": Numbers(lambda x, n: {repr(n): x}, [1, 2, 3, 1.0, True]),
    "percent": Numbers(lambda x, n: {"%d" % n: x}, [1, 2, 3, 4, 5]),  # noqa: UP031
    "percent g": Numbers(lambda x, n: {"%.3g" % n: x}, [1.0, 2.0, 3.0, 4, 5]),  # noqa: UP031
    "format": Numbers(lambda x, n: {f"{n:>4}": x}, [1, 2, 3, 4, 5]),
    "full": Numbers(lambda x, n: x + np.full(3, n), [1.0, 2.0, 0.5, 3, 4], X4),
    "full shape": Numbers(lambda x, n: np.full(n, 2.0), [1, 2, 3], X4),
    "arange": Numbers(lambda x, n: np.arange(0, n), [1, 2, 3, 2.5, 3.5], X4),
    "linspace": Numbers(lambda x, n: np.linspace(0, n, 3) * x, [1, 2, 3, 2.5, 3.5], X4),
    "zeros": Numbers(lambda x, n: np.zeros(n), [1, 2, 3, 0], X4),
    "eye": Numbers(lambda x, n: np.eye(n) * 2, [1, 2, 3, 0], X4),
    "ones tuple": Numbers(lambda x, n: np.ones((n, 2)), [1, 2, 3, 0], X4),
    "range": Numbers(lambda x, n: sum((x for _ in range(n)), x), COUNTS, X, 4),
    "slice": Numbers(lambda x, n: x[:n], [1, 2, 3, 2, 1, 0, -1]),
    "slice neg": Numbers(lambda x, n: x[-n:], [1, 2, 3, 2]),
    "index": Numbers(lambda x, n: x[n], [0, 1, 2, -1, 5]),
    "list index": Numbers(lambda x, n: x * [1.0, 2.0, 3.0][n], [0, 1, 2, -1, 5]),
    "list mul": Numbers(lambda x, n: len([0] * n) * x, [1, 2, 3]),
    "str mul": Numbers(lambda x, n: {"a" * n: x}, [1, 2, 3]),
    "dict key": Numbers(lambda x, n: x * {1: 2.0, 2: 3.0}.get(n, 7.0), [1, 2, 3, 1.0, True, 2.0]),
    "set in": Numbers(lambda x, n: x * (n in {1, 2}), [1, 2, 3, 1.0, True, 2.0]),
    "tuple in": Numbers(lambda x, n: x * (n in (1, 2)), [1, 2, 3, 1.0, True, 2.0]),
    "tuple key": Numbers(
        lambda x, n: x * {(1, 1): 2.0}.get((n, 1), 7.0), [1, 2, 3, 1.0, True, 2.0]
    ),
    "if less": Numbers(lambda x, n: x * 2 if n < 10 else x * 3, list(range(8, 14)), X, 2),
    "if chain": Numbers(lambda x, n: x * 2 if 2 < n < 5 else x * 3, list(range(8)), X, 2),
    "if mod": Numbers(lambda x, n: x * 2 if n % 3 == 0 else x * 3, list(range(8)), X, 2),
    "if float": Numbers(
        lambda x, n: x * n if n > 0.5 else x * 3, [0.1, 0.2, 0.6, 0.7, 0.3, 0.9], X, 2
    ),
    "if truth": Numbers(lambda x, n: x * 2 if n else x * 3, [0, 1, 2, 0, 3, 4], X, 2),
    "while": Numbers(lambda x, n: countdown(x, n), [0, 1, 2, 0, 3, 4]),
    "min max": Numbers(lambda x, n: x * min(n, 3) + max(n, 2), [0, 1, 2, 3, 4, 5, 2.5, 3.5]),
    "abs neg pos inv": Numbers(lambda x, n: x * abs(-n) + ~n, [0, 1, 2, 3, -4]),
    "bit ops": Numbers(lambda x, n: x * (n & 3 | 4 ^ n << 1), [0, 1, 2, 3, 4]),
    "shift neg": Numbers(lambda x, n: x * (1 << n), [0, 1, 2, -1, 4, 70]),
    "u1 plus": Numbers(lambda x, n: x + n, [1, 2, 255, 256, -1, 3], U1),
    "i8 plus": Numbers(lambda x, n: x + n, [1, 2, 2**63 - 1, 2**63, -(2**63), 3], I8),
    "u1 cmp": Numbers(lambda x, n: x < n, [1, 2, 255, 256, -1, 3], U1),
    "f4 mul big": Numbers(lambda x, n: x * n, [1.0, 1e30, 1e39, 1e-50, 2.0], X4),
    "f2 mul": Numbers(lambda x, n: x * n, [1.0, 1e30, 100000.0, 2.0], X.astype("f2")),
    "attrs": Numbers(lambda x, n: x * n.real + n.imag, [1, 2, 3, 1.5, 2.5, 1j, 2j]),
    "conj": Numbers(lambda x, n: x * n.conjugate(), [1, 2, 3, 1.5, 2.5, 1j, 2j]),
    "bit_length": Numbers(lambda x, n: x * n.bit_length(), [1, 2, 3, 8]),
    "is_integer": Numbers(lambda x, n: x * n.is_integer(), [1.0, 2.0, 2.5, 8.0]),
    "hex": Numbers(lambda x, n: {n.hex(): x}, [1.0, 2.0, 2.5, 8.0]),
    "as_integer_ratio": Numbers(lambda x, n: x * n.as_integer_ratio()[1], [1.0, 2.0, 2.5, 8.25]),
    "fraction": Numbers(lambda x, n: x * float(fractions.Fraction(n)), [1, 2, 3, 4]),
    "decimal": Numbers(lambda x, n: x * float(decimal.Decimal(n)), [1, 2, 3, 4]),
    "sum list": Numbers(lambda x, n: x * sum([n, n, 1]), ORDINARY),
    "sorted": Numbers(lambda x, n: x * sorted([n, 2, 3])[0], ORDINARY),
    "math.prod": Numbers(lambda x, n: x * math.prod([n, 2]), ORDINARY),
    "math.isclose": Numbers(lambda x, n: x * (2 if math.isclose(n, 2) else 3), ORDINARY),
    "np.isclose": Numbers(lambda x, n: x * np.isclose(n, 2), ORDINARY),
    "np.maximum": Numbers(lambda x, n: np.maximum(x, n), ORDINARY, X4),
    "np.clip": Numbers(lambda x, n: np.clip(x, 0, n), ORDINARY, X4),
    "np.where": Numbers(lambda x, n: np.where(x > 1, x, n), ORDINARY, X4),
    "np.power": Numbers(lambda x, n: np.power(x, n), ORDINARY, X4),
    "np.float_power": Numbers(lambda x, n: np.float_power(x, n), ORDINARY, X4),
    "np.add of numbers": Numbers(lambda x, n: np.add(n, 1), ORDINARY, X4),
    "np.sum of list": Numbers(lambda x, n: np.sum([n, 1.0]), ORDINARY, X4),
    "np.result_type": Numbers(
        lambda x, n: np.zeros(2, np.result_type(x, n)), [1, 2, 3, 4, 1.5, 2.5, 1j, 2j], X4
    ),
    "np.ndim shape": Numbers(
        lambda x, n: x * (np.ndim(n) + np.size(n)), [1, 2, 3, 4, 1.5, 2.5, 1j, 2j], X4
    ),
    "np.int64()": Numbers(lambda x, n: x * np.int64(n), ORDINARY, X4),
    "float()": Numbers(lambda x, n: x * float(n), ORDINARY, X4),
    "int()": Numbers(lambda x, n: x * int(n), ORDINARY, X4),
    "complex()": Numbers(lambda x, n: x * complex(n), ORDINARY, X4),
    "bool()": Numbers(lambda x, n: x * bool(n), [1, 2, 3, 0, 1.5, 0.0], X4),
    "schedule": Numbers(lambda x, n: x - n * 0.5**2 * x, [0.1 * k for k in range(1, 20)], X, 2),
    "step": Numbers(lambda x, n: x / (1 - 0.9**n), list(range(1, 20)), X, 2),
    "adam": Numbers(lambda x, n: x * math.sqrt(1 - 0.999**n), list(range(1, 6))),
    "adam np": Numbers(lambda x, n: x * np.sqrt(1 - 0.999**n), list(range(1, 16)), X, 2),
    "step float mix": Numbers(lambda x, n: x * n, [1, 2.0, 3, 4.0, 5, 6.0]),
    "warmup": Numbers(lambda x, n: x * min(1.0, n / 10), list(range(1, 20))),
    "cosine": Numbers(lambda x, n: x * (0.5 * (1 + math.cos(math.pi * n / 10))), list(range(1, 5))),
    "enum": Numbers(
        lambda x, e: x * (2 if e is Colour.RED else 3), [Colour.RED, Colour.BLUE, Colour.RED]
    ),
    "none": Numbers(lambda x, e: x * (2 if e is None else 3), [None, 1, None, 2, 3.0, None]),
    "strs": Numbers(lambda x, e: x * len(e), ["a", "bb", "a", "bb"]),
    "intflag": Numbers(
        lambda x, e: x * (2 if e & Flag.A else 3), [Flag.A, Flag.B, Flag.A | Flag.B, Flag.A]
    ),
    "weak times IntEnum": Numbers(lambda x, n: n * Level.LOW, [1, 2, 3, 1.5, 2.5]),
    "IntEnum times weak": Numbers(lambda x, n: Level.HIGH * n, [1, 2, 3, 1.5, 2.5]),
    "np.float64 arg": Numbers(
        lambda x, n: x * n, [np.float64(1), np.float64(2), np.float64(-0.0)], X4, 1
    ),
    "np.bool arg": Numbers(
        lambda x, n: x * 2 if n else x * 3, [np.bool_(True), np.bool_(False), True, False], X4
    ),
    "complex weak": Numbers(lambda x, n: x * n, [1j, 2j, complex(0, -0.0), complex(nan, 1)], X4),
    "eq across types": Numbers(lambda x, n: x * (n == 1), [1, 2, 1.0, True, 2.0, 3], X4),
    "is comparison": Numbers(lambda x, n: x * (n is None), [1, 2, None, 3], X4),
    "swap args": Numbers(lambda x, n: (n, x, n + n, n * 1.0), [1, 2, 3, 1.5, 2.5], X4),
    "container out": Numbers(lambda x, n: {"n": n, "l": [n, n * 2]}, [1, 2, 3, 1.5, 2.5], X4),
    "tuple arg": Numbers(
        lambda x, n: x * n[0] + n[1], [(1, 2), (1, 3), (2, 3), (1.0, 2), (True, 1)], X4
    ),
    "dict arg": Numbers(lambda x, n: x * n["a"], [{"a": 1}, {"a": 2}, {"a": 3.0}, {"a": True}], X4),
    "dict int keys": Numbers(
        lambda x, n: x * next(iter(n)) if type(next(iter(n))) is not bool else x * 7,
        [{1: 1}, {True: 1}, {1.0: 1}, {1: 2}, {True: 2}],
        X4,
    ),
    "dict int keys val": Numbers(
        lambda x, n: x * n[1] * len(repr(list(n))),
        [{1: 1}, {True: 1}, {1.0: 1}, {1: 2}, {True: 2}],
        X4,
    ),
    "zip enumerate": Numbers(
        lambda x, n: [x * k for k, _ in zip(range(n), "abc", strict=False)], [1, 2, 3, 4]
    ),
    "comprehension cond": Numbers(lambda x, n: [x * k for k in range(5) if k < n], [1, 2, 3, 4]),
    "match": Numbers(matched, [1, 2, 3, 1.0, 2.5, 3.5, True, "a"]),
}


def check(found: Any, expected: Any) -> None:
    """The same error, container, type and number."""
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected)), found
    elif isinstance(expected, (dict, list, tuple)):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        if isinstance(expected, dict):
            assert repr(list(found)) == repr(list(expected))
            found, expected = list(found.values()), list(expected.values())
        for one, other in zip(found, expected, strict=True):
            check(one, other)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert_same(found, expected)
    else:
        assert (type(found), repr(found)) == (type(expected), repr(expected))


@pytest.mark.parametrize("name", some_by_day(PROGRAMS, 2))
def test_numbers_are_pythons_and_numpys(name: str) -> None:
    function, numbers, x, kernels = PROGRAMS[name]
    compiled = tj.function(function, exact=True)
    for _ in range(2):
        for number in numbers:
            check(outcome(compiled, x, number), outcome(function, x, number))
    if kernels is not None:
        assert len(compiled.kernels) == kernels


def test_where_python_asks_for_the_type_numbers_of_one_type_have_one_kernel() -> None:
    compiled = tj.function(lambda x, n: x * (2.0 if type(n) is int else 3.0))
    for number in (1, 2, 3, 1.0):
        assert_same(compiled(X, number), X * (2.0 if type(number) is int else 3.0))
    assert "n was a float" in compiled.explain()


def test_the_type_of_self_may_be_asked() -> None:
    class Model:
        def scaled(self, x: Any, n: Any) -> Any:
            return x * n * len(type(self).__name__)

    model = Model()
    compiled = tj.function(lambda x, n: model.scaled(x, n))
    for number in (1.0, 2.0, 3.0, 4.0):
        assert_same(compiled(X, number), X * number * 5)
    assert len(compiled.kernels) == 2


@pytest.mark.parametrize("read", [json.dumps, lambda n: decimal.Decimal(n)])
def test_c_code_that_wants_a_number_gets_it(read: Callable[[Any], Any]) -> None:
    compiled = tj.function(lambda x, n: {str(read(n)): x * n})
    for number in (1, 2, 3, 2, 1):
        check(compiled(X, number), {str(number): X * number})
    assert len(compiled.kernels) == 3


def test_an_error_of_the_users_is_raised_as_it_is() -> None:
    compiled = tj.function(lambda x, n: x * n if n < 3 else x + n.real("no"))
    for number in (1, 2, 3, 4, 1):
        check(outcome(compiled, X, number), outcome(compiled.python, X, number))


def test_keys_of_an_argument_are_told_by_type() -> None:
    def f(table: dict[Any, Any]) -> Any:
        return X * sum(table.values()) * len(repr(list(table)))

    compiled = tj.function(f)
    for _ in range(2):
        for table in ({1: 1}, {True: 1}, {1.0: 1}, {"1": 1}, {1: 1, "a": 2}, {True: 1, "a": 2}):
            assert_same(compiled(table), f(table))


class Equal:
    """Objects that are all equal, whatever they hold."""

    def __init__(self, k: Any) -> None:
        self.k = k

    def __eq__(self, other: object) -> bool:
        return type(other) is Equal

    def __hash__(self) -> int:
        return 1


def test_equal_objects_that_hold_something_else_share_no_kernel() -> None:
    compiled = tj.function(lambda x, layer: x * layer.k)
    for k in (2.0, 3.0, 2.0, 2, True):
        assert_same(compiled(X, Equal(k)), X * k)
    made = compiled.tracing_count
    assert_same(compiled(X, Equal(True)), X)
    assert compiled.tracing_count == made
    one = compiled.kernel(X, Equal(2.0))
    assert one is compiled.kernel(X, Equal(2.0)) is not compiled.kernel(X, Equal(2))


def test_a_default_that_was_replaced_is_the_new_one() -> None:
    def f(x: Any, k: Any = 2.0) -> Any:
        return x * k

    compiled = tj.function(f)
    assert_same(compiled(X), X * 2.0)
    f.__defaults__ = (3.0,)
    for _ in range(2):
        assert_same(compiled(X), X * 3.0)


@pytest.mark.parametrize(
    "text", ["1 // n", "5 % n", "1.5 / n", "0**n", "divmod(7, n)", "1 << n", "math.sqrt(n)"]
)
def test_what_python_raises_for_a_number_is_raised_though_nobody_reads_it(text: str) -> None:
    f = define(f"import math\ndef f(x, n):\n    q = {text}\n    return x")["f"]
    compiled = tj.function(f)
    for number in (3, 4, 5, 0, -1, 6):
        check(outcome(compiled, X, number), outcome(f, X, number))
