"""The recordings that run, each on its thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Active(threading.local):
    """The recordings that run on this thread, the innermost last."""

    def __init__(self) -> None:
        """Begin with no recording."""
        self.stack: list[Any] = []
        self.route: Callable[[Any], Any] | None = None


active = Active()

OF_TRANSFORM = "__tracejit_transform__"
"""The attribute of a "transform", which reads nothing of the function that it is given, of the
"body" of one, which reads nothing but what it `called`, and of a "reader", which changes nothing
that it is given."""

PARTS = "__tracejit_parts__"
"""The attribute of a class whose objects are known by their parts: the names of these."""


def called(function: Any) -> Any:
    """The function that a transform calls in place of the user's: where calls are routed, what
    converted code would call."""
    return function if active.route is None else active.route(function)


@contextmanager
def outside_recordings() -> Iterator[None]:
    """Meanwhile what this thread computes is recorded nowhere."""
    outer, active.stack = active.stack, []
    try:
        yield
    finally:
        active.stack = outer
