"""Captured arrays that the user allows to be frozen: read-only for as long as a guard relies on it,
and then not compared."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress

import numpy as np

from tracejit.trace.guards.contents import chain_of

_holders: dict[int, dict[int, None]] = {}
"""Of each frozen array, by id, the lists of those that hold it."""
_mutex = threading.RLock()  # a collection may thaw while this thread or another freezes


def _renew() -> None:
    """A mutex that no thread of another process holds."""
    global _mutex
    _mutex = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class FrozenArrays:
    """A holder of arrays, which are read-only until it is collected."""

    def __init__(self) -> None:
        """Begin with no array frozen."""
        self._held: list[np.ndarray] = []
        weakref.finalize(self, _thaw, self._held).atexit = False

    def freeze(self, array: np.ndarray) -> None:
        """Make `array` read-only, and what it is a view of; views made before stay as they are."""
        with _mutex:
            chain = [*chain_of(array)]
            for one in chain if chain[-1].base is None else ():  # not above a buffer of Python's
                # What somebody else has made read-only is not made writeable at the end.
                if one.flags.writeable or (id(one) in _holders and not self._holds(one)):
                    self._held.append(one)
                    _holders.setdefault(id(one), {})[id(self._held)] = None
                    one.flags.writeable = False

    def _holds(self, array: np.ndarray) -> bool:
        return any(one is array for one in self._held)


def _thaw(arrays: list[np.ndarray]) -> None:
    """Make arrays writeable that nothing holds frozen any more, each after what it shows."""
    with _mutex:
        for one in reversed(arrays):
            holders = _holders.get(id(one), {})
            holders.pop(id(arrays), None)
            if not holders:
                _holders.pop(id(one), None)
                with suppress(ValueError):  # the user has made what it shows read-only
                    one.flags.writeable = True
                if id(one) in _holders:  # frozen meanwhile, by a signal handler
                    one.flags.writeable = False
