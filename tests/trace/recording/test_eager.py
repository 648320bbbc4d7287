"""Eager Tensors: numbers that are computed at once, which tapes see.

That they answer NumPy's bits and a recording's gradients is a property of every sample:
tests/ops/properties/eager.py.
"""

from __future__ import annotations

import gc
import math
import operator
import queue
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.support.compare import assert_same, same
from tests.support.errors import refusal
from tracejit.eager import window_gradient
from tracejit.support.errors import (
    ArgumentError,
    InPlaceError,
    LeakedTensorError,
    ShapeError,
    UnsupportedError,
    ValueNeededError,
)
from tracejit.support.memo import Table
from tracejit.trace.recording import eager
from tracejit.trace.recording.eager import EAGER, nobody_watches
from tracejit.trace.tensor.tensor import Tensor

X = np.array([1.0, -2.0, 0.5])
Y = np.array([3.0, 0.25, -1.0])


@pytest.fixture(autouse=True)
def nobody_watches_at_the_end() -> Iterator[None]:
    """No test leaves a tape open."""
    yield
    assert nobody_watches()


# What it is


def test_it_shows_its_type_and_numbers() -> None:
    assert repr(tj.constant(X)) == "<Tensor f8[3] [ 1.  -2.   0.5]>"
    assert repr(tj.constant(2.0) * 3) == "<Tensor f8 6.0>"
    assert repr(tj.constant([[1], [2]])) == "<Tensor i8[2,1] [[1]  [2]]>"


def test_it_is_what_it_stands_for() -> None:
    assert isinstance(tj.constant(X), np.ndarray)
    assert isinstance(tj.constant(2.0), np.float64)
    assert isinstance(tj.constant(2.0), float)
    assert isinstance(tj.constant(2), np.int64)
    assert isinstance(tj.constant(X), tj.Tensor)


def test_dtypes_follow_numpy_and_python_numbers_are_weak() -> None:
    t = tj.constant(X.astype("f4"))
    for f in (
        lambda t: t * 2,
        lambda t: t * 2.5,
        lambda t: t * np.float64(2.0),
        lambda t: t * Y,
        lambda t: Y * t,
        lambda t: t * np.arange(3),
        lambda t: t / 3,
        lambda t: np.arange(3, dtype="i4") * 2.5,
    ):
        same(f(t), f(X.astype("f4")))
    refusal(OverflowError, lambda: tj.constant(np.arange(3, dtype="i4")) * 2**40)


# Results cannot be written


@pytest.mark.parametrize(
    "result",
    [
        lambda t: t,
        lambda t: t * 2.0,
        lambda t: t[1:],
        lambda t: np.reshape(t, (3, 1)),
        lambda t: np.stack([t, t]),
        lambda t: np.split(t, 3)[0],
        lambda t: np.broadcast_to(t, (2, 3)),
        lambda t: tj.stop_gradient(t),
        lambda t: np.real(t),
    ],
)
def test_results_are_read_only(result: Callable[[Any], Any]) -> None:
    t = result(tj.constant(X))
    array = np.asarray(t)
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0.0
    own = np.array(t)
    own[...] = 0.0
    np.testing.assert_array_equal(np.asarray(t), array)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: operator.setitem(t, 0, 1.0),
        lambda t: operator.setitem(t, (...,), 1.0),
        lambda t: t.fill(0.0),
        lambda t: t.sort(),
        lambda t: np.sin(X, out=t),
        lambda t: np.add.at(t, 0, 1.0),
        lambda t: np.sum(np.ones((2, 3)), axis=0, out=t),
        lambda t: operator.iadd(t, 1.0),
    ],
)
def test_writes_are_numpys_and_leave_the_plain_array_alone(write: Callable[[Any], Any]) -> None:
    t, before, expected = tj.constant(X), X.copy(), X.copy()
    write(t)
    write(expected)
    same(t, expected)
    same(X, before)


def test_a_plain_array_does_not_take_what_is_on_a_tape() -> None:
    out = np.zeros(3)
    t = tj.constant(X)
    same(np.sin(t, out=np.zeros(3)), np.sin(X))
    with tj.GradientTape() as tape:
        tape.watch(t)
        refusal(InPlaceError, lambda: np.sin(t, out=out))
        for place, value in ((0, t[0]), (slice(None), t)):
            # NumPy makes a ValueError of its own of the one for an element.
            with pytest.raises((TypeError, ValueError)):
                out[place] = value
    same(out, np.zeros(3))


# Errors


def test_errors_name_the_line_and_the_operands() -> None:
    x, other = tj.constant(X), tj.constant(np.ones(2))
    error = refusal(ShapeError, lambda: x + other)
    assert "x f8[3], other f8[2]" in str(error)
    assert "lambda: x + other" in error.where.text
    for call, kind in (
        (lambda: x[5], IndexError),
        (lambda: np.reshape(x, (2, 2)), ShapeError),
        (lambda: x @ np.ones((2, 2)), ShapeError),
        (lambda: np.unique(x), UnsupportedError),
        (lambda: x + "text", TypeError),
        (lambda: x + None, TypeError),
    ):
        refusal(kind, call)


def test_an_object_is_no_operand() -> None:
    error = refusal(ArgumentError, lambda: np.add(tj.constant(X), object()))
    assert "an operand is an object" in str(error)


def test_a_tensor_of_a_recording_is_refused() -> None:
    box = queue.SimpleQueue[Any]()

    @tj.function
    def f(x: Any) -> Any:
        box.put(x)
        return x * 2.0

    f(X)
    kept = box.get()
    for use in (lambda: kept * 2.0, lambda: tj.constant(X) * kept):
        refusal(LeakedTensorError, use)


# Conversions


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "complex": complex,
    "item": lambda t: t.item(),
    "tolist": lambda t: t.tolist(),
    "asarray": np.asarray,
    "array": np.array,
    "math": math.exp,
    "nested": lambda t: np.asarray([t]),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_outside_tapes_conversions_give_the_value(name: str) -> None:
    convert = CONVERSIONS[name]
    expected = convert(np.float64(2.5))
    x = tj.constant(2.5)
    found = convert(x)
    assert type(found) is type(expected)
    assert found == expected
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
    assert convert(y) == expected
    with tj.GradientTape():
        assert convert(tj.constant(2.5) * 1.0) == expected


@pytest.mark.parametrize("name", CONVERSIONS)
def test_on_an_open_tape_conversions_are_refused(name: str) -> None:
    convert = CONVERSIONS[name]
    x = tj.constant(2.5)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        for t in (x, y):
            error = refusal(ValueNeededError, lambda t=t: convert(t))
            assert ".numpy()" in str(error)
            assert error.where.filename == __file__
        with tape.stop_recording():
            assert convert(y) == convert(np.float64(2.5))


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("name", CONVERSIONS)
def test_while_a_function_is_recorded_conversions_are_refused(name: str) -> None:
    x = tj.constant(2.5)
    refusal(ValueNeededError, lambda: tj.function(lambda y: CONVERSIONS[name](x) * y)(X))


@pytest.mark.parametrize("name", CONVERSIONS)
def test_converted_conversions_are_recorded(name: str) -> None:
    convert, x = CONVERSIONS[name], tj.constant(2.5)
    expected = np.asarray(convert(np.float64(2.5))) * X
    assert_same(tj.function(lambda y: convert(x) * y)(X), expected)


def test_numpy_leaves_the_tape_on_purpose() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        array = x.numpy()
        y = x * array
    assert type(array) is np.ndarray
    assert array.flags.writeable
    array[...] = 99.0
    same(x, X)
    same(tape.gradient(y, x), X)


def test_decisions_are_always_allowed() -> None:
    x = tj.constant(2.5)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = x * x if x > 1.0 and bool(x) and not np.isnan(x) else x
        y = y if 3.0 in [x] or np.all(x == x) else x
        assert f"{x:.2f}" == "2.50"
    same(tape.gradient(y, x), 5.0)
    assert "ambiguous" in str(refusal(ValueError, lambda: bool(tj.constant(X))))


def test_integers_are_on_no_tape() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        k = int(np.argmax(x))
        n = len(x) + operator.index(np.argmin(x))
        y = x[k] * n
    same(tape.gradient(y, x), np.array([4.0, 0.0, 0.0]))


def test_a_ufunc_stays_on_the_tape() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = np.sin(x) + np.add(X, x) + np.add.reduce(x) + np.outer(x, x)[0]
    assert isinstance(y, Tensor)
    expected = np.cos(X) + 1.0 + 3.0 + X[0] + np.array([np.sum(X), 0.0, 0.0])
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-15)


# What changes in place afterwards

OPERANDS: dict[str, Callable[[Any, Any], Any]] = {
    "times": lambda t, a: t * a,
    "reversed": lambda t, a: a * t,
    "power": lambda t, a: t**a,
    "matmul": lambda t, a: a @ t,
    "where": lambda t, a: np.where(a > 1.0, t, t * a),
    "maximum": lambda t, a: np.maximum(t, a),
    "take": lambda t, a: np.take(t * t, np.array([0, 2], copy=True)) * a[:2],
    "einsum": lambda t, a: np.einsum("i,i", t, a),
    "stack": lambda t, a: np.stack([t, a]) * np.stack([a, t]),
    "view": lambda t, a: t * a[::-1],
    "reshaped": lambda t, a: t * a.reshape(1, 3),
    "read-only view": lambda t, a: t * np.broadcast_to(a, (2, 3)),
    "transposed": lambda t, a: t * a.reshape(3, 1).T,
}


@pytest.mark.parametrize("name", OPERANDS)
def test_an_array_changed_after_the_forward_run_changes_no_gradient(name: str) -> None:
    f = OPERANDS[name]
    start = np.array([1.5, 2.0, 0.5])
    found = []
    for change in (False, True):
        t, a = tj.constant(start), np.array([1.25, 0.5, 3.0])
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(t)
            y = f(t, a)
        value = y.numpy()
        if change:
            a[...] = 99.0
        same(y, value)
        found.append(tape.gradient(y, t).numpy())
    same(found[1], found[0])


def test_an_index_changed_after_the_forward_run_changes_no_gradient() -> None:
    for index in (np.array([0, 2]), np.array([True, False, True]), [0, 2]):
        t = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(t)
            y = t[index] * 2.0
        index[0] = 1 if type(index) is list or index.dtype != bool else False
        same(tape.gradient(y, t), np.array([2.0, 0.0, 2.0]))


def test_an_array_returned_by_a_marked_function_is_not_the_callers() -> None:
    a = Y.copy()

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return a, lambda g: g * 2.0

    t = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    a[...] = 99.0
    same(y, Y)
    same(tape.gradient(y, t), 2.0 * np.ones(3))
    assert a.flags.writeable


def test_callers_arrays_stay_writable() -> None:
    a = Y.copy()
    t = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(t)
        y = np.concatenate([t * a, np.reshape(a, 3) + t])
        z = tj.stop_gradient(a) * t
    tape.gradient([y, z], t, output_gradients=[np.ones(6), a])
    tj.function(lambda x: x + a)(a)
    assert a.flags.writeable


# Memory

# Python's own free lists take some tens of kilobytes, once; one array of 8 kB left per 40 steps, or
# one object of 200 bytes per step, would be more.
FEW = 50_000


def grown(step: Callable[[int], Any], warm: int, count: int) -> int:
    """The bytes that `count` steps leave behind, after `warm` steps."""
    for k in range(warm):
        step(k)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for k in range(warm, warm + count):
            step(k)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_thousands_of_steps_leave_nothing_behind() -> None:
    w, x = tj.Variable(np.ones(1000)), np.linspace(-1.0, 1.0, 1000)

    def step(k: int) -> None:
        with tj.GradientTape() as tape:
            loss = np.sum(np.tanh(w * x) ** 2) * (1.0 / (k + 1.0))
        w.assign_sub(0.01 * tape.gradient(loss, w))

    assert grown(step, 20, by_day(200, 800)) < FEW


def test_nested_and_persistent_tapes_leave_nothing_behind() -> None:
    x = tj.constant(np.linspace(-1.0, 1.0, 1000))

    def step(k: int) -> None:
        with tj.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tj.GradientTape() as inner:
                inner.watch(x)
                y = np.sum(np.sin(x) * x)
            g = inner.gradient(y, x)
        outer.gradient(g, x)
        outer.gradient(y, x)

    assert grown(step, 20, 250) < FEW


def test_tapes_around_functions_and_markers_leave_nothing_behind() -> None:
    w = tj.Variable(np.linspace(-1.0, 1.0, 1000))
    f = tj.function(lambda x: np.sum(np.tanh(w * x)))
    block = tj.recompute_grad(lambda x: np.sin(x) * w)

    @tj.custom_gradient
    def scaled(x: Any) -> Any:
        return x * 1.0, lambda g: g * 2.0

    def step(k: int) -> None:
        with tj.GradientTape() as tape:
            y = f(w) + np.sum(block(scaled(w)))
        tape.gradient(y, w)

    assert grown(step, 20, by_day(60, 250)) < FEW


def test_operations_with_ever_new_parameters_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is remembered per operation has a bound."""
    monkeypatch.setattr(Table, "LIMIT", 100)
    monkeypatch.setattr(eager, "_compiled", Table())
    t = tj.constant(np.zeros(300))
    for k in range(300):
        t[k]
        assert len(eager._compiled) <= 100
    bounds = np.linspace(0.0, 1.0, 2000)
    for k in range(30):
        np.quantile(t, bounds**k)
        assert sum(len(text) for _, text, *_ in eager._compiled) <= 150_000


def test_gradients_of_ever_new_windows_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "LIMIT", 10)
    monkeypatch.setattr(window_gradient, "_compiled", Table())
    v = tj.Variable(np.zeros(30))
    for k in range(30):
        with tj.GradientTape() as tape:
            y = v[k] * 1.0
        tape.gradient(y, v)
        assert len(window_gradient._compiled) <= 10


def test_a_tensor_of_a_dead_tape_keeps_no_chain_alive() -> None:
    def life(use: bool) -> tuple[Any, Any]:
        x = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            h = np.sin(x)
            y = np.sum(h * h)
        if use:
            tape.gradient(y, x)
        return y, weakref.ref(h._value.data)

    for use in (True, False):
        y, inner = life(use)
        gc.collect()
        assert inner() is None
        assert float(y) == np.sum(np.sin(X) ** 2)


def test_a_used_tape_keeps_nothing_alive() -> None:
    def life() -> tuple[Any, Any]:
        x = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            h = np.sin(x)
            y = np.sum(h * h)
        tape.gradient(y, x)
        return tape, weakref.ref(h._value.data)

    tape, inner = life()
    gc.collect()
    assert inner() is None
    assert "0 operations" in repr(tape)


def test_nothing_is_kept_where_no_tape_is_open() -> None:
    t = tj.constant(np.ones(1000))

    def step(k: int) -> None:
        nonlocal t
        t = np.sin(t) + 1.0

    assert grown(step, 20, 800) < FEW


# Threads


def test_eager_tensors_are_used_on_any_thread() -> None:
    t = tj.constant(X)
    found: list[Any] = []

    def work() -> None:
        with tj.GradientTape() as tape:
            tape.watch(t)
            y = np.sin(t)
        found.append(tape.gradient(y, t).numpy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_array_equal(one, np.cos(X))


def test_a_function_that_records_takes_the_operations_of_eager_tensors() -> None:
    t = tj.constant(X)

    @tj.function
    def f(x: Any) -> Any:
        h = np.sin(t) * 2.0
        assert h._recording is not EAGER
        return h + x

    for start in (X, Y):
        same(f(start), np.sin(X) * 2.0 + start)
    assert f.tracing_count == 1


def test_a_mask_that_is_known_selects() -> None:
    """Eagerly the numbers of a mask, or of integers, are there: the result may have any shape."""
    x = tj.constant([1.0, -2.0, 3.0])
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        chosen = np.sum(x[x > 0.0] ** 2)
        repeated = np.repeat(x, tj.constant([1, 2, 0]))
        lowest = x[np.argsort(x)][0]
    np.testing.assert_array_equal(tape.gradient(chosen, x).numpy(), [2.0, 0.0, 6.0])
    np.testing.assert_array_equal(tape.gradient(repeated, x).numpy(), [1.0, 2.0, 0.0])
    np.testing.assert_array_equal(tape.gradient(lowest, x).numpy(), [0.0, 1.0, 0.0])
