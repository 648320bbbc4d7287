"""Diagonals: sums of products that a matrix product has made already are read from it.

The gradient of a matrix that a diagonal and a triangle make up needs `a @ b.T` for the one and
`sum(a * b, axis=1)` for the other: that is its diagonal. So it is with the squares of rows and the
product of all with all. The sums are the same, added up in another order.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(a: f8[9,200], b: f8[9,200]) -> p: f8[9,9], s: f8[9]
...   t  f8[200,9] = transpose b  axes=(1, 0)
...   p  f8[9,9]   = matmul a t
...   q  f8[9,200] = multiply b a
...   s  f8[9]     = sum q  axis=(1,)
... ''', OPS)
>>> print(print_graph(drop_dead(read_diagonals(graph))), end="")
graph f(a: f8[9,200], b: f8[9,200]) -> p: f8[9,9], s: f8[9]
  t  f8[200,9] = transpose b  axes=(1, 0)
  p  f8[9,9]   = matmul a t
  s  f8[9]     = diagonal p  offset=0 axis1=0 axis2=1
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.axes import transposed, untransposed
from tracejit.passes.emission import emit, for_decisions, made_by
from tracejit.passes.lower import FLOATING
from tracejit.passes.rebuild import rebuild

LEAST_ELEMENTS = 1000


def read_diagonals(graph: Graph) -> Graph:
    """`graph` with sums of products read from the matrix products that are made anyway."""
    kept = for_decisions(graph)
    products: dict[Hashable, Node] = {}
    for node in graph.nodes:
        if node.op.name == "matmul":
            for key in _product_keys(node):
                products.setdefault(key, node)
    chosen: dict[Node, tuple[Sequence[Value], Sequence[tuple[Value, Value]]]] = {}
    for node in graph.nodes if products else ():
        if node.op.name == "sum" and node not in kept and (key := _sum_key(node)) in products:
            summed = node.operands[0].node
            assert summed is not None
            factors = [(value, untransposed(value)) for value in products[key].operands]
            chosen[node] = summed.operands, factors

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node not in chosen:
            return None
        (summed, wanted), made = chosen[node], operands[0].node
        assert made is not None
        known = dict(zip(summed, made.operands, strict=True))
        factors = tuple(
            known.get(value) or transposed(new, node, known[turned]) for value, turned in wanted
        )
        product = emit(new, node, "matmul", factors)
        ndim = product.type.ndim
        value = emit(new, node, "diagonal", (product,), offset=0, axis1=ndim - 2, axis2=ndim - 1)
        if node.params.get("keepdims"):
            value = emit(new, node, "expand_dims", (value,), axis=node.params["axis"])
        return (value,)

    return rebuild(graph, rewrite) if chosen else graph


def _product_keys(node: Node) -> list[Hashable]:
    """What the sums on the diagonal of a product are: products of two along one of the last two
    axes."""
    first, second = node.operands
    keys: list[Hashable] = []
    for axis, turned, other in ((-1, second, first), (-2, first, second)):
        one = untransposed(turned)
        if one is not turned and one.type is other.type:
            keys.append((axis, frozenset((one, other)), node.region, node.tapes))
    return keys


def _sum_key(node: Node) -> Hashable:
    """The same of a sum of products; None of another."""
    made = made_by(node.operands[0], "multiply")
    if made is None or not node.params.keys() <= {"axis", "keepdims"}:
        return None
    type, axis = node.operands[0].type, node.params["axis"]
    if type.sizes is not None or type.dtype not in FLOATING or type.size < LEAST_ELEMENTS:
        return None
    if len(axis) != 1 or any(value.type is not type for value in made.operands):
        return None
    return axis[0] - type.ndim, frozenset(made.operands), node.region, node.tapes
