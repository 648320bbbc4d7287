"""Variables: which name holds a value in the generated body.

A value is called as the user called it. Once nothing reads the earlier holder of a name any more,
the name is free again, so `h = np.tanh(h @ w)` in a loop stays `h = tanh(h @ w)`. A buffer that
statements update in place has one name from its first statement to its last: that of the value
the chain ends in.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable

from tracejit.ir.graph import Value
from tracejit.schedule.plan import Plan


def variables(plan: Plan, reserved: Iterable[str]) -> dict[Value, str]:
    """The name of every input and of every statement's results; none is in `reserved`."""
    names = Names(plan, {*reserved, *keyword.kwlist})
    for value in plan.inputs:
        names.give(value, value.name or "a", -1)
    for number, node in enumerate(plan.statements):
        for value in node.results:
            names.place(value, number)
    return names.known


class Names:
    """The names in use, and until which statement."""

    def __init__(self, plan: Plan, reserved: set[str]) -> None:
        """No name given yet."""
        self.known: dict[Value, str] = {}
        self._plan = plan
        self._reserved = reserved
        self._busy_until: dict[str, int] = {}
        self._link = {node.results[0]: old for node, old in plan.overwrites.items()}
        self._next = {old: new for new, old in self._link.items()}

    def place(self, value: Value, number: int) -> None:
        """Name the result of statement `number`: the buffer's name if it continues a chain, else
        a new one."""
        before = self._link.get(value)
        if before is not None and self._wanted(before) == self._wanted(value):
            self.known[value] = name = self.known[before]
            self._busy_until[name] = max(self._busy_until[name], self._last(value, number))
        else:
            self.give(value, self._wanted(value), number)

    def give(self, value: Value, base: str, number: int) -> None:
        """Name `value` after `base`, with a number where that name is taken."""
        name, count = base, 1
        while name in self._reserved or self._busy_until.get(name, -2) > number:
            count += 1
            name = f"{base}_{count}"
        self.known[value] = name
        self._busy_until[name] = self._last(value, number)

    def _last(self, value: Value, number: int) -> int:
        return max(self._plan.last_use.get(value, number), number)

    def _wanted(self, value: Value) -> str:
        """The base a value is named by: its own if the user named it, else that of the end of its
        chain, where nothing but the chain reads it."""
        end = value
        while not end.is_named and end in self._next and self._plan.readers[end] == 1:
            end = self._next[end]
        return self._own(end)

    @staticmethod
    def _own(value: Value) -> str:
        if value.is_named:
            return value.base
        return value.name or value.base or (value.node.op.name if value.node else "a")
