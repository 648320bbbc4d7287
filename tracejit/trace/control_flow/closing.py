"""Closing of loops on data: a `while`, or `for` with a `break`, is recorded once, for every number
of trips.

When a loop goes on at its first test, the variables that a step assigns are replaced, in the
running frame, by placeholders. One step is recorded, from test to test, and for each decision in it
the other side as well. Then the loop is one node: its results are put into the frame, and Python is
told that the test has failed. `trace/control_flow/loop_syntax.py` says of which loops this holds.

The first test is a decision as any other. The test after a step is carried to the next; parts of a
test that come after its first (`and k < 50`) are asked before each step, on its variables.

What does not hold after all raises CannotClose: the function is recorded again, that loop trip by
trip. A Python number that a step changes raises, too: in the next recording it is a Tensor.

A variable may begin as a Python number and be a NumPy scalar after a step. It is a scalar at all
trips where that makes no difference to what reads it. Elsewhere the first trip stands before the
loop.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from operator import itemgetter
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from tracejit.ir.graph import Node, Value, replace_values
from tracejit.ir.subgraph import Placeholder
from tracejit.ir.types import WEAK_TYPES, ArrayType, type_of
from tracejit.ops.base.forms import as_element, as_scalar
from tracejit.ops.control.branches import raises_in_python
from tracejit.trace.control_flow.closed_step import ClosedStep
from tracejit.trace.control_flow.conditions import zeros
from tracejit.trace.control_flow.loop_steps import (
    Segment,
    as_bool,
    at_line,
    is_same,
    reads_alike,
    set_locals,
)
from tracejit.trace.control_flow.loop_syntax import LoopSyntax
from tracejit.trace.control_flow.loops import (
    LoopInputs,
    emit_while,
    placeholder,
    step_number,
    take_out,
)
from tracejit.trace.recording.decisions import Unknown
from tracejit.trace.recording.reruns import CannotClose, Closing, Learned, Site
from tracejit.trace.source import places
from tracejit.trace.tensor.memory import View, seal
from tracejit.trace.tensor.tensor import TENSORS, Tensor

MOST_PATHS = 16
MOST_DECISIONS = 32
MOST_TRIPS = 1000
BREAKS = "break"
"""The name by which it is known, beside variables, whether a loop with an `else` breaks."""


class OpenLoop:
    """A loop that is being recorded."""

    def __init__(
        self,
        loops: Any,
        frame: FrameType,
        syntax: LoopSyntax,
        site: Site,
        decide: Callable[[Value], bool],
    ) -> None:
        """The newest of `loops` has just gone on in `frame`; `decide` decides outside of it."""
        self.recording = recording = loops.recording
        self.closing: Closing = loops.closing
        self.learned: Learned = loops.learned
        self.number: int = loops.count
        self.decide = decide
        self.frame = frame
        self.syntax = syntax
        self.site = site
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
        self.always: set[str] = set(syntax.stores)
        self.gone = placeholder(recording, WEAK_TYPES[float])
        self.began: dict[str, Any] = {}
        self.shown: list[Any] = []
        self.others: dict[str, Any] = {}
        self.flags: dict[str, str] = {}
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
        for name, value in sorted(self._assigned(self.frame.f_locals).items()):
            wanted = self.learned.types.get(self.number, {}).get(name)
            if type(value) not in TENSORS and wanted is None and not self._is_counter(name, value):
                self.fixed[name] = value
                continue
            tensor: Any = Tensor(self.recording.lift(value), self.recording)
            if wanted is not None and tensor.type is not wanted:
                self.others[name] = value
                tensor = self._as_scalar(name, tensor, wanted)
            self.began[name] = value
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

    def _as_scalar(self, name: str, tensor: Any, wanted: ArrayType) -> Any:
        """The number or 0-d array that a variable may be, as the scalar that it is elsewhere."""
        kind = tensor.type
        if wanted.form == "scalar" and kind.form == "array" and kind.dtype == wanted.dtype:
            return as_element(tensor)
        is_close = np.can_cast(kind.dtype, wanted.dtype, "same_kind")
        if (wanted.form, kind.form) != ("scalar", "weak") or not is_close:
            self._begin_later(f"{name} is {kind!r} at some steps and {wanted!r} at others")
        return as_scalar(tensor, dtype=wanted.dtype)

    def _assigned(self, local: Mapping[str, Any]) -> dict[str, Any]:
        """The variables of a step that have a value."""
        found = {name: local[name] for name in self.syntax.stores.intersection(local)}
        return {name: x for name, x in found.items() if not self._is_gone(x)}

    def _is_gone(self, value: Any) -> bool:
        return type(value) in TENSORS and value._value in self.recording.gone

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
        self._forget({*self.inputs, *self.fixed})
        self._put(self.inputs)
        self._follow(root)
        self._count()

    def _forget(self, kept: Collection[str]) -> None:
        """Let nobody read variables that a step has assigned, but for those that are `kept`."""
        local = self.frame.f_locals
        names = self.syntax.stores.intersection(local).difference(kept)
        set_locals(self.frame, dict.fromkeys(names, self.gone))

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
        changed = {
            name: self._type_after(name, local.get(name))
            for name, value in self.fixed.items()
            if not is_same(local.get(name), value)
        }
        if changed:
            self._want(changed)
        outputs = [self._returned(name, local.get(name), one) for name, one in self.inputs.items()]
        self._note_temporaries(local)
        outputs.append(recording.lift(go_on))
        outputs = [self.same.get(value, value) for value in outputs]
        if self.again is None:
            segment.outputs = outputs
        recording.trail = None

    def _note_temporaries(self, local: Mapping[str, Any]) -> None:
        """Note what a step has made: arrays of one name, and numbers that all steps make."""
        begun = self.inputs.keys() | self.fixed.keys()
        made = {name: x for name, x in self._assigned(local).items() if name not in begun}
        names = [id(value) for value in local.values()]
        for name, value in made.items():
            if type(value) in TENSORS:
                is_shared = names.count(id(value)) > 1 or type(value._owner) is View
                if value.type.form != "array" or not is_shared:
                    lifted = self.recording.lift(value)
                    self.segment.temporaries[name] = self.same.get(lifted, lifted)
            elif type_of(value) is None or not is_same(self.made.setdefault(name, value), value):
                self._refuse(f"{name} is neither an array nor a number, and changes")
        self.always &= made.keys()

    def _type_after(self, name: str, value: Any) -> ArrayType:
        """The type of a variable after a step."""
        kind = value.type if type(value) in TENSORS else type_of(value)
        if kind is None or self._is_gone(value):
            self._refuse(f"{name} is neither an array nor a number after a step")
        return kind

    def _want(self, types: Mapping[str, ArrayType]) -> None:
        """Record again, with these types for variables."""
        self.learned.learn(self.number, types)
        raise CannotClose(self.site)

    def _begin_later(self, reason: str) -> NoReturn:
        """Record again: the loop opens at its next trip, when types have settled, if they do."""
        if not self.learned.may_wait(self.number, self.site):
            self._refuse(reason)
        raise CannotClose(self.site)

    def _returned(self, name: str, value: Any, one: Value) -> Value:
        """The value of a variable after a step, in the form that it began with."""
        self.shown.append(value)
        wanted, kind = one.type, self._type_after(name, value)
        tensor: Any = Tensor(self.recording.lift(value), self.recording)
        if kind is not wanted:
            reason = f"{name} is {wanted!r} before a step and {kind!r} after it"
            is_new = name not in self.others and wanted.form != "scalar" and not wanted.shape
            if is_new and kind.form == "scalar":
                self._want({name: kind})
            if kind.form != "weak" or type(value) in TENSORS:
                self._begin_later(reason)
            if not is_same(self.others.setdefault(name, value), value):
                self._begin_later(reason)
            tensor = self._as_scalar(name, tensor, wanted)
        self.segment.forms[name] = None if tensor._value is one else kind is wanted
        return tensor._value  # type: ignore[no-any-return]

    def _add_flags(self) -> None:
        """Make sure that it makes no difference to a step whether a variable is a scalar or the
        number that it may be instead. Where it is either after the loop, a flag is carried."""
        leaves = self.root.leaves()
        kinds = {self.inputs[name]: self._type_after(name, x) for name, x in self.others.items()}
        is_alike = all(reads_alike(node, kinds) for node in self.inside)
        for name in self.others:
            one = self.inputs[name]
            given = [
                value for leaf in leaves for key, value in leaf.named(self.inputs) if key != name
            ]
            if one in given or not is_alike:
                reason = f"{name} is {kinds[one]!r} at some steps and {one.type!r} at others"
                self._begin_later(reason)
        for name in self.others:
            if not self.parts and all(leaf.forms[name] for leaf in leaves):
                continue
            flag = self.flags[name] = f"{name} is a scalar"
            begins = np.bool_(self.others[name] is not self.began[name])
            self.initial[flag] = Tensor(self.recording.lift(begins), self.recording)
            self.inputs[flag] = Placeholder(self.initial[flag].type)
            for leaf in leaves:
                form = leaf.forms[name]
                value = self.inputs[flag] if form is None else self.recording.lift(np.bool_(form))
                leaf.outputs.insert(-1, value)

    # The end

    def _close(self) -> None:
        """Put the node of the loop into the graph, and its results into the frame."""
        recording = self.recording
        self.scope.__exit__(None, None, None)
        new = take_out(recording, self.start)
        for node in new:
            node.operands = replace_values(node.operands, self.same)
        self.inside = set(new)
        if any(raises_in_python(node) and _is_of_integers(node) for node in new):
            self._refuse("it divides integers, for which Python may raise an error")
        self._add_flags()
        made = self._made_in_each_step()
        names = [*self.inputs, *made]
        go = placeholder(recording, ArrayType((), np.dtype(bool), "scalar"), "go")
        extra = [placeholder(recording, type, name) for name, type in made.items()]
        inputs = LoopInputs(
            [*self.inputs.values(), *[one._value for one in extra], go._value],
            (),
            step_number(recording)._value,
        )
        step = ClosedStep(recording, self.root, self.inside, self.syntax.stays)
        body, test = step.body(self.root, names, ()), step.test(go, [*self.parts])
        recording.trail = self.outer_trail
        if recording.trail is not None:  # what a step around it has computed, too
            recording.trail += self.root.all_nodes()
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
            self._leave()
            return not self.syntax.stays
        self.start = len(self.recording.graph.nodes)
        self.left += 1
        return self._go_through()

    def _go_through(self) -> bool:
        """Let Python go through the trips that are left, of which nothing is kept."""
        self.left -= 1
        take_out(self.recording, self.start)
        if self.left:
            set_locals(self.frame, self.results)
        else:
            self._leave()
        return self.syntax.stays

    def _leave(self) -> None:
        """Put the results into the frame. Nobody writes to these arrays any more, nor to those that
        variables began as or that a step has shown: they may be the same in Python. A variable that
        is no scalar after all is what it may be instead."""
        for name, flag in self.flags.items():
            if not self.decide(self.results.pop(flag)._value):
                self.results[name] = self.others[name]
        for tensor in (*self.results.values(), *self.began.values(), *self.shown):
            if type(tensor) in TENSORS and tensor.type.form == "array":
                seal(tensor, "an array that a loop has left")
        constants = set() if self.parts else self.always & self.made.keys()
        self._forget({*self.fixed, *constants})
        set_locals(self.frame, self.results)
        self.is_closed = True

    def _made_in_each_step(self) -> dict[str, ArrayType]:
        """The variables that a step assigns before it reads them, of one type whatever way it
        takes, if there is one step at least."""
        if self.parts:
            return {}
        first, *others = [leaf.made() for leaf in self.root.leaves()]
        return dict(sorted(first.intersection(*others), key=itemgetter(0)))

    def _refuse(self, reason: str) -> NoReturn:
        self.closing.refused[self.site] = reason
        raise CannotClose(self.site, reason)


def _is_of_integers(node: Node) -> bool:
    return all(operand.type.dtype.kind in "bi" for operand in node.operands)
