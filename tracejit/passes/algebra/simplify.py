"""Algebraic simplification that changes no bit of a result.

The patterns are the rows `EXACT` and `SIGN_OF_NAN` of the table in `rewrites`; `RULES` maps an op
to rewrites that are not patterns, each (graph, node, operands) -> value or None. A rule may only
replace a value by one of the same type whose every bit is the same, -0.0, inf and nan included:
x * 1.0 is x, but x + 0.0 is not (-0.0 + 0.0 is 0.0). Two rules for what only derivatives are made
of say what they may change: `_add_slice` and `_product_with_directions`. `simplify_exactly` leaves
out the patterns that may change the sign of a nan.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph('''graph f(g: f8, s: f8[8,4]) -> q_bar: f8[8,4]
...   g_1    f8      = multiply g 1.0
...   g_2    f8[1,1] = expand_dims g_1  axis=(0, 1)
...   s_bar  f8[8,4] = broadcast_to g_2  shape=(8, 4)
...   q_bar  f8[8,4] = multiply s_bar s
... ''', OPS)
>>> print(print_graph(drop_dead(simplify(graph))), end="")
graph f(g: f8, s: f8[8,4]) -> q_bar: f8[8,4]
  q_bar  f8[8,4] = multiply g s
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from tracejit.ir.dims import key_of
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ops.base.creation import directions
from tracejit.ops.base.forms import as_scalar
from tracejit.ops.base.op import OPS, WITH_MATRICES, Op
from tracejit.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tracejit.ops.indexing.indexing import getitem, put_at
from tracejit.ops.indexing.updates import add_item, set_item, subtract_item
from tracejit.ops.shapes.shapes import (
    astype,
    broadcast_to,
    expand_dims,
    ravel,
    reshape,
    squeeze,
    transpose,
)
from tracejit.passes.algebra.rewrites import EXACT, SIGN_OF_NAN
from tracejit.passes.framework.emission import Rule, emit, fold, made_by
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs

PRODUCTS = tuple(name for name, op in OPS.items() if op.product in WITH_MATRICES)


def simplify(graph: Graph, substitutes: dict[Value, Any] | None = None) -> Graph:
    """`graph` simplified; the inputs in `substitutes` become constants first."""
    return rebuild(graph, partial(_simplify, _rules(exactly=False)), substitutes)


def simplify_exactly(graph: Graph, substitutes: dict[Value, Any] | None = None) -> Graph:
    """As `simplify`; the signs of nan stay."""
    return rebuild(graph, partial(_simplify, _rules(exactly=True)), substitutes)


def _simplify(
    rules: dict[Op, tuple[Rule, ...]], graph: Graph, node: Node, operands: tuple[Value, ...]
) -> Sequence[Value] | None:
    if len(node.results) != 1:
        return None
    given, operands = operands, _without_broadcasts(graph, node, operands)
    folded = fold(graph, node.op, operands, node.params, node.results[0].type)
    if folded is not None:
        return (folded,)
    for rule in rules.get(node.op, ()):
        value = rule(graph, node, operands)
        if value is not None:
            assert value.type is node.results[0].type, (node, value)
            return (value,)
    return None if operands is given else graph.copy_node(node, operands).results


def _without_broadcasts(graph: Graph, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...]:
    """Operands of an elementwise op before broadcasting or typing, where the op does that
    itself."""
    if not node.op.elementwise or not any([_may_be_spread(value) for value in operands]):
        return operands
    sources = [_unbroadcast(graph, node, value) for value in operands]
    if not any(sources):
        return operands
    kept = list(operands)
    for position, source in enumerate(sources):
        if source is None:
            continue
        candidate = [*kept[:position], source, *kept[position + 1 :]]
        types = [operand.type for operand in candidate]
        if all(type.form == "weak" for type in types):
            continue
        if node.op.result_types(types, node.params)[0] is node.results[0].type:
            kept = candidate
    return tuple(kept)


def _may_be_spread(value: Value) -> bool:
    """Return whether a value may be made of another by broadcasting or by a cast."""
    if value.node is None:
        return value.data is not None and value.type.form == "array"
    return value.node.op in (broadcast_to, as_scalar)


def _unbroadcast(graph: Graph, node: Node, value: Value) -> Value | None:
    """The value of which `value` is made by broadcasting, or by the cast that `node` makes
    anyway."""
    if isinstance(value, Constant):
        return _one_number_of(graph, value)
    if value.node is None or not _may_be_spread(value):
        return None
    source = value.node.operands[0]
    if source.type.form != "weak" and source.type.dtype == value.type.dtype:
        return source
    # A truth value is no number to every ufunc: -True is an error.
    same = value.type.dtype == node.results[0].type.dtype and source.type.dtype.kind != "b"
    return source if same else None


def _one_number_of(graph: Graph, constant: Constant) -> Value | None:
    """The number that a small constant array holds everywhere."""
    data = constant.data
    if constant.type.form != "array" or not 0 < data.size <= costs().folded_elements:
        return None
    number = data.reshape(-1)[0]
    if data.tobytes() != number.tobytes() * data.size:
        return None
    return graph.constant(number)


def _add_slice(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """A sum with a slice placed in zeros is an addition to that slice.

    What may change is the sign of a zero outside the slice.
    """
    for rest, placed in (operands, operands[::-1]):
        made = made_by(placed, "put_slice")
        if placed.type is not rest.type or rest.type is not node.results[0].type:
            continue  # broadcast, cast, or two 0-d arrays whose sum is a NumPy scalar
        if made is not None and len(made.operands) == 1:
            index = made.params["index"]
            return emit(graph, node, "add_slice", (rest, made.operands[0]), index=index)
    return None


def _same_type(node: Node, value: Value) -> Value | None:
    return value if value.type is node.results[0].type else None


def _no_change(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """A reshape, broadcast, cast or transposition to what the operand is already."""
    return _same_type(node, operands[0])


def _shaped_back(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """Axes of length one that are put in and taken away again change nothing."""
    made = made_by(operands[0], "reshape", "expand_dims", "squeeze")
    return None if made is None else _same_type(node, made.operands[0])


def _number_written(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """A number that is written to many places, or added there, is not made an array before."""
    place = 0 if node.op is put_at else len(operands) - 1
    value = operands[place]
    source = _unbroadcast(graph, node, value)
    if source is None or source.type.shape or not node.params.get("unique", True):
        return None
    if source.type.dtype != value.type.dtype or source.type.form == "weak":
        return None
    given = (*operands[:place], source, *operands[place + 1 :])
    return emit(graph, node, node.op, given, **node.params)


def _small_directions(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """The unit directions of a few numbers are a constant."""
    if node.results[0].type.size > costs().folded_elements:
        return None
    return graph.constant(node.op.evaluate(**node.params))


def _product_with_directions(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """A product with unit directions is the rows that they choose of the other factor.

    What may change is the sign of a zero, and what nan and infinities of other rows make of it:
    they have no part in it.
    """
    result = node.results[0].type
    for position, other in ((0, operands[1]), (1, operands[0])):
        made = made_by(node.operands[position], "directions")
        if made is None or node.operands[position].type.ndim != 2:
            continue
        rows, size = made.results[0].type.shape
        if rows < size:
            if position == 1 or other.type.ndim > 2:
                continue
            index = (("slice", made.params["start"], made.params["stop"], None),)
            other = emit(graph, node, "getitem", (other,), index=index)
        if other.type.dtype != result.dtype:
            other = emit(graph, node, "astype", (other,), dtype=result.dtype)
        return _same_type(node, other)
    return None


def _identity_axes(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    return operands[0] if node.params["axes"] == tuple(range(operands[0].type.ndim)) else None


def _broadcast_of_view(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """Broadcasting needs no axes of length one in front, and is done once."""
    made = made_by(operands[0], "reshape", "expand_dims", "broadcast_to")
    if made is None:
        return None
    source = made.operands[0].type.shape
    shape = operands[0].type.shape
    if made.op is not broadcast_to:
        before, after = (tuple(map(key_of, sizes)) for sizes in (source, shape))
        if before != after[len(after) - len(before) :]:
            return None
        if key_of(math.prod(shape)) != key_of(math.prod(source)):
            return None
    return emit(graph, node, "broadcast_to", (made.operands[0],), shape=node.params["shape"])


def _view_of_scalar(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """Another shape of one number that was broadcast is that number broadcast to it."""
    made = made_by(operands[0], "broadcast_to")
    result = node.results[0].type
    if made is None or made.operands[0].type.shape != () or result.form != "array":
        return None
    if node.op is getitem and len(operands) > 1:
        return None
    return emit(graph, node, "broadcast_to", made.operands, shape=result.shape)


def _without_kept_axes(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """A reduction whose axes are kept and then taken away does not keep them."""
    made = operands[0].node
    if made is None or not made.params.get("keepdims") or len(made.operands) != 1:
        return None
    params = {name: value for name, value in made.params.items() if name != "keepdims"}
    if made.op.result_types([made.operands[0].type], params) != (node.results[0].type,):
        return None
    return emit(graph, made, made.op.name, made.operands, **params)


def _transpose_twice(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    made = made_by(operands[0], "transpose")
    if made is None:
        return None
    axes = tuple(made.params["axes"][axis] for axis in node.params["axes"])
    if axes == tuple(range(len(axes))):
        return _same_type(node, made.operands[0])
    return emit(graph, node, "transpose", made.operands, axes=axes)


def _numbers_first(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """Arithmetic between numbers that are broadcast is done between the numbers. So is the negative
    of whatever is broadcast."""
    numbers = tuple(
        made.operands[0] if (made := made_by(value, "broadcast_to")) else value
        for value in operands
    )
    result = node.results[0].type
    if numbers == operands or (len(operands) > 1 and any(number.type.shape for number in numbers)):
        return None
    if all(number.type.form == "weak" for number in numbers):
        return None
    number = emit(graph, node, node.op, numbers)
    if number.type.dtype != result.dtype:
        return None
    return emit(graph, node, "broadcast_to", (number,), shape=result.shape)


RULES: dict[Op, tuple[Rule, ...]] = {
    **dict.fromkeys((multiply, divide, negative, subtract), (_numbers_first,)),
    add: (_add_slice, _numbers_first),
    reshape: (_no_change, _shaped_back, _view_of_scalar, _without_kept_axes),
    expand_dims: (_no_change, _shaped_back, _view_of_scalar),
    squeeze: (_no_change, _shaped_back, _view_of_scalar, _without_kept_axes),
    broadcast_to: (_no_change, _broadcast_of_view),
    astype: (_no_change,),
    transpose: (_identity_axes, _view_of_scalar, _transpose_twice),
    getitem: (_view_of_scalar,),
    ravel: (_view_of_scalar,),
    **dict.fromkeys((set_item, add_item, subtract_item, put_at), (_number_written,)),
    directions: (_small_directions,),
    **dict.fromkeys(map(OPS.__getitem__, PRODUCTS), (_product_with_directions,)),
}


@cache
def _rules(exactly: bool) -> dict[Op, tuple[Rule, ...]]:
    """The rules for each op: patterns first."""
    rules = dict(RULES)
    for pattern in (*EXACT, *(() if exactly else SIGN_OF_NAN))[::-1]:
        op = OPS[pattern.root]
        rules[op] = (pattern, *rules.get(op, ()))
    return rules
