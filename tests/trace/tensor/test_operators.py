"""Operators and methods of Tensors, made from what they stand for."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret, record, run
from tests.rows import each_row
from tests.support.compare import assert_same
from tracejit.ops.elementwise.weak import BINARY, UNARY
from tracejit.support.errors import InPlaceError
from tracejit.trace.tensor.operators import is_foreign, is_weak, method_of, refused

NUMBERS = (3, 2.5)
OTHERS: dict[str, Any] = {
    "array": np.array([1, 2, 3]),
    "scalar": np.int64(3),
    "int": 2,
    "0-d": np.array(2),
}


def answers(function: Callable[..., Any], *args: Any) -> None:
    """Assert that a recording computes what Python and NumPy do."""
    graph, _ = record(function, *args)
    inputs = [arg for arg in args if type(arg) is not bool]
    assert_same(interpret(graph, *inputs), [function(*args)])


@each_row("other", OTHERS)
@each_row("symbol", BINARY)
def test_an_operator_and_its_reflection(symbol: str, other: str) -> None:
    function = BINARY[symbol]
    given = np.array([4, 5, 6])
    answers(lambda x, y: function(x, y), given, OTHERS[other])
    answers(lambda x, y: function(y, x), given, OTHERS[other])
    plain = OTHERS[other]
    answers(lambda x: function(x, plain), given)
    answers(lambda x: function(plain, x), given)


@each_row("number", NUMBERS)
@each_row("symbol", BINARY)
def test_between_python_numbers_it_is_pythons_arithmetic(symbol: str, number: Any) -> None:
    function = BINARY[symbol]
    if isinstance(number, float) and symbol in ("&", "|", "^", "<<", ">>"):
        with pytest.raises(TypeError):
            run(lambda a: function(a, 2), number)
        return
    answers(lambda a, b: function(a, b), number, 2)
    answers(lambda a: function(a, 2), number)
    answers(lambda a: function(2, a), number)


@pytest.mark.parametrize("symbol", UNARY)
@pytest.mark.parametrize("operand", [np.array([-1, 2]), np.int64(-3), -3])
def test_unary(symbol: str, operand: Any) -> None:
    function = UNARY[symbol]
    answers(lambda x: function(x), operand)


AUGMENTED = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "//=": operator.ifloordiv, "%=": operator.imod, "**=": operator.ipow, "&=": operator.iand,
    "|=": operator.ior, "^=": operator.ixor, "<<=": operator.ilshift, ">>=": operator.irshift,
}  # fmt: skip


@pytest.mark.parametrize("symbol", AUGMENTED)
def test_augmented_assignment_rebinds_numbers_and_writes_into_arrays(symbol: str) -> None:
    function = AUGMENTED[symbol]

    def both(x: Any) -> Any:
        before = x
        x = function(x, 2)
        return before * 7 + x

    for number in (5, np.int64(5)):
        answers(both, number)
    for array in (np.array([5, 6]), np.array(5)):
        if symbol == "/=":
            with pytest.raises(InPlaceError, match="cannot cast from float64 to int64"):
                run(lambda x: function(x, 2), array)
        else:
            answers(lambda x: both(x + 0), array)


@pytest.mark.parametrize("other", ["text", None, [1.0], (1, 2), {"k": 1}, object()], ids=type)
def test_python_decides_between_a_number_and_what_is_no_number(other: Any) -> None:
    def f(n: Any) -> Any:
        assert is_foreign(n, other)
        assert (n == other) is False
        assert (n != other) is True
        with pytest.raises(TypeError):
            n - other
        with pytest.raises(TypeError):
            other - n
        return n

    run(f, 3)


def test_an_operand_that_turns_numpy_away_decides_itself() -> None:
    class Own:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "mine"

    def f(x: Any) -> Any:
        assert x + Own() == "mine"
        return x

    run(f, np.ones(3))


def test_what_is_weak() -> None:
    def f(array: Any, scalar: Any, number: Any) -> Any:
        assert not is_weak(array)
        assert not is_weak(scalar)
        assert is_weak(number)
        assert is_weak(number * 2)
        assert not is_weak(number * scalar)
        assert not is_foreign(scalar, "text")
        assert not is_foreign(number, array)
        assert not is_foreign(number, np.ones(2))
        return array

    run(f, np.ones(2), np.float64(1.0), 2.0)
    assert [is_weak(value) for value in (True, 1, 1.0, 1j)] == [True] * 4
    assert [is_weak(value) for value in (np.float64(1.0), np.ones(2), "1", None)] == [False] * 4


@pytest.mark.parametrize("number", [2j, complex(-0.0, 1.0)])
def test_a_complex_number_before_a_numpy_scalar(number: complex) -> None:
    for function in (operator.add, operator.sub, operator.mul, operator.truediv):
        answers(lambda x, function=function: np.sqrt(function(number, x)), np.float32(3.0))
        graph, _ = record(lambda x, function=function: function(number, x), np.float64(3.0))
        (found,) = interpret(graph, np.float64(3.0))
        assert found == function(number, 3.0)
        assert graph.outputs[0].type.dtype == np.complex128


def test_a_method_is_the_function_named_after_it() -> None:
    method = method_of(np.cumsum)
    assert (method.__name__, method.__doc__) == ("cumsum", "As np.cumsum.")
    given = np.arange(6.0).reshape(2, 3)
    graph, _ = record(lambda x: method(x, axis=1, out=None), given)
    assert_same(interpret(graph, given), [np.cumsum(given, axis=1)])
    with pytest.raises(InPlaceError, match="out=") as caught:
        run(lambda x: method(x, out=np.zeros(6)), given)
    assert "a plain array" in str(caught.value)


def test_a_refused_method_names_itself() -> None:
    with pytest.raises(InPlaceError, match=r"^fill writes in place into a Tensor"):
        run(lambda x: refused("fill")(x, 1.0), np.ones(2))


@pytest.mark.parametrize("power", [lambda x: x**1000, lambda x: np.power(x, 1000)])
def test_a_number_out_of_bounds_is_numpys_error(power: Any) -> None:
    small = np.ones(2, "i1")
    for f in (power, tj.function(power)):
        with pytest.raises(OverflowError, match="1000 out of bounds for int8"):
            f(small)


def test_arrays_are_not_rounded_by_python() -> None:
    for f in (round, tj.function(lambda x: round(x)), tj.function(lambda x: round(x, 2))):
        with pytest.raises(TypeError, match="__round__"):
            f(np.ones(2))


def zeros_filled(x: Any) -> Any:
    n = np.sum(x > 1.0)
    filled = [0.0] * n
    for k in range(n):
        filled[k] = x[k] * 2
    return np.array(filled)


def repeated_in_place(x: Any) -> Any:
    pair = [x[0], 1.0]
    pair *= np.argmin(x)
    return np.array(pair)


REPEATED = {
    "zeros_filled": zeros_filled,
    "repeated_in_place": repeated_in_place,
    "on the right": lambda x: np.array(np.argmin(x) * (x[1], 3.0)),
    "text": lambda x: len("ab" * np.sum(x > 1.0)) * x,
}


@each_row("name", REPEATED)
def test_a_sequence_is_repeated_as_often_as_an_integer_of_numpys_says(name: str) -> None:
    """NumPy leaves `[0.0] * n` to Python where n is a scalar, and multiplies by an array."""
    program = REPEATED[name]
    compiled = tj.function(program)
    for given in ([3.0, 2.0, 0.5], [3.0, 2.5, 4.0], [3.0, 2.0, 0.5]):
        assert_same([compiled(np.array(given))], [program(np.array(given))])


@pytest.mark.parametrize("number", [np.float64(2.0), np.bool_(True)])
def test_a_sequence_is_not_repeated_by_what_is_no_integer(number: Any) -> None:
    for program in (lambda x: np.sum(x * [1.0, 2.0]), lambda x: np.sum((1.0, 2.0) * x)):
        with pytest.raises(TypeError):
            program(number)
        with pytest.raises(TypeError, match="non-int"):
            tj.function(program)(number)
