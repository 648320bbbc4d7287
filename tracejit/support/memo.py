"""Objects that are made once: those derived from another, kept as long as it lives, and tables that
start afresh when they are full."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Owner = TypeVar("Owner")
Derived = TypeVar("Derived")


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


class ByIdentity(Generic[Owner, Derived]):
    """Objects derived from owners, by the identity of these: code objects of one text are equal.

    What is derived must not hold its owner, which would live on.
    """

    def __init__(self) -> None:
        """Begin with no owners."""
        self._derived: dict[int, tuple[weakref.ref[Owner], Derived]] = {}

    def __contains__(self, owner: Owner) -> bool:
        known = self._derived.get(id(owner))
        return known is not None and known[0]() is owner

    def __getitem__(self, owner: Owner) -> Derived:
        return self._derived[id(owner)][1]

    def __setitem__(self, owner: Owner, derived: Derived) -> None:
        key, forgotten = id(owner), self._derived.pop
        self._derived[key] = weakref.ref(owner, lambda _: forgotten(key, None)), derived

    def __delitem__(self, owner: Owner) -> None:
        self._derived.pop(id(owner), None)

    def __len__(self) -> int:
        return len(self._derived)

    def clear(self) -> None:
        """Forget all owners."""
        self._derived.clear()

    def get(self, owner: Owner) -> Derived | None:
        """The object that is derived from `owner`, or None."""
        known = self._derived.get(id(owner))
        return known[1] if known is not None and known[0]() is owner else None

    def setdefault(self, owner: Owner, derived: Derived) -> Derived:
        """The object that is derived from `owner`: from now on `derived`, if there was none."""
        if owner not in self:
            self[owner] = derived
        return self[owner]

    def values(self) -> list[Derived]:
        """The objects that are derived from owners that live."""
        return [derived for _, derived in self._derived.values()]
