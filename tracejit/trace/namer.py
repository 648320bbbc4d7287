"""Namer: the user's names of values, read from the locals of running frames."""

from __future__ import annotations

import sys
from inspect import CO_GENERATOR
from types import FrameType

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.subgraph import Placeholder
from tracejit.trace import places
from tracejit.trace.tensor import TENSORS


class Namer:
    """Finds what the user calls the values: reads the locals of a frame when its statement is
    over."""

    LOCALS_LIMIT = 500

    def __init__(self) -> None:
        """Begin with no frame seen."""
        self._position: dict[FrameType, tuple[int, int]] = {}
        self._rules: set[FrameType] = set()

    def visit(self, frame: FrameType, line: int, rule: bool = False) -> None:
        """An operation is being recorded in `frame`, at `line`; in a gradient rule, what cotangents
        are called there is not their name."""
        if rule:
            self._rules.add(frame)
        instruction = frame.f_lasti
        before = self._position.get(frame)
        if before is None:
            self._visit_callers(frame)
            self._read(frame, (Placeholder,))
        elif before[0] != line or instruction <= before[1]:
            self._read(frame)
        self._position[frame] = (line, instruction)

    def catch_up(self) -> None:
        """Read the locals of every frame as they are now.

        Those of a generator are read while it runs: when it is gone, they are freed memory in
        Python 3.13, https://github.com/python/cpython/issues/125723.
        """
        for frame in self._position:
            if not frame.f_code.co_flags & CO_GENERATOR:
                self._read(frame)

    def finish(self) -> None:
        """Read the last locals of every frame and let the frames go."""
        self.catch_up()
        self.forget()

    def settle(self) -> None:
        """Read the locals of every frame and let those go that have ended."""
        self.catch_up()
        running: set[FrameType] = set()
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            running.add(frame)
            frame = frame.f_back
        for one in self._position.keys() - running:
            if not one.f_code.co_flags & CO_GENERATOR:
                del self._position[one]
                self._rules.discard(one)

    def forget(self) -> None:
        """Let the frames go."""
        self._position.clear()
        self._rules.clear()

    def _visit_callers(self, frame: FrameType) -> None:
        """Take note of the user's functions that called this one: their names go before its own."""
        caller = frame.f_back
        found: list[FrameType] = []
        while caller is not None and caller not in self._position:
            if places.is_internal(caller):
                break
            found.append(caller)
            caller = caller.f_back
        if caller in self._position:
            self._read(caller)
        for one in reversed(found):
            self._position[one] = (one.f_lineno, one.f_lasti)

    def _read(self, frame: FrameType, kinds: tuple[type, ...] = (Value, Placeholder)) -> None:
        """Name what the locals of a frame hold, of these classes."""
        if len(frame.f_code.co_varnames) > self.LOCALS_LIMIT:
            return
        for name, local in frame.f_locals.items():
            if type(local) is Dim and local.symbol is not None:
                local.symbol.label = local.symbol.label or name
            if type(local) not in TENSORS or local._held.label:
                continue
            if type(local._held) not in kinds:
                continue
            if local._held.node is None and type(local._held) is not Placeholder:
                continue
            # pytest keeps the parts of an assertion in names that are no identifiers.
            if not name.isidentifier() or not name.strip("_"):
                continue
            if local._held.derived is None or frame not in self._rules:
                local._held.label = name
