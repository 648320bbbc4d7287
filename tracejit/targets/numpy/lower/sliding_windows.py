"""Sliding windows: parts of an array next to each other, put together, are windows over it.

Patches of images and lagged rows are made by a concatenation of slices, each one place further on.
Of every slice NumPy copies a few channels at a time. Where the last axes of the array lie in a row,
slices that follow one another are one view: what stands next to each other in the result does so in
the array. A copy of such windows takes a third of the time; not a bit changes.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[5000,3]) -> z: f8[4999,6]
...   a  f8[4999,3] = getitem x  index=(('slice', None, 4999, None),)
...   b  f8[4999,3] = getitem x  index=(('slice', 1, None, None),)
...   z  f8[4999,6] = concatenate a b  axis=1
... ''', OPS)
>>> print(print_graph(drop_dead(view_windows(graph))), end="")
graph f(x: f8[5000,3]) -> z: f8[4999,6]
  z_1  f8[15000]  = reshape x  shape=(15000,)
  z_2  f8[4999,6] = windows z_1  size=6 first=0 step=3 count=4999
  z    f8[4999,6] = copy z_2  order='C'
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.framework.emission import emit
from tracejit.passes.framework.rebuild import rebuild
from tracejit.passes.layout.slices import Part, index_of, parents
from tracejit.support.cost_model import costs


def view_windows(graph: Graph) -> Graph:
    """`graph` with slices that follow one another put together as windows."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        type = node.results[0].type
        if type.sizes is not None or type.size < costs().least_windows:
            return None
        if node.params["axis"] != type.ndim - 1:
            return None
        runs = _runs(operands)
        if len(runs) == len(operands):
            return None
        pieces = tuple([_piece(new, node, run) for run in runs])
        if len(pieces) == 1:
            return (emit(new, node, "copy", pieces, order="C"),)
        return (emit(new, node, "concatenate", pieces, **node.params),)

    return rebuild(graph, rewrite, ops=("concatenate",))


Run = list[tuple[Value, Part | None]]
"""Values, and the parts that they are: several each one place after the one before, or one."""


def _runs(values: Sequence[Value]) -> list[Run]:
    runs: list[Run] = []
    for value in values:
        part = _slice(value)
        if runs and _follows(runs[-1][-1][1], part):
            runs[-1].append((value, part))
        else:
            runs.append([(value, part)])
    return runs


def _slice(value: Value) -> Part | None:
    """The part of an array with few channels that `value` is, with all of them."""
    part = next(parents(value), None)
    if part is None or part.value.type.ndim < 2 or part.value.type.form != "array":
        return None
    channels = part.value.type.shape[-1]
    return (
        part
        if part.area[-1] == (0, channels) and 1 < channels <= costs().most_window_channels
        else None
    )


def _follows(before: Part | None, after: Part | None) -> bool:
    """Return whether a part lies one place after another along the last axis but one."""
    if before is None or after is None or before.value is not after.value:
        return False
    *others, (first, last), channels = before.area
    return after.area == (*others, (first + 1, last + 1), channels)


def _piece(graph: Graph, like: Node, run: Run) -> Value:
    """The values of a run next to each other."""
    value, part = run[0]
    if len(run) == 1 or part is None:
        return value
    array = part.value
    *lead, length, channels = array.type.shape
    *others, (first, last), _ = part.area
    area = (*others, (0, length), (0, channels))
    if any((begin, end) != (0, n) for (begin, end), n in zip(others, lead, strict=True)):
        array = emit(graph, like, "getitem", (array,), index=index_of(area, array.type.shape))
    shape = (*[end - begin for begin, end in others], length * channels)
    flat = emit(graph, like, "reshape", (array,), shape=shape)
    params = {"first": first * channels, "step": channels, "count": last - first}
    return emit(graph, like, "windows", (flat,), size=len(run) * channels, **params)
