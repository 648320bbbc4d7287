"""Tiles in a generated module: a function for the rows of one tile, and the loop over all.

The loop is a function of the module, `in_turn`, so that what runs a kernel may run its tiles on
several threads: whoever runs them, each computes the same, and what they return is in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import literal
from tracejit.ops.indexing.index_text import index_text
from tracejit.targets.numpy.plan.tile_loops import TileLoop
from tracejit.targets.numpy.text.expressions import Expressions

NAMES = frozenset(("in_turn", "parts", "start", "stop"))
"""Names that no variable of a module with tiles has."""

IN_TURN = '''
def in_turn(tile, rows, step, *arrays):
    """What tile(start, stop, *arrays) returns for every `step` of the rows, in order."""
    starts = range(0, max(rows, 1), step)
    return [tile(start, min(start + step, rows), *arrays) for start in starts]
'''


def sweep_lines(node: Node, names: Mapping[Value, str], spell: Expressions) -> Iterator[str]:
    """The statements that make the arrays of a TILES node, run the tiles and combine the totals."""
    loop: TileLoop = node.params["loop"]
    stored = node.results[: len(loop.stored)]
    totals = [names[value] for value in node.results[len(loop.stored) :]]
    arrays = [spell.operand(value) for value in node.operands[: loop.sliced]]
    for value, place in zip(stored, loop.places, strict=True):
        name = names[value]
        yield f"{name} = {spell.bind(empty_text(value.type))}"
        if place is None:
            arrays.append(name)
            continue
        _, start, stop, _ = place[0]
        if start:
            yield f"{name}[:{start}] = 0.0"
        if stop is not None:
            yield f"{name}[{stop}:] = 0.0"
        arrays.append(f"{name}[{index_text(place)}]")
    arrays += [spell.operand(value) for value in node.operands[loop.sliced :]]
    call = f"in_turn({loop.name}, {literal(loop.rows)}, {loop.step}, {', '.join(arrays)})"
    ufuncs = [spell.bind(f"np.{ufunc}.reduce") for ufunc in loop.ufuncs]
    if not totals:
        yield call
    elif len(totals) == 1:
        yield f"{totals[0]} = {ufuncs[0]}({call})"
    else:
        yield f"parts = tuple(zip(*{call}))"
        for number, (name, ufunc) in enumerate(zip(totals, ufuncs, strict=True)):
            yield f"{name} = {ufunc}(parts[{number}])"


def empty_text(type: ArrayType) -> str:
    """The expression that makes an array without values."""
    shape = type.shape[0] if type.ndim == 1 else type.shape
    dtype = "" if type.dtype == float else f", {literal(type.dtype)}"
    return f"np.empty({literal(shape)}{dtype})"


def cut_lines(parameters: Sequence[str], axes: Sequence[int]) -> Iterator[str]:
    """The statements that take the rows of a tile, each along its axis."""
    for name, axis in zip(parameters, axes, strict=True):
        yield f"{name} = {name}[{':, ' * axis}start:stop]"


def filling_lines(late: Mapping[Value, Value], name: Callable[[Value], str]) -> Iterator[str]:
    """The statements at the end of a tile that fill the buffers in which nothing was computed."""
    for buffer, value in late.items():
        yield f"{name(buffer)}[:] = {name(value)}"
