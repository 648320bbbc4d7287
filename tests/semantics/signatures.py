"""Programs whose arguments change in kind: dtypes, ranks, sizes, overlap, structure."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tests.semantics.scenes import Stage, scene, smooth

X = np.array([0.7, -1.2, 0.4])
UP = np.array([1.5, 0.5, 2.0])


@scene
def dtypes_and_ranks(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if x.ndim > 1:
            return x.sum(axis=0)
        return x * 2 if np.sum(x) > 2 else x / 2

    for dtype in (float, np.float32, np.int64, np.int8, np.complex128, bool, float):
        f(np.ones(3, dtype))
        f(np.zeros(3, dtype))
        f(np.ones((2, 3), dtype))
    f(np.float64(3.0))
    f(np.ones((2, 2, 2)))
    f(np.ones(()))


@scene
def many_sizes(stage: Stage) -> None:
    """Sizes change and signs with them; 0 and 1 are sizes, too."""

    @stage
    def f(x: Any) -> Any:
        y = x - x.sum() / max(x.shape[0], 1)
        if y.sum() > -1e-9 and x.shape[0] > 2:
            return y * x.shape[0]
        return np.sum(y * y), x[:2]

    for n in (3, 5, 4, 1, 0, 2, 7, 3, 1, 0):
        f(np.arange(float(n)))


@smooth
def batches_of_many_sizes(stage: Stage) -> None:
    @stage
    def loss(w: Any, x: Any) -> Any:
        error = x @ w - 1.0
        value = np.sum(error * error) / x.shape[0]
        return np.sqrt(value) if value > 2.0 else value

    for n in (2, 3, 5, 4, 2, 1, 6):
        rows = np.cos(np.arange(3.0 * n)).reshape(n, 3)
        loss(X, rows)
        loss(UP, 3.0 * rows)


@scene
def the_same_array_twice(stage: Stage) -> None:
    @stage
    def f(a: Any, b: Any) -> Any:
        a[0] = 5.0
        if b[0] > 4:
            return b.sum()
        b += 1.0
        return a.sum()

    for _ in range(2):
        z = UP.copy()
        f(z, z)
        f(z, UP.copy())
        f(z[:2], z[::-1][:2])
        f(z[1:], z[:-1])
        f(UP.copy(), z)


@scene
def layouts(stage: Stage) -> None:
    @stage
    def f(m: Any) -> Any:
        if m[0, -1] > 0:
            return m.ravel(), m.T
        return m.reshape(-1)[::2], m.copy()

    m = np.arange(6.0).reshape(2, 3) - 1.0
    for a in (m, -m, np.asfortranarray(m), m[::-1], m[:, ::-1], m.T, np.asfortranarray(-m), m):
        f(a)


@scene
def structures(stage: Stage) -> None:
    @stage
    def f(tree: Any) -> Any:
        total = 0.0
        for key in tree:
            value = tree[key] if isinstance(tree, dict) else key
            total = total + (np.sum(value) if np.sum(value) > 0 else 1.0)
        return total

    f([X, UP])
    f((X, UP))
    f([X, UP, X])
    f({"a": X, "b": UP})
    f({"b": UP, "a": X})
    f({"a": X, "c": -UP})
    f({1.0: X})
    f({True: X})
    f({1: X})
    f([])
    f([1.0, 2])
    f([1, 2.0])


@scene
def read_only_and_broadcast_arguments(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if x[0] == x[1]:
            x = x + 1.0
        return x * 2

    fixed = X.copy()
    fixed.flags.writeable = False
    f(fixed)
    f(np.broadcast_to(2.0, (3,)))
    f(X)

    @stage
    def g(x: Any) -> Any:
        if x[0] > 0:
            x[1] = 9.0
        return x.sum()

    g(X.copy())
    g(-fixed)
    g(fixed)
    g(X.copy())


@scene
def variables_as_arguments(stage: Stage) -> Any:
    v, w = tj.Variable(UP), tj.Variable(-UP)

    @stage
    def f(p: Any, x: Any) -> Any:
        if p[0] > 0:
            p.assign_sub(x)
        return np.sum(p) * 2

    for p in (v, w, v, w, v):
        f(p, UP * 0.6)
    return v, w


@scene
def callbacks_by_branches(stage: Stage) -> Any:
    seen: list[float] = []

    def note(value: Any) -> None:
        seen.append(round(float(value), 6))

    @stage
    def f(x: Any) -> Any:
        if x[0] > 1:
            tj.callback(note, x[0] * 10)
        tj.callback(note, np.sum(x))
        return x * 2

    for x in (X, UP, X, UP, -X):
        f(x)
    return seen


@scene
def a_decision_after_a_callback(stage: Stage) -> Any:
    """What a callback answers is known in the call alone."""
    given = [1.0, -1.0, 1.0, 2.0]
    asked: list[int] = []

    def ask(x: Any) -> Any:
        asked.append(len(asked))
        return np.float64(given[(len(asked) - 1) % len(given)])

    @stage
    def f(x: Any) -> Any:
        t = tj.callback(ask, x, result=tj.TensorSpec(()))
        return x * t if t > 0 else x - t

    for _ in range(5):
        f(X)
    return asked


@scene
def vectorised_and_decided(stage: Stage) -> None:
    @stage
    def f(m: Any) -> Any:
        squares = tj.vmap(lambda row: np.sum(row * row))(m)
        if np.max(squares) > 4:
            return squares / np.max(squares)
        return squares

    for m in (np.stack([X, UP]), 0.5 * np.stack([X, UP]), np.stack([UP, UP])):
        f(m)


@scene
def gradients_inside_that_decide(stage: Stage) -> None:
    """A step along tj.grad of a function that branches, taken only where it helps."""

    def loss(w: Any) -> Any:
        if w[0] > 0:
            return np.sum(w * w)
        return np.sum(np.cos(w))

    @stage
    def step(w: Any) -> Any:
        g = tj.grad(loss)(w)
        new = w - 0.3 * g
        return (new, True) if loss(new) < loss(w) else (w, False)

    for w in (X, -X, UP, -UP, X):
        step(w)
