"""Events of a recording: what takes place outside of it once the call has succeeded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.ir.graph import Value
from tracejit.trace.tensor.memory import Written
from tracejit.trace.tensor.tensor import TENSORS


class Event(NamedTuple):
    """An effect that takes place when the call has succeeded: a Variable gets a value, or an array
    that is an argument, by name; or `run` is called with several."""

    variable: Any
    run: Callable[..., Any] | None
    values: list[Value]
    argument: str = ""


def lasting_events(events: Sequence[Event]) -> list[Event]:
    """The events in order, without assignments that nothing can see before the next."""
    kept: list[Event] = []
    overwritten: set[int] = set()
    for event in reversed(events):
        if event.argument:
            pass
        elif event.variable is None:
            overwritten.clear()
        elif id(event.variable) in overwritten:
            continue
        else:
            overwritten.add(id(event.variable))
        kept.append(event)
    return kept[::-1]


def write_arguments(recording: Any, tensors: Mapping[str, Any]) -> None:
    """Let the arrays that are arguments, by name, be after the call what they are now."""
    for name, tensor in tensors.items():
        if type(tensor) in TENSORS and type(tensor._owner) is Written:
            recording.events.append(Event(None, None, [recording.lift(tensor)], name))
