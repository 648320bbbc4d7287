"""Marks: names in generated code that say which node each expression and statement is of.

A module is written with marks for somebody who asks where its code comes from
(`explorer/provenance.py`), never to be run. An expression that stands inside another is wrapped in
a call, `_node_7(x * x)`; before the lines of a statement stands the name of its node, `_node_7`,
alone. Taken out again, they leave the very syntax tree of the module without.

>>> from tracejit.ir.graph import Node
>>> node = Node(None, (), {}, (), None, 0, ())
>>> marked(node, "(x * x)")
'(x * x)'
>>> with marking() as nodes:
...     print(marked(node, "(x * x)"), mark_lines(node, ["y = x"]))
(_node_0((x * x))) ['_node_1', 'y = x']
>>> nodes == [node, node]
True
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tracejit.ir.graph import Node

PREFIX = "_node_"
_nodes: ContextVar[list[Node] | None] = ContextVar("nodes", default=None)


@contextmanager
def marking() -> Iterator[list[Node]]:
    """Write marks meanwhile; the number in each is a place in this list."""
    nodes: list[Node] = []
    token = _nodes.set(nodes)
    try:
        yield nodes
    finally:
        _nodes.reset(token)


def marked(node: Node, text: str) -> str:
    """The expression of `node`, which stands inside another."""
    nodes = _nodes.get()
    return text if nodes is None else f"({_mark(nodes, node)}({text}))"


def mark_lines(node: Node, lines: list[str]) -> list[str]:
    """The lines of the statement of `node`."""
    nodes = _nodes.get()
    return lines if nodes is None or not lines else [_mark(nodes, node), *lines]


def _mark(nodes: list[Node], node: Node) -> str:
    nodes.append(node)
    return f"{PREFIX}{len(nodes) - 1}"
