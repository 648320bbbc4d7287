"""Calls that no kernel serves: each way into Python warns once, on its second call, and is told."""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.specialise import trace_tree
from tracejit.specialise.uncompiled import CAUSES, SECOND, UncompiledCalls, cause_of
from tracejit.support.errors import TracejitWarning
from tracejit.trace.recording.record import current_recording

X = np.ones(3)


@pytest.fixture(autouse=True)
def may_hide_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the ways is what strict mode refuses."""
    monkeypatch.delenv("TRACEJIT_STRICT", raising=False)


Case = tuple[Any, Callable[[], Any]]


class Holder:
    """An object that a test changes."""

    def __init__(self) -> None:
        """Nothing in it yet."""
        self.log: list[int] = []


def changing() -> Case:
    """A function that changes what it reads."""
    holder = Holder()

    @tj.function
    def f(x: Any) -> Any:
        holder.log.append(1)
        return x * 2.0

    return f, lambda: f(X)


def iterator() -> Case:
    """A function that draws from an iterator."""
    numbers = itertools.count()
    f = tj.function(lambda x: x * next(numbers), name="f")
    return f, lambda: f(X)


def again() -> Case:
    """A function that reads a text which is another at each call."""
    holder: Any = Holder()
    holder.inner = ""
    f = tj.function(lambda x: x * (1.0 if not holder.inner else 2.0), name="f")

    def call() -> Any:
        holder.inner += "a"
        return f(X)

    return f, call


def kernel() -> Case:
    """A function that catches what its kernel raises."""

    @tj.function
    def f(a: Any) -> Any:
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return a * 0.0

    return f, lambda: f(-np.eye(3))


def recording() -> Case:
    """A function with effects that catches what only its recording raises."""
    variable = tj.Variable(X)

    @tj.function
    def f(x: Any) -> Any:
        variable.assign(x)
        if current_recording() is not None:
            raise KeyError("recorded")
        return x * 2.0

    return f, lambda: f(X)


def labelled() -> Case:
    """A function whose argument computes by rules of its own."""
    frame: Any = type("DataFrame", (), {"__array__": None, "__module__": "polars.dataframe"})
    f = tj.function(lambda a: a.width, name="f")
    frame.width = 2
    return f, lambda: f(frame())


def overlap() -> Case:
    """A function that writes to an argument which shares memory with another."""
    z = np.ones(4)

    @tj.function
    def f(a: Any, b: Any) -> Any:
        a[0] = 5.0
        return b.sum()

    return f, lambda: f(z, z[1:])


def container() -> Case:
    """A function that changes a container of the caller's."""

    @tj.function
    def f(x: Any, found: dict[str, Any]) -> Any:
        found["y"] = x
        return x * 2.0

    return f, lambda: f(X, {"x": 1.0})


def decision() -> Case:
    """A function that goes by what a callback answers."""

    @tj.function
    def f(x: Any) -> Any:
        answer = tj.callback(lambda v: np.asarray(v > 0), x[0], result=tj.TensorSpec((), bool))
        return x + 1.0 if answer.__bool__() else x - 1.0

    return f, lambda: f(X)


def prefix() -> Case:
    """A function that catches what Python goes by raises."""

    @tj.function
    def f(a: Any) -> Any:
        try:
            if (np.linalg.cholesky(a)[0, 0] > 1.0).__bool__():
                return a
        except np.linalg.LinAlgError:
            pass
        return a * 2.0

    return f, lambda: f(-np.eye(3))


def text() -> Case:
    """A function that catches an error whose message names an array."""

    @tj.function
    def f(x: Any) -> Any:
        try:
            raise ValueError(f"{x}")
        except ValueError:
            return x * 2.0

    return f, lambda: f(X)


def attribute() -> Case:
    """A function that assigns to an attribute what a tape follows."""
    holder: Any = Holder()
    holder.state = X

    @tj.function
    def f(x: Any) -> Any:
        holder.state = np.tanh(holder.state + x)
        return holder.state

    f(X)

    def call() -> None:
        holder.state = X
        with tj.GradientTape() as tape:
            x = tj.constant(X)
            tape.watch(x)
            f(x)

    return f, call


WAYS = [
    changing,
    iterator,
    again,
    kernel,
    recording,
    overlap,
    labelled,
    container,
    decision,
    prefix,
    text,
    attribute,
]


def warned(call: Callable[[], Any], times: int) -> list[warnings.WarningMessage]:
    """The warnings of so many calls."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(times):
            call()
    return caught


@pytest.mark.parametrize("case", WAYS)
def test_the_second_call_without_a_kernel_warns_once_at_the_users_line(
    case: Callable[[], Case],
) -> None:
    _f, call = case()
    first = 1 if case is again else 0  # its first recording gives the kernel
    assert warned(call, 1 + first) == []
    (told,) = warned(call, 1)
    assert told.category is TracejitWarning
    assert Path(told.filename).name == "test_uncompiled.py"
    text = str(told.message)
    row = "overlap" if case is container else case.__name__
    opening = CAUSES[row].fate.format(count=f"{SECOND} calls")
    assert text.startswith(f"f has {opening}, the last because ")
    assert "To avoid it: " in text
    assert "{" not in text
    assert warned(call, 3) == []


@pytest.mark.parametrize("case", WAYS)
def test_explain_tells_of_it_after_the_first_call(case: Callable[[], Case]) -> None:
    f, call = case()
    warned(call, 2 if case is again else 1)
    told = f.explain()
    assert "no kernel yet" not in told
    assert "than needed" in told if case is again else "a call " in told
    warned(call, 4)
    if case is not again:
        assert "f has " in f.explain().splitlines()[-1]
        assert "5 calls" in f.explain().splitlines()[-1]


def test_the_words_name_what_changed_and_what_raised() -> None:
    _f, call = changing()
    (told,) = warned(call, 2)
    assert "the function itself changes holder.log (it was of length 1 and became of length 2)" in (
        str(told.message)
    )
    _f, call = kernel()
    (told,) = warned(call, 2)
    assert "LinAlgError: Matrix is not positive definite (test_uncompiled.py:" in str(told.message)
    _f, call = decision()
    (told,) = warned(call, 2)
    assert "Python branches on the result of a callback" in str(told.message)


def test_one_way_too_many_warns_at_once() -> None:
    @tj.function(max_paths=1)
    def f(x: Any) -> Any:
        return x + 1.0 if (x[0] > 0).__bool__() else x - 1.0

    assert warned(lambda: f(X), 3) == []
    (told,) = warned(lambda: f(-X), 3)
    assert "none of the 1 recorded traces" in str(told.message)
    assert "3 calls" in f.explain()


def test_an_error_that_reaches_the_user_is_no_silent_python() -> None:
    f = tj.function(np.linalg.cholesky, name="f")

    def call() -> None:
        with pytest.raises(np.linalg.LinAlgError):
            f(-np.eye(3))

    assert warned(call, 3) == []
    assert "plain Python" not in f.explain()


def test_a_call_that_another_thread_records_is_not_counted() -> None:
    inside, leave = threading.Event(), threading.Event()

    @tj.function
    def f(x: Any) -> Any:
        if threading.current_thread() is recorder:
            inside.set()
            leave.wait(10)
        return x * 2.0

    recorder = threading.Thread(target=lambda: f(X))
    recorder.start()
    inside.wait(10)
    try:
        assert [str(one.message) for one in warned(lambda: f(X), 3)] == []
    finally:
        leave.set()
        recorder.join()
    assert "plain Python" not in f.explain()


def test_clearing_forgets() -> None:
    f, call = changing()
    assert len(warned(call, 3)) == 1
    f.cache_clear()
    assert f.explain() == "f has no kernel yet: the first call makes one."
    assert len(warned(call, 3)) == 1


def test_every_cause_is_triggered() -> None:
    rows = {"overlap" if one is container else one.__name__ for one in WAYS}
    # Floating-point errors have tests of their own in tests/trace/recording/test_floating.py,
    # modules that cannot be imported in test_strict_mode.py, and trips of loops in
    # tests/trace/control_flow/test_closing.py.
    elsewhere = {"traces", "long", "reads", "floating", "module", "warned", "trips"}
    assert rows | elsewhere == set(CAUSES)


def test_a_kernel_that_only_warns_is_told_by_explain_alone() -> None:
    """Where and of what its BLAS warns depends on the machine."""
    calls = UncompiledCalls("f")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning of this cause would be raised here
        for _ in range(3):
            calls.note_fallback(RuntimeWarning("invalid value encountered in dot"))
    (told,) = calls.tell()
    assert told.startswith("f has run 3 calls as plain Python, the last because the kernel raised")


def test_code_that_is_too_long_is_not_told_to_allow_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_tree, "MAX_NODES", 3)
    f = tj.function(lambda x: x * 2.0 if (x[0] > 0).__bool__() else x * 3.0, name="f", cache=False)
    f(X)
    with pytest.warns(tj.TracejitWarning, match="more than 50,000 operations") as said:
        f(-X)
    assert "max_paths" not in str(said[0].message)


def test_threads_that_change_what_is_read_are_told() -> None:
    from tracejit.trace.recording.decisions import Failed

    assert cause_of(Failed("reads")) == ("reads", "", "")
