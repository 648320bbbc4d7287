"""The trace tree of a function: the recordings of one kind of call, joined in one kernel.

A call whose decisions fall as none has before raises BranchNotRecorded in the kernel. It is
recorded once more, with the decisions that the kernel has met, and joined to the others; from then
on the kernel has that branch, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.compiler.kernel import Kernel
from tracejit.compiler.pipeline import Recorded
from tracejit.eager.traced_call import Attempt, attempt, tensor_of_hidden
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import HANDLE
from tracejit.passes.framework.join import Misfit, Tree
from tracejit.runtime.dispatch import Answers, drawing, numpy_generator
from tracejit.runtime.identity import Identity
from tracejit.runtime.single_flight import Mutex
from tracejit.specialise.results import Finished
from tracejit.support.errors import Where
from tracejit.trace.arguments.signature import Call
from tracejit.trace.capture.captures import Captures
from tracejit.trace.guards.access_paths import AccessPath, Place
from tracejit.trace.guards.conditions import ReadConditions
from tracejit.trace.recording.decisions import Failed, Hidden
from tracejit.trace.recording.eager import EAGER, handle_tensor
from tracejit.trace.recording.mutable_attributes import Attribute, assigns_inexact
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.variable import Variable
from tracejit.trace.structure.trees import unflatten
from tracejit.trace.tensor.tensor import TENSORS, Tensor

MAX_NODES = 50_000


class RecordedCall(NamedTuple):
    """A recording that has ended, and the calls that it is for.

    `fixed` are the numbers, by leaf name, that it holds for, those that Python has read among them;
    the leaves in `baked` are not arguments of the kernel, those in `in_order` must lie in C order.
    `read` are the Variables, by id, whose values reach Python or a result; `readers` say where
    Python has read a number. `hidden` is what the kernel takes besides the arguments of the user's.
    `identity` says which leaves are one object, where the function asks. `lent` are the attributes
    that the kernel reads, with the number in it where Python has read it, at `lent_readers`.
    `reads` are the conditions of what was read, where they decide in place of the captures.
    """

    call: Call
    recording: Recording
    captures: Captures
    finished: Finished
    differentiated: frozenset[str]
    fixed: dict[str, Any]
    baked: frozenset[str]
    in_order: frozenset[str]
    read: set[int]
    readers: dict[str, Where | None]
    hidden: list[Hidden]
    identity: Identity | None = None
    lent: dict[tuple[int, str], str] = {}  # noqa: RUF012
    lent_readers: dict[str, Where | None] = {}  # noqa: RUF012
    reads: ReadConditions | None = None

    @property
    def sizes(self) -> Sizes | None:
        """The free dimensions; None if there are none."""
        sizes = self.recording.graph.sizes
        return sizes if sizes is not None and sizes.free() else None

    def takes_what(self, other: RecordedCall) -> bool:
        """Return whether its kernel takes the same calls, but for the decisions in them."""
        same = self.fixed.keys() == other.fixed.keys() and all(
            repr(value) == repr(other.fixed[name]) for name, value in self.fixed.items()
        )
        if not same or self.baked != other.baked or self.identity != other.identity:
            return False
        if self.lent != other.lent:
            return False
        return self.recording.graph.take_sizes(other.recording.graph)


class Trace:
    """One recording, with a kernel of its own where it is called on eager Tensors: under a tape,
    a call takes one branch."""

    def __init__(self, one: RecordedCall, make: Callable[[Recorded], Kernel], target: str) -> None:
        """Wrap what was recorded; `target` is the function of its kernel that is called."""
        self.one = one
        self._kernel = make, target
        self.stand_alone()
        self._target: Callable[..., Any] | None = None
        self._operation = one.finished.operation(one.recording, self._compute, make)

    def alike(self, one: RecordedCall) -> Trace:
        """The trace of what another function would have recorded, with the same kernel."""
        other = copy.copy(self)
        other.one = one
        return other

    def stand_alone(self) -> None:
        """Be a tree of its own: made again where the sizes of the recording have changed."""
        make, target = self._kernel
        alone = TraceTree(self)
        self.tree = alone.tree
        self._make: Callable[[], Any] = lambda: getattr(make(alone.recorded()), target)

    def _compute(self, *arrays: Any) -> Any:
        """The kernel's function, which is made when it is first called: before anything is added
        to the recording."""
        if self._target is None:
            with self._operation.mutex.here():
                self._target = self._target or self._make()
        return self._target(*arrays)

    def attempt(self, leaves: Sequence[Any]) -> Attempt:
        """Make the call on eager Tensors and other leaves."""
        return attempt(lambda: self._call(leaves), self.tree)

    def _call(self, leaves: Sequence[Any]) -> Any:
        """Call the kernel as one operation: leaves and results are eager Tensors."""
        finished = self.one.finished
        for commit in finished.commits:
            if name := assigns_inexact(commit.event):
                raise Failed("attribute", name)  # which holds what a tape follows
        operands = [*self._operands(leaves), *[self._hidden_tensor(one) for one in self.one.hidden]]
        generators = [x._value.data for x in operands if x.type is HANDLE]
        tensors = dict(
            zip(finished.places, drawing(self._operation, generators, operands), strict=True)
        )
        by_name = {leaf.name: x for leaf, x in zip(self.one.call.leaves, leaves, strict=True)}
        for commit in finished.commits:
            commit.run_eagerly([tensors[indices] for indices in commit.places], by_name)
        built = [
            unflatten(
                output.structure,
                [tensors[value] if kind == "result" else value for kind, value in output.leaves],
            )
            for output in finished.outputs
        ]
        return built[0] if len(built) == 1 else tuple(built)

    def _operands(self, values: Sequence[Any]) -> Iterator[Tensor]:
        """The arguments of the kernel as eager Tensors."""
        for leaf, value in zip(self.one.call.leaves, values, strict=True):
            if leaf.name in self.one.baked:
                continue
            if type(value) in TENSORS:
                yield value
                continue
            if leaf.role in ("generator", "sparse"):
                yield handle_tensor(numpy_generator(value))
                continue
            if leaf.role == "number" and leaf.name in self.one.differentiated:
                assert leaf.type is not None
                value = leaf.type.dtype.type(value)
            yield Tensor(EAGER.lift(value), EAGER)

    def _hidden_tensor(self, hidden: Hidden) -> Tensor:
        """A hidden argument as an eager Tensor; a Variable that is only assigned is not read."""
        holder = hidden.holder
        if type(holder) is Variable and id(holder) not in self.one.read:
            return Tensor(EAGER.version(holder), EAGER)
        return tensor_of_hidden(hidden)


class TraceTree:
    """The traces of a function for one kind of call, with its branches. Who joins one holds `mutex`
    until the kernel of all is entered."""

    def __init__(self, trace: Trace) -> None:
        """Begin with one trace, which others may join."""
        self.tree = Tree(trace.one.recording.graph.name)
        self.traces: list[Trace] = []
        self.mutex = Mutex()
        self._hidden: dict[int, Hidden] = {}
        self.join(trace)

    def __len__(self) -> int:
        return len(self.traces)

    @property
    def in_order(self) -> frozenset[str]:
        """The leaves that must lie in C order."""
        return frozenset[str]().union(*[trace.one.in_order for trace in self.traces])

    def joined_to(self, others: TraceTree | None) -> TraceTree:
        """Join these traces to others, and return all; these alone, where they are not for the same
        calls or do not begin as the others do."""
        trace = self.traces[0]
        if others is None or not trace.one.takes_what(others.traces[0].one):
            return self
        if trace.one.recording.graph.sizes is not None:
            trace.stand_alone()
        try:
            others.join(trace)
        except Misfit:
            return TraceTree(trace)
        return others

    @property
    def is_long(self) -> bool:
        """True if their code is too long for more traces, however many are allowed."""
        return self.tree.size > MAX_NODES

    def is_full(self, most: int) -> bool:
        """Return whether no more traces are joined."""
        return len(self.traces) >= most or self.is_long

    def failed(self) -> Failed:
        """The error for a call that takes yet another branch."""
        return Failed("long" if self.is_long else "traces", str(len(self.traces)))

    def join(self, trace: Trace) -> None:
        """Add a trace. Raises Misfit if it does not begin as the others do."""
        recording = trace.one.recording
        if len(recording.decisions):
            ids = {one.value: key for key, one in recording.hidden.items()}
            inputs = [ids.get(value, value.name) for value in recording.graph.inputs]
            number = self.tree.join(recording.graph, inputs)
            if number < len(self.traces):  # another thread has recorded it, too
                return
        self.traces.append(trace)
        for hidden in trace.one.hidden:
            self._hidden.setdefault(id(hidden.holder), hidden)

    @property
    def is_uniform(self) -> bool:
        """True if all branches answer alike, so that nobody need know which was taken."""
        first = self.traces[0].one.finished
        if len(self.traces) == 1:
            return True
        return all(trace.one.finished.answers_like(first) for trace in self.traces)

    def recorded(self) -> Recorded:
        """All traces as one graph; a recording in which nothing was decided as it is."""
        first = self.traces[0].one.finished.recorded
        if not self.tree.paths:
            return first
        with self.mutex.here():
            counts = [trace.one.finished.recorded.outputs for trace in self.traces]
            numbered = not self.is_uniform
            graph = self.tree.graph(counts if numbered else ())
        inputs = dict(zip(self.tree.keys, graph.inputs, strict=True))
        seed = None if first.seed is None else inputs[first.seed.label]
        sources = tuple(inputs[value.label] for value in first.sources)
        outputs = tuple(count + numbered for count in counts)
        return Recorded(graph, first.origin, 0, sources, seed, outputs, numbered)

    @property
    def hidden(self) -> list[Hidden]:
        """The arguments of the kernel besides the user's, in its order."""
        return list(self._hidden.values())

    def alike(self, ones: Sequence[RecordedCall], places: Mapping[int, AccessPath]) -> TraceTree:
        """The traces of what another function would have recorded, whose arguments besides the
        user's are at these places, by the id of what has held them here."""
        other = copy.copy(self)
        pairs = zip(self.traces, ones, strict=True)
        other.traces = [trace.alike(one) for trace, one in pairs]
        other.mutex = Mutex()
        keys = {key: id(place.value()) for key, place in places.items()}
        other.tree = self.tree.copied(keys)
        other._hidden = {keys.get(key, key): hidden for key, hidden in self._hidden.items()}
        other.move_hidden(places)
        return other

    def move_hidden(self, places: Mapping[int, AccessPath]) -> None:
        """Read arguments besides the user's at these places from now on, by the id of what has held
        them."""

        def moved(hidden: Hidden) -> Hidden:
            holder = hidden.holder
            place = places.get(id(holder))
            if type(holder) is Place:
                place = holder.path.moved(places)
            return hidden if place is None else hidden._replace(holder=Place(place), path=".value")

        self._hidden = {key: moved(hidden) for key, hidden in self._hidden.items()}
        for trace in self.traces:
            trace.one = trace.one._replace(hidden=[*map(moved, trace.one.hidden)])

    def read_variables(self) -> bool:
        """Return whether any trace reads a Variable or an eager Tensor, which a tape may have to
        see."""
        return any(one.path and type(one.holder) not in (Attribute, Place) for one in self.hidden)

    def answers(self) -> tuple[list[Answers], Sequence[int]]:
        """The answers of each trace, or of all alike; and where the kernel says which."""
        if self.is_uniform:
            return [self.traces[0].one.finished.answers], ()
        numbered = [trace.one.finished.numbered() for trace in self.traces]
        return [answers for answers, _ in numbered], numbered[0][1]

    def attempt(self, leaves: Sequence[Any]) -> Attempt:
        """Make the call by the kernel of the trace whose branch it takes, if it was recorded."""
        longest: list[Any] = []
        for trace in reversed(self.traces):
            found, outcomes = trace.attempt(leaves)
            if outcomes is None:
                return found, None
            longest = max(longest, outcomes, key=len)
        return None, longest
