"""Tiles on several threads: the same bits in the same order, whoever computes them."""

from __future__ import annotations

import contextvars
import gc
import os
import pickle
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interrupted import Interruption, at_each_instruction, tracing, with_interruption
from tests.rows import each_row
from tests.support.processes import in_child, python
from tracejit.cache.modules import load_text
from tracejit.compiler.kernel import Kernel
from tracejit.runtime import workers
from tracejit.runtime.workers import Job, Pool, in_turn_on

SECONDS = 60
ROWS, STEP = 1000, 64

MODULE = '''
from numpy import add, empty, exp, tanh

BLAS_THREADS = 1
SIGNATURE = {"inputs": {"x": "f8[1000]"}, "outputs": ("f8",), "gradient": ("x",), "residuals": {}}


def in_turn(tile, rows, step, *arrays):
    """What tile(start, stop, *arrays) returns for each `step` rows, in order."""
    starts = range(0, max(rows, 1), step)
    return [tile(start, min(start + step, rows), *arrays) for start in starts]


def tile_1(start, stop, x, x_bar):
    x = x[start:stop]
    out = tanh(x)
    x_bar[start:stop] = 1.0 - out * out
    return add.reduce(out * exp(x))


def forward(x):
    return value_and_grad(x)[0]


def value_and_grad(x):
    x_bar = empty(1000)
    out = sum(in_turn(tile_1, 1000, 64, x, x_bar))
    return out, x_bar
'''

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

X = np.random.default_rng(3).normal(size=ROWS)


@pytest.fixture(autouse=True)
def new_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Workers of its own for each test, and threads that take turns as often as they can."""
    pool = Pool()
    monkeypatch.setattr(workers, "_pools", [pool])
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield pool
    sys.setswitchinterval(before)
    pool.end_idle()


def plain(tile: Callable[..., Any], rows: int, step: int, *arrays: Any) -> list[Any]:
    """What a module has by itself."""
    starts = range(0, max(rows, 1), step)
    return [tile(start, min(start + step, rows), *arrays) for start in starts]


def slow(start: int, stop: int) -> tuple[int, int, int]:
    """A tile that takes long enough for every worker to come."""
    time.sleep(0.001)
    return start, stop, threading.get_ident()


def kernel(threads: int | None) -> Kernel:
    """A kernel with tiles."""
    return Kernel(load_text("tiles", MODULE, None, None), threads=threads)


@each_row("threads", [1, 2, 3, 8])
@each_row(("rows", "step"), [(0, 4), (1, 4), (4, 4), (5, 4), (64, 1), (1000, 64)])
def test_every_tile_once_and_in_order(threads: int, rows: int, step: int) -> None:
    found = in_turn_on(threads)(slow, rows, step)
    assert [one[:2] for one in found] == [one[:2] for one in plain(slow, rows, step)]


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_several_threads_take_part(threads: int, new_pool: Pool) -> None:
    found = in_turn_on(threads)(slow, 64, 1)
    assert 1 < len({one[2] for one in found}) <= threads
    assert found[0][2] == threading.get_ident()
    assert len(new_pool.crew) == threads - 1


def test_one_tile_stays_with_the_caller(new_pool: Pool) -> None:
    assert in_turn_on(8)(slow, 4, 4) == [(0, 4, threading.get_ident())]
    assert not new_pool.crew


@pytest.mark.parametrize("threads", [1, 2, 3, 8, None])
def test_the_same_bits_on_any_number_of_threads_at_any_call(threads: int | None) -> None:
    one, several = kernel(1), kernel(threads)
    value, slope = one.value_and_grad(X)
    for _ in range(20):
        found = several.value_and_grad(X)
        assert found[0].tobytes() == value.tobytes()
        assert found[1].tobytes() == slope.tobytes()
        assert several.forward(X).tobytes() == value.tobytes()


def test_two_kernels_of_one_text_have_each_their_number() -> None:
    one, two = kernel(1), kernel(2)
    assert one.source == two.source
    assert one.module.in_turn.__module__ == one.module.__name__
    assert two.module.in_turn.__module__ == workers.__name__


def test_a_kernel_travels_with_its_number() -> None:
    f = tj.function(np.sin, threads=3)
    found = pickle.loads(pickle.dumps(f.kernel(tj.TensorSpec((2,)))))
    assert found.threads == 3


def test_the_option_comes_to_every_kernel() -> None:
    f = tj.function(lambda x: np.sum(np.sin(x)), threads=3)
    specification = tj.TensorSpec((2,))
    made = f.kernel(specification), tj.grad(f).kernel(specification)
    assert [one.threads for one in made] == [3, 3]
    assert f(np.ones(2)) == np.sum(np.sin(np.ones(2)))


def test_the_number_is_in_no_text() -> None:
    texts = {
        tj.function(lambda x: x * 2.0, threads=threads, name="f").kernel(tj.TensorSpec((2,))).source
        for threads in (None, 1, 2)
    }
    assert len(texts) == 1


def test_many_threads_at_once() -> None:
    expected = kernel(1).value_and_grad(X)
    two, three = kernel(2), kernel(3)
    start, errors = threading.Barrier(8), []

    def work(number: int) -> None:
        start.wait()
        for _ in range(30):
            value, slope = (two, three)[number % 2].value_and_grad(X)
            if value != expected[0] or slope.tobytes() != expected[1].tobytes():
                errors.append(number)

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert not errors


def test_tiles_within_tiles() -> None:
    inner = in_turn_on(3)

    def tile(start: int, stop: int) -> list[int]:
        return [one[0] for one in inner(slow, stop - start, 1)]

    assert in_turn_on(3)(tile, 20, 5) == [[0, 1, 2, 3, 4]] * 4


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("failing", [{0}, {7}, {3, 6}, set(range(8)), {6, 7}])
def test_the_first_of_the_tiles_that_raise_raises(threads: int, failing: set[int]) -> None:
    computing: list[int] = []

    def tile(start: int, stop: int) -> None:
        computing.append(start)
        try:
            time.sleep(0.001)
            if start in failing:
                raise KeyError(start)
        finally:
            computing.remove(start)

    in_turn = in_turn_on(threads)
    for _ in range(3):
        with pytest.raises(KeyError) as caught:
            in_turn(tile, 8, 1)
        assert caught.value.args == (min(failing),)
        assert not computing, "a tile goes on"
    assert len(in_turn(slow, 8, 1)) == 8


def test_what_was_raised_holds_nothing_when_it_is_forgotten() -> None:
    array = np.ones(8)
    gone = weakref.ref(array)

    def tile(start: int, stop: int, x: np.ndarray) -> None:
        raise KeyError(start)

    gc.disable()
    try:
        with suppress(KeyError):
            in_turn_on(2)(tile, 8, 4, array)
        del array
        assert gone() is None
    finally:
        gc.enable()


def test_a_worker_holds_no_array_of_an_earlier_call() -> None:
    array = np.ones(8)
    gone = weakref.ref(array)
    in_turn_on(2)(lambda start, stop, x: slow(start, stop), 8, 1, array)
    del array
    deadline = time.monotonic() + SECONDS
    while gone() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert gone() is None


def test_the_callers_context_holds_in_every_tile() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")
    variable.set(7)

    def tile(start: int, stop: int) -> tuple[int, str, int]:
        time.sleep(0.001)
        return variable.get(), np.geterr()["divide"], threading.get_ident()

    with np.errstate(divide="raise"):
        found = in_turn_on(3)(tile, 16, 1)
    assert {one[:2] for one in found} == {(7, "raise")}
    assert len({one[2] for one in found}) > 1
    with np.errstate(divide="ignore"):
        assert {one[1] for one in in_turn_on(3)(tile, 16, 1)} == {"ignore"}


def test_errors_of_floating_point_reach_the_caller() -> None:
    def tile(start: int, stop: int, x: np.ndarray) -> np.ndarray:
        time.sleep(0.001)
        return 1.0 / x[start:stop]

    x = np.arange(16.0)[::-1].copy()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        in_turn_on(2)(tile, 16, 1, x)


def test_where_the_system_refuses_threads(monkeypatch: pytest.MonkeyPatch, new_pool: Pool) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert {one[2] for one in in_turn_on(4)(slow, 8, 1)} == {threading.get_ident()}
    assert not new_pool.crew


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_an_interruption_waits_for_the_workers() -> None:
    computing: list[int] = []

    class Interruption(Exception):
        pass

    def interrupt(number: int, frame: Any) -> None:
        raise Interruption

    def tile(start: int, stop: int) -> None:
        if start:
            computing.append(start)
            try:
                time.sleep(0.3)
            finally:
                computing.remove(start)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        in_turn = in_turn_on(2)
        in_turn(slow, 8, 1)
        for _ in range(3):
            time.sleep(0.05)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Interruption):
                in_turn(tile, 2, 1)
            assert not computing
        assert len(in_turn(slow, 8, 1)) == 8
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def numbered(start: int, stop: int) -> tuple[int, int, int]:
    """A tile that takes no time."""
    return start, stop, threading.get_ident()


def holds_still(pool: Pool) -> None:
    """Tiles are computed as ever, on both threads."""
    found = in_turn_on(2)(slow, 16, 1)
    assert [one[0] for one in found] == list(range(16))
    assert len({one[2] for one in found}) == 2
    assert len(pool.crew) == 1


@pytest.mark.parametrize("error", [Interruption, MemoryError])
@pytest.mark.parametrize("is_first", [True, False])
def test_an_interruption_at_any_instruction(
    error: type[BaseException], is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first call, which starts a worker, and of a later one. What was raised is kept."""
    kept, pool = [], Pool()
    monkeypatch.setattr(workers, "_pools", [pool])
    runs = at_each_instruction(lambda: in_turn_on(2)(numbered, 4, 1), (workers,), error)
    while True:
        if is_first:
            pool.end_idle()
        else:
            in_turn_on(2)(slow, 4, 1)
        caught = next(runs, None)
        if caught is None:
            break
        kept.append(caught)
        if len(kept) % 16 == 0:
            holds_still(pool)
    assert len(kept) > 200
    holds_still(pool)
    pool.end_idle()


def test_a_call_at_any_instruction_of_another(new_pool: Pool) -> None:
    """As a signal handler makes one: neither waits for the other."""
    in_turn = in_turn_on(2)
    answers: list[Any] = []

    def call() -> None:
        answers.append(in_turn(numbered, 4, 1))

    for instruction in range(400):
        found = with_interruption(lambda: in_turn(numbered, 4, 1), (workers,), instruction, call)
        assert [one[0] for one in found] == list(range(4))
    assert len(answers) > 200
    assert all([one[0] for one in answer] == list(range(4)) for answer in answers)
    holds_still(new_pool)


def test_a_tile_that_nobody_has_finished_is_an_error() -> None:
    """A part of it may have been computed in place: it is not begun again."""
    job = Job(numbered, 4, 1, ())
    job.waiting.pop()
    job.take_from_front()
    job.close()
    with pytest.raises(MemoryError, match="a part of this call"):
        job.result()


@pytest.mark.parametrize("instruction", range(0, 240, 3))
def test_a_worker_whose_memory_is_full_at_any_instruction(
    instruction: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call answers all tiles or raises that; if the worker ended, another takes its place."""
    pool = Pool()
    monkeypatch.setattr(workers, "_pools", [pool])
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    trace = tracing((workers,), instruction, MemoryError)

    def traced(frame: Any, event: str, argument: Any) -> Any:
        sys._getframe().f_trace_opcodes = True
        return trace(frame, event, argument)

    threading.settrace(traced)
    try:
        found = [one[0] for one in in_turn_on(2)(slow, 16, 1)]
        time.sleep(0.001)
        found = found and [one[0] for one in in_turn_on(2)(slow, 16, 1)]
    except MemoryError:
        found = list(range(16))
    finally:
        threading.settrace(None)  # type: ignore[arg-type]
    assert found == list(range(16))
    deadline = time.monotonic() + SECONDS
    while True:
        with suppress(MemoryError):
            found = in_turn_on(2)(slow, 16, 1)
            if len({one[2] for one in found}) == 2 or time.monotonic() > deadline:
                break
    assert [one[0] for one in found] == list(range(16))
    assert len({one[2] for one in found}) == 2
    pool.end_idle()


@needs_fork
@forks
def test_a_forked_child_has_workers_of_its_own() -> None:
    in_turn = in_turn_on(3)

    def work() -> tuple[list[int], int]:
        found = in_turn(slow, 16, 1)
        return [one[0] for one in found], len({one[2] for one in found})

    for _ in range(3):
        for order, threads in (work(), in_child(work), work()):
            assert order == list(range(16))
            assert threads > 1


@needs_fork
@forks
def test_a_fork_while_another_thread_computes() -> None:
    two, expected = kernel(2), kernel(1).value_and_grad(X)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            two.value_and_grad(X)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        for _ in range(5):
            assert in_child(lambda: two.value_and_grad(X)[0]) == expected[0]
    finally:
        stop.set()
        thread.join(SECONDS)


@needs_fork
def test_no_idle_worker_is_left_when_the_process_forks(new_pool: Pool) -> None:
    in_turn_on(3)(slow, 16, 1)
    deadline = time.monotonic() + SECONDS
    threads = [*new_pool.crew]
    assert len(threads) == 2
    while not all(worker.is_idle for worker in threads) and time.monotonic() < deadline:
        time.sleep(0.001)
    workers._end_before_fork()
    assert not any(thread.is_alive() for thread in threads)
    assert not new_pool.crew
    assert len({one[2] for one in in_turn_on(3)(slow, 16, 1)}) > 1


SCRIPT = """
import atexit, time
from tracejit.runtime.workers import in_turn_on

def slow(start, stop):
    time.sleep(0.001)
    return start

in_turn = in_turn_on(4)
atexit.register(lambda: print(in_turn(slow, 8, 1)))

class Late:
    def __del__(self):
        print(in_turn(slow, 4, 1))

late = Late()
print(in_turn(slow, 16, 1))
"""


def test_the_process_ends_by_itself() -> None:
    printed = python(SCRIPT).split("\n")
    assert printed == [str([*range(16)]), str([*range(8)]), str([*range(4)]), ""]


def sums(x: np.ndarray) -> np.ndarray:
    """A function whose kernel for large arrays has tiles."""
    y = np.tanh(x - 0.5)
    return np.sum(np.sin(y) * np.exp(y) + np.sqrt(1.0 + y * y))


def test_a_function_with_tiles_answers_the_same_bits_on_any_number_of_threads() -> None:
    x = np.random.default_rng(5).normal(size=400_000)
    expected = tj.value_and_grad(tj.function(sums, threads=1))(x)
    for threads in (2, 3, 8):
        f = tj.value_and_grad(tj.function(sums, threads=threads))
        assert "in_turn(" in f.kernel(x).source
        for _ in range(5):
            value, slope = f(x)
            assert value.tobytes() == expected[0].tobytes()
            assert slope.tobytes() == expected[1].tobytes()


def test_an_environment_that_is_wrong_is_an_error_of_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACEJIT_THREADS", "none")
    with pytest.raises(tj.TracejitError, match="TRACEJIT_THREADS=none is not a whole number"):
        tj.function(sums)(np.ones(400_000))
