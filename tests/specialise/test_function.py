"""Compiled functions: called like Python functions, with NumPy's results, whatever they read."""

from __future__ import annotations

import collections
import functools
import inspect
import itertools
import numbers
import queue
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.rows import each_row
from tests.support.compare import assert_same
from tracejit.support.errors import ArgumentError, ArityError, LeakedTensorError, ValueNeededError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: None) -> Path:
    """A cache folder for one test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(folder))
    return folder


X = np.array([[1.0, -2.0, 3.5], [0.25, 0.0, -0.0]])
Y = np.array([2.0, -0.5, 4.0])
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 5e-324, 1.7e308, 0.1])


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Layer:
    w: Any
    b: Any
    name: str = "layer"


@dataclass(frozen=True)
class Frozen:
    w: Any
    doubled: Any = field(init=False, default=0)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


# The same as NumPy


def affine(x: Any, y: Any) -> Any:
    return x * 2.0 + y


FORWARD: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "array": (affine, (X, Y)),
    "float32": (affine, (X.astype(np.float32), Y.astype(np.float32))),
    "float32 and float64": (affine, (X.astype(np.float32), Y)),
    "float16": (affine, (X.astype(np.float16), Y.astype(np.float16))),
    "longdouble": (affine, (X.astype(np.longdouble), Y)),
    "complex": (affine, (X + 1j, Y)),
    "complex64": (affine, (X.astype(np.complex64), Y.astype(np.float32))),
    "integers": (affine, (np.arange(3), np.arange(3, dtype=np.uint8))),
    "booleans": (lambda x, y: (x & y, x | ~y, x ^ y), (X > 0, X < 1)),
    "integer arithmetic": (lambda x: (x // 2, x % 3, x << 1, -x, x * 2), (np.arange(-3, 4),)),
    "wrapping": (lambda x: x * np.uint8(200), (np.arange(5, dtype=np.uint8),)),
    "0-d": (affine, (np.array(1.5), np.array(2))),
    "0-d returned": (lambda x: x, (np.array(1.5),)),
    "NumPy scalar": (affine, (np.float64(1.5), np.float64(2.0))),
    "float32 scalar": (affine, (np.float32(1.5), 2.0)),
    "float32 array, float64 scalar": (affine, (np.float32([1.5, 2.0]), np.float64(2.0))),
    "Python floats": (affine, (1.5, 2.5)),
    "Python int": (affine, (X, 3)),
    "Python complex": (affine, (X, 3j)),
    "Python bool": (affine, (X, True)),
    "zero-size": (affine, (np.zeros((0, 3)), Y)),
    "zero-size sum": (lambda x: np.sum(x, axis=0), (np.zeros((0, 3)),)),
    "Fortran order": (lambda x: np.sum(x * 3.0), (np.asfortranarray(X),)),
    "strided": (lambda x: np.sum(x * 3.0), (np.arange(1000.0).reshape(20, 50)[::-3, ::7],)),
    "broadcast": (affine, (np.broadcast_to(Y, (4, 3)), Y)),
    "the same array twice": (affine, (X, X)),
    "overlapping": (affine, (np.arange(9.0)[:6], np.arange(9.0)[3:])),
    "scalar result": (lambda x: np.sum(x), (X,)),
    "element": (lambda x: x[0, 0], (X,)),
    "tuple": (lambda x: (x, x + 1.0), (X,)),
    "list": (lambda x: [x + 1.0, [x]], (X,)),
    "dict": (lambda x: {"b": x + 1.0, "a": x}, (X,)),
    "NamedTuple": (lambda x, y: Point(x + y, y), (X, Y)),
    "dataclass": (lambda x, y: Layer(x @ y, y), (X, Y)),
    "nothing": (lambda x: None, (X,)),
    "empty": (lambda x: ((), [], {}), (X,)),
    "plain values": (lambda x: (1, 2.5, "text", None, True, x), (X,)),
    "no arguments": (lambda: np.ones(3), ()),
    "constant": (lambda x: 3.0, (X,)),
    "constant array": (lambda x: np.arange(4), (X,)),
    "view": (lambda x: (x.T, x[1:], x.reshape(-1), x[::-1]), (X,)),
    "shape in Python": (lambda x: x / x.shape[0] + x.ndim + len(x), (X,)),
    "iteration": (lambda x: sum(row * row for row in x), (X,)),
    "unpacking": (lambda x: (lambda a, b: a - b)(*x), (X,)),
    "dict argument": (lambda p: p["w"] * p["b"], ({"w": X, "b": Y},)),
    "nested argument": (lambda p: p["l"][0] + p["l"][1][0], ({"l": [X, (Y,)]},)),
    "NamedTuple argument": (lambda p: p.x * p.y, (Point(X, 2.0),)),
    "dataclass argument": (lambda layer: layer.w + layer.b, (Layer(X, Y),)),
    "dataclass returned": (lambda layer: Layer(layer.w + 1.0, layer.b, "new"), (Layer(X, Y),)),
    "field without init": (lambda one: Frozen(one.w + one.doubled), (Frozen(X),)),
    "empty dict argument": (lambda x, p: (x + len(p), p), (X, {})),
    "integer keys": (lambda p: p[2] - p[10], ({10: X, 2: Y},)),
}


@each_row("name", FORWARD)
def test_a_call_gives_what_numpy_gives(name: str) -> None:
    function, arguments = FORWARD[name]
    compiled = tj.function(function)
    expected = function(*arguments)
    for _ in range(3):
        assert_same(compiled(*arguments), expected)
    assert len(compiled.kernels) == 1


IDENTITIES: dict[str, Callable[[Any, Any], Any]] = {
    "x * 1.0": lambda x, y: x * 1.0,
    "1.0 * x": lambda x, y: 1.0 * x,
    "x * 1": lambda x, y: x * 1,
    "x / 1.0": lambda x, y: x / 1.0,
    "x + x": lambda x, y: x + x,
    "x - x": lambda x, y: x - x,
    "x / x": lambda x, y: x / x,
    "x + 0.0": lambda x, y: x + 0.0,
    "x - 0.0": lambda x, y: x - 0.0,
    "0.0 - x": lambda x, y: 0.0 - x,
    "x * 0.0": lambda x, y: x * 0.0,
    "x * -1.0": lambda x, y: x * -1.0,
    "negative twice": lambda x, y: np.negative(-x),
    "x + -y": lambda x, y: x + (-y),
    "x - -y": lambda x, y: x - (-y),
    "-x + y": lambda x, y: -x + y,
    "x ** 1": lambda x, y: x**1,
    "x ** 2": lambda x, y: x**2,
    "x ** 0": lambda x, y: x**0,
    "2.0 * (2.0 * x)": lambda x, y: 2.0 * (2.0 * x),
    "(x + y) - y": lambda x, y: (x + y) - y,
    "x * (1.0 * y)": lambda x, y: x * (1.0 * y),
    "reshapes": lambda x, y: x.reshape(2, 5).reshape(5, 2).T.reshape(-1),
    "broadcast and sum": lambda x, y: np.sum(np.broadcast_to(x, (3, 10)) * 1.0, axis=0),
    "sum of one": lambda x, y: np.sum(x[None], axis=0),
    "sum of one, kept": lambda x, y: np.sum(x[None], axis=0, keepdims=True),
    "np.multiply(x, True)": lambda x, y: np.multiply(x, True),
    "float64 one": lambda x, y: x * np.float64(1.0),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each_row("dtype", ["f8", "f4", "c16", "c8", "f2"])
@each_row("name", IDENTITIES)
def test_no_simplification_changes_a_bit(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
        y = SPECIAL[::-1].astype(dtype)
        if dtype.startswith("c"):
            x.imag, y.imag = SPECIAL[[3, 2, 0, 1, 5, 4, 2, 7, 9, 1]], SPECIAL
        function = IDENTITIES[name]
        assert_same(tj.function(function)(x, y), function(x, y))


def constants(dtype: np.dtype[Any]) -> list[Any]:
    """NumPy scalars of a dtype that are written in a special way, or hard to write at all."""
    numbers: list[Any] = [0, 1, 3]
    if dtype.kind in "iu":
        numbers += [np.iinfo(dtype).max, np.iinfo(dtype).min]
    if dtype.kind in "fc":
        numbers += [-0.0, 0.1, -1 / 3, np.nan, np.inf, -np.inf]
    if dtype.kind == "c":
        numbers += [complex(-0.0, 0.0), complex(0.0, -0.0), complex(np.inf, -np.nan), 0.1 + 0.2j]
    found = [dtype.type(number) for number in numbers]
    return [*found, np.longdouble(1) / np.longdouble(3)] if dtype == np.longdouble else found


@pytest.mark.parametrize("dtype", list("?bBhiIlLefdgFD"))
def test_constants_of_every_dtype_keep_their_bits(dtype: str) -> None:
    def f(x: Any) -> Any:
        return x + c, c * x, c, np.where(x > 0, c, x), c > x

    with np.errstate(all="ignore"):
        operands = (np.ones(3, np.float32), np.float64(2.0), np.ones(1, np.int16))
        for number, scalar in enumerate(constants(np.dtype(dtype))):
            forms = (scalar, np.array(scalar), np.array([scalar, scalar * 0, scalar]))
            pairs = [*itertools.product(forms, operands)]
            every = by_day(4, 1)
            for c, x in pairs[number % every :: every] if number else pairs:
                if np.result_type(x, c).kind != "c":
                    assert_same(tj.function(f, cache=False)(x), f(x))
                else:
                    assert_same(tj.function(lambda x: f(x)[:4], cache=False)(x), f(x)[:4])


def test_a_warning_of_numpys_is_given_at_every_call() -> None:
    compiled = tj.function(lambda x: 1.0 / x)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            compiled(np.zeros(3))


def test_an_error_of_numpys_keeps_its_type() -> None:
    compiled = tj.function(lambda x: np.linalg.solve(x, x))
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            compiled(np.zeros((2, 2)))
    assert_same(compiled(2.0 * np.eye(2)), np.eye(2))


def test_a_number_out_of_range_raises_as_numpy_does() -> None:
    compiled = tj.function(lambda x, n: x + n)
    x = np.arange(3, dtype=np.uint8)
    for number in (1, 2, 3, 300, 4, 301):
        if number < 256:
            assert_same(compiled(x, number), x + np.uint8(number))
        else:
            with pytest.raises(OverflowError):
                compiled(x, number)


# Results are new, arguments are left alone


def aliases(x: Any, y: Any) -> Any:
    return x, x, x[:], x.T, x[0], y, {"x": x, "y": y}, np.broadcast_to(y, (2, 3)), x.reshape(-1)


def test_results_are_fresh_and_distinct() -> None:
    compiled = tj.function(aliases)
    first, second = compiled(X, Y), compiled(X, Y)
    arrays = [X, Y]
    for result in (first, second):
        arrays += [*result[:6], *result[6].values(), *result[7:]]
    for number, one in enumerate(arrays):
        assert not any(np.may_share_memory(one, other) for other in arrays[:number])
    assert all(one.flags.writeable for one in arrays)


@pytest.mark.parametrize("size", [3, 1000])
def test_writing_to_a_result_changes_no_later_one(size: int) -> None:
    table = np.arange(float(size))

    def f(x: Any) -> Any:
        return np.ones(size), np.arange(size), table, x, np.zeros_like(x), x + 1.0

    compiled = tj.function(f)
    x = np.full(size, 2.0)
    expected = [np.copy(one) for one in f(x)]
    for _ in range(3):
        found = compiled(x)
        assert_same(list(found), expected)
        for one in found:
            one[:] = 99
    assert_same(table, np.arange(float(size)))


@pytest.mark.parametrize("size", [3, 1000])
def test_arguments_are_not_written_to(size: int) -> None:
    def f(x: Any, y: Any) -> Any:
        h = x + y
        h = h * x
        h = np.tanh(h)
        return (h - y) / x, x * x, np.exp(y) * h

    x, y = np.linspace(1, 2, size), np.linspace(3, 4, size)
    x.flags.writeable = y.flags.writeable = False
    assert_same(tj.function(f)(x, y), f(x, y))


def test_an_argument_changed_between_calls_counts() -> None:
    compiled = tj.function(affine)
    x = X.copy()
    for number in range(4):
        x[0, 0] = number
        assert_same(compiled(x, Y), affine(x, Y))
    assert len(compiled.kernels) == 1


# What selects a kernel


def choose(x: Any, option: Any) -> Any:
    if option in ("double", Colour.RED, np.dtype("f4"), np.float32, frozenset([1]), True, 2):
        return x * 2.0
    return x * 3.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("double", "triple"),
        (Colour.RED, Colour.BLUE),
        (True, False),
        (True, None),
        (np.dtype("f4"), np.dtype("f8")),
        (np.float32, np.float64),
        (frozenset([1]), frozenset([2])),
        (2, "2"),
        (True, 1.5),
    ],
    ids=repr,
)
def test_a_static_argument_selects_its_kernel(one: Any, other: Any) -> None:
    compiled = tj.function(choose)
    for _ in range(2):
        for option in (one, other):
            assert_same(compiled(X, option), choose(X, option))
    assert len(compiled.kernels) == 2


def test_equal_static_arguments_share_a_kernel() -> None:
    compiled = tj.function(choose)
    for text in ("double", "".join(["dou", "ble"])):
        compiled(X, text)
    assert len(compiled.kernels) == 1


def test_another_dtype_shape_or_structure_makes_another_kernel() -> None:
    compiled = tj.function(lambda x: x)
    calls = [X, X.astype("f4"), X[0], X[:, :2], np.float64(1.0), np.array(1.0), [X], (X,), {"x": X}]
    for number, argument in enumerate(calls, start=1):
        for _ in range(2):
            assert_same(compiled(argument), argument)
        assert len(compiled.kernels) == number


def spelled(x: Any) -> Any:
    """What a function can tell apart of a number."""
    return {int: 1, float: 2, bool: 3, complex: 4}.get(type(x), 5), 1.0 / np.copysign(1.0, x.real)


NUMBERS = [1, 1.0, True, np.float64(1.0), 0, 0.0, -0.0, False, 1j, complex(-0.0, 1)]


def test_numbers_that_are_equal_but_not_the_same_share_no_kernel() -> None:
    for first in NUMBERS:
        compiled = tj.function(lambda x: (x, x * 2))
        for number in (first, *NUMBERS, first):
            assert_same(compiled(number), (number, number * 2))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), complex("nan")])
def test_numbers_that_are_not_finite(number: Any) -> None:
    compiled = tj.function(lambda x, n: x * n)
    for _ in range(2):
        assert_same(compiled(Y, number), Y * number)
    assert len(compiled.kernels) == 1
    for other in (1.0, number, 2.0):
        assert_same(compiled(Y, other), Y * other)


@pytest.mark.parametrize("start", [0.5, 3], ids=["float", "int"])
def test_a_schedule_makes_two_kernels(start: float) -> None:
    def step(x: Any, rate: Any) -> Any:
        return x - rate * 0.5 * x + rate**2, rate * 2

    compiled = tj.function(step)
    for number in range(20):
        rate = start + number * (0.25 if isinstance(start, float) else 1)
        assert_same(compiled(X, rate), step(X, rate))
    assert len(compiled.kernels) == 2
    assert compiled.tracing_count == 2


@pytest.mark.parametrize("start", [0.5, 3], ids=["float", "int"])
def test_two_schedules_make_three_kernels(start: float) -> None:
    compiled = tj.function(lambda x, a, b: x * a + b)
    for number in range(5):
        for other in range(5):
            a, b = start + number, start + other * 2
            assert_same(compiled(X, a, b), X * a + b)
    assert len(compiled.kernels) <= 4


def test_a_number_that_python_reads_is_guarded() -> None:
    def power(x: Any, n: Any, label: str = "") -> Any:
        out = x
        for _ in range(n):
            out = out * x
        return out, f"{label}{n}", [x] * n

    compiled = tj.function(power)
    for n in (2, 3, 2, 5, 3, 0):
        assert_same(compiled(Y, n, label="n"), power(Y, n, label="n"))
    assert len(compiled.kernels) == 4


def test_a_number_that_decides_is_guarded() -> None:
    def clipped(x: Any, limit: Any) -> Any:
        if limit > 1.0:
            return x * limit
        return x + float(limit) + round(limit) + int(limit) + bool(limit)

    compiled = tj.function(clipped)
    for limit in (0.5, 2.0, 0.75, 2.5, 0.0, -0.0, 0.5):
        assert_same(compiled(Y, limit), clipped(Y, limit))


def test_static_argnums_and_argnames_keep_numbers_static() -> None:
    for options in ({"static_argnames": "n"}, {"static_argnums": 1}, {"static_argnames": ("n",)}):
        compiled = tj.function(lambda x, n: x * n, **options)
        for n in (1, 2, 3):
            assert_same(compiled(Y, n), Y * n)
        assert len(compiled.kernels) == 3


def test_a_dict_keeps_the_callers_order() -> None:
    def fold(layers: dict[str, Any]) -> Any:
        out = 0.0
        for value in layers.values():
            out = out * 10.0 + value
        return {**layers, "out": out}

    compiled = tj.function(fold)
    for layers in ({"b": X, "a": Y}, {"a": Y, "b": X}, {"b": X, "a": Y}):
        assert_same(compiled(layers), fold(layers))
    assert len(compiled.kernels) == 2


# How it is called


def every_kind(a: Any, /, b: Any, c: Any = 2.0, *rest: Any, d: Any, e: Any = Y, **more: Any) -> Any:
    named = {name: value * 2.0 for name, value in more.items()}
    return a * 1.0 + b, c * Y, d + e, [one + 1.0 for one in rest], named


CALLS: dict[str, tuple[Callable[..., Any], list[tuple[tuple[Any, ...], dict[str, Any]]]]] = {
    "default given or not": (
        lambda x, k=Y: x + k,
        [((X,), {}), ((X, Y), {}), ((X,), {"k": Y}), ((), {"k": Y, "x": X})],
    ),
    "numeric default": (lambda x, k=2.0: x * k, [((X,), {}), ((X, 2.0), {}), ((), {"x": X})]),
    "keywords in any order": (
        lambda x, y: x - y,
        [((X, Y), {}), ((), {"y": Y, "x": X}), ((X,), {"y": Y})],
    ),
    "positional only": (lambda x, y=Y, /: x - y, [((X,), {}), ((X, Y), {})]),
    "keyword only": (lambda x, *, y, z=Y: x - y * z, [((X,), {"y": Y}), ((), {"y": Y, "x": X})]),
    "varargs": (lambda *xs: sum(xs), [((X, Y, X), {})]),
    "no varargs": (lambda *xs: xs, [((), {})]),
    "keyword arguments": (lambda **p: p["a"] - p["b"], [((), {"a": X, "b": Y})]),
    "every kind": (every_kind, [((X, Y, 2.0, X), {"d": 1.0, "e": Y, "f": X})]),
    "every kind, by default": (every_kind, [((X, Y), {"d": 1.0}), ((X,), {"b": Y, "d": 1.0})]),
    "mutable default": (lambda x, p={"k": 2.0}: x * p["k"], [((X,), {})]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_arguments_are_bound_as_python_binds_them(name: str) -> None:
    function, calls = CALLS[name]
    compiled = tj.function(function)
    for _ in range(2):
        for args, kwargs in calls:
            assert_same(compiled(*args, **kwargs), function(*args, **kwargs))
    assert len(compiled.kernels) == 1


@pytest.mark.parametrize("calls_before", [0, 1, 3])
def test_a_call_that_does_not_fit_is_an_arity_error(calls_before: int) -> None:
    compiled = tj.function(lambda x, y, *, z=0.0: x + y + z)
    for _ in range(calls_before):
        compiled(X, Y)
    misfits: list[tuple[Any, Any]] = [((), {}), ((X,), {}), ((X, Y, Y), {}), ((X,), {"x": X})]
    for args, kwargs in [*misfits, ((X, Y), {"w": 1})]:
        with pytest.raises(ArityError, match=r"^lambda_\(\) cannot be called like this: "):
            compiled(*args, **kwargs)
    assert_same(compiled(X, Y), X + Y + 0.0)


def test_names_of_parameters_and_functions_hide_nothing() -> None:
    def type(_0, _1, _ndarray, len, repr, tuple, abs, np_, residuals, tanh, out_bar, zeros):
        parts = [_0, _1, _ndarray, len, repr, tuple, abs, np_, residuals, out_bar, zeros]
        return {"out": np.tanh(tanh) + sum(parts), "zeros": np.zeros(3) + zeros, "t": tuple * Y}

    arguments = [X + k for k in range(12)]
    compiled = tj.function(type)
    for _ in range(2):
        assert_same(compiled(*arguments), type(*arguments))
    slope = tj.value_and_grad(lambda *xs: np.sum(type(*xs)["out"] ** 2), argnums=(0, 9))
    value, gradients = slope(*arguments)
    np.testing.assert_allclose(value, np.sum(type(*arguments)["out"] ** 2), rtol=1e-14)
    assert np.all(gradients[0] != gradients[1])


@pytest.mark.parametrize("name", ["_0", "type", "_tj_0", "forward", "λ", "np", "__call__", "_"])
def test_any_name_of_a_function(name: str) -> None:
    def f(x: Any, kind: str) -> Any:
        return {"x": x + 1.0, kind: x}

    f.__name__ = f.__qualname__ = name
    compiled = tj.function(f)
    for _ in range(2):
        assert_same(compiled(X, "k"), f(X, "k"))


@pytest.mark.parametrize("name", ["my loss", "class", "1st", "a.b", ""])
def test_any_name_given_as_option(name: str) -> None:
    compiled = tj.function(lambda x: x + 1.0, name=name)
    assert_same(compiled(X), X + 1.0)


class Model:
    """Methods of every kind."""

    scale = 3.0

    def __init__(self, w: Any) -> None:
        self.w = w

    @tj.function
    def method(self, x: Any, power: int = 1) -> Any:
        return x * self.w * self.scale**power

    @tj.function
    def __call__(self, x: Any) -> Any:
        return self.method(x) + self.helper(x)

    def helper(self, x: Any) -> Any:
        return x - self.w

    @staticmethod
    @tj.function
    def static(x: Any) -> Any:
        return x + 1.0

    @classmethod
    @tj.function
    def of_class(cls, x: Any) -> Any:
        return x * cls.scale


def test_methods_bind_to_their_instance() -> None:
    one, other = Model(2.0 * Y), Model(Y + 1.0)
    for _ in range(2):
        for model in (one, other):
            assert_same(model.method(X), X * model.w * 3.0**1)
            assert_same(model.method(X, power=2), X * model.w * 3.0**2)
            assert_same(model(X), X * model.w * 3.0**1 + (X - model.w))
    assert_same(Model.method(one, X), one.method(X))
    assert_same(Model.static(X), X + 1.0)
    assert_same(one.static(X), X + 1.0)
    assert_same(Model.of_class(X), X * 3.0)


def test_a_method_sees_its_instance_change() -> None:
    model = Model(Y)
    model.method(X)
    model.w = Y + 5.0
    assert_same(model.method(X), X * (Y + 5.0) * 3.0**1)
    model.w[0] = 100.0
    assert_same(model.method(X), X * model.w * 3.0**1)
    model.scale = 4.0
    assert_same(model.method(X), X * model.w * 4.0**1)


class Callable_:
    def __init__(self) -> None:
        self.k = 2.0

    def __call__(self, x: Any) -> Any:
        return x * self.k


@pytest.mark.parametrize(
    "function",
    [
        Callable_(),
        Model(Y).helper,
        functools.partial(lambda x, y: x - y, y=Y),
        functools.partial(lambda x, y: x - y, Y),
        functools.partial(functools.partial(lambda x, y, z: x - y * z, z=2.0), Y),
        np.tanh,
        functools.lru_cache(lambda x: x),
        tj.function(lambda x: x + 1.0),
        lambda x: x,
    ],
    ids=lambda function: type(function).__name__,
)
def test_whatever_can_be_called_can_be_compiled(function: Any) -> None:
    argument = X if not hasattr(function, "cache_info") else 2.5
    compiled = tj.function(function)
    for _ in range(2):
        assert_same(compiled(argument), function(argument))


def test_a_function_that_is_one_already_is_left_alone() -> None:
    compiled = tj.function(affine)
    assert tj.function(compiled) is compiled


def test_decorators_with_and_without_options() -> None:
    @tj.function
    def plain(x: Any) -> Any:
        return x + 1.0

    @tj.function()
    def called(x: Any) -> Any:
        return x + 1.0

    @tj.function(name="other", cache=False)
    def named(x: Any) -> Any:
        return x + 1.0

    for compiled in (plain, called, named):
        assert_same(compiled(X), X + 1.0)
    assert "def forward(x)" in named.source
    assert named.source.startswith('"""other: forward')


def test_a_compiled_function_looks_like_the_one_it_wraps() -> None:
    @tj.function
    def documented(x: float, y: float = 2.0) -> float:
        """Add."""
        return x + y

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Add."
    assert documented.__wrapped__ is documented.python
    assert list(inspect.signature(documented).parameters) == ["x", "y"]
    assert repr(documented) == "<tracejit function documented, 0 kernels>"
    documented(1.0)
    assert repr(documented) == "<tracejit function documented, 1 kernel>"


@pytest.mark.parametrize("is_checked", [False, True])
def test_a_notebook_hides_the_frames_of_tracejit(is_checked: bool) -> None:
    """IPython and pytest leave out frames with this name among their variables."""
    compiled = tj.function(lambda x: np.log(x) if is_checked else x + np.ones(4))
    run = compiled.kernel(np.ones(3)).checked().forward if is_checked else compiled
    with pytest.raises(tj.TracejitError) as caught:
        run(np.zeros(3))
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    shown = [frame for frame in frames if "__tracebackhide__" not in frame.f_locals]
    package = str(Path(tj.__file__).parent)
    assert not [one for one in shown if one.f_code.co_filename.startswith(package)]


# Functions in functions


def test_a_compiled_function_in_another_is_recorded_into_it() -> None:
    inner = tj.function(lambda x, k: np.tanh(x) * k)
    outer = tj.function(lambda x: inner(x, 2.0) + inner(k=3.0, x=x))
    for _ in range(2):
        assert_same(outer(X), np.tanh(X) * 2.0 + np.tanh(X) * 3.0)
    assert not inner.kernels
    assert_same(inner(X, 2.0), np.tanh(X) * 2.0)


@tj.function
def power(x: Any, n: Any) -> Any:
    """x ** n, by recursion."""
    return x if n == 1 else x * power(x, n - 1)


@tj.function
def even(x: Any, n: int) -> Any:
    return x if n == 0 else odd(x + 1.0, n - 1)


@tj.function
def odd(x: Any, n: int) -> Any:
    return -x if n == 0 else even(x * 2.0, n - 1)


def test_recursion() -> None:
    for n in (1, 2, 5, 3, 2):
        expected = X
        for _ in range(n - 1):
            expected = X * expected
        assert_same(power(X, n), expected)
    assert_same(even(X, 4), (((X + 1.0) * 2.0) + 1.0) * 2.0)
    assert_same(even(X, 3), -(((X + 1.0) * 2.0) + 1.0))


def test_functions_made_in_a_loop_are_different() -> None:
    made = [tj.function(lambda x, k=k: x * k) for k in (1.0, 2.0)]
    bound = [tj.function(lambda x: x * k) for k in (1.0, 2.0)]  # noqa: B023
    assert [float(f(2.0)) for f in made] == [2.0, 4.0]
    assert [float(f(2.0)) for f in bound] == [4.0, 4.0]


# Errors on the way


def test_an_error_halfway_leaves_the_function_usable() -> None:
    fails = [True]

    @tj.function
    def f(x: Any) -> Any:
        h = np.tanh(x)
        if fails[0]:
            raise KeyError("halfway")
        return h * 2.0

    for _ in range(2):
        with pytest.raises(KeyError, match="halfway"):
            f(X)
    fails[0] = False
    assert_same(f(X), np.tanh(X) * 2.0)
    fails[0] = True
    with pytest.raises(KeyError, match="halfway"):
        f(X)
    assert_same(tj.function(affine)(X, Y), affine(X, Y))


def test_an_error_that_the_function_catches_itself() -> None:
    @tj.function
    def f(x: Any) -> Any:
        try:
            return x + float(x[0, 0])
        except ValueNeededError:
            return x + 1.0

    for _ in range(2):
        assert_same(f(X), X + 1.0)


def test_a_tensor_kept_from_a_recording_is_refused() -> None:
    box = queue.SimpleQueue[Any]()

    @tj.function
    def f(x: Any) -> Any:
        box.put(x * 2.0)
        return x

    f(X)
    kept = box.get()
    for use in (
        lambda: kept + 1.0,
        lambda: np.tanh(kept),
        lambda: kept.sum(),
        lambda: float(kept),
        lambda: tj.function(lambda y: kept + y)(Y),
        lambda: f(kept),
        lambda: tj.grad(lambda w: np.sum(w * kept))(X),
    ):
        with pytest.raises(LeakedTensorError):
            use()


class Holder:
    def __init__(self, x: Any) -> None:
        self.parts = [x]


def generator(x: Any) -> Iterator[Any]:
    yield x * 2.0


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (generator, "a generator"),
        (lambda x: {x * 2.0}, "a set"),
        (lambda x: collections.Counter(x=x * 2.0), "a Counter"),
        (lambda x: Holder(x * 2.0), "a Holder"),
        (lambda x: [bytearray(b"abc")], "a bytearray"),
    ],
)
def test_a_result_that_cannot_be_made_again_is_refused(function: Any, kind: str) -> None:
    with pytest.raises(ArgumentError, match=rf"a result of \w+ is {kind}, not an array"):
        tj.function(function)(X)


@pytest.mark.parametrize(
    "value", [None, "text", b"bytes", Colour.RED, np.dtype("f4"), np.float32, np.tanh, 2, Model(Y)]
)
def test_a_result_that_is_no_array_is_itself(value: Any) -> None:
    found, same = tj.function(lambda x: (x * 2.0, value))(X)
    assert_same(found, X * 2.0)
    assert same is value


# What Python asks of an argument


def kinds(x: Any, a: Any, n: Any) -> Any:
    """A branch for each kind, as functions of mixed arguments have."""
    out = [x * 2.0 if isinstance(x, np.ndarray) else x * 3.0]
    out.append(x + 1.0 if isinstance(a, float) else x - 1.0)
    out.append(x + 2.0 if isinstance(n, int) else x - 2.0)
    out.append(x + 3.0 if isinstance(a, numbers.Real) else x - 3.0)
    out.append(x + 4.0 if isinstance(x[0, 0], np.floating) else x - 4.0)
    out.append(x + 5.0 if isinstance(a, (int, str)) else x - 5.0)
    out.append(dispatched(x))
    return out


@functools.singledispatch
def dispatched(value: Any) -> Any:
    return value * 7.0


@dispatched.register
def _(value: np.ndarray) -> Any:
    return value * 9.0


def test_isinstance_holds_while_recording() -> None:
    compiled = tj.function(kinds)
    for a, n in ((0.5, 2), (1.5, 3), (2.5, 4), (2, 4.5), (3, 5.5)):
        assert_same(compiled(X, a, n), kinds(X, a, n))


def test_a_number_is_a_key_and_an_element() -> None:
    table = {2.0: 10.0, 3.0: 20.0, 5: 30.0}

    def f(x: Any, a: Any) -> Any:
        return x * table.get(a, 1.0) + (a in (2.0, 5)) + [2.0, 3.0, 5, 7.5].index(a)

    compiled = tj.function(f)
    for a in (2.0, 3.0, 7.5, 2.0, 3.0):
        assert_same(compiled(Y, a), f(Y, a))
    assert tj.function(f)(Y, 5)[0] == f(Y, 5)[0]


def test_lists_and_texts_are_repeated_and_compared_as_in_python() -> None:
    def f(x: Any, n: Any) -> Any:
        parts = [x] * n + n * [x + 1.0]
        return parts, "ab" * n, n == "text", n != None, (1, 2) * n, n in ("a", None)  # noqa: E711

    compiled = tj.function(f)
    for n in (2, 3, 1, 0, 2):
        assert_same(compiled(Y, n), f(Y, n))


# What it reads besides its arguments

K = 2.0
ARRAY = np.array([1.0, 2.0, 3.0])


class Namespace:
    pass


class Slots:
    __slots__ = ("k",)

    def __init__(self) -> None:
        self.k = 2.0


class Defaults:
    k = 2.0

    def get(self) -> float:
        return self.k

    @property
    def doubled(self) -> float:
        return 2.0 * self.k

    def __getitem__(self, name: str) -> float:
        return getattr(self, name)


def helper_with_default(x: Any, k: Any = ARRAY + 0.0, *, shift: Any = np.zeros(3)) -> Any:  # noqa: B008
    return x * k + shift


Case = tuple[Callable[[Any], Any], Callable[[], None]]


def captures() -> Iterator[Any]:
    """Functions that read something, each with what changes it."""

    def case(name: str, function: Callable[[Any], Any], change: Callable[[], Any]) -> Any:
        return pytest.param(function, change, id=name)

    box: dict[str, Any] = {"k": 2.0, "deep": {"list": [1.0, np.ones(3)]}, "array": np.ones(3)}
    yield case("dict value", lambda x: x * box["k"], lambda: box.update(k=3.0))
    yield case("array in a dict", lambda x: x * box["array"], lambda: box["array"].fill(5.0))
    deep = box["deep"]
    yield case(
        "array deep down", lambda x: x * box["deep"]["list"][1], lambda: deep["list"][1].fill(5.0)
    )
    yield case("list in a dict", lambda x: x + len(box["deep"]["list"]), lambda: deep["list"].pop())
    rows = [np.ones(3), np.ones(3)]
    yield case("list that grows", lambda x: x + sum(rows), lambda: rows.append(np.ones(3)))
    sizes = {1, 2}
    yield case("set", lambda x: x + len(sizes), lambda: sizes.add(3))
    computed = np.ones(3)
    yield case("array computed with", lambda x: x * np.exp(computed), lambda: computed.fill(5.0))
    read = np.ones(3)
    yield case("array read", lambda x: x * float(read[1]), lambda: read.fill(5.0))
    part = np.ones((3, 3))
    yield case("view of an array", lambda x: x * part[1], lambda: part.fill(5.0))
    base = np.ones(6)
    view = base[::2]
    yield case("view, changed through its base", lambda x: x * view, lambda: base.fill(5.0))
    spread = np.broadcast_to(base[:1], (3,))
    yield case("read-only view", lambda x: x * np.exp(spread), lambda: base.fill(7.0))
    large = np.ones(300_000)
    yield case("large array", lambda x: x * np.sum(large), lambda: large.fill(5.0))
    shaped = np.ones(6)
    yield case("shape", lambda x: x + shaped.shape[0], lambda: shaped.resize(12, refcheck=False))
    thing = Namespace()
    thing.k, thing.inner = 2.0, Namespace()  # type: ignore[attr-defined]
    thing.inner.k = np.ones(3)  # type: ignore[attr-defined]
    yield case("attribute", lambda x: x * thing.k, lambda: setattr(thing, "k", 3.0))
    yield case(
        "attribute of an attribute",
        lambda x: x * thing.inner.k,
        lambda: setattr(thing.inner, "k", np.full(3, 3.0)),
    )
    looked_up = Namespace()
    looked_up.w1 = 2.0  # type: ignore[attr-defined]
    yield case(
        "attribute by name",
        lambda x: x * getattr(looked_up, f"w{1}"),
        lambda: setattr(looked_up, "w1", 3.0),
    )
    optional = Namespace()
    optional.other = 1  # type: ignore[attr-defined]
    yield case(
        "attribute that was missing",
        lambda x: x * (optional.k if hasattr(optional, "k") else 1.0),
        lambda: setattr(optional, "k", 3.0),
    )
    slots = Slots()
    yield case("slot", lambda x: x * slots.k, lambda: setattr(slots, "k", 3.0))
    defaults = [Defaults() for _ in range(5)]
    yield case("hidden class attribute", lambda x: x * defaults[0].k,
               lambda: setattr(defaults[0], "k", 3.0))  # fmt: skip
    yield case("method", lambda x: x * defaults[1].get(), lambda: setattr(defaults[1], "k", 3.0))
    yield case("property", lambda x: x * defaults[2].doubled,
               lambda: setattr(defaults[2], "k", 3.0))  # fmt: skip
    yield case("__getitem__", lambda x: x * defaults[3]["k"],
               lambda: setattr(defaults[3], "k", 3.0))  # fmt: skip
    replaced = type("Replaced", (), {"k": 2.0, "act": lambda self, x: x * 2.0})
    instance = replaced()
    yield case("class attribute", lambda x: x * replaced.k, lambda: setattr(replaced, "k", 3.0))
    yield case(
        "method replaced",
        lambda x: instance.act(x),
        lambda: setattr(replaced, "act", lambda self, x: x * 3.0),
    )
    yield case("default of a helper", helper_with_default,
               lambda: helper_with_default.__defaults__[0].fill(9.0))  # fmt: skip
    yield case("keyword default of a helper", helper_with_default,
               lambda: helper_with_default.__kwdefaults__["shift"].fill(1.0))  # fmt: skip
    pair = Point(np.ones(3), 2.0)
    yield case("NamedTuple", lambda x: x * np.exp(pair.x), lambda: pair.x.fill(5.0))
    layer = Layer(np.ones(3), 2.0)
    yield case("dataclass", lambda x: x * layer.b, lambda: setattr(layer, "b", 5.0))
    inner_function = tj.function(lambda x: x * box["j"])
    box["j"] = 1.0
    yield case("compiled function", lambda x: inner_function(x), lambda: box.update(j=5.0))
    marked = tj.custom_gradient(lambda x: (x * box["m"], lambda g: g))
    box["m"] = 1.0
    yield case("custom gradient", lambda x: marked(x), lambda: box.update(m=5.0))
    partial = functools.partial(lambda w, x: x * w, computed)
    yield case("partial", lambda x: partial(x), lambda: computed.fill(11.0))
    cell = 2.0

    def rebind() -> None:
        nonlocal cell
        cell = 3.0

    yield case("closure", lambda x: x * cell, rebind)
    yield case("global number", lambda x: x * K, lambda: globals().update(K=3.0))
    yield case("global array", lambda x: x * ARRAY, lambda: globals().update(ARRAY=np.zeros(3)))


CASES = list(captures())


@each_row(("function", "change"), CASES)
def test_a_change_of_what_a_function_reads_is_seen(
    function: Callable[[Any], Any], change: Callable[[], Any]
) -> None:
    # A helper, so that defaults are read by what is compiled, not its arguments.
    compiled = tj.function(lambda x: function(x))
    before = function(Y)
    for _ in range(2):
        assert_same(compiled(Y), before)
    assert len(compiled.kernels) == 1
    change()
    after = function(Y)
    assert not np.array_equal(before, after)
    for _ in range(2):
        assert_same(compiled(Y), after)
    assert len(compiled.kernels) <= 2


STANDARD: dict[str, tuple[Any, Callable[[Any, Any], Any], Callable[[Any], None]]] = {
    type(made).__name__: (made, lambda made, x: x * made["k"], lambda made: made.update(k=3.0))
    for made in (
        collections.OrderedDict(k=2.0),
        collections.defaultdict(float, k=2.0),
        collections.UserDict(k=2.0),
        collections.ChainMap({"k": 2.0}),
        type("Config", (dict,), {})(k=2.0),
        {"k": 2.0},
    )
} | {
    type(made).__name__: (made, lambda made, x: x * made[0], lambda made: made.__setitem__(0, 3.0))
    for made in (collections.deque([2.0]), collections.UserList([2.0]), [2.0])
}
STANDARD["SimpleNamespace"] = (
    types.SimpleNamespace(k=2.0), lambda made, x: x * made.k, lambda made: setattr(made, "k", 3.0)
)  # fmt: skip
inside = {"k": 2.0}
STANDARD["MappingProxyType"] = (
    types.MappingProxyType(inside), lambda made, x: x * made["k"], lambda made: inside.update(k=3.0)
)  # fmt: skip


@pytest.mark.parametrize("name", STANDARD)
def test_a_change_in_any_standard_container_is_seen(name: str) -> None:
    made, read, change = STANDARD[name]
    compiled = tj.function(lambda x: read(made, x))
    for _ in range(2):
        assert_same(compiled(Y), Y * 2.0)
    change(made)
    assert_same(compiled(Y), Y * 3.0)
    assert len(compiled.kernels) == 2


def test_a_function_that_changes_what_it_reads_runs_at_every_call() -> None:
    calls: list[int] = []
    count = [0]

    @tj.function
    def f(x: Any) -> Any:
        calls.append(len(calls))
        count[0] += 1
        return x * count[0]

    for number in range(1, 4):
        assert_same(f(X), X * number)
    assert calls == [0, 1, 2]


def test_what_a_function_makes_on_its_first_call_stays() -> None:
    class Lazy:
        table: Any = None

        @tj.function
        def scaled(self, x: Any) -> Any:
            if self.table is None:
                self.table = np.arange(1.0, 4.0)
            return x * self.table

    lazy = Lazy()
    for _ in range(4):
        assert_same(lazy.scaled(X), X * np.arange(1.0, 4.0))
    table = lazy.table
    assert Lazy.scaled.tracing_count == 2
    table[:] = 2.0
    assert_same(lazy.scaled(X), X * 2.0)


def test_a_captured_array_is_an_argument_of_one_kernel() -> None:
    w = np.ones(3)
    compiled = tj.function(lambda x: x @ w)
    for number in range(20):
        w[:] = number
        assert_same(compiled(X), X @ w)
    assert len(compiled.kernels) == 1
    assert len(compiled._table.compiled) == 1
    assert "w" in inspect.signature(compiled.kernels[-1].forward).parameters


def test_a_captured_array_that_is_read_only_is_not_compared() -> None:
    w = np.ones(3)
    w.flags.writeable = False
    compiled = tj.function(lambda x: x @ np.exp(w))
    assert_same(compiled(X), X @ np.exp(w))
    w.flags.writeable = True
    w[0] = 5.0
    w.flags.writeable = False
    assert_same(compiled(X), X @ np.exp(np.ones(3)))
    assert compiled.tracing_count == 1
    w.flags.writeable = True
    assert_same(compiled(X), X @ np.exp(w))


def test_gradients_see_captures_change() -> None:
    w = np.ones(3)
    slope = tj.grad(lambda x: np.sum(x * w * w))
    assert_same(slope(Y), np.ones(3))
    w[0] = 3.0
    assert_same(slope(Y), np.array([9.0, 1.0, 1.0]))


# Threads


def on_threads(count: int, work: Callable[[int], None]) -> None:
    """Run work(0), work(1), ... at once; raise what any of them raised."""
    start = threading.Barrier(count)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            start.wait(10)
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def test_eight_threads_call_one_signature() -> None:
    for _ in range(5):
        compiled = tj.function(lambda x, y: np.tanh(x @ y) * 2.0)
        expected = np.tanh(X @ Y) * 2.0

        def work(number: int, compiled: Any = compiled, expected: Any = expected) -> None:
            for _ in range(20):
                assert_same(compiled(X, Y), expected)

        on_threads(8, work)


def test_eight_threads_make_new_signatures() -> None:
    compiled = tj.function(lambda x: np.sum(np.tanh(x) * x))
    slope = tj.value_and_grad(compiled)

    def work(number: int) -> None:
        for size in range(1, 8):
            x = np.linspace(0.0, 1.0, size * 8 + number % 4)
            value, gradient = slope(x)
            for found in (value, compiled(x)):
                np.testing.assert_allclose(found, np.sum(np.tanh(x) * x), rtol=1e-14)
            assert np.allclose(gradient, np.tanh(x) + x / np.cosh(x) ** 2)

    on_threads(8, work)


def test_threads_that_call_each_others_functions() -> None:
    @tj.function
    def first(x: Any, n: int) -> Any:
        return x if n == 0 else second(x + 1.0, n - 1)

    @tj.function
    def second(x: Any, n: int) -> Any:
        return x if n == 0 else first(x * 2.0, n - 1)

    def work(number: int) -> None:
        called, other = (first, second) if number % 2 else (second, first)
        for n in range(5):
            assert_same(called(X, n), called.python(X, n))
            assert_same(other(X, n), other.python(X, n))

    on_threads(8, work)


def test_a_change_on_another_thread_while_recording() -> None:
    state = {"k": 1.0}
    recording, changed = threading.Event(), threading.Event()

    @tj.function
    def f(x: Any) -> Any:
        y = x * state["k"]
        if not changed.is_set():
            recording.set()
            changed.wait(10)
        return y

    def change() -> None:
        recording.wait(10)
        state["k"] = 5.0
        changed.set()

    thread = threading.Thread(target=change)
    thread.start()
    first = f(Y)
    thread.join()
    assert_same(first, Y)
    assert_same(f(Y), Y * 5.0)
