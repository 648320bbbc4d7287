"""Arrays of known numbers, to which a function writes what is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.convert.running import define

TABLE = np.array([5.0, 3.0, 2.0, 1.0, 4.0])
X = np.array([0.3, -1.2, 0.8, 2.1, -0.4])
POINTS = X, X[::-1].copy(), X[[3, 0, 2, 1, 4]]
SQUARE = np.random.default_rng(2).normal(size=(4, 4))
PROGRAMS = """
import numpy as np

def permuted_lu(A):
    n, A, order = len(A), A.copy(), np.arange(len(A))
    for k in range(n - 1):
        p = np.argmax(np.abs(A[k:, k])) + k
        if p != k:
            order[k], order[p] = order[p], order[k]
            A[[k, p]] = A[[p, k]]
        A[k + 1:, k] /= A[k, k]
        A[k + 1:, k + 1:] -= np.outer(A[k + 1:, k], A[k, k + 1:])
    return np.sum(A * np.arange(1.0, n + 1)[order])

def shuffled(x):
    p = np.arange(len(x))
    for i in range(len(x) - 1, 0, -1):
        j = int(abs(x[i]) * 10 + 0.5) % (i + 1)
        p[i], p[j] = p[j], p[i]
    return np.sum(x[p] * np.arange(1.0, len(x) + 1))

def selected(x):
    order = np.arange(len(x))
    for k in range(len(x)):
        p = k + np.argmin(x[order[k:]])
        order[[k, p]] = order[[p, k]]
    return np.sum(x[order] * np.arange(1.0, len(x) + 1))

def bubbled(x):
    order = np.arange(len(x))
    for i in range(len(x)):
        for j in range(len(x) - 1):
            if x[order[j]] > x[order[j + 1]]:
                order[j], order[j + 1] = order[j + 1], order[j]
    return np.sum(x[order] * np.arange(1.0, len(x) + 1))

def united(x):
    parent = np.arange(len(x))
    for i in range(1, len(x)):
        parent[i] = parent[np.argmin(np.abs(x[:i] - x[i]))]
    return np.sum(x * x[parent])

def inverse(x):
    places = np.arange(len(x))
    places[np.argsort(x)] = np.arange(len(x))
    return np.sum(x ** 2 * places)

class Order:
    def __init__(self, n): self.order = np.arange(n)
    def swap(self, i, j): self.order[[i, j]] = self.order[[j, i]]

def of_an_object(x):
    held = Order(len(x))
    seen = held.order
    held.swap(0, np.argmax(x))
    return np.sum(x * np.sin(seen))
"""


def _slopes(f: Any, x: Any) -> Any:
    steps = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    return np.reshape([(f(x + step) - f(x - step)) / 2e-6 for step in steps], x.shape)


def _is_recorded_once(f: Any, *points: Any) -> None:
    """Compare values and slopes; one recording serves all points."""
    compiled = tj.value_and_grad(f)
    for x in points:
        value, slopes = compiled(x)
        np.testing.assert_allclose(value, f(x))
        np.testing.assert_allclose(slopes, _slopes(f, x), atol=1e-6)
    assert "recorded traces" not in compiled.explain()


@pytest.mark.parametrize("name", ["shuffled", "selected", "bubbled", "united", "inverse"])
def test_algorithms_with_pointers(name: str) -> None:
    _is_recorded_once(define(PROGRAMS)[name], *POINTS)


def test_lu_with_a_permutation() -> None:
    _is_recorded_once(define(PROGRAMS)["permuted_lu"], SQUARE, SQUARE[::-1].copy())


def test_all_names_of_the_array_see_the_write() -> None:
    _is_recorded_once(define(PROGRAMS)["of_an_object"], *POINTS)


@pytest.mark.parametrize(
    "made",
    [
        "np.arange(5)", "np.arange(5.0)", "np.arange(5) * 2 + 1", "np.linspace(0, 1, 5)",
        "np.eye(5)", "np.identity(5, int)", "np.tri(5)", "np.diag(T)", "np.full(5, 3)",
        "np.indices((5, 2))", "np.array([1, 2, 3])", "np.array(range(5))", "T.copy()", "T * 2",
        "T[[2, 0, 1]]", "T[::-1].copy()", "np.sort(T)", "np.arange(6).reshape(3, 2)",
        "np.cumsum(T)", "np.stack([T, T])", "np.vander(T)", "T.astype(int)", "-T",
    ],
)  # fmt: skip
def test_a_recorded_number_chooses_the_place(made: str) -> None:
    text = f"""
    import numpy as np
    def f(x):
        t = {made}
        p = np.argmax(x) % len(t)
        t[[0, p]] = t[[p, 0]]
        return np.sum(x) * np.sum(np.cos(t) * np.arange(t.size).reshape(t.shape))
    """
    _is_recorded_once(define(text, T=TABLE)["f"], *POINTS)


@pytest.mark.parametrize(
    "write",
    [
        "t[p] = 2", "t[p] = x[p]", "t[0], t[p] = t[p], t[0]", "t[p] += 1", "t[x > 0] = 1",
        "np.add.at(t, p, 1)", "t.fill(x[0])", "np.copyto(t, x)", "t *= x", "t[1:] -= x[1:]",
        "np.multiply(t, x, out=t)", "np.put(t, [1], x[:1])", "r = t[1:]; r[0] = x[1]",
    ],
)  # fmt: skip
def test_writes(write: str) -> None:
    text = f"""
    import numpy as np
    def f(x):
        t = T.copy()
        p = np.argmax(x)
        {write}
        return np.sum(x * np.cos(t))
    """
    _is_recorded_once(define(text, T=TABLE)["f"], *POINTS)


def test_an_array_from_outside_stays_refused() -> None:
    f = define("def f(x): T[0] = x[0]; return T[0] * 2", T=TABLE.copy())["f"]
    with pytest.raises(tj.errors.InPlaceError, match="plain array"):
        tj.grad(f)(X)


def test_a_read_only_array_stays_so() -> None:
    text = """
    import numpy as np
    def f(x):
        t = np.arange(5)
        t.flags.writeable = False
        t[np.argmax(x)] = 2
        return np.sum(x * t)
    """
    with pytest.raises(ValueError, match="read-only"):
        tj.grad(define(text)["f"])(X)


def test_what_only_a_plain_array_can_do_is_done() -> None:
    """Where the array cannot be recorded, each place is recorded separately."""
    text = """
    import numpy as np
    def f(x):
        t = np.arange(5)
        t[np.argmax(x)] = 2
        return np.sum(x * t.view(np.int32)[::2])
    """
    f = define(text)["f"]
    with tj.config(strict=True):
        compiled = tj.function(f)
        for x in POINTS:
            np.testing.assert_allclose(compiled(x), f(x))


def test_a_branch_that_writes_is_recorded_later() -> None:
    """The kernel of a call that writes nothing stays in use beside those of calls that do."""
    text = """
    import numpy as np
    def f(x):
        words = []
        t = np.arange(5)
        if x[0] > 0:
            words.append("write")
        if words:
            t[np.argmax(x)] = 8
        return np.sum(t * x)
    """
    f = define(text)["f"]
    compiled = tj.function(f)
    for x in (-np.abs(X), *POINTS, -np.abs(X), *POINTS):
        np.testing.assert_allclose(compiled(x), f(x))
