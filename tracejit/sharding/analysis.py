"""Analysis: where every value of a graph is, when some inputs are split into blocks of rows.

A value is *replicated*, the same for all blocks, or *split*: its row axis, the one whose size holds
the symbol of the rows, is in blocks. A result that no longer has the rows is *partial*: every block
has a part of it, and the parts are combined at once, by the ufunc that the op names. The *level* of
a value is the number of combinations before it, so everything of one level is computed between two
rounds of combining.

What an op does with axes it says itself (`tracejit/ops/base/axes.py`). Where it needs all rows at
once the function is refused, at the user's line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from tracejit.ir.dims import Dim, dims_in, key_of, size_text
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.base.axes import MIXED, AxisRule, axis_rule
from tracejit.ops.base.sized import arange
from tracejit.ops.control.control_flow import ControlFlow
from tracejit.support.errors import fail
from tracejit.trace.source import places

PAIRS = "it pairs every row with every row"
AT_ONCE = "it needs all rows at once"


class Placement(NamedTuple):
    """The place of a value: split or replicated, after so many combinations.

    The number of the first row of a block is split, too, although it has no rows.
    """

    is_split: bool = False
    level: int = 0


class Analysis(NamedTuple):
    """The placement of every value of `graph`, and the ufunc that combines the parts of those that
    blocks have parts of."""

    graph: Graph
    placements: dict[Value, Placement]
    combined: dict[Value, str]

    def of(self, value: Value) -> Placement:
        """The placement of a value; constants are replicated."""
        return self.placements.get(value, Placement())

    def is_computed_in_blocks(self, value: Value) -> bool:
        """Return whether the blocks compute a value or its parts, each for its rows."""
        if value.node is None:
            return False
        return any(self.of(one).is_split or one in self.combined for one in value.node.results)


def is_rows(size: Any) -> bool:
    """Return whether a size depends on the number of rows."""
    return type(size) is Dim


def row_axis(type: ArrayType) -> int | None:
    """The axis of an array in which its rows are; None if it has none.

    Raises ValueError, with the problem in the user's terms, where its elements cannot be in blocks.
    """
    axes = [axis for axis, size in enumerate(type.shape) if is_rows(size)]
    if not axes:
        return None
    if len(axes) > 1:
        raise ValueError(PAIRS)
    size: Any = type.shape[axes[0]]
    if len(size.key) != 1 or size.key[0][0] != (0,):
        raise ValueError(f"it turns n rows into {size_text(size)}, which is not a multiple of n")
    return axes[0]


def has_rows(value: Value) -> bool:
    """Return whether a value has rows."""
    return row_axis(value.type) is not None


def analyse(graph: Graph) -> Analysis:
    """Place every value of `graph`, whose split inputs have the symbol of the rows in their
    shape. Raises UnsupportedError if an op needs rows of several blocks at once."""
    found = Analysis(graph, {}, {})
    numbered = {value for node in graph.nodes if node.op is arange for value in node.operands}
    for value in graph.inputs:
        found.placements[value] = Placement(has_rows(value) or value in numbered)
    for node in graph.nodes:
        _place(found, node)
    return found


def _place(found: Analysis, node: Node) -> None:
    operands = [found.of(value) for value in node.operands]
    level = max((one.level for one in operands), default=0)
    is_split = any(one.is_split for one in operands)
    try:
        axes = [row_axis(value.type) for value in node.results]
    except ValueError as error:
        refuse(found.graph, node, str(error))
    if node.op.effect:
        refuse(found.graph, node, "it has an effect, which would take place in another process")
    _check_parameters(found.graph, node)
    if not is_split and axes == [None] * len(axes):
        for value in node.results:
            found.placements[value] = Placement(False, level)
        return
    if isinstance(node.op, ControlFlow):
        refuse(found.graph, node, "its body runs on rows")
    if node.op is arange:  # from the first row of the block on
        found.placements[node.results[0]] = Placement(True, level)
        return
    letter, rule = _letter(found, node)
    if is_split and letter is None:
        refuse(found.graph, node, "it computes with the number of a row of one block")
    for value, letters, axis in zip(node.results, rule.results, axes, strict=True):
        wanted = _fresh(rule) if letter is None else (letter,)
        if axis is not None and letters[axis] not in wanted:
            refuse(found.graph, node, AT_ONCE)
        if axis is None and letter is not None:
            if letter in letters:
                refuse(found.graph, node, AT_ONCE)
            found.combined[value] = rule.combine
            found.placements[value] = Placement(False, level + 1)
        else:
            found.placements[value] = Placement(axis is not None, level)


def _check_parameters(graph: Graph, node: Node) -> None:
    """Refuse a number of rows among the parameters, which would be that of the block; of a shape it
    is what is wanted."""
    shapes = [[key_of(n) for n in one.type.shape] for one in (*node.operands, *node.results)]
    for param in node.params.values() if node.op is not arange else ():
        if next(dims_in(param), None) is None:
            continue
        if type(param) is Dim or [key_of(n) for n in param] not in shapes:
            refuse(graph, node, "it takes the number of rows as a number")


def _letter(found: Analysis, node: Node) -> tuple[str | None, AxisRule]:
    """The letter that the rows of the operands have, None if no operand has rows, and the
    rule."""
    rule = axis_rule(node.op, [value.type for value in node.operands], node.params)
    if rule is None:
        refuse(found.graph, node, AT_ONCE)
    letters = set()
    for value, text in zip(node.operands, rule.operands, strict=True):
        axis = row_axis(value.type)
        if axis is not None:
            letters.add(text[axis])
    if len(letters) > 1:
        refuse(found.graph, node, "rows are combined with another axis")
    letter = letters.pop() if letters else None
    if letter == MIXED:
        refuse(found.graph, node, AT_ONCE)
    for value, text in zip(node.operands, rule.operands, strict=True):
        if letter is not None and letter in text and row_axis(value.type) != text.index(letter):
            refuse(found.graph, node, "rows are combined with an array that is not split")
    return letter, rule


def _fresh(rule: AxisRule) -> Sequence[str]:
    """The letters of axes along which every block is alike."""
    known = {letter for text in rule.operands for letter in text} | {MIXED}
    return [letter for text in rule.results for letter in text if letter not in known]


def refuse(graph: Graph, node: Node, problem: str) -> NoReturn:
    """Refuse what cannot be computed block by block."""
    where = places.where_of(node.where, graph.files)
    raise fail("sharding", where, call=node.op.name, problem=problem, fix=_fix(node, problem))


def _fix(node: Node, problem: str) -> str:
    if problem == PAIRS:
        return "compare the rows with a fixed set of points in a NumPy array."
    if isinstance(_first_constant(node), Constant):
        return "pass such an array as an argument, a Dask array with the same chunks."
    return "compute it before the call with dask.array, and pass the result as an argument."


def _first_constant(node: Node) -> Value | None:
    return next((value for value in node.operands if isinstance(value, Constant)), None)
