"""TracedCall: one call of a CallOp that tapes have seen, and its derivatives.

The call keeps its operands and results. A derivative may also read intermediate values that have a
rule of the user's. Such a value is computed when it is first wanted, and is a result of the call's
operation from then on.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tracejit.autodiff.reverse.fitting import like
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import HANDLE
from tracejit.ops.control.marker_ops import OVERRIDE, LinearCall, Marker
from tracejit.support.errors import fail
from tracejit.targets.numpy.text.branches import UNRECORDED
from tracejit.trace.guards.access_paths import Place
from tracejit.trace.recording.decisions import Decisions, Failed, Hidden
from tracejit.trace.recording.eager import EAGER, eager_tensor, handle_tensor
from tracejit.trace.recording.events import Event
from tracejit.trace.recording.mutable_attributes import Attribute
from tracejit.trace.recording.tape_window import Sieve, Sight
from tracejit.trace.tensor.tensor import Tensor

# So often a derivative is recorded for one call whose kernel decides otherwise, by rounding.
TRIES = 8


class Extent(enum.Enum):
    """The part of earlier calls that a derivative computes again. ALL is the whole of its own call,
    where no tape records it. WITHOUT_RULES leaves out values with a rule of the user's. NOTHING is
    for a tape that was opened since and records it: it must not see what took place before."""

    ALL = "all"
    WITHOUT_RULES = "without rules"
    NOTHING = "nothing"


class Direction(enum.Enum):
    """The direction of a derivative. PULLED goes by the rules from the cotangents of results to the
    gradients of inputs, PUSHED from the tangents of inputs to those of results, and TRANSPOSED, of
    a linear map, by its transpose from results to inputs."""

    PULLED = "pulled"
    PUSHED = "pushed"
    TRANSPOSED = "transposed"


class Derivative(NamedTuple):
    """A derivative of an operation, from directions of the values `given` to those of the values
    `asked`."""

    kind: Direction
    given: tuple[Value, ...]
    asked: tuple[Value, ...]


class RecordedDerivative(NamedTuple):
    """The recording of a derivative: the inputs for its cotangents or tangents, the answers, what
    the rules read besides, the events in them, and what they decide and draw. `nodes` are all that
    it may compute; `operations` compute it, one for each extent."""

    seeds: list[Value]
    answers: list[Value | None]
    hidden: list[Hidden]
    events: list[Event]
    decisions: Decisions
    decides: bool
    versions: dict[Value, list[Value]]
    nodes: Sequence[Node]
    drawn: list[Value]
    operations: dict[Extent, Any]

    @property
    def outputs(self) -> list[Value]:
        """The answers that there are, and the values of the events."""
        answers = [answer for answer in self.answers if answer is not None]
        return answers + [value for event in self.events for value in event.values]


class TracedCall:
    """One call of an operation: `tensors` are its known values, by their values in the recording;
    `caller` is the call that it is a derivative of."""

    def __init__(
        self, operation: Any, operands: Sequence[Tensor], caller: TracedCall | None
    ) -> None:
        """The call of `operation` with `operands`."""
        self.operation = operation
        self.operands = list(operands)
        self.caller = caller
        self.results = [*operation.outputs, *operation.drawn]
        self.tensors = dict(zip(operation.inputs, operands, strict=True))
        self.sight = Sight()

    def show(self, found: Sequence[Any]) -> list[Tensor]:
        """The results, which are `found`, as those of one operation."""
        pairs = zip(found, self.results, strict=True)
        tensors = [eager_tensor(data, value.type) for data, value in pairs]
        name = self.operation.recording.graph.name
        rules: dict[str, Any] = {"push": self._push, "linear": self._linear, "sight": self.sight}
        marker = Marker(name, "", self._pull, pruned=True, **rules)
        made = OVERRIDE(*tensors, *self.operands, outputs=len(tensors), grad=marker)
        shown = [made] if len(tensors) == 1 else list(made)
        for value, tensor in zip(self.results, shown, strict=True):
            self.tensors.setdefault(value, tensor)
        return shown

    def _pull(self, gs: Sequence[Tensor | None], wanted: Sequence[bool]) -> list[Tensor | None]:
        """The gradients of the wanted operands, None for others."""
        inputs = self.operation.inputs
        asked = tuple([value for value, wants in zip(inputs, wanted, strict=True) if wants])
        found = iter(self._along(gs, self.results, asked, Direction.PULLED))
        return [next(found) if wants else None for wants in wanted]

    def _push(self, dots: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The tangents of the results."""
        return self._along(dots, self.operation.inputs, tuple(self.results), Direction.PUSHED)

    def _linear(self, moving: Sequence[bool], wanted: Sequence[bool]) -> LinearCall:
        """The call as a linear map of the operands that move to the results that are wanted."""
        pairs = zip(self.operation.inputs, moving, strict=True)
        asked = tuple([value for value, moves in pairs if moves])
        given = [value for value, wants in zip(self.results, wanted, strict=False) if wants]

        def transposed(gs: Sequence[Tensor | None]) -> list[Tensor | None]:
            found = iter(self._along(gs, self.results, asked, Direction.TRANSPOSED))
            return [next(found) if moves else None for moves in moving]

        return LinearCall(self.operation.obstacle(given, asked), transposed)

    def _along(
        self,
        directions: Sequence[Tensor | None],
        values: Sequence[Value],
        asked: tuple[Value, ...],
        kind: Direction,
    ) -> list[Tensor | None]:
        """The results of a derivative. `directions` has one for each of `values`; those that are
        None are left out."""
        pairs = [(v, d) for v, d in zip(values, directions, strict=False) if d is not None]
        derivative = Derivative(kind, tuple([value for value, _ in pairs]), asked)
        seeds = [like(direction, Tensor(value, EAGER)) for value, direction in pairs]
        made, found = self._tried(derivative, seeds)
        if made is None:
            made, found = self._recorded(derivative, seeds)
        answers = iter(found)
        tensors = [None if answer is None else next(answers) for answer in made.answers]
        for event in made.events:
            run_event(event, [next(answers) for _ in event.values])
        return tensors

    def _tried(
        self, derivative: Derivative, seeds: Sequence[Tensor]
    ) -> tuple[RecordedDerivative | None, Sequence[Tensor]]:
        """Find an earlier recording of a derivative that takes the same branches as this call.
        Return it with its results; None if there is none."""
        for made in self.operation.derived(derivative):
            found, outcomes = self._computed(made, seeds)
            if outcomes is None:
                return made, found
        return None, ()

    def _recorded(
        self, derivative: Derivative, seeds: Sequence[Tensor]
    ) -> tuple[RecordedDerivative, Sequence[Tensor]]:
        """Record a derivative, unless another thread has meanwhile. Return it with its results."""
        operation = self.operation
        with operation.mutex.here():
            known, found = self._tried(derivative, seeds)  # by another thread meanwhile
            if known is not None:
                return known, found
            outcomes: Sequence[Any] | None = ()
            for _ in range(TRIES):
                assert outcomes is not None
                made = self._derived(derivative, seeds, outcomes)
                operation.keep(derivative, made)
                found, outcomes = self._computed(made, seeds)
                if outcomes is None:
                    return made, found
        raise fail("not-compiled", EAGER.here(), function=operation.recording.graph.name)

    def _derived(
        self, derivative: Derivative, seeds: Sequence[Tensor], forced: Sequence[Any]
    ) -> RecordedDerivative:
        """Record a derivative for this call."""
        known: dict[Value, Any] = {}
        call: TracedCall | None = self
        while call is not None:
            known |= {value: tensor._value.data for value, tensor in call.tensors.items()}
            call = call.caller
        directions = [seed._value.data for seed in seeds]
        try:
            made: RecordedDerivative = self.operation.derive(derivative, known, directions, forced)
            return made
        except Failed as error:
            function = self.operation.recording.graph.name
            raise error.__cause__ or fail("not-compiled", EAGER.here(), function=function) from None

    def _computed(
        self, made: RecordedDerivative, seeds: Sequence[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Any] | None]:
        """The results of what was recorded for a derivative; or where the rules decide otherwise in
        this call, the decisions that its kernel has met."""
        operation = self.operation.operation_of(made, self._extent())
        if operation is None:
            return (), None
        own = [*seeds, *[tensor_of_hidden(hidden) for hidden in made.hidden]]
        reads = operation.inputs[: len(operation.inputs) - len(own)]
        given = [*self._read(reads), *own]
        return attempt(lambda: operation(given, self), operation.tree)

    def _extent(self) -> Extent:
        """The extent that a derivative computes again, given the tapes that are open now."""
        if not EAGER.windows:
            return Extent.ALL
        for window in EAGER.windows:
            if self.sight not in window.stands and type(window) is not Sieve:
                if any(window.knows(operand._value) for operand in self.operands):
                    return Extent.NOTHING
        return Extent.WITHOUT_RULES

    def _read(self, values: Sequence[Value]) -> list[Tensor]:
        """Values of this call and those before it; intermediate values become results of their
        calls."""
        if self.tensors.keys() >= set(values):
            return [self.tensors[value] for value in values]
        owners = [self._owner(value) for value in values]
        missing: dict[TracedCall, list[Value]] = {}
        for value, owner in zip(values, owners, strict=True):
            if value not in owner.tensors:
                missing.setdefault(owner, []).append(value)
        for owner, wanted in missing.items():
            owner.add_results(wanted)
        return [owner.tensors[value] for value, owner in zip(values, owners, strict=True)]

    def _owner(self, value: Value) -> TracedCall:
        """The call that `value` belongs to."""
        call = self
        while value not in call.tensors and value not in call.operation.intermediates:
            assert call.caller is not None
            call = call.caller
        return call

    def add_results(self, values: Sequence[Value]) -> None:
        """Compute intermediate values, which are results from now on."""
        with self.operation.mutex.here():
            missing = [value for value in values if value not in self.tensors]
            if not missing:
                return
            given = [
                self.tensors[value] for value in (*self.operation.inputs, *self.operation.drawn)
            ]
            found = self.operation.part(missing)(*[tensor._value.data for tensor in given])
            pairs = zip(missing, found, strict=True)
            tensors = {value: eager_tensor(data, value.type) for value, data in pairs}
            self.tensors |= tensors
            self.results += missing
            self.sight.add([tensor._value for tensor in tensors.values()])


Attempt = tuple[Any, list[Any] | None]
"""The answer of a call, and None; or None, and the decisions that lead to the branch it takes."""


def is_unrecorded(error: BaseException) -> bool:
    """Return whether a kernel has met a decision with an outcome that no recording has."""
    return type(error).__name__ == UNRECORDED and isinstance(error, NotImplementedError)


def attempt(call: Callable[[], Any], tree: Any) -> Attempt:
    """Make the call of a kernel, whose decisions, known by then, are those of `tree`."""
    try:
        return call(), None
    except NotImplementedError as error:
        if tree is None or not is_unrecorded(error):
            raise
        number, outcome, _ = error.args
        return None, [*tree.decisions[number].outcomes(), outcome]


def run_event(event: Event, values: Sequence[Tensor]) -> None:
    """Let an event take place, unless what runs now has run before."""
    if event.run is None:
        EAGER.assign(event.variable, *values)
        EAGER.value_assigned(event.variable)
    else:
        run = event.run
        EAGER.once(lambda: run(*[value._value.data for value in values]))


def tensor_of_hidden(hidden: Hidden) -> Tensor:
    """The eager Tensor for a hidden argument; a Variable is read."""
    holder = hidden.holder
    if isinstance(holder, Value):
        return Tensor(holder, EAGER)
    if type(holder) in (Attribute, Place):
        holder = holder.value
    if hidden.value.type is HANDLE:
        return handle_tensor(holder)
    return Tensor(EAGER.lift(holder), EAGER)
