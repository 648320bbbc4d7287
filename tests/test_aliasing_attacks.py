"""What callers do to the arrays of optimised kernels: results never share memory with anything, and
no call sees another one.

The kernels have tiles of a few numbers on two threads, sums by dot products, loops made at once,
floats, small memory budgets. What a call should answer is what an exact kernel answers for plain
copies of the arguments.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import all_close
from tests.by_day import by_day
from tests.support.compare import assert_same
from tests.test_optimisations import TOGETHER, only
from tracejit.runtime import blas
from tracejit.trace.structure.trees import flatten

SECONDS = 60
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


class Attacked(NamedTuple):
    """A scalar function of two arrays alike, and the shape it is for."""

    function: Callable[..., Any]
    shape: tuple[int, ...]
    options: dict[str, Any]


def elementwise(w: Any, x: Any) -> Any:
    return np.mean((np.tanh(w * x) - 1 / (1 + np.exp(-x))) ** 2 * np.exp(-(x**2)))


def of_rows(w: Any, x: Any) -> Any:
    z = w * 0.5 + x
    m = np.max(z, axis=1, keepdims=True)
    return np.sum(m[:, 0] + np.log(np.sum(np.exp(z - m), axis=1)))


def products(w: Any, x: Any) -> Any:
    h = x[0]
    for k in range(x.shape[0]):
        h = np.tanh(h @ w + x[k] @ w)
    return np.sum(h * h) + np.sum((w @ x) ** 2)


def rows_of_a_loop(w: Any, x: Any) -> Any:
    parts = [np.sum(np.sin(w[k] * x[k])) * 0.5 for k in range(w.shape[0])]
    return np.sum(np.stack(parts) ** 3)


def updated(w: Any, x: Any) -> Any:
    a = np.sin(w)
    b = a[:1]
    a[-1] = x[0]
    a *= 2.0
    return np.sum(a * np.sum(b)) + np.mean(x * a)


ATTACKED = {
    "elementwise": Attacked(elementwise, (33, 4), {"threads": 2}),
    "rows": Attacked(of_rows, (21, 5), {"threads": 2}),
    "products": Attacked(products, (6, 6), {}),
    "loop": Attacked(rows_of_a_loop, (5, 4), {}),
    "updated": Attacked(updated, (9, 3), {}),
    "budget": Attacked(elementwise, (9, 5), {"memory_budget": 2500}),
}
every = pytest.mark.parametrize("name", ATTACKED)


@pytest.fixture(autouse=True, scope="module")
def optimised() -> Iterator[None]:
    """Every optimisation, with limits so low that it takes place."""
    with only(*TOGETHER):
        yield


class Pair(NamedTuple):
    """Value and gradients of a function, optimised and exact."""

    optimised: Any
    exact: Any
    w: np.ndarray
    x: np.ndarray

    def check(self, *given: Any) -> Any:
        """The results of a call, which leaves `given` alone and shares nothing with it."""
        copies = [value.copy() for value in given]
        with np.errstate(all="ignore"):
            expected = self.exact(*copies)
            found = self.optimised(*given)
        all_close(found, expected, given[0].dtype.type)
        for copy, value in zip(copies, given, strict=True):
            np.testing.assert_array_equal(copy, value)
        own(found, given)
        return found


def own(found: Any, others: Any) -> None:
    """All results are arrays of their own that may be written to."""
    arrays = [one for one in flatten(found)[0] if isinstance(one, np.ndarray)]
    for number, one in enumerate(arrays):
        assert one.flags.writeable
        for other in (*arrays[:number], *others):
            assert not np.may_share_memory(one, other)


def pair(name: str) -> Pair:
    attacked = ATTACKED[name]
    function = tj.function(attacked.function, cache=False, **attacked.options)
    exact = tj.function(attacked.function, cache=False, exact=True)
    rng = np.random.default_rng(3)
    w, x = (rng.normal(size=attacked.shape) for _ in range(2))
    argnums = (0, 1)
    return Pair(tj.value_and_grad(function, argnums), tj.value_and_grad(exact, argnums), w, x)


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.setflags(write=False)
    return x


def unaligned(x: np.ndarray) -> np.ndarray:
    raw = np.empty(x.nbytes + 1, "u1")[1:]
    made = raw.view(x.dtype).reshape(x.shape)
    made[...] = x
    return made


def in_wider(x: np.ndarray) -> np.ndarray:
    wide = np.full((x.shape[0] * 2, x.shape[1] * 3), np.nan)[::2, ::3]
    wide[...] = x
    return wide


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Fortran": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "reversed": lambda x: x[::-1, ::-1],
    "strided": in_wider,
    "a row for all": lambda x: np.broadcast_to(x[0], x.shape),
    "a column for all": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "a number for all": lambda x: np.broadcast_to(x[0, 0], x.shape),
    "read-only": read_only,
    "unaligned": unaligned,
}


@every
def test_arguments_of_any_layout(name: str) -> None:
    """One kernel for all of them, first made for an ordinary array."""
    made = pair(name)
    made.check(made.w, made.x)
    for layout in LAYOUTS.values():
        made.check(layout(made.w), made.x)
        made.check(made.w, layout(made.x))
        made.check(layout(made.w), layout(made.x))


@every
def test_arguments_that_overlap(name: str) -> None:
    made = pair(name)
    w = made.w
    made.check(w, w)
    made.check(w, w[::-1])
    made.check(w[::-1], w)
    rows = np.vstack([w, w[:1]])
    made.check(rows[:-1], rows[1:])
    made.check(rows[1:], rows[:-1])
    if w.shape[0] == w.shape[1]:
        made.check(w, w.T)
    windows = np.lib.stride_tricks.as_strided(rows.copy(), w.shape, (8, 8), writeable=False)
    made.check(windows, w)
    made.check(windows, windows)


@pytest.mark.parametrize("name", ["elementwise", "budget"])
def test_arrays_of_nothing_and_single_numbers(name: str) -> None:
    made = pair(name)
    for shape in ((1, 1), (1, 5), (5, 1), (0, 3), (3, 0), (1,), (0,), (2, 0, 3), (3, 3)):
        w = np.full(shape, 0.3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing
            made.check(w, w + 0.5)
    made.check(np.array(0.3), np.array(0.5))
    made.check(np.float64(0.3), np.float64(0.5))
    made.check(made.w, made.x)


@every
def test_results_and_arguments_change_between_calls(name: str) -> None:
    made = pair(name)
    w, x = made.w.copy(), made.x.copy()
    for step in range(6):
        _, (w_bar, x_bar) = made.check(w, x)
        w_bar[...], x_bar[...] = np.nan, np.inf
        if step % 2:
            w += 0.25
        else:
            x[...] = x[::-1].copy()
    first = made.optimised(w, x)
    w *= np.nan
    again = made.optimised(made.w, made.x)
    all_close(again, made.exact(made.w, made.x), np.float64)
    assert np.isfinite(first[1][0]).all()


@every
def test_results_of_a_hundred_calls_are_kept(name: str) -> None:
    made = pair(name)
    kept = [made.optimised(made.w * (1 + k / 100), made.x) for k in range(100)]
    own(kept, [made.w, made.x])
    for k in (0, 1, 50, 99):
        all_close(kept[k], made.exact(made.w * (1 + k / 100), made.x), np.float64)


@every
def test_eight_threads(name: str) -> None:
    """Each with arguments of its own, all with one that they share."""
    made = pair(name)
    shared = made.optimised(made.w, made.x)
    given = [(made.w * (1 + k / 8), made.x + k) for k in range(8)]
    expected = [made.optimised(*one) for one in given]

    def work(k: int) -> list[Any]:
        return [made.optimised(*one) for one in ((made.w, made.x), given[k]) for _ in range(8)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    for k, results in enumerate(found):
        for result in results[:8]:
            assert_same(result, shared)
        for result in results[8:]:
            assert_same(result, expected[k])
    own(found, [made.w, made.x])


@every
def test_arguments_that_another_thread_changes(name: str) -> None:
    """What comes out of such a call is anything, but arrays of their shapes; later ones are
    right."""
    made = pair(name)
    w, x = made.w.copy(), made.x.copy()
    made.optimised(w, x)
    ended = threading.Event()

    def change() -> None:
        while not ended.is_set():
            w[...] = -w
            x[0] += 0.001

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(30):
            value, (w_bar, x_bar) = made.optimised(w, x)
            assert np.isfinite(value)
            assert (w_bar.shape, x_bar.shape) == (w.shape, x.shape)
    finally:
        ended.set()
        thread.join(SECONDS)
    made.check(made.w, made.x)


@contextmanager
def warned_by(notice: Callable[[], Any]) -> Iterator[None]:
    """Call `notice` in the middle of a kernel, where NumPy warns of a division by zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *args: notice()
        yield


def dividing(w: Any, x: Any) -> Any:
    return np.mean(np.tanh(w / x) * np.exp(-w * w) + np.sin(x) * np.cos(w * 3.0))


def test_a_call_in_the_middle_of_a_call() -> None:
    """What is called to show a warning of a division by zero calls the same kernel."""
    function = tj.value_and_grad(tj.function(dividing, cache=False, threads=2), (0, 1))
    w, x = np.linspace(-1, 1, 60), np.linspace(1, 2, 60)
    expected = function(w, x)
    zero = x.copy()
    zero[30] = 0.0
    with np.errstate(all="ignore"):
        expected_of_zero = function(w, zero)
    inner: list[Any] = []

    with warned_by(lambda: inner.append(function(w, x))):
        found = function(w, zero)
    assert_same(found, expected_of_zero)
    assert inner
    for one in inner:
        assert_same(one, expected)


def test_functions_that_call_themselves() -> None:
    @tj.function(cache=False, threads=2)
    def folded(x: Any, depth: int) -> Any:
        return folded(np.tanh(x * 0.9) + x * x * 0.1, depth - 1) if depth else np.mean(x * x)

    def plain(x: Any, depth: int) -> Any:
        return plain(np.tanh(x * 0.9) + x * x * 0.1, depth - 1) if depth else np.mean(x * x)

    x = np.linspace(-1, 1, 50)
    for depth in (0, 3, 1, 5, 3):
        exact = tj.value_and_grad(tj.function(plain, cache=False, exact=True))
        all_close(tj.value_and_grad(folded)(x, depth), exact(x, depth), np.float64)


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
def test_exceptions_in_the_middle(raised: type[BaseException], threads_of_blas: None) -> None:
    """They come out, the BLAS has its threads again, and later calls are right."""
    function = tj.value_and_grad(tj.function(dividing, cache=False, threads=2), (0, 1))
    w, x = np.linspace(-1, 1, 60), np.linspace(1, 2, 60)
    expected = function(w, x)
    assert "BLAS_THREADS = 1" in function.kernel(w, x).source
    library = blas.find()
    before = library.get_threads() if library else 0
    zero = x.copy()
    zero[::7] = 0.0

    def stop() -> None:
        raise raised

    for _ in range(5):
        with warned_by(stop), pytest.raises(raised):
            function(w, zero)
        with warnings.catch_warnings(), pytest.raises(RuntimeWarning):
            warnings.simplefilter("error")
            function(w, zero)
        assert_same(function(w, x), expected)
    assert (library.get_threads() if library else 0) == before


@every
def test_pullbacks_keep_what_they_need(name: str) -> None:
    """A pullback is called twice, after arguments, results and cotangents have changed."""
    made = pair(name)
    attacked = ATTACKED[name]
    function = tj.function(attacked.function, cache=False, **attacked.options)
    w, x = made.w.copy(), made.x.copy()
    _, expected = made.exact(made.w, made.x)
    value, pullback = tj.vjp(function, w, x)
    w[...], x[...] = np.nan, np.inf
    for _ in range(3):
        found = pullback(np.ones_like(value))
        all_close(found, expected, np.float64)
        for one in found:
            one[...] = np.nan


def two_arrays(w: Any, x: Any) -> Any:
    y = np.tanh(w * x) + np.exp(-x * x)
    return y, y[1:], y.T, w, (x, y), np.sum(y, axis=0), y * 1.0


@pytest.mark.parametrize("threads", [1, 2])
def test_results_that_numpy_would_share(threads: int) -> None:
    """Views, arguments and one array many times are arrays of their own."""
    function = tj.function(two_arrays, cache=False, threads=threads)
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    for given in ((w, x), (w, w), (w[::-1], w), (np.broadcast_to(w[0], (40, 3)), x)):
        found = function(*given)
        own(found, given)
        all_close(found, two_arrays(*given), np.float64)


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` answers in a child that is forked here."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=lambda: results.put(work()))
    child.start()
    try:
        return results.get(timeout=SECONDS)
    finally:
        child.join(SECONDS)


@needs_fork
@forks
@pytest.mark.parametrize("name", ["elementwise", "products"])
def test_a_fork_while_others_compute(name: str) -> None:
    made = pair(name)
    expected = made.optimised(made.w, made.x)
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            made.optimised(made.w, made.x)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(by_day(1, 3)):
            assert_same(in_child(lambda: made.optimised(made.w, made.x)), expected)
    finally:
        ended.set()
        for thread in threads:
            thread.join(SECONDS)
    assert_same(made.optimised(made.w, made.x), expected)
