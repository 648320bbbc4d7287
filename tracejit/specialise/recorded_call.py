"""RecordedCall: a recording that has ended, and the calls that its kernel takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tracejit.eager.call_operation import CallOp
from tracejit.eager.traced_call import tensor_of_hidden
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import HANDLE
from tracejit.runtime.dispatch import drawing, numpy_generator
from tracejit.runtime.identity import Identity
from tracejit.specialise.results import Finished
from tracejit.support.errors import Where
from tracejit.trace.capture.captures import Captures
from tracejit.trace.decisions import Failed, Hidden
from tracejit.trace.eager import EAGER, handle_tensor
from tracejit.trace.mutable_attributes import assigns_inexact
from tracejit.trace.record import Recording
from tracejit.trace.signature import Call
from tracejit.trace.tensor import TENSORS, Tensor
from tracejit.trace.trees import unflatten
from tracejit.trace.variable import Variable


class RecordedCall(NamedTuple):
    """A recording that has ended, and what it is for.

    `fixed` are the numbers, by leaf name, that it holds for, those that Python has read among them;
    the leaves in `baked` are no arguments of the kernel, those in `in_order` must lie in C order.
    `read` are the Variables, by id, whose values reach Python or a result; `readers` say where
    Python has read a number. `hidden` is what the kernel takes besides the arguments of the user's.
    `identity` says which leaves are one object, where the function asks. `lent` are the attributes
    that the kernel reads, with the number in it where Python has read it, at `lent_readers`.
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

    @property
    def sizes(self) -> Sizes | None:
        """What knows the dimensions that are free; None where there are none."""
        sizes = self.recording.graph.sizes
        return sizes if sizes is not None and sizes.free() else None

    def takes_what(self, other: RecordedCall) -> bool:
        """Tell if its kernel takes the same calls, but for the decisions in them."""
        same = self.fixed.keys() == other.fixed.keys() and all(
            repr(value) == repr(other.fixed[name]) for name, value in self.fixed.items()
        )
        if not same or self.baked != other.baked or self.identity != other.identity:
            return False
        if self.lent != other.lent:
            return False
        return self.recording.graph.take_sizes(other.recording.graph)

    def call_by_path(self, path: CallOp, leaves: Sequence[Any]) -> Any:
        """Call a kernel by its path: leaves and results are eager Tensors."""
        finished = self.finished
        for commit in finished.commits:
            if name := assigns_inexact(commit.event):
                raise Failed("attribute", name)  # which holds what a tape follows
        operands = [*self._operands(leaves), *[self._hidden_tensor(one) for one in self.hidden]]
        generators = [x._value.data for x in operands if x.type is HANDLE]
        tensors = dict(zip(finished.places, drawing(path, generators, operands), strict=True))
        by_name = {leaf.name: x for leaf, x in zip(self.call.leaves, leaves, strict=True)}
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
        for leaf, value in zip(self.call.leaves, values, strict=True):
            if leaf.name in self.baked:
                continue
            if type(value) in TENSORS:
                yield value
                continue
            if leaf.role in ("generator", "sparse"):
                yield handle_tensor(numpy_generator(value))
                continue
            if leaf.role == "number" and leaf.name in self.differentiated:
                assert leaf.type is not None
                value = leaf.type.dtype.type(value)
            yield Tensor(EAGER.lift(value), EAGER)

    def _hidden_tensor(self, hidden: Hidden) -> Tensor:
        """A hidden argument as an eager Tensor; a Variable that is only assigned is not read."""
        holder = hidden.holder
        if type(holder) is Variable and id(holder) not in self.read:
            return Tensor(EAGER.version(holder), EAGER)
        return tensor_of_hidden(hidden)
