"""The loops that are open while a function is recorded: which decision belongs to which.

A decision in the test of an open loop ends a step of it, another one in a step takes one way
through it. Where a test that may be closed goes on for the first time, its loop opens.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FrameType
from typing import Any

from tracejit.ir.graph import Value
from tracejit.support.codes import as_written
from tracejit.trace.control_flow.closing import OpenLoop
from tracejit.trace.control_flow.loop_syntax import LoopSyntax, NotClosable, loop_at
from tracejit.trace.recording.numbers import origins_of
from tracejit.trace.recording.reruns import CannotClose, Closing, Learned, Site
from tracejit.trace.source import places


class OpenLoops:
    """The loops of one recording that are open, the innermost last."""

    def __init__(
        self, recording: Any, closing: Closing, learned: Learned, may_repeat: Callable[[], bool]
    ) -> None:
        """None is open. The function is recorded again to close some, if it `may_repeat` what it
        has done so far."""
        self.recording = recording
        self.closing = closing
        self.learned = learned
        self.may_repeat = may_repeat
        self.count = 0
        self.open: list[OpenLoop] = []
        self.closed: list[Site] = []

    def decide(self, value: Value, outside: Callable[[Value], bool]) -> bool:
        """The outcome of a decision; `outside` decides where no loop is open."""
        if origins_of(value) == set():
            return outside(value)
        frame = places.user_frame()
        innermost = self.open[-1] if self.open else None
        if frame is None or value.type.size != 1:
            return outside(value) if innermost is None else innermost.branch(value)
        if innermost is not None and frame is innermost.frame:
            if frame.f_lineno in innermost.syntax.lines:
                return self._test(innermost, value, frame.f_lasti)
        decide = outside if innermost is None else innermost.branch
        outcome = decide(value)
        site = as_written(frame.f_code), frame.f_lineno
        if site in self.closing.refused or not self._may_open():
            return outcome
        syntax = loop_at(frame)
        if isinstance(syntax, NotClosable):
            self.closing.refused[site] = syntax.reason
        elif syntax is not None and outcome is syntax.stays and _goes_on(syntax):
            self._open(frame, syntax, site, decide)
        return outcome

    def _open(
        self, frame: FrameType, syntax: LoopSyntax, site: Site, decide: Callable[[Value], bool]
    ) -> None:
        """Open a loop, unless it opens one trip later."""
        self.count += 1
        if self.count in self.learned.late:
            return
        if not self.open and not self.may_repeat():
            self.closing.refused[site] = "the function changes before it what it reads"
            return
        self.open.append(OpenLoop(self, frame, syntax, site, decide))

    def _test(self, loop: OpenLoop, value: Value, instruction: int) -> bool:
        outcome = loop.test(value, instruction)
        if loop.is_closed:
            self.closed.append(loop.site)
            self.open.remove(loop)
        return outcome

    def refuse_open(self, reason: str) -> None:
        """Record again, without closing what is open now. Nothing is done where nothing is open."""
        for loop in self.open:
            self.closing.refused[loop.site] = reason
        if self.open:
            raise CannotClose(self.open[-1].site, reason)

    def refuse_closed(self, reason: str) -> None:
        """Record again, without closing what was closed."""
        for site in self.closed:
            self.closing.refused[site] = reason
        if self.closed:
            raise CannotClose(self.closed[-1], reason)

    def is_raised_on_purpose(self, error: BaseException) -> bool:
        """Return whether a `raise` in the function of a closed loop has raised an error."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is None:
            return False
        if as_written(trace.tb_frame.f_code) not in {code for code, _ in self.closed}:
            return False
        statement = places.source_of(trace.tb_frame.f_code).statement(trace.tb_lineno)
        return isinstance(statement, ast.Raise)

    def _may_open(self) -> bool:
        """Return whether the state of the recording is only its graph."""
        recording = self.recording
        return not (
            recording.windows or recording.probes or recording.region or recording.substitutes
        )


def _goes_on(syntax: LoopSyntax) -> bool:
    """Return whether there is another trip."""
    return syntax.counter is None or bool(syntax.counter.left)
