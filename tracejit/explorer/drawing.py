"""The drawing of a graph as SVG: a box a node, the body of a loop or condition inside its box.

A graph of many nodes is drawn by statements instead: a box is for all consecutive nodes of one
statement. What is left out of a drawing is said beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from tracejit.explorer.folding import repeats
from tracejit.explorer.highlight import escaped
from tracejit.explorer.layout import Layout, Point, layered
from tracejit.explorer.user_code import Numbers
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.location import Location
from tracejit.ir.printer import constant_text
from tracejit.ir.subgraph import bodies_of

MOST_NODES = 240
MOST_STATEMENTS = 160
LONGEST = 34
LETTER = 7.3
SMALL_LETTER = 6.4
MARGIN = 14.0
TITLE = 26.0
HEIGHT = 42.0


class Drawing(NamedTuple):
    """A graph as SVG, its size, where the first box stands, and what is left out of it."""

    svg: str
    width: float
    height: float
    start: float
    left_out: str


class Box(NamedTuple):
    """A box to draw: the text in it, what it stands for, and, of a body, what is inside."""

    title: str
    detail: str
    kind: str = ""
    attributes: str = ""
    inside: Sequence[Drawing] = ()

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        text = max(len(self.title) * LETTER, len(self.detail) * SMALL_LETTER) + 2 * 11
        if not self.inside:
            return max(text, 56.0), HEIGHT
        width = sum(one.width for one in self.inside) + MARGIN * (len(self.inside) + 1)
        tallest = max(one.height for one in self.inside)
        return max(text, width), tallest + TITLE + 2 * MARGIN


def drawing_of(graph: Graph, numbers: Numbers, seed: str = "") -> Drawing:
    """The drawing of a graph; `seed` is the name of the input that backward begins with."""
    backward = backward_nodes(graph, seed)
    if len(graph.nodes) <= MOST_NODES:
        return _of_nodes(graph, numbers, backward, seed)
    return _of_statements(graph, numbers, backward)


def backward_nodes(graph: Graph, seed: str) -> set[Node]:
    """The nodes of the reverse pass: the first that reads the cotangent `seed` and all after it,
    which were recorded behind the forward pass; without a seed those that compute cotangents."""
    seeds = [value for value in graph.inputs if value.name == seed]
    for number, node in enumerate(graph.nodes):
        if any(value in seeds for value in node.operands):
            return set(graph.nodes[number:])
    return {
        node
        for node in graph.nodes
        if any(one.derived is not None and one.derived[1] == "_bar" for one in node.results)
    }


def _of_nodes(graph: Graph, numbers: Numbers, backward: set[Node], seed: str) -> Drawing:
    boxes: list[Box] = []
    place: dict[Value, int] = {}
    edges: dict[tuple[int, int], None] = {}
    read = {value for node in graph.nodes for value in node.operands} | set(graph.outputs)
    for value in graph.inputs:
        if value in read:
            place[value] = len(boxes)
            kind = "in back" if value.name == seed else "in"
            boxes.append(Box(value.name, repr(value.type), kind))
    for node in graph.nodes:
        kind = "back" if node in backward else ""
        bodies = [body.graph for _, body in bodies_of(node)]
        of_bodies = [set(body.nodes) if node in backward else set[Node]() for body in bodies]
        inside = [
            _of_nodes(body, numbers, its, "") for body, its in zip(bodies, of_bodies, strict=True)
        ]
        boxes.append(_box(node, kind, inside, numbers, graph))
        for value in node.operands:
            if value in place:
                edges[place[value], len(boxes) - 1] = None
        place.update((value, len(boxes) - 1) for value in node.results)
    return _drawn(boxes, list(edges), "")


def _box(node: Node, kind: str, inside: Sequence[Drawing], numbers: Numbers, graph: Graph) -> Box:
    constants = [
        constant_text(value) if value.type.form != "array" else value.name
        for value in node.operands
        if isinstance(value, Constant)
    ]
    words = [node.op.name, *filter(None, constants)]
    if inside and "length" in node.params:
        words = [node.op.name, f"of {node.params['length']} steps"]
    title = _shortened(" ".join(words))
    outputs = [value for value in node.results if value in graph.outputs]
    detail = ", ".join(f"{value.name} {value.type!r}" for value in node.results)
    kind = f"{kind} group" if inside else kind
    kind = f"{kind} out" if outputs else kind
    return Box(title, _shortened(detail), kind, _attributes(node, numbers), inside)


def _attributes(node: Node, numbers: Numbers) -> str:
    if node.where is None:
        return ""
    expression = numbers.expression(node.where)
    statement = f" data-s={numbers.statement(node.where)}"
    return statement if expression is None else f"{statement} data-e={expression}"


def _of_statements(graph: Graph, numbers: Numbers, backward: set[Node]) -> Drawing:
    """A box for each run of nodes of one statement; of runs that repeat, as the steps of a loop
    that is written out do, one for all."""
    runs = [
        Run(where, is_backward, list(nodes))
        for (where, is_backward), nodes in groupby(
            graph.nodes, key=lambda node: (node.where, node in backward)
        )
    ]
    owners = list(range(len(runs)))
    for start, step, count in repeats([(run.where, run.is_backward) for run in runs], 1):
        owners[start : start + step * count] = [*range(start, start + step)] * count
    times = Counter(owners)
    shown = sorted(times)[:MOST_STATEMENTS]
    box_of = {owner: number for number, owner in enumerate(shown)}
    place: dict[Value, int] = {}
    edges: dict[tuple[int, int], None] = {}
    for run, owner in zip(runs, owners, strict=True):
        box = box_of.get(owner)
        if box is None:
            continue
        for node in run.nodes:
            before = [place[value] for value in node.operands if value in place]
            edges.update({(one, box): None for one in before if one < box})
            place.update((value, box) for value in node.results)
    told = f"The graph has {len(graph.nodes)} nodes: each box is a statement"
    told += ", or a statement in all steps of a loop." if len(times) < len(runs) else "."
    if len(times) > len(shown):
        told += f" The first {len(shown)} boxes of {len(times)} are drawn."
    boxes = [runs[owner].box(times[owner], numbers) for owner in shown]
    return _drawn(boxes, list(edges), told)


class Run(NamedTuple):
    """Nodes of one statement that follow each other."""

    where: Location | None
    is_backward: bool
    nodes: list[Node]

    def box(self, times: int, numbers: Numbers) -> Box:
        """The box for it, and for what repeats it so many times."""
        count = f"{len(self.nodes)} node{'s' * (len(self.nodes) > 1)}"
        count = f"{times} times {count}" if times > 1 else count
        kind = "back" if self.is_backward else ""
        if self.where is None:
            return Box("without a line", count, kind)
        attributes = f" data-s={numbers.statement(self.where)}"
        title = _shortened(self.where.text or self.where.short)
        return Box(title, _shortened(f"{self.where.short}, {count}"), kind, attributes)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _drawn(boxes: Sequence[Box], edges: Sequence[tuple[int, int]], left_out: str) -> Drawing:
    layout = layered([box.size for box in boxes], edges)
    lines = [*_edges(edges, boxes, layout)]
    for box, center in zip(boxes, layout.centers, strict=True):
        lines += _svg(box, center)
    start = layout.centers[0].x if boxes else 0.0
    return Drawing("".join(lines), layout.width, layout.height, start, left_out)


def _edges(edges: Sequence[tuple[int, int]], boxes: Sequence[Box], layout: Layout) -> Iterator[str]:
    for (start, stop), route in zip(edges, layout.routes, strict=True):
        first = Point(route[0].x, route[0].y + boxes[start].size[1] / 2)
        last = Point(route[-1].x, route[-1].y - boxes[stop].size[1] / 2)
        points = [first, *route[1:-1], last]
        path = f"M{first.x:.0f} {first.y:.0f}"
        for one, other in pairwise(points):
            middle = (one.y + other.y) / 2
            path += f"C{one.x:.0f} {middle:.0f} {other.x:.0f} {middle:.0f}"
            path += f" {other.x:.0f} {other.y:.0f}"
        yield f'<path class=edge d="{path}"/>'


def _svg(box: Box, center: Point) -> Iterator[str]:
    width, height = box.size
    x, y = center.x - width / 2, center.y - height / 2
    yield f'<g class="box {box.kind}"{box.attributes}>'
    yield f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="7"/>'
    if box.inside:
        yield f'<text x="{x + MARGIN:.0f}" y="{y + 18:.0f}">{escaped(box.title)}</text>'
        at = x + MARGIN
        for one in box.inside:
            yield f'<g transform="translate({at:.0f} {y + TITLE + MARGIN / 2:.0f})">{one.svg}</g>'
            at += one.width + MARGIN
    else:
        middle = f'x="{center.x:.0f}" text-anchor="middle"'
        yield f'<text {middle} y="{center.y - 3:.0f}">{escaped(box.title)}</text>'
        yield f'<text class=type {middle} y="{center.y + 12:.0f}">{escaped(box.detail)}</text>'
    yield "</g>"
