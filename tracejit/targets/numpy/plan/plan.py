"""The Plan of one function body: everything that codegen needs and nothing it must still decide.

`plan_body` runs the stages in their order: `inline` says which values are written inside the
expression that uses them, `liveness` where each value is used last, `buffers` which statement
overwrites an operand that is ours and which results need a copy. Statements stay in program
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence, Set
from typing import NamedTuple

from tracejit.ir.branches import STRAIGHT, Branches
from tracejit.ir.graph import Node, Value
from tracejit.ops.control.branches import ENSURE, LEAVE, may_raise
from tracejit.ops.control.control_flow import ControlFlow, Loop, is_condition, is_loop
from tracejit.ops.control.routines import functions_of
from tracejit.targets.numpy.plan.buffers import Storages, overwritten_operands, shared_results
from tracejit.targets.numpy.plan.inline import inlined_in_the_next, inlined_nodes
from tracejit.targets.numpy.plan.liveness import last_uses
from tracejit.targets.numpy.plan.loop_plan import (
    ConditionPlan,
    LoopPlan,
    RoutinePlan,
    handed_over,
    updated_inputs,
    with_rows,
)
from tracejit.targets.numpy.plan.tile_loops import TileLoop


class Plan(NamedTuple):
    """One body.

    `statements` are the nodes written as statements, in order; `inlined` the others. `last_use`
    is the number of the last statement that reads a value (len(statements) for what is returned),
    `readers` how often it is read. `overwrites` maps a statement's node to the operand whose
    buffer its result takes over; `copies` holds the positions in `results` that are copied.
    `kept` are the residuals: returned besides the results and never copied. `storages` say which
    values share memory, statements in place included. With several traces, as in `branches`, each
    ends in a statement that returns: `leaves` holds the positions of the results that it copies.
    `inner` are the plans of the loops, conditions and routines among the statements.
    """

    inputs: list[Value]
    statements: list[Node]
    inlined: set[Node]
    results: list[Value]
    kept: list[Value]
    last_use: dict[Value, int]
    readers: Counter[Value]
    overwrites: dict[Node, Value]
    copies: set[int]
    storages: Storages
    leaves: dict[Node, set[int]]
    branches: Branches
    inner: dict[Node, LoopPlan | ConditionPlan | RoutinePlan]

    @property
    def all(self) -> list[Plan]:
        """This plan and those of all bodies in it."""
        inner = [plan for owner in self.inner.values() for plan in owner.plans]
        return [self, *[one for plan in inner for one in plan.all]]


def plan_body(
    inputs: Sequence[Value],
    nodes: Sequence[Node],
    results: Sequence[Value],
    kept: Sequence[Value] = (),
    in_place: bool = True,
    branches: Branches = STRAIGHT,
    owned: Collection[Value] = (),
) -> Plan:
    """Plan a body that takes `inputs`, runs `nodes` in order and returns `results` and `kept`.

    The body owns none of its inputs but those `owned`. A result shares no memory with an input,
    another result or a residual. With `in_place` False no statement overwrites a buffer: every
    array has the memory layout that NumPy gives it, which later sums may show in the last bit.
    """
    returned = [*results, *kept]
    foreign = [value for value in inputs if value not in owned]
    if any([node.op is ENSURE for node in nodes]):
        nodes = _without_ensure(nodes, returned)
    ends = [node for node in nodes if node.op is LEAVE]
    inlined = inlined_nodes(nodes, [*returned, *[value for end in ends for value in end.operands]])
    for last_round in (False, True):
        statements = [node for node in nodes if node not in inlined]
        last_use = last_uses(statements, inlined, returned)
        overwrites = (
            overwritten_operands(foreign, nodes, statements, inlined, last_use) if in_place else {}
        )
        if last_round:
            break
        before, inlined = inlined, inlined_in_the_next(statements, inlined, last_use, overwrites)
        if len(inlined) == len(before):
            break
    storages = Storages(foreign, nodes)
    copies = shared_results(storages, results, kept)
    leaves = {
        end: shared_results(storages, *split(end.operands, end.params["results"])) for end in ends
    }
    for node, operand in overwrites.items():
        storages.take_over(node.results[0], operand)
    readers = Counter([value for node in nodes for value in node.operands])
    readers.update(returned)
    return Plan(
        list(inputs),
        statements,
        inlined,
        list(results),
        list(kept),
        last_use,
        readers,
        overwrites,
        copies,
        storages,
        leaves,
        branches,
        {
            node: plan_loop(
                node,
                in_place,
                handed_over(node, number, last_use, storages, inlined, overwrites),
            )
            if is_loop(node)
            else plan_condition(node, in_place)
            if is_condition(node)
            else plan_routine(node, in_place)
            for number, node in enumerate(statements)
            if isinstance(node.op, ControlFlow)
        },
    )


def plan_condition(node: Node, in_place: bool) -> ConditionPlan:
    """Plan the sides of a condition."""
    graphs = [body.graph for body in node.params["bodies"]]
    return ConditionPlan(
        [plan_body(one.inputs, one.nodes, one.outputs, in_place=in_place) for one in graphs]
    )


def plan_routine(node: Node, in_place: bool) -> RoutinePlan:
    """Plan the functions that a routine calls."""
    functions = functions_of(node)
    graphs = [body.graph for body in functions.values()]
    plans = [plan_body(one.inputs, one.nodes, one.outputs, in_place=in_place) for one in graphs]
    return RoutinePlan(plans, functions)


def plan_loop(node: Node, in_place: bool, fresh: Set[int]) -> LoopPlan:
    """Plan a step of a loop, whose initial values of the numbers `fresh` it may update."""
    graph, count = node.params["body"].graph, node.params["carried"]
    first = node.params["invariants"]
    carried = graph.inputs[first : first + count]
    results, rows = graph.outputs[:count], graph.outputs[count:]
    nodes = with_rows(graph.nodes, rows)
    length = node.params["length"] if isinstance(node.op, Loop) else None
    is_there = type(length) is int and length > 0  # another number may be none at all
    kept = rows if length is None else ()
    owned = [] if kept else carried
    plan = plan_body(graph.inputs, nodes, results, kept, in_place, owned=owned)
    updated = updated_inputs(plan, carried)
    if len(updated) < len(owned):
        owned = [carried[number] for number in updated]
        plan = plan_body(graph.inputs, nodes, results, kept, in_place, owned=owned)
    shared = {number for number in plan.copies if results[number].type.form == "array"}
    written = {plan.storages.root(results[number]) for number in updated}
    copied = {
        number
        for number in shared
        if number in updated or plan.storages.root(results[number]) in written
    }
    arrays = {number for number, value in enumerate(carried) if value.type.form == "array"}
    needed = updated if is_there else arrays
    return LoopPlan(
        plan,
        frozenset(needed - fresh),
        frozenset(copied),
        frozenset(shared - copied),
        in_place,
        frozenset(needed & fresh),
        _plan_test(node, in_place),
    )


def _plan_test(node: Node, in_place: bool) -> Plan | None:
    """Plan the condition of a loop, if it has one."""
    if "condition" not in node.params:
        return None
    graph = node.params["condition"].graph
    return plan_body(graph.inputs, graph.nodes, graph.outputs, in_place=in_place)


def _without_ensure(nodes: Sequence[Node], returned: Sequence[Value]) -> list[Node]:
    """`nodes` with an operation after each node that nothing reads but that must be computed,
    because it may raise an error; one that has the user's name needs none."""
    reads = Counter([*(value for node in nodes for value in node.operands), *returned])
    idle: set[Node] = set()
    ensured: dict[Node, Node] = {}
    for node in nodes:
        if node.op is not ENSURE:
            continue
        chain, value = [node], node.operands[0]
        while (made := value.node) and reads[value] == 1 and _only_shows(made):
            chain.append(made)
            value = made.operands[made.op.view_of]
        idle.update(chain)
        reads[value] -= 1
        if made is not None and not reads[value] and not value.is_named:
            types = [node.results[0].type]
            place = made.where, made.region, made.tapes, made.segment
            ensured[made] = Node(ENSURE, (value,), {}, types, *place)
    kept = [node for node in nodes if node not in idle]
    return [each for node in kept for each in (node, ensured.get(node)) if each is not None]


def _only_shows(node: Node) -> bool:
    """Return whether a node is a view, and cannot raise an error."""
    return node.op.view_of is not None and not may_raise(node)


def plan_tile(loop: TileLoop) -> tuple[Plan, dict[Value, Value]]:
    """Plan the body of a tile loop for one tile; also the buffers that are filled at its end, each
    with its value.

    The inputs are those of the loop; after the sliced ones comes a buffer for each value that it
    stores: rows of an array, into which the value is computed where possible. It is not computed
    into a buffer that may be a column: there np.isnan and others, and np.negative of every eighth
    number, write wrong elements (NumPy up to 2.5).
    """
    buffers = {value: Value(value.type) for value in loop.stored}
    for value, buffer in buffers.items():
        buffer.base = buffer.name = value.base or value.name
    sliced, whole = split(loop.inputs, loop.sliced)
    inputs = [*sliced, *buffers.values(), *whole]
    plan = plan_body(inputs, loop.nodes, [*loop.stored, *loop.totals])
    plan.last_use.update(dict.fromkeys(buffers.values(), len(plan.statements)))
    late = dict(buffers)
    for (value, buffer), axis in zip(buffers.items(), loop.axes[loop.sliced :], strict=True):
        made = None if loop.may_be_one and axis else _made_in_buffer(plan, value)
        if made is not None and made.node is not None:
            plan.overwrites[made.node] = buffer
            plan.storages.take_over(made, buffer)
            plan.readers[buffer] = 1
            del late[value]
    late = {buffer: value for value, buffer in late.items()}
    return plan._replace(results=list(loop.totals), copies=set()), late


def _made_in_buffer(plan: Plan, value: Value) -> Value | None:
    """The value that is computed in the buffer of the stored `value`: its base, of which it shows
    all, or itself, instead of what it overwrites."""
    root = plan.storages.root(value)
    for made in (root, value):
        node = made.node
        if node not in plan.statements or made.type is not value.type:
            continue
        if node.op.inplace and node.op.statements is None:
            if made is value or node not in plan.overwrites:
                return made
    return None


def split(values: Sequence[Value], count: int) -> tuple[Sequence[Value], Sequence[Value]]:
    """The first `count` values, and the others."""
    return values[:count], values[count:]
