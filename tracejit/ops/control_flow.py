"""Control flow in a graph: a loop is one node, which owns its body.

loop(*invariants, *initial, *sliced, body=step, invariants=2, carried=1, length=9, reverse=False)
runs its body `length` times. The body takes the invariants, the carried values, one element of each
sliced array and the number of the step; it returns the next carried values, and what is stacked.
The results of the node are the last carried values, then the stacked arrays. In reverse, the steps
run from the last to the first: element t of a sliced and of a stacked array belongs to step t.

stack_row(value, number=k) is in the schedule of a body alone: it writes a row of the array that the
loop stacks in place k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.subgraph import Subgraph
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.op import OPS, Op, defop
from tracejit.support.errors import fail


class LoopParts(NamedTuple):
    """The operands of a loop, or the inputs of its body, by what they are for."""

    invariants: Sequence[Value]
    carried: Sequence[Value]
    sliced: Sequence[Value]


def loop_operands(node: Node) -> LoopParts:
    """The operands of a loop: invariants, initial values and sliced arrays."""
    return parts_of(node.operands, node)


def loop_inputs(node: Node) -> LoopParts:
    """The inputs of the recorded body of a loop, without the number of the step."""
    return parts_of(node.params["body"].inputs[:-1], node)


def body_inputs(node: Node) -> LoopParts:
    """The inputs of the body of a loop by itself, without the number of the step."""
    return parts_of(node.params["body"].graph.inputs[:-1], node)


def parts_of(values: Sequence[Value], node: Node) -> LoopParts:
    """Values in the order of the operands of a loop, by what they are for."""
    first = node.params["invariants"]
    second = first + node.params["carried"]
    return LoopParts(values[:first], values[first:second], values[second:])


def element_type(type: ArrayType) -> ArrayType:
    """The type of an element of an array along its first axis."""
    return ArrayType(type.shape[1:], type.dtype, "array" if type.ndim > 1 else "scalar")


def stacked_type(type: ArrayType, length: int) -> ArrayType:
    """The type of the array that stacks values of `type`."""
    return ArrayType((length, *type.shape), type.dtype)


def _results(
    *types: ArrayType, body: Subgraph, invariants: int, carried: int, length: int, reverse: bool
) -> tuple[ArrayType, ...]:
    made = body.output_types
    taken = [value.type for value in body.inputs[:-1]]
    first = invariants + carried
    elements = [element_type(type) for type in types[first:]]
    # An element of what Python's numbers were stacked in is such a number again.
    read = [type.with_form(x.form) for type, x in zip(taken[first:], elements, strict=True)]
    if (
        taken[:first] != [*types[:first]]
        or read != elements
        or made[:carried] != taken[invariants:first]
    ):
        problem = f"{body.name}: a body from {taken} to {made} does not fit operands {[*types]}"
        raise fail("graph", None, problem=problem)
    return (*made[:carried], *(stacked_type(type, length) for type in made[carried:]))


def _cost(*types: ArrayType, body: Subgraph, length: int, **params: Any) -> int:
    nodes = body.nodes
    total = sum(n.op.cost(*[v.type for v in n.operands], **n.params) for n in nodes)
    return int(total) * int(length)


class _Loop(Op):
    """The record of the loop: it has no spelling of one line, and is computed step by step."""

    __slots__ = ()

    def template(self, operands: Sequence[ArrayType], params: Mapping[str, Any]) -> str:
        """Nothing: `codegen/loop_text.py` writes loops."""
        return ""

    def computation(
        self, operands: Sequence[ArrayType], params: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """The function that computes the loop step by step."""
        return partial(self.evaluate, **params)

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        """The results for arrays and numbers."""
        first, carried = params["invariants"], params["carried"]
        fixed = operands[:first]
        state: Sequence[Any] = operands[first : first + carried]
        sliced = operands[first + carried :]
        graph = params["body"].graph
        types = params["body"].output_types[carried:]
        steps = range(params["length"])
        stacks = [np.empty((len(steps), *type.shape), type.dtype) for type in types]
        for t in reversed(steps) if params["reverse"] else steps:
            elements = [
                x[t].item() if value.type.form == "weak" else x[t]
                for x, value in zip(sliced, graph.inputs[first + carried : -1], strict=True)
            ]
            found = run(graph, [*fixed, *state, *elements, t])
            state = found[:carried]
            for whole, row in zip(stacks, found[carried:], strict=True):
                whole[t] = row
        results = (*state, *stacks)
        return results if len(results) > 1 else results[0]


def run(graph: Graph, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of a graph for arguments, node by node."""
    known = dict(zip(graph.inputs, arguments, strict=True))

    def data(value: Value) -> Any:
        return value.data if isinstance(value, Constant) else known[value]

    for node in graph.nodes:
        found = node.op.evaluate(*map(data, node.operands), **node.params)
        known.update(zip(node.results, found if len(node.results) > 1 else (found,), strict=True))
    return [data(value) for value in graph.outputs]


LOOP: Op = _Loop(name="loop", infer=_results, statements=lambda *types, **params: (), cost=_cost)
OPS["loop"] = LOOP
STACK_ROW = defop(
    name="stack_row",
    infer=lambda value, number: WEAK_TYPES[bool],
    vjp=(),
    source="{0}",
    effect=True,
)
