"""Plans of bodies: of one step of a loop, and of the sides of a condition.

A step owns what it allocates, as every body does. It owns a carried array, too, where a statement
updates it in place: the loop then begins with a copy, and every step hands on an array that nothing
else shares. Rows are stacked in an array as soon as they are computed, so that what they hold may
be updated after that. A list holds the rows themselves, which nothing updates. A loop that may not
run at all begins with copies: its results are arrays of their own in any case.

A side of a condition owns what it allocates, and returns fresh arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import Subgraph
from tracejit.ops.control.control_flow import STACK_ROW, loop_operands
from tracejit.targets.numpy.plan.buffers import Storages, is_whole


class LoopPlan(NamedTuple):
    """The `plan` of a step, whose results are the next carried values.

    `begun` are the numbers of the carried arrays that begin as copies: steps update them in place,
    or there may be no steps, and their initial values are not the loop's alone. `copied` are those
    that each step copies before it hands them on, `detached` those that are copied at the end, as
    they may share memory with what is not the loop's. `in_place` is False where every array and
    number is to be as NumPy makes it. `taken` are those whose initial values are updated, or may be
    the results: nothing else needs them. `condition` is the plan of the condition of a loop that
    has one.
    """

    plan: Any
    begun: frozenset[int]
    copied: frozenset[int]
    detached: frozenset[int]
    in_place: bool
    taken: frozenset[int]
    condition: Any = None

    @property
    def plans(self) -> list[Any]:
        """The plans of the bodies."""
        return [self.plan] if self.condition is None else [self.plan, self.condition]


class ConditionPlan(NamedTuple):
    """The `plans` of the sides of a condition."""

    plans: Sequence[Any]


class RoutinePlan(NamedTuple):
    """The `plans` of the functions that a routine calls, whose bodies are `functions` by name."""

    plans: Sequence[Any]
    functions: Mapping[str, Subgraph]


def with_rows(nodes: Sequence[Node], stacked: Sequence[Value]) -> list[Node]:
    """`nodes` with a node after each that makes a row, which writes the row."""
    rows: dict[Value, list[Node]] = {}
    for number, value in enumerate(stacked):
        params = {"number": number}
        types = STACK_ROW.result_types([value.type], params)
        where = value.node.where if value.node is not None else None
        row = Node(STACK_ROW, (value,), params, types, where, 0, ())
        rows.setdefault(value, []).append(row)
    made = {value for node in nodes for value in node.results}
    found = [row for value, group in rows.items() if value not in made for row in group]
    for node in nodes:
        found.append(node)
        for value in node.results:
            found += rows.get(value, ())
    return found


def handed_over(
    node: Node,
    number: int,
    last_use: Mapping[Value, int],
    storages: Storages,
    inlined: Set[Node],
    overwrites: Mapping[Node, Value],
) -> frozenset[int]:
    """The numbers of the carried arrays whose initial values the loop, statement `number`, may
    update: nothing else reads that memory any more."""
    initial = loop_operands(node).carried
    roots = Counter(map(storages.root, node.operands))
    last: dict[Value, int] = {}
    for value, place in last_use.items():
        root = storages.root(value)
        last[root] = max(last.get(root, -1), place)
    return frozenset(
        place
        for place, value in enumerate(initial)
        if storages.is_ours(value)
        and is_whole(value, storages.root(value), overwrites)
        and (
            value.node in inlined
            or (roots[storages.root(value)] == 1 and last[storages.root(value)] == number)
        )
    )


def updated_inputs(plan: Any, carried: Sequence[Value]) -> frozenset[int]:
    """The numbers of the carried values whose memory a statement updates, or hands on as another
    carried value that is."""
    places = {value: number for number, value in enumerate(carried)}
    roots = [plan.storages.root(value) for value in plan.overwrites.values()]
    for node, inner in plan.inner.items():
        if isinstance(inner, LoopPlan):
            initial = loop_operands(node).carried
            roots += [plan.storages.root(initial[number]) for number in inner.taken]
    found = {places[root] for root in roots if root in places}
    while True:
        handed = [plan.storages.root(plan.results[number]) for number in found]
        new = {places[root] for root in handed if root in places} - found
        if not new:
            return frozenset(found)
        found |= new
