"""Syntax for operators in converted code, and the places of the added nodes."""

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


BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
"""The nodes in the blocks of a statement."""

_PLAIN = frozenset((
    *("ctx", "op", "ops", "id", "attr", "arg", "module", "level"),
    *("type_comment", "kind", "conversion", "simple", "is_async"),
))  # fmt: skip
"""Fields of nodes that hold no nodes, or operators and contexts, which hold nothing."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of syntax in which nodes with parts of their own may be."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        is_constant = issubclass(kind, ast.Constant)
        fields = [] if is_constant else [one for one in kind._fields if one not in _PLAIN]
        self[kind] = tuple(fields)
        return self[kind]


_fields = _Fields()


def children_of(node: ast.AST, is_head: bool = False) -> list[Any]:
    """The nodes that are parts of a node, but operators and contexts; where `is_head`, not the
    statements, handlers and cases in it."""
    found: list[Any] = []
    for field in _fields[type(node)]:
        value = getattr(node, field, None)
        if type(value) is not list:
            if isinstance(value, ast.AST):
                found.append(value)
        elif value and not (is_head and isinstance(value[0], BLOCKS)):
            found += [one for one in value if isinstance(one, ast.AST)]
    return found


def blocks_of(node: ast.AST) -> list[Any]:
    """The statements, handlers and cases that are parts of one."""
    values = [getattr(node, field, None) for field in _fields[type(node)]]
    return [
        one
        for value in values
        if isinstance(value, list) and value and isinstance(value[0], BLOCKS)
        for one in value
    ]


def nodes_in(node: ast.AST) -> list[Any]:
    """A node and the nodes in it, but operators and contexts."""
    found = [node]
    for one in found:  # which grows
        found += children_of(one)
    return found
