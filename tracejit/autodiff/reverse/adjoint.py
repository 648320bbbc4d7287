"""The reverse pass: `gradients(ys, xs)` appends adjoint nodes to the graph being recorded.

Each op's rule runs on Tensors of the same recording, so an adjoint consists of ordinary nodes and
can be differentiated again. Everything that is common to all ops happens here and only here:

- cotangents are summed over broadcast axes and cast to the operand's dtype and form (`fit`);
- complex cotangents are conjugated on entry and on exit: inside, rules are plain transposes, and
  outside the gradient of a real loss L is the conjugate cotangent, dL = Re(conj(grad) * dz), as
  in TensorFlow;
- a maximum that is subtracted, and of which nothing depends in the end, hands nothing on: its
  cotangent is zero but for rounding (`autodiff/reverse/shift_invariance.py`);
- a value that is not floating or complex, or that no path connects to an x, gets no cotangent;
- nodes of a recompute region are cloned where the reverse pass reaches the region, so that what
  they computed need not be kept. The clones belong to a region of their own: nothing merges them
  with the originals.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.autodiff.reverse.conditions import derivative_of
from tracejit.autodiff.reverse.fitting import fit as fit
from tracejit.autodiff.reverse.fitting import unbroadcast as unbroadcast
from tracejit.autodiff.reverse.shift_invariance import followers_of, has_no_effect
from tracejit.ir.graph import Node, Value, replace_values
from tracejit.ir.location import NOWHERE, Location
from tracejit.ops.base.op import Applied, Joint
from tracejit.ops.control.control_flow import ADD_ROWS, ControlFlow, is_loop
from tracejit.ops.control.effects import DRAW
from tracejit.ops.control.marker_ops import OVERRIDE, Marker, inputs_of, is_ruled
from tracejit.ops.elementwise.choices import where as WHERE
from tracejit.passes.framework.rematerialise import RECOMPUTED
from tracejit.support.errors import TracejitError, fail, placed
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import Tensor


def gradients(
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    grad_ys: Sequence[Tensor],
    nodes: Sequence[Node] | None = None,
    known: Sequence[Tensor | None] = (),
    make: Callable[[Recorder, Sequence[Value], Sequence[Node]], ReversePass] | None = None,
) -> list[Tensor | None]:
    """The gradient of sum(conj(grad_y) * y) over all ys with respect to each x; None if
    unconnected.

    `ys`, `xs` and `grad_ys` belong to one recorder; grad_ys have the types of the ys. Only `nodes`
    are followed, by default all of the graph. `known` are gradients of the xs so far, to which what
    is found is added, in turn. `make` makes a reverse pass of another kind. Raises
    NoGradientError where the path meets an op
    without a rule.
    """
    if not ys or not xs:
        return list(known) if known else [None] * len(xs)
    recorder: Recorder = ys[0]._recording
    if nodes is None:
        nodes = recorder.graph.nodes
    reverse = (make or ReversePass)(recorder, [x._value for x in xs], nodes)
    for x, g in zip(xs, known, strict=False):
        if g is not None:
            reverse.cotangents[x._value] = conjugate(g)
    return reverse.run(ys, grad_ys)


class MaskedCotangent(NamedTuple):
    """A cotangent that is zero where `mask` does not hold, or does not where not `positive`, and
    `inner` elsewhere."""

    mask: Any
    positive: bool
    inner: Any

    def tensor(self) -> Any:
        """The cotangent itself."""
        if self.positive:
            return np.where(self.mask, self.inner, 0.0)
        return np.where(self.mask, 0.0, self.inner)

    def within(self, mine: MaskedCotangent) -> MaskedCotangent:
        """The intersection of both masks."""
        masks = [one.mask if one.positive else np.logical_not(one.mask) for one in (self, mine)]
        return MaskedCotangent(np.logical_and(*masks), True, mine.inner)

    def has_the_mask_of(self, other: MaskedCotangent) -> bool:
        """Return whether both are zero in the same places."""
        same = self.mask._value is other.mask._value and self.positive == other.positive
        return same and _like(self.inner, other.inner)


class ReversePass:
    """One traversal: which nodes matter, and the cotangent gathered so far for each value."""

    def __init__(self, recording: Recorder, xs: Sequence[Value], nodes: Sequence[Node]) -> None:
        """A reverse pass over `nodes` of `recording` as they are now."""
        self.recording = recording
        self.xs = xs
        self.nodes = list(nodes)
        self.cotangents: dict[Value, Tensor] = {}
        self.clones: dict[Value, Value] = {}
        self.outer: Any = recording.substitutes
        self.notes: dict[Location | None, str] = {}
        self.choices: dict[Value, MaskedCotangent] = {}
        self.regions: dict[int, list[Node]] = {}
        for node in self.nodes:
            if node.region:
                self.regions.setdefault(node.region, []).append(node)
        self.sources = set(xs)
        self.ends: set[Value] = set()
        self.followers: dict[Value, list[tuple[int, Node]]] = {}

    def run(self, ys: Sequence[Tensor], grad_ys: Sequence[Tensor]) -> list[Tensor | None]:
        """The gradients of the xs."""
        found = self.pulled_back(ys, [conjugate(seed) for seed in grad_ys])
        return [None if g is None else conjugate(g) for g in found]

    def pulled_back(self, ys: Sequence[Tensor], seeds: Sequence[Tensor]) -> list[Tensor | None]:
        """The cotangents of the xs, for those of the ys."""
        active = self._active()
        for y, seed in zip(ys, seeds, strict=True):
            if y._value in active:
                self._add(y._value, seed)
        self.ends = set(self.cotangents)
        clones = ChainMap(self.clones, self.outer) if self.regions else self.outer
        with self.recording.substituting(clones):
            for node in reversed(self.nodes):
                if any(result in self.cotangents for result in node.results):
                    self._step(node, active)
        found = [self.cotangents.get(x) for x in self.xs]
        self._name_gradients(found)
        return found

    def _active(self) -> set[Value]:
        """The inexact values that depend on an x."""
        active = {x for x in self.xs if x.type.is_inexact}
        for node in self.nodes:
            if node.op.vjp != () and any(operand in active for operand in inputs_of(node)):
                active.update(v for v in node.results if v.type.is_inexact)
        return active

    def _step(self, node: Node, active: set[Value]) -> None:
        """Hand the cotangents of a node's results on to its operands."""
        cotangents = [self._take(result) for result in node.results]
        if self._returned(node, cotangents, active):
            return
        if node.op.reduces and node.op.elements == "taken" and self._is_shift(node):
            return
        self._clone_region(node.region)
        if node.op is OVERRIDE:
            self._override(node, cotangents, active)
            return
        if isinstance(node.op, ControlFlow):
            self._control_flow(node, cotangents, active)
            return
        if isinstance(node.op.vjp, Joint):
            self._joint(node, cotangents, active)
            return
        with self.recording.at(self._noted(node.where)):
            out = self._tensors(node.results)
            operands = self._tensors(node.operands)
            g: Any = cotangents if len(out) > 1 else cotangents[0]
            y: Any = out if len(out) > 1 else out[0]
            choice = self._choice(node, cotangents)
            g = g if choice is None else choice.inner
            for number, operand in enumerate(node.operands):
                if operand not in active:
                    continue
                rule = node.op.vjp_rule(number)
                if rule is None:
                    self._no_rule(node)
                    continue
                try:
                    cotangent = rule(g, y, *operands, **node.params)
                except TracejitError as error:
                    raise placed(error, self.recording.here()) from None
                if cotangent is None:
                    continue
                chosen = self._chosen(node, number, g, cotangent, operands, choice)
                fitting = fit(
                    chosen.tensor() if chosen else cotangent, operand.type, self.recording
                )
                if chosen and _like(fitting, chosen.inner):
                    self.choices[fitting._value] = chosen
                self._add(operand, fitting)

    def _returned(
        self, node: Node, cotangents: Sequence[Tensor | None], active: set[Value]
    ) -> bool:
        """Hand the cotangents of what was computed again to what was computed first, where a rule
        of the user's follows: it is for their sum. False where that is not the case."""
        originals = self.recording.originals
        if not originals or node.results[0] not in originals or not is_ruled(node):
            return False
        firsts = [originals[result] for result in node.results]
        if not active.issuperset(first for first in firsts if first.type.is_inexact):
            return False
        for first, cotangent in zip(firsts, cotangents, strict=True):
            if cotangent is not None:
                self._add(first, cotangent)
        return True

    def _is_shift(self, node: Node) -> bool:
        """Return whether no result depends on this maximum, whose operand has a cotangent
        anyway."""
        if node.operands[0] not in self.cotangents:
            return False
        self.followers = self.followers or followers_of(self.nodes)
        return has_no_effect(node, self.followers, self.ends)

    @staticmethod
    def _chosen(
        node: Node,
        number: int,
        g: Any,
        cotangent: Any,
        operands: Sequence[Any],
        outer: MaskedCotangent | None,
    ) -> MaskedCotangent | None:
        """A cotangent that a mask leaves out elements of, as what it leaves them out of."""
        if node.op is WHERE:
            mine = MaskedCotangent(operands[0], number == 1, g)
            return mine if outer is None else outer.within(mine)
        if outer is None or np.shape(cotangent) != outer.inner.shape:
            return None
        return outer._replace(inner=cotangent)

    def _choice(self, node: Node, cotangents: Sequence[Tensor | None]) -> MaskedCotangent | None:
        """The cotangent that an elementwise operation hands on. Where a mask leaves out elements of
        its cotangent, an infinite derivative must not matter."""
        g = cotangents[0]
        if g is None or len(cotangents) > 1:
            return None
        if not node.op.elementwise and node.op.elements != "same":
            return None
        return self.choices.get(g._value)

    def _control_flow(self, node: Node, gs: Sequence[Tensor | None], active: set[Value]) -> None:
        """A loop or condition: its cotangents are those of the user's convention, as those of its
        bodies are."""
        with self.recording.at(self._noted(node.where)):
            wanted = [operand in active for operand in node.operands]
            operands = self._tensors(node.operands)
            known = self._known_invariants(node)
            derivative = derivative_of(self.recording, node, operands, wanted, known)
            with self.recording.at(NOWHERE):  # but for what rules record
                answers = derivative.pulled_back([_conjugated(g) for g in gs], self._gradients)
            known += [None] * (len(answers) - len(known))
            for operand, answer, before in zip(node.operands, answers, known, strict=True):
                if answer is None or operand not in active:
                    continue
                if before is not None:
                    del self.cotangents[operand]
                self._add(operand, fit(conjugate(answer), operand.type, self.recording))

    def _gradients(self, *arguments: Any) -> list[Tensor | None]:
        """The gradients of a body of a loop or condition: as `gradients`."""
        return gradients(*arguments)

    def _known_invariants(self, node: Node) -> list[Any]:
        """The cotangents so far of the invariants of a loop, which add up theirs one step after the
        other; None for what it reads as something else, too."""
        alone = node.operands[: node.params["invariants"]] if is_loop(node) else ()
        return [
            _conjugated(self.cotangents.get(x)) if node.operands.count(x) == 1 else None
            for x in alone
        ]

    def _joint(self, node: Node, gs: Sequence[Tensor | None], active: set[Value]) -> None:
        """A registered rule, for all operands at once: conjugated on both sides, as it is the
        user's."""
        with self.recording.at(self._noted(node.where)):
            inputs, outputs = self._tensors(node.operands), self._tensors(node.results)
            applied = Applied(node.op.name, inputs, outputs, node.params)
            answers = node.op.vjp.rule(applied, *self._dense(gs, node))
            for operand, answer in zip(node.operands, answers, strict=True):
                if answer is not None and operand in active:
                    self._add(operand, fit(conjugate(answer), operand.type, self.recording))

    def _override(self, node: Node, gs: Sequence[Tensor | None], active: set[Value]) -> None:
        """The user's rule in place of the op's: conjugated on both sides, its results checked
        already."""
        marker = node.params["grad"]
        if node.where is not None:
            self.notes[node.where] = marker.note
        with self.recording.at(self._noted(node.where)):
            inputs = inputs_of(node)
            if marker.continues:
                self._continue(marker, inputs, gs, active)
                return
            if marker.pruned:
                wanted = [operand in active for operand in inputs]
                answers = marker.rule([_conjugated(g) for g in gs], wanted)
            else:
                answers = marker.rule(*self._dense(gs, node))
            for operand, answer in zip(inputs, answers, strict=True):
                if answer is not None and operand in active:
                    self._add(operand, fit(conjugate(answer), operand.type, self.recording))

    def _continue(
        self,
        marker: Marker,
        inputs: Sequence[Value],
        gs: Sequence[Tensor | None],
        active: set[Value],
    ) -> None:
        """Let a rule go on from the cotangents that its inputs have so far."""
        known = [_conjugated(self.cotangents.get(operand)) for operand in inputs]
        wanted = [operand in active for operand in inputs]
        answers = marker.rule([_conjugated(g) for g in gs], wanted, known)
        for operand, answer in zip(inputs, answers, strict=True):
            if answer is not None and operand in active:
                self.cotangents[operand] = conjugate(answer)

    def _dense(self, gs: Sequence[Tensor | None], node: Node) -> list[Any]:
        """The cotangents for a rule of the user's: zeros where none arrived, None for what can have
        none."""
        return [
            conjugate(g if g is not None else np.zeros_like(out)) if out.type.is_inexact else None
            for g, out in zip(gs, self._tensors(node.results), strict=True)
        ]

    def _noted(self, where: Location | None) -> Location | None:
        """The place of a node, with the note of the marker that this statement's cotangent has
        passed."""
        if where is None or where not in self.notes:
            return where
        return where._replace(note=self.notes[where])

    def _no_rule(self, node: Node) -> None:
        if node.op.vjp is not None:
            return
        place = places.where_of(node.where, self.recording.graph.files)
        raise fail("no-rule", place, op=spelled(node))

    def _take(self, value: Value) -> Tensor | None:
        """The cotangent of a value, complete now, named after it; an x keeps its own for the
        end."""
        cotangent = self.cotangents.get(value)
        if cotangent is not None:
            self._name(cotangent, value)
            if value not in self.sources:
                del self.cotangents[value]
        return cotangent

    def _name_gradients(self, found: Sequence[Tensor | None]) -> None:
        """Name each gradient after its x, also where it is the cotangent of something else, too."""
        named: set[Value] = set()
        for x, g in zip(self.xs, found, strict=True):
            if g is not None and g._value not in named:
                named.add(g._value)
                if x.label:
                    g._value.derived = None
                self._name(g, x)

    def _name(self, cotangent: Tensor, value: Value) -> None:
        result = cotangent._value
        if result.node is not None and not result.label and result.derived is None:
            result.derived = (value, "_bar")

    def _add(self, value: Value, cotangent: Tensor) -> None:
        known = self.cotangents.get(value)
        if known is None:
            self.cotangents[value] = cotangent
            return
        if value.type.form == "list":
            self.cotangents[value] = ADD_ROWS(known, cotangent)
            return
        mine, other = (self.choices.get(g._value) for g in (known, cotangent))
        if mine is None or other is None or not mine.has_the_mask_of(other):
            self.cotangents[value] = known + cotangent
            return
        both = mine._replace(inner=mine.inner + other.inner)
        self.cotangents[value] = total = both.tensor()
        self.choices[total._value] = both

    def _tensors(self, values: Iterable[Value]) -> list[Tensor]:
        known = self.clones
        return [Tensor(known.get(value, value), self.recording) for value in values]

    def _clone_region(self, region: int) -> None:
        """Emit the nodes of a recompute region once more, here; but for effects, which take place
        once, and for an x, which must stay what it is, so that the gradient can be differentiated
        with respect to it."""
        nodes = self.regions.pop(region, None)
        if nodes is None:
            return
        self.recording.regions += 1
        copy_region, originals = self.recording.regions, self.recording.originals
        for node in nodes:
            if node.op.effect or self.sources.intersection(node.results):
                continue
            where = node.where._replace(note=RECOMPUTED) if node.where else None
            operands = replace_values(node.operands, self.clones)
            copy = self.recording.copy(node, operands, where, copy_region)
            self.clones.update(zip(node.results, copy.results, strict=True))
            for old, result in zip(node.results, copy.results, strict=True):
                originals[result] = originals.get(old, old)


def _like(one: Any, other: Any) -> bool:
    """Return whether two cotangents have the same shape and dtype."""
    return bool(one.shape == other.shape and one.dtype == other.dtype)


def _conjugated(tensor: Tensor | None) -> Any:
    return None if tensor is None else conjugate(tensor)


def conjugate(tensor: Any) -> Any:
    """The complex conjugate; a real Tensor itself, and a list, whose rows loops conjugate."""
    if tensor.dtype.kind != "c" or tensor.type.form == "list":
        return tensor
    return np.conjugate(tensor)


def spelled(node: Node) -> str:
    """The name of an operation as the user would say it: a draw by its method."""
    call: str = node.params.get("call", "")
    name: str = node.op.name.removeprefix("map_")
    return f"Generator.{call.partition('(')[0]}" if name == DRAW.name else name
