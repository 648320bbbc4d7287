"""Path: what one call of a function computes, as one operation on eager Tensors.

Under a tape a call of a recorded function is one operation: its kernel computes the value, and its
gradient is a path again, from the arguments and the cotangents to the gradients, through nodes that
are added to the same recording. So the gradient of a gradient is nothing new, the user's rules run
where they belong, and what is unconnected is seen on the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.autodiff.adjoint import gradients
from tracejit.autodiff.linearity import LinearMap
from tracejit.autodiff.tangent import tangents
from tracejit.differentiate import like
from tracejit.ir.graph import Graph, Value
from tracejit.ir.location import NOWHERE, Origin
from tracejit.ir.types import HANDLE
from tracejit.kernel import Kernel
from tracejit.ops.markers import OVERRIDE, LinearCall, Marker
from tracejit.passes.extract import extract
from tracejit.pipeline import Recorded
from tracejit.runtime.turns import Mutex
from tracejit.trace.decisions import Failed, Hidden
from tracejit.trace.eager import EAGER, eager_tensor, handle_tensor, snapshot
from tracejit.trace.forks import reopened
from tracejit.trace.record import Event, Recording
from tracejit.trace.tensor import Tensor


class Path:
    """A function from some values of a recording to others, with its kernel.

    `inputs` are what the kernel takes; `sources` are, for each, the values whose cotangents are its
    gradient: itself, and for a Variable every value it had. `outputs` are the results, and
    `compute(*arrays)` answers them in a list. `seeds` are inputs that are constants.

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
        versions = {values[0]: values for values in recording.versions.values()}
        self.sources = [versions.get(value, [value]) for value in inputs]
        self.drawn: list[Value] = []
        self.decides = False
        self.mutex = Mutex()
        self._compute_all: Callable[..., Sequence[Any]] | None = None
        self._derived: dict[tuple[Any, ...], Derived] = {}

    def __call__(self, operands: Sequence[Tensor]) -> list[Tensor]:
        """The results for eager operands, one operation for the tapes that see it."""
        data = [operand._value.data for operand in operands]
        if not EAGER.windows or not self.outputs:
            return _tensors(self.compute(*data), self.outputs)
        values = [*self.outputs, *self.drawn]
        found = self.compute(*data) if not self.drawn else self._all(*data)
        results = _tensors(found, values)
        operands = [Tensor(snapshot(operand._value), EAGER) for operand in operands]
        known = [*operands, *results[len(self.outputs) :]]

        def rule(gs: Sequence[Tensor | None], wanted: Sequence[bool]) -> list[Tensor | None]:
            return self._gradients(known, gs, wanted)

        def push(dots: Sequence[Tensor | None]) -> list[Tensor | None]:
            return self._tangents(known, dots)

        def linear(moving: Sequence[bool], wanted: Sequence[bool]) -> LinearCall:
            return self._linear(known, moving, wanted)

        name = self.recording.graph.name
        marker = Marker(name, "", rule, pruned=True, push=push, linear=linear)
        made = OVERRIDE(*results, *operands, outputs=len(results), grad=marker)
        return [made] if len(results) == 1 else list(made)[: len(self.outputs)]

    def _all(self, *data: Any) -> Sequence[Any]:
        """The results and what was drawn on the way, by a kernel made when it is first wanted.

        Raises Failed where that kernel would not see that the call takes another way.
        """
        if self.decides:
            raise Failed
        if self._compute_all is None:
            graph = self.recording.graph
            outputs = [*self.outputs, *self.drawn]
            # What may raise has to, in a derivative it is over.
            seeds = {x: one for x, one in self.seeds.items() if x.node is None}
            with self.mutex.here():
                graph = extract(graph, graph.name, self.inputs, outputs, seeds)
            self._compute_all = self._computation(graph, len(outputs))
        return self._compute_all(*data)

    def _computation(self, graph: Graph, outputs: int) -> Callable[..., Sequence[Any]]:
        """The kernel of a graph, which answers a sequence."""
        forward = self.make(Recorded(graph, self.origin, outputs)).forward
        if outputs > 1:
            return forward
        return lambda *arrays: (forward(*arrays),)

    def _gradients(
        self, operands: Sequence[Tensor], gs: Sequence[Tensor | None], wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        """The gradients of the wanted operands, None for others, by the path that computes them."""
        asked = tuple([k for k, wants in enumerate(wanted) if wants])
        answers: list[Tensor | None] = [None] * len(wanted)
        found = self._by_derived(operands, gs, lambda given: self._pulled(given, asked), asked)
        for k, g in zip(asked, found, strict=True):
            answers[k] = g
        return answers

    def _tangents(
        self, operands: Sequence[Tensor], dots: Sequence[Tensor | None]
    ) -> list[Tensor | None]:
        """The tangents of the results, by the path that computes them."""
        return self._by_derived(operands, dots, self._pushed, "tangents")

    def _linear(
        self, operands: Sequence[Tensor], moving: Sequence[bool], wanted: Sequence[bool]
    ) -> LinearCall:
        """The call as a linear map of the operands that move to the results that are wanted."""
        asked = tuple([k for k, moves in enumerate(moving) if moves])
        with self.mutex.here():
            obstacle = self._map([k for k, wants in enumerate(wanted) if wants], asked).obstacle

        def transposed(gs: Sequence[Tensor | None]) -> list[Tensor | None]:
            kind = "transposed", asked
            found = self._by_derived(operands, gs, lambda given: self._moved(given, asked), kind)
            by_place = dict(zip(asked, found, strict=True))
            return [by_place.get(k) for k in range(len(moving))]

        return LinearCall(obstacle, transposed)

    def _map(self, given: Sequence[int], asked: Sequence[int]) -> LinearMap:
        """What takes the inputs that are asked for to the given outputs."""
        recording = self.recording
        values = [*self.outputs, *self.drawn]
        ys = [Tensor(values[k], recording) for k in given]
        xs = [Tensor(self.inputs[k], recording) for k in asked]
        return LinearMap(recording, ys, xs, list(recording.graph.nodes))

    def _moved(
        self, given: Sequence[int], asked: Sequence[int]
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        """Directions of the given outputs, and what the transpose makes of them for the inputs
        asked for."""
        recording = self.recording
        linear = self._map(given, asked)
        seeds = [recording.argument(f"{_name(y._value)}_bar", y.type) for y in linear.ys]
        pairs = zip(linear.transposed(seeds), asked, strict=True)
        return seeds, [
            None if g is None else like(g, Tensor(self.inputs[k], recording)) for g, k in pairs
        ]

    def _by_derived(
        self,
        operands: Sequence[Tensor],
        directions: Sequence[Tensor | None],
        derivative: Derivative,
        kind: Any,
    ) -> list[Tensor | None]:
        """The results of a derivative of this path along those directions that there are."""
        given = tuple([k for k, direction in enumerate(directions) if direction is not None])
        derived = self._derived.get((given, kind))
        if derived is None:
            with self.mutex.here():
                derived = self._derived.get((given, kind)) or self._derive(derivative, given)
                self._derived[given, kind] = derived
        if derived.path is None:
            return [None] * len(derived.present)
        seeds = [direction for direction in directions if direction is not None]
        extra = [tensor_of_hidden(hidden) for hidden in derived.hidden]
        results = derived.path([*operands, *seeds, *extra])
        found = iter(results)
        answers = [next(found) if there else None for there in derived.present]
        for event in derived.events:
            run_event(event, [next(found) for _ in event.values])
        return answers

    def _pulled(
        self, given: Sequence[int], asked: Sequence[int]
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        """The cotangents of the given outputs, and the gradients asked for."""
        recording = self.recording
        outputs = [*self.outputs, *self.drawn]
        ys = [Tensor(outputs[k], recording) for k in given]
        seeds = [recording.argument(f"{_name(y._value)}_bar", y.type) for y in ys]
        xs = [Tensor(value, recording) for k in asked for value in self.sources[k]]
        found = iter(gradients(ys, xs, seeds))
        return seeds, [self._summed(k, found) for k in asked]

    def _pushed(self, given: Sequence[int]) -> tuple[list[Tensor], list[Tensor | None]]:
        """The tangents of the given inputs, and those of all outputs."""
        recording = self.recording
        xs = [Tensor(self.inputs[k], recording) for k in given]
        dots = [recording.argument(f"{_name(x._value)}_dot", x.type) for x in xs]
        moving = [
            (Tensor(value, recording), dot)
            for k, dot in zip(given, dots, strict=True)
            for value in self.sources[k]
        ]
        ys = [Tensor(y, recording) for y in (*self.outputs, *self.drawn)]
        found = tangents(ys, [x for x, _ in moving], [dot for _, dot in moving])
        pairs = zip(found, ys, strict=True)
        return dots, [None if dot is None else like(dot, y, "_dot") for dot, y in pairs]

    def _derive(self, derivative: Derivative, given: Sequence[int]) -> Derived:
        """The path from inputs and directions to what `derivative` answers for those given."""
        recording = self.recording
        known = set(recording.hidden)
        first_event = len(recording.events)
        with reopened(recording), recording.at(NOWHERE):
            seeds, answers = derivative(given)
        present = [answer is not None for answer in answers]
        events = recording.events[first_event:]
        outputs = [answer._value for answer in answers if answer is not None]
        outputs += [value for event in events for value in event.values]
        hidden = [value for key, value in recording.hidden.items() if key not in known]
        if not outputs:
            return Derived(None, present, hidden, events)
        given_values = [*self.inputs, *self.drawn, *[seed._value for seed in seeds]]
        inputs = [*given_values, *[each.value for each in hidden]]
        name = f"{recording.graph.name}_gradient"
        graph = extract(recording.graph, name, inputs, outputs, self.seeds)
        compute = self._computation(graph, len(outputs))
        path = Path(recording, self.origin, inputs, outputs, compute, self.seeds, self.make)
        path.mutex = self.mutex
        return Derived(path, present, hidden, events)

    def _summed(self, k: int, found: Any) -> Any:
        """The gradient of input k: the sum over its sources."""
        total: Any = None
        for _ in self.sources[k]:
            g = next(found)
            if g is not None:
                total = g if total is None else total + g
        return None if total is None else like(total, Tensor(self.inputs[k], self.recording))


def _tensors(found: Sequence[Any], values: Sequence[Value]) -> list[Tensor]:
    """What a kernel has computed, as eager Tensors of the types of `values`."""
    return [eager_tensor(data, value.type) for data, value in zip(found, values, strict=True)]


Derivative = Callable[[Sequence[int]], tuple[list[Tensor], list[Tensor | None]]]


class Derived(NamedTuple):
    """A derivative of a path: its path, None where nothing is connected; for each answer whether it
    is there; what the rules read besides; and the events in them."""

    path: Path | None
    present: list[bool]
    hidden: list[Hidden]
    events: list[Event]


def run_event(event: Event, values: Sequence[Tensor]) -> None:
    """Let an event take place, unless what runs now has run before."""
    if event.run is None:
        EAGER.assign(event.variable, *values)
    else:
        run = event.run
        EAGER.once(lambda: run(*[value._value.data for value in values]))


def tensor_of_hidden(hidden: Hidden) -> Tensor:
    """The eager Tensor for a hidden argument; a Variable is read."""
    holder = hidden.holder
    if isinstance(holder, Value):
        return Tensor(holder, EAGER)
    if hidden.value.type is HANDLE:
        return handle_tensor(holder)
    return Tensor(EAGER.lift(holder), EAGER)


def _name(value: Value) -> str:
    return value.label or value.base or value.name or "out"
