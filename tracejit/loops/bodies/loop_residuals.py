"""Residuals of loops: choose what a loop stacks for its derivative, and what that computes again.

The loop of a derivative is recorded so that it computes each step anew from the carried values that
the step began with, which the first loop stacks. `choose_loop_residuals` looks at what both loops
can compute: all that depends on stacks of the first, on arrays that both slice, on invariants of
both and on the number of the step. The cheapest choice between computing and stacking is a cut
(`support/minimum_cut.py`). A node is on the sink's side where the second loop computes it:

    source -> node     what it costs to compute the node again; nothing where the first loop does
                       not compute it, as one of them has to; UNCUT for what is read from a stack
    node   -> value    what it costs to stack a result and to read the row
    value  -> node     UNCUT, for each node that reads the value
    value  -> sink     UNCUT, where the second loop needs it for something else

What the second loop computes of stacks alone may be computed for all steps at once, before it
(`loops/bodies/loop_stages.py`): then its elements count, and that its rows are read, but no call
for each step.

Stacks that nothing reads any more are dropped by `prune_bodies` afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np

from tracejit.ir.dims import estimated
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.subgraph import bodies_of, differs_in_size, needed_for
from tracejit.loops.bodies.loop_stages import fits
from tracejit.loops.bodies.loops import emit_like, moved_node, with_inputs
from tracejit.ops.control.control_flow import (
    body_inputs,
    is_checkpoint,
    is_counted,
    is_loop,
    loop_operands,
    parts_of,
)
from tracejit.ops.control.routines import is_routine
from tracejit.passes.framework.emission import readers_of
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs
from tracejit.support.minimum_cut import UNCUT, Network


def keep_inner_loops(graph: Graph) -> Graph:
    """`graph` with no loop that runs the loops in the steps of another again: that one stacks what
    they make. What the derivative reads of an inner loop is stacked by one that extends it, so that
    the two become one in the body of the first."""
    if not any(is_loop(one) for n in graph.nodes for _, body in bodies_of(n) for one in body.nodes):
        return graph
    return _in_pairs(graph, partial(_Common, in_steps=True, of_loops=True))


def choose_loop_residuals(graph: Graph, in_steps: bool = True) -> Graph:
    """`graph` with each loop that reads stacks of another reading the cheapest stacks. Unless all
    is computed `in_steps`, `split_loops` computes for all steps at once what it can."""
    return _in_pairs(graph, partial(_Common, in_steps=in_steps))


def _in_pairs(graph: Graph, common: Callable[[Graph, Node, Node], _Common]) -> Graph:
    """`graph` with each loop that reads stacks of another reading the best stacks of it."""
    for second in range(sum(map(is_counted, graph.nodes))):
        loops = [node for node in graph.nodes if is_counted(node)]
        makers = _producers(loops[second], loops[:second])
        for first in [number for number, node in enumerate(loops) if node in makers]:
            loops = [node for node in graph.nodes if is_counted(node)]
            if not is_checkpoint(loops[first]):
                graph = _chosen(graph, common(graph, loops[first], loops[second]))
    return graph


def _producers(loop: Node, before: Sequence[Node]) -> set[Node | None]:
    """The loops of as many steps whose stacks a loop slices, and those `before` it that call
    routines, if it does."""
    makers = {value.node for value in loop_operands(loop).sliced}
    if _calls_routines(loop):
        makers.update(node for node in before if _calls_routines(node))
    length = loop.params["length"]
    return {node for node in makers if is_counted(node) and node.params["length"] == length}


def _calls_routines(loop: Node) -> bool:
    return any(map(is_routine, loop.params["body"].graph.nodes))


def _chosen(graph: Graph, common: _Common) -> Graph:
    """`graph` with the best stacks of the first of two loops that the second can be computed
    from."""
    first, second = common.first, common.second
    kept = common.kept()
    if not kept:
        return graph
    rows = [common.there[value] for value in kept]
    new = [row for row in dict.fromkeys(rows) if row not in common.stacks]
    stacks: dict[Value, Value] = {}

    def rewrite(made: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node is first:
            results = emit_like(made, node, operands, _with_outputs(common.wide, new)).results
            stacks.update((row, results[place]) for row, place in common.stacks.items())
            added = results[len(node.results) :]
            for row, stack in zip(new, added, strict=True):
                stacks[row] = stack
                stack.base = f"{row.base or row.name}_all"
            return results[: len(node.results)]
        if node is second:
            last = len(operands)
            read = [*operands[:last], *[stacks[row] for row in rows]]
            return emit_like(made, node, read, common.narrowed(kept)).results
        return None

    return rebuild(graph, rewrite, ops=("loop",))


def _with_outputs(graph: Graph, more: Sequence[Value]) -> Graph:
    """`graph` with `more` outputs, and what they need."""
    outputs = [*graph.outputs, *more]
    nodes = needed_for(outputs, graph.nodes, graph.inputs)
    return with_inputs(graph, graph.inputs, nodes, outputs, {})


class _Common:
    """Values that a loop and one that slices its stacks can both compute.

    `wide` is the body of the first, with the nodes of the second that it could run; `there` maps
    values of the second body to those of `wide`. `stacks` are the places of what the first loop
    stacks, among its results; `free` those that something else reads as well.
    """

    def __init__(
        self, graph: Graph, first: Node, second: Node, in_steps: bool, of_loops: bool = False
    ) -> None:
        """Find what is common to the bodies of two loops of `graph`, where all is computed
        `in_steps` or what can be is computed for all steps at once; if it is `of_loops`, what the
        loops in them make."""
        self.first, self.second = first, second
        self.of_loops = of_loops
        self.length: int = second.params["length"]
        self.in_steps = in_steps or "size" in second.params or type(self.length) is not int
        mine, yours = first.params["body"].graph, second.params["body"].graph
        self.body = yours
        self.wide = with_inputs(mine, mine.inputs, mine.nodes, mine.outputs, {})
        self.own = set(self.wide.nodes)
        count = first.params["carried"]
        self.stacks = {row: place for place, row in enumerate(self.wide.outputs) if place >= count}
        self.free = self._read_elsewhere(graph)
        self.there = self._inputs()
        self.leaves = [value for value in body_inputs(second).sliced if value in self.there]
        equal = {_key_of(constant): constant for constant in self.wide.constants()}
        is_alike = first.params.get("size") == second.params.get("size")
        for node in yours.nodes:
            if not is_alike and differs_in_size(node):
                continue
            if self._may_move(node) and all(
                isinstance(value, Constant) or value in self.there for value in node.operands
            ):
                operands = [
                    equal.setdefault(_key_of(value), value)
                    if isinstance(value, Constant)
                    else self.there[value]
                    for value in node.operands
                ]
                made = self._same(node, operands)
                if made is not None:
                    self.there.update(zip(node.results, made.results, strict=True))
        self.wide.complete_names()
        self.read_in_steps = {
            value
            for node in yours.nodes
            if in_steps or node.results[0] not in self.there
            for value in node.operands
        }.union(yours.outputs)

    def _same(self, node: Node, operands: Sequence[Value]) -> Node | None:
        """The node of the first loop that does the same as one of the second: one that is made, or
        a call of the same routine if there is one."""
        if not is_routine(node):
            return moved_node(self.wide, node, tuple(operands), segment=0)
        form = _form_of(node)
        alike = (one for one in self.own if list(one.operands) == list(operands))
        return next((one for one in alike if _form_of(one) == form), None)

    def _read_elsewhere(self, graph: Graph) -> set[Value]:
        """The rows that others than the second loop read, too, at the end of steps or at the
        beginning of the next."""
        readers = readers_of(graph)
        readers.subtract(self.second.operands)
        found = {row for row, place in self.stacks.items() if readers[self.first.results[place]]}
        parts = parts_of(self.wide.inputs[:-1], self.first)
        found.update(
            one for one, out in zip(parts.carried, self.wide.outputs, strict=False) if out in found
        )
        return found.union(parts.sliced)

    def _inputs(self) -> dict[Value, Value]:
        """The inputs of the second body that the first has, too."""
        first, second = loop_operands(self.first), loop_operands(self.second)
        mine, yours = parts_of(self.wide.inputs[:-1], self.first), body_inputs(self.second)
        fixed = dict(zip(first.invariants, mine.invariants, strict=True))
        sliced = dict(zip(first.sliced, mine.sliced, strict=True))
        for row, place in self.stacks.items():
            sliced[self.first.results[place]] = row
        found = {self.body.inputs[-1]: self.wide.inputs[-1]}
        for known, operands, inputs in (
            (fixed, second.invariants, yours.invariants),
            (sliced, second.sliced, yours.sliced),
        ):
            for operand, value in zip(operands, inputs, strict=True):
                if operand in known:
                    found[value] = known[operand]
        return found

    def _may_move(self, node: Node) -> bool:
        """Return whether the first loop may compute a node in place of the second. What is
        recomputed on demand of the user stays where it is."""
        may_own = self.of_loops or is_routine(node) or not any(bodies_of(node))
        return may_own and not node.op.effect and not node.region

    def _made_by_loops(self) -> list[Value]:
        """The results of loops in the second body that it reads and the first loop can compute."""
        read = {value for node in self.body.nodes for value in node.operands}
        return [
            value
            for node in self.body.nodes
            if is_loop(node) and all(self._fits(one) for one in node.results if one in read)
            for value in node.results
            if value in read and value in self.there
        ]

    def _fits(self, value: Value) -> bool:
        """Return whether a value of each step may be stacked."""
        is_listed = value.type.form in ("list", "handle") or type(self.length) is not int
        return not is_listed and (not value.type.shape or fits(value.type, self.length))

    def kept(self) -> list[Value]:
        """The values of the second body that are to be read from stacks, besides those that are."""
        if self.of_loops:
            return self._made_by_loops()
        numbers: dict[Node | Value, int] = {}
        edges: list[tuple[int, int, int]] = []

        def number(one: Node | Value) -> int:
            return numbers.setdefault(one, 2 + len(numbers))

        inputs = self.there.keys() & set(self.body.inputs)
        free = inputs.difference(self.leaves)
        edges += [(0, number(leaf), min(self._price(leaf), UNCUT - 1)) for leaf in self.leaves]
        needed = [value for value in self.body.outputs if value in self.there]
        for node in self.body.nodes:
            operands = [v for v in node.operands if v in self.there and v not in free]
            if node.results[0] not in self.there:
                needed += operands
                continue
            is_own = self.there[node.results[0]].node in self.own
            edges.append((0, number(node), self._computing(node) if is_own else 0))
            edges += [(number(v), number(node), UNCUT) for v in operands]
            edges += [(number(node), number(v), self._price(v)) for v in node.results]
        edges += [(number(v), 1, UNCUT) for v in dict.fromkeys(needed) if v not in free]
        network = Network(2 + len(numbers))
        for edge in edges:
            network.join(*edge)
        is_again = network.sink_side(0, 1)
        return [
            one
            for one, place in numbers.items()
            if is_again[place] and isinstance(one, Value) and one.node is not None
            if not is_again[numbers[one.node]]
        ]

    def _computing(self, node: Node) -> int:
        """The time that it takes to compute a node in the second loop, or for all its steps before
        it, in picoseconds."""
        model = costs()
        call, elements = computing_time(node)
        types = [value.type for value in node.results]
        if self.in_steps or node.op.batch is None or not all(fits(t, self.length) for t in types):
            return round(1000 * (call + elements))
        time = (call + model.array_call) / self.length + elements
        for value in self.read_in_steps.intersection(node.results):
            time += model.row_read if value.type.shape else model.number_read
        return round(1000 * time)

    def _price(self, value: Value) -> int:
        """The time that it takes to stack a value of the second body and to read it again, in
        picoseconds."""
        type = value.type
        if type.form == "handle" or (type.form == "array" and not type.shape):
            return UNCUT
        model = costs()
        is_number = not type.shape
        bytes = type.estimated_size * type.dtype.itemsize
        time = 0.0
        if value in self.read_in_steps:
            time += model.number_read if is_number else model.row_read
        if self.there[value] not in self.free:
            time += model.number_written if is_number else model.row_written
            time += model.stacked_byte * bytes
        return round(1000 * time)

    def narrowed(self, kept: Sequence[Value]) -> Graph:
        """The second body with the values `kept` as inputs before the number of the step."""
        *inputs, step = self.body.inputs
        given = [*inputs, *kept, step]
        nodes = needed_for(self.body.outputs, self.body.nodes, given)
        return with_inputs(self.body, given, nodes, self.body.outputs, {})


def computing_time(node: Node) -> tuple[float, float]:
    """The time that the call of a node takes, and that of its elements, in nanoseconds."""
    model = costs()
    types = [value.type for value in node.operands]
    operations: float = estimated((node.op.cost(*types, **node.params),))
    made = node.results[0].type
    if node.op.elementwise:
        operations = min(operations, model.slowest_element * made.estimated_size)
    if made.form == "weak":
        call = model.scalar_operation - model.float_operation_gain
    elif node.op.view_of is not None:
        call, operations = model.view_call if made.shape else model.number_read, 0
    elif not any(type.shape for type in (*types, made)):
        call = model.scalar_operation if node.op.arithmetic else model.scalar_call
    elif node.op.elementwise or node.op.linear_in == "each":
        call = model.array_call
    else:
        call = model.copy_call
    return call, model.addition * operations


def _form_of(node: Node) -> Hashable:
    """The same for nodes that do the same with their operands, by bodies of whatever names."""
    bodies = {name: _form_of_body(body.graph) for name, body in bodies_of(node)}
    others = {name: repr(value) for name, value in node.params.items() if name not in bodies}
    return node.op.name, *sorted({**others, **bodies}.items())


def _form_of_body(graph: Graph) -> Hashable:
    numbers: dict[Value, Hashable] = {value: number for number, value in enumerate(graph.inputs)}

    def known(values: Sequence[Value]) -> tuple[Hashable, ...]:
        return tuple(_key_of(v) if isinstance(v, Constant) else numbers[v] for v in values)

    nodes = []
    for node in graph.nodes:
        nodes.append((_form_of(node), known(node.operands)))
        for result in node.results:
            numbers[result] = len(numbers), result.type
    return tuple(nodes), known(graph.outputs)


def _key_of(constant: Constant) -> Hashable:
    """The same key for the same constant of two graphs."""
    data = constant.data
    if isinstance(data, np.ndarray):
        is_small = data.nbytes <= costs().shared_bytes
        return constant.type, data.tobytes() if is_small else id(data)
    return constant.type, repr(data)
