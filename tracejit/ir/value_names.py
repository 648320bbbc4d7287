"""Names of the values of a graph: each is a Python identifier and is given once."""

from __future__ import annotations

from typing import Any

from tracejit.support.words import identifier


class ValueNames:
    """The names given so far, and the last number of each base."""

    def __init__(self, taken: set[str]) -> None:
        """Begin with the names `taken` in use."""
        self.taken = taken
        self.counters: dict[str, int] = {}

    def give(self, value: Any, base: str, numbered: bool = False) -> None:
        """Name `value` after `base`, which may be any word, with a number where that is taken, or
        in any case."""
        base = identifier(base)
        value.base = value.name = base
        while numbered or value.name in self.taken:
            self.counters[base] = self.counters.get(base, 0) + 1
            value.name = f"{base}_{self.counters[base]}"
            numbered = False
        self.taken.add(value.name)


def own_base(value: Any, is_output: bool) -> str:
    """The base a value has by itself: the user's name, a derived name, or `out`."""
    label: str = value.label
    if label:
        return label
    if value.derived is not None:
        primal, suffix = value.derived
        name: str = primal.label or primal.base or primal.name
        if name:
            return f"{name}{suffix}"
    return "out" if is_output else ""
