"""Parameters with None, flags, names or integers among them: derivatives are by what is floating,
and the others stay as they are, in every transform and on tapes."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.support.compare import assert_same
from tracejit.trace.structure.trees import flatten, unflatten

X = np.array([1.0, 2.0, 3.0])


class Mode(enum.Enum):
    """A choice."""

    SUM = 1


@dataclass
class Layer:
    """A layer as users write it."""

    w: Any
    bias: Any = None
    act: str = "tanh"


class Pair(NamedTuple):
    """An array and a function."""

    w: Any
    act: Any = np.tanh


def rule(x: Any) -> Any:
    return x * 2.0


TREES: dict[str, Any] = {
    "None": {"w": X, "b": None},
    "a flag": {"w": X, "flag": True},
    "a name": [X, "tanh"],
    "an enum": (X, Mode.SUM),
    "functions": (Pair(X), rule, tj.function(rule)),
    "a dataclass": Layer(X),
    "an integer": {"w": X, "n": 3},
    "integers": {"w": X, "k": np.arange(3), "m": X > 1.0, "s": np.int64(2)},
    "types": {"w": X, "t": np.float32, "d": np.dtype("f4")},
    "nested": {"layers": [Layer(X), Layer(2.0 * X, X)], "rate": 0.5, "b": None},
}


def is_floating(leaf: Any) -> bool:
    return np.asarray(leaf).dtype.kind == "f" and not isinstance(leaf, type)


def total(tree: Any) -> Any:
    """The sum of the cubes of what is floating, as isinstance tells it."""
    found = 0.0
    for leaf in flatten(tree)[0]:
        if isinstance(leaf, float) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"):
            found = found + np.sum(leaf**3)
    return found


def mapped(f: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with what is floating replaced."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [f(leaf) if is_floating(leaf) else leaf for leaf in leaves])


def slope(x: Any) -> Any:
    return 3.0 * np.asarray(x) ** 2 if np.ndim(x) else np.float64(3.0 * x**2)


def curvature(x: Any) -> Any:
    return 6.0 * x * np.asarray(x) if np.ndim(x) else np.float64(6.0 * x * x)


def eagerly(tree: Any) -> Any:
    with tj.eager():
        return tj.grad(total)(tree)


GRADIENTS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda tree: tj.grad(total)(tree),
    "value_and_grad": lambda tree: tj.value_and_grad(total)(tree)[1],
    "two arguments": lambda tree: tj.grad(lambda a, b: total(b), argnums=(0, 1))(X, tree)[1],
    "nested": lambda tree: tj.function(lambda p: tj.grad(total)(p))(tree),
    "eager": eagerly,
    "vjp": lambda tree: tj.vjp(total, tree)[1](1.0)[0],
    "jacrev": lambda tree: tj.jacrev(total)(tree),
    "jacfwd": lambda tree: tj.jacfwd(total)(tree),
    "recompute_grad": lambda tree: tj.grad(tj.recompute_grad(total))(tree),
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize("name", some_by_day(GRADIENTS, 2))
def test_gradients_are_by_what_is_floating(name: str, tree: Any) -> None:
    for _ in range(2):
        assert_same(GRADIENTS[name](tree), mapped(slope, tree))


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_forward_mode_moves_what_is_floating(tree: Any) -> None:
    moves = mapped(lambda x: 1.0 * x, tree)
    along = sum(np.sum(3.0 * np.asarray(x) ** 3) for x in flatten(tree)[0] if is_floating(x))
    assert tj.jvp(total, (tree,), (moves,))[1] == pytest.approx(along)
    assert tj.linearize(total, tree)[1](moves) == pytest.approx(along)
    (found,) = tj.hvp(total, (tree,), (moves,))
    assert_same(found, mapped(curvature, tree))
    tj.check_grads(total, (tree,))


def test_a_hessian_keeps_them_at_both_levels() -> None:
    found = tj.hessian(lambda p: np.sum(p["w"] ** 3))(
        {"w": X, "b": None, "n": np.arange(2), "f": 1}
    )
    np.testing.assert_allclose(found["w"]["w"], np.diag(6.0 * X))
    assert found["b"] is None and found["w"]["b"] is None
    assert found["f"] == found["w"]["f"] == 1
    assert found["n"].tolist() == found["w"]["n"].tolist() == [0, 1]


def test_vmap_of_a_gradient() -> None:
    both = tj.vmap(tj.grad(lambda p: np.sum(p["w"] ** 2)))
    assert_same(both({"w": np.ones((2, 3)), "b": None}), {"w": np.full((2, 3), 2.0), "b": None})


def test_every_choice_has_a_kernel_of_its_own() -> None:
    f = tj.grad(lambda p: np.sum(p["w"] ** 2 if p["act"] == "square" else p["w"] ** 3))
    for _ in range(2):
        assert f({"w": X, "act": "square"})["w"].tolist() == [2.0, 4.0, 6.0]
        assert f({"w": X, "act": "cube"})["w"].tolist() == [3.0, 12.0, 27.0]
    assert f.tracing_count == 2


def test_integers_are_those_of_the_call() -> None:
    f = tj.grad(lambda p: np.sum(p["w"] ** p["n"]))
    for n in (2, 3, 4):
        found = f({"w": X, "n": n})
        np.testing.assert_allclose(found["w"], n * X ** (n - 1))
        assert found["n"] == n
    assert f.tracing_count == 2
    for n in (2, 3, 4):
        _, pullback = tj.vjp(lambda p: np.sum(p["w"] ** 2), {"w": X, "n": n})
        assert pullback(1.0)[0]["n"] == n
    repeated = tj.grad(lambda p: sum(np.sum(p["w"]) for _ in range(p["n"])))
    assert repeated({"w": X, "n": 2})["w"].tolist() == [2.0, 2.0, 2.0]


def test_what_stays_shares_no_memory() -> None:
    tree = {"w": X, "k": np.array([2, 0, 1])}

    def picked(p: Any) -> Any:
        return np.sum(p["w"][p["k"]] ** 2)

    _, pullback = tj.vjp(picked, tree)
    found = [tj.grad(picked)(tree), eagerly(tree), pullback(1.0)[0], pullback(1.0)[0]]
    for k, one in enumerate(found):
        assert one["k"].tolist() == [2, 0, 1]
        assert not np.shares_memory(one["k"], tree["k"])
        assert not any(np.shares_memory(one["k"], other["k"]) for other in found[:k])


def test_a_direction_for_what_does_not_move_is_refused() -> None:
    tree = {"w": X, "n": 2}
    assert tj.jvp(total, (tree,), ({"w": X, "n": None},))[1] == pytest.approx(108.0)
    for wrong in ({"w": X, "n": 1.0}, {"w": X, "n": np.ones(2)}, {"w": X}):
        with pytest.raises(tj.errors.SeedError, match="differ in their structure"):
            tj.jvp(total, (tree,), (wrong,))
        with pytest.raises(tj.errors.SeedError, match="differ in their structure"):
            tj.linearize(total, tree)[1](wrong)


class Opaque:
    """An object that keeps an array, and is no container."""

    w = X


@pytest.mark.parametrize(
    "kept",
    [Opaque(), functools.partial(np.multiply, X), np.random.default_rng(1)],
    ids=["an object", "a partial function", "a generator"],
)
def test_what_might_hold_floating_numbers_is_refused(kept: Any) -> None:
    for call in (tj.grad(lambda p: np.sum(p[0])), tj.jacobian(lambda p: p[0])):
        with pytest.raises(tj.errors.GradientError, match=r"with respect to p\[1\]"):
            call([X, kept])


def test_auxiliary_results_beside_them() -> None:
    tree = {"w": X, "n": np.arange(2), "act": None}
    f = tj.value_and_grad(lambda p: (np.sum(p["w"] ** 2), {"n": p["n"] + 1}), has_aux=True)
    (value, auxiliary), found = f(tree)
    assert value == 14.0
    assert auxiliary["n"].tolist() == [1, 2]
    assert_same(found, {"w": 2.0 * X, "n": np.arange(2), "act": None})


def options_on_a_tape(tree: Any, sources: Any) -> Any:
    with tj.GradientTape() as tape:
        tape.watch(tree)
        loss = np.sum(tree["w"] ** 2)
    return tape.gradient(loss, sources)


def test_a_tape_takes_them_among_its_sources() -> None:
    tree = {"w": tj.constant(X), "b": None, "act": "tanh", "flag": True, "n": 3}
    found = options_on_a_tape(tree, tree)
    np.testing.assert_array_equal(found.pop("w").numpy(), 2.0 * X)
    assert found == {"b": None, "act": "tanh", "flag": True, "n": 3}
    recorded = tj.function(lambda p: options_on_a_tape(p, p))({"w": X, "b": None, "act": "tanh"})
    assert_same(recorded, {"w": 2.0 * X, "b": None, "act": "tanh"})
    with pytest.raises(tj.errors.WatchError):
        options_on_a_tape({"w": tj.constant(X), "b": X}, tree)
    with pytest.raises(tj.errors.TapeArgumentError, match="got a NoneType"):
        options_on_a_tape({"w": tj.constant(X)}, [None])


def test_jacobians_and_forward_mode_of_a_tape() -> None:
    tree = {"w": tj.constant(X), "b": None}
    with tj.GradientTape() as tape:
        tape.watch(tree)
        y = tree["w"] ** 2
    found = tape.jacobian(y, tree)
    np.testing.assert_array_equal(found["w"].numpy(), np.diag(2.0 * X))
    assert found["b"] is None
    with tj.ForwardAccumulator(tree, {"w": np.ones(3), "b": None}) as moving:
        y = tree["w"] ** 2
    np.testing.assert_array_equal(moving.jvp({"y": y, "b": None})["y"].numpy(), 2.0 * X)


def test_a_custom_gradient_of_such_parameters() -> None:
    @tj.custom_gradient
    def loss(p: Any) -> Any:
        return np.sum(p["w"] ** 2), lambda g: {"w": 10.0 * g * p["w"], "b": None}

    assert_same(tj.grad(loss)({"w": X, "b": None}), {"w": 10.0 * X, "b": None})


def test_results_may_hold_names() -> None:
    (found,) = tj.vjp(lambda p: {"y": p["w"] ** 2, "act": p["act"]}, {"w": X, "act": "tanh"})[1](
        {"y": np.ones(3), "act": None}
    )
    assert_same(found, {"w": 2.0 * X, "act": "tanh"})
