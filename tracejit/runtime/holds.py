"""Holds: objects that run a function when they are released, by whatever means.

A `with` or `finally` that restores a state can itself be interrupted: by a signal handler that
raises, or by MemoryError, between any two instructions. A hold cannot. What is to be done stands in
it, and when the last reference to it goes Python's C code does it, between two instructions.

The references must stand on the stack of a frame alone, never in a variable. The stack is cleared
as soon as an exception leaves the frame; variables live on in its traceback, which `sys.last_value`
or a user may keep. An element of a tuple display stands on the stack, and so does what an iterator
of a `for` loop holds:

    (Hold(), work())[1]                      # for as long as work() takes
    for here in map(ref, (Hold(),)): ...     # during the loop; `here` is a weak reference to it
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any


class Hold:
    """Calls `end()` when it is gone, unless `end` was never set. To be exact, `end` must be a
    function written in C, such as a method of a lock."""

    __slots__ = ("__weakref__", "end")

    end: Callable[[], Any]
    __del__ = property(attrgetter("end"))  # looked up by C code, which calls what it answers
