"""Tracer: a run of the user's function under the recorder, for one call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence, Set
from contextlib import nullcontext
from typing import Any

from tracejit.autodiff.request.rules import RULES_FOR_NUMPY
from tracejit.ir.graph import Node, Value
from tracejit.ir.step_sizes import NotForAllSteps
from tracejit.ir.subgraph import bodies_of, every_node
from tracejit.ops.control.branches import ENSURE, may_raise, raises_in_python
from tracejit.ops.control.routines import is_routine
from tracejit.passes.framework.dce import needed_nodes
from tracejit.runtime.dispatch import numpy_generator
from tracejit.runtime.identity import identity_of
from tracejit.specialise.arguments import check_containers
from tracejit.specialise.callee import Callee, SpecialisationRequest
from tracejit.specialise.read_guards import (
    AnyCaptures,
    captures_of_reads,
    conditions_read,
    following,
    loan_to,
)
from tracejit.specialise.results import finish
from tracejit.specialise.trace_tree import RecordedCall
from tracejit.support.cost_model import costs
from tracejit.support.errors import TracejitError, Where, fail, placed
from tracejit.support.options import Options
from tracejit.support.progress import stage
from tracejit.trace.arguments.free_dimensions import RanOnce
from tracejit.trace.arguments.signature import NUMBERS, Call, Leaf
from tracejit.trace.capture.captures import Captures
from tracejit.trace.capture.freezing import FrozenArrays
from tracejit.trace.capture.type_questions import refused_types
from tracejit.trace.capture.walk import LEAVES
from tracejit.trace.recording.before import Walks
from tracejit.trace.recording.decisions import Failed
from tracejit.trace.recording.events import write_arguments
from tracejit.trace.recording.generators import RecordedGenerator
from tracejit.trace.recording.left_behind import put_numbers
from tracejit.trace.recording.made_arrays import MadeArrays
from tracejit.trace.recording.mutable_attributes import (
    Attribute,
    Escaped,
    is_lendable,
)
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.recorded_matrix import RecordedMatrix
from tracejit.trace.recording.reruns import MustKeepApart, MustNotFork, Refused, WrittenArray
from tracejit.trace.source.files import origin_of
from tracejit.trace.tensor.tensor import TENSORS, Tensor

TRIES = 20


class Rebound(BaseException):
    """The function has assigned what it computes to attributes, of which the argument is one: they
    are lent to the next run."""


class Tracer:
    """One run of a function under the recorder, for one call. `effects` are those of this run."""

    def __init__(self, callee: Callee, options: Options) -> None:
        """Nothing is run yet; what is found out is put into the findings of the callee."""
        self.callee = callee
        self.findings = callee.findings
        self.options = options
        self.origin = origin_of(callee.python, callee.name)
        self.effects: set[str] = set()

    def record(self, request: SpecialisationRequest) -> RecordedCall:
        """Run the function on Tensors. Raises what the function raises, and Failed.

        Where C code refuses a Tensor for a number (`json.dumps(n)`), all numbers are fixed; where
        it differentiates by one of two things that compute the same, both are recorded. What
        another thread may have done meanwhile, it is tried again for: random numbers were drawn, or
        what is captured was changed while it was read.
        """
        findings = self.findings
        try:
            self._begin_again(request)
            one = self._tried(request)
        finally:
            findings.effects |= self.effects
        takes_gradients = one.captures.does("take gradients")
        findings.takes_gradients = bool(findings.takes_gradients) or takes_gradients
        return one

    def _tried(self, request: SpecialisationRequest, tries: int = TRIES) -> RecordedCall:
        try:
            return self._recorded(request)
        except MustKeepApart:
            self.findings.keeps_apart = True
        except (MustNotFork, Refused) as error:  # the latter from what the user's `with` ends by
            self.findings.forks, self.findings.merged = None, str(error)
            request = request._replace(forced=())  # the decisions are others now
        except WrittenArray as error:
            assert self.findings.written is not None
            self.findings.written.add(error.line)
            self.findings.forks = None if self.findings.forks is None else {}
            request = request._replace(forced=())
        except NotForAllSteps:
            self.findings.rolls_sizes = False
        except TracejitError as error:
            alone = threading.active_count() == 1 or request.sizes is not None
            if error.row == "random" and not alone and tries:
                tries -= 1
            elif self.findings.written and request.sizes is None:
                self.findings.written = None
                request = request._replace(forced=())
            else:
                raise
        self._begin_again(request)
        return self._tried(request, tries)

    def _begin_again(
        self, request: SpecialisationRequest, problem: BaseException | None = None
    ) -> None:
        """Let what the function reads be as it was before the call. Where that cannot be, raises
        the error that the function has raised, or UnsupportedError."""
        if request.before.restore():
            return
        if isinstance(problem, Exception):
            raise problem
        raise fail("not-twice", None, function=self.callee.name)

    def _recorded(self, request: SpecialisationRequest) -> RecordedCall:
        known = request.fixed.keys() | request.differentiated
        numbers = {x.name: x.value for x in request.call.leaves if x.role in NUMBERS}
        numbers = {name: number for name, number in numbers.items() if name not in known}
        try:
            one = self._once(request)
        except TypeError as error:
            if not numbers or request.sizes is not None or type(error) is not TypeError:
                raise
            self._begin_again(request, error)
            one = self._once(request._replace(fixed=request.fixed | numbers, forced=()))
            self.callee.want_numbers()
        if one.captures.does("ask type"):
            self.callee.want_numbers()
        return one

    def _once(self, request: SpecialisationRequest, rebound: Sequence[str] = ()) -> RecordedCall:
        """Run the function with what it reads noted, or, where notes cannot tell, after a walk. The
        attributes of the names `rebound` have been lent after a run that assigned them."""
        findings = self.findings
        captures = captures_of_reads(request.before, findings.attributes, findings.walks)
        if captures is None:
            return self._walked(request)
        captures.reader.copies_tables = self.options.share
        captures.reader.frozen = FrozenArrays() if self.options.freeze else None
        effects, problem = set(self.effects), None
        try:
            return self._run(request, captures)
        except (Walks, Rebound) as error:
            is_lent = type(error) is Rebound and error.args[0] not in rebound
            found = error.args[0] if is_lent else ""
        except (Exception, Escaped) as error:
            if not captures.lent:
                raise
            is_lent, problem = False, error
        if problem is not None:
            if captures.origins:
                return self._without_numbers(request, captures, problem, effects)
            return self._unlent(request, captures, problem, effects)
        # What the run has read is let go of with the error.
        self._begin_again(request)
        self.effects, request = effects, request._replace(forced=())
        if is_lent:
            return self._once(request, (*rebound, found))
        findings.walks = True
        return self._walked(request)

    def _without_numbers(
        self,
        request: SpecialisationRequest,
        captures: AnyCaptures,
        problem: BaseException,
        effects: set[str],
    ) -> RecordedCall:
        """Run the function after a `problem` with numbers that were lent: they stay as they are,
        unless that is no better."""
        self._begin_again(request, problem)
        self.effects = effects
        problem.__traceback__ = None  # what its frames hold counts as held by others
        kept, attributes = list(captures.origins), self.findings.attributes
        attributes.keep(kept)
        try:
            return self._once(request._replace(forced=()))
        except BaseException:
            attributes.release(kept)
            raise

    def _walked(self, request: SpecialisationRequest) -> RecordedCall:
        """Run the function after a walk over all that it reaches in the call."""
        roots = _roots(self.callee.python, request.call)
        captures = _captures(roots, freezes=self.options.freeze)
        request.before.note(captures)
        return self._run(request, captures)

    def _unlent(
        self,
        request: SpecialisationRequest,
        captures: AnyCaptures,
        problem: BaseException,
        effects: set[str],
    ) -> RecordedCall:
        """Run the function after a `problem` with attributes that were lent: they stay as they are.
        `effects` are those from before that."""
        self._begin_again(request, problem)
        self.effects = effects
        # What is lent takes part in decisions.
        one = self._walked(request._replace(forced=()))
        if left := _give_back(captures, one.recording):
            raise (
                problem if isinstance(problem, Exception) else Failed("attribute", left[0][0].name)
            )
        self.findings.attributes.keep(captures.lent)
        return one

    def _run(self, request: SpecialisationRequest, captures: AnyCaptures) -> RecordedCall:
        call, fixed, sizes = request.call, request.fixed, request.sizes
        name = self.callee.name
        captures.labels |= {id(leaf.value): leaf.name for leaf in call.leaves}
        identity = None
        if captures.does("ask identity"):
            identity = identity_of(call, request.differentiated, captures.arrays)
        first_of = {} if identity is None else identity.first_of()
        recording = Recording(name, captures, request.forced)
        recording.exact = self.options.exact
        recording.graph.most_keys = costs().remembered_nodes
        recording.as_written = self.findings.as_written
        recording.keeps_apart = self.findings.keeps_apart
        recording.forks = self.findings.forks
        recording.made_arrays = MadeArrays(self.findings.written)
        recording.rolls_sizes = self.findings.rolls_sizes and sizes is None
        recording.use_sizes(sizes)
        loan = loan_to(recording, captures)
        asks_types = captures.does("ask type")
        try:
            with (
                recording,
                captures.refusing_draws(name),
                recording.logging_reads() as log,
                refused_types() if asks_types else nullcontext(),
                stage("recording", name, lambda: len(recording.graph.nodes)),
                following(captures) as notes,
            ):
                made: dict[str, Any] = {}
                for leaf in call.leaves:
                    known = made.get(first_of.get(leaf.name, ""))
                    made[leaf.name] = (
                        _argument(leaf, recording, request) if known is None else known
                    )
                values = list(made.values())
                arguments = call.rebuild(values)
                answer = self.callee.record(arguments, recording)
                recording.handling.check()
                if recording.decisions.failed is not None:
                    raise recording.decisions.failed
                if recording.raises_text:
                    raise Failed("text")
                if recording.is_torn:
                    raise MustKeepApart
                loan.settle()
                check_containers(self.callee.signature, arguments, call, values)
                recording.note_uses([x._value for x in answer.value if type(x) in TENSORS])
                names = (leaf.name for leaf in call.leaves)
                write_arguments(recording, dict(zip(names, values, strict=True)))
                tensors = [x for x in (*answer.value, *answer.gradients) if type(x) in TENSORS]
                _keep_errors(recording, [x._value for x in tensors])
                finished = finish(answer, recording, self.callee.request, name, self.origin)
        except BaseException as error:
            if isinstance(error, Exception):
                put_numbers(captures, recording, request.before)
            recording.abandon()
            is_users = isinstance(error, Exception) and not isinstance(error, TracejitError)
            if is_users and any(map(may_raise, recording.graph.nodes)):
                self.effects.add("errors")  # one of which Python may have met before
            holds = is_users and not TENSORS.isdisjoint(map(type, getattr(error, "args", ())))
            if is_users and (holds or recording.raises_text):
                raise Failed("text") from error  # its message shows what has no numbers yet
            with_sizes = sizes is not None and isinstance(error, Exception)
            if with_sizes and not request.before.restore():
                raise RanOnce from error
            if isinstance(error, TracejitError) and error.row == "random":
                raise placed(error, recording.drawn) from None
            raise
        finally:
            self.effects |= recording.effects()
            rebound = _give_back(captures, recording)
            if rebound:
                self.effects.add("events")  # those that Python has made, too, if it raises
        if rebound and self._runs_again(captures, rebound):
            raise Rebound(rebound[0][0].name)
        put_numbers(captures, recording, request.before)
        lent = dict.fromkeys(loan.inputs, "")
        lent_readers: dict[str, Where | None] = {}
        for key, (number, where) in loan.reads().items():
            captures.conditions.add_value(captures.lent[key][0], number)
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
            differentiated=request.differentiated,
            fixed=read,
            baked=frozenset(baked),
            in_order=in_order,
            read=set(log),
            readers=readers,
            hidden=list(recording.hidden.values()),
            identity=identity,
            lent=lent,
            lent_readers=lent_readers,
            reads=conditions_read(notes, captures, recording.hidden.values(), finished, identity),
        )

    def _runs_again(self, captures: AnyCaptures, rebound: Sequence[tuple[Attribute, Any]]) -> bool:
        """Return whether nothing but these attributes has changed: the next run has them lent.
        Otherwise they keep what they were assigned, for nothing takes place twice.

        Raises Failed if one holds neither a number nor an array of its own.
        """
        if not captures.is_unchanged():
            for attribute, assigned in rebound:
                attribute.commit(assigned)
            return False
        for attribute, _ in rebound:
            if not is_lendable(attribute.holder, attribute.name, attribute.value):
                raise Failed("attribute", attribute.name)
            self.findings.attributes.lend(attribute.holder, attribute.name)
        return True


def _give_back(captures: AnyCaptures, recording: Recording) -> list[tuple[Attribute, Any]]:
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
    live = {*read, *[value for node in needed for value in node.operands]}
    nodes = recording.graph.nodes[: recording.forward]
    partly = {  # the conditions and loops of whose results each is computed where it is read
        node
        for node in nodes
        if any(bodies_of(node)) and not is_routine(node) and not live.issuperset(node.results)
    }
    of_one = set(recording.decisions.prefix.unknown)
    raising: set[Value] = set()
    for node in nodes:
        if partly and _raises([node], raising):
            raising.update(_results_that_raise(node, raising))
        if not of_one.isdisjoint(node.operands):
            of_one.update(node.results)
            continue
        kept: Sequence[Value] = ()
        if node in partly:
            kept = [one for one in node.results if one in raising and one not in live]
        elif node not in needed and _raises([node]):
            kept = node.results[:1]
        for one in kept:
            with recording.at(node.where):
                ENSURE(Tensor(one, recording))


def _raises(nodes: Sequence[Node], raising: Set[Value] = frozenset()) -> bool:
    """Return whether nodes may raise in the user's program, or read what is `raising`."""
    return any(
        may_raise(one) or raises_in_python(one) or not raising.isdisjoint(one.operands)
        for one in every_node(nodes)
    )


def _results_that_raise(node: Node, raising: Set[Value]) -> list[Value]:
    """The results of a node that depend on what may raise: of a condition those that a side
    computes so."""
    bodies = [body for _, body in bodies_of(node)]
    if not bodies or any(len(body.outputs) != len(node.results) for body in bodies):
        return [*node.results]
    return [
        result
        for number, result in enumerate(node.results)
        if any(
            body.outputs[number] in raising
            or _raises(needed_nodes(body.nodes, [body.outputs[number]]), raising)
            for body in bodies
        )
    ]


def takes_gradients(python: Callable[..., Any], call: Call) -> bool:
    """Return whether code that this call may reach takes gradients by its own arrays."""
    return _captures(_roots(python, call), limit=None, compares=False).does("take gradients")


def _roots(python: Callable[..., Any], call: Call) -> list[Any]:
    """The roots of what a call reads: the function, objects among the arguments, classes, and
    rules that stand for functions of NumPy's."""
    objects = [leaf.value for leaf in call.leaves if leaf.role in ("static", "variable")]
    classes = [cls for one in call.structures.values() for cls in one.classes()]
    return [python, *objects, *classes, *RULES_FOR_NUMPY]


def _captures(roots: list[Any], limit: int | None = LEAVES, **options: Any) -> Captures:
    """Capture what is in reach of `roots`. Raises Failed if other threads change that all the
    time."""
    problem = None
    for _ in range(TRIES):
        try:
            return Captures(roots, limit, **options)
        except (RuntimeError, LookupError, AttributeError) as error:
            problem = error
        if threading.active_count() == 1:
            break
    raise Failed("reads") from problem


def _argument(leaf: Leaf, recording: Recording, request: SpecialisationRequest) -> Any:
    """The argument that the user's function receives for a leaf."""
    if leaf.role in ("static", "constant", "variable") or leaf.name in request.fixed:
        return leaf.value
    assert leaf.type is not None
    if leaf.role == "generator":
        generator = numpy_generator(leaf.value)
        return RecordedGenerator(recording.argument(leaf.name, leaf.type, generator))
    if leaf.role == "sparse":
        handle = recording.argument(leaf.name, leaf.type, leaf.value)
        return RecordedMatrix.of_handle(handle, leaf.value)
    if leaf.name in request.differentiated and leaf.type.form == "weak" and leaf.type.is_inexact:
        kind = leaf.type.with_form("scalar")
        tensor = recording.argument(leaf.name, kind, leaf.type.dtype.type(leaf.value))
        return recording.as_number(tensor)
    tensor = recording.argument(leaf.name, leaf.type, leaf.value)
    if leaf.role == "scalar" and leaf.name not in request.differentiated:
        recording.scalars[tensor._value] = leaf.value
    return tensor
