"""The two halves of a function that `vjp` calls: forward, which answers the result and the
residuals, and backward, which takes residuals and cotangents to the cotangents of the arguments.

Both come of one recording, and nothing is computed twice. A function is NotSplit where its gradient
cannot be recorded before there is a cotangent: because it has effects, or because a rule raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from tracejit.autodiff.partition import split
from tracejit.differentiate import Request, cotangents_of, like
from tracejit.errors import fail
from tracejit.ir.graph import NOWHERE, Graph
from tracejit.ir.types import ArrayType, type_of
from tracejit.kernel import make_kernel
from tracejit.passes.extract import extract
from tracejit.pipeline import Recorded
from tracejit.sources import Sources, derived_from, name_results, options_of, parameters_of
from tracejit.trace import places
from tracejit.trace.decisions import Failed
from tracejit.trace.record import Recording
from tracejit.trace.signature import origin_of
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import Structure, flatten, unflatten

PULLBACK = "the pullback of tj.vjp"


class NotSplit(Exception):
    """The gradient is recorded when there is a cotangent, not before."""


class Halves:
    """The halves of one function."""

    def __init__(self, f: Any, python: Callable[..., Any], has_aux: bool, count: int) -> None:
        """The halves of `f`, whose Python function is `python`, for so many primals; nothing is
        recorded yet."""
        options = options_of(f)

        def make(recorded: Recorded) -> Callable[..., Any]:
            return make_kernel(recorded, options.cache, options.exact).forward

        def halved(*primals: Any) -> Any:
            request = Request("vjp", tuple(range(count)), single=False, has_aux=has_aux)
            sources = Sources(python, request, primals, {})
            ys, structure, auxiliary = sources.call()
            back = Backward(sources, ys, structure, flatten(primals)[0])
            back.make, back.origin = make, origin_of(f, sources.name)
            name_results(ys, structure)
            for value in back.residuals:
                value.name_result("kept")
            kept = [Tensor(value, sources.recording) for value in back.residuals]
            return unflatten(structure, ys), auxiliary, kept, back

        self.forward = derived_from(f, halved, parameters_of(python, count))
        self.is_split = True

    def __call__(self, primals: Sequence[Any]) -> Any:
        """(result, auxiliary, residuals, the Backward that takes them); None where NotSplit."""
        if not self.is_split:
            return None
        try:
            return self.forward(*primals)
        except NotSplit:
            self.is_split = False
            return None


class Backward:
    """The backward half of one recording.

    It takes those leaves of the primals that are `given`, by number; the `residuals`, which forward
    answers; and the cotangents. `make` makes its kernel when it is called first.
    """

    make: Callable[[Recorded], Callable[..., Any]]
    origin: str

    def __init__(
        self, sources: Sources, ys: Sequence[Any], structure: Structure, leaves: Sequence[Any]
    ) -> None:
        """Record the cotangents of the sources, which come of the `leaves` of the primals, from
        those of the ys, the results in that structure."""
        recording = self.recording = sources.recording
        self.structure = structure
        self.types = [y.type if y.type.is_inexact else None for y in ys]
        parts = sources.structures
        self.answer_structure = Structure(tuple, tuple(range(len(parts))), tuple(parts))
        seeds, answers = _recorded(ys, sources.tensors, recording)
        self.answers = [answer._value for answer in answers]
        self.seeds = [seed._value for seed in seeds if seed is not None]
        known = {
            leaf._value: number
            for number, leaf in enumerate(leaves)
            if type(leaf) is Tensor and leaf.type.form == "array"
        }
        outputs = [y._value for y in ys]
        _, self.nodes, needed = split(recording.graph, outputs, self.answers, self.seeds)
        self.primals = [value for value in needed if value in known]
        self.given = [known[value] for value in self.primals]
        self.residuals = [value for value in needed if value not in known]

    def __call__(self, kept: Sequence[Any], cotangents: Sequence[Any]) -> Any:
        """The cotangents of the primals, in their structure: from the primals given and residuals,
        which are `kept`, and from cotangents, which must fit."""
        seeds = [
            _plain(given, type)
            for given, type in zip(cotangents, self.types, strict=True)
            if type is not None
        ]
        found = self._compute(*kept, *seeds)
        return unflatten(self.answer_structure, found if len(self.answers) > 1 else [found])

    @cached_property
    def _compute(self) -> Callable[..., Any]:
        """The function of the kernel."""
        recorded = self.recording.graph
        backward = Graph(f"{recorded.name}_pullback")
        backward.files, backward.nodes = recorded.files, self.nodes
        backward.adopt_constants(recorded)
        inputs = [*self.primals, *self.residuals, *self.seeds]
        graph = extract(backward, backward.name, inputs, self.answers)
        return self.make(Recorded(graph, self.origin, len(self.answers)))


def _recorded(
    ys: Sequence[Any], xs: Sequence[Any], recording: Recording
) -> tuple[list[Any], list[Any]]:
    """Placeholders for the cotangents of the ys, None where there is none, and the cotangents of
    the xs."""
    events = len(recording.events)
    try:
        with recording.at(NOWHERE), recording.recording_from(()) as nodes:
            seeds = [_placeholder(y, recording) if y.type.is_inexact else None for y in ys]
            answers = cotangents_of(ys, xs, seeds)
    except (Exception, Failed):
        raise NotSplit from None  # the pullback raises it
    if not xs or len(recording.events) > events or any(node.op.effect for node in nodes):
        raise NotSplit
    return seeds, answers


def _placeholder(y: Any, recording: Recording) -> Tensor:
    """The cotangent of y that is not there yet."""
    seed = recording.distinct(like(None, y))
    seed._value.derived = y._value, "_bar"
    return seed


def _plain(given: Any, type: ArrayType) -> Any:
    """A cotangent, no Tensor, as NumPy has it in the type of its result."""
    kind = type_of(given)
    if kind is type:
        return given
    problem = misfit(kind, given, type, "seeds")
    if problem:
        raise fail("seeds", places.here(), call=PULLBACK, problem=problem)
    cast = np.asarray(given, dtype=type.dtype)
    return cast[()] if type.form == "scalar" else cast


def misfit(kind: ArrayType | None, given: Any, like: Any, row: str) -> str:
    """What is wrong with a tangent or cotangent of this type for what has the type of `like`; empty
    where it fits."""
    what, whose = ("tangent", "primal") if row == "primals" else ("cotangent", "result")
    if kind is None:
        return f"a {what} is a {type(given).__name__}"
    if kind.shape != like.shape:
        return f"a {what} has shape {kind.shape}, its {whose} {like.shape}"
    if kind.dtype.kind == "c" and like.dtype.kind != "c":
        return f"a {what} is complex, its {whose} {like.dtype}"
    return ""


def refuse_structure() -> NoReturn:
    """Raise SeedError for cotangents in another structure than the results."""
    problem = "results and cotangents differ in their structure"
    raise fail("seeds", places.here(), call=PULLBACK, problem=problem)
