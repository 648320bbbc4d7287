"""The two halves of a function that `vjp` and `linearize` call: the first returns the result and
what the second needs besides the primals, the residuals; the second takes cotangents of the result
to those of the primals, or tangents of the primals to those of the result.

Both come of one recording, and no value is computed twice. A function is NotSplit where its
derivative cannot be recorded before there is a direction: because it has effects, or because a rule
raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from tracejit.api.derived import Sources, derived_from, name_results, options_of, parameters_of
from tracejit.autodiff.partition.partition import split
from tracejit.autodiff.request.request import Request, cotangents_of, like, tangents_of
from tracejit.compiler.kernel import make_kernel
from tracejit.compiler.pipeline import Recorded
from tracejit.ir.graph import Graph
from tracejit.ir.location import NOWHERE, Origin
from tracejit.ir.types import ArrayType, type_of
from tracejit.passes.framework.extract import extract
from tracejit.specialise.results import own
from tracejit.support.errors import fail
from tracejit.support.words import a
from tracejit.trace.recording.decisions import Failed
from tracejit.trace.recording.record import Recording
from tracejit.trace.source import places
from tracejit.trace.source.files import origin_of
from tracejit.trace.structure.sparse_products import is_sparse
from tracejit.trace.structure.trees import Structure, flatten, keep, map_tree, unflatten
from tracejit.trace.tensor.tensor import TENSORS, Tensor

PULLBACK = "the pullback of tj.vjp"


class NotSplit(Exception):
    """The derivative is recorded when there is a direction, not before."""


class Halves:
    """The halves of one function."""

    def __init__(
        self, f: Any, python: Callable[..., Any], transform: str, has_aux: bool, count: int
    ) -> None:
        """The halves of `f`, whose Python function is `python`, for so many primals, as `vjp` or
        `linearize` takes them; nothing is recorded yet."""
        options = options_of(f)

        def make(recorded: Recorded) -> Callable[..., Any]:
            return make_kernel(recorded, options).forward

        def halved(*primals: Any) -> Any:
            request = Request(transform, tuple(range(count)), single=False, has_aux=has_aux)
            sources = Sources(python, request, primals, {})
            leaves, _ = flatten(primals, opens=False)
            has_matrix = any(is_sparse(type(leaf)) for leaf in leaves)
            if has_matrix or not isinstance(sources.recording, Recording):
                raise NotSplit
            ys, structure, auxiliary = sources.call()
            name_results(ys, structure)
            second = SecondHalf(sources, ys, structure, flatten(primals)[0])
            second.make, second.origin = make, origin_of(f, sources.name)
            for value in second.residuals:
                value.name_result("kept")
            kept = [Tensor(value, sources.recording) for value in second.residuals]
            return unflatten(structure, ys), auxiliary, kept, second

        self.first = derived_from(f, halved, parameters_of(python, count))
        self.is_split = True

    def __call__(self, primals: Sequence[Any]) -> Any:
        """(result, auxiliary, residuals, the SecondHalf that takes them); None if NotSplit."""
        if not self.is_split:
            return None
        try:
            return self.first(*primals)
        except NotSplit:
            self.is_split = False
            return None


class SecondHalf:
    """The second half of one recording.

    It takes those leaves of the primals that are `given`, by number; the `residuals`, which the
    first half answers; and directions, in that `structure`. `make` makes its kernel when it is
    called first.
    """

    make: Callable[[Recorded], Callable[..., Any]]
    origin: Origin

    def __init__(
        self, sources: Sources, ys: Sequence[Any], structure: Structure, leaves: Sequence[Any]
    ) -> None:
        """Record what becomes of directions, of the ys, the results in that structure, or of the
        sources, which come of the `leaves` of the primals."""
        assert isinstance(sources.recording, Recording)
        recording = self.recording = sources.recording
        self.varies = sources.varies
        self.is_pullback = sources.request.transform == "vjp"
        ends = (structure, ys), (sources.structure, sources.tensors)
        start, end = ends if self.is_pullback else ends[::-1]
        (self.structure, starting), (self.answer_structure, _) = start, end
        self.types = [x.type if x.type.is_inexact else None for x in starting]
        seeds, answers = self._recorded(ys, sources.tensors, starting)
        self.seeds = [seed._value for seed in seeds if seed is not None]
        self.answers = [answer._value for answer in answers]
        known = {
            leaf._value: number
            for number, leaf in enumerate(leaves)
            if type(leaf) in TENSORS and leaf.type.form == "array"
        }
        outputs = [y._value for y in ys]
        _, self.nodes, needed = split(recording.graph, outputs, self.answers, self.seeds)
        self.primals = [value for value in needed if value in known]
        self.given = [known[value] for value in self.primals]
        self.residuals = [value for value in needed if value not in known]

    def _recorded(
        self, ys: Sequence[Any], xs: Sequence[Any], starting: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Placeholders for the directions, None if there is none, and what becomes of them."""
        recording = self.recording
        events = len(recording.events)
        try:
            with recording.at(NOWHERE), recording.recording_from(()) as nodes:
                seeds = [self._placeholder(x) if x.type.is_inexact else None for x in starting]
                becomes = cotangents_of if self.is_pullback else tangents_of
                answers = becomes(ys, xs, seeds)
        except (Exception, Failed):
            raise NotSplit from None  # the second half raises it
        if not xs or len(recording.events) > events or any(node.op.effect for node in nodes):
            raise NotSplit
        return seeds, answers

    def _placeholder(self, x: Any) -> Tensor:
        """A direction of x that is not there yet."""
        seed = self.recording.distinct(like(None, x))
        seed._value.derived = x._value, "_bar" if self.is_pullback else "_dot"
        return seed

    def __call__(self, kept: Sequence[Any], directions: Sequence[Any], held: Any) -> Any:
        """The image of directions, which must fit; `kept` are the primals given, and the
        residuals. What is not a source is in the image of cotangents as in `held`, the primals."""
        seeds = [
            self._plain(given, type)
            for given, type in zip(directions, self.types, strict=True)
            if type is not None
        ]
        found = self._compute(*kept, *seeds)
        structure = self.answer_structure
        if not all(self.varies) and self.is_pullback:
            leaves, whole = flatten(map_tree(own, held))
            structure = keep(whole, leaves, self.varies)
        return unflatten(structure, found if len(self.answers) > 1 else [found])

    @cached_property
    def _compute(self) -> Callable[..., Any]:
        """The function of the kernel."""
        recorded = self.recording.graph
        kind = "pullback" if self.is_pullback else "pushforward"
        later = Graph(f"{recorded.name}_{kind}")
        later.files, later.nodes = recorded.files, self.nodes
        later.nodes = self.nodes
        later.adopt(recorded)
        inputs = [*self.primals, *self.residuals, *self.seeds]
        graph = extract(later, later.name, inputs, self.answers)
        return self.make(Recorded(graph, self.origin, len(self.answers)))

    def _plain(self, given: Any, type: ArrayType) -> Any:
        """A direction, no Tensor, as NumPy has it in that type."""
        kind = type_of(given)
        if kind is type:
            return given
        row, call = ("seeds", PULLBACK) if self.is_pullback else ("primals", "tj.linearize")
        problem = misfit(kind, given, type, row)
        if problem:
            raise fail(row, places.here(), call=call, problem=problem)
        cast = np.asarray(given, dtype=type.dtype)
        return cast[()] if type.form == "scalar" else cast


def misfit(kind: ArrayType | None, given: Any, like: Any, row: str) -> str:
    """The mismatch of a tangent or cotangent of this type with `like`; empty where it fits."""
    what, whose = ("tangent", "primal") if row == "primals" else ("cotangent", "result")
    if kind is None:
        return f"a {what} is {a(type(given).__name__)}"
    if kind.shape != like.shape:
        return f"a {what} has shape {kind.shape}, its {whose} {like.shape}"
    if kind.dtype.kind == "c" and like.dtype.kind != "c":
        return f"a {what} is complex, its {whose} {like.dtype}"
    return ""


def refuse_structure(transform: str) -> NoReturn:
    """Raise SeedError for directions in another structure than what they belong to."""
    row, call, whose = "primals", f"tj.{transform}", "primals and tangents"
    if transform == "vjp":
        row, call, whose = "seeds", PULLBACK, "results and cotangents"
    problem = f"{whose} differ in their structure"
    raise fail(row, places.here(), call=call, problem=problem)
