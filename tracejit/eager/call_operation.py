"""CallOp: a call of a compiled function as one operation on eager Tensors.

Under a tape a call of a recorded function is one operation: its kernel computes the value. Its
gradient is a CallOp again, from the arguments and the cotangents to the gradients, through nodes
that are added to the same recording. So a gradient of a gradient needs nothing new, the user's
rules run where they belong, and unconnected values are seen on the graph.

A rule that is not linear in its cotangent (gradient clipping) must get the sum of all cotangents.
So a derivative that a tape records does not compute a value with a user's rule again. It reads that
value from the call, whose operation returns it from then on (`TracedCall`, `Sight`). The cotangents
of the value then meet in the call's own derivative, where the rule runs once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.autodiff.forward.linearity import LinearMap
from tracejit.autodiff.forward.tangent import tangents
from tracejit.autodiff.request.request import like
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.compiler.kernel import Kernel
from tracejit.compiler.pipeline import Recorded
from tracejit.eager.traced_call import Derivative, Direction, Extent, RecordedDerivative, TracedCall
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.location import NOWHERE, Origin
from tracejit.ops.control.branches import DECIDE
from tracejit.ops.control.marker_ops import is_ruled
from tracejit.passes.framework.dce import needed_nodes
from tracejit.passes.framework.extract import extract
from tracejit.passes.framework.join import Tree
from tracejit.runtime.single_flight import Mutex
from tracejit.trace.recording.decisions import Failed, Hidden
from tracejit.trace.recording.eager import EAGER, eager_tensor, snapshot
from tracejit.trace.recording.forks import reopened
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor

# The most recordings of one derivative that are kept, one for each branch of its rules.
LIMIT = 64


class CallOp:
    """A function from some values of a recording to others, with its kernel.

    `inputs` are what the kernel takes; `sources` are, for each, the values whose cotangents are its
    gradient: itself, for a Variable every value it had, and what a recompute region has computed
    once more. `outputs` are the results, and `compute(*arrays)` returns them in a list. `seeds` are
    inputs that are constants. `nodes` are those it computes; `parent` is the operation whose
    derivative this is.

    `drawn` are the results of effects inside. Under a tape they are results, too, and inputs of
    every derivative, so that nothing is drawn or asked for again.

    `mutex` is held while nodes are added to the recording: one for all operations of a recording,
    so that one thread at a time extends it.
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
        """The operation from `inputs` to `outputs`; `make` makes the kernels of its derivatives."""
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
        """The results and the draws, by a kernel made when it is first wanted.

        Raises Failed if that kernel would not see that the call takes another branch.
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
        """The kernel of a graph, which returns a sequence."""
        return _sequence(self.make(Recorded(graph, self.origin, outputs)), outputs)

    def part(self, values: Sequence[Value]) -> Callable[..., Sequence[Any]]:
        """The kernel from the inputs and the draws to the intermediate `values`."""
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
    def intermediates(self) -> frozenset[Value]:
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
        """The recordings of a derivative, one for each branch of its rules."""
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
            operations={},
        )

    def keep(self, derivative: Derivative, made: RecordedDerivative) -> None:
        """Keep the recording of a derivative for other calls. It is not kept if Python has read a
        number of this call, or if it decides and no kernel would see that a call takes another
        branch."""
        rules = self._derived.setdefault(derivative, [])
        is_for_all = (made.outputs or not made.decides) and not made.decisions.has_read
        if is_for_all and len(rules) < LIMIT:
            rules.append(made)

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
        """The cotangents of the given outputs, and their transposes for the inputs asked for."""
        linear, places = self._map(derivative.given, derivative.asked)
        seeds = _arguments(linear.ys, "_bar", directions)
        found = iter(linear.transposed(seeds))
        return seeds, [self._summed(k, found) for k in places]

    def obstacle(self, given: Sequence[Value], asked: Sequence[Value]) -> str:
        """The reason why the given outputs are not linear in the inputs asked for, or ""."""
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

    def operation_of(self, made: RecordedDerivative, extent: Extent) -> CallOp | None:
        """The operation of a derivative, which computes again as much of the calls before it as
        `extent` says; None if there is nothing to compute."""
        operation: CallOp | None = made.operations.get(extent)
        if operation is None and made.outputs:
            with self.mutex.here():
                operation = made.operations[extent] = made.operations.get(
                    extent
                ) or self._make_operation(made, extent)
        return operation

    def _make_operation(self, made: RecordedDerivative, extent: Extent) -> CallOp:
        recording = self.recording
        stops = self._stops(extent)
        own = [*made.seeds, *[hidden.value for hidden in made.hidden]]
        nodes = needed_nodes(made.nodes, made.outputs, {*stops, *self.seeds, *own})
        operands = [value for node in nodes for value in node.operands]
        met = [value for value in (*operands, *made.outputs) if value in stops]
        aliases = {value: stops[value] for value in met if stops[value] is not value}
        inputs = [*self._inputs_among(met, stops, made.versions, nodes), *own]
        for known in made.operations.values():
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
        operation = CallOp(
            recording, self.origin, inputs, made.outputs, compute, self.seeds, self.make
        )
        operation.parent, operation.mutex, operation.nodes, operation.tree = (
            self,
            self.mutex,
            nodes,
            tree,
        )
        operation.versions, operation.aliases, operation.drawn = made.versions, aliases, made.drawn
        operation.decisions = made.decisions
        operation.sources = [list(made.versions.get(value, [value])) for value in inputs]
        for copy, original in aliases.items():
            operation.sources[inputs.index(original)].append(copy)
        return operation

    def _inputs_among(
        self,
        met: Sequence[Value],
        stops: Mapping[Value, Value],
        versions: Mapping[Value, list[Value]],
        nodes: Sequence[Node],
    ) -> list[Value]:
        """The values of earlier calls that are read: inputs of this operation, then the others.
        A Variable is among them even where only a value that was assigned to it is met."""
        computed = {value for node in nodes for value in node.results}
        reads = {stops[value]: None for value in met}
        for value, later in versions.items():
            if value in stops and not computed.isdisjoint(later):
                reads[value] = None
        places = {value: place for place, value in enumerate(self.inputs)}
        return sorted(reads, key=lambda value: places.get(value, len(places)))

    def _stops(self, extent: Extent) -> dict[Value, Value]:
        """The values that a derivative of this operation reads, each with itself; and the values
        that a recompute region has computed again, each with its original."""
        stops: dict[Value, Value] = {}
        operation: CallOp | None = self
        while operation is not None:
            values = {*operation.inputs, *operation.drawn}
            if operation is not self or extent is not Extent.ALL:
                values |= (
                    operation.intermediates if extent is Extent.NOTHING else operation.by_rules
                )
            stops |= {value: value for value in values}
            operation = operation.parent
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
    """Return whether an intermediate value may be a result of the call, too."""
    return value.type.is_inexact and value.type.form != "weak"


def _sequence(kernel: Kernel, outputs: int) -> Callable[..., Sequence[Any]]:
    """The function of a kernel, which returns a sequence."""
    forward = kernel.forward
    if outputs > 1:
        return forward
    return lambda *arrays: (forward(*arrays),)


def _tensors(found: Sequence[Any], values: Sequence[Value]) -> list[Tensor]:
    """Wrap the results of a kernel as eager Tensors of the types of `values`."""
    return [eager_tensor(data, value.type) for data, value in zip(found, values, strict=False)]


def _name(value: Value) -> str:
    return value.label or value.base or value.name or "out"
