"""Callee: the user's Python function under a request, and the binding of its arguments."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from tracejit.autodiff.request.request import (
    Answer,
    Request,
    derived,
    floating,
    rebuild,
    selected,
    sources_of,
)
from tracejit.ir.location import NOWHERE
from tracejit.ir.sizes import Sizes
from tracejit.runtime.dispatch import Entry, Space
from tracejit.specialise.arguments import write_back
from tracejit.specialise.results import apart as fresh
from tracejit.support.config import setting
from tracejit.support.errors import TracejitError, UnsupportedError, ValueNeededError
from tracejit.support.garbage import collection_eased, collection_paused
from tracejit.support.imports import import_module
from tracejit.support.options import Options
from tracejit.support.words import identifier
from tracejit.trace.arguments.free_dimensions import SeenShapes
from tracejit.trace.arguments.signature import (
    Call,
    Leaf,
    bind_arguments,
    call_arguments,
    signature_of,
    static_names,
    take_apart,
)
from tracejit.trace.recording.before import Before
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.mutable_attributes import Attributes
from tracejit.trace.recording.numbers import may_be_differentiated
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.recorded_matrix import RecordedMatrix, apart
from tracejit.trace.recording.reruns import GivenUp, Line
from tracejit.trace.recording.unwritten import settle_unwritten
from tracejit.trace.recording.variable import read_argument, read_leaf
from tracejit.trace.rerolling.rerolling import reroll
from tracejit.trace.source.refusals import none_caught
from tracejit.trace.structure.trees import LEAF, flatten, map_tree
from tracejit.trace.structure.wrapped import labelled, unwrapped
from tracejit.trace.tensor.tensor import TENSORS


class Form(enum.Enum):
    """The one who can answer a call besides a kernel."""

    PLAIN = "the Python function, on arrays"
    GRADIENT = "the Python function on eager Tensors, and the reverse pass"
    TRANSFORM = "the body of a transform on eager Tensors, in place of a kernel that raised"
    RECORDED = "nobody: the body of the transform runs in recordings alone"


class SpecialisationRequest(NamedTuple):
    """A call to make a kernel for, of which the numbers that are `fixed`, by leaf name, stay
    numbers, and the leaves in `differentiated` are differentiated by.

    `space` holds the names of the entry that checks it. `onto` is the entry that the call fits, but
    for the branch that it takes: its kernel is joined. `forced` are the outcomes of the first
    decisions on that branch. `sizes` know the dimensions that are free. `before` is what the
    function read before it was run for this call.
    """

    call: Call
    space: Space
    fixed: dict[str, Any]
    differentiated: frozenset[str]
    before: Before
    onto: Entry | None = None
    forced: Sequence[Any] = ()
    sizes: Sizes | None = None


class Findings:
    """Facts about a function that recordings have found, for those that follow and for the
    fallback.

    `effects` are the kinds of what happens outside of it, "events", "errors" or the names of ops.
    `keeps_apart` says that it differentiates by what it computes more than once, `takes_gradients`
    that it takes gradients by its own arguments, None before that was asked. `attributes` are those
    that it has read. `rolls_sizes` says that loops in which sizes differ from step to step may be
    one node. `as_written` has a sentence for each function
    that was not converted. `walks` says that what it reads is walked before it is recorded. `forks`
    has the conditions and loops that are recorded for what a call does; None if all are, because
    of what would be `merged`. `written` has the lines whose arrays are recorded, as what is
    recorded is written to them; None if none are.
    """

    def __init__(self) -> None:
        """Begin with no call seen."""
        self.effects: set[str] = set()
        self.keeps_apart = False
        self.rolls_sizes = True
        self.takes_gradients: bool | None = None
        self.attributes = Attributes()
        self.as_written: dict[str, None] = {}
        self.walks = False
        self.forks: dict[tuple[int, int], GivenUp] | None = {}
        self.merged = ""
        self.written: set[Line] | None = set()
        self.takes_constants = False


class Callee:
    """A Python function under a request, and what its calls have shown of its arguments.

    `form` says who answers a call that no kernel serves. A Python number is static, a part of the
    kernel, on its first value, and dynamic from its second on, unless it belongs to one of the
    `static` parameters: those that the user has chosen, or all, where the function wants the
    numbers themselves. `shapes` do the like for sizes. `findings` are what recordings have shown.

    >>> callee = Callee(lambda x, y=2.0: x * y)
    >>> callee.name, callee.bind((3.0,), {})
    ('lambda_', {'x': 3.0, 'y': 2.0})
    """

    def __init__(
        self,
        python: Callable[..., Any],
        request: Request = Request(),  # noqa: B008
        options: Options = Options(),  # noqa: B008
        form: Form | None = None,
    ) -> None:
        """Describe `python`; nothing is called. Raises ArityError for specs in `options` that fit
        no parameters."""
        self.python = python
        self.request = request
        self.form = form or (Form.GRADIENT if request.transform else Form.PLAIN)
        self.signature = signature_of(python)
        known = options.name or getattr(python, "__name__", None) or type(python).__name__
        self.name = identifier(known)
        numbers, names = options.static_argnums, options.static_argnames
        self.chosen = self.static = static_names(self.signature, numbers, names, self.name)
        self.shapes = SeenShapes(self.name, options.dynamic_shapes is not False)
        self.findings = Findings()
        self.varying = request if request.transposed else None
        self._first_numbers: dict[str, str] = {}
        self._dynamic: set[str] = set()
        if options.input_signature is not None:
            specs = self.bind(tuple(options.input_signature), {})
            self.shapes.promise(self.take_apart(specs)[0])

    @property
    def is_transform(self) -> bool:
        """True if the function is the body of a transform, whose calls have to be recorded."""
        return self.form in (Form.TRANSFORM, Form.RECORDED)

    def refresh(self) -> None:
        """Read the signature anew: its defaults may be others by now."""
        self.signature = signature_of(self.python)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by parameter, defaults filled in. Raises ArityError."""
        return bind_arguments(self.signature, self.name, args, kwargs)

    def take_apart(self, arguments: dict[str, Any]) -> tuple[Call, Space]:
        """The leaves of a call with these arguments, and the names of what paths cannot spell.
        Variables are read, and sparse matrices taken apart, where a gradient is taken by them."""
        if self.request.transform:
            arguments = {name: map_tree(read_argument, value) for name, value in arguments.items()}
            chosen = selected(self.request, self.signature, arguments, self.name)
            found = {id(leaf): apart(leaf) for _, one in chosen for leaf in flatten(one)[0]}
            if any(type(one) is RecordedMatrix for one in found.values()):
                arguments = {
                    name: map_tree(lambda leaf: found.get(id(leaf), leaf), value)
                    for name, value in arguments.items()
                }
        space = Space(self.signature.parameters)
        return take_apart(arguments, self.name, space.bind), space

    def note(self, arguments: dict[str, Any]) -> SpecialisationRequest:
        """Take note of the numbers and sizes in a call with these arguments; return what to make a
        kernel for. Raises ArgumentError for what has labels."""
        call, space = self.take_apart(arguments)
        if self.findings.takes_constants:
            call = call._replace(leaves=[self._constant(leaf, call) for leaf in call.leaves])
        if problem := self.refusal(call):
            raise problem
        for leaf in call.leaves:
            if leaf.role == "number":
                spelled = repr(leaf.value)
                if self._first_numbers.setdefault(leaf.path, spelled) != spelled:
                    self._dynamic.add(leaf.path)
        self.shapes.note(call)
        differentiated = self.differentiated(call)
        fixed = {
            leaf.name: leaf.value
            for leaf in call.leaves
            if leaf.role == "number"
            and leaf.name not in differentiated
            and (leaf.path not in self._dynamic or leaf.argument in self.static)
        }
        return SpecialisationRequest(call, space, fixed, differentiated, Before())

    def refusal(self, call: Call) -> TracejitError | None:
        """The error about an argument that no kernel takes, because it has labels."""
        for leaf in call.leaves:
            if leaf.role == "labelled":
                return labelled(leaf.value, f"argument {leaf.path} of {self.name}", leaf.path)
        return None

    def want_constants(self, error: BaseException) -> bool:
        """Take the arrays that are not differentiated as they are from now on, after an error of
        code that wants them themselves; return whether that is new."""
        refused = isinstance(error, (UnsupportedError, ValueNeededError))
        is_new = refused and self.varying is not None and not self.findings.takes_constants
        if is_new:
            self.findings.takes_constants = True
            self.want_numbers()
        return is_new

    def _constant(self, leaf: Leaf, call: Call) -> Leaf:
        """A leaf of a call by its contents, where it is an array that is not differentiated."""
        assert self.varying is not None
        if leaf.name in self._chosen(call, self.varying, "biufc") or leaf.given is not None:
            return leaf
        if leaf.role == "scalar":
            return leaf._replace(role="static", type=None)
        is_plain = leaf.role == "array" and type(leaf.value) is np.ndarray
        return leaf.constant() if is_plain else leaf

    def want_numbers(self) -> None:
        """Let all numbers be static from now on: the function wants them themselves."""
        self.static |= self.signature.parameters.keys()

    def static_rows(self) -> dict[str, str]:
        """The row of `SENTENCES` for each argument whose numbers are static."""
        return {name: "static" if name in self.chosen else "wanted" for name in self.static}

    def misfit(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> TracejitError | None:
        """The ArityError for a TypeError of calling an entry, which has the user's parameters."""
        trace = error.__traceback__
        if isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
            try:
                self.bind(args, kwargs)
            except TracejitError as misfit:
                return misfit.with_traceback(None)
        return None

    def differentiated(self, call: Call) -> frozenset[str]:
        """The floating leaves that the request differentiates by. Raises GradientError."""
        return self._chosen(call, self.request) if self.request.transform else frozenset()

    def _chosen(self, call: Call, request: Request, kinds: str = "fc") -> frozenset[str]:
        """The leaves that a request differentiates by, of these kinds of dtypes."""
        numbers = call.rebuild(range(len(call.leaves)))
        chosen = selected(request, self.signature, numbers, self.name)
        found = [call.leaves[number] for _, value in chosen for number in flatten(value)[0]]
        return frozenset(x.name for x in found if x.type and x.type.dtype.kind in kinds)

    def record(self, arguments: dict[str, Any], recording: Recording, top: bool = True) -> Answer:
        """Answer the request for arguments some of whose leaves are Tensors of `recording`, at its
        `top` or as a part of it."""
        request, name = self.request, recording.graph.name
        arguments = floating(request, self.signature, arguments, name)
        if request.transform:
            sources, structures = sources_of(request, self.signature, arguments, name)
        positional, keywords = call_arguments(self.signature, arguments)
        start = len(recording.graph.nodes)
        given = (*positional, *keywords.values())
        with _routed(self.python, given, recording.as_written) as python:
            with collection_eased():
                with none_caught(name):
                    result = python(*positional, **keywords)
                found = [one for one in flatten(result)[0] if type(one) in TENSORS]
                if recording.is_routed and not self.is_transform:
                    settle_unwritten(recording, start, [one._value for one in found])
                reroll(recording, start, found)
            if top:
                recording.forward = len(recording.graph.nodes)
            if not request.transform:
                leaves, structure = flatten(map_tree(read_leaf, result))
                return Answer(leaves, structure, [], LEAF, [], None)
            # At the top no line of the user's is between here and the call, which is not recorded.
            with recording.at(NOWHERE if top else recording.where), collection_paused():
                return derived(result, sources, structures, request, name, recording, top=top)

    def inline(self, arguments: dict[str, Any], recording: Recording) -> Any:
        """Answer a call as part of the recording that runs already."""
        if self.request.transform:
            call, _ = self.take_apart(arguments)
            differentiated = self.differentiated(call)
            values = [
                recording.source(leaf.value, leaf.name)
                if leaf.name in differentiated
                else leaf.value
                for leaf in call.leaves
            ]
            arguments = call.rebuild(values)
        arguments = {name: unwrapped(value) for name, value in arguments.items()}
        answer = self.record(arguments, recording, top=False)
        if self.request.transform:
            write_back(call, values)
        return rebuild(answer._replace(value=[*map(fresh, answer.value)]), self.request)

    def run_eagerly(self, arguments: dict[str, Any]) -> Any:
        """Answer the request on eager Tensors among the arguments, by what Python does in this
        call."""
        arguments = floating(self.request, self.signature, arguments, self.name)
        positional, keywords = call_arguments(self.signature, arguments)
        given = (*positional, *keywords.values())
        with _routed(self.python, given, self.findings.as_written) as python:
            if not self.request.transform:
                with EAGER.following():
                    return python(*positional, **keywords)
            request, name = self.request, self.name
            sources, structures = sources_of(request, self.signature, arguments, name)
            with EAGER.recording_from(sources) as nodes, EAGER.following(), none_caught(name):
                result = map_tree(_strong, python(*positional, **keywords))
            with EAGER.at(NOWHERE):
                answer = derived(result, sources, structures, request, name, EAGER, nodes=nodes)
        return rebuild(answer, request)


def _strong(leaf: Any) -> Any:
    """A Python float that depends on what is differentiated by, as NumPy's."""
    is_number = type(leaf) in TENSORS and leaf.type.form == "weak"
    return EAGER.strong(leaf) if is_number and may_be_differentiated(leaf) else leaf


def _routed(
    python: Callable[..., Any], arguments: tuple[Any, ...], refused: dict[str, None]
) -> AbstractContextManager[Callable[..., Any]]:
    """A function to be recorded with these arguments, with its calls routed where conversion is
    switched on; sentences on the functions that run as they are written are added to `refused`."""
    if not setting("convert"):
        return nullcontext(python)
    routed: AbstractContextManager[Callable[..., Any]]
    routed = import_module("tracejit.trace.convert.routes").routed(python, arguments, refused)
    return routed
