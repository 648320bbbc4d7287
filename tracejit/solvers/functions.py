"""Functions of the user's that a routine calls: recorded once, each by itself.

A function is recorded on placeholders for what the routine hands it, in the open among the nodes of
the recording. Its derivatives are recorded on the same placeholders, from the same nodes. Then all
nodes are taken out, and belong to the bodies of the node that calls the routine.

The derivative of that node computes functions in the open again (`inlined`), for values in the
place of placeholders: a residual at the solution, say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from tracejit.autodiff.batch.batch import Batch
from tracejit.autodiff.request.request import cotangents_of, tangents_of
from tracejit.ir.graph import Constant, Node, Value, replace_values
from tracejit.ir.location import NOWHERE
from tracejit.ir.subgraph import Subgraph, bodies_of, needed_for, opened_params, values_around
from tracejit.ir.types import ArrayType
from tracejit.ops.base.creation import as_array, cast, directions
from tracejit.ops.control.marker_ops import FIXED_RULES, IDENTITY, OVERRIDE, Marker
from tracejit.ops.control.routines import Routine
from tracejit.support.errors import fail
from tracejit.support.words import identifier
from tracejit.trace.control_flow.loops import inside_body, placeholder, results_of, take_out
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.variable import read_leaf
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import TENSORS, Tensor

FLOAT = np.dtype("f8")
INTEGER = np.dtype("i8")
NUMBER = ArrayType((), FLOAT, "weak")
"""A Python float."""
SCALAR = ArrayType((), FLOAT, "scalar")
"""A float64 of NumPy's."""
MOST_FOLDED = 20
"""The most operations that a start may be made of and be treated as a constant."""


class Plain(BaseException):
    """Nothing that is recorded has a part in a call. No `except` of the user's is meant."""


class Function:
    """A function that is being recorded on placeholders: `nodes` and `outputs` grow."""

    def __init__(
        self, recording: Recording, name: str, parameters: Mapping[str, ArrayType]
    ) -> None:
        """A function `name` of these parameters, of which nothing is recorded yet."""
        self.recording = recording
        self.name = identifier(name)
        self.inputs = [placeholder(recording, type, label) for label, type in parameters.items()]
        self.nodes: list[Node] = []
        self.around: list[Value] | None = None

    def extended(self, parameters: Mapping[str, ArrayType]) -> Function:
        """The function of these parameters, too, with all that is recorded."""
        made = copy(self)
        more = [placeholder(self.recording, type, label) for label, type in parameters.items()]
        made.inputs, made.nodes = [*self.inputs, *more], list(self.nodes)
        return made

    def record(self, compute: Callable[[], Sequence[Any]]) -> list[Any]:
        """The results of `compute`, which may read the placeholders, and all that was recorded on
        them before."""
        start = len(self.recording.graph.nodes)
        results = list(compute())
        inputs = [x._value for x in self.inputs]
        made = [value for node in self.nodes for value in node.results]
        self.nodes += take_out(self.recording, start, [*inputs, *made])
        if self.around is None:  # the user's function comes first
            outputs = list(map(self.recording.lift, results))
            self.around = values_around(self.nodes, outputs, inputs)
        return results

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of the user's function for the placeholders and further arguments."""
        with inside_body(self.recording, function):
            return read_leaf(function(*self.inputs, *args))

    def body(self, outputs: Sequence[Any], suffix: str = "") -> Body:
        """A body of this function that returns some of what was recorded."""
        values = [self.recording.lift(output) for output in outputs]
        inputs = [x._value for x in self.inputs]
        return Body(self.name + suffix, inputs, needed_for(values, self.nodes, inputs), values)


class Body:
    """A function with what it returns: what a Subgraph is made of."""

    def __init__(
        self, name: str, inputs: Sequence[Value], nodes: Sequence[Node], outputs: Sequence[Value]
    ) -> None:
        """The nodes compute the outputs from the inputs."""
        self.name, self.inputs, self.nodes, self.outputs = name, inputs, nodes, outputs

    def around(self) -> list[Value]:
        """The values from around it that it reads."""
        return values_around(self.nodes, self.outputs, self.inputs)


def role(function: Any, otherwise: str) -> str:
    """The name of the user's function; of one that has none, what it is for the routine."""
    name = getattr(function, "__name__", otherwise)
    return name if name.isidentifier() else otherwise


def in_numbers(tensor: Any) -> Any:
    """The array that a Tensor stands for, if it is made of constants alone; else the Tensor."""
    if type(tensor) not in TENSORS:
        return tensor
    nodes: list[Node] = []
    waiting = [tensor._value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Constant):
            continue
        node = value.node
        if node is None or not _is_folded(node) or len(nodes) == MOST_FOLDED:
            return tensor
        nodes.append(node)
        waiting += node.operands
    known: dict[Value, Any] = {}
    for node in reversed(nodes):
        operands = [v.data if isinstance(v, Constant) else known[v] for v in node.operands]
        found = node.op.evaluate(*operands, **node.params)
        known.update(zip(node.results, found if len(node.results) > 1 else (found,), strict=True))
    value = tensor._value
    return value.data if isinstance(value, Constant) else known[value]


def _is_folded(node: Node) -> bool:
    """Return whether a node may be computed while recording: nothing is differentiated by it."""
    return not (node.op.effect or node.op in (IDENTITY, OVERRIDE) or any(bodies_of(node)))


def solution_of(body: Body, *solution: Any) -> list[Any]:
    """The outputs of a function at the result of a routine."""
    known = dict(zip(body.inputs, solution, strict=True))
    return inlined(solution[0]._recording, body.nodes, body.outputs, known)


def call_routine(
    function: Function,
    op: Routine,
    bodies: Mapping[str, Body],
    given: Sequence[Any],
    **options: Any,
) -> list[Any]:
    """The results of a routine that calls a function and its derivatives, which are `bodies` by
    the names that it has for them.

    Raises Plain if nothing that is recorded has a part in it.
    """
    plain_unless_recorded(function.around or (), given)
    return emit_routine(function.recording, op, bodies, given, **options)


def plain_unless_recorded(around: Sequence[Value], given: Sequence[Any]) -> None:
    """Raise Plain if all that functions read from around them, and all that is given, is known."""
    is_fixed = all(isinstance(value, Constant) for value in around)
    if is_fixed and not any(type(one) in TENSORS for one in given):
        raise Plain


def emit_routine(
    recording: Recording,
    op: Routine,
    bodies: Mapping[str, Body],
    given: Sequence[Any],
    first: Sequence[Any] = (),
    **options: Any,
) -> list[Any]:
    """The results of a routine, whatever it depends on. The invariants begin with the Tensors
    `first`."""
    for body in bodies.values():
        effect = next((node for node in body.nodes if node.op.effect), None)
        if effect is not None:
            problem = f"it draws random numbers or has another effect in {body.name}"
            words = {
                "function": op.name,
                "problem": problem,
                "fix": "draw the numbers outside of it.",
            }
            raise fail("unsupported-call", recording.here(), **words)
    around = list(dict.fromkeys([*[x._value for x in first], *_around(bodies)]))
    subgraphs = {
        name: Subgraph(
            recording.graph, body.name, [*around, *body.inputs], body.nodes, body.outputs
        )
        for name, body in bodies.items()
    }
    fixed = [Tensor(value, recording) for value in around]
    found = op(*fixed, *given, **subgraphs, invariants=len(around), **options)
    return results_of(found)


def _around(bodies: Mapping[str, Body]) -> list[Value]:
    """The values from around functions that these read."""
    return list(dict.fromkeys(value for body in bodies.values() for value in body.around()))


def inlined(
    recording: Recording,
    nodes: Sequence[Node],
    outputs: Sequence[Value],
    known: Mapping[Value, Any],
) -> list[Any]:
    """The outputs of nodes that were taken out, computed here for Tensors in place of values."""
    values = {value: recording.lift(x) for value, x in known.items()}
    for node in needed_for(outputs, nodes, list(values)):
        operands = replace_values(node.operands, values)
        params = opened_params(recording.graph, node.params, operands)
        if node.op is OVERRIDE and params["grad"].rule not in FIXED_RULES:
            params = {**params, "grad": _rule_at(recording, params["grad"], values)}
        with recording.at(node.where or NOWHERE):
            made = recording.record(node.op, [Tensor(v, recording) for v in operands], params)
        for old, result in zip(node.results, results_of(made), strict=True):
            values[old] = result._value
            if result._value.node is not None and not result._value.is_named:
                result._value.take_name(old)
    return [Tensor(values.get(value, value), recording) for value in outputs]


def _rule_at(recording: Recording, marker: Marker, values: Mapping[Value, Value]) -> Marker:
    """The marker of a copied node, whose rule reads what stands in the place of values."""

    def rule(*cotangents: Any) -> Any:
        with recording.substituting({**recording.substitutes, **values}):
            return marker.rule(*cotangents)

    return replace(marker, rule=rule)


# Derivatives of functions, recorded on their placeholders


def gradient(y: Any, x: Any, nodes: Sequence[Node]) -> Any:
    """The gradient of a number by x."""
    recording = y._recording
    with recording.at(NOWHERE):
        one = Tensor(recording.lift(y.dtype.type(1)), recording)
        return cotangents_of([y], [x], [one], nodes)[0]


def jacobian(y: Any, x: Any, nodes: Sequence[Node]) -> Any:
    """The matrix of the derivatives of a vector by a vector, or the derivative of a number by a
    number."""
    recording = y._recording
    with recording.at(NOWHERE):
        if not x.shape:
            one = Tensor(recording.lift(x.dtype.type(1)), recording)
            return tangents_of([y], [x], [one], nodes)[0]
        size = x.shape[0]
        params = {"shape": x.shape, "dtype": x.dtype, "start": 0, "stop": size}
        units = recording.record(directions, (), params)
        batch = Batch(recording, size)
        with batch.recorded():
            (dot,) = tangents_of([y], [x], [batch.placeholder(units)], nodes)
        return np.transpose(batch.everywhere(dot))


# Arguments as SciPy takes them


def vector(value: Any) -> Any:
    """A vector of float64, as `np.atleast_1d(value)`."""
    value = floats(value)
    return value if value.ndim == 1 else np.reshape(value, -1)


def floats(value: Any) -> Any:
    """An array or number of float64; complex numbers are refused."""
    value = as_array(value)
    if np.result_type(value).kind == "c":
        solver = places.called()[0] or "a solver of SciPy's"
        fix = "solve for the real and the imaginary parts, as real unknowns."
        words = {"function": solver, "problem": "it has complex numbers", "fix": fix}
        raise fail("unsupported-call", places.here(), **words)
    if type(value) not in TENSORS:
        return np.asarray(value, FLOAT)
    return value if value.dtype == FLOAT and value.type.form != "weak" else cast(value, FLOAT)
