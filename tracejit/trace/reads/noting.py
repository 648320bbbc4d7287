"""The reads of one recording, and what is known of it at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tracejit.trace.guards.check import compiled
from tracejit.trace.guards.conditions import Guards
from tracejit.trace.reads.calls import Calls
from tracejit.trace.reads.notes import is_plain, is_users
from tracejit.trace.reads.rules import RULES
from tracejit.trace.recording.mutable_attributes import Escaped
from tracejit.trace.recording.record import current_recording
from tracejit.trace.recording.reruns import MustNotFork
from tracejit.trace.structure.trees import flatten, map_tree
from tracejit.trace.tensor.tensor import TENSORS


class Noting(Calls):
    """The reads of one recording."""

    rules = RULES
    gradient_rules: Sequence[Any] = ()
    """The rules of gradients for functions of NumPy's."""

    def identical(self, a: Any, b: Any, /) -> bool:
        """Ask `a is b`: numbers and text, too, are noted by their identity. An object is none of
        these, whichever it is."""
        lent = [] if self.loan is None else self.loan.inputs.values()
        if any(one is a or one is b for one in lent):
            raise Escaped  # the kernel only knows what value it has
        if type(a) in TENSORS or type(b) in TENSORS:
            others = [one for one in (a, b) if id(one) not in self.leaves]
            if a is not b and all(type(one) is np.ndarray for one in others):
                self.refuse("if two arrays are one object")
            return a is b
        constants = [one for one in (a, b) if is_plain(type(one))]
        self.compared.update(map(id, constants or (a, b)))
        return a is b

    def note_type(self, o: Any) -> None:
        recording = current_recording()
        if type(o) in TENSORS and recording is not None and o._value in recording.mixed:
            raise MustNotFork
        super().note_type(o)

    def context(self, o: Any, /) -> Any:
        """Announce that Python enters and leaves a context."""
        if is_users(type(o)) or not self.is_made(o):
            self.hand(o)
        return o

    def begin(self, python: Any, arguments: Iterable[Any] = ()) -> Any:
        """The function that is recorded, as it runs converted."""
        for rule in self.gradient_rules:
            self.walk_rule(rule)
        self.given(arguments)
        if not self.entered:
            self.leaves |= {id(one) for one in flatten(arguments)[0] if type(one) in TENSORS}
        is_outermost = not self.entered
        self.learn(python)
        converted = self.call(python)

        def function(*args: Any, **kwargs: Any) -> Any:
            result = converted(*args, **kwargs)
            recording = current_recording()
            if is_outermost and recording is not None and recording.mixed:
                result = map_tree(recording.told_apart, result)
            self.returned(result)
            self.let_go()
            return result

        return function

    def guard(self) -> Guards | None:
        """All that was read, as one function; None if nothing was."""
        self.settle(())
        return compiled(self.all())

    def forget(self) -> None:
        """Let go of all that was read; guards that were made keep what they compare."""
        for name, kept in vars(self).items():
            if isinstance(kept, dict) and name not in ("labels", "arrays", "changed"):
                kept.clear()
