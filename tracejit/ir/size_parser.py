"""Parse the printed form of sizes, over symbols by name."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejit.ir.dims import ESTIMATE, Dim
from tracejit.ir.sizes import Sizes
from tracejit.support.errors import fail
from tracejit.support.parsing import parse

OPERATORS: Final[dict[type, Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def read_sizes(sizes: Sizes, names: Sequence[str], conditions: str | None) -> dict[str, Dim]:
    """The free dimensions of a printed graph, by name; only what is printed holds of them."""
    known = {name: sizes.symbol(ESTIMATE, name) for name in names}
    for text in (conditions or "").split(", ") if conditions else ():
        left, relation, right = text.split(" ")
        if relation == ">" and left in known and right.isdecimal():
            symbol = known[left].symbol
            symbol.least = int(right) + 1
        else:
            sides = parse_size(left, known), parse_size(right, known)
            sizes.guards.append((sides[0], relation, sides[1]))
    sizes.freeze()
    return known


def parse_size(text: str, known: Mapping[str, Dim]) -> Any:
    """The size that prints as `text`, over symbols by name.

    >>> parse_size("2*n+1", {"n": Sizes().symbol(5)})
    Dim(2*n+1)
    """
    size = parse_sizes(text, known)
    if size is None:
        raise fail("graph", None, problem=f"{text!r} is no size")
    return size


def parse_sizes(text: str, known: Mapping[str, Dim]) -> Any:
    """Parse the printed value `text`, whose sizes are over symbols by name; None if it is no such
    value."""
    try:
        return _value_of(parse(text, mode="eval").body, known)
    except (SyntaxError, KeyError):
        return None


def _value_of(node: ast.expr, known: Mapping[str, Dim]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return known[name]
        case ast.Tuple(elts=elements):
            return tuple(_value_of(element, known) for element in elements)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value_of(operand, known)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](_value_of(left, known), _value_of(right, known))
    raise KeyError(ast.unparse(node))
