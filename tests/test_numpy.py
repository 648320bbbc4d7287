"""tracejit.numpy is NumPy, with arrays that can hold what is being recorded."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tracejit.trace.tensor.tensor import Tensor

X = np.array([1.0, 2.0, 3.0])


def test_outside_of_recordings_it_is_numpy() -> None:
    for make in (
        lambda np: np.zeros((2, 3)),
        lambda np: np.ones(2, np.float32),
        lambda np: np.full(3, 2.5),
        lambda np: np.array([[1, 2], [3, 4]]),
        lambda np: np.asarray([1.0, 2.0], dtype=complex),
        lambda np: np.eye(3, k=1),
        lambda np: np.arange(4),
        lambda np: np.linspace(0, 1, 5),
        lambda np: np.full_like(X, 4),
        lambda np: np.linalg.norm(np.ones(4)),
        lambda np: np.fft.fft(np.ones(4)),
    ):
        mine, expected = make(tnp), make(np)
        assert type(mine) is type(expected)
        np.testing.assert_array_equal(mine, expected)
    assert tnp.pi is np.pi
    assert tnp.float32 is np.float32
    assert tnp.pi == np.pi
    assert tnp.random is not None
    assert set(np.__all__) <= set(tnp.__all__)
    with pytest.raises(AttributeError):
        tnp.absent  # noqa: B018


MAKERS = {
    "zeros": lambda: tnp.zeros(3),
    "zeros 2-D": lambda: tnp.zeros((2, 3), dtype=np.float32),
    "zeros int": lambda: tnp.zeros(3, int),
    "ones": lambda: tnp.ones(3),
    "full": lambda: tnp.full((2, 2), 0.5),
    "full keyword": lambda: tnp.full(shape=3, fill_value=7, dtype=float),
    "array": lambda: tnp.array([1.0, 2.0]),
    "array ndmin": lambda: tnp.array([1.0, 2.0], ndmin=2),
    "array of ints": lambda: tnp.array([1, 2], dtype=float),
    "eye": lambda: tnp.eye(2),
    "arange": lambda: tnp.arange(0.0, 1.0, 0.25),
    "linspace": lambda: tnp.linspace(0.0, 1.0, 4),
    "zeros_like": lambda: tnp.zeros_like(X),
    "ones_like": lambda: tnp.ones_like(X, dtype=np.float32),
    "full_like": lambda: tnp.full_like(X, 2.0),
    "copy": lambda: tnp.copy(X),
    "asarray": lambda: tnp.asarray([0.5, 1.5]),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_made_while_recording_can_be_written_to(name: str) -> None:
    make = MAKERS[name]

    def f(x: Any) -> Any:
        made = make()
        made[..., 1] = x[0] * 2
        return made

    expected = make()
    expected[..., 1] = X[0] * 2
    found = tj.function(f)(X)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    with tj.GradientTape() as tape:
        x = tj.constant(X)
        tape.watch(x)
        y = np.sum(f(x) * 1.0)
    if expected.dtype.kind == "f":
        count = expected[..., 1].size
        assert tape.gradient(y, x).numpy().tolist() == [2.0 * count, 0.0, 0.0]


def test_lists_of_recorded_numbers_become_arrays() -> None:
    def f(x: Any) -> Any:
        rotation = tnp.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]])
        return tnp.sum([rotation[0, 1], x[1]]) + np.sum(rotation @ x[1:]) + tnp.asarray(x[2]) * 2

    assert tj.function(f)(X) == pytest.approx(f(X))
    step = np.array([1e-6, 0.0, 0.0])
    slope = (f(X + step) - f(X - step)) / 2e-6
    assert tj.grad(f)(X)[0] == pytest.approx(slope)


def test_tuples_of_recorded_numbers_become_arrays() -> None:
    found = tj.grad(lambda x: tnp.std((x[0], x[1], 4.0)) + tnp.mean((x, 2.0 * x)))(X)
    step = 1e-6 * np.eye(3)[:2]
    expected = [(np.std(np.r_[(X + h)[:2], 4.0]) - np.std(np.r_[X[:2], 4.0])) / 1e-6 for h in step]
    np.testing.assert_allclose(found, np.r_[expected, 0.0] + 0.5, atol=1e-5)
    assert tj.function(lambda x: tnp.sum(x[None], (0, 1)))(X) == 6.0


KEYS = [
    lambda x, y: x,
    lambda x, y: (x, y),
    lambda x, y: (x, 0, y[0, 0], slice(1, 4), slice(0, 1, 5j)),
    lambda x, y: ("1", y, 2 * y),
    lambda x, y: ("0,2", x, y),
    lambda x, y: ("0,3,1", x, x),
    lambda x, y: ("-1,3,-2", y, y),
    lambda x, y: ("1,2,0", x, slice(3)),
    lambda x, y: ([x[0], 2.0], x),
    lambda x, y: (x.astype(np.float32), 1.5),
    lambda x, y: (x.astype(np.float32), x[0]),
]


@pytest.mark.parametrize("builder", ["r_", "c_"])
@pytest.mark.parametrize("key", KEYS)
def test_what_stands_in_brackets_is_joined_as_by_numpy(builder: str, key: Any) -> None:
    matrix = np.arange(9.0).reshape(3, 3)
    recorded = tj.function(lambda x, y: getattr(tnp, builder)[key(x, y)])
    try:
        expected = getattr(np, builder)[key(X, matrix)]
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            recorded(X, matrix)
        return
    found = recorded(X, matrix)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_brackets_are_differentiated_and_numpys_outside() -> None:
    assert tj.grad(lambda x: np.sum(tnp.c_[x, x**2] ** 2))(X).tolist() == [6.0, 36.0, 114.0]
    assert tnp.r_[1:4, 0].tolist() == [1, 2, 3, 0]
    with pytest.raises(tj.TracejitError, match=r"makes a np\.matrix"):
        tj.function(lambda x: tnp.r_["c", x])(X)


def test_full_of_a_recorded_number() -> None:
    found = tj.grad(lambda x: np.sum(tnp.full((2, 3), x[0]) + tnp.full_like(X, x[1])))(X)
    assert found.tolist() == [6.0, 6.0, 0.0]


def test_array_copies_and_asarray_does_not() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        copied, same = tnp.array(y), tnp.asarray(y)
        y[0] = 5.0
        return copied, same, tnp.asarray(y, np.float32)

    copied, same, single = tj.function(f)(X)
    assert copied[0] == 1.0
    assert same[0] == 5.0
    assert single.dtype == np.float32


def test_a_captured_array_is_not_written_to() -> None:
    weights = np.ones(3)

    def through(x: Any) -> Any:
        w = tnp.asarray(weights)
        w[0] = x[0]
        return w

    with pytest.raises(tj.TracejitError, match="from outside of the function"):
        tj.function(through)(X)

    def copied(x: Any) -> Any:
        w = tnp.array(weights)
        w[0] = x[0] * 3.0
        return w

    f = tj.function(copied)
    assert f(X).tolist() == [3.0, 1.0, 1.0]
    weights[1] = 4.0
    assert f(X).tolist() == [3.0, 4.0, 1.0]


def test_arrays_of_integers_stay_numpys() -> None:
    def f(x: Any) -> Any:
        order = tnp.array([2, 0, 1])
        assert type(order) is np.ndarray
        assert type(tnp.arange(3)) is np.ndarray
        assert isinstance(tnp.zeros(2), Tensor)
        return x[order]

    assert tj.function(f)(X).tolist() == [3.0, 1.0, 2.0]


def test_numbers_made_while_recording_can_be_read() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for c in tnp.array([0.5, 0.0, 2.0]):
            if c != 0:
                total = total + c * x[int(2 * c) % 3]
        return total

    assert tj.function(f)(X) == f(X)


def test_other_dtypes_and_orders_are_numpys() -> None:
    def f(x: Any) -> Any:
        assert tnp.array(["a", "b"]).dtype.kind == "U"
        assert tnp.zeros(2, dtype=object).dtype == object
        return x

    tj.function(f)(X)


def test_vectorize_is_batched() -> None:
    @tnp.vectorize
    def ramp(t, scale):
        return np.where(t > 1.5, t * scale, 0.0)

    assert ramp(X, 2.0).tolist() == [0.0, 4.0, 6.0]
    f = tj.function(lambda x: ramp(x, 2.0))
    assert f(X).tolist() == [0.0, 4.0, 6.0]
    assert tj.grad(lambda x: np.sum(ramp(x, x[0])))(X).tolist() == [5.0, 1.0, 1.0]


def test_a_gradient_through_numpys_linalg_and_its_kin() -> None:
    found = tj.grad(lambda x: tnp.linalg.norm(tnp.stack([x, x])))(X)
    assert np.allclose(found, np.sqrt(2) * X / np.linalg.norm(X))


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_arrays_made_of_numbers_are_watched_each_by_itself(mode: str) -> None:
    def program(x: Any) -> Any:
        with tj.GradientTape() as tape:
            made = [tnp.array([1.0, 2.0]), tnp.array([1.0, 2.0]), tnp.asarray([1.0, 2.0])]
            tape.watch(made)
            y = sum((k + 1.0) * np.sum(a * x) for k, a in enumerate(made))
        return tape.gradient(y, made)

    x = np.array([3.0, 5.0])
    found = program(tj.constant(x)) if mode == "eager" else tj.function(program)(x)
    for k, one in enumerate(found):
        np.testing.assert_array_equal(one.numpy() if mode == "eager" else one, (k + 1.0) * x)


def test_an_array_that_is_watched_is_no_more_the_users() -> None:
    w, x = np.array([4.0, 5.0]), tj.constant([1.0, 2.0])
    with tj.GradientTape() as tape:
        taken = tnp.asarray(w)
        tape.watch([taken, x])
        y = np.sum(taken * taken * x)
        w[0] = 100.0
    by_w, by_x = tape.gradient(y, [taken, x])
    np.testing.assert_array_equal(by_w.numpy(), [8.0, 20.0])
    np.testing.assert_array_equal(by_x.numpy(), [16.0, 25.0])


LISTS = {
    "sum": lambda x: tnp.sum([x[0], x[1]]),
    "sum by name": lambda x: tnp.sum(a=[x[0], x[1]], axis=0),
    "diag": lambda x: tnp.diag([x[0], x[1]]),
    "diag by name": lambda x: tnp.diag(v=(x[0], x[1])),
    "copy": lambda x: tnp.copy([x[0], x[1]]),
    "norm": lambda x: tnp.linalg.norm([x[0], x[1]]),
    "exp": lambda x: tnp.exp([x[0], x[1]]),
    "maximum": lambda x: tnp.maximum(x[0], [x[1], 1.5]),
    "nested": lambda x: tnp.multiply([[x[0]], [2.0]], (x[1], x[2])),
    "reduce": lambda x: tnp.add.reduce([x, x], axis=(0, 1)),
    "accumulate": lambda x: tnp.multiply.accumulate([x[0], x[1], x[2]]),
    "outer": lambda x: tnp.subtract.outer([x[0], 2.0], x),
    "two results": lambda x: tnp.modf([x[0], x[1]])[0],
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_recorded_numbers_is_an_array_everywhere(name: str) -> None:
    f, expected = LISTS[name], LISTS[name](X)
    found = tj.function(f)(X)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    with tj.GradientTape() as tape:
        x = tj.constant(X)
        tape.watch(x)
        y = f(x)
    found = tape.gradient(y, x).numpy()
    np.testing.assert_array_equal(found, tj.grad(lambda x: np.sum(f(x)))(X))


def test_a_ufunc_is_numpys_but_for_lists() -> None:
    assert tnp.exp == np.exp
    assert {np.exp: 1}[tnp.exp] == 1
    assert isinstance(tnp.exp, np.ufunc)
    assert (tnp.exp.nin, tnp.add.identity, tnp.exp.__name__) == (1, 0, "exp")
    assert tnp.exp([0.0, 0.0]).tolist() == [1.0, 1.0]
    assert repr(pickle.loads(pickle.dumps(tnp.exp))) == "<ufunc 'exp'>"
    assert tj.grad(tnp.exp)(0.0) == 1.0


def test_the_constructor_of_arrays_makes_recorded_ones() -> None:
    def f(x: Any) -> Any:
        made = tnp.ndarray(x.shape, x.dtype)
        made[...] = x
        made[0] = x[1] * x[1]
        more = tnp.ndarray((2,))
        more[:] = x[:2]
        return np.sum(made) + np.sum(more)

    assert tj.grad(f)(X).tolist() == [1.0, 2 * X[1] + 2.0, 1.0]
    assert type(tnp.ndarray((2, 3), np.float32)) is np.ndarray


@pytest.mark.usefixtures("as_written")
def test_elsewhere_the_constructor_is_the_class() -> None:
    def f(x: Any) -> Any:
        plain = np.ones(3)
        assert type(plain) is tnp.ndarray
        assert isinstance(x, tnp.ndarray)
        whole = tnp.ndarray((3,), buffer=plain, dtype=float)
        assert type(whole) is np.ndarray
        match x:
            case tnp.ndarray():
                return x * whole

    assert tj.function(f)(X).tolist() == X.tolist()
    with pytest.raises(tj.TracejitError, match="buffer= is being recorded"):
        tj.function(lambda x: tnp.ndarray((3,), buffer=x))(X)
