"""Variables: arrays in every NumPy expression, state between calls."""

from __future__ import annotations

import copy
import gc
import math
import operator
import pickle
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.support.compare import array_of, same
from tests.support.errors import refusal
from tracejit.support.errors import ArgumentError, AssignError, InPlaceError, ValueNeededError
from tracejit.trace.recording.variable import Ref

X = np.array([[1.0, 2.5, -3.0], [0.5, -0.25, 4.0]])
V = np.array([1.0, -2.0, 0.5])
N = np.array([3, 1, 2])
MODES: dict[str, Callable[[Any], Any]] = {"eager": lambda f: f, "compiled": tj.function}


@pytest.fixture(params=list(MODES))
def wrap(request: pytest.FixtureRequest) -> Any:
    """A program as it is, or compiled."""
    return MODES[request.param]


# As an array


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda v: v.reshape(3, 2),
    "reshape tuple": lambda v: v.reshape((6,)),
    "copy": lambda v: v.copy(),
    "transpose": lambda v: v.transpose(),
    "transpose axes": lambda v: v.transpose(1, 0),
    "flatten": lambda v: v.flatten(),
    "compress": lambda v: v.compress([True, False], axis=0),
    "astype": lambda v: v.astype("f4"),
    "T": lambda v: v.T,
    "mT": lambda v: v.mT,
    "real": lambda v: v.real,
    "imag": lambda v: v.imag,
    "sum": lambda v: v.sum(),
    "sum axis": lambda v: v.sum(axis=0),
    "sum keepdims": lambda v: v.sum(0, keepdims=True),
    "mean": lambda v: v.mean(1),
    "prod": lambda v: v.prod(),
    "max": lambda v: v.max(axis=1),
    "min": lambda v: v.min(),
    "var": lambda v: v.var(),
    "std": lambda v: v.std(axis=0, ddof=1),
    "any": lambda v: v.any(),
    "all": lambda v: v.all(axis=0),
    "argmax": lambda v: v.argmax(),
    "argmin": lambda v: v.argmin(axis=1),
    "cumsum": lambda v: v.cumsum(),
    "cumprod": lambda v: v.cumprod(axis=1),
    "dot": lambda v: v.dot(V),
    "clip": lambda v: v.clip(-1.0, 2.0),
    "ravel": lambda v: v.ravel(),
    "squeeze": lambda v: v.squeeze(),
    "swapaxes": lambda v: v.swapaxes(0, 1),
    "repeat": lambda v: v.repeat(2, axis=0),
    "take": lambda v: v.take([0, 5]),
    "trace": lambda v: v.trace(),
    "diagonal": lambda v: v.diagonal(),
    "argsort": lambda v: v.argsort(axis=1),
    "round": lambda v: v.round(1),
    "conj": lambda v: v.conj(),
    "conjugate": lambda v: v.conjugate(),
    "+": lambda v: v + V,
    "r+": lambda v: V + v,
    "number +": lambda v: 2 + v,
    "-": lambda v: v - 1.0,
    "r-": lambda v: 1.0 - v,
    "*": lambda v: v * v,
    "r*": lambda v: np.float64(2.0) * v,
    "/": lambda v: v / V,
    "r/": lambda v: 1.0 / v,
    "//": lambda v: v // 0.3,
    "r//": lambda v: 3.0 // v,
    "%": lambda v: v % 0.7,
    "r%": lambda v: 5.0 % v,
    "**": lambda v: v**2,
    "r**": lambda v: 2.0**v,
    "@": lambda v: v @ V,
    "r@": lambda v: np.ones(2) @ v,
    "@ itself": lambda v: v @ v.T,
    "divmod": lambda v: divmod(v, 0.7)[1],
    "rdivmod": lambda v: divmod(5.0, v)[0],
    "<": lambda v: v < 1.0,
    "<=": lambda v: v <= V,
    ">": lambda v: 1.0 > v,
    ">=": lambda v: v >= v,
    "==": lambda v: v == X,
    "!=": lambda v: v != 2.5,
    "array ==": lambda v: X == v,
    "-v": lambda v: -v,
    "+v": lambda v: +v,
    "abs": lambda v: abs(v),
    "index": lambda v: v[1],
    "slice": lambda v: v[:, ::-1],
    "element": lambda v: v[1, 2],
    "newaxis": lambda v: v[:, None],
    "gather": lambda v: v[[1, 0, 1]],
    "mask": lambda v: v[np.array([False, True])],
    "ufunc": lambda v: np.sin(v),
    "ufunc of two": lambda v: np.maximum(v, V),
    "reduce": lambda v: np.add.reduce(v),
    "np.sum": lambda v: np.sum(v, axis=1),
    "np.where": lambda v: np.where(v > 0, v, 0.0),
    "np.stack": lambda v: np.stack([v, X]),
    "np.concatenate": lambda v: np.concatenate((X, v, v)),
    "np.einsum": lambda v: np.einsum("ij,j->i", v, V),
    "np.linalg.norm": lambda v: np.linalg.norm(v),
    "np.dot": lambda v: np.dot(v, V),
    "np.zeros_like": lambda v: np.zeros_like(v),
}
INTEGERS: dict[str, Callable[[Any], Any]] = {
    "&": lambda v: v & 1,
    "r&": lambda v: 1 & v,
    "|": lambda v: v | 4,
    "r|": lambda v: 4 | v,
    "^": lambda v: v ^ N,
    "r^": lambda v: N ^ v,
    "<<": lambda v: v << 1,
    "r<<": lambda v: 1 << v,
    ">>": lambda v: v >> 1,
    "r>>": lambda v: 8 >> v,
    "~": lambda v: ~v,
    "searchsorted": lambda v: v.cumsum().searchsorted(v),
    "choose": lambda v: (v - 1).choose([V, V, V]),
    "/": lambda v: v / 2,
    "as indices": lambda v: (v * 10)[v - 1],
}


@each_row("name", EXPRESSIONS)
def test_in_an_expression_it_is_the_array(name: str, wrap: Any) -> None:
    f = EXPRESSIONS[name]
    v = tj.Variable(X)
    found = wrap(lambda: f(v))()
    if wrap is not tj.function:
        assert isinstance(found, tj.Tensor)
    same(found, f(X))
    same(v, X)


@each_row("name", INTEGERS)
def test_in_an_expression_of_integers_it_is_the_array(name: str, wrap: Any) -> None:
    f = INTEGERS[name]
    v = tj.Variable(N)
    same(wrap(lambda: f(v))(), f(N))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "?"])
def test_it_has_the_attributes_of_the_array(dtype: str) -> None:
    array = X.astype(dtype)
    v = tj.Variable(array)
    for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(v, name) == getattr(array, name)


def test_its_attributes_cannot_be_set() -> None:
    v = tj.Variable(X, name="v")
    for name in ("shape", "dtype", "trainable", "name", "value", "anything"):
        with pytest.raises((AttributeError, InPlaceError)):
            setattr(v, name, None)


def test_python_reads_it() -> None:
    v, s, n = tj.Variable(V), tj.Variable(2.5), tj.Variable(3)
    assert len(v) == 3
    same(list(v), [1.0, -2.0, 0.5])
    same([a + b for a, b in zip(v, v, strict=True)], [2.0, -4.0, 1.0])
    assert (float(s), int(s), complex(s), bool(s)) == (2.5, 2, 2.5 + 0j, True)
    assert (s.item(), v.tolist(), v.item(1)) == (2.5, [1.0, -2.0, 0.5], -2.0)
    assert (operator.index(n), range(5)[n]) == (3, 3)
    assert (round(s), math.floor(s), math.sqrt(s)) == (2, 2, math.sqrt(2.5))
    assert (f"{s:.3f}", f"{v}") == ("2.500", "<Variable v f8[3] [ 1.  -2.   0.5]>")
    assert np.asarray(v, "f4").dtype == np.dtype("f4")
    assert -2.0 in v
    assert "ambiguous" in str(refusal(ValueError, lambda: bool(v)))
    for call in (lambda: len(s), lambda: list(s), lambda: float(v)):
        refusal(TypeError, call)


@pytest.mark.parametrize(
    "call",
    [
        lambda v: float(v),
        lambda v: int(v),
        lambda v: complex(v),
        lambda v: v.item(),
        lambda v: v.tolist(),
        lambda v: np.asarray(v),
        lambda v: np.array([v, v]),
    ],
    ids=["float", "int", "complex", "item", "tolist", "asarray", "array"],
)
def test_leaving_a_tape_needs_numpy(
    call: Callable[[Any], Any], wrap: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    v = tj.Variable(2.5, name="v")
    if wrap is tj.function:
        compiled = tj.function(lambda: v * call(v))
        if type(call(v)) is int:  # what Python goes by is recorded
            assert compiled() == 5.0
        else:
            same(compiled(), 2.5 * call(v.numpy()[()]))
            monkeypatch.setenv("TRACEJIT_CONVERT", "0")
            refusal(ValueNeededError, tj.function(lambda: v * call(v)))
        return
    with tj.GradientTape() as tape:
        error = refusal(ValueNeededError, lambda: call(v))
        constant = v.numpy()
        assert bool(v)
        y = v * constant
    assert ".numpy()" in str(error)
    same(tape.gradient(y, v), 2.5)


def test_numpy_is_refused_while_a_function_is_recorded() -> None:
    v = tj.Variable(V)
    refusal(ValueNeededError, lambda: tj.function(lambda: v * v.numpy())())


def test_an_array_meets_it_on_the_tape() -> None:
    """A plain array hands over to it, on the left, too, and in NumPy's functions."""
    v = tj.Variable(V)
    with tj.GradientTape() as tape:
        y = np.sum(V * v) + np.float64(2.0) * v[0] + np.dot(V, v) + np.stack([V, v])[1, 1]
    assert isinstance(y, tj.Tensor)
    same(tape.gradient(y, v), V + V + [2.0, 1.0, 0.0])


# What it refuses


@each_row(
    "write",
    [
        operator.iadd,
        operator.isub,
        operator.imul,
        operator.itruediv,
        operator.ifloordiv,
        operator.imod,
        operator.ipow,
    ],
)
@each_row("start", [V, 2.0, np.array(2.0)])
def test_in_place_operators_are_refused(write: Any, start: Any, wrap: Any) -> None:
    v = tj.Variable(start)

    def program() -> Any:
        return write(v, 1.5)

    error = refusal(InPlaceError, wrap(program))
    assert "v.assign_add(delta)" in str(error)
    assert "write(v, 1.5)" in error.where.text
    same(v, start)


@pytest.mark.parametrize(
    "write",
    [
        lambda v: operator.setitem(v, 0, 1.0),
        lambda v: operator.setitem(v, slice(None), V),
        lambda v: v.fill(0.0),
        lambda v: v.sort(),
        lambda v: v.partition(1),
        lambda v: v.put(0, 1.0),
        lambda v: v.resize(4),
        lambda v: np.sin(V, out=v),
        lambda v: np.add.at(v, 0, 1.0),
        lambda v: np.sum(X, axis=0, out=v),
        lambda v: v.sum(out=v),
    ],
)
def test_writes_are_refused(write: Callable[[Any], Any], wrap: Any) -> None:
    v = tj.Variable(V)
    refusal(TypeError, wrap(lambda: write(v)))
    same(v, V)


@pytest.mark.parametrize("value", ["text", None, [None], object(), {"a": 1.0}, np.array(["a"])])
def test_what_is_no_array_is_no_variable(value: Any) -> None:
    error = refusal(ArgumentError, lambda: tj.Variable(value))
    assert "the value of a Variable" in str(error)
    assert "tj.Variable(value)" in error.where.text


# Identity


def test_equality_is_elementwise_and_ref_is_identity() -> None:
    v, w = tj.Variable(V), tj.Variable(V)
    same(v == w, np.array([True] * 3))
    same(v != w, np.array([False] * 3))
    assert v.ref() == v.ref()
    assert v.ref() != w.ref()
    assert v.ref() != v
    assert v.ref().deref() is v
    assert len({v.ref(), v.ref(), w.ref()}) == 2
    assert type(v.ref()) is Ref
    assert repr(v.ref()) == f"<Ref {v!r}>"


def test_it_has_no_hash() -> None:
    v = tj.Variable(V)
    for call in (lambda: hash(v), lambda: {v: 1}, lambda: {v}):
        assert "unhashable" in str(refusal(TypeError, call))


def test_it_shows_name_type_and_value() -> None:
    assert repr(tj.Variable(V, name="w")) == "<Variable w f8[3] [ 1.  -2.   0.5]>"
    assert repr(tj.Variable(2)) == "<Variable v i8 2>"
    v = tj.Variable(2.0)
    v.assign(3.0)
    assert "3.0" in repr(v)


def test_it_may_be_referred_to_weakly_and_dies() -> None:

    def life() -> Any:
        v = tj.Variable(V)
        with tj.GradientTape() as tape:
            y = v * v
        tape.gradient(y, v)
        return weakref.ref(v)

    reference = life()
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v)), tj.Variable]
)
def test_a_copy_is_another_variable(again: Callable[[Any], Any]) -> None:
    v = tj.Variable(V, trainable=True, name="v")
    w = again(v)
    assert type(w) is tj.Variable
    assert w.ref() != v.ref()
    w.assign(V + 1.0)
    same((v, w), (V, V + 1.0))
    if again is not tj.Variable:
        assert (w.name, w.trainable) == ("v", True)
        assert not again(tj.Variable(V, trainable=False)).trainable


# Copies


@pytest.mark.parametrize("start", [V, np.asfortranarray(X), np.array([2.0])])
def test_it_shares_no_memory(start: Any) -> None:
    array = start.copy()
    v = tj.Variable(array)
    array[...] = 99.0
    same(v, start)
    first = v.read_value()
    out = v.numpy()
    out[...] = 99.0
    same((v, first, v.read_value(), v.value()), (start,) * 4)
    new = start + 1.0
    v.assign(new)
    new[...] = 99.0
    same((v, first), (start + 1.0, start))
    assert not np.shares_memory(v.numpy(), v.numpy())


def test_assigning_one_variable_to_another_shares_nothing() -> None:
    v, w = tj.Variable(V), tj.Variable(2.0 * V)
    v.assign(w)
    w.assign_add(V)
    same((v, w), (2.0 * V, 3.0 * V))


def test_an_array_that_a_function_returns_is_not_the_variable() -> None:
    v = tj.Variable(V)

    @tj.function
    def f() -> Any:
        return v, v.assign_add(V), v.read_value()

    results = f()
    for one in results:
        array = np.array(one, copy=None)
        if array.flags.writeable:
            array[...] = 99.0
    same(v, 2.0 * V)
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert not np.shares_memory(np.asarray(results[one]), np.asarray(results[other]))
        assert not np.shares_memory(np.asarray(results[one]), np.asarray(v))


# Assignment


def test_the_assign_family_answers_the_new_value(wrap: Any) -> None:
    v = tj.Variable(V)

    def program() -> Any:
        return v.assign(V * 2.0), v.assign_add(V), v.assign_sub(1.0 * V), v.assign_add([1, 1, 1])

    same(wrap(program)(), (2.0 * V, 3.0 * V, 2.0 * V, 2.0 * V + 1.0))
    same(v, 2.0 * V + 1.0)


VALUES: dict[str, tuple[Any, Any]] = {
    "array": (V, np.ones(3)),
    "list": (V, [1.0, 2.0, 3.0]),
    "integers": (V, [1, 2, 3]),
    "integer array": (V, N),
    "booleans": (V, np.array([True, False, True])),
    "Tensor": (V, tj.constant(V)),
    "Variable": (V, tj.Variable(N)),
    "scalar": (np.float64(1.0), 3.5),
    "number from int": (np.float64(1.0), 3),
    "0-d": (np.array(1.0), 3.5),
    "0-d of scalar": (np.array(1.0), np.float64(3.5)),
    "scalar of 0-d": (np.float64(1.0), np.array(3.5)),
    "float32 of number": (np.float32(1.0), 0.1),
    "float32 of list": (np.ones(2, "f4"), [0.1, 0.2]),
    "complex of float": (np.ones(2, "c16"), [0.1, 0.2]),
    "complex number": (np.complex64(1), 2j),
    "wider integer": (np.ones(2, "i8"), np.ones(2, "i4")),
}


@each_row("name", VALUES)
def test_values_that_fit_are_converted(name: str, wrap: Any) -> None:
    start, value = VALUES[name]
    v = tj.Variable(start)
    expected = np.asarray(array_of(value), v.dtype)
    found = wrap(lambda: v.assign(value))()
    same(found, expected)
    same(v, expected)
    assert (v.shape, v.dtype) == (np.shape(start), np.asarray(start).dtype)
    assert v.type.form == ("array" if isinstance(start, np.ndarray) else "scalar")
    assert v.read_value().type is v.type


MISFITS: dict[str, tuple[Any, Any, str]] = {
    "shape": (V, np.ones(2), "shape (2,)"),
    "rank": (V, np.ones((1, 3)), "shape (1, 3)"),
    "scalar": (V, 1.0, "shape ()"),
    "array for scalar": (1.0, [1.0], "shape (1,)"),
    "float64 for float32": (V.astype("f4"), V, "dtype float64"),
    "float32 for float64": (V, V.astype("f4"), "dtype float32"),
    "float for int": (N, [1.5, 2.0, 3.0], "dtype float64"),
    "number for int": (1, 1.5, "dtype float64"),
    "complex": (V, V * 1j, "dtype complex128"),
    "wider integers": (N.astype("i4"), N.astype("i8"), "dtype int64"),
    "integers for booleans": (np.array([True]), [1], "dtype int64"),
    "text": (V, "text", "str"),
    "None": (V, None, "NoneType"),
    "ragged": (V, [[1.0], [1.0, 2.0]], ""),
}


@each_row("name", MISFITS)
@each_row("call", ["assign", "assign_add", "assign_sub"])
def test_values_that_do_not_fit_are_refused(name: str, call: str, wrap: Any) -> None:
    start, value, got = MISFITS[name]
    v = tj.Variable(start, name="weights")

    def program() -> Any:
        return getattr(v, call)(value)

    error = refusal(AssignError, wrap(program))
    assert f"weights holds {v.type!r}, and was assigned" in str(error)
    assert got in str(error)
    assert "getattr(v, call)(value)" in error.where.text
    same(v, start)


def test_the_answer_of_assign_is_a_read_of_the_variable(wrap: Any) -> None:
    v = tj.Variable(V)

    def program() -> Any:
        with tj.GradientTape() as tape:
            y = v.assign(V * 2.0) * V + v.assign_add(V) * 3.0
        return tape.gradient(y, v)

    same(wrap(program)(), V + 3.0)


def test_nothing_flows_from_the_assigned_value(wrap: Any) -> None:
    v, w = tj.Variable(V), tj.Variable(2.0 * V)

    def program() -> Any:
        with tj.GradientTape() as tape:
            v.assign(w * w)
            v.assign_add(w)
            y = v * 5.0
        return tape.gradient(y, [v, w])

    for _ in range(2):
        gradients = wrap(program)()
        same(gradients[0], np.full(3, 5.0))
        assert gradients[1] is None
    same(v, 4.0 * V * V + 2.0 * V)


def test_only_assigning_is_no_read(wrap: Any) -> None:
    v, w = tj.Variable(V), tj.Variable(V)
    watched = []

    def program() -> Any:
        with tj.GradientTape() as tape:
            tape.reset()
            y = w * 2.0
            v._now()
        watched.append(tape.watched_variables())
        return y

    wrap(program)()
    assert [one.ref() for one in watched[0]] == [w.ref()]


# In a function


def test_a_function_reads_it_at_each_call_without_retracing() -> None:
    v = tj.Variable(V)

    @tj.function
    def f(x: Any) -> Any:
        return np.sum(v * x)

    for k in range(5):
        v.assign(V * k)
        same(f(V), np.sum(V * k * V))
    assert f.tracing_count == 1


def test_a_read_inside_the_function_sees_earlier_writes() -> None:
    v = tj.Variable(V)

    @tj.function
    def f(x: Any) -> Any:
        before = v * 1.0
        v.assign(x)
        between = v * 1.0
        v.assign_add(x)
        return before, between, v

    same(f(2.0 * V), (V, 2.0 * V, 4.0 * V))
    same(f(3.0 * V), (4.0 * V, 3.0 * V, 6.0 * V))
    same(v, 6.0 * V)
    assert f.tracing_count == 1


def test_what_was_not_reached_is_not_assigned() -> None:
    v = tj.Variable(V)

    @tj.function
    def f(n: int) -> None:
        if n > 1:
            v.assign(2.0 * V)

    f(1)
    same(v, V)
    f(2)
    same(v, 2.0 * V)


def test_two_variables_swap() -> None:
    v, w = tj.Variable(V), tj.Variable(2.0 * V)

    @tj.function
    def swap() -> None:
        old = v.read_value()
        v.assign(w)
        w.assign(old)

    for _ in range(3):
        a, b = v.numpy(), w.numpy()
        swap()
        same((v, w), (b, a))


def test_a_kernel_that_fails_assigns_nothing_after_the_error(wrap: Any) -> None:
    v = tj.Variable(V)

    def f(a: Any) -> Any:
        inverse = np.linalg.inv(a)
        v.assign(inverse @ v)
        return inverse

    wrapped = wrap(f)
    wrapped(tj.constant(2.0 * np.eye(3)))
    same(v, V / 2.0)
    with pytest.raises(np.linalg.LinAlgError):
        wrapped(tj.constant(np.zeros((3, 3))))
    same(v, V / 2.0)
    wrapped(tj.constant(2.0 * np.eye(3)))
    same(v, V / 4.0)


def test_a_python_error_assigns_nothing_after_it(wrap: Any) -> None:
    v = tj.Variable(V)

    def f(table: dict[str, Any]) -> None:
        v.assign(table["missing"] * 2.0)

    for _ in range(2):
        with pytest.raises(KeyError, match="missing"):
            wrap(f)({"here": V})
        same(v, V)


def test_what_was_assigned_before_an_error_stands(wrap: Any) -> None:
    v, n = tj.Variable(V), tj.Variable(0)

    def f(a: Any, table: dict[str, Any]) -> Any:
        n.assign_add(1)
        inverse = np.linalg.inv(a)
        v.assign(inverse @ v)
        return table["here"] * inverse

    wrapped = wrap(f)
    wrapped(2.0 * np.eye(3), {"here": 1.0})
    same((n, v), (1, V / 2.0))
    with pytest.raises(np.linalg.LinAlgError):
        wrapped(np.zeros((3, 3)), {"here": 1.0})
    same((n, v), (2, V / 2.0))
    with pytest.raises(KeyError):
        wrapped(2.0 * np.eye(3), {})
    same((n, v), (3, V / 4.0))


def test_gradient_descent_is_the_same_in_a_function() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    found = []
    for mode in MODES.values():
        w, b = tj.Variable(np.zeros(3)), tj.Variable(0.0)

        def step(w: Any = w, b: Any = b) -> Any:
            with tj.GradientTape() as tape:
                error = x @ w + b - y
                loss = np.mean(error * error)
            slope_w, slope_b = tape.gradient(loss, [w, b])
            w.assign_sub(0.1 * slope_w)
            b.assign_sub(0.1 * slope_b)
            return loss

        wrapped = mode(step)
        losses = [array_of(wrapped()) for _ in range(20)]
        found.append([*losses, w.numpy(), b.numpy()])
    for eager, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-13, atol=1e-15)
    assert found[0][19] < found[0][0]


def test_momentum_in_a_function_traces_once() -> None:
    w, m = tj.Variable(V), tj.Variable(np.zeros(3), trainable=False)

    @tj.function
    def step(rate: Any) -> Any:
        with tj.GradientTape() as tape:
            loss = np.sum(w * w)
        m.assign(0.9 * m + tape.gradient(loss, w))
        w.assign_sub(rate * m)
        return loss

    expected_w, expected_m = V, np.zeros(3)
    for k in range(4):
        rate = np.float64(0.1 / (k + 1))
        step(rate)
        expected_m = 0.9 * expected_m + 2.0 * expected_w
        expected_w = expected_w - rate * expected_m
        np.testing.assert_allclose(w.numpy(), expected_w, rtol=1e-14)
    assert step.tracing_count == 1


# As an argument


@dataclass
class Layer:
    w: Any
    b: Any


class Model:
    """Holds its Variables in attributes and containers."""

    def __init__(self) -> None:
        self.w = tj.Variable(V, name="w")
        self.layers = [Layer(tj.Variable(2.0 * V), tj.Variable(1.0))]
        self.table = {"n": tj.Variable(0, trainable=False)}

    def predict(self, x: Any) -> Any:
        """Counts its calls."""
        self.table["n"].assign_add(1)
        layer = self.layers[0]
        return np.sum(x * self.w * layer.w) + layer.b

    predict_fast = tj.function(predict)


def test_it_is_captured_through_self_and_containers() -> None:
    model = Model()
    same(model.predict_fast(V), np.sum(V * V * 2.0 * V) + 1.0)
    model.w.assign(np.ones(3))
    model.layers[0].b.assign(5.0)
    same(model.predict_fast(V), np.sum(2.0 * V * V) + 5.0)
    same(model.table["n"], 2)
    other = Model()
    same(other.predict_fast(V), np.sum(V * V * 2.0 * V) + 1.0)
    same((model.table["n"], other.table["n"]), (2, 1))


def test_gradients_reach_what_is_captured_through_self() -> None:
    found = []
    for name in ("predict", "predict_fast"):
        model = Model()
        with tj.GradientTape() as tape:
            y = getattr(model, name)(V)
        sources = {"w": model.w, "layers": [model.layers[0].w, model.layers[0].b], **model.table}
        found.append(tape.gradient(y, sources))
    for gradients in found:
        same(gradients["w"], V * (2.0 * V))
        same(gradients["layers"], [V * V, 1.0])
        assert gradients["n"] is None


def test_a_replaced_variable_is_seen() -> None:
    model = Model()
    model.predict_fast(V)
    model.w = tj.Variable(np.ones(3))
    same(model.predict_fast(V), np.sum(V * 2.0 * V) + 1.0)
    model.w = tj.Variable(np.ones((2, 3)))
    same(model.predict_fast(V), 2.0 * np.sum(V * 2.0 * V) + 1.0)


def test_it_is_an_argument() -> None:
    @tj.function
    def f(v: Any, x: Any) -> Any:
        return np.sum(v * v * x)

    v, w = tj.Variable(V), tj.Variable(2.0 * V)
    same(f(v, V), np.sum(V * V * V))
    same(f(w, V), np.sum(4.0 * V * V * V))
    traced = f.tracing_count
    v.assign(3.0 * V)
    same(f(v, V), np.sum(3.0 * V * (3.0 * V) * V))
    assert f.tracing_count == traced
    with tj.GradientTape() as tape:
        y = f(v, V)
    same(tape.gradient(y, v), 2.0 * (3.0 * V) * V)


def test_an_argument_may_be_assigned() -> None:
    @tj.function
    def f(v: Any) -> Any:
        return v.assign_add(V) * 2.0

    v, w = tj.Variable(V), tj.Variable(2.0 * V)
    same((f(v), f(w)), (4.0 * V, 6.0 * V))
    same((v, w), (2.0 * V, 3.0 * V))
    same(f(v), 6.0 * V)


def test_it_is_an_argument_in_containers() -> None:
    @tj.function
    def f(p: Any) -> Any:
        with tj.GradientTape() as tape:
            y = np.sum(p["layer"].w * p["rest"][0]) + p["layer"].b
        return y, tape.gradient(y, p)

    p = {"layer": Layer(tj.Variable(V), tj.Variable(1.0)), "rest": [tj.Variable(2.0 * V)]}
    value, gradients = f(p)
    same(value, np.sum(V * (2.0 * V)) + 1.0)
    same(gradients["layer"].w, 2.0 * V)
    same(gradients["layer"].b, 1.0)
    same(gradients["rest"], [V])


def test_one_variable_as_argument_and_captured_is_one_source() -> None:
    v = tj.Variable(V)

    @tj.function
    def f(a: Any) -> Any:
        return np.sum(a * v)

    for call in (f, f.python):
        with tj.GradientTape() as tape:
            y = call(v)
        same(tape.gradient(y, v), 2.0 * V)


def test_a_transform_of_a_function_that_reads_it() -> None:
    v = tj.Variable(V)
    slope = tj.grad(lambda x: np.sum(v * x * x))
    same(slope(V), 2.0 * V * V)
    v.assign(2.0 * V)
    same(slope(V), 4.0 * V * V)


def test_a_transform_by_a_variable_argument() -> None:
    v = tj.Variable(V)
    value, slope = tj.value_and_grad(lambda w, x: np.sum(w * w * x))(v, V)
    same(value, np.sum(V * V * V))
    same(slope, 2.0 * V * V)


@pytest.mark.parametrize("trainable", [True, False])
def test_an_array_read_before_and_a_variable_of_the_same_type_are_two_kernels(
    trainable: bool,
) -> None:
    @tj.function
    def f(a: Any) -> Any:
        return a * 2.0

    same(f(V), 2.0 * V)
    same(f(tj.Variable(V, trainable=trainable)), 2.0 * V)
    same(f(V), 2.0 * V)


def test_recorded_by_two_functions_that_call_each_other() -> None:
    v = tj.Variable(V)

    @tj.function
    def bump(x: Any) -> Any:
        v.assign_add(x)
        return v * 1.0

    @tj.function
    def outer(x: Any) -> Any:
        a = bump(x)
        v.assign(v * 10.0)
        return a, bump(x)

    same(outer(V), (2.0 * V, 20.0 * V + V))
    same(v, 21.0 * V)


def test_its_numbers_are_in_order_of_construction() -> None:
    first, second = tj.Variable(1.0), tj.Variable(2.0)
    assert first.serial < second.serial
