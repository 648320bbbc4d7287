"""The number of threads of NumPy's BLAS: one inside, afterwards what there was."""

from __future__ import annotations

import functools
import itertools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.interrupted import Interruption, at_each_instruction, with_interruption
from tests.support.processes import in_child
from tracejit.cache.modules import load_text
from tracejit.compiler.kernel import Kernel
from tracejit.runtime import blas
from tracejit.runtime.blas import Blas, BlasThreads, on_one_blas_thread

SECONDS = 60
MODULE = """
BLAS_THREADS = 1
SIGNATURE = {"inputs": {}, "outputs": ()}

def forward(ask):
    return ask()
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
needs_openblas = pytest.mark.skipif(blas.find() is None, reason="this BLAS is not OpenBLAS")


class Number:
    """A BLAS of which only the number of threads is there."""

    def __init__(self, threads: int) -> None:
        self.blas = Blas(self, self.set)
        self.threads = threads
        self.seen: list[int] = []

    def set(self, threads: int) -> None:
        self.seen.append(threads)
        self.threads = threads

    def __call__(self) -> int:
        return self.threads


@pytest.fixture
def number(monkeypatch: pytest.MonkeyPatch) -> Iterator[Number]:
    """A number that is 4 outside, before and after."""
    made = Number(4)
    monkeypatch.setattr(blas, "_of_process", [BlasThreads(made.blas)])
    yield made
    assert made() == 4


def test_one_inside_and_what_there_was_outside(number: Number) -> None:
    inside = on_one_blas_thread(number)
    assert [inside(), number(), inside(), number()] == [1, 4, 1, 4]
    assert number.seen == [1, 4, 1, 4]


def test_a_function_keeps_its_name_and_arguments(number: Number) -> None:
    def forward(x: int, *, y: int) -> int:
        return x - y

    wrapped = on_one_blas_thread(forward)
    assert wrapped.__name__ == "forward"
    assert wrapped(3, y=1) == 2


def test_calls_inside_calls(number: Number) -> None:
    inner = on_one_blas_thread(number)
    outer = on_one_blas_thread(lambda: (number(), inner(), number()))
    assert outer() == (1, 1, 1)


def test_after_an_exception(number: Number) -> None:
    def fails() -> None:
        raise KeyError(number())

    with pytest.raises(KeyError, match="1"):
        on_one_blas_thread(fails)()


def test_calls_that_overlap_on_two_threads(number: Number) -> None:
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first() -> None:
        first_is_in.set()
        assert second_is_in.wait(SECONDS)

    def second() -> int:
        second_is_in.set()
        assert first_is_out.wait(SECONDS)
        return number()

    answers: list[int] = []
    threads = [threading.Thread(target=on_one_blas_thread(first))]
    threads[0].start()
    assert first_is_in.wait(SECONDS)
    threads.append(threading.Thread(target=lambda: answers.append(on_one_blas_thread(second)())))
    threads[1].start()
    threads[0].join(SECONDS)
    first_is_out.set()
    threads[1].join(SECONDS)
    assert answers == [1]
    assert number.seen == [1, 4]


def test_eight_threads(number: Number) -> None:
    inside = on_one_blas_thread(number)
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.extend(inside() for _ in range(500)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert answers == [1] * 4000


@pytest.mark.parametrize("error", [Interruption, KeyboardInterrupt, MemoryError])
def test_an_interruption_at_any_instruction(number: Number, error: type[BaseException]) -> None:
    """What was raised is kept, with the variables of the frames that it left."""
    inside = on_one_blas_thread(number)
    kept = []
    for caught in at_each_instruction(inside, (blas,), error):
        assert number() == 4
        kept.append(caught)
    assert len(kept) > 40
    assert [inside(), number()] == [1, 4]


def test_an_interruption_at_any_instruction_of_a_call_inside(number: Number) -> None:
    inner = on_one_blas_thread(number)

    def interrupted() -> int:
        for _ in at_each_instruction(inner, (blas,)):
            assert number() == 1
        return number()

    assert on_one_blas_thread(interrupted)() == 1
    assert number() == 4


def in_handler(inside: Callable[[], int], answers: list[tuple[int, int]]) -> None:
    """Make two calls, and say what they saw."""
    answers.append((inside(), inside()))


def test_a_call_at_any_instruction_of_another(number: Number) -> None:
    """It waits for nobody, and has one thread, but for the few instructions between the look at
    `here` and the setting of the number, where no signal handler runs."""
    inside = on_one_blas_thread(number)
    answers: list[tuple[int, int]] = []
    for instruction in itertools.count():
        call = functools.partial(in_handler, inside, answers)
        assert with_interruption(inside, (blas,), instruction, call) == 1
        assert number() == 4
        if len(answers) == instruction:
            break
    assert len(answers) > 40
    assert len([answer for answer in answers if answer != (1, 1)]) < 8


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_calls_of_a_signal_handler_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number is told and set by C code, as that of a BLAS."""
    number = [4]
    made = Blas(functools.partial(number.__getitem__, 0), functools.partial(number.__setitem__, 0))
    monkeypatch.setattr(blas, "_of_process", [BlasThreads(made)])
    inside = on_one_blas_thread(made.get_threads)
    answers: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: answers.extend((inside(), inside())))
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    try:
        while len(answers) < 1000:
            answers.append(inside())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert set(answers) == {1}
    assert number == [4]


def test_a_call_that_begins_at_any_instruction_of_another_and_goes_on(number: Number) -> None:
    """The number is put back by the last that is out, whichever was in first."""
    inside = on_one_blas_thread(number)
    for instruction in range(60):
        go, is_in = threading.Event(), threading.Event()

        @on_one_blas_thread
        def waits(go: Any = go, is_in: Any = is_in) -> None:
            is_in.set()
            assert go.wait(SECONDS)

        thread = threading.Thread(target=waits)

        def begin(thread: Any = thread, is_in: Any = is_in) -> None:
            thread.start()
            assert is_in.wait(SECONDS)

        assert with_interruption(inside, (blas,), instruction, begin) == 1
        go.set()
        if thread.ident is not None:
            thread.join(SECONDS)
        assert number() == 4


@needs_fork
@forks
def test_a_child_that_is_forked_during_a_call(number: Number) -> None:
    inside = on_one_blas_thread(number)
    answer = on_one_blas_thread(lambda: in_child(lambda: (number(), inside(), number())))()
    assert answer == (4, 1, 4)


@needs_fork
@forks
def test_a_call_that_goes_on_in_the_child(number: Number) -> None:
    def forks_and_goes_on() -> int:
        return os.fork()

    child = on_one_blas_thread(forks_and_goes_on)()
    if child == 0:
        others = on_one_blas_thread(number)()
        os._exit(0 if (number(), others) == (4, 1) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_where_the_blas_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_of_process", [])
    monkeypatch.setattr(blas, "_libraries", lambda: [])
    assert blas.blas_threads() is None
    assert on_one_blas_thread(len) is len


class Library(dict[str, Callable[..., Any]]):
    """A library that has these functions."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in self:
            raise AttributeError(name)
        return self[name]


@pytest.mark.parametrize(("prefix", "suffix"), [("scipy_openblas", "64_"), ("openblas", "")])
@pytest.mark.parametrize(("parallel", "is_found"), [(0, False), (1, True), (2, False)])
def test_which_openblas_is_found(
    monkeypatch: pytest.MonkeyPatch, prefix: str, suffix: str, parallel: int, is_found: bool
) -> None:
    words = {"get_num_threads": 3, "set_num_threads": None, "get_parallel": parallel}
    library = Library()
    for word, answer in words.items():
        library[f"{prefix}_{word}{suffix}"] = lambda *args, answer=answer: answer
    monkeypatch.setattr(blas, "_libraries", lambda: [Library(), library])
    found = blas.find()
    assert (found is not None) == is_found
    assert found is None or found.get_threads() == 3


def test_functions_of_a_module_that_asks_for_it(number: Number) -> None:
    kernel = Kernel(load_text("one", MODULE, None, None))
    assert kernel.forward(number) == 1
    assert (
        Kernel(load_text("all", MODULE.replace("= 1", "= None"), None, None)).forward(number) == 4
    )
    assert kernel.forward is kernel.forward


@needs_openblas
def test_numpys_own_openblas(threads_of_blas: None) -> None:
    blas_threads = blas.blas_threads()
    assert blas_threads is not None
    before = blas_threads.blas.get_threads()
    assert before == 2
    product = np.ones((300, 300)) @ np.ones((300, 300))

    def inside() -> int:
        np.testing.assert_array_equal(np.ones((300, 300)) @ np.ones((300, 300)), product)
        return blas_threads.blas.get_threads()

    assert on_one_blas_thread(inside)() == 1
    assert blas_threads.blas.get_threads() == before
    np.testing.assert_array_equal(np.ones((300, 300)) @ np.ones((300, 300)), product)


def test_the_wheel_of_numpy_has_an_openblas_that_is_found() -> None:
    libraries = Path(np.__file__).parents[1] / "numpy.libs"
    wheel = list(libraries.glob("*scipy_openblas*.so*"))
    assert not wheel or blas.find() is not None
