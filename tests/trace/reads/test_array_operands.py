"""Arrays that are only operands of what is recorded are arguments of the kernel, and not compared;
after any other use they are. Neither is ever stale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

SIZE = 20_000
X = np.linspace(0.5, 1.5, SIZE)
W = np.linspace(1.0, 2.0, SIZE)
M = np.linspace(1.0, 2.0, 2 * SIZE).reshape(SIZE, 2).copy()


def in_a_method() -> Callable[..., Any]:
    """A method that reads a global."""

    class Model:
        def predict(self, x: Any) -> Any:
            """A prediction."""
            return x * W

    return Model().predict


def loss(x: Any) -> Any:
    r = x @ M - 1.0
    r = r * 2.0
    return (r * r).sum() / len(W)


def shapes(x: Any) -> Any:
    return x * W / W.shape[0] + M.ndim


def branches(x: Any) -> Any:
    y = x + W
    if (y > W).sum() > 3:
        return -y * 2.0
    return np.tanh(y)


def added(x: Any) -> Any:
    y = x * 1.0
    y += W
    return y


def leaked(x: Any) -> Any:
    y = W
    return x * np.sum(y)


def rebound(x: Any) -> Any:
    x = np.ones(SIZE)
    return x * W


def partly(x: Any) -> Any:
    return x * W + np.sum(W)


def inner(x: Any) -> Any:
    return sum([x * float(W[k]) for k in range(2)])


def by_helper(x: Any) -> Any:
    return helper(x) * helper(np.ones(SIZE))


def helper(v: Any) -> Any:
    return np.sum(v * W)


def looped(x: Any) -> Any:
    total = x
    for one in (x, np.ones(SIZE)):
        total = total + np.sum(one * W)
    return total


def conditional(x: Any) -> Any:
    return x * np.sum((W if len(W) > 2 else X) * 2.0)


def recursive(x: Any, depth: int = 1) -> Any:
    if depth:
        return x + recursive(np.ones(SIZE), depth - 1)
    return np.asarray(np.asarray(x) * W) if isinstance(x, np.ndarray) else x


def in_place(x: Any) -> Any:
    y = np.zeros(SIZE)
    y += W
    return x + y


def by_name(x: Any) -> Any:
    return x * np.sum(globals()["W"]) + x * W


def unpacked(x: Any) -> Any:
    first, *_ = W
    return x * first


def compared(x: Any) -> Any:
    return x * (2.0 if (W > 1.5)[0] else 3.0)


def stacked(x: Any) -> Any:
    return np.concatenate([x, W]) * np.concatenate([W, W])


def indexed(x: Any) -> Any:
    return x[(W % 3).astype(int)]


def tried(x: Any) -> Any:
    try:
        y = x * W
    except ValueError:
        y = np.ones(SIZE)
    return y + np.sum(W)


def assigned(x: Any) -> Any:
    x[0], y = 1.0, W
    return x + y.sum()


PROVEN: dict[str, Callable[..., Any]] = {
    "times": lambda x: x * W,
    "from the left": lambda x: W - x,
    "product": lambda x: x @ M,
    "from the left @": lambda x: M.T @ x,
    "dot": lambda x: np.dot(x, M),
    "method": lambda x: x.dot(W),
    "ufunc": lambda x: np.maximum(np.exp(x), W),
    "numbers": lambda x: 2.0 * x / 3 + W,
    "loss": loss,
    "shapes": shapes,
    "branches": branches,
    "added": added,
    "method of an object": in_a_method(),
    "rebound": rebound,
    "helper": by_helper,
    "looped": looped,
    "in place": in_place,
    "recursive": recursive,
    "argument": lambda x: np.interp(x, W, W),
    "a function inside": lambda x: (lambda v: v * W)(np.ones(SIZE)) * x,
}


COMPARED: dict[str, Callable[..., Any]] = {
    "leaked": leaked, "partly": partly, "inner": inner, "conditional": conditional,
    "by name": by_name, "unpacked": unpacked, "compared": compared, "stacked": stacked,
    "indexed": indexed, "tried": tried, "assigned": assigned,
    "alone": lambda x: x * np.exp(W),
    "sum": lambda x: x * W.sum(),
    "element": lambda x: x * W[3],
    "slice": lambda x: x[:2] * W[:2].copy(),
    "reshaped": lambda x: x * np.square(W),
    "power": lambda x: x * (W**2),
    "in a list": lambda x: x * np.sum([W]),
    "iterated": lambda x: x * sum(1.0 for w in W if w > 1.5),
    "asked": lambda x: x * (1.0 if np.any(W > 50) else 2.0),
}  # fmt: skip


def compares(f: Any) -> bool:
    """Whether the kernel's guard compares large contents."""
    return "compared" in f.explain()


@pytest.fixture
def as_before() -> Any:
    """The arrays as they were, after a test has changed them."""
    kept = W.copy(), M.copy()
    yield
    W[:], M[:] = kept


@pytest.mark.parametrize("name", PROVEN)
def test_what_only_meets_recorded_arrays_is_not_compared(name: str, as_before: None) -> None:
    python = PROVEN[name]
    f = tj.function(python)
    for place in (0, SIZE // 2, SIZE - 1):
        np.testing.assert_allclose(f(X), python(X), rtol=1e-12)
        W[place] += 3.0
        M[place] += 3.0
        np.testing.assert_allclose(f(X), python(X), rtol=1e-12)
    assert not compares(f)
    assert f.tracing_count == 1


@pytest.mark.parametrize("name", COMPARED)
def test_any_other_use_is_compared(name: str, as_before: None) -> None:
    python = COMPARED[name]
    f = tj.function(python)
    before = np.array(f(X.copy()))
    np.testing.assert_allclose(before, python(X.copy()), rtol=1e-12)
    for place in (0, 3, SIZE - 1):
        W[place] += 300.0
        np.testing.assert_allclose(f(X.copy()), python(X.copy()), rtol=1e-12)
    assert compares(f)


def test_gradients_take_it_as_well(as_before: None) -> None:
    f = tj.grad(tj.function(lambda x: np.sum(x * x * W)))
    np.testing.assert_allclose(f(X), 2 * X * W)
    W[7] = 100.0
    np.testing.assert_allclose(f(X), 2 * X * W)


def test_a_closure_is_proven_as_a_global_is() -> None:
    held = np.ones(SIZE)
    f = tj.function(lambda x: x * held)
    f(X)
    held[5] = 4.0
    assert f(X)[5] == X[5] * 4.0
    held = np.zeros(SIZE)
    assert f(X)[5] == 0.0


def test_a_view_of_another_array_becomes_a_constant_and_is_compared() -> None:
    held = np.ones(SIZE).reshape(-1, 2)  # a view of its own, so that .T shows what nobody holds
    f = tj.function(lambda x: held.T @ x)
    x = np.ones(SIZE // 2)
    for place in (0, -1):
        assert f(x).tolist() == (held.T @ x).tolist()
        held[place] = 5.0
        assert f(x).tolist() == (held.T @ x).tolist()


def test_the_same_array_elsewhere_is_compared() -> None:
    held = np.ones(SIZE)
    holder = [held]
    f = tj.function(lambda x: x * held + np.sum(holder[0]))
    assert f(X)[0] == X[0] + SIZE
    held[9] = 2.0
    assert f(X)[0] == X[0] + SIZE + 1


def test_shape_and_dtype_are_checked_all_the_same() -> None:
    held = np.ones(SIZE)
    f = tj.function(lambda x: x * held)
    f(X)
    held.resize((1, SIZE), refcheck=False)
    assert f(X).shape == (1, SIZE)


@pytest.mark.parametrize("first", [1.0, -1.0])
def test_a_constant_of_one_way_counts_for_all_that_are_joined(first: float) -> None:
    held = np.ones(SIZE).reshape(-1, 2)

    def python(x: Any) -> Any:
        if np.sum(x) > 0:
            return np.sum(held.T @ x)
        return np.sum(x)

    f = tj.function(python)
    x = np.ones(SIZE // 2)
    for sign in (first, -first, first):
        assert f(sign * x) == python(sign * x)
    held[3] = 50.0
    for sign in (first, -first):
        assert f(sign * x) == python(sign * x)
