"""The `del` statements of a body, which release arrays that nothing reads any more.

A name holds its array until it is bound again or the function returns. Where dead names would raise
the memory held above the peak that the program needs, they are deleted before the statement that
allocates. Small arrays are never deleted, and a body whose names are reused as it goes has no `del`
at all. Every `del` frees a good part of the peak, so there are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tracejit.ir.graph import Value
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.plan.buffers import Storages
from tracejit.targets.numpy.plan.liveness import read_values
from tracejit.targets.numpy.plan.plan import Plan


class _Step(NamedTuple):
    """A statement: what it binds, and how many bytes it allocates and passes through besides."""

    results: tuple[Value, ...]
    new: int
    passing: int
    segment: int


class _Holders:
    """The names that hold arrays, the value of each, and the bytes that are held together."""

    def __init__(self, storages: Storages) -> None:
        """Begin with nothing held."""
        self.values: dict[str, Value] = {}
        self.bytes = 0
        self._storages = storages
        self._counts: dict[Value, int] = {}

    def bind(self, name: str, value: Value) -> None:
        """Bind `name` to `value`, which releases what it held before."""
        if name in self.values:
            self._drop(self.values[name])
        self.values[name] = value
        root = self._storages.root(value)
        self._counts[root] = self._counts.get(root, 0) + 1
        if self._counts[root] == 1:
            self.bytes += root.type.estimated_bytes

    def release(self, name: str) -> None:
        """Release what `name` holds."""
        if name in self.values:
            self._drop(self.values.pop(name))

    def dead(self, last_use: Mapping[Value, int], number: int, least: int) -> dict[str, Value]:
        """The names whose values statement `number` and those after it do not read, each with the
        array of more than so many bytes that it holds, and no name that is read holds."""
        roots = {name: self._storages.root(value) for name, value in self.values.items()}
        needed = {
            root for name, root in roots.items() if last_use.get(self.values[name], -1) >= number
        }
        return {
            name: root
            for name, root in roots.items()
            if root not in needed and root.type.estimated_bytes > least
        }

    def _drop(self, value: Value) -> None:
        root = self._storages.root(value)
        self._counts[root] -= 1
        if not self._counts[root]:
            self.bytes -= root.type.estimated_bytes


def releases(plan: Plan, names: Mapping[Value, str]) -> dict[int, list[str]]:
    """The names to delete, by the number of the statement before which they are."""
    storages = plan.storages
    nodes = (*plan.statements, *plan.inlined)
    sizes = [value.type.estimated_bytes for node in nodes for value in node.results]
    model = costs()
    small = model.unreleased_bytes
    if sum(sizes) <= model.released_body_bytes or max(sizes, default=0) <= small:
        return {}
    steps = list(_steps(plan, storages))
    if sum(step.new + step.passing for step in steps) <= model.released_body_bytes:
        return {}
    fullest = _fullest(plan, steps, storages)
    slack = max(small, min(fullest // model.held_part, model.held_bytes))
    little = max(small, fullest // model.little_part)
    while True:
        deleted = _deleted(plan, names, steps, fullest, slack, little)
        is_large = fullest >= model.held_bytes
        if is_large or len(deleted) * model.statements_per_release <= len(steps):
            return deleted
        little = slack = 2 * slack


def _deleted(
    plan: Plan,
    names: Mapping[Value, str],
    steps: Sequence[_Step],
    fullest: int,
    slack: int,
    little: int,
) -> dict[int, list[str]]:
    """The names to delete where at most `slack` bytes may be held beyond the live ones."""
    model = costs()
    limit = little
    holders = _Holders(plan.storages)
    deleted: dict[int, list[str]] = {}
    precedes = plan.branches.precedes
    here = 0
    for number, step in enumerate(steps):
        if step.segment != here:
            here = step.segment
            for name, value in list(holders.values.items()):
                if value.node is not None and not precedes(value.node.segment, here):
                    holders.release(name)
        besides = holders.bytes + step.new + step.passing - fullest
        if besides > limit:
            limit = besides + little
            is_much = besides > slack
            worth = slack if is_much else fullest // model.released_part
            for least in (little, model.unreleased_bytes) if is_much else (little,):
                dead = holders.dead(plan.last_use, number, least)
                if sum(root.type.estimated_bytes for root in set(dead.values())) >= worth:
                    deleted[number] = list(dead)
                    for name in dead:
                        holders.release(name)
                    limit = little
                    break
        for value in step.results:
            if not plan.readers[value]:
                continue  # what nobody reads has no name
            if plan.storages.is_ours(value):
                holders.bind(names[value], value)
            else:
                holders.release(names[value])
    return deleted


def _steps(plan: Plan, storages: Storages) -> Iterator[_Step]:
    for node in plan.statements:
        new = sum(v.type.estimated_bytes for v in node.results if storages.root(v) is v)
        passing = sum(
            v.type.estimated_bytes
            for v in set(read_values(node, plan.inlined))
            if v.node in plan.inlined and storages.root(v) is v
        )
        yield _Step(node.results, new, passing, node.segment)


def _fullest(plan: Plan, steps: list[_Step], storages: Storages) -> int:
    """The peak of the bytes that are live at once."""
    dies: dict[Value, int] = {}
    for value, last in plan.last_use.items():
        root = storages.root(value)
        dies[root] = max(dies.get(root, -1), last)
    leaving: dict[int, int] = {}
    for root, last in dies.items():
        if storages.is_ours(root) and root.node not in plan.inlined:
            leaving[last] = leaving.get(last, 0) + root.type.estimated_bytes
    needed = fullest = 0
    for number, step in enumerate(steps):
        needed += step.new
        fullest = max(fullest, needed + step.passing)
        needed -= leaving.get(number, 0)
        needed -= sum(
            v.type.estimated_bytes for v in step.results if storages.root(v) is v and v not in dies
        )
    return fullest
