"""Memo of objects derived from a function, kept as long as the function lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Memo:
    """The objects derived from `owner`, by key: an attribute of it, which is not copied with it."""

    def __init__(self, owner: Any = None) -> None:
        """Begin with no object; a copy has no owner."""
        self.owner = owner
        self.made: dict[Any, Any] = {}

    @classmethod
    def of(cls, owner: Any) -> Memo:
        """The memo of a function, which has a `__dict__`."""
        derived: Memo = owner.__dict__.setdefault("__tracejit_derived__", cls(owner))
        if derived.owner is not owner:  # functools.wraps has copied it from another function
            derived = owner.__dict__["__tracejit_derived__"] = cls(owner)
        return derived

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """The object under `key`, made when it is first asked for."""
        known = self.made.get(key)
        return self.made.setdefault(key, make()) if known is None else known

    def __reduce__(self) -> tuple[Any, ...]:
        return Memo, ()
