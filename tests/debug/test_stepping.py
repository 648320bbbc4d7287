"""From the user's call into the kernel by `step`."""

from __future__ import annotations

import bdb
import io
import pdb
import sys
import traceback
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.debug.stepping import OWN, PastGuards, on_one_line
from tracejit.trace.guards.conditions import TEXT_OF_GUARD

SCALE = 2.0


def loss(x: Any, w: Any) -> Any:
    return np.sum(np.tanh(x @ w)) * SCALE


X, W = np.ones((4, 3)), np.ones(3)


class Steps(bdb.Bdb):
    """Steps until a kernel is entered, and counts."""

    def __init__(self, skip: Any = None) -> None:
        super().__init__(skip=skip)
        self.stops: list[str] = []

    def stop(self, frame: Any) -> None:
        name = str(frame.f_globals.get("__name__"))
        if name != __name__ or frame.f_code.co_filename == TEXT_OF_GUARD:
            self.stops.append(f"{name} {frame.f_code.co_name}")
        if name.startswith("tracejit.kernels."):
            self.set_quit()
        else:
            self.set_step()

    def user_call(self, frame: Any, arg: object) -> None:
        self.stop(frame)

    def user_line(self, frame: Any) -> None:
        self.stop(frame)

    def user_return(self, frame: Any, arg: object) -> None:
        self.stop(frame)


class StepsPastChecks(PastGuards, Steps):
    """The same in a debugger that skips all but kernels."""


def steps(f: Any, debugger: Steps) -> list[str]:
    """The stops of `step` from a warm call to the kernel."""
    f(X, W)
    before = sys.gettrace()
    try:
        debugger.set_trace()
        f(X, W)
    except bdb.BdbQuit:
        pass
    finally:
        sys.settrace(before)
    return debugger.stops


@pytest.mark.parametrize("transform", [tj.function, tj.grad, tj.value_and_grad])
def test_one_step_leads_to_the_kernel(transform: Any) -> None:
    (stop,) = steps(transform(tj.function(loss, cache=False)), StepsPastChecks(OWN))
    assert stop.startswith("tracejit.kernels.loss")


def test_plain_pdb_takes_few_steps() -> None:
    """A call and a line for each frame, and the return of the guard's."""
    found = steps(tj.value_and_grad(tj.function(loss, cache=False)), Steps())
    assert len(found) == 8
    assert found[-1].startswith("tracejit.kernels.loss")


def scripted(monkeypatch: pytest.MonkeyPatch, commands: str) -> io.StringIO:
    """Let pdb read commands, and return what it will write."""
    written = io.StringIO()
    made = pdb.Pdb

    class Scripted(made):  # type: ignore[misc, valid-type]
        def __init__(self, **words: Any) -> None:
            words |= {"nosigint": True, "readrc": False}
            super().__init__(stdin=io.StringIO(commands), stdout=written, **words)

    monkeypatch.setattr(pdb, "Pdb", Scripted)
    return written


@pytest.mark.parametrize("cache", [True, False])
def test_set_trace_steps_into_the_text_of_the_kernel(
    cache: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, files: None
) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    f = tj.value_and_grad(tj.function(loss, cache=cache))
    f(X, W)
    first = "next\n" if sys.version_info >= (3, 13) else ""  # it stops at set_trace itself
    written = scripted(monkeypatch, first + "step\nlist\np w\ncontinue\n")
    before = sys.gettrace()
    try:
        tj.set_trace(header="into the kernel")
        value, _ = f(X, W)
    finally:
        sys.settrace(before)
    text = written.getvalue()
    assert value == f(X, W)[0]
    assert text.startswith("into the kernel")
    assert "->\tdef value_and_grad(x, w):" in text
    assert "    # loss:1  return np.sum(np.tanh(x @ w)) * SCALE" in text
    assert "array([1., 1., 1.])" in text


def test_debug_stops_at_the_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tj.value_and_grad(tj.function(loss, cache=False)).kernel(X, W)
    for name in ("value_and_grad", "forward"):
        written = scripted(monkeypatch, "list\ncontinue\n")
        before = sys.gettrace()
        try:
            answer = kernel.debug(X, W, function=name)
        finally:
            sys.settrace(before)
        assert answer[0] == kernel.forward(X, W)[0]
        assert f"{name}()\n-> out_1 = " in written.getvalue()
        monkeypatch.undo()


def long(n: int, *, fails: bool = False) -> int:
    total = 0
    for k in range(n):
        total += k
    try:
        if fails:
            raise KeyError(n)
    except ValueError:
        total = -1
    return total + sum(k for k in range(3)) * 0 + len("".join(["a"] * 0)) + max(0, 0) + min(0, 0)


def test_it_computes_the_same() -> None:
    made = on_one_line(lambda n: long(n))
    assert made(10) == 45


def test_there_is_one_line_event() -> None:
    @on_one_line
    def three(x: int) -> int:
        y = x + 1
        z = y * 2
        return z - 1

    events: list[tuple[str, int]] = []

    def trace(frame: Any, event: str, arg: object) -> Any:
        if frame.f_code is three.__code__:
            events.append((event, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert three(1) == 3
    finally:
        sys.settrace(before)
    first = three.__code__.co_firstlineno
    assert [event for event, _ in events] == ["call", "line", "return"]
    assert events[1:] == [("line", first + 1), ("return", first + 1)]


def test_errors_are_caught_and_shown_as_before() -> None:
    code, first = long.__code__, long.__code__.co_firstlineno
    try:
        made = on_one_line(long)
        assert made(4) == 6
        with pytest.raises(KeyError) as caught:
            made(4, fails=True)
        (entry,) = [one for one in traceback.extract_tb(caught.tb) if one.name == "long"]
        assert entry.lineno == first + 1
    finally:
        long.__code__ = code
