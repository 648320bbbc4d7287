"""Verifier: the invariants of a graph, checked after every pass in tests and with
TRACEJIT_VERIFY=1.

- every operand is an input, a constant or the result of an earlier node of the same graph;
- every result has the type that its op infers from its operands and parameters;
- names, where assigned, are unique; outputs are values of the graph;
- the same holds of the bodies that nodes own. That their inputs and outputs have the types of
  operands and results is the affair of the op, which infers types from them.

`check_steps` is for a whole graph, not for a body alone, and is always called before it is written:
a size that differs from step to step is of a loop around.
"""

from __future__ import annotations

from tracejit.ir.dims import dims_in
from tracejit.ir.graph import Constant, Graph, Value
from tracejit.ir.step_sizes import StepSizes
from tracejit.ir.subgraph import bodies_of
from tracejit.support.errors import fail


def verify(graph: Graph) -> Graph:
    """`graph` itself, if it satisfies every invariant; else GraphError names the node."""
    known: set[Value] = set(graph.inputs)
    for position, node in enumerate(graph.nodes):
        place = f"{graph.name}: node {position} ({node.op.name})"
        for operand in node.operands:
            if operand not in known and not isinstance(operand, Constant):
                raise fail("graph", None, problem=f"{place} uses {operand!r} before it is made")
        expected = node.op.result_types([v.type for v in node.operands], node.params)
        actual = tuple(value.type for value in node.results)
        if expected != actual:
            raise fail("graph", None, problem=f"{place} has types {actual}, infer says {expected}")
        known.update(node.results)
        for _, body in bodies_of(node):
            verify(body.graph)
    for output in graph.outputs:
        if output not in known and not isinstance(output, Constant):
            raise fail(
                "graph", None, problem=f"{graph.name}: output {output!r} is not in the graph"
            )
    names = [value.name for value in graph.values() if value.name]
    if len(names) != len(set(names)):
        raise fail("graph", None, problem=f"{graph.name}: two values share a name")
    return graph


def check_steps(graph: Graph, steps: frozenset[int] = frozenset()) -> None:
    """Raise where a node has a size that differs from step to step, but is in no loop of these
    `steps`: its text would be that of one step."""
    if type(graph.sizes) is not StepSizes:
        return
    for node in graph.nodes:
        shapes = [value.type.shape for value in node.results if value.type.form != "list"]
        dims = [dim for part in (*node.params.values(), *shapes) for dim in dims_in(part)]
        keys = [one for dim in dims if type(dim.sizes) is StepSizes for one, _ in dim.key]
        if not steps.issuperset(index for one in keys for index in one):
            raise fail("graph", None, problem=f"{graph.name}: {node!r} is outside of its loop")
        size = node.params.get("size")
        inner = steps | {size} if type(size) is int else steps
        for _, body in bodies_of(node):
            check_steps(body.graph, inner)
