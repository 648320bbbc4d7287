'''Flat indices: elements at an n-dimensional index are gathered and added up at flat places.

`np.add.at` takes several times as long for each pair of numbers as for one number, and so does a
gather. Where what is gathered at an index of several arrays is added up there again, as gradients
are, a table of all places is read at the index once: that gives the places in the array made flat,
checks the numbers and counts negative ones from the end as NumPy does. The same numbers are added
in the same order.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph("""graph f(g: f8[600], i: i8[600], j: i8[600]) -> s: f8[2,3]
...   s  f8[2,3] = add_at g i j  shape=(2, 3) index=('{1}', '{2}')
... """, OPS)
>>> print(print_graph(drop_dead(flatten_indices(graph))), end="")
graph f(g: f8[600], i: i8[600], j: i8[600]) -> s: f8[2,3]
   i8[2,3] = constant [[0,1,2],[3,4,5]]
  s_1  i8[600] = take_at  i j  index=('{1}', '{2}') unique=False
  s_2  f8[6]   = add_at g s_1  shape=(6,) index=('{1}',)
  s    f8[2,3] = reshape s_2  shape=(2, 3)
'''

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import Shape
from tracejit.ops.indexing.indexing import FULL
from tracejit.passes.framework.emission import emit
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs


def flatten_indices(graph: Graph) -> Graph:
    """`graph` with what is added up at several index arrays, or gathered there too, at one."""
    flat: dict[tuple[Any, ...], None] = {}
    for node in graph.nodes:
        if node.op.name == "add_at" and _pays(node):
            flat[_key(node)] = None
    if not flat:
        return graph

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if _key(node) not in flat or not _names_places(node):
            return None
        return (_flattened(new, node, operands),)

    return rebuild(graph, rewrite, ops=("add_at", "take_at"))


def _shape(node: Node) -> Shape:
    """The shape of the array that an index is one of."""
    shape: Shape = node.params["shape"] if "shape" in node.params else node.operands[0].type.shape
    return shape


def _key(node: Node) -> tuple[Any, ...]:
    """The key of index arrays that name the same places."""
    indices = node.operands[1:]
    return _shape(node)[: len(indices)], indices


def _names_places(node: Node) -> bool:
    """Return whether several index arrays name places along the first axes of an array."""
    count, index = len(node.operands) - 1, node.params["index"]
    return count > 1 and index[:count] == _named(count) and set(index[count:]) <= {FULL}


def _named(count: int) -> tuple[str, ...]:
    return tuple([f"{{{number}}}" for number in range(1, count + 1)])


def _pays(node: Node) -> bool:
    """Return whether a table of all places is small next to the number of those read from it."""
    value, *indices = node.operands
    shape, count = _shape(node), len(indices)
    if not _names_places(node):
        return False
    types = [one.type for one in (value, *indices)]
    if any(one.sizes is not None for one in types) or not all(type(n) is int for n in shape):
        return False
    if any(one.dtype.kind not in "iu" for one in types[1:]):
        return False
    places = math.prod(np.broadcast_shapes(*[one.shape for one in types[1:]]))
    table = math.prod(shape[:count])
    model = costs()
    most = min(model.most_table_elements, model.table_share * places)
    return places >= model.least_flat_places and 0 < table <= most


def _flattened(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """A gather or a sum at the flat places that several index arrays name."""
    value, *indices = operands
    shape, count = _shape(node), len(indices)
    size = math.prod(shape[:count])
    table = graph.constant(np.arange(size).reshape(shape[:count]))
    places = emit(graph, node, "take_at", (table, *indices), index=_named(count), unique=False)
    flat = (size, *shape[count:])
    params: dict[str, Any] = {"index": ("{1}",)}
    if node.op.name == "add_at":
        added = emit(graph, node, "add_at", (value, places), shape=flat, **params)
        return emit(graph, node, "reshape", (added,), shape=shape)
    value = emit(graph, node, "reshape", (value,), shape=flat)
    params["unique"] = node.params["unique"]
    return emit(graph, node, "take_at", (value, places), **params)
