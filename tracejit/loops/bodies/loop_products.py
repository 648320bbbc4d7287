"""Loop fission: add up what the steps of an unrolled loop add to a sum for all steps at once.

A sum over steps of products `a.T @ b` is one product of the `a` and the `b` of all steps,
concatenated by rows, and a sum of products `a @ b.T` is one of those side by side; a sum over steps
of column sums is the sums of the columns of all. This applies to steps so small that calls cost
more than arithmetic, never to steps so large that holding all at once would cost memory.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> from tracejit.support.cost_model import assuming
>>> graph = parse_graph('''graph f(x: f8[3,4], y: f8[2,4], w: f8[4]) -> z: f8[4]
...   a  f8[4] = sum x  axis=(0,)
...   b  f8[4] = sum y  axis=(0,)
...   c  f8[4] = add a b
...   z  f8[4] = add c w
... ''', OPS)
>>> with assuming(least_steps=2):
...     print(print_graph(drop_dead(join_sums(graph))), end="")
graph f(x: f8[3,4], y: f8[2,4], w: f8[4]) -> z: f8[4]
  z_1  f8[5,4] = concatenate y x  axis=0
  z_2  f8[4]   = sum z_1  axis=(0,)
  z    f8[4]   = add z_2 w
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ops.base.op import OPS
from tracejit.ops.elementwise.arithmetic import add
from tracejit.ops.indexing.indexing import FULL, getitem
from tracejit.ops.reductions import reductions
from tracejit.passes.framework.emission import emit, made_by, readers_of
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs

SUMMANDS = frozenset(
    name for name, op in OPS.items() if op.product in ("outer", "matrices") or op is reductions.sum
)
"""What a step adds to a sum over all steps."""


class LoopStep(NamedTuple):
    """Number `number` of the parts of `whole` along `axis`, which is 0 or 1."""

    whole: Value
    axis: int
    number: int


def step_of(value: Value) -> LoopStep | None:
    """`value` as one of the steps of an array: x[3] or x[:, 3]."""
    node = value.node
    if node is None or node.op is not getitem or len(node.operands) > 1:
        return None
    match node.params["index"]:
        case (int(number),):
            axis = 0
        case (first, int(number)) if first == FULL:
            axis = 1
        case _:
            return None
    whole = node.operands[0]
    if whole.type.sizes is not None:
        return None
    return LoopStep(whole, axis, number % whole.type.shape[axis])


def steps_first(graph: Graph, like: Node, step: LoopStep) -> Value:
    """All steps of the array that `step` is one of, along the first axis."""
    if step.axis == 0:
        return step.whole
    rest = range(2, step.whole.type.ndim)
    return emit(graph, like, "transpose", (step.whole,), axes=(1, 0, *rest))


def steps_from(graph: Graph, like: Node, step: LoopStep, count: int) -> Value:
    """`count` steps of an array from `step` on, along the first axis."""
    whole = steps_first(graph, like, step)
    if count == whole.type.shape[0]:
        return whole
    index = (("slice", step.number, step.number + count, None),)
    return emit(graph, like, "getitem", (whole,), index=index)


def bytes_of(*values: Value) -> int:
    """The memory that arrays take."""
    return sum(value.type.size * value.type.dtype.itemsize for value in values)


def _is_small(node: Node) -> bool:
    """Return whether calls weigh more than arithmetic in a product or sum of floating-point
    arrays."""
    types = [value.type for value in (*node.operands, *node.results)]
    if any(type.sizes is not None or type.dtype.kind != "f" for type in types):
        return False
    if len({type.dtype for type in types}) > 1:
        return False
    work = node.op.cost(*types[: len(node.operands)], **node.params)
    return bool(work <= costs().step_operations)


class LoopTerm(NamedTuple):
    """The term that one step adds to a sum: `left.T @ right`, or along axis 1 `left @ right.T`;
    without `left` the column sums of `right`."""

    left: Value | None
    right: Value
    axis: int = 0


def join_sums(graph: Graph) -> Graph:
    """`graph` with sums over steps of small products, or of column sums, as one for all steps.

    What the steps add up is kept to the last: not where the user has something computed again so
    that less is kept.
    """
    summands = sum([node.op.name in SUMMANDS for node in graph.nodes])
    if summands < costs().least_steps or any([node.region for node in graph.nodes]):
        return graph
    uses = readers_of(graph)
    partial = partial_sums(graph, uses)
    if not partial:
        return graph
    once: set[Value] = set()
    within: set[Value] = set()

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node.op is add and node not in partial and not within.isdisjoint(operands):
            terms = flattened(operands, within)
            sums = _joined_sum(new, node, [v for v in terms if v in once])
            if sums is not None:
                total, done = sums
                for value in terms:
                    if value not in done:
                        total = emit(new, node, "add", (total, value))
                return (total,)
        results = new.take(node, operands).results
        if len(results) == 1 and uses[node.results[0]] == 1:
            once.update(results)
            within.update(results if node in partial else ())
        return results

    return rebuild(graph, rewrite)


def partial_sums(graph: Graph, uses: Counter[Value]) -> set[Node]:
    """The sums of two arrays of one type that nothing reads but another such sum."""
    sums = {
        node
        for node in graph.nodes
        if node.op is add
        and all(
            value.type is node.results[0].type or isinstance(value, Constant)
            for value in node.operands
        )
    }
    return {
        value.node
        for node in sums
        for value in node.operands
        if value.node in sums and uses[value] == 1 and value.node.region == node.region
    }


def flattened(operands: Sequence[Value], within: set[Value]) -> list[Value]:
    """The terms of a sum whose partial sums are `within`, in the order of addition."""
    terms: list[Value] = []
    left = list(operands[::-1])
    while left:
        value = left.pop()
        if value in within and value.node is not None:
            left += value.node.operands[::-1]
        else:
            terms.append(value)
    return terms


def _joined_sum(
    graph: Graph, like: Node, values: Sequence[Value]
) -> tuple[Value, set[Value]] | None:
    """The sum of those of `values` that are small products of the same kind, made at once, and
    which these are. The reverse pass adds what the last step gives first."""
    groups: dict[Hashable, dict[Value, LoopTerm]] = {}
    for value in reversed(values):
        term = _term(value, like.region)
        if term is not None:
            kind = term.left is None, term.right.type.ndim, term.axis
            groups.setdefault(kind, {})[value] = term
    found = max(groups.values(), key=len, default={})
    parts = [part for term in found.values() for part in term[:2] if part is not None]
    if len(found) < costs().least_steps or bytes_of(*parts) > costs().joined_bytes:
        return None
    rights = [term.right for term in found.values()]
    lefts = [term.left for term in found.values() if term.left is not None]
    if next(iter(found.values())).axis == 1:
        left, right = [emit(graph, like, "concatenate", (*one,), axis=1) for one in (lefts, rights)]
        right = emit(graph, like, "transpose", (right,), axes=(1, 0))
        return emit(graph, like, "matmul", (left, right)), set(found)
    right = joined(graph, like, rights)
    if not lefts:
        return emit(graph, like, "sum", (right,), axis=(0,)), set(found)
    left = emit(graph, like, "transpose", (joined(graph, like, lefts),), axes=(1, 0))
    return emit(graph, like, "matmul", (left, right)), set(found)


def _term(value: Value, region: int) -> LoopTerm | None:
    """A value as what one step adds."""
    node = value.node
    if node is None or node.region != region or not _is_small(node):
        return None
    if node.op.product == "outer":
        left, right = node.operands
        return LoopTerm(left, right)
    if node.op is reductions.sum:
        (value,) = node.operands
        is_of_columns = node.params == {"axis": (0,)} and value.type.ndim == 2
        return LoopTerm(None, value) if is_of_columns else None
    if node.op.product == "matrices" and node.operands[1].type.ndim == value.type.ndim == 2:
        left, right = node.operands
        turned = made_by(left, "transpose")
        if turned is not None:
            return LoopTerm(turned.operands[0], right)
        turned = made_by(right, "transpose")
        most = costs().copied_for_one * value.type.size
        if turned is not None and left.type.size + right.type.size <= most:
            return LoopTerm(left, turned.operands[0], axis=1)
    return None


def joined(graph: Graph, like: Node, values: Sequence[Value]) -> Value:
    """Matrices on top of each other, or vectors as the rows of one."""
    parts = [step_of(value) for value in values]
    first = parts[0]
    if first is not None:
        numbers = range(first.number, first.number + len(parts))
        if parts == [first._replace(number=number) for number in numbers]:
            whole = steps_from(graph, like, first, len(parts))
            *outer, size = whole.type.shape
            return emit(graph, like, "reshape", (whole,), shape=(math.prod(outer), size))
    name = "stack" if values[0].type.ndim == 1 else "concatenate"
    return emit(graph, like, name, tuple(values), axis=0)
