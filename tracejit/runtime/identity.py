"""Identity of arguments: which are one object, for a function that asks `a is b` or `id(a)`.

Recorded, two arguments that are one array are one Tensor, and the kernel is for calls in which they
are. One that is recorded with different arrays takes no call in which two are the same. A function
that does not ask has neither condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.support.words import joined
from tracejit.trace.arguments.signature import Call
from tracejit.trace.guards.guards import Difference, Sentence
from tracejit.trace.structure.draws import is_generator

IDENTITY = Sentence(
    "identity",
    "the function asks which arguments are one object: {now}",
    "a call where {was}",
    "Such calls have their own kernel.",
)
ROLES = ("array", "scalar", "generator")


class NotApart(Exception):
    """Arguments that are not apart, as a kernel takes them: an array that would be written to
    shares memory with another, or is read-only, or one object stands for two. `fix` says what to
    pass instead."""

    def __init__(self, problem: str, fix: str = "pass a copy of it.") -> None:
        """`problem` is a clause."""
        super().__init__(problem)
        self.fix = fix


class Identity(NamedTuple):
    """The leaves of a call by name, those that are one object together; none of them is one of the
    `captured` arrays, by id."""

    groups: tuple[tuple[str, ...], ...]
    captured: frozenset[int] = frozenset()

    def first_of(self) -> dict[str, str]:
        """For each leaf that is the same object as one before it, that one."""
        return {name: group[0] for group in self.groups for name in group[1:]}

    def check(self, call: Call) -> bool:
        """Return whether the same leaves of `call` are one object each, and none is captured."""
        given = {id(leaf.value) for leaf in call.leaves}
        return groups_of(call) == self.groups and given.isdisjoint(self.captured)

    def spelling(self, leaves: Mapping[str, str], bind: Any) -> Iterator[str]:
        """The tests in Python, where these expressions are the leaves by name."""
        for group in self.groups:
            yield from [f"{leaves[group[0]]} is {leaves[name]}" for name in group[1:]]
        firsts = [leaves[group[0]] for group in self.groups]
        if len(firsts) == 2:
            yield f"{firsts[0]} is not {firsts[1]}"
        elif len(firsts) > 2:
            found = ", ".join(f"{bind(id)}({text})" for text in firsts)
            yield f"{bind(len)}({{{found}}}) == {len(firsts)}"
        if self.captured:
            yield from [f"{bind(id)}({text}) not in {bind(self.captured)}" for text in firsts]

    def explain(self, call: Call) -> Difference:
        """The sentence for a call in which other leaves are one object."""
        return Difference(
            IDENTITY, "the arguments", _same_text(self.groups), _same_text(groups_of(call))
        )


def _same_text(groups: Iterable[Sequence[str]]) -> str:
    """The arguments of a call that are one object, as a sentence."""
    shared = [f"{joined(group)} are one array" for group in groups if len(group) > 1]
    return "; ".join(shared) or "all are different"


def groups_of(call: Call) -> tuple[tuple[str, ...], ...]:
    """The names of arrays, NumPy scalars and generators among the leaves of a call, those of one
    object together."""
    found: dict[int, list[str]] = {}
    for leaf in call.leaves:
        if leaf.role in ROLES and _is_given(leaf.value):
            found.setdefault(id(leaf.value), []).append(leaf.name)
    return tuple(map(tuple, found.values()))


def identity_of(
    call: Call, differentiated: frozenset[str], arrays: Mapping[int, tuple[str, np.ndarray]]
) -> Identity:
    """The Identity of `call`: which leaves are one object. `arrays` are those captured, by id.

    Raises NotApart if a recording cannot tell it: an argument is captured as well, or there are
    two derivatives for one array.
    """
    for leaf in call.leaves:
        if id(leaf.value) in arrays:
            raise NotApart(
                f"{leaf.name} is also the captured array {arrays[id(leaf.value)][0]}, and the "
                f"function compares identities",
                "pass it or capture it, not both.",
            )
    groups = groups_of(call)
    for group in groups:
        if len(group) > 1 and not differentiated.isdisjoint(group):
            raise NotApart(
                f"{' and '.join(group)} are the same array, and the function compares identities",
                f"pass {group[-1]}.copy(), or differentiate a function that takes one argument "
                f"for both.",
            )
    return Identity(groups, frozenset(arrays))


def _is_given(value: Any) -> bool:
    """Return whether a value is an object of the user's, and not one that only describes
    another."""
    known = isinstance(value, (np.ndarray, np.generic)) or is_generator(value)
    return known or hasattr(type(value), "numpy_generator")
