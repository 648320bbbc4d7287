"""Variable names: the name that holds each value in a generated body.

A value is called as the user called it. Once nothing reads the earlier holder of a name any more,
the name is free again, so `h = np.tanh(h @ w)` in a loop stays `h = tanh(h @ w)`. A buffer that
statements update in place has one name from its first statement to its last, that of the value
the chain ends in; only a value that the user named, or that more than the chain reads, keeps a
name of its own.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from tracejit.ir.graph import Node, Value
from tracejit.support.errors import fail
from tracejit.support.words import is_name
from tracejit.targets.numpy.plan.plan import Plan

BUILTINS = frozenset(
    ("abs", "complex", "map", "range", "slice", "zip")
)  # what the spellings of ops call
UNUSED = "_"  # what a statement calls a result that nothing reads
ELEMENT = re.compile(r"each\d+")  # what comprehensions call an element


def variables(
    plan: Plan,
    reserved: Iterable[str],
    given: Mapping[Value, str] | None = None,
    wanted: Mapping[Value, str] | None = None,
) -> dict[Value, str]:
    """The name of every input and of every statement's results; none is in `reserved`.

    Inputs that are in `given` keep the names they have there: residuals those of forward. Results
    that are in `wanted` have the names they have there where these are free.
    """
    names = Names(plan, {*reserved, *keyword.kwlist, *BUILTINS, UNUSED}, wanted)
    for value in plan.inputs:
        names.give(value, -1, (given or {}).get(value))
    for number, node in enumerate(plan.statements):
        for value in node.results:
            names.place(value, number, node)
    return names.known


def check_names(names: Iterable[str]) -> None:
    """Raise GraphError if one of these could be anything but a name in the text of a module.

    Whatever the user's program calls something has been made a name long before. Text that is code
    would run, in this process and from the cache in the next.
    """
    for name in names:
        if not is_name(name):
            raise fail(
                "graph", None, problem=f"{name!r} is not a valid name, and is not written into code"
            )


def check_text(text: str) -> None:
    """Raise GraphError if a module holds a character that is not seen, or one that a reader of
    Python takes for the end of a line: a comment might end before its end."""
    if not text.replace("\n", "").isprintable():
        found = next(one for one in text if one != "\n" and not one.isprintable())
        raise fail("graph", None, problem=f"{found!r} is not written into code")


class Names:
    """The names in use, and until which statement."""

    def __init__(
        self, plan: Plan, reserved: set[str], wanted: Mapping[Value, str] | None = None
    ) -> None:
        """Begin with no name in use."""
        self.known: dict[Value, str] = {}
        self._wanted = wanted or {}
        self._plan = plan
        self._reserved = reserved
        self._busy_until: dict[str, int] = {}
        self._numbers: dict[str, Numbers] = {}
        self._before = {node.results[0]: old for node, old in plan.overwrites.items()}
        self._end = _chain_ends(plan)

    def place(self, value: Value, number: int, node: Node) -> None:
        """Name the result of statement `number`: as its buffer, if it continues a chain or writes a
        part of it."""
        before = self._before.get(value)
        updates = node.op.statements is not None
        if before is not None and (
            (updates and (value.base == before.base or not value.is_named))
            or self._end.get(before) is self._end.get(value, value)
            or self._wanted.get(self._end.get(value, value)) == self.known.get(before, UNUSED)
        ):
            self.known[value] = name = self.known[before]
            self._busy_until[name] = max(self._busy_until[name], self._last(value, number))
        else:
            # Statements of several lines read operands after the first has named the result.
            self.give(value, number - 1 if updates else number)
            name = self.known[value]
            self._busy_until[name] = max(self._busy_until[name], number)

    def give(self, value: Value, number: int, name: str | None = None) -> None:
        """Name `value`: after the end of its chain, with a number where that name is taken."""
        self.known[value] = name = name or self._chosen(value, number)
        self._busy_until[name] = max(self._last(value, number), 0)

    def _chosen(self, value: Value, number: int) -> str:
        end = self._end.get(value, value)
        wanted = self._wanted.get(end, "")
        if wanted and self._busy_until.get(wanted, number) <= number:
            return wanted
        base = end.base or end.name or (end.node.op.name if end.node else "a")
        is_temporary = not end.label and not end.derived and end.name != end.base
        return self._free_name(base, number, int(is_temporary))

    def _free_name(self, base: str, number: int, first: int) -> str:
        """`base` with the smallest number, from `first` on, that is free at statement `number`."""
        numbers = self._numbers.setdefault(base, Numbers())
        numbers.release(number)
        passed = []
        while True:
            count = numbers.pop()
            name = f"{base}_{count}" if count else base
            busy_until = self._busy_until.get(name, number)
            if name in self._reserved or ELEMENT.fullmatch(name):
                continue
            if busy_until > number:
                numbers.hold(count, busy_until)
            elif count < first:
                passed.append(count)
            else:
                break
        for one in passed:
            numbers.hold(one, number)
        numbers.hold(count, number)
        return name

    def _last(self, value: Value, number: int) -> int:
        return max(self._plan.last_use.get(value, number), number)


class Numbers:
    """The numbers of one base name, free or held until some statement.

    Looking for a free one costs the same however many are held: a function of 20,000 lines that
    all assign to `y` keeps as many residuals.
    """

    def __init__(self) -> None:
        """Begin with every number free."""
        self._fresh = 0
        self._free: list[int] = []
        self._held: list[tuple[int, int]] = []

    def hold(self, count: int, until: int) -> None:
        """`count` is not to be had before statement `until`."""
        heappush(self._held, (until, count))

    def release(self, number: int) -> None:
        """Statement `number` is reached."""
        while self._held and self._held[0][0] <= number:
            heappush(self._free, heappop(self._held)[1])

    def pop(self) -> int:
        """The smallest free number; it is neither free nor held from now on."""
        if self._free:
            return heappop(self._free)
        self._fresh += 1
        return self._fresh - 1


def _chain_ends(plan: Plan) -> dict[Value, Value]:
    """For every value that only the statement overwriting it reads, the value its chain ends in."""
    ends: dict[Value, Value] = {}
    for node in reversed(plan.statements):
        old, new = plan.overwrites.get(node), node.results[0]
        if old is not None and not old.label and plan.readers[old] == 1:
            ends[old] = ends.get(new, new)
    return ends
