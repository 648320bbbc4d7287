"""From the end of a recording to what the user gets: structure, places, effects, in both ways of
calling a kernel."""

from __future__ import annotations

import collections
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.support.compare import assert_same
from tracejit.support.errors import ArgumentError

X = np.array([1.0, -2.0, 0.5])


class Pair(NamedTuple):
    x: Any
    y: Any


@dataclass
class Weights:
    w: Any
    b: Any


def with_arrays(f: Any, x: Any) -> Any:
    """The compiled entry."""
    return f(x)


def with_tensors(f: Any, x: Any) -> Any:
    """The path of a kernel, outside tapes; as arrays."""
    return arrays(f(tj.constant(x)))


def under_a_tape(f: Any, x: Any) -> Any:
    """The path of a kernel as one operation; as arrays."""
    with tj.GradientTape() as tape:
        x = tj.constant(x)
        tape.watch(x)
        found = f(x)
    return arrays(found)


def arrays(found: Any) -> Any:
    """A result with arrays in place of Tensors."""
    if isinstance(found, tj.Tensor):
        return found.numpy()
    if type(found) in (list, tuple):
        return type(found)(arrays(one) for one in found)
    if type(found) is dict:
        return {key: arrays(one) for key, one in found.items()}
    if type(found) is Pair:
        return Pair(*map(arrays, found))
    if type(found) is Weights:
        return Weights(arrays(found.w), arrays(found.b))
    return found


WAYS = (with_arrays, with_tensors, under_a_tape)
Way = Callable[[Any, Any], Any]

RESULTS: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: x * 2.0,
    "scalar": lambda x: np.sum(x),
    "list": lambda x: [x * 2.0, np.sum(x)],
    "tuple of one": lambda x: (x * 2.0,),
    "empty": lambda x: (),
    "None": lambda x: None,
    "constant": lambda x: np.ones(2) * 3.0,
    "number": lambda x: 3,
    "text": lambda x: "text",
    "dict": lambda x: {"b": x * 2.0, "a": np.sin(x)},
    "mixed": lambda x: {"n": 3, "s": "text", "x": [x + 1.0, None, (True, x - 1.0)]},
    "named": lambda x: Pair(x * 2.0, [np.cos(x)]),
    "dataclass": lambda x: Weights(w=(x * 2.0,), b=Weights(np.exp(x), None)),
    "twice": lambda x: [y := x * 2.0, y],
    "argument": lambda x: (x, x + 0.0),
    "0-d array": lambda x: np.sum(x, keepdims=True).reshape(()),
    "class": lambda x: (int, x * 2.0),
}


@each_row("way", WAYS)
@each_row("name", RESULTS)
def test_results_have_the_structure_and_types_of_the_function(name: str, way: Way) -> None:
    f = tj.function(RESULTS[name])
    for _ in range(2):
        found = way(f, X)
        expected = RESULTS[name](X)
        assert type(found) is type(expected)
        assert_same(found, expected)
    assert len(f.kernels) == 1


@pytest.mark.parametrize("way", WAYS)
def test_results_are_arrays_of_their_own(way: Way) -> None:
    f = tj.function(lambda x: (x, x, x[1:], np.broadcast_to(x, (2, 3))))
    given = X.copy()
    found = way(f, given)
    for number, one in enumerate(found):
        assert one.flags.writeable
        assert not np.may_share_memory(one, given)
        assert not any(np.may_share_memory(one, other) for other in found[:number])


def test_dicts_keep_the_order_of_their_keys() -> None:
    f = tj.function(lambda x: {"b": x, "a": 2.0 * x, "c": {2: x, 1: x}})
    for way in WAYS:
        found = way(f, X)
        assert list(found) == ["b", "a", "c"]
        assert list(found["c"]) == [2, 1]


@pytest.mark.parametrize("way", [with_tensors, under_a_tape])
def test_transforms_answer_value_and_gradients(way: Way) -> None:
    def loss(x: Any) -> Any:
        return np.sum(x**3)

    value, slope = way(tj.value_and_grad(loss), X)
    assert_same(value, np.sum(X**3))
    np.testing.assert_allclose(slope, 3.0 * X**2, rtol=1e-14)
    np.testing.assert_allclose(way(tj.grad(loss), X), 3.0 * X**2, rtol=1e-14)
    slope, aux = way(tj.grad(lambda x: (loss(x), {"x": x, "n": 1}), has_aux=True), X)
    assert_same(aux, {"x": X, "n": 1})
    (value, aux), slope = way(
        tj.value_and_grad(lambda x: (loss(x), [x * 2.0]), has_aux=True),
        X,
    )
    assert_same(aux, [X * 2.0])
    np.testing.assert_allclose(slope, 3.0 * X**2, rtol=1e-14)


@pytest.mark.parametrize("way", WAYS)
def test_gradients_come_in_the_structure_of_the_argument(way: Way) -> None:
    slope = tj.grad(lambda p: np.sum(p["x"] * p["y"][0]))
    argument = {"y": [2.0 * X], "x": X}
    if way is not with_arrays:
        argument = {"y": [tj.constant(2.0 * X)], "x": tj.constant(X)}
    found = arrays(slope(argument))
    assert_same(found, {"y": [X], "x": 2.0 * X})


# What takes place after the kernel


@pytest.mark.parametrize("way", WAYS)
def test_assignments_and_callbacks_in_order(way: Way) -> None:
    v, w = tj.Variable(X, name="v"), tj.Variable(0.0, name="w")
    seen: list[Any] = []

    def note(*values: Any) -> None:
        seen.append([np.array(one) for one in values] + [v.numpy()])

    @tj.function
    def f(x: Any) -> Any:
        tj.callback(note, x)
        v.assign(2.0 * x)
        w.assign_add(1.0)
        tj.callback(note, v * 3.0)
        v.assign(5.0 * x)
        return {"y": x * 7.0}

    for call in (1, 2):
        found = way(f, X)
        assert_same(found, {"y": X * 7.0})
        np.testing.assert_array_equal(v.numpy(), 5.0 * X)
        assert float(w) == call
        (given, before), (tripled, between) = seen[-2:]
        np.testing.assert_array_equal(given, X)
        np.testing.assert_array_equal(before, X if call == 1 else 5.0 * X)
        np.testing.assert_array_equal(tripled, 6.0 * X)
        np.testing.assert_array_equal(between, 2.0 * X)


@pytest.mark.parametrize("way", WAYS)
def test_only_effects_and_no_result(way: Way) -> None:
    v = tj.Variable(X)

    @tj.function
    def f(x: Any) -> None:
        v.assign(x * 2.0)

    for k in (1.0, 2.0):
        assert way(f, k * X) is None
        np.testing.assert_array_equal(v.numpy(), 2.0 * k * X)


@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_is_result_and_assigned_shares_no_memory(way: Way) -> None:
    v = tj.Variable(np.zeros(3))

    @tj.function
    def f(x: Any) -> Any:
        y = x * 2.0
        v.assign(y)
        return y

    found = way(f, X)
    found[:] = 99.0
    np.testing.assert_array_equal(v.numpy(), 2.0 * X)


@pytest.mark.parametrize("way", WAYS)
def test_random_draws_advance_once(way: Way) -> None:
    rng, same = tj.random.default_rng(3), np.random.default_rng(3)
    f = tj.function(lambda x: x + rng.normal(size=3))
    for _ in range(3):
        assert_same(way(f, X), X + same.normal(size=3))


# What is no result


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: {1, len}, "a result of lambda_ is a set"),
        (lambda x: frozenset([x[:1]]), "a result of lambda_ is a frozenset"),
        (lambda x: [bytearray(b"x")], "is a bytearray"),
        (lambda x: (one for one in x), "is a generator"),
        (lambda x: collections.deque(), "is a deque"),
    ],
)
def test_objects_that_change_are_no_results(make: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words) as caught:
        tj.function(make)(X)
    assert "return arrays and numbers" in str(caught.value)


def test_an_object_that_holds_what_is_recorded_in_a_slot_is_no_result() -> None:
    class Base:
        __slots__ = ("inner",)

    class Holder(Base):
        __slots__ = ("other",)

    def make(x: Any) -> Any:
        holder = Holder()
        holder.inner = [x * 2.0]
        return holder

    with pytest.raises(ArgumentError, match="is a Holder"):
        tj.function(make)(X)


def test_an_object_that_holds_what_is_recorded_is_no_result() -> None:
    class Holder:
        def __init__(self, inner: Any) -> None:
            self.inner = [inner]

    f = tj.function(lambda x: Holder(x * 2.0))
    with pytest.raises(ArgumentError, match="is a Holder"):
        f(X)
    made = tj.function(lambda x: (Holder(3), x))(X)[0]
    assert made.inner == [3]


def test_an_async_function_has_no_result() -> None:
    made = []

    async def answer(x: Any) -> Any:
        return x

    def f(x: Any) -> Any:
        made.append(answer(x))
        return made[-1]

    with pytest.raises(ArgumentError, match="is a coroutine"):
        tj.function(f)(X)
    for one in made:
        one.close()  # Python warns of coroutines that nobody waits for


def test_ways_with_more_and_fewer_results() -> None:
    @tj.function
    def parted(x: Any) -> Any:
        if np.sum(x) > 0.0:
            return np.sin(x)
        return {"a": np.exp(x), "b": (x, 2.0 * x)}

    for _ in range(2):
        assert_same(parted(-X), np.sin(-X))
        found = parted(X)
        assert_same(found["a"], np.exp(X))
        assert_same(found["b"], (X, 2.0 * X))
        parted._callee.python = len  # the kernel has both ways
