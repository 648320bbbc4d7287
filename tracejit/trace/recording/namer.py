"""Namer: the user's names of values, read from the locals of running frames."""

from __future__ import annotations

import sys
from inspect import CO_GENERATOR
from types import FrameType

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, Value
from tracejit.ir.subgraph import Placeholder
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import TENSORS


class Namer:
    """Finds what the user calls the values: reads the locals of a frame when its statement is
    over."""

    LOCALS_LIMIT = 500

    def __init__(self, graph: Graph) -> None:
        """Begin with no frame seen; the files of `graph` come to hold each place."""
        self._graph = graph
        self._visits: dict[FrameType, _Visit] = {}
        self._rules: set[FrameType] = set()

    def visit(self, frame: FrameType, rule: bool = False) -> places.Found:
        """An operation is being recorded in `frame`, at the place that is answered; in a gradient
        rule, what cotangents are called there is not their name."""
        if rule:
            self._rules.add(frame)
        instruction = frame.f_lasti
        visit = self._visits.get(frame)
        if visit is None:
            self._visit_callers(frame)
            self._read(frame, (Placeholder,))
            visit = self._visits[frame] = _Visit()
            found = self._found(visit, frame)
        else:
            found = visit.places.get(instruction) or self._found(visit, frame)
            if visit.line != found.lineno or instruction <= visit.instruction:
                self._read(frame)
        visit.line, visit.instruction = found.lineno, instruction
        return found

    def catch_up(self) -> None:
        """Read the locals of every frame as they are now.

        Those of a generator are read while it runs: when it is gone, they are freed memory in
        Python 3.13, https://github.com/python/cpython/issues/125723.
        """
        for frame in list(self._visits):  # a signal handler may record meanwhile
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
        for one in self._visits.keys() - running:
            if not one.f_code.co_flags & CO_GENERATOR:
                del self._visits[one]
                self._rules.discard(one)

    def forget(self) -> None:
        """Let the frames go."""
        self._visits.clear()
        self._rules.clear()

    def _found(self, visit: _Visit, frame: FrameType) -> places.Found:
        """The place of a frame; it is kept where the frame alone decides it."""
        found = places.location(frame)
        self._graph.files.setdefault(found.location, found.file)
        if frame.f_code.co_name not in places.COMPREHENSIONS:
            visit.places[frame.f_lasti] = found
        return found

    def _visit_callers(self, frame: FrameType) -> None:
        """Take note of the user's functions that called this one: their names go before its own."""
        caller = frame.f_back
        found: list[FrameType] = []
        while caller is not None and caller not in self._visits:
            if places.is_internal(caller):
                break
            found.append(caller)
            caller = caller.f_back
        if caller in self._visits:
            self._read(caller)
        for one in reversed(found):
            self._visits[one] = _Visit(one.f_lineno, one.f_lasti)

    def _read(self, frame: FrameType, kinds: tuple[type, ...] = (Value, Placeholder)) -> None:
        """Name what the locals of a frame hold, of these classes."""
        if len(frame.f_code.co_varnames) > self.LOCALS_LIMIT:
            return
        for name, local in frame.f_locals.items():
            if type(local) not in TENSORS:
                if type(local) is Dim and local.symbol is not None:
                    local.symbol.label = local.symbol.label or name
                continue
            held = local._held
            if held.label or type(held) not in kinds:
                continue
            if held.node is None and type(held) is not Placeholder:
                continue
            # pytest keeps the parts of an assertion in names that are no identifiers.
            if not name.isidentifier() or not name.strip("_"):
                continue
            if held.derived is None or frame not in self._rules:
                held.label = name


class _Visit:
    """The line and instruction at which a frame was visited last, and the places that were found
    in it."""

    __slots__ = ("instruction", "line", "places")

    def __init__(self, line: int = 0, instruction: int = -1) -> None:
        """No place was found yet."""
        self.line = line
        self.instruction = instruction
        self.places: dict[int, places.Found] = {}
