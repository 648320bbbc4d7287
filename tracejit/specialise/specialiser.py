"""One run of a user's function under the recorder, for one call."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from tracejit.autodiff.request import Request, run
from tracejit.autodiff.rules import RULES_FOR_NUMPY
from tracejit.eager.call_operation import CallOp
from tracejit.eager.traced_call import tensor_of_hidden
from tracejit.ir.graph import Value
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import HANDLE
from tracejit.ops.branches import ENSURE, may_raise
from tracejit.passes.dce import needed_nodes
from tracejit.runtime.dispatch import drawing, numpy_generator
from tracejit.runtime.identity import Identity, identity_of
from tracejit.specialise.arguments import check_containers
from tracejit.specialise.results import CommitFailed, Finished, finish
from tracejit.support.errors import TracejitError, Where
from tracejit.trace.capture.captures import Captures
from tracejit.trace.capture.walk import LEAVES, Lend
from tracejit.trace.decisions import Failed, Hidden
from tracejit.trace.eager import EAGER, handle_tensor
from tracejit.trace.files import origin_of
from tracejit.trace.free_dimensions import RanOnce
from tracejit.trace.generators import RecordedGenerator
from tracejit.trace.mutable_attributes import (
    Attribute,
    Attributes,
    Escaped,
    Loan,
    assigns_inexact,
    is_lendable,
    let_go,
    put_numbers,
)
from tracejit.trace.record import Recording
from tracejit.trace.recorded_matrix import RecordedMatrix
from tracejit.trace.recorder import MustKeepApart
from tracejit.trace.signature import NUMBERS, Call, Leaf
from tracejit.trace.tensor import TENSORS, Tensor
from tracejit.trace.trees import unflatten
from tracejit.trace.type_questions import refused_types
from tracejit.trace.variable import Variable

TRIES = 20


class Rebound(BaseException):
    """The function has assigned what it computes to attributes, of which the argument is one: they
    are lent to the next run."""


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


class Asked(NamedTuple):
    """What a function is recorded for: a call, of which the numbers that are `fixed`, by leaf name,
    stay numbers, and the leaves in `differentiated` are differentiated by. The first decisions have
    the outcomes `forced`; `sizes` know the dimensions that are free."""

    call: Call
    fixed: dict[str, Any]
    differentiated: frozenset[str]
    exact: bool
    forced: Sequence[Any] = ()
    sizes: Sizes | None = None


class Run:
    """A function to record, as `Function` knows it; `effects` are those of the last recording.
    `wants_numbers` says that its Python wants the numbers among its arguments themselves,
    `keeps_apart` that it differentiates by what it computes more than once, `freezes` that what it
    captures is made read-only; `attributes` are those that it has read."""

    def __init__(
        self,
        python: Callable[..., Any],
        signature: inspect.Signature,
        request: Request,
        name: str,
    ) -> None:
        """`name` is what the function is called in generated code."""
        self.python = python
        self.signature = signature
        self.request = request
        self.name = name
        self.origin = origin_of(python, name)
        self.effects: set[str] = set()
        self.wants_numbers = False
        self.keeps_apart = False
        self.freezes = False
        self.attributes: Attributes | None = None

    def record(self, asked: Asked, tries: int = TRIES) -> RecordedCall:
        """Run the function on Tensors. Raises what the function raises, and Failed.

        Where C code refuses a Tensor for a number (`json.dumps(n)`), all numbers are fixed; where
        it differentiates by one of two things that compute the same, both are recorded. What
        another thread may have done meanwhile, it is tried again for: random numbers were drawn, or
        what is captured was changed while it was read.
        """
        try:
            return self._recorded(asked)
        except MustKeepApart:
            self.keeps_apart = True
            return self._recorded(asked)
        except TracejitError as error:
            alone = threading.active_count() == 1 or asked.sizes is not None
            if error.row != "random" or alone or not tries:
                raise
        return self.record(asked, tries - 1)

    def _recorded(self, asked: Asked) -> RecordedCall:
        known = asked.fixed.keys() | asked.differentiated
        numbers = {x.name: x.value for x in asked.call.leaves if x.role in NUMBERS}
        numbers = {name: number for name, number in numbers.items() if name not in known}
        try:
            one = self._once(asked)
        except TypeError as error:
            if not numbers or asked.sizes is not None or type(error) is not TypeError:
                raise
            one = self._once(asked._replace(fixed=asked.fixed | numbers, forced=()))
            self.wants_numbers = True
        self.wants_numbers |= one.captures.does("ask type")
        return one

    def _once(self, asked: Asked) -> RecordedCall:
        """Run the function with the attributes lent that change; as they are, where that fails."""
        effects = set(self.effects)
        lend = None if self.attributes is None else self.attributes.lent
        captures = self._captures(asked.call, lend)
        try:
            return self._run(asked, captures)
        except Rebound as rebound:
            if self._captures(asked.call, lend).lent.keys() <= captures.lent.keys():
                raise Failed("attribute", rebound.args[0]) from None  # and has to stay as it is
            return self._once(asked)
        except (Exception, Escaped) as error:
            if not captures.lent:
                raise
            problem = error
        guard = captures.guard()
        if guard is not None and not guard() and isinstance(problem, Exception):
            raise problem  # not once more: the function has changed what it reads
        writes = "events" in self.effects - effects
        self.effects = effects
        try:
            one = self._run(asked, self._captures(asked.call, None))
        except TracejitError:
            raise
        except Exception as error:
            if not writes:
                raise
            raise CommitFailed from error  # nor a third time
        if left := _give_back(captures, one.recording):
            raise (
                problem if isinstance(problem, Exception) else Failed("attribute", left[0][0].name)
            )
        assert self.attributes is not None
        self.attributes.keep(captures.lent)
        return one

    def _captures(self, call: Call, lend: Lend | None) -> Captures:
        """Capture what the function reaches in a call. The attributes that `lend` answers are
        lent."""
        roots = _roots(self.python, call)
        recorded = {x.path for x in call.leaves if x.role == "array" and x.path == x.argument}
        arrays = frozenset(recorded)
        return _captures(roots, freezes=self.freezes, recorded=arrays, lend=lend)

    def _run(self, asked: Asked, captures: Captures) -> RecordedCall:
        call, fixed, sizes = asked.call, asked.fixed, asked.sizes
        captures.labels |= {id(leaf.value): leaf.name for leaf in call.leaves}
        identity = None
        if captures.does("ask identity"):
            identity = identity_of(call, asked.differentiated, captures.arrays)
        first_of = {} if identity is None else identity.first_of()
        recording = Recording(self.name, captures, asked.forced)
        recording.exact = asked.exact
        recording.keeps_apart = self.keeps_apart
        recording.use_sizes(sizes)
        loan = Loan({key: found for key, (_, found) in captures.lent.items()}, recording)
        asks_types = captures.does("ask type")
        try:
            with (
                recording,
                captures.refusing_draws(self.name),
                recording.logging_reads() as log,
                refused_types() if asks_types else nullcontext(),
                loan,
            ):
                made: dict[str, Any] = {}
                for leaf in call.leaves:
                    known = made.get(first_of.get(leaf.name, ""))
                    made[leaf.name] = _argument(leaf, recording, asked) if known is None else known
                values = list(made.values())
                arguments = call.rebuild(values)
                answer = run(
                    self.python, self.signature, self.request, arguments, recording, top=True
                )
                recording.handling.check()
                if recording.decisions.failed is not None:
                    raise recording.decisions.failed
                if recording.raises_text:
                    raise Failed("text")
                if recording.is_torn:
                    raise MustKeepApart
                loan.settle()
                check_containers(self.signature, arguments, call, values)
                recording.note_uses([x._value for x in answer.value if type(x) in TENSORS])
                names = (leaf.name for leaf in call.leaves)
                recording.write_arguments(dict(zip(names, values, strict=True)))
                tensors = [x for x in (*answer.value, *answer.gradients) if type(x) in TENSORS]
                _keep_errors(recording, [x._value for x in tensors])
                finished = finish(answer, recording, self.request, self.name, self.origin)
        except BaseException as error:
            recording.abandon()
            is_users = isinstance(error, Exception) and not isinstance(error, TracejitError)
            if recording.raises_text and is_users:
                raise Failed("text") from error  # its message shows what has no numbers yet
            guard = captures.guard() if sizes is not None else None
            if guard is not None and not guard() and isinstance(error, Exception):
                raise RanOnce from error
            raise
        finally:
            self.effects |= recording.effects()
            rebound = _give_back(captures, recording)
            if rebound:
                self.effects.add("events")  # those that Python has made, too, if it raises
        if rebound and self._runs_again(captures, rebound):
            raise Rebound(rebound[0][0].name)
        if captures.lent:
            put_numbers(captures, recording)
        captures.settle(one.data for one in recording.graph.constants())
        lent = dict.fromkeys(loan.inputs, "")
        lent_readers: dict[str, Where | None] = {}
        for key, (number, where) in loan.reads().items():
            captures.conditions.check_plain(number, captures.lent[key][0])
            lent[key], lent_readers[key[1]] = repr(number), where
        baked = {*fixed, *first_of, *[leaf.name for leaf in call.leaves if leaf.type is None]}
        read = dict(fixed)
        readers: dict[str, Where | None] = {}
        for leaf, value in zip(call.leaves, values, strict=True):
            if type(value) in TENSORS and value._value in recording.reads:
                read[leaf.name], readers[leaf.name] = recording.reads[value._value]
        in_order = frozenset([value.name for value in recording.relied_on])
        return RecordedCall(
            call=call,
            recording=recording,
            captures=captures,
            finished=finished,
            differentiated=asked.differentiated,
            fixed=read,
            baked=frozenset(baked),
            in_order=in_order,
            read=set(log),
            readers=readers,
            hidden=list(recording.hidden.values()),
            identity=identity,
            lent=lent,
            lent_readers=lent_readers,
        )

    def _runs_again(self, captures: Captures, rebound: Sequence[tuple[Attribute, Any]]) -> bool:
        """Tell if nothing but these attributes is other than before: the next run has them lent.
        Otherwise they keep what they were assigned, for nothing takes place twice.

        Raises Failed where one holds neither a number nor an array of its own.
        """
        guard = captures.guard()
        if guard is not None and not guard():
            for attribute, assigned in rebound:
                attribute.commit(assigned)
            return False
        assert self.attributes is not None
        for attribute, _ in rebound:
            if not is_lendable(attribute.holder, attribute.name, attribute.value):
                raise Failed("attribute", attribute.name)
            self.attributes.lend(attribute.holder, attribute.name)
        return True


def _give_back(captures: Captures, recording: Recording) -> list[tuple[Attribute, Any]]:
    """Give attributes their values back, where a Tensor of the recording was assigned to one of
    them; those that were assigned, and what."""
    assigned = [
        (Attribute(holder, name), now)
        for holder, name, value in captures.attributes
        if (now := vars(holder).get(name)) is not value
    ]
    if not any(type(now) in TENSORS and now._recording is recording for _, now in assigned):
        return []
    for holder, name, value in captures.attributes:
        vars(holder)[name] = value
    return assigned


def _keep_errors(recording: Recording, outputs: Sequence[Value]) -> None:
    """Compute what may raise in the user's program also where neither `outputs` nor events read
    it; but not for the one element that stands for a batch."""
    read = [*outputs, *[value for event in recording.events for value in event.values]]
    needed = set(needed_nodes(recording.graph.nodes, read))
    of_one = set(recording.decisions.prefix.unknown)
    for node in recording.graph.nodes[: recording.forward]:
        if not of_one.isdisjoint(node.operands):
            of_one.update(node.results)
        elif node not in needed and may_raise(node):
            with recording.at(node.where):
                ENSURE(Tensor(node.results[0], recording))


def takes_gradients(python: Callable[..., Any], call: Call) -> bool:
    """Tell if code that this call may reach takes gradients by its own arrays."""
    return _captures(_roots(python, call), limit=None, compares=False).does("take gradients")


def _roots(python: Callable[..., Any], call: Call) -> list[Any]:
    """The roots of what a call reads: the function, objects among the arguments, classes, and
    rules that stand for functions of NumPy's."""
    objects = [leaf.value for leaf in call.leaves if leaf.role in ("static", "variable")]
    classes = [cls for one in call.structures.values() for cls in one.classes()]
    return [python, *objects, *classes, *RULES_FOR_NUMPY]


def _captures(roots: list[Any], limit: int | None = LEAVES, **options: Any) -> Captures:
    """What is in reach of `roots`. Raises Failed where other threads change that all the time."""
    problem = None
    let_go()
    for _ in range(TRIES):
        try:
            return Captures(roots, limit, **options)
        except (RuntimeError, LookupError, AttributeError) as error:
            problem = error
        if threading.active_count() == 1:
            break
    raise Failed("reads") from problem


def _argument(leaf: Leaf, recording: Recording, asked: Asked) -> Any:
    """What the user's function receives for a leaf."""
    if leaf.role in ("static", "variable") or leaf.name in asked.fixed:
        return leaf.value
    assert leaf.type is not None
    if leaf.role == "generator":
        generator = numpy_generator(leaf.value)
        return RecordedGenerator(recording.argument(leaf.name, leaf.type, generator))
    if leaf.role == "sparse":
        return RecordedMatrix(recording.argument(leaf.name, leaf.type, leaf.value), leaf.value)
    if leaf.name in asked.differentiated and leaf.type.form == "weak" and leaf.type.is_inexact:
        kind = leaf.type.with_form("scalar")
        return recording.argument(leaf.name, kind, leaf.type.dtype.type(leaf.value))
    tensor = recording.argument(leaf.name, leaf.type, leaf.value)
    if leaf.role == "scalar" and leaf.name not in asked.differentiated:
        recording.scalars[tensor._value] = leaf.value
    return tensor
