"""Which names let go of their arrays, and where: the `del` statements of a body.

A name holds its array until it is bound again or the function returns, also when nothing reads it
any more. Where that would push what is held above what the program needs at its fullest, the dead
names are deleted before the statement that allocates; elsewhere, and among small arrays, nothing
is: a body whose names are reused as it goes has no `del` at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tracejit.ir.graph import Value
from tracejit.schedule.buffers import Storages
from tracejit.schedule.liveness import read_values
from tracejit.schedule.plan import Plan

WORTH = 1 << 20
SLACK = 16


class _Step(NamedTuple):
    """A statement: what it binds, and how many bytes it allocates and passes through besides."""

    results: tuple[Value, ...]
    new: int
    passing: int
    segment: int


def releases(plan: Plan, names: Mapping[Value, str]) -> dict[int, list[str]]:
    """The names to delete, by the number of the statement before which they are."""
    storages = plan.storages
    steps = list(_steps(plan, storages))
    fullest = _fullest(plan, steps, storages)
    allowed = fullest + max(fullest // SLACK, WORTH)
    holders: dict[str, Value] = {}
    deleted: dict[int, list[str]] = {}
    precedes = plan.branches.precedes
    here = 0
    for number, step in enumerate(steps):
        if step.segment != here:
            here = step.segment
            holders = {
                name: value
                for name, value in holders.items()
                if value.node is None or precedes(value.node.segment, here)
            }
        held = {storages.root(value) for value in holders.values()}
        needed = sum(map(_bytes, held)) + step.new + step.passing
        if needed > allowed:
            dead = [
                name
                for name, value in holders.items()
                if plan.last_use.get(value, -1) < number and _bytes(storages.root(value))
            ]
            if dead:
                deleted[number] = dead
                for name in dead:
                    del holders[name]
        for value in step.results:
            if storages.is_ours(value):
                holders[names[value]] = value
            else:
                holders.pop(names[value], None)
    return deleted


def _steps(plan: Plan, storages: Storages) -> Iterator[_Step]:
    for node in plan.statements:
        new = sum(_bytes(v) for v in node.results if storages.root(v) is v)
        passing = sum(
            _bytes(v)
            for v in set(read_values(node, plan.inlined))
            if v.node in plan.inlined and storages.root(v) is v
        )
        yield _Step(node.results, new, passing, node.segment)


def _fullest(plan: Plan, steps: list[_Step], storages: Storages) -> int:
    """The most bytes that are needed at once."""
    dies: dict[Value, int] = {}
    for value, last in plan.last_use.items():
        root = storages.root(value)
        dies[root] = max(dies.get(root, -1), last)
    leaving: dict[int, int] = {}
    for root, last in dies.items():
        if storages.is_ours(root) and root.node not in plan.inlined:
            leaving[last] = leaving.get(last, 0) + _bytes(root)
    needed = fullest = 0
    for number, step in enumerate(steps):
        needed += step.new
        fullest = max(fullest, needed + step.passing)
        needed -= leaving.get(number, 0)
        needed -= sum(_bytes(v) for v in step.results if storages.root(v) is v and v not in dies)
    return fullest


def _bytes(value: Value) -> int:
    if value.type.form != "array":
        return 0
    return value.type.estimated_size * value.type.dtype.itemsize
