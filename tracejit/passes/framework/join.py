"""Join traces of one function in one graph, which has their common beginning once.

A trace is straight-line code, with a `decide` wherever Python looked at a value. A `Tree` holds the
traces recorded so far; they branch where a decision had another outcome. `Tree.graph` is the whole
tree as one graph, segment after segment: every segment stands after the one that it branches from,
and every trace ends in a `leave`.

The nodes of one trace are a subsequence of this order, so whatever holds for the order holds on
every trace: a value that is not read again here is not read again there. So the other passes and
the schedule need not know of branches. They only ask whether one segment dominates another before
a node of one reads from the other (`Branches.precedes`).

IR in -> IR out, for two traces of `y = x if x[0] > 0 else -x`:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> trace = '''graph f(x: f8[3]) -> {0}: f8[3]
...   a  f8  = getitem x  index=(0,)    # f:1  if x[0] > 0:
...   b  b1  = greater a 0.0
...   c  ~b1 = decide b  outcome={1}
... {2}'''
>>> other = "  y  f8[3] = negative x  # f:3  return -x\\n"
>>> tree = Tree("f")
>>> for text in (trace.format("x", True, ""), trace.format("y", False, other)):
...     graph = parse_graph(text, OPS)
...     tree.join(graph, ["x"])
0
1
>>> print(print_graph(tree.graph()), end="")
graph f(x: f8[3]) ->
  a        f8    = getitem x  index=(0,)            # f:1  if x[0] > 0:
  b        b1    = greater a 0.0
  c        ~b1   = decide b  number=0 outcomes=(True, False)
  leave_1  ~b1   = leave x  path=0 results=1
  y        f8[3] = negative x                       # f:3  return -x
  leave_2  ~b1   = leave y  path=1 results=1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracejit.ir.branches import Branches, Decision
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.printer import parameter_text
from tracejit.ir.subgraph import Subgraph, bodies_of
from tracejit.ops.control.branches import DECIDE, LEAVE


class Misfit(Exception):
    """A recording that begins otherwise than those it should be joined to."""


class Segment:
    """A straight run of nodes, up to a decision or to the end of a trace.

    `outcome` of the decision at the end of `parent` leads here.
    """

    def __init__(self, parent: Segment | None = None, outcome: Any = None) -> None:
        """Begin with no node."""
        self.parent = parent
        self.outcome = outcome
        self.nodes: list[Node] = []
        self.sides: dict[Any, Segment] = {}
        self.path: int | None = None
        self.outputs: tuple[Value, ...] = ()

    def copied(self, parent: Segment | None, copies: dict[Segment, Segment]) -> Segment:
        """A copy below `parent`, with all that follows; `copies` learns of each."""
        copy = copies[self] = Segment(parent, self.outcome)
        copy.nodes, copy.path, copy.outputs = [*self.nodes], self.path, self.outputs
        copy.sides = {outcome: one.copied(copy, copies) for outcome, one in self.sides.items()}
        return copy

    def outcomes(self) -> list[Any]:
        """The outcomes of the decisions that lead here."""
        found = []
        segment = self
        while segment.parent is not None:
            found.append(segment.outcome)
            segment = segment.parent
        return found[::-1]


class Tree:
    """The traces of one function that were recorded."""

    def __init__(self, name: str) -> None:
        """Begin without traces."""
        self.name = name
        self.paths = 0
        self.keys: list[Any] = []
        self._graph = Graph(name)
        self._inputs: dict[Any, Value] = {}
        self._root = Segment()
        self._decisions: list[Segment] = []

    def copied(self, keys: Mapping[Any, Any]) -> Tree:
        """A copy, to which other traces may be added. Inputs have other `keys`, by their own."""
        copy, copies = Tree(self.name), dict[Segment, Segment]()
        copy.paths = self.paths
        copy.keys = [keys.get(key, key) for key in self.keys]
        copy._graph.adopt(self._graph)
        copy._inputs = {keys.get(key, key): value for key, value in self._inputs.items()}
        copy._root = self._root.copied(None, copies)
        copy._decisions = [copies[segment] for segment in self._decisions]
        return copy

    @property
    def inputs(self) -> list[Value]:
        """The inputs of all traces, in the order of `keys`."""
        return [self._inputs[key] for key in self.keys]

    def join(self, graph: Graph, keys: Sequence[Any]) -> int:
        """Add the trace `graph`, whose inputs are known by `keys`, and return its number. A trace
        that is in the tree already keeps its number.

        Raises Misfit if it differs from others before a decision with another outcome.
        """
        known: dict[Value, Value] = {}
        bodies: dict[Subgraph, Subgraph] = {}
        new: dict[Any, Value] = {}
        for key, value in zip(keys, graph.inputs, strict=True):
            mine = self._inputs.get(key)
            if mine is None:
                mine = new[key] = Value(value.type)
                mine.label = mine.base = mine.name = value.label or value.name
            elif mine.type is not value.type:
                raise Misfit
            known[value] = mine
        self._graph.adopt(graph)

        def mapped(value: Value) -> Value:
            if isinstance(value, Constant):
                return self._graph.constant(value.data)
            return known[value]

        segment, place = self._root, 0
        start: Segment | None = self._root if not self.paths else None
        for node in graph.nodes:
            operands = tuple(map(mapped, node.operands))
            if start is None:
                if place == len(segment.nodes) or not _same(node, operands, segment.nodes[place]):
                    raise Misfit
                copy = segment.nodes[place]
                place += 1
            else:
                copy = _copied(node, operands, bodies)
                segment.nodes.append(copy)
            bodies.update(_paired(node, copy))
            for old, result in zip(node.results, copy.results, strict=True):
                known[old] = result
                if start is not None:
                    _name_as(result, old, known)
            if node.op is DECIDE:
                outcome = node.params["outcome"]
                if start is None and outcome in segment.sides:
                    segment, place = segment.sides[outcome], 0
                else:
                    following = Segment(segment, outcome)
                    if start is None:
                        start = segment
                    segment.sides[outcome] = segment = following
        if start is None:
            if segment.path is None:
                raise Misfit
            return segment.path
        segment.path = self.paths
        segment.outputs = tuple(map(mapped, graph.outputs))
        self._inputs |= new
        self.keys += new
        self.paths += 1
        return segment.path

    @property
    def decisions(self) -> Sequence[Segment]:
        """The segments that end in a decision, by its number in the graph that was made last."""
        return self._decisions

    @property
    def size(self) -> int:
        """The number of nodes."""
        return sum(len(segment.nodes) for segment in _segments(self._root))

    def graph(self, numbered: Sequence[int] = ()) -> Graph:
        """All traces in one graph; the longer side of a decision stands last, so that it need not
        be indented. Each trace returns its number after so many of its outputs as `numbered` says.
        """
        graph = Graph(self.name)
        graph.adopt(self._graph)
        known: dict[Value, Value] = {}
        for value in self.inputs:
            known[value] = graph.add_input(value.name, value.type)
        order = list(_written(self._root))
        numbers = {segment: number for number, segment in enumerate(order)}
        ends, decisions = _layout(order, numbers)
        graph.branches = Branches(ends, decisions)
        self._decisions = [order[decision.segment] for decision in decisions]
        at = {decision.segment: decision.number for decision in decisions}
        for number, segment in enumerate(order):
            for node in segment.nodes:
                operands = tuple(known.get(value, value) for value in node.operands)
                params = node.params
                if node.op is DECIDE:
                    params = {"number": at[number], "outcomes": tuple(segment.sides)}
                types = [value.type for value in node.results]
                copy = Node(node.op, operands, params, types, node.where, node.region, (), number)
                graph.nodes.append(copy)
                for old, result in zip(node.results, copy.results, strict=True):
                    known[old] = result
                    result.take_name(old)
            if segment.path is not None:
                outputs = list(segment.outputs)
                if numbered:
                    outputs.insert(numbered[segment.path], graph.constant(segment.path))
                operands = tuple(known.get(value, value) for value in outputs)
                params = {"path": segment.path, "results": len(operands)}
                kinds = list(LEAVE.result_types([value.type for value in operands], params))
                graph.nodes.append(Node(LEAVE, operands, params, kinds, None, 0, (), number))
        leaving = [node for node in graph.nodes if node.op is LEAVE]
        graph.assign_names([value for node in leaving for value in node.operands])
        return graph


def _same(node: Node, operands: tuple[Value, ...], other: Node) -> bool:
    """Return whether a node applied to these operands is the other one, but for the outcome."""
    if node.op is not other.op or operands != other.operands or node.region != other.region:
        return False
    if node.op is DECIDE or node.params is other.params:
        return True
    if node.params.keys() != other.params.keys():
        return False
    return all(
        parameter_text(value) == parameter_text(other.params[key])
        for key, value in node.params.items()
    )


def _copied(node: Node, operands: tuple[Value, ...], bodies: Mapping[Subgraph, Subgraph]) -> Node:
    """A node of a trace in the tree; a loop that extends another extends that of the tree."""
    types = [value.type for value in node.results]
    params = dict(node.params)
    for name, body in bodies_of(node):
        if body.base is not None and body.base in bodies:
            params[name] = body.extended_from(bodies[body.base])
    return Node(node.op, operands, params, types, node.where, node.region, ())


def _paired(node: Node, other: Node) -> Iterator[tuple[Subgraph, Subgraph]]:
    """The bodies of a node with those of its like."""
    for (_, body), (_, its) in zip(bodies_of(node), bodies_of(other), strict=True):
        yield body, its


def _name_as(value: Value, other: Value, known: dict[Value, Value]) -> None:
    """Call `value` what `other` is called."""
    value.label, value.base, value.name = other.label, other.base, other.name
    if other.derived is not None:
        primal, suffix = other.derived
        value.derived = known.get(primal, primal), suffix


def _segments(root: Segment) -> Iterator[Segment]:
    """All segments, each before those that follow it."""
    pending = [root]
    while pending:
        segment = pending.pop()
        yield segment
        pending += segment.sides.values()


def _written(root: Segment) -> Iterator[Segment]:
    """All segments in the order in which they stand: of sides, the shorter first."""
    sizes: dict[Segment, int] = {}
    for segment in reversed(list(_segments(root))):
        sizes[segment] = len(segment.nodes) + sum(sizes[x] for x in segment.sides.values())
    pending = [root]
    while pending:
        segment = pending.pop()
        yield segment
        sides = sorted(segment.sides.values(), key=_by_outcome)
        if any(side.sides for side in sides):
            sides.sort(key=sizes.__getitem__)
        segment.sides = {side.outcome: side for side in sides}
        pending += reversed(sides)


def _by_outcome(segment: Segment) -> int:
    """True before False; integers from the smallest on."""
    outcome = segment.outcome
    return -outcome if type(outcome) is bool else outcome


def _layout(
    order: Sequence[Segment], numbers: dict[Segment, int]
) -> tuple[tuple[int, ...], tuple[Decision, ...]]:
    """The end of each segment's followers, and the decisions."""
    ends = list(range(1, len(order) + 1))
    for number in reversed(range(len(order))):
        parent = order[number].parent
        if parent is not None:
            above = numbers[parent]
            ends[above] = max(ends[above], ends[number])
    parting = [segment for segment in order if segment.sides]
    decisions = [
        Decision(
            k, numbers[segment], tuple((x.outcome, numbers[x]) for x in segment.sides.values())
        )
        for k, segment in enumerate(parting)
    ]
    return tuple(ends), tuple(decisions)
