"""Syntax that stands in converted code for operators, and the places of what is added."""

from __future__ import annotations

import ast
from typing import Any

MARK = "\0operator "
"""The start of the constants that stand for operators, until `bind` puts these in their place."""


class Operation(ast.Call):
    """A call of an operator, which is not itself a call of the user's."""


def at(place: Any, node: Any) -> Any:
    """`node` at the lines and columns of `place`, if it has any."""
    if not hasattr(place, "lineno"):
        return node
    node.lineno, node.col_offset = place.lineno, place.col_offset
    node.end_lineno, node.end_col_offset = place.end_lineno, place.end_col_offset
    return node


def operation(kind: str, place: Any, *arguments: Any) -> Operation:
    """A call of the operator of a kind, at a place."""
    made: Operation = at(place, Operation(at(place, ast.Constant(MARK + kind)), [*arguments], []))
    return made
