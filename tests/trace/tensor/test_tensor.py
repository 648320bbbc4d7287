"""Tensors: what they are, what they record, and what they refuse."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Sequence, Sized
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy
from tests.interpret import interpret, record, run
from tests.rows import each_row
from tracejit.ir.graph import Constant
from tracejit.ops.elementwise.weak import BINARY, UNARY
from tracejit.support.errors import (
    ArgumentError,
    InPlaceError,
    ShapeError,
    TracejitError,
    UnsupportedError,
    ValueNeededError,
)
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor

MATRIX = np.arange(6.0).reshape(2, 3) + 1.0
VECTOR = np.array([1.0, -2.0, 3.0])
PLAIN = np.ones(3)


def refused(call: Callable[..., Any], *args: Any) -> TracejitError:
    """The error of `call` on Tensors."""
    with pytest.raises(TracejitError) as caught:
        run(call, *args)
    return caught.value


# What it is


def test_it_has_the_attributes_of_the_array_it_stands_for() -> None:
    def f(x: Any) -> None:
        for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes"):
            assert getattr(x, name) == getattr(MATRIX, name), name
        assert len(x) == 2
        assert np.shape(x) == (2, 3)
        assert np.ndim(x) == 2
        assert np.size(x) == 6

    run(f, MATRIX)


def test_it_shows_its_name_and_type() -> None:
    def f(x: Any) -> Any:
        assert repr(x) == "<Tensor x f8[2,3]>"
        h = x * 2.0
        assert f"{h}" == "<Tensor h f8[2,3]>"
        return h

    run(f, MATRIX)


def test_it_is_hashed_by_identity() -> None:
    def f(x: Any) -> None:
        assert {x: 1}[x] == 1

    run(f, MATRIX)


def test_a_copy_is_the_same_value() -> None:
    graph, _ = record(lambda x: [copy.copy(x) + 1.0, copy.deepcopy(x) + 1.0], MATRIX)
    assert graph.outputs[0] is graph.outputs[1]


def test_iteration_goes_along_the_first_axis() -> None:
    def f(x: Any) -> Any:
        first, second = x
        return first - second

    graph, _ = record(f, MATRIX)
    np.testing.assert_array_equal(interpret(graph, MATRIX)[0], MATRIX[0] - MATRIX[1])


@pytest.mark.parametrize("call", [len, iter, list, lambda x: next(iter(x))])
def test_a_0d_array_has_no_length_and_is_not_iterated(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"len\(\) of unsized|iteration over a 0-d"):
        run(call, np.array(1.0))


# What it records

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip
OTHERS = [2, 2.5, np.float32(2.5), np.float64(2.5), np.array(2.5), np.arange(1, 4), [1.0, 2.0, 3.0]]


@each_row(
    ("symbol", "other"),
    [(symbol, other) for symbol in OPERATORS for other in OTHERS]
    + [(operator.pow, other) for other in (2, 2.5, np.arange(1, 4), [1.0, 2.0, 3.0])],
)
def test_operators_are_numpys_from_both_sides(symbol: Callable[..., Any], other: Any) -> None:
    x = np.abs(VECTOR).astype(np.float32)
    for call in (lambda x: symbol(x, other), lambda x: symbol(other, x)):
        graph, _ = record(call, x)
        (actual,), expected = interpret(graph, x), call(x)
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("symbol", [operator.and_, operator.or_, operator.xor])
def test_bitwise_operators_are_numpys(symbol: Callable[..., Any]) -> None:
    mask, other = np.array([True, False, True]), np.array([True, True, False])
    graph, _ = record(symbol, mask, other)
    np.testing.assert_array_equal(interpret(graph, mask, other)[0], symbol(mask, other))
    graph, _ = record(lambda mask: [~mask, True ^ mask], mask)
    np.testing.assert_array_equal(interpret(graph, mask), [~mask, True ^ mask])


@pytest.mark.parametrize("symbol", [operator.neg, operator.pos, operator.abs])
def test_unary_operators_are_numpys(symbol: Callable[..., Any]) -> None:
    graph, _ = record(symbol, VECTOR)
    np.testing.assert_array_equal(interpret(graph, VECTOR)[0], symbol(VECTOR))


@pytest.mark.parametrize("number", [3, 2.5, -2.5])
def test_divmod_is_numpys_and_pythons(number: Any) -> None:
    def f(x: Any, n: Any) -> Any:
        return [*divmod(x, 2.0), *divmod(7.0, x), *divmod(x, n), *divmod(7, n)]

    graph, _ = record(f, VECTOR, number)
    for actual, expected in zip(interpret(graph, VECTOR, number), f(VECTOR, number), strict=True):
        np.testing.assert_array_equal(actual, expected)
        assert type(actual) is type(expected)


def test_matmul_is_numpys_from_both_sides() -> None:
    weights = np.arange(12.0).reshape(3, 4)
    for call in (lambda x: x @ weights, lambda x: weights.T @ x.T, lambda x: weights.T @ x[0]):
        graph, _ = record(call, MATRIX)
        np.testing.assert_array_equal(interpret(graph, MATRIX)[0], call(MATRIX))


def test_numbers_stay_python_numbers() -> None:
    def f(x: Any, lr: Any, step: Any) -> Any:
        rate = lr * 0.5**step
        assert repr(rate.type) == "~f8"
        assert repr((step + 1).type) == "~i8"
        assert repr((step / 2).type) == "~f8"
        assert repr((step > 2).type) == "~b1"
        assert repr((-lr).type) == "~f8"
        return x * rate

    graph, _ = record(f, VECTOR.astype(np.float32), 0.1, 3)
    (actual,) = interpret(graph, VECTOR.astype(np.float32), 0.2, 2)
    expected = VECTOR.astype(np.float32) * (0.2 * 0.5**2)
    assert actual.dtype == np.float32
    np.testing.assert_array_equal(actual, expected)


@each_row("symbol", BINARY)
@each_row("other", [2, 2.5, True])
def test_arithmetic_of_numbers_is_pythons(symbol: str, other: Any) -> None:
    for call in (lambda n: BINARY[symbol](n, other), lambda n: BINARY[symbol](other, n)):
        for number in (5, 0.75):
            try:
                expected = call(number)
            except TypeError:
                with pytest.raises(TypeError):
                    run(call, number)
                continue
            graph, _ = record(call, number)
            (actual,) = interpret(graph, number)
            assert type(actual) is type(expected)
            assert actual == expected


@pytest.mark.parametrize("symbol", UNARY)
def test_signs_of_numbers_are_pythons(symbol: str) -> None:
    graph, _ = record(UNARY[symbol], -5)
    assert interpret(graph, -5) == [UNARY[symbol](-5)]


@pytest.mark.usefixtures("as_written")
def test_a_number_is_read_when_python_needs_it() -> None:
    def f(x: Any, n: Any, lr: Any) -> Any:
        assert float(lr) == 0.5
        assert int(n) == 3
        assert f"{lr:.2f} {n}" == "0.50 3"
        assert round(lr, 1) == 0.5
        assert lr > 0.1
        assert math.sqrt(lr) == math.sqrt(0.5)
        assert np.asarray(lr).tolist() == 0.5
        assert [*range(n)] == [0, 1, 2]
        assert lr.item() == 0.5
        assert lr.is_integer() is False
        assert n.bit_length() == 2
        return x

    started = run(f, VECTOR, 3, 0.5)
    assert [known for known, _ in started.recording.reads.values()] == [0.5, 3]


def test_only_the_numbers_that_are_read_are_noted() -> None:
    started = run(lambda x, a, b: x * (a + b) * len(range(a * 2)), VECTOR, 1, 2)
    assert [value.name for value in started.recording.reads] == ["a"]
    started = run(lambda x, a, b: x * (a + b) if a * 2 > 1 else x, VECTOR, 1, 2)
    assert not started.recording.reads and len(started.recording.decisions) == 1


def test_plain_arrays_are_constants() -> None:
    graph, _ = record(lambda x: x + np.arange(3.0), VECTOR)
    (constant,) = graph.constants()
    assert isinstance(constant, Constant)
    np.testing.assert_array_equal(constant.data, np.arange(3.0))


def test_methods_are_the_functions() -> None:
    def f(x: Any) -> list[Any]:
        return [
            x.sum(), x.sum(axis=1), x.sum(0, keepdims=True), x.reshape(3, 2), x.reshape((3, -1)),
            x.reshape(-1), x.T, x.mT, x.transpose(), x.transpose(1, 0), x.transpose((1, 0)),
            x.astype(np.float32), x.ravel(), x.flatten(), x.mean(), x.max(axis=0), x.dot(VECTOR),
            x.clip(2.0, 3.0), x.cumsum(), x.take([0, 1]), x.compress([True, False], axis=0),
            x.swapaxes(0, 1), x.repeat(2), x.copy(), x.conj(), x.real, x.imag, x.round(1), x.std(),
            x[0], x[:, 1:], x[-1, 2], x.argmax(axis=1), x.searchsorted(2.0) if x.ndim < 2 else x,
        ]  # fmt: skip

    graph, _ = record(f, MATRIX)
    for number, (actual, expected) in enumerate(
        zip(interpret(graph, MATRIX), f(MATRIX), strict=True)
    ):
        np.testing.assert_array_equal(actual, expected, err_msg=str(number))
        assert type(actual) is type(expected), number


def test_out_none_is_no_write() -> None:
    graph, _ = record(lambda x: np.sum(x, out=None) + x.sum(out=None), VECTOR)
    assert interpret(graph, VECTOR) == [4.0]


# What needs a value

VALUES = {
    "float": (float, "float(x)"),
    "complex": (complex, "complex(x)"),
    "asarray": (np.asarray, "np.asarray(x)"),
    "array": (lambda x: np.array([x, 1.0]), ("np.array([x, 1.0])", "np.asarray(x)")),
    "full": (lambda x: np.full(3, x), ("np.full(3, x)", "np.asarray(x)")),
    "sin": (math.sin, "float(x)"),
    "item": (lambda x: x.item(), "x.item()"),
    "tolist": (lambda x: x.tolist(), "x.tolist()"),
    "numpy": (lambda x: x.numpy(), "x.numpy()"),
    "format": (lambda x: f"{x:.2f}", "format(x, '.2f')"),
}


@pytest.mark.parametrize(("call", "what"), VALUES.values(), ids=VALUES)
def test_what_needs_a_value_is_refused(call: Callable[[Any], Any], what: Any) -> None:
    """Before Python 3.11 the expression of a line is not known."""

    def f(x: Any) -> Any:
        return call(x)

    error = refused(f, np.array(1.5))
    assert type(error) is ValueNeededError
    assert isinstance(error, TypeError)
    either = what if isinstance(what, tuple) else (what,)
    assert str(error).startswith(tuple(f"{one} needs a value, but " for one in either))
    assert "is being recorded (" in str(error)
    assert "\n  Why: every later call would use the value of this one.\n" in str(error)


def test_a_plain_array_is_indexed_as_the_error_says() -> None:
    table = np.array([5.0, 6.0, 7.0])
    error = refused(lambda x: table[np.argsort(x)], np.array([0.3, 0.1, 0.2]))
    assert "write np.take(array, t)" in str(error)
    ranked = tj.function(lambda x: np.take(table, np.argsort(x)))
    np.testing.assert_array_equal(ranked(np.array([0.3, 0.1, 0.2])), [6.0, 7.0, 5.0])
    table[1] = 8.0
    np.testing.assert_array_equal(ranked(np.array([0.3, 0.1, 0.2])), [8.0, 7.0, 5.0])


DECISIONS = {
    "int": (int, "int(x)"),
    "bool": (bool, "bool(x)"),
    "if": (lambda x: 1 if x > 0 else 2, "bool(t)"),
    "and": (lambda x: x and 1, "bool(x)"),
    "in": (lambda x: 3.0 in [x], "bool(t)"),
    "max": (lambda x: max(x, 1.0), "bool(t)"),
    "range": (lambda x: range(np.sign(x).astype(int)), "using t as an index or size"),
    "list index": (lambda x: [1, 2][np.sign(x).astype(int)], "using t as an index or size"),
}


@pytest.mark.parametrize(("call", "what"), DECISIONS.values(), ids=DECISIONS)
def test_what_python_goes_by_is_recorded(
    call: Callable[[Any], Any], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs the numbers of a call, and one that differs is recorded once more."""

    def f(x: Any) -> Any:
        decided = call(x)
        return x * (sum(decided) if isinstance(decided, range) else decided)

    compiled = tj.function(f)
    for x in map(np.array, (1.5, -1.5, 3.0, 1.5) if what[:5] != "using" else (1.5, 2.5, 1.5)):
        found, expected = compiled(x), f(x)
        assert found == expected and type(found) is type(expected)
    if call in (int, bool):  # a number, which is recorded
        monkeypatch.setenv("TRACEJIT_CONVERT", "0")
    with pytest.raises(ValueNeededError) as caught:
        tj.function(f).kernel(tj.TensorSpec(()))
    error = caught.value
    assert str(error).startswith(f"{what} needs a value, but ")
    assert "Fix: choose with np.where(condition, a, b)" in str(error)


# Writes


PLAIN_WRITES = {
    "plain out": (lambda x: np.exp(x, out=PLAIN), "np.exp(..., out=...) writes in place into a pl"),
    "sum out": (lambda x: np.sum(x, out=np.zeros(())), "np.sum(..., out=...) writes in place int"),
    "method out": (lambda x: x.sum(out=np.zeros(())), "np.sum(..., out=...) writes in place int"),
    "plain at": (lambda x: np.add.at(PLAIN, [0], x[0]), "np.add.at writes in place into a plain"),
    "plain augmented": (lambda x: operator.iadd(PLAIN, x), "np.add(..., out=...) writes in place"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "what"), PLAIN_WRITES.values(), ids=PLAIN_WRITES)
def test_a_write_into_a_plain_array_is_refused(call: Callable[[Any], Any], what: str) -> None:
    error = refused(call, VECTOR.copy())
    assert type(error) is InPlaceError
    assert str(error).startswith(what)
    assert PLAIN.tolist() == [1.0, 1.0, 1.0]


def test_an_augmented_number_or_scalar_is_rebound() -> None:
    def f(x: Any, lr: Any) -> Any:
        total = np.sum(x)
        before = total
        total += 1.0
        lr *= 2
        return total * lr - before

    graph, _ = record(f, VECTOR, 0.5)
    assert interpret(graph, VECTOR, 0.5) == [f(VECTOR, 0.5)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.copyto(PLAIN, x),
        lambda x: np.full_like(PLAIN, x[0]),
        lambda x: np.put(PLAIN, 0, x[0]),
        lambda x: np.fill_diagonal(np.zeros((3, 3)), x),
        lambda x: np.putmask(PLAIN, [True, False, True], x),
        lambda x: np.place(PLAIN, [True, False, True], x),
        lambda x: np.put_along_axis(PLAIN, np.array([0]), x, 0),
    ],
)
def test_a_plain_array_never_takes_a_recorded_one(call: Callable[[Any], Any]) -> None:
    refused(call, VECTOR)
    assert PLAIN.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("index", [0, slice(None)])
def test_a_plain_array_does_not_take_a_recorded_element(index: Any) -> None:
    """NumPy puts a ValueError of its own before a refused conversion."""
    with pytest.raises((ValueError, TracejitError)):
        run(lambda x: operator.setitem(PLAIN, index, x[0]), VECTOR)
    with pytest.raises((ValueError, TracejitError)):
        run(lambda x: PLAIN.fill(x[0]), VECTOR)
    assert PLAIN.tolist() == [1.0, 1.0, 1.0]


# What is not supported


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: np.busday_count(x, x), "np.busday_count"),
        (lambda x: np.frompyfunc(max, 2, 1).reduce(x), "np.frompyfunc(max, ...).reduce"),
        (lambda x: x.byteswap(), "ndarray.byteswap"),
        (lambda x: x.ctypes, "ndarray.ctypes"),
        (lambda x: np.frompyfunc(max, 2, 1).outer(x, x), "np.frompyfunc(max, ...).outer"),
        (lambda x: np.busday_count(x, x), "np.busday_count"),
    ],
)
def test_an_unsupported_function_is_refused_by_name(call: Callable[[Any], Any], name: str) -> None:
    error = refused(call, MATRIX)
    assert type(error) is UnsupportedError
    assert str(error).startswith(f"{name} is not recorded by tracejit.\n")


@pytest.mark.parametrize(
    ("call", "name", "keyword"),
    [
        (lambda x: np.clip(x, 0, 1, where=[True, False, True]), "np.clip", "where"),
        (lambda x: np.clip(x, 0, 1, dtype=np.float32), "np.clip", "dtype"),
        (lambda x: x.astype(np.float32, order="F"), "np.astype", "order"),
    ],
)
def test_an_unsupported_keyword_is_refused_by_name(
    call: Callable[[Any], Any], name: str, keyword: str
) -> None:
    error = refused(call, VECTOR)
    assert type(error) is UnsupportedError
    problem = f"the keyword {keyword} is not supported"
    assert str(error).startswith(f"{name} cannot be recorded in this form: {problem}.\n")


def test_a_keyword_that_the_function_has_is_not_suggested() -> None:
    error = refused(lambda a: np.unique(a, axis=0), MATRIX)
    assert "the keyword axis is not supported" in str(error)
    assert "did you mean" not in str(error)


def test_an_attribute_that_ndarray_has_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'numpy\.ndarray' object has no attribute 'relu'"):
        run(lambda x: x.relu(), VECTOR)
    assert not run(lambda x: hasattr(x, "relu"), VECTOR).leaves[0]


@pytest.mark.parametrize(
    ("other", "error"),
    [
        ("text", ArgumentError),
        (None, ArgumentError),
        (object(), ArgumentError),
        (np.zeros(3, dtype="datetime64[s]"), UnsupportedError),
        (np.array(["a", "b", "c"]), UnsupportedError),
        (np.zeros(3, dtype=">f8"), UnsupportedError),
        (np.array([1, "a", None], object), UnsupportedError),
        (np.ma.array([1.0, 2.0, 3.0]), ArgumentError),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_operand_that_is_no_array_of_numbers_is_refused(other: Any, error: type) -> None:
    assert type(refused(lambda x: x + other, VECTOR)) is error


def test_shapes_that_do_not_fit_are_numpys_value_error() -> None:
    error = refused(lambda x: x + np.zeros(4), VECTOR)
    assert type(error) is ShapeError
    assert isinstance(error, ValueError)
    assert str(error).startswith("x + ")
    assert "(3,) and (4,)" in str(error)
    assert "Fix: change the operands; given: x f8[3]" in str(error)


def test_another_class_that_knows_tensors_may_answer() -> None:
    class Other:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "other"

    assert run(lambda x: x + Other(), VECTOR).leaves == ["other"]


# When it is over


def leaked() -> Tensor:
    """A Tensor whose recording has ended."""
    recording = Recording("f")
    tensor = recording.argument("lr", record(lambda lr: lr, 0.5)[0].inputs[0].type, 0.5)
    recording.finish([])
    return tensor


@pytest.mark.parametrize(
    "use", [bool, float, int, round, np.asarray, np.exp, lambda x: x + 1, lambda x: x > 0]
)
def test_a_number_is_not_read_after_the_recording(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TracejitError, match="was used after that recording had ended"):
        use(leaked())


def asked(value: Any) -> list[bool]:
    """What Python and NumPy say of a value as a container."""
    kinds = (Iterable, Sized, Container, Collection, Sequence, Hashable)
    words = ("__len__", "__iter__", "__contains__", "shape")
    return [
        np.iterable(value),
        *[isinstance(value, kind) for kind in kinds[: -1 if np.ndim(value) else None]],
        *[hasattr(value, word) for word in words],
    ]


def test_python_finds_the_container_that_numpy_has() -> None:
    """An array is one, 0-d too; a NumPy scalar and a Python number are none."""
    answers: list[Any] = []

    def f(x: Any, n: float) -> Any:
        parts = (x, x[0], np.sum(x), x[:0], n)
        answers.append([asked(part) for part in parts])
        return x * n

    f(VECTOR, 2.0)
    compiled = tj.function(f, cache=False)
    compiled(VECTOR, 2.0)
    compiled(VECTOR, 3.0)
    f(tj.constant(VECTOR), 2.0)
    expected, *found = answers
    assert len(found) == 3
    assert all(one == expected for one in found)


@pytest.mark.parametrize("call", [len, iter, lambda s: 1.0 in s])
def test_a_scalar_is_no_container(call: Callable[..., Any]) -> None:
    with pytest.raises(TypeError):
        call(np.sum(VECTOR))
    with pytest.raises(TypeError):
        tj.function(lambda x: call(np.sum(x)), cache=False)(VECTOR)
    assert tj.function(lambda x: x * (1.0 in x), cache=False)(np.ones(2)).tolist() == [1.0, 1.0]
