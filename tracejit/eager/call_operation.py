"""Path: what one call of a function computes, as one operation on eager Tensors.

Under a tape a call of a recorded function is one operation: its kernel computes the value, and its
gradient is a path again, from the arguments and the cotangents to the gradients, through nodes that
are added to the same recording. So the gradient of a gradient is nothing new, the user's rules run
where they belong, and what is unconnected is seen on the graph.

A rule that is not linear in its cotangent (gradient clipping) must be handed the sum of all that
arrives. Where a tape records a derivative, the derivative therefore does not compute again what a
rule of the user's stands for. It reads that value from the call, whose operation has it for a
result from then on (`TracedCall`, `Sight`): the cotangents of the value meet in the call's own
derivative, where the rule runs once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.autodiff.adjoint import gradients
from tracejit.autodiff.linearity import LinearMap
from tracejit.autodiff.request import like
from tracejit.autodiff.tangent import tangents
from tracejit.compiler.kernel import Kernel
from tracejit.compiler.pipeline import Recorded
from tracejit.eager.traced_call import Derivative, Direction, Extent, RecordedDerivative, TracedCall
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.location import NOWHERE, Origin
from tracejit.ops.branches import DECIDE
from tracejit.ops.marker_ops import is_ruled
from tracejit.passes.dce import needed_nodes
from tracejit.passes.extract import extract
from tracejit.passes.join import Tree
from tracejit.runtime.single_flight import Mutex
from tracejit.trace.decisions import Failed, Hidden
from tracejit.trace.eager import EAGER, eager_tensor, snapshot
from tracejit.trace.forks import reopened
from tracejit.trace.record import Recording
from tracejit.trace.tensor import Tensor

# So many ways through the rules of one derivative are kept.
LIMIT = 64


class CallOp:
    """A function from some values of a recording to others, with its kernel.

    `inputs` are what the kernel takes; `sources` are, for each, the values whose cotangents are its
    gradient: itself, for a Variable every value it had, and what a recompute region has computed
    once more. `outputs` are the results, and `compute(*arrays)` answers them in a list. `seeds` are
    inputs that are constants. `nodes` are what it computes; `parent` is the path whose derivative
    this is.

    `drawn` are the results of effects on the way. Under a tape they are results, too, and inputs of
    every derivative, so that what was drawn or answered is never drawn or asked again.

    `mutex` is held where nodes are added to the recording: one for all paths of a recording, which
    one thread at a time goes on with.
    """

    def __init__(
        self,
        recording: Recording,
        origin: Origin,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        compute: Callable[..., Sequence[Any]],
        seeds: Mapping[Value, Any],
        make: Callable[[Recorded], Kernel],
    ) -> None:
        """The path from `inputs` to `outputs`; `make` makes the kernels of its derivatives."""
        self.make = make
        self.recording = recording
        self.origin = origin
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.compute = compute
        self.seeds = seeds
        self.versions = {values[0]: values for values in recording.versions.values()}
        self.sources = [self.versions.get(value, [value]) for value in inputs]
        self.nodes: Sequence[Node] = list(recording.graph.nodes)
        self.aliases: dict[Value, Value] = {}
        self.parent: CallOp | None = None
        self.decisions = recording.decisions
        self.tree: Tree | None = None
        self.drawn: list[Value] = []
        self.decides = False
        self.mutex = Mutex()
        self._compute_all: Callable[..., Sequence[Any]] | None = None
        self._parts: dict[tuple[Value, ...], Callable[..., Sequence[Any]]] = {}
        self._derived: dict[Derivative, list[RecordedDerivative]] = {}

    def __call__(
        self, operands: Sequence[Tensor], caller: TracedCall | None = None
    ) -> list[Tensor]:
        """The results for eager operands, one operation for the tapes that see it; of a derivative,
        `caller` is the call that it is taken of."""
        data = [operand._value.data for operand in operands]
        if not EAGER.windows or not self.outputs:
            return _tensors(self.compute(*data), self.outputs)
        found = self.compute(*data) if not self.drawn else self._all(*data)
        call = TracedCall(self, [Tensor(snapshot(x._value), EAGER) for x in operands], caller)
        return call.show(found)[: len(self.outputs)]

    def _all(self, *data: Any) -> Sequence[Any]:
        """The results and what was drawn on the way, by a kernel made when it is first wanted.

        Raises Failed where that kernel would not see that the call takes another way.
        """
        if self.parent is not None:
            return self.compute(*data)
        if self.decides:
            raise Failed("decision", "what only the call itself knows")
        if self._compute_all is None:
            graph = self.recording.graph
            outputs = [*self.outputs, *self.drawn]
            # What may raise has to, in a derivative it is over.
            seeds = {x: one for x, one in self.seeds.items() if x.node is None}
            with self.mutex.here():
                graph = extract(graph, graph.name, self.inputs, outputs, seeds, self.nodes)
            self._compute_all = self._computation(graph, len(outputs))
        return self._compute_all(*data)

    def _computation(self, graph: Graph, outputs: int) -> Callable[..., Sequence[Any]]:
        """The kernel of a graph, which answers a sequence."""
        return _sequence(self.make(Recorded(graph, self.origin, outputs)), outputs)

    def part(self, values: Sequence[Value]) -> Callable[..., Sequence[Any]]:
        """The kernel from the inputs, and what was drawn, to `values` on the way."""
        known = self._parts.get(key := tuple(values))
        if known is None:
            nodes = [node for node in self.nodes if not node.op.effect]
            given = [*self.inputs, *self.drawn]
            name = f"{self.recording.graph.name}_part"
            graph = self.recording.graph
            graph = extract(graph, name, given, values, self.seeds, nodes, self.aliases)
            known = self._parts[key] = self._computation(graph, len(values))
        return known

    @functools.cached_property
    def on_the_way(self) -> frozenset[Value]:
        """The values that it computes and a derivative may read."""
        values = [value for node in self.nodes for value in node.results]
        return frozenset(filter(_is_residual, values))

    @functools.cached_property
    def by_rules(self) -> frozenset[Value]:
        """Those of them that a rule of the user's stands for."""
        values = [value for node in self.nodes if is_ruled(node) for value in node.results]
        return frozenset(filter(_is_residual, values))

    # Derivatives

    def derived(self, derivative: Derivative) -> Sequence[RecordedDerivative]:
        """The recordings of a derivative, one for each way through its rules."""
        return self._derived.get(derivative, ())

    def derive(
        self,
        derivative: Derivative,
        known: Mapping[Value, Any],
        directions: Sequence[Any],
        forced: Sequence[Any] = (),
    ) -> RecordedDerivative:
        """Record a derivative, in a call whose values are `known` and whose cotangents or tangents
        are `directions`; the first decisions of its rules have the outcomes `forced`."""
        recording = self.recording
        hidden: dict[int, Hidden] = {}
        decisions = self.decisions.followed_by(recording.graph, hidden, known, forced)
        first = len(recording.graph.nodes)
        record = {
            Direction.PULLED: self._pulled,
            Direction.PUSHED: self._pushed,
            Direction.TRANSPOSED: self._transposed,
        }[derivative.kind]
        with reopened(recording, decisions, hidden), recording.at(NOWHERE):
            seeds, answers = record(derivative, directions)
            events = recording.events
            versions = {values[0]: values for values in recording.versions.values()}
        decisions.prefix.forget()
        new = recording.graph.nodes[first:]
        own = [node for node in recording.graph.nodes[:first] if not node.op.effect]
        effects = [node for node in new if node.op.effect and node.op is not DECIDE]
        return RecordedDerivative(
            seeds=[seed._value for seed in seeds],
            answers=[None if answer is None else answer._value for answer in answers],
            hidden=list(hidden.values()),
            events=events,
            decisions=decisions,
            decides=any(node.op is DECIDE for node in new),
            versions=self.versions | versions,
            nodes=own + new,
            drawn=[value for node in effects for value in node.results],
            paths={},
        )

    def keep(self, derivative: Derivative, made: RecordedDerivative) -> None:
        """Let what was recorded for a derivative serve other calls, too; unless it decides, and no
        kernel would see that a call takes another way, or Python has read a number of this one."""
        ways = self._derived.setdefault(derivative, [])
        is_for_all = (made.outputs or not made.decides) and not made.decisions.has_read
        if is_for_all and len(ways) < LIMIT:
            ways.append(made)

    def _pulled(
        self, derivative: Derivative, directions: Sequence[Any]
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        """The cotangents of the given outputs, and the gradients asked for."""
        recording = self.recording
        ys = [Tensor(value, recording) for value in derivative.given]
        seeds = _arguments(ys, "_bar", directions)
        places = [self.inputs.index(value) for value in derivative.asked]
        xs = [Tensor(value, recording) for k in places for value in self.sources[k]]
        found = iter(gradients(ys, xs, seeds, self.nodes))
        return seeds, [self._summed(k, found) for k in places]

    def _pushed(
        self, derivative: Derivative, directions: Sequence[Any]
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        """The tangents of the given inputs, and those of all outputs."""
        recording = self.recording
        xs = [Tensor(value, recording) for value in derivative.given]
        dots = _arguments(xs, "_dot", directions)
        moving = [
            (Tensor(value, recording), dot)
            for x, dot in zip(xs, dots, strict=True)
            for value in self.sources[self.inputs.index(x._value)]
        ]
        ys = [Tensor(y, recording) for y in derivative.asked]
        found = tangents(ys, [x for x, _ in moving], [dot for _, dot in moving], self.nodes)
        pairs = zip(found, ys, strict=True)
        return dots, [None if dot is None else like(dot, y, "_dot") for dot, y in pairs]

    def _transposed(
        self, derivative: Derivative, directions: Sequence[Any]
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        """Directions of the given outputs, and what the transpose makes of them for the inputs
        asked for."""
        linear, places = self._map(derivative.given, derivative.asked)
        seeds = _arguments(linear.ys, "_bar", directions)
        found = iter(linear.transposed(seeds))
        return seeds, [self._summed(k, found) for k in places]

    def obstacle(self, given: Sequence[Value], asked: Sequence[Value]) -> str:
        """Why the given outputs are not linear in the inputs asked for; empty if they are."""
        with self.mutex.here():
            return self._map(given, asked)[0].obstacle

    def _map(
        self, given: Sequence[Value], asked: Sequence[Value]
    ) -> tuple[LinearMap, Sequence[int]]:
        """The map from the inputs `asked` to the outputs `given`, and the places of the inputs."""
        recording = self.recording
        places = [self.inputs.index(value) for value in asked]
        ys = [Tensor(value, recording) for value in given]
        xs = [Tensor(value, recording) for k in places for value in self.sources[k]]
        return LinearMap(recording, ys, xs, self.nodes), places

    def _summed(self, k: int, found: Any) -> Any:
        """The gradient of input k: the sum over its sources."""
        total: Any = None
        for _ in self.sources[k]:
            g = next(found)
            if g is not None:
                total = g if total is None else total + g
        return None if total is None else like(total, Tensor(self.inputs[k], self.recording))

    def path_of(self, made: RecordedDerivative, extent: Extent) -> CallOp | None:
        """The path of a derivative, which computes again as much of the calls before it as
        `extent` says; None where there is nothing to compute."""
        path: CallOp | None = made.paths.get(extent)
        if path is None and made.outputs:
            with self.mutex.here():
                path = made.paths[extent] = made.paths.get(extent) or self._path_of(made, extent)
        return path

    def _path_of(self, made: RecordedDerivative, extent: Extent) -> CallOp:
        recording = self.recording
        stops = self._stops(extent)
        own = [*made.seeds, *[hidden.value for hidden in made.hidden]]
        nodes = needed_nodes(made.nodes, made.outputs, {*stops, *self.seeds, *own})
        operands = [value for node in nodes for value in node.operands]
        met = [value for value in (*operands, *made.outputs) if value in stops]
        aliases = {value: stops[value] for value in met if stops[value] is not value}
        inputs = [*self._inputs_among(met, stops, made.versions, nodes), *own]
        for known in made.paths.values():
            if known.inputs == inputs:
                return known  # type: ignore[no-any-return]
        outputs = [*made.outputs, *made.drawn]
        name = f"{recording.graph.name}_gradient"
        graph = extract(recording.graph, name, inputs, outputs, self.seeds, nodes, aliases)
        tree = Tree(name) if made.decides else None
        if tree is None:
            compute = self._computation(graph, len(outputs))
        else:
            tree.join(graph, range(len(inputs)))
            recorded = Recorded(tree.graph(), self.origin, 0, trace_outputs=(len(outputs),))
            compute = _sequence(self.make(recorded), len(outputs))
        path = CallOp(recording, self.origin, inputs, made.outputs, compute, self.seeds, self.make)
        path.parent, path.mutex, path.nodes, path.tree = self, self.mutex, nodes, tree
        path.versions, path.aliases, path.drawn = made.versions, aliases, made.drawn
        path.decisions = made.decisions
        path.sources = [list(made.versions.get(value, [value])) for value in inputs]
        for copy, original in aliases.items():
            path.sources[inputs.index(original)].append(copy)
        return path

    def _inputs_among(
        self,
        met: Sequence[Value],
        stops: Mapping[Value, Value],
        versions: Mapping[Value, list[Value]],
        nodes: Sequence[Node],
    ) -> list[Value]:
        """The values of earlier calls that are read: inputs of this path in order, then the others.
        A Variable is among them even where only a value that was assigned to it is met."""
        computed = {value for node in nodes for value in node.results}
        reads = {stops[value]: None for value in met}
        for value, later in versions.items():
            if value in stops and not computed.isdisjoint(later):
                reads[value] = None
        places = {value: place for place, value in enumerate(self.inputs)}
        return sorted(reads, key=lambda value: places.get(value, len(places)))

    def _stops(self, extent: Extent) -> dict[Value, Value]:
        """The values that a derivative of this path reads, each with itself; and what a recompute
        region has computed once more, with what it computed first."""
        stops: dict[Value, Value] = {}
        path: CallOp | None = self
        while path is not None:
            values = {*path.inputs, *path.drawn}
            if path is not self or extent is not Extent.ALL:
                values |= path.on_the_way if extent is Extent.NOTHING else path.by_rules
            stops |= {value: value for value in values}
            path = path.parent
        for copy, original in self.recording.originals.items():
            if original in stops:
                stops.setdefault(copy, original)
        return stops


def _arguments(values: Sequence[Tensor], suffix: str, directions: Sequence[Any]) -> list[Tensor]:
    """Inputs for the cotangents or tangents of `values`, which are `directions` in this call."""
    seeds = []
    for tensor, direction in zip(values, directions, strict=True):
        recording: Any = tensor._recording
        seed = recording.argument(f"{_name(tensor._value)}{suffix}", tensor.type)
        recording.decisions.prefix.note({seed._value: direction})
        seeds.append(seed)
    return seeds


def _is_residual(value: Value) -> bool:
    """Tell if a value on the way can be a result of the call, too."""
    return value.type.is_inexact and value.type.form != "weak"


def _sequence(kernel: Kernel, outputs: int) -> Callable[..., Sequence[Any]]:
    """The function of a kernel, which answers a sequence."""
    forward = kernel.forward
    if outputs > 1:
        return forward
    return lambda *arrays: (forward(*arrays),)


def _tensors(found: Sequence[Any], values: Sequence[Value]) -> list[Tensor]:
    """Wrap the results of a kernel as eager Tensors of the types of `values`."""
    return [eager_tensor(data, value.type) for data, value in zip(found, values, strict=False)]


def _name(value: Value) -> str:
    return value.label or value.base or value.name or "out"
