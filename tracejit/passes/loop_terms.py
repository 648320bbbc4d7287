"""Terms of sums in the body of a loop: those that are known before the loop are added up first.

In `w @ h + u @ x + b` only `w @ h` waits for the step before. With the other terms in one sum,
fission computes that sum for all steps.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph step(h: f8[3], x: f8[3], b: f8[3]) -> z: f8[3]
...   y  f8[3] = add h x
...   z  f8[3] = add y b
... ''', OPS)
>>> print(print_graph(gather_terms(graph, lambda value: value.name in "xb")), end="")
graph step(h: f8[3], x: f8[3], b: f8[3]) -> z: f8[3]
  z_1  f8[3] = add x b
  z    f8[3] = add h z_1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tracejit.ir.graph import Graph, Node, Value, replace_values
from tracejit.ops.arithmetic import add
from tracejit.passes.dce import drop_dead
from tracejit.passes.emission import emit, readers_of
from tracejit.passes.loop_products import flattened, partial_sums
from tracejit.passes.rebuild import rebuild


def gather_terms(body: Graph, is_there: Callable[[Value], bool]) -> Graph:
    """`body` with the terms of a sum that are there before the loop in one sum, and the others in
    another."""
    partial = partial_sums(body, readers_of(body))
    within = {value for node in partial for value in node.results}
    split = {
        node: terms
        for node in body.nodes
        if node.op is add and node not in partial and not within.isdisjoint(node.operands)
        for terms in [_split(flattened(node.operands, within), is_there)]
        if terms is not None
    }
    if not split:
        return body
    known: dict[Value, Value] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        def added(one: Value, other: Value) -> Value:
            return emit(new, node, add, (one, other))

        known.update(zip(node.operands, operands, strict=True))
        results: Sequence[Value] = new.take(node, operands).results
        if node in split:
            sums = [reduce(added, replace_values(terms, known)) for terms in split[node]]
            results = (added(*sums),)
        known.update(zip(node.results, results, strict=True))
        return results

    return drop_dead(rebuild(body, rewrite))


def _split(
    terms: Sequence[Value], is_there: Callable[[Value], bool]
) -> tuple[Sequence[Value], Sequence[Value]] | None:
    """The terms that wait for a step, and those that are there; None where there is nothing to
    gather."""
    there = [value for value in terms if is_there(value)]
    waiting = [value for value in terms if not is_there(value)]
    return (waiting, there) if len(there) > 1 and waiting else None
