"""`a.flat`, np.ndenumerate and np.nditer of recorded arrays, against NumPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.support.compare import assert_same
from tracejit.specialise.results import own
from tracejit.trace.structure.trees import map_tree

X = np.arange(1.0, 7.0).reshape(2, 3)
MASK = np.array([False, True] * 3)


def outcome(f: Callable[..., Any], x: Any) -> Any:
    """What a call answers or raises, and what it leaves in a copy of its argument."""
    x = x.copy(order="K")
    try:
        return f(x), x
    except Exception as error:
        kind = next(one for one in (IndexError, ValueError, TypeError) if isinstance(error, one))
        return kind.__name__, x


def check(f: Callable[..., Any], x: Any = X) -> None:
    """Compiled, and with its gradients recorded, `f` is what NumPy makes of it."""
    assert_same(outcome(tj.function(f), x), outcome(f, x))
    with tj.GradientTape() as tape:
        t = tj.constant(x)
        tape.watch(t)
        found = outcome(lambda x: map_tree(own, f(t * 1.0)), x)[0]
    assert_same(found, outcome(f, x)[0])


def stepped(x: Any) -> Any:
    """Uses a flat iterator as an iterator."""
    flat = x.flat
    next(flat)
    second = next(flat)
    state = flat.index, flat.coords, isinstance(flat, np.flatiter), len(flat)
    rest = list(flat)
    flat[0]
    return second, state, rest, flat.index


def running(x: Any) -> Any:
    """Reads what it has written a step before."""
    y, found = x * 1.0, []
    for k, v in enumerate(y.flat):
        found.append(v)
        if k < 5:
            y.flat[k + 1] = v + y.flat[k + 1]
    return y, found


READS: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: [v * 2.0 for v in x.flat],
    "transposed": lambda x: [v * 2.0 for v in x.T.flat],
    "summed": lambda x: (sum(x.flat), np.sum(x.flat), np.exp(x.flat), np.ones(6) * x.flat),
    "joined": lambda x: np.concatenate([x.flat, x.flat[:2], x.flat.copy()]),
    "compared": lambda x: (x.flat > 2.0, x.flat == 2.0, 2.0 < x.flat),
    "stepped": stepped,
    "running": running,
    "no dimension": lambda x: [*x[0, 0, ...].flat],
}
INDICES: list[Any] = [
    0, -1, 6, -7, np.int64(3), slice(1, 3), slice(None, None, -2), ..., [0, 2], MASK, (1,), (0, 1),
    np.array([[0, 1]]), slice(0, 0),
]  # fmt: skip
VALUES: list[Any] = [5.0, 3, [7.0, 8.0], [7.0, 8.0, 9.0], [], [1.0, 2.0, 3.0, 4.0], [[1.0], [2.0]]]


@pytest.mark.parametrize("name", READS)
def test_flat_is_read_as_by_numpy(name: str) -> None:
    check(READS[name])


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_flat_is_indexed_as_by_numpy(index: Any) -> None:
    check(lambda x: x.flat[index])


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_flat_is_written_as_by_numpy(index: Any) -> None:
    for value in VALUES:

        def copied(x: Any, value: Any = value) -> Any:
            y = x * 1.0
            y.flat[index] = value
            y.T.flat[index] = x[0, 0]
            return y

        def into(x: Any, value: Any = value) -> None:
            x.flat[index] = value

        check(copied)
        assert_same(outcome(tj.function(into), X), outcome(into, X))


def test_flat_is_assigned_and_updated() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y.flat = x[0]
        y.flat[2] += 5.0
        y.flat[1:3] *= 2.0
        y.flat[x.flat > 5.0] = 0.0
        return y

    check(f)
    variable = tj.Variable(X)
    with pytest.raises(tj.TracejitError, match="into a Variable"):
        variable.flat[0] = 1.0
    with tj.GradientTape() as tape:
        y = sum(v * v for v in variable.flat)
    assert_same(tape.gradient(y, variable).numpy(), 2.0 * X)


def test_gradients_by_elements() -> None:
    assert_same(tj.grad(lambda x: sum(k * v**2 for k, v in enumerate(x.flat)))(X),
                2.0 * X * np.arange(6.0).reshape(2, 3))  # fmt: skip
    assert_same(tj.grad(lambda x: np.sum(x.flat[1:3]))(X), np.array([[0.0, 1.0, 1.0], [0.0] * 3]))
    f = tj.function(lambda x: sum(x.flat))
    for shape in (3, 4, (2, 2)):
        assert f(np.ones(shape)) == np.prod(shape)


def test_a_flat_iterator_is_no_result() -> None:
    with pytest.raises(tj.TracejitError, match="FlatIterator, not an array"):
        tj.function(lambda x: x.flat)(X)


def spread_right(x: Any) -> Any:
    """Writes ahead of what it reads."""
    y = x * 1.0
    for (i, j), v in tnp.ndenumerate(y):
        y[i, (j + 1) % 3] += v
    return y


def doubled(x: Any) -> Any:
    """Writes through the elements."""
    y = x * 1.0
    with tnp.nditer(y, flags=["multi_index"], op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = 2.0 * v + it.multi_index[0]
    return y


def by_hand(x: Any) -> Any:
    """Steps by itself."""
    y = x * 1.0
    it = tnp.nditer(
        [y, x], flags=["c_index", "multi_index"], op_flags=[["writeonly"], ["readonly"]]
    )
    told = it.itersize, it.nop, it.ndim, it.shape
    while not it.finished:
        it[0] = it[1] * it.index
        it.iternext()
    return y, told


def read_only(x: Any) -> Any:
    """Writes where it may not."""
    for v in tnp.nditer(x * 1.0):
        v[...] = 1.0


ITERATED: dict[str, Callable[[Any], Any]] = {
    "enumerated": lambda x: [(place, v * 2.0) for place, v in tnp.ndenumerate(x)],
    "written ahead": spread_right,
    "elements": lambda x: [v * 2.0 for v in tnp.nditer(x)],
    "two": lambda x: [a * b for a, b in tnp.nditer([x, np.arange(3.0)])],
    "a column": lambda x: [a * b for a, b in tnp.nditer([x, x[:, :1]], order="C")],
    "Fortran": lambda x: [v * 2.0 for v in tnp.nditer(x, order="F")],
    "by rows": lambda x: [v * 2.0 for v in tnp.nditer(x.T, order="C")],
    "doubled": doubled,
    "by hand": by_hand,
    "read only": read_only,
    "empty": lambda x: [*tnp.nditer(x[:0])],
    "no dimension": lambda x: [v * 1.0 for v in tnp.nditer(x[0, 0])],
}


@pytest.mark.parametrize("name", ITERATED)
def test_numpys_iterators_have_recorded_ones_in_their_place(name: str) -> None:
    check(ITERATED[name])


def test_an_order_that_is_not_known_is_refused_or_checked() -> None:
    f = tj.function(lambda x: [v * 1.0 for v in tnp.nditer(x)])
    assert_same(f(X), f.python(X))
    for x in (np.asfortranarray(X), X[:, ::-1]):
        with pytest.raises(tj.TracejitError, match="order of elements in memory"):
            f(x)
    for given in (lambda x: tnp.nditer(x.T), lambda x: tnp.nditer(x[0, ::-1])):
        with pytest.raises(tj.TracejitError, match="order of elements in memory"):
            tj.function(given)(X)
    for flags in ({"flags": ["external_loop"]}, {"op_dtypes": ["f4"]}, {"itershape": (2, 3)}):
        with pytest.raises(tj.TracejitError, match="is not supported"):
            tj.function(lambda x, flags=flags: tnp.nditer(x, **flags))(X)


@pytest.mark.usefixtures("as_written")
def test_numpys_own_are_refused_with_the_cure() -> None:
    for iterate in (np.nditer, np.ndenumerate):
        with pytest.raises(tj.TracejitError) as caught:
            tj.function(lambda x, iterate=iterate: [*iterate(x)])(X)
        assert f"np.{iterate.__name__}" in str(caught.value)
        assert "loop over np.ndindex(x.shape), and read x[index]" in str(caught.value)
        assert "test_iteration.py" in str(caught.value)
    assert type(tnp.nditer(X)) is np.nditer
    assert type(tnp.ndenumerate(X)) is np.ndenumerate
