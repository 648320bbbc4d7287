"""The reference for everything that runs a graph: one node after the other, each by NumPy.

`record` makes the graph of a call, `interpret` evaluates it. No pass, no schedule and no generated
code has a part in either, so what they answer is what the others must answer too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.types import type_of
from tracejit.trace.recording.record import Recording
from tracejit.trace.structure.trees import Structure, flatten, unflatten
from tracejit.trace.tensor.tensor import Tensor

Observer = Callable[[Node, list[Any], tuple[Any, ...]], None]


def interpret(graph: Graph, *inputs: Any, observe: Observer | None = None) -> list[Any]:
    """The outputs of `graph` for `inputs`; `observe` sees every node with its operands and results.

    Fails where an input or a node's result is not of the type that the graph says.
    """
    known: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    for value, given in known.items():
        assert type_of(given) is value.type, f"{value!r} cannot be {type_of(given)!r}"

    def data(value: Value) -> Any:
        return value.data if isinstance(value, Constant) else known[value]

    for node, compute in zip(graph.nodes, _computations(graph), strict=True):
        operands = [data(operand) for operand in node.operands]
        answer = compute(*operands)
        results = (answer,) if len(node.results) == 1 else tuple(answer)
        for value, result in zip(node.results, results, strict=True):
            found = value.type if type(result) is list else type_of(result)
            assert found is value.type, f"{node!r}: infer says {value.type!r}, NumPy {found!r}"
            known[value] = result
        if observe is not None:
            observe(node, operands, results)
    return [data(output) for output in graph.outputs]


_known: WeakKeyDictionary[Graph, tuple[list[Node], list[Callable[..., Any]]]] = WeakKeyDictionary()


def _computations(graph: Graph) -> list[Callable[..., Any]]:
    """The function that computes each node by NumPy, looked up once for all runs of a graph."""
    known = _known.get(graph)
    if known is None or known[0] != graph.nodes:
        found = [
            node.op.computation([operand.type for operand in node.operands], node.params)
            for node in graph.nodes
        ]
        _known[graph] = known = list(graph.nodes), found
    return known[1]


class Run(NamedTuple):
    """A call under the recorder, still open: its inputs, and its result taken apart."""

    recording: Recording
    inputs: list[Tensor]
    leaves: list[Any]
    structure: Structure

    @property
    def tensors(self) -> list[Tensor]:
        """The leaves of the result that were recorded."""
        return [leaf for leaf in self.leaves if isinstance(leaf, Tensor)]

    def finish(self, *extra: Tensor | None) -> Graph:
        """The graph with the leaves of the result as outputs, then `extra` but for what is None."""
        outputs = [self.recording.lift(leaf) for leaf in self.leaves]
        outputs += [tensor._value for tensor in extra if tensor is not None]
        return self.recording.finish(outputs)


def is_input(leaf: Any) -> bool:
    """Whether an argument's leaf becomes an input; bools and all that is no number stay as they
    are."""
    return type(leaf) is not bool and type_of(leaf) is not None


def run(call: Callable[..., Any], *args: Any, name: str = "") -> Run:
    """`call` on Tensors in place of the arrays and numbers in `args`; Python numbers are weak
    inputs."""
    recording = Recording(name or call.__name__.strip("<>"))
    names = _names(call, len(args))
    inputs: list[Tensor] = []
    replaced = []
    for argument, value in zip(names, args, strict=True):
        leaves, structure = flatten(value)
        for number, leaf in enumerate(leaves):
            if is_input(leaf):
                label = argument if structure.cls is None else f"{argument}_{number}"
                kind = type_of(leaf)
                assert kind is not None
                leaves[number] = recording.argument(label, kind, leaf)
                inputs.append(leaves[number])
        replaced.append(unflatten(structure, leaves))
    try:
        # No name for the result: a recording takes note of the names in all functions that run.
        with recording:
            return Run(recording, inputs, *flatten(call(*replaced)))
    except BaseException:
        recording.abandon()
        raise


def record(call: Callable[..., Any], *args: Any, name: str = "") -> tuple[Graph, Structure]:
    """The graph of `call` for arguments of the types of `args`, and how its outputs make up the
    result.

    `unflatten(structure, interpret(graph, *inputs))` is what the call returns; the inputs are the
    arrays and numbers in `args`, in order.
    """
    started = run(call, *args, name=name)
    return started.finish(), started.structure


def _names(call: Callable[..., Any], count: int) -> list[str]:
    """The names of the first `count` positional parameters, numbered names beyond."""
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (ValueError, TypeError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in parameters if parameter.kind in kinds][:count]
    return names + [f"argument_{number}" for number in range(len(names), count)]
