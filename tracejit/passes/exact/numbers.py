"""Python numbers as NumPy's: what is differentiated by a Python float is recorded with a float, and
computed with NumPy scalars where nothing but errors at 0 and beyond the largest float can tell.

NumPy's operations are those that the other passes know, and that are computed in plain floats again
where that is faster. Where a Python float meets float32, or Python takes it for an index or a
text, the graph stays as it is.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(x: f8) -> out: f8
...   x_1  ~f8 = python_float x
...   y    ~f8 = python_pow_to x_1  exponent=2
...   out  f8  = sin y
... ''', OPS)
>>> print(print_graph(as_numpy_numbers(graph)), end="")
graph f(x: f8) -> out: f8
  y    f8 = pow_to x  exponent=2
  out  f8 = sin y
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.base.forms import as_scalar
from tracejit.ops.control.branches import DECIDE
from tracejit.ops.control.control_flow import ControlFlow
from tracejit.ops.elementwise.python_numbers import CONVERSIONS
from tracejit.ops.elementwise.weak import BINARY_OPS, UNARY_OPS, power_of_number, power_of_numbers
from tracejit.passes.framework.emission import emit
from tracejit.passes.framework.rebuild import rebuild

_UFUNCS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "<": "less", "<=": "less_equal",
    ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal",
}  # fmt: skip
_OPS = {
    **{BINARY_OPS[symbol].name: name for symbol, name in _UFUNCS.items()},
    UNARY_OPS["-"].name: "negative",
    UNARY_OPS["abs"].name: "absolute",
    power_of_number.name: "pow_to",
    power_of_numbers.name: "pow",
}
"""The ops of NumPy that compute what those of Python numbers do."""
_ROOTS = (CONVERSIONS[float], CONVERSIONS[complex])


class _Tells(Exception):
    """Somebody can tell a NumPy scalar from the Python number that it would stand for."""


def as_numpy_numbers(graph: Graph) -> Graph:
    """`graph` with the Python numbers that are made of its arguments as NumPy scalars; as it is
    where something can tell them apart."""
    if not any(node.op in _ROOTS for node in graph.nodes):
        return graph
    graph_takes_nodes, graph.is_passing = graph.is_passing, False
    try:
        new = rebuild(graph, _rewrite)
    except _Tells:
        return graph
    finally:
        graph.is_passing = graph_takes_nodes
    same = all(
        one.type is other.type for one, other in zip(new.outputs, graph.outputs, strict=True)
    )
    return new if same else graph


def _rewrite(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
    if node.op in _ROOTS and _is_given(operands[0]):
        return operands
    if all(one.type is other.type for one, other in zip(operands, node.operands, strict=True)):
        return None
    if node.op is as_scalar:
        number, result = operands[0], node.results[0]
        if number.node is not None and not number.is_named:
            number.base, number.name = result.base, result.name
        return operands
    if node.op.name in _OPS:
        return (emit(graph, node, _OPS[node.op.name], operands, **node.params),)
    of_python = node.op.name.startswith("python_")
    if of_python or isinstance(node.op, ControlFlow) or (node.op.effect and node.op is not DECIDE):
        raise _Tells
    types = node.op.result_types([value.type for value in operands], node.params)
    if any(type is not value.type for type, value in zip(types, node.results, strict=True)):
        raise _Tells
    return None


def _is_given(number: Value) -> bool:
    """Return whether a value is a NumPy scalar that stands for a Python number of the user's."""
    is_double = number.type.form == "scalar" and number.type.dtype.itemsize >= 8
    return is_double and (number.node is None or number.node.op is as_scalar)
