"""Contract: einsum as products of matrices.

`np.einsum` goes through all its letters in loops of its own; the BLAS takes a tenth of that from
some thousands of operations on. A product of two factors is laid out for `@`
(`ops/linalg/contractions.py`). Of more than two, what `optimize` says: with it NumPy multiplies two
after the other, and so does the kernel, in NumPy's order. Without it NumPy adds up products of all
factors; to sum before the last is multiplied gives infinity where NumPy has nan, from infinities of
both signs. So the kernel looks whether all is finite, and otherwise does as NumPy does.

What stays: whole numbers, for which matmul is slower; half precision, which einsum adds up in
single; complex numbers, of which the BLAS adds up parts, with nan in other places than NumPy;
letters of one factor alone that are summed, for the same reason as above; factors that are
broadcast against each other; products without sums of which neither factor has all letters.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(a: f8[4,5,6], b: f8[7,6]) -> y: f8[4,5,7]
...   y  f8[4,5,7] = einsum a b  subscripts='ijk,lk->ijl'
... ''', OPS)
>>> print(print_graph(contract(graph)), end="")
graph f(a: f8[4,5,6], b: f8[7,6]) -> y: f8[4,5,7]
  y_1  f8[6,7]   = transpose b  axes=(1, 0)
  y    f8[4,5,7] = matmul a y_1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.ir.dims import estimated
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import FLOATING
from tracejit.ops.linalg.contractions import (
    Do,
    Factor,
    Step,
    best_steps,
    contracted,
    ordered,
    steps_along,
    work_of,
)
from tracejit.ops.linalg.einsum import einsum, split_subscripts
from tracejit.passes.algebra.simplify import simplify
from tracejit.passes.framework.emission import emit
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs


def contract(graph: Graph) -> Graph:
    """`graph` with einsum as products of matrices and sums."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node.op is not einsum or not _is_open(node, operands):
            return None
        value = _contracted(new, node, operands)
        return None if value is None else (value,)

    return simplify(rebuild(graph, rewrite))


def _is_open(node: Node, operands: Sequence[Value]) -> bool:
    """Return whether factors are of the same floating-point dtype, and none is empty."""
    dtype = node.results[0].type.dtype
    if dtype not in FLOATING:
        return False
    types = [value.type for value in operands]
    if any(type.dtype != dtype or type.form == "weak" for type in types):
        return False
    return all(type.sizes is not None or type.size for type in types)


def _contracted(graph: Graph, node: Node, operands: Sequence[Value]) -> Value | None:
    """The replacement of a node of einsum; None if it stays."""

    def do(op: str, *values: Value, **params: Any) -> Value:
        return emit(graph, node, op, values, **params)

    labels, output = split_subscripts(node.params["subscripts"])
    factors = [_factor(value, letters) for value, letters in zip(operands, labels, strict=True)]
    value: Value | None
    match factors:
        case [x]:
            value = _summed(do, x, output)
        case [x, y]:
            value = None if _is_along_rows(x, y, output) else contracted(do, x, y, output)
        case _:
            size = node.results[0].type.estimated_size
            value = _in_steps(do, factors, output, node.params.get("optimize"), size)
    expected = node.results[0].type
    if value is not None and value.type is expected.with_form("scalar") is not expected:
        value = do("as_array", value)
    return value if value is not None and value.type is expected else None


def _is_along_rows(x: Factor, y: Factor, output: str) -> bool:
    """Return whether `einsum` adds up small products along long rows, as for stacks of small
    matrices whose long axis is the last."""
    last = x.letters[-1:]
    if not last or {y.letters[-1:], output[-1:]} != {last}:
        return False
    sizes = dict(zip((*x.letters, *y.letters), (*x.shape, *y.shape), strict=True))
    if not all(type(size) is int for size in sizes.values()) or sizes.keys() <= set(output):
        return False
    is_long = sizes.pop(last) >= costs().long_axis
    return bool(is_long and max(sizes.values()) <= costs().small_matrix_side)


def _factor(value: Value, letters: str) -> Factor:
    return Factor(value, letters, value.type.shape, value.type.dtype)


def _summed(do: Do, x: Factor, output: str) -> Value | None:
    """The sum of one factor over what the output does not have."""
    axes = tuple(k for k, letter in enumerate(x.letters) if letter not in output)
    if not axes:
        return None
    kept = "".join(letter for letter in x.letters if letter in output)
    value: Value = ordered(do, do("sum", x.value, axis=axes), kept, output)
    return value


def _in_steps(
    do: Do, factors: Sequence[Factor], output: str, optimize: Any, size: int
) -> Value | None:
    """The product of many factors, of so many elements, by the steps that NumPy takes, or by the
    best ones where it takes none, and then by NumPy if that is not all finite. None if nothing
    is gained."""
    labels = tuple([one.letters for one in factors])
    shapes = tuple([tuple([estimated((size,)) for size in one.shape]) for one in factors])
    if optimize and all(one.value.type.sizes is None for one in factors):
        steps = steps_along(labels, output, shapes, optimize)
        if len(steps) > 1:
            return _stepped(do, factors, steps, is_numpys=True)
    steps = best_steps(labels, output, shapes)
    at_once, in_steps = work_of(labels, shapes, steps)
    least = max(costs().least_contracted_products, costs().least_contracted_terms * size)
    if at_once < max(least, in_steps // 2):
        return None
    operands = [_stepped(do, factors, steps), *[one.value for one in factors]]
    subscripts = f"{','.join(labels)}->{output}"
    params = {"subscripts": subscripts, **({"optimize": optimize} if optimize else {})}
    checked: Value = do("einsum_if_not_finite", *operands, **params)
    return checked


def _stepped(
    do: Do, factors: Sequence[Factor], steps: Sequence[Step], is_numpys: bool = False
) -> Value:
    """The product of many factors, step by step; a step that stays as it is among NumPy's own."""
    left = list(factors)
    for places, letters in steps:
        taken = [left[place] for place in places]
        left = [one for place, one in enumerate(left) if place not in places]
        value = contracted(do, taken[0], taken[1], letters) if len(taken) == 2 else None
        if value is None:
            inputs = ",".join(one.letters for one in taken)
            values = [one.value for one in taken]
            how = {"optimize": True} if is_numpys and len(values) == 2 else {}
            value = do("einsum", *values, subscripts=f"{inputs}->{letters}", **how)
        left.append(_factor(value, letters))
    result: Value = left[0].value
    return result
