"""The trace tree of a function: the recordings of one kind of call, joined in one kernel.

A call whose decisions fall as none has before raises BranchNotRecorded in the kernel. It is
recorded once more, with the decisions that the kernel has met, and joined to the others; from then
on the kernel knows that way, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.compiler.kernel import Kernel
from tracejit.compiler.pipeline import Recorded
from tracejit.eager.traced_call import is_unrecorded
from tracejit.passes.join import Misfit, Tree
from tracejit.runtime.dispatch import Answers, Entry
from tracejit.runtime.notes import KERNELS
from tracejit.runtime.single_flight import Mutex
from tracejit.specialise.specialiser import RecordedCall
from tracejit.trace.decisions import Failed, Hidden
from tracejit.trace.mutable_attributes import Attribute
from tracejit.trace.record import Recording

MAX_NODES = 50_000


def input_keys(recording: Recording) -> list[Any]:
    """What the inputs of a recording are known by: the names of arguments, and objects by id."""
    hidden = {one.value: key for key, one in recording.hidden.items()}
    return [hidden.get(value, value.name) for value in recording.graph.inputs]


def raised_by_kernel(error: BaseException) -> bool:
    """Tell if an error comes out of a kernel that was called, not out of a recording."""
    trace = error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith(KERNELS):
            return True
        trace = trace.tb_next
    return False


def answered(
    made: Entry, entry: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, list[Any] | None]:
    """What an entry answers; or where the call takes another way, the decisions that lead there."""
    try:
        return entry(*args, **kwargs), None
    except NotImplementedError as error:
        if not is_unrecorded(error):
            raise
        return None, made.outcomes(error)


class Trace:
    """One recording, with a kernel of its own where it is called on eager Tensors: under a tape,
    a call is one way."""

    def __init__(
        self, one: RecordedCall, make: Callable[[Recorded], Kernel], target: str, ways: TraceTree
    ) -> None:
        """`target` is the function of its kernel that is called; `ways` are this one alone."""
        self.one = one
        self.finished = one.finished
        self.alone = ways.tree
        self._make: Callable[[], Any] = lambda: getattr(make(ways.recorded()), target)
        self._target: Callable[..., Any] | None = None
        self._path = one.finished.path(one.recording, self._compute, make)

    def _compute(self, *arrays: Any) -> Any:
        """The kernel's function, which is made when it is first called: before anything is added
        to the recording."""
        if self._target is None:
            with self._path.mutex.here():
                self._target = self._target or self._make()
        return self._target(*arrays)

    def tried(self, leaves: Sequence[Any]) -> tuple[Any, list[Any] | None]:
        """What the call on eager Tensors and other leaves answers; or where it takes another way,
        the decisions that lead there."""
        try:
            return self.one.call_by_path(self._path, leaves), None
        except NotImplementedError as error:
            if not is_unrecorded(error):
                raise
            return None, parted(self.alone, error)


class TraceTree:
    """The ways through a function that were recorded for one kind of call. Who joins one holds
    `mutex` until the kernel of all is entered."""

    def __init__(self, name: str) -> None:
        """None yet."""
        self.tree = Tree(name)
        self.ways: list[Trace] = []
        self.mutex = Mutex()
        self._hidden: dict[int, Hidden] = {}

    @classmethod
    def of(cls, one: RecordedCall, make: Callable[[Recorded], Kernel], target: str) -> TraceTree:
        """What was recorded just now, alone; `make` and `target` as Way takes them."""
        name = one.recording.graph.name
        alone, ways = cls(name), cls(name)  # others join the one, the other stays as it is
        way = Trace(one, make, target, alone)
        alone.join(way)
        ways.join(way)
        return ways

    def __len__(self) -> int:
        return len(self.ways)

    @property
    def in_order(self) -> frozenset[str]:
        """The leaves that must lie in C order."""
        return frozenset[str]().union(*[way.one.in_order for way in self.ways])

    def joined_to(self, others: TraceTree | None) -> TraceTree:
        """These ways and others; these alone, where they are not for the same calls or do not begin
        as the others do."""
        way = self.ways[0]
        if others is None or not way.one.takes_what(others.ways[0].one):
            return self
        try:
            others.join(way)
        except Misfit:
            return self
        return others

    @property
    def is_long(self) -> bool:
        """Tell if their code is too long for more, however many are allowed."""
        return self.tree.size > MAX_NODES

    def is_full(self, most: int) -> bool:
        """Tell if no more are joined."""
        return len(self.ways) >= most or self.is_long

    def failed(self) -> Failed:
        """The error for a call that needs yet another way."""
        return Failed("long" if self.is_long else "ways", str(len(self.ways)))

    def join(self, way: Trace) -> None:
        """Add a way. Raises Misfit where it does not begin as the others do."""
        recording = way.one.recording
        if len(recording.decisions):
            number = self.tree.join(recording.graph, input_keys(recording))
            if number < len(self.ways):  # another thread has recorded it, too
                return
        self.ways.append(way)
        for hidden in way.one.hidden:
            self._hidden.setdefault(id(hidden.holder), hidden)

    @property
    def is_uniform(self) -> bool:
        """Tell if all ways answer in the same way, so that nobody need know which was taken."""
        first = self.ways[0].finished
        if len(self.ways) == 1:
            return True
        return all(way.finished.answers_like(first) for way in self.ways)

    def recorded(self) -> Recorded:
        """All ways as one graph; a recording in which nothing was decided as it is."""
        with self.mutex.here():
            return self._recorded()

    def _recorded(self) -> Recorded:
        first = self.ways[0].finished.recorded
        if not self.tree.paths:
            return first
        counts = [way.finished.recorded.outputs for way in self.ways]
        numbered = not self.is_uniform
        graph = self.tree.graph(counts if numbered else ())
        inputs = dict(zip(self.tree.keys, graph.inputs, strict=True))
        seed = None if first.seed is None else inputs[first.seed.label]
        sources = tuple(inputs[value.label] for value in first.sources)
        outputs = tuple(count + numbered for count in counts)
        return Recorded(graph, first.origin, 0, sources, seed, outputs, numbered)

    @property
    def hidden(self) -> list[Hidden]:
        """What the kernel takes besides the arguments of the user's, in its order."""
        return list(self._hidden.values())

    def read_variables(self) -> bool:
        """Tell if any reads a Variable or an eager Tensor, which a tape may have to see."""
        return any(one.path and type(one.holder) is not Attribute for one in self.hidden)

    def answers(self) -> tuple[list[Answers], Sequence[int]]:
        """What the call answers on each way, or on all alike; and where the kernel says which."""
        if self.is_uniform:
            return [self.ways[0].finished.answers], ()
        numbered = [way.finished.numbered() for way in self.ways]
        return [answers for answers, _ in numbered], numbered[0][1]

    def tried(self, leaves: Sequence[Any]) -> tuple[Any, list[Any] | None]:
        """As Way.tried, by the kernel of the way that the call takes, if it was recorded."""
        longest: list[Any] = []
        for way in reversed(self.ways):
            found, outcomes = way.tried(leaves)
            if outcomes is None:
                return found, None
            longest = max(longest, outcomes, key=len)
        return None, longest


def parted(tree: Tree, error: NotImplementedError) -> list[Any]:
    """The decisions that led to BranchNotRecorded, the one that fell otherwise last."""
    number, outcome, _ = error.args
    return [*tree.decisions[number].outcomes(), outcome]
