"""Control flow in a graph: a loop or a choice is one node, which owns its bodies.

loop(*invariants, *initial, *sliced, body=step, invariants=2, carried=1, length=9, reverse=False)
runs its body `length` times. The body takes the invariants, the carried values, one element of each
sliced array and the number of the step; it returns the next carried values, and what is stacked.
The results of the node are the last carried values, then the stacked arrays. In reverse, the steps
run from the last to the first: element t of a sliced and of a stacked array belongs to step t.
Where `length` is None, the last operand is the number of steps; what is sliced and stacked then are
lists. With checkpoint=True nothing is stacked for a derivative but what each step begins with.
Where sizes in the body differ from step to step, `size` is the number of their symbol, which stands
for the number of the step (`ir/step_sizes.py`). What is stacked of such values are lists, too.

while(*invariants, *initial, body=step, condition=test, invariants=2, carried=1) runs its body as
long as its condition is true. Both take what the body of a loop takes, with nothing sliced. What is
stacked is stacked in lists.

condition(choice, *read, bodies=(first, second)) runs one of its bodies, which all take what any of
them reads, and return results of the same types. A choice that is a truth value takes the first if
it is true, else the second. A choice that is an integer takes the body of that number: the first
for negative numbers, the last for those that are too large.

stack_row(value, number=k) is in the schedule of a body alone: it writes a row of the array that the
loop stacks in place k.

add_rows(x, y) adds two lists row by row; zero_rows(x) are the negative zeros that such a sum begins
with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.step_sizes import at_step, params_at
from tracejit.ir.subgraph import Subgraph
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.base.op import OPS, Op, defop
from tracejit.support.errors import fail


class LoopParts(NamedTuple):
    """The operands of a loop, or the inputs of its body, by what they are for."""

    invariants: Sequence[Value]
    carried: Sequence[Value]
    sliced: Sequence[Value]


def loop_operands(node: Node) -> LoopParts:
    """The operands of a loop: invariants, initial values and sliced arrays."""
    return parts_of(node.operands[: len(node.params["body"].inputs) - 1], node)


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


def _element_like(type: ArrayType, taken: ArrayType) -> ArrayType:
    """The type of an element of what is sliced, which a body takes as a value of type `taken`: a
    list holds numbers and 0-d arrays alike."""
    if type.form == "list":
        return type.with_form(taken.form)
    element = element_type(type)
    return element.with_form(taken.form) if not element.shape else element


def stacked_type(type: ArrayType, length: int | None) -> ArrayType:
    """The type of what stacks values of `type`: an array, or a list where their number is not
    known."""
    if length is None or type.sizes is not None:
        return type.with_form("list")
    return ArrayType((length, *type.shape), type.dtype)


def _steps(
    *types: ArrayType,
    body: Subgraph,
    invariants: int,
    carried: int,
    length: int | None = None,
    **params: Any,
) -> tuple[ArrayType, ...]:
    made = body.output_types
    first = invariants + carried
    sliced = types[first : len(body.inputs) - 1]
    taken = [value.type for value in body.inputs[:-1]]
    given = [
        *types[:first],
        *[_element_like(*pair) for pair in zip(sliced, taken[first:], strict=True)],
    ]
    if taken != given or made[:carried] != given[invariants:first]:
        problem = f"{body.name}: a body from {taken} to {made} does not fit operands {[*types]}"
        raise fail("graph", None, problem=problem)
    return (*made[:carried], *(stacked_type(type, length) for type in made[carried:]))


def _side(*types: ArrayType, bodies: Sequence[Subgraph]) -> tuple[ArrayType, ...]:
    made = bodies[0].output_types
    for body in bodies:
        taken = [value.type for value in body.inputs]
        if taken != [*types[1:]] or body.output_types != made:
            problem = f"{body.name}: a side from {taken} to {body.output_types} does not fit"
            raise fail("graph", None, problem=problem)
    return tuple(made)


def cost_of(body: Subgraph) -> int:
    """The cost of a body that runs once."""
    return sum(n.op.cost(*[v.type for v in n.operands], **n.params) for n in body.nodes)


class ControlFlow(Op):
    """The record of an op that owns bodies: it has no spelling of one line, and is computed by
    running them.

    Where a body has an effect, the op is the one `with_effect`.
    """

    __slots__ = ()

    def template(self, operands: Sequence[ArrayType], params: Mapping[str, Any]) -> str:
        """Nothing: `targets/numpy/text/loop_text.py` writes the statements."""
        return ""

    def computation(
        self, operands: Sequence[ArrayType], params: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """The function that runs the bodies."""
        return partial(self.evaluate, **params)


class Loop(ControlFlow):
    """A loop of a known number of steps."""

    __slots__ = ()

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        """The results for arrays and numbers."""
        first, carried = params["invariants"], params["carried"]
        body: Subgraph = params["body"]
        fixed, state = operands[:first], operands[first : first + carried]
        sliced = operands[first + carried : len(body.inputs) - 1]
        rows = body.inputs[first + carried : -1]
        is_known = params["length"] is not None
        steps = range(params["length"] if is_known else operands[-1])
        stacks = [
            np.empty((len(steps), *type.shape), type.dtype)
            if is_known and type.sizes is None
            else [None] * len(steps)
            for type in body.output_types[carried:]
        ]
        for t in reversed(steps) if params["reverse"] else steps:
            elements = [_element(x, t, value.type) for x, value in zip(sliced, rows, strict=True)]
            found = run(body.now, [*fixed, *state, *elements, t], params.get("size"))
            state = tuple(found[:carried])
            for whole, row in zip(stacks, found[carried:], strict=True):
                whole[t] = row
        return _several([*state, *stacks])


def _element(whole: Any, t: int, type: ArrayType) -> Any:
    """An element of an array or list; a number of Python's where that was stacked."""
    element = whole[t]
    return element.item() if type.form == "weak" and isinstance(whole, np.ndarray) else element


class While(ControlFlow):
    """A loop that runs as long as a condition holds."""

    __slots__ = ()

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        """The results for arrays and numbers."""
        first, carried = params["invariants"], params["carried"]
        body, condition = params["body"], params["condition"]
        fixed, state = operands[:first], operands[first:]
        stacks: list[list[Any]] = [[] for _ in body.output_types[carried:]]
        for t in count():
            arguments = [*fixed, *state, t]
            if not run(condition.now, arguments)[0]:
                break
            found = run(body.now, arguments)
            state = tuple(found[:carried])
            for rows, row in zip(stacks, found[carried:], strict=True):
                rows.append(row)
        return _several([*state, *stacks])


class Condition(ControlFlow):
    """A choice between bodies."""

    __slots__ = ()

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        """The results for arrays and numbers."""
        bodies = params["bodies"]
        return _several(run(bodies[chosen(operands[0], len(bodies))].now, operands[1:]))


def chosen(choice: Any, number: int) -> int:
    """The number of the side, of so many, that a truth value or an integer takes."""
    if np.asarray(choice).dtype.kind == "b":
        return 0 if choice else 1
    return min(max(int(choice), 0), number - 1)


def _several(results: Sequence[Any]) -> Any:
    """The results of a node, alone where there is one."""
    return results[0] if len(results) == 1 else tuple(results)


def run(graph: Graph | Subgraph, arguments: Sequence[Any], size: int | None = None) -> list[Any]:
    """The outputs of a graph for arguments, node by node. The last argument is the number that the
    symbol `size` stands for, if there is one."""
    known = dict(zip(graph.inputs, arguments, strict=True))
    if size is not None:
        at_step(graph, size, arguments[-1])

    def data(value: Value) -> Any:
        return value.data if isinstance(value, Constant) else known[value]

    for node in graph.nodes:
        params = params_at(node, graph)
        found = node.op.evaluate(*map(data, node.operands), **params)
        known.update(zip(node.results, found if len(node.results) > 1 else (found,), strict=True))
    return [data(value) for value in graph.outputs]


def _no_lines(*types: ArrayType, **params: Any) -> tuple[str, ...]:
    """No statements of templates; that there are any makes it a statement of its own."""
    return ()


def _made(kind: type[ControlFlow], **fields: Any) -> tuple[ControlFlow, ControlFlow]:
    """The op, and the one with an effect."""
    return kind(statements=_no_lines, **fields), kind(statements=_no_lines, effect=True, **fields)


LOOP, _LOOP_WITH_EFFECT = _made(
    Loop,
    name="loop",
    infer=_steps,
    cost=lambda *types, body, length, **params: cost_of(body) * (1 if length is None else length),
)
WHILE, _WHILE_WITH_EFFECT = _made(
    While, name="while", infer=_steps, cost=lambda *types, body, **params: cost_of(body)
)
COND, _COND_WITH_EFFECT = _made(
    Condition,
    name="condition",
    infer=_side,
    cost=lambda *types, bodies: max(map(cost_of, bodies)),
)
OPS.update(loop=LOOP, condition=COND)
OPS["while"] = WHILE
WITH_EFFECT: Mapping[Op, Op] = {
    LOOP: _LOOP_WITH_EFFECT,
    WHILE: _WHILE_WITH_EFFECT,
    COND: _COND_WITH_EFFECT,
}


LOOPS = frozenset((LOOP.name, WHILE.name))
OWNERS = {*LOOPS, COND.name}
"""The names of the ops that repeat a body, and of all that own bodies."""


def op_for(op: Op, nodes: Iterable[Node]) -> Op:
    """The op that owns bodies of these `nodes`: with an effect if one of them has one."""
    return WITH_EFFECT[op] if any(node.op.effect for node in nodes) else op


def is_loop(node: Node) -> bool:
    """Return whether a node repeats a body."""
    return isinstance(node.op, (Loop, While))


def is_counted(node: Node | None) -> TypeGuard[Node]:
    """Return whether a node repeats a body as often as is known."""
    return node is not None and isinstance(node.op, Loop) and node.params["length"] is not None


def is_checkpoint(node: Node) -> bool:
    """Return whether a loop keeps nothing for its derivative but what each step began with."""
    return bool(node.params.get("checkpoint"))


def is_condition(node: Node) -> bool:
    """Return whether a node chooses between bodies."""
    return isinstance(node.op, Condition)


STACK_ROW = defop(
    name="stack_row",
    infer=lambda value, number: WEAK_TYPES[bool],
    vjp=(),
    source="{0}",
    effect=True,
)
ADD_ROWS: Op = defop(
    name="add_rows",
    infer=lambda x, y: x,
    vjp=(lambda g, out, x, y: g, lambda g, out, x, y: g),
    jvp=(lambda v, out, x, y: v, lambda v, out, x, y: v),
    batch=lambda moved, x, y: ADD_ROWS(x, y),
    source="[a + b for a, b in zip({0}, {1})]",
)
ZERO_ROWS: Op = defop(
    name="zero_rows",
    infer=lambda x: x,
    vjp=(),
    batch=lambda moved, x: ZERO_ROWS(x),
    source="[-np.zeros_like(row) for row in {0}]",
)
