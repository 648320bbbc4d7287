"""Objects that are made once: those derived from a function, kept as long as it lives, and tables
that start afresh when they are full."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Table(dict[Any, Any]):
    """Objects by key, until their weights, in units of one short key, are too many together: then
    the table starts afresh."""

    LIMIT = 10_000

    def __init__(self) -> None:
        """Begin with no object."""
        super().__init__()
        self.weight = 0

    def keep(self, key: Any, made: Any, weight: int = 1) -> None:
        """Keep an object that weighs so much."""
        self.weight += weight
        if self.weight > self.LIMIT:
            self.clear()
            self.weight = weight
        self[key] = made


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
