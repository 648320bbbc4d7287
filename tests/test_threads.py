"""Threads and forked processes: who records, what the others do meanwhile, what they share."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import random
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import close
from tests.support.processes import in_child
from tracejit.compiler import pipeline
from tracejit.specialise.slow_path import SlowPath
from tracejit.support.errors import LeakedTensorError, UnsupportedError
from tracejit.trace.recording.record import active, current_recording
from tracejit.trace.structure.draws import refusing_draws

W = np.array([0.5, -1.0, 2.0])
X = np.arange(6.0).reshape(2, 3) / 8.0
SECONDS = 60

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
# Python 3.12 and newer warn of what is tested here.
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any], count: int = 8) -> list[Any]:
    """What work(0), work(1), ... answer, begun at once on a thread each."""
    start = threading.Barrier(count)
    answers: list[Any] = [None] * count
    errors: list[str] = []

    def run(number: int) -> None:
        start.wait()
        try:
            answers[number] = work(number)
        except BaseException:
            errors.append(traceback.format_exc())

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert not errors, errors[0]
    return answers


class Stop:
    """A place in a function where the first thread that comes there waits for `go`. Nothing in it
    is seen to change, so that it is no reason to record again."""

    def __init__(self, armed: bool = True) -> None:
        self.reached = threading.Event()
        self.go = threading.Event()
        self.unarmed = threading.Lock()
        if not armed:
            self.unarmed.acquire()

    def __call__(self) -> None:
        if self.unarmed.acquire(blocking=False):
            self.reached.set()
            assert self.go.wait(SECONDS)


class Beside:
    """A call on another thread, which has come to a Stop."""

    def __init__(self, stop: Stop, call: Callable[[], Any]) -> None:
        self.stop = stop
        self.answer: Any = None
        self.thread = threading.Thread(target=self._run, args=(call,), daemon=True)

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self.answer = call()
        except BaseException as error:
            self.answer = error

    def __enter__(self) -> Beside:
        self.thread.start()
        assert self.stop.reached.wait(SECONDS)
        return self

    def __exit__(self, *error: object) -> None:
        self.stop.go.set()
        self.thread.join(SECONDS)
        assert not self.thread.is_alive(), "the thread hangs"


def loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w) ** 2)


SLOPE = 2 * np.tanh(X @ W) / np.cosh(X @ W) ** 2 @ X


# Who records


def test_one_thread_records_and_another_makes_the_call_by_python() -> None:
    stop = Stop()

    @tj.function
    def f(w: Any, x: Any) -> Any:
        stop()
        return np.tanh(x @ w)

    with Beside(stop, lambda: f(W, X)) as beside:
        close(f(W, X), np.tanh(X @ W))
        assert f.kernels == []
    close(beside.answer, np.tanh(X @ W))
    close(f(W, X), np.tanh(X @ W))
    assert len(f.kernels) == f.tracing_count == 1


def test_another_signature_is_recorded_meanwhile() -> None:
    stop = Stop()

    @tj.function
    def f(x: Any, k: int) -> Any:
        stop()
        return x * k

    with Beside(stop, lambda: f(X, 2)):
        close(f(W, 2), W * 2)
        close(f(X.astype(np.float32), 2), X.astype(np.float32) * 2)
        assert len(f.kernels) == 2
    assert len(f.kernels) == f.tracing_count == 3


def test_a_gradient_is_recorded_on_both_threads_and_kept_once() -> None:
    stop = Stop()

    @tj.value_and_grad
    def f(w: Any, x: Any) -> Any:
        stop()
        return loss(w, x)

    with Beside(stop, lambda: f(W, X)) as beside:
        close(f(W, X)[1], SLOPE)
        assert f.kernels == []
    close(beside.answer[1], SLOPE)
    assert len(f.kernels) == 1


@pytest.mark.parametrize("transform", [tj.jacobian, tj.vmap, tj.grad])
def test_a_transform_is_recorded_on_both_threads(transform: Any) -> None:
    stop = Stop()

    def f(x: Any) -> Any:
        stop()
        return np.sum(x**2)

    derived = transform(f)
    x = X if transform is tj.vmap else W
    with Beside(stop, lambda: derived(x)) as beside:
        found = derived(x)
    close(found, beside.answer)
    assert len(derived.kernels) == 1


def test_the_kernel_for_a_call_is_had_while_another_thread_records_it() -> None:
    stop = Stop()

    @tj.function
    def f(x: Any) -> Any:
        stop()
        return x + 1.0

    with Beside(stop, lambda: f(X)):
        kernel = f.kernel(X)
        close(kernel.forward(X), X + 1.0)
    assert [one.key for one in f.kernels] == [kernel.key]


def test_a_call_by_python_answers_what_a_kernel_does() -> None:
    """Arrays of its own, no Tensor, no Variable."""
    stop = Stop()
    v = tj.Variable(W)

    @tj.function
    def f(x: Any) -> Any:
        stop()
        return {"same": x, "view": x[0], "read": v, "scaled": v * 2.0, "pair": (x, 3)}

    with Beside(stop, lambda: f(X)) as beside:
        found = f(X)
    assert found.keys() == beside.answer.keys()
    for name in ("same", "view", "read", "scaled"):
        assert type(found[name]) is type(beside.answer[name]) is np.ndarray
        close(found[name], beside.answer[name])
        assert not np.may_share_memory(found[name], X)
        assert found[name].flags.writeable
    assert not np.may_share_memory(found["same"], found["pair"][0])
    assert found["pair"][1] == 3


def test_a_call_by_python_stays_on_the_tape() -> None:
    stop = Stop()

    @tj.function
    def f(w: Any, x: Any) -> Any:
        stop()
        return loss(w, x)

    with Beside(stop, lambda: f(W, X)):
        w = tj.constant(W)
        with tj.GradientTape() as tape:
            tape.watch(w)
            y = f(w, X)
        close(tape.gradient(y, w).numpy(), SLOPE)


def test_a_call_by_python_that_raises_has_its_effects_once() -> None:
    stop = Stop()
    v = tj.Variable(0.0)

    @tj.function
    def f(x: Any) -> Any:
        v.assign_add(1.0)
        stop()
        raise KeyError("no")

    with Beside(stop, lambda: f(X)) as beside:
        with pytest.raises(KeyError):
            f(X)
        assert v.numpy() == 1.0
    assert isinstance(beside.answer, KeyError)
    assert v.numpy() == 2.0


def test_a_way_is_recorded_by_one_thread_too() -> None:
    stop = Stop(armed=False)

    @tj.function
    def f(x: Any) -> Any:
        if x[0] > 0:
            return x * 2.0
        stop()
        return x - 1.0, x

    close(f(W), W * 2.0)
    stop.unarmed.release()
    with Beside(stop, lambda: f(-W)) as beside:
        close(f(-W)[0], -W - 1.0)
        close(f(W), W * 2.0)
        assert f.tracing_count == 1
    close(beside.answer[0], -W - 1.0)
    assert len(f.kernels) == 1
    assert f.tracing_count == 2


def test_recursion_on_one_thread_is_recorded_inline() -> None:
    @tj.function
    def power(x: Any, n: int) -> Any:
        return x * power(x, n - 1) if n else np.ones_like(x)

    for found in together(lambda _: power(X, 3)):
        close(found, X**3)


def test_functions_that_need_one_another_on_two_threads() -> None:
    meeting = threading.Barrier(2)

    @tj.function
    def f(x: Any, deep: bool = True) -> Any:
        if deep:
            meeting.wait(SECONDS)
        return g(x, False) * 2.0 if deep else x + 1.0

    @tj.function
    def g(x: Any, deep: bool = True) -> Any:
        if deep:
            meeting.wait(SECONDS)
        return f(x, False) * 3.0 if deep else x + 2.0

    found = together(lambda k: (f, g)[k](X), 2)
    close(found[0], (X + 2.0) * 2.0)
    close(found[1], (X + 1.0) * 3.0)


# Threads that are started while a function is recorded


def elsewhere(work: Callable[[], Any]) -> Any:
    """What `work` answers or raises on another thread."""
    answers: list[Any] = []

    def run() -> None:
        try:
            answers.append(work())
        except Exception as error:
            answers.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(SECONDS)
    return answers[0]


USES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda t: t + 1.0,
    "ufunc": np.exp,
    "function": np.sum,
    "method": lambda t: t.mean(),
    "index": lambda t: t[0],
    "bool": lambda t: bool(t[0] > 0.0),
    "write": lambda t: t.__setitem__(0, 1.0),
    "numpy": lambda t: t.numpy(),
    "with plain": lambda t: np.ones(3) * t,
    "inner function": tj.function(lambda t: t * 2.0),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_tensor_is_refused_on_another_thread(use: Callable[[Any], Any]) -> None:
    @tj.function
    def thrown(x: Any) -> Any:
        y = x * 1.0
        found = elsewhere(lambda: use(y))
        assert isinstance(found, LeakedTensorError), found
        assert "recorded in thrown was used on another thread" in str(found)
        return y

    close(thrown(W), W)
    assert len(thrown.kernels) == 1


def test_plain_values_and_other_functions_work_on_another_thread() -> None:
    g = tj.function(lambda x: x * 3.0)

    @tj.function
    def f(x: Any) -> Any:
        assert elsewhere(current_recording) is None
        assert type(elsewhere(lambda: np.ones(3) + 1.0)) is np.ndarray
        assert type(elsewhere(lambda: g(W))) is np.ndarray
        elsewhere(lambda: close(tj.grad(loss)(W, X), SLOPE))
        return x + elsewhere(lambda: g(np.ones(3)))

    close(f(W), W + 3.0)
    assert len(g.kernels) == 1


def test_what_another_thread_makes_just_before_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look for a kernel and the recording of one, another thread makes it."""
    f = tj.function(lambda x: x * 3.0)
    first_call = SlowPath.call
    waiting = [True]

    def later(self: Any, *args: Any) -> Any:
        if waiting:
            waiting.clear()
            close(elsewhere(lambda: f(W)), 3.0 * W)
        return first_call(self, *args)

    monkeypatch.setattr(SlowPath, "call", later)
    close(f(W), 3.0 * W)
    assert len(f.kernels) == f.tracing_count == 1


# What threads share


def attack(rounds: int) -> None:
    """Every shared thing at once, from eight threads."""
    for _ in range(rounds):
        values()
        tapes()
        transforms()
        ways()
        variables()
        clearing()
        changing()


def values() -> None:
    f, g = tj.function(lambda w, x: loss(w, x)), tj.value_and_grad(loss)
    for found in together(lambda _: f(W, X)):
        close(found, loss(W, X))
    assert len(f.kernels) == f.tracing_count == 1
    for value, slope in together(lambda _: g(W, X)):
        close(value, loss(W, X))
        close(slope, SLOPE)
    assert len(g.kernels) == 1
    scaled = tj.function(lambda x, k: x * k + 1.0)

    def work(number: int) -> None:
        for size in range(4):
            x, k = np.ones(3 + (size + number) % 2), 2.0 + number % 2
            close(scaled(x, k), x * k + 1.0)

    together(work)
    assert len(scaled.kernels) <= 4


def tapes() -> None:
    f = tj.function(loss)

    def work(number: int) -> Any:
        w = tj.constant(W)
        with tj.GradientTape() as tape:
            tape.watch(w)
            y = (f if number % 2 else loss)(w, X)
        return tape.gradient(y, w).numpy()

    for slope in together(work):
        close(slope, SLOPE)


def transforms() -> None:
    def cubes(x: Any) -> Any:
        return np.sum(x**3)

    def work(_: int) -> list[Any]:
        pullback = tj.vjp(cubes, W)[1]
        return [tj.jvp(cubes, (W,), (W,))[1], pullback(1.0)[0], tj.hvp(cubes, W, W)]

    for pushed, pulled, product in together(work):
        close(pushed, 3.0 * np.sum(W**3))
        close(pulled, 3.0 * W**2)
        close(product, 6.0 * W**2)
    hessian = tj.hessian(cubes)
    for found in together(lambda _: hessian(W)):
        close(found, np.diag(6.0 * W))


def ways() -> None:
    @tj.function
    def f(x: Any) -> Any:
        if x.sum() > 2.0:
            return x * 2.0, x.sum()
        if x[0] > 0.0:
            return x * 3.0
        while x[0] < -1.0:
            x = x + 1.0
        return x * 1.0

    def work(number: int) -> None:
        for step in range(6):
            x = np.array([float(number * step % 9) - 5.0, 0.5])
            found, expected = f(x), f.python(x)
            assert type(found) is type(expected)
            close(found[0], expected[0])

    together(work)
    assert len(f.kernels) == 1
    g = tj.grad(lambda x: np.sum(x**2) if x[0] > 0.0 else np.sum(x**3) if x[1] > 0.0 else x[0])

    def differentiate(number: int) -> None:
        for step in range(6):
            x = np.array([float(number * step % 5) - 2.0, float((number + step) % 3) - 1.0])
            other = 3.0 * x**2 if x[1] > 0.0 else np.array([1.0, 0.0])
            close(g(x), 2.0 * x if x[0] > 0.0 else other)

    together(differentiate)
    assert len(g.kernels) == 1


def variables() -> None:
    """Each value is one that a call has assigned, whole."""
    v = tj.Variable(np.zeros(3))

    @tj.function
    def step(x: Any) -> Any:
        v.assign_add(x)
        return v * 1.0

    def work(_: int) -> None:
        for _ in range(4):
            found = step(np.ones(3))
            assert np.all(found == found[0])

    together(work)
    value = v.numpy()
    assert np.all(value == value[0])
    assert 1.0 <= value[0] <= 32.0


def clearing() -> None:
    f = tj.function(lambda x: x * 2.0)

    def work(number: int) -> None:
        for size in (2, 3, 4, 3, 2):
            if number:
                close(f(np.ones(size)), np.full(size, 2.0))
            else:
                f.cache_clear()

    together(work)
    assert len(f.kernels) <= 3


class Settings:
    """What a function reads and other threads change."""

    def __init__(self) -> None:
        self.scale = 1.0
        self.names = {"a": 1}


def changing() -> None:
    settings = Settings()
    f = tj.function(lambda x: x * settings.scale + 10.0 * len(settings.names))
    possible = {scale + 10.0 * count for scale in range(1, 6) for count in range(1, 7)}

    def work(number: int) -> None:
        for step in range(5):
            if number == 0:
                settings.scale = step + 1.0
            elif number == 1:
                settings.names[str(step)] = step
            else:
                found = f(np.ones(3))
                assert np.all(found == found[0])
                assert found[0] in possible

    together(work)
    close(f(np.ones(3)), np.full(3, 65.0))


def test_eight_threads_at_once() -> None:
    attack(1)


@pytest.mark.stress
def test_eight_threads_at_once_and_often() -> None:
    attack(100)


def test_what_is_captured_may_change_while_it_is_looked_through() -> None:
    table = {str(number): number for number in range(100)}
    over = threading.Event()

    def change() -> None:
        for number in range(10**9):
            table[f"more {number % 50}"] = number
            table.pop(f"more {(number + 25) % 50}", None)
            if over.is_set():
                return

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(10):
            f = tj.function(lambda x: x * (len(table) > 0))
            close(f(W), W)
    finally:
        over.set()
        thread.join(SECONDS)


def test_another_thread_may_draw_random_numbers_meanwhile() -> None:
    def drawn() -> int:
        """The draws from the module since its seed."""
        position: int = np.random.get_state()[2]  # type: ignore[call-overload]  # noqa: NPY002
        return position % 624 // 2

    np.random.seed(0)  # noqa: NPY002

    @tj.function
    def f(x: Any) -> Any:
        if drawn() < 3:
            elsewhere(np.random.random)
        return x * 2.0

    idle = threading.Event()
    thread = threading.Thread(target=idle.wait)
    thread.start()
    try:
        close(f(W), W * 2.0)
        drawing = tj.function(lambda x: x * np.random.random())  # noqa: NPY002
        with pytest.raises(UnsupportedError, match="drew random numbers"):
            drawing(W)
    finally:
        idle.set()
        thread.join(SECONDS)
    assert len(f.kernels) == 1


def test_another_thread_may_draw_while_a_function_on_dask_arrays_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of a cluster in this process do."""
    dask = pytest.importorskip("dask", reason="the extra dask is not installed")
    td = pytest.importorskip("tracejit.dask")
    runs = itertools.count()

    @contextlib.contextmanager
    def meanwhile(*names: Any) -> Iterator[None]:
        with refusing_draws(*names):
            if next(runs) < 3:
                elsewhere(random.random)
            yield

    monkeypatch.setattr("tracejit.trace.capture.captures.refusing_draws", meanwhile)
    rows = pytest.importorskip("dask.array").ones((4, 3), chunks=(2, 3))
    idle = threading.Event()
    thread = threading.Thread(target=idle.wait)
    thread.start()
    try:
        with dask.config.set(scheduler="sync"):
            close(td.function(lambda w, x: np.sum(x @ w))(W, rows), 4.0 * np.sum(W))
        drawing = td.function(lambda x: x.sum() * random.random())
        with pytest.raises(UnsupportedError, match="drew random numbers from the module random"):
            drawing(rows)
    finally:
        idle.set()
        thread.join(SECONDS)
    assert next(runs) > 20


def test_calls_of_one_kernel_run_at_the_same_time() -> None:
    """Two calls meet inside of it."""
    meeting = threading.Barrier(2)

    @tj.primitive(result=tj.TensorSpec((3,)))
    def met(x: Any) -> Any:
        meeting.wait(SECONDS)
        return x * 2.0

    f = tj.function(lambda x: met(x) + 1.0)
    f.kernel(W)
    for number, found in enumerate(together(lambda k: f(W + k), 2)):
        close(found, (W + number) * 2.0 + 1.0)
    assert len(f.kernels) == 1


# Forked processes


@needs_fork
@forks
def test_a_fork_while_another_thread_records() -> None:
    stop = Stop()

    @tj.function
    def f(x: Any) -> Any:
        stop()
        return x * 2.0

    def work() -> Any:
        return f(X), len(f.kernels), tj.grad(loss)(W, X)

    with Beside(stop, lambda: f(X)):
        value, kernels, slope = in_child(work)
    close(value, X * 2.0)
    assert kernels == 1
    close(slope, SLOPE)


@needs_fork
@forks
def test_a_fork_while_another_thread_differentiates() -> None:
    """The gradient of a call under a tape goes on with the recording of the call."""
    stop = Stop()

    @tj.custom_gradient
    def tripled(x: Any) -> Any:
        def rule(dy: Any) -> Any:
            stop()
            return 3.0 * dy

        return x * 1.0, rule

    f = tj.function(lambda x: np.sum(tripled(x) ** 2))

    def slope() -> Any:
        x = tj.constant(W)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x).numpy()

    with Beside(stop, slope) as beside:
        close(in_child(slope), 6.0 * W)
    close(beside.answer, 6.0 * W)


@needs_fork
@forks
def test_a_fork_while_another_thread_writes_a_kernel(
    monkeypatch: pytest.MonkeyPatch, files: None
) -> None:
    """Garbage is not collected meanwhile: in the child it is again."""
    stop = Stop()
    optimise = pipeline.optimise

    def slow(*args: Any) -> Any:
        stop()
        return optimise(*args)

    monkeypatch.setattr(pipeline, "optimise", slow)
    f = tj.function(lambda x: x * 2.0, cache=False)
    with Beside(stop, lambda: f(X)):
        assert not gc.isenabled()
        assert in_child(gc.isenabled)
    assert gc.isenabled()


@needs_fork
@forks
def test_a_worker_forked_while_recording_records_nothing() -> None:
    g = tj.function(lambda x: x * 3.0)

    @tj.function
    def f(x: Any) -> Any:
        def work() -> Any:
            try:
                return g(W), len(active.stack), x + 1.0
            except LeakedTensorError as error:
                return g(W), len(active.stack), str(error)

        plain, depth, refusal = in_child(work)
        np.testing.assert_array_equal(plain, W * 3.0)
        assert depth == 0
        assert "recorded in f" in refusal
        return x * 2.0

    close(f(W), W * 2.0)


@needs_fork
@forks
def test_a_worker_forked_under_a_tape_has_none() -> None:
    v = tj.Variable(W)
    f = tj.function(lambda x: x @ v)
    with tj.GradientTape() as tape:
        y = f(X)
        assert in_child(lambda: type(f(X))) is np.ndarray
    close(tape.gradient(y, v).numpy(), X.sum(axis=0))


def test_gradients_inside_of_what_another_thread_is_recording() -> None:
    @tj.function
    def slope(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x**3)
        return tape.gradient(y, x) + tj.gradients(y, x)[0]

    for answer in together(lambda number: slope(X)):
        np.testing.assert_allclose(answer, 6.0 * X**2, rtol=1e-14)
