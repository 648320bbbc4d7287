"""Closing of loops on data: a `while`, or `for` with a `break`, is recorded once, for every number
of trips.

When a loop goes on at its first test, the variables that a step assigns are replaced, in the
running frame, by placeholders. One step is recorded, from test to test, and for each decision in it
the other side as well. Then the loop is one node: its results are put into the frame, and Python is
told that the test has failed. `trace/loop_syntax.py` says of which loops this holds.

The first test is a decision as any other. The test after a step is carried to the next; parts of a
test that come after its first (`and k < 50`) are asked before each step, on its variables.

What does not hold after all raises CannotClose: the function is recorded again, that loop trip by
trip. A Python number that a step changes raises, too: in the next recording it is a Tensor.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

import numpy as np

from tracejit.ir.graph import Node, Value, replace_values
from tracejit.ir.subgraph import Placeholder, needed_for
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.branches import may_raise
from tracejit.ops.forms import as_array, as_element, as_scalar
from tracejit.trace import places
from tracejit.trace.conditions import common_type, converted, emit_condition, record_side, zeros
from tracejit.trace.decisions import Unknown
from tracejit.trace.loop_steps import Segment, as_bool, at_line, is_same, set_locals
from tracejit.trace.loop_syntax import LoopSyntax
from tracejit.trace.loops import LoopInputs, Side, emit_while, placeholder, step_number, take_out
from tracejit.trace.reruns import CannotClose, Closing, Site
from tracejit.trace.tensor import TENSORS, Tensor

MOST_PATHS = 16
MOST_DECISIONS = 32
MOST_TRIPS = 1000
BREAKS = "break"
"""The name by which it is known, beside variables, whether a loop with an `else` breaks."""


class OpenLoop:
    """A loop that is being recorded."""

    def __init__(
        self,
        recording: Any,
        closing: Closing,
        frame: FrameType,
        syntax: LoopSyntax,
        site: Site,
        decide: Callable[[Value], bool],
    ) -> None:
        """The first test of the loop in `frame` has just gone on; `decide` takes decisions outside
        of loops."""
        self.recording = recording
        self.closing = closing
        self.decide = decide
        self.frame = frame
        self.syntax = syntax
        self.site = site
        self.start = 0
        self.scope = recording.inside_scope()
        self.scope.__enter__()
        self.outer_trail = recording.trail
        self.fixed: dict[str, Any] = {}
        self.initial: dict[str, Any] = {}
        self.inputs: dict[str, Value] = {}
        self.parts: dict[Value, None] = {}
        self.instruction = frame.f_lasti
        self.root = self.segment = Segment()
        self.again: list[Node] | None = None
        self.forced: tuple[bool, ...] | None = None
        self.depth = 0
        self.same: dict[Value, Value] = {}
        self.made: dict[str, Any] = {}
        self.is_whole = syntax.is_single
        self.inside: set[Node] = set()
        self.where = places.location(frame)[0]
        self.left = len(syntax.counter.left) if syntax.counter else 0
        self.count: Any = None
        self.results: dict[str, Any] = {}
        self.is_closed = False
        self._begin()

    # The variables

    def _begin(self) -> None:
        """Take the variables that a step assigns for placeholders."""
        local = self.frame.f_locals
        for name in sorted(name for name in self.syntax.stores if name in local):
            value = local[name]
            wanted = self.closing.types.get((self.site, name))
            if type(value) not in TENSORS and wanted is None and not self._is_counter(name, value):
                self.fixed[name] = value
                continue
            tensor: Any = Tensor(self.recording.lift(value), self.recording)
            if name in self.syntax.updates and tensor.type.form == "array":
                self._refuse(f"{name} is updated in place")
            if wanted is not None and tensor.type is not wanted:
                tensor = as_scalar(tensor, dtype=wanted.dtype)
            self.initial[name] = tensor
            one = Placeholder(tensor.type)
            one.label = name.strip("_") or "trip"
            self.inputs[name] = one
            self.recording.decisions.first_trip[one] = tensor._value
        if self.syntax.counter is not None and self.syntax.counter.has_else:
            if self.left > MOST_TRIPS:
                self._refuse(f"it has an `else`, and more than {MOST_TRIPS} trips")
            self.initial[BREAKS] = Tensor(self.recording.lift(np.False_), self.recording)
            self.inputs[BREAKS] = Placeholder(self.initial[BREAKS].type)
        self.start = len(self.recording.graph.nodes)
        self._put(self.inputs)
        self._follow(self.root)
        self._count()

    def _count(self) -> None:
        """Let the counter of a `for` go on by one trip, which Python is about to do."""
        counter = self.syntax.counter
        if counter is None:
            return
        if not self.left:
            self._refuse("it has fewer trips than ways through its body")
        self.left -= 1
        self.count = Tensor(self.inputs[counter.name], self.recording) + counter.left.step
        if counter.is_read:
            if sys.gettrace() is not None:
                self._refuse(f"a debugger looks on, and it reads {counter.name}")
            fresh = {counter.name: self.count}
            at_line(self.frame, counter.head, counter.body, lambda: set_locals(self.frame, fresh))

    def _is_counter(self, name: str, value: Any) -> bool:
        """Return whether the test reads a number that a step assigns: it may end the loop where
        nothing that is recorded is asked."""
        kind = type_of(value)
        if self.syntax.counter is not None and name == self.syntax.counter.name:
            return True
        return name in self.syntax.tested and kind is not None and kind.form == "weak"

    def _put(self, values: Mapping[str, Value]) -> None:
        """Give variables of the frame these values, each as an array or number of its own."""
        fresh = {name: Tensor(value, self.recording) for name, value in values.items()}
        fresh.pop(BREAKS, None)
        set_locals(self.frame, fresh)

    def _follow(self, segment: Segment) -> None:
        """Go on with a segment: note its nodes, or compare them where they are known."""
        is_known = segment.decision is not None or bool(segment.outputs)
        self.segment = segment
        self.again = [] if is_known else None
        self.recording.trail = segment.nodes if self.again is None else self.again

    # Decisions

    def test(self, value: Value, instruction: int) -> bool:
        """The outcome of a part of the test."""
        if self.results:
            return self._go_through()
        before, self.instruction = self.instruction, instruction
        is_first = instruction <= before or before < self.syntax.body <= instruction
        stays = self.syntax.stays
        if not is_first:
            value = self.same.get(value, value)
            self.parts[value] = None
            if self._outcome(value, stays) is not stays:
                self._refuse("the first trip does not take place")
            return stays
        self._end_step(value)
        if not self.is_whole:
            self.is_whole = True
            self._run_again(Segment())
            return stays
        missing = self.root.unseen()
        if missing is None:
            self._close()
            return self._left()
        if len(self.root.leaves()) >= MOST_PATHS:
            self._refuse(f"its body has more than {MOST_PATHS} ways through it")
        self.forced = missing
        for one in self.inputs.values():
            self.recording.decisions.prefix.hide(one)
        self._run_again(self.root)
        return stays

    def _run_again(self, root: Segment) -> None:
        """Let the body begin anew, on the placeholders."""
        self.root, self.depth = root, 0
        self.parts.clear()
        self._put(self.inputs)
        self._follow(root)
        self._count()

    def branch(self, value: Value) -> bool:
        """The outcome of a decision in the body."""
        if self.results:
            return True  # the way that is gone through without being recorded
        segment = self.segment
        self._compare()
        value = self.same.get(value, value)
        if segment.outputs:
            self._refuse("a step is another when it is run again")
        if segment.decision is None:
            segment.decision = value
        elif segment.decision is not value:
            self._refuse("a step is another when it is run again")
        if self.forced is not None and self.depth < len(self.forced):
            outcome = self.forced[self.depth]
        else:
            outcome = self._outcome(value, True)
        self.depth += 1
        if self.depth > MOST_DECISIONS:
            self._refuse(f"a step decides more than {MOST_DECISIONS} times")
        self._follow(segment.sides.setdefault(outcome, Segment()))
        return outcome

    def _outcome(self, value: Value, otherwise: bool) -> bool:
        """The outcome of a decision in the first trip; in others it is not known."""
        if self.forced is None:
            with suppress(Unknown):
                return bool(self.recording.decisions.prefix[value])
        return otherwise

    def _compare(self) -> None:
        """Take the nodes of a segment that is run again for those that are known."""
        if self.again is None:
            return
        known = self.segment.nodes
        if [node.op for node in known] != [node.op for node in self.again]:
            self._refuse("a step is another when it is run again")
        for node, old in zip(self.again, known, strict=True):
            self.same.update(zip(node.results, old.results, strict=True))

    # A step

    def _end_step(self, test: Value) -> None:
        """The step is over: note the values of the variables, and the test."""
        recording, segment = self.recording, self.segment
        self._compare()
        local = dict(self.frame.f_locals)
        go_on = as_bool(Tensor(test, recording), self.syntax.stays)
        if self.syntax.counter is not None:
            local[self.syntax.counter.name] = self.count
            local[BREAKS] = np.logical_not(go_on)
            go_on = np.logical_and(go_on, self.count != self.syntax.counter.left[-1])
        for name, value in self.fixed.items():
            if not is_same(local.get(name), value):
                self._changed(name, value, local.get(name))
        outputs = [
            self._returned(name, local.get(name), one.type) for name, one in self.inputs.items()
        ]
        self._note_temporaries(local)
        outputs.append(recording.lift(go_on))
        outputs = [self.same.get(value, value) for value in outputs]
        if self.again is None:
            segment.outputs = outputs
        recording.trail = None

    def _note_temporaries(self, local: Mapping[str, Any]) -> None:
        """Note the variables that a step has made. What is no array must be the same after all
        steps."""
        made = {
            name: local[name]
            for name in self.syntax.stores
            if name in local and name not in self.inputs and name not in self.fixed
        }
        for name, value in made.items():
            if type(value) in TENSORS:
                lifted = self.recording.lift(value)
                self.segment.temporaries[name] = self.same.get(lifted, lifted)
            elif not is_same(self.made.setdefault(name, value), value):
                self._refuse(f"{name} is neither an array nor a number, and changes")

    def _changed(self, name: str, old: Any, new: Any) -> None:
        """A variable that held no Tensor is another after a step."""
        if type(new) in TENSORS and type_of(old) is not None:
            self._want(name, new.type)
        before, after = type_of(old), type_of(new)
        if before is None or after is None:
            self._refuse(f"{name} is neither an array nor a number, and changes")
        elif after is not before and (before.form != "weak" or after.form != "scalar"):
            self._refuse(f"{name} is {before!r} before a step and {after!r} after it")
        else:
            self._want(name, after)

    def _want(self, name: str, type: ArrayType) -> None:
        """Record again, with this type for a variable."""
        if self.closing.types.get((self.site, name)) is type:
            self._refuse(f"{name} changes its type")
        self.closing.types[self.site, name] = type
        raise CannotClose(self.site)

    def _returned(self, name: str, value: Any, wanted: ArrayType) -> Value:
        """The value of a variable after a step, in the form that it began with."""
        if type(value) not in TENSORS and type_of(value) is None:
            self._refuse(f"{name} is neither an array nor a number after a step")
        tensor: Any = Tensor(self.recording.lift(value), self.recording)
        kind = tensor.type
        if kind is wanted:
            return tensor._value  # type: ignore[no-any-return]
        if wanted.form == "weak" and not kind.shape and kind.form != "weak":
            self._want(name, kind.with_form("scalar"))
        if kind.form == "weak" and np.can_cast(kind.dtype, wanted.dtype, "same_kind"):
            tensor = as_scalar(tensor, dtype=wanted.dtype)
        if not wanted.shape and {tensor.type.form, wanted.form} == {"array", "scalar"}:
            tensor = as_array(tensor) if wanted.form == "array" else as_element(tensor)
        if tensor.type is not wanted:
            self._refuse(f"{name} is {wanted!r} before a step and {kind!r} after it")
        return tensor._value  # type: ignore[no-any-return]

    # The end

    def _close(self) -> None:
        """Put the node of the loop into the graph, and its results into the frame."""
        recording = self.recording
        self.scope.__exit__(None, None, None)
        names = [*self.inputs, *self._made_in_each_step()]
        new = take_out(recording, self.start)
        for node in new:
            node.operands = replace_values(node.operands, self.same)
        self.inside = set(new)
        go = placeholder(recording, ArrayType((), np.dtype(bool), "scalar"), "go")
        extra = [
            placeholder(recording, self.temporaries[name], name)
            for name in names[len(self.inputs) :]
        ]
        inputs = LoopInputs(
            [*self.inputs.values(), *[one._value for one in extra], go._value],
            (),
            step_number(recording)._value,
        )
        body = self._built(self.root, names, ())
        test = record_side(recording, lambda: [self._goes_on(go)], self._own(self.root.nodes))
        recording.trail = self.outer_trail
        initial = [
            *[self.initial[name] for name in self.inputs],
            *[zeros(recording, one.type) for one in extra],
            np.True_,
        ]
        with recording.at(self.where):
            results = emit_while(recording, "step", inputs, test, body, initial)
        self.results = dict(zip(names, results, strict=False))

    def _left(self) -> bool:
        """The outcome of the test with which the loop is left: the one that ends it, or, with an
        `else` that is to run, that of the last trip."""
        breaks = self.results.pop(BREAKS, None)
        if breaks is None or self.decide(breaks._value):
            set_locals(self.frame, self.results)
            self.is_closed = True
            return not self.syntax.stays
        self.start = len(self.recording.graph.nodes)
        self.left += 1
        return self._go_through()

    def _go_through(self) -> bool:
        """Let Python go through the trips that are left, of which nothing is kept."""
        self.left -= 1
        take_out(self.recording, self.start)
        set_locals(self.frame, self.results)
        self.is_closed = not self.left
        return self.syntax.stays

    def _goes_on(self, go: Tensor) -> Any:
        """Return, recorded, whether there is another step: `go`, and the other parts of the test. A
        part that may raise is asked only where those before it go on."""
        nodes = self._own(self.root.nodes)
        if any(map(may_raise, needed_for([*self.parts], nodes, ()))):
            return self._asked_in_turn(go, [*self.parts])
        return functools.reduce(np.logical_and, [*map(self._stays, self.parts), go])

    def _stays(self, part: Value) -> Any:
        return as_bool(Tensor(part, self.recording), self.syntax.stays)

    def _asked_in_turn(self, choice: Tensor, parts: Sequence[Value]) -> Any:
        """Return, recorded, whether `choice` and all parts go on: one after the other."""
        if not parts:
            return choice
        recording = self.recording

        def rest() -> list[Any]:
            return [self._asked_in_turn(self._stays(parts[0]), parts[1:])]

        ended = Side((), [recording.lift(np.False_)])
        sides = [record_side(recording, rest, self._own(self.root.nodes)), ended]
        return emit_condition(recording, "test", choice, sides)[0]

    def _made_in_each_step(self) -> list[str]:
        """The variables that a step assigns before it reads them: whatever way it takes, if there
        is one step at least. They have types from then on."""
        leaves = self.root.leaves()
        self.temporaries: dict[str, ArrayType] = {}
        if self.parts:
            return []
        for name in sorted(set.intersection(*[set(leaf.temporaries) for leaf in leaves])):
            type = common_type([leaf.temporaries[name].type for leaf in leaves])
            if type is not None:
                self.temporaries[name] = type
        return [*self.temporaries]

    def _built(self, segment: Segment, names: Sequence[str], before: Collection[Node]) -> Side:
        """The nodes of a segment and all that follows on it, and what they return; those `before`
        are there already."""
        recording = self.recording
        nodes = [node for node in self._own(segment.nodes) if node not in before]
        if segment.decision is None:
            *outputs, go = segment.outputs
            made = [segment.temporaries[name] for name in names[len(outputs) :]]

            def returned() -> list[Any]:
                found = [Tensor(value, recording) for value in made]
                types = [self.temporaries[name] for name in names[len(outputs) :]]
                return [converted(one, type) for one, type in zip(found, types, strict=True)]

            side = record_side(recording, returned, nodes)
            return Side(side.nodes, [*outputs, *side.outputs, go])
        known = {*before, *nodes}
        sides = [self._built(segment.sides[outcome], names, known) for outcome in (True, False)]
        decision = Tensor(segment.decision, recording)
        return record_side(
            recording,
            lambda: emit_condition(recording, "side", as_bool(decision, True), sides),
            nodes,
        )

    def _own(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes among these that were taken out of the graph, each once."""
        return [node for node in dict.fromkeys(nodes) if node in self.inside]

    def _refuse(self, reason: str) -> None:
        self.closing.refused[self.site] = reason
        raise CannotClose(self.site, reason)
