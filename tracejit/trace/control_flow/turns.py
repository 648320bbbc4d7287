"""Turns: a loop `while` of Python's on recorded values, of which one step is recorded for all.

The body runs on placeholders, in the user's frame, until the types of its variables are those that
it leaves: a number of Python's that a step makes one of NumPy's begins as one. Arrays that it
writes to are carried from step to step as well; so an array that has several names keeps them. A
body may only compute, as the sides of `forks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.convert.glue import UNBOUND, UNSET
from tracejit.ir.graph import Node, Value, retyped
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.trace.control_flow.conditions import converted
from tracejit.trace.control_flow.forks import (
    Attempt,
    Watch,
    check_errors,
    common_kind,
    either,
    is_leaf,
    is_unbound,
    like,
    put,
    tensors_in,
)
from tracejit.trace.control_flow.loops import (
    LoopInputs,
    Side,
    emit_while,
    placeholder,
    step_number,
    take_out,
)
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.reruns import WHILE, Refused
from tracejit.trace.structure.trees import flatten, unflatten
from tracejit.trace.tensor.memory import Carried, held_by, places_in
from tracejit.trace.tensor.tensor import TENSORS, Tensor

MOST_TRIES = 8
"""Steps that are recorded until the types of the variables are settled."""


class Leaf:
    """A number or array of a variable: the type that it is carried as, the types that Python may
    give it, the `value` of its placeholder, and the arrays that a step writes to in whose memory
    it may lie, its `bases`. It `has_places` where it shows elements of one of these, whose `places`
    are carried, too."""

    def __init__(self, kind: ArrayType, kinds: Sequence[ArrayType]) -> None:
        """Begin with the type of the initial value."""
        self.kind = kind
        self.kinds = self.kinds_after = tuple(kinds)
        self.value: Value
        self.flag: Value | None = None
        self.bases: dict[int, Tensor] = {}
        self.places: Value | None = None
        self.has_places = True

    @property
    def inputs(self) -> list[Value]:
        """The placeholders of a step."""
        return [one for one in (self.value, self.flag, self.places) if one is not None]

    def places_of(self, array: Any) -> Any:
        """The places of an array that is the leaf; None where they are not known."""
        if not self.has_places or type(array) not in TENSORS or len(self.bases) != 1:
            return None
        (base,) = self.bases.values()
        return places_in(array, base)

    def refresh(self) -> None:
        """Let the types be those of sizes that are known by now."""
        self.kind = retyped(self.kind)
        self.kinds, self.kinds_after = [
            tuple(map(retyped, x)) for x in (self.kinds, self.kinds_after)
        ]

    def widens(self, kind: ArrayType, kinds: Sequence[ArrayType]) -> bool:
        """Take the type of what a step leaves as well; return whether it changes anything."""
        self.refresh()
        common = common_kind(self.kind, kind)
        if common is None:
            raise Refused(f"a variable is {self.kind!r}, and {kind!r} after a step")
        before = self.kind, self.kinds
        self.kind = common
        self.kinds_after = tuple(kinds)
        self.kinds = tuple(dict.fromkeys((*self.kinds, *kinds, common)))
        return (self.kind, self.kinds) != before


class Variable:
    """A variable of a loop: its `initial` value, its value in the step that is recorded, and its
    leaves; none where it keeps its value."""

    def __init__(self, initial: Any) -> None:
        """Begin with the value before the loop."""
        self.initial = UNBOUND if is_unbound(initial, UNSET) else initial
        self.label = ""
        self.is_written = False
        self.leaves: list[Leaf] | None = None
        self.now: Any = None


class Turns(Attempt):
    """One loop whose step is being recorded, from the `carried` values of variables on."""

    recorded = WHILE

    def __init__(
        self,
        recording: Recording,
        carried: Sequence[Any],
        watch: Watch,
        place: tuple[int, int],
        answer: Any = None,
    ) -> None:
        """Begin with no step, after the test has had an `answer`: where it fails, Python goes on
        with that, and does not ask again."""
        super().__init__(recording, carried, watch, place)
        self.answer = answer
        self.is_over = False
        self.variables = [*map(Variable, carried)]
        self.failed: Variable | None = None
        self.arrays: dict[int, Tensor] = {}
        self.tries = 0

    @property
    def carried_on(self) -> list[Variable]:
        """The variables, and last the one that says if anything has raised in a step."""
        return self.variables if self.failed is None else [*self.variables, self.failed]

    def failing(self) -> list[Any]:
        return self.checks if self.failed is None else [self.failed.now, *self.checks]

    def begin(self) -> tuple[Any, ...]:
        """Begin a step: the values that variables have."""
        self.tries += 1
        if self.tries > MOST_TRIES:
            raise Refused("the types of its variables change from step to step")
        self.open()
        self.placed: list[Value] = []
        for tensor in self.arrays.values():
            made = placeholder(self.recording, tensor.type)
            self.placed.append(made._held)
            put(tensor, made)
        for variable in self.carried_on:
            variable.now = self.opened(variable)
        return tuple(variable.now for variable in self.variables)

    def opened(self, variable: Variable) -> Any:
        """The value of a variable at the begin of a step."""
        initial = variable.initial
        if is_unbound(initial) or variable.is_written:
            return initial
        leaves, structure = flatten(initial)
        if not leaves or not all(map(is_leaf, leaves)):
            return initial
        recording = self.recording
        if variable.leaves is None:
            values = [*map(recording.lift, leaves)]
            variable.leaves = [Leaf(one.type, recording.kinds_of(one)) for one in values]
        for leaf in variable.leaves:
            leaf.refresh()
        made = [placeholder(recording, leaf.kind, variable.label) for leaf in variable.leaves]
        for leaf, tensor in zip(variable.leaves, made, strict=True):
            value = leaf.value = tensor._held
            if leaf.kind.form == "array":
                recording.placed[value] = False
                if leaf.bases:
                    tensor._owner = Carried([*leaf.bases.values()], self.opened_places(leaf))
            elif len(leaf.kinds) > 1:
                recording.mixed[value] = leaf.kinds
                flag = placeholder(recording, WEAK_TYPES[bool])
                leaf.flag, recording.pythons[value] = flag._held, flag
        return unflatten(structure, made)

    def opened_places(self, leaf: Leaf) -> Tensor | None:
        """The places of a leaf at the begin of a step, if they are known."""
        leaf.places = None
        if not leaf.has_places or len(leaf.bases) > 1 or leaf.kind.sizes is not None:
            return None
        made = placeholder(self.recording, ArrayType(leaf.kind.shape, np.dtype(np.int64)))
        leaf.places = made._held
        return made

    def outcome(self) -> None:
        """Give up: steps are recorded one by one."""
        self.give_up()

    def refuse(self) -> None:
        """Refuse a test whose outcome Python knows at one step."""
        raise Refused("its test depends on the step")

    def tested(self, answer: Any) -> None:
        """The test has been asked on placeholders. No step is made after anything has raised."""
        answer = answer if answer.dtype.kind == "b" else answer != 0
        for one in [*self.watch.around(self), self]:
            for failed in one.failing():
                answer = np.logical_and(answer, np.logical_not(failed))
        self.test = Side(take_out(self.recording, self.start), [answer._value])
        self.start = len(self.recording.graph.nodes)

    def turned(self, *values: Any) -> tuple[Any, ...]:
        """End a step, after which variables have these values: what they are where another is
        recorded, or what they are after the loop."""
        self.check_events()
        is_new = bool(self.checks) and self.failed is None
        if self.failed is not None:
            values = (*values, either(self.failing()))
        steps = [self.step(*pair) for pair in zip(self.carried_on, values, strict=True)]
        is_settled = None not in steps and not is_new
        if is_new:
            self.failed = Variable(np.False_)
            self.failed.label = "has_failed"
        for key, (tensor, *_) in self.recording.side_writes[-1].items():
            is_settled &= key in self.arrays
            self.arrays[key] = tensor
        if not is_settled:
            self.abandon()
            return self.restarted()
        arrays = [Tensor(one._value, self.recording) for one in self.arrays.values()]
        outputs = [self.recording.lift(x) for step in steps for x in step or ()]
        outputs = [*[x._value for x in arrays], *outputs, *self.kept_rows()]
        alike = {value for one in tensors_in(values) for value in held_by(one)}
        step = Side(self.taken_out(), outputs)
        check_errors(step.nodes, outputs)
        self.check_test()
        self.close()
        found = self.emitted(step, alike)
        self.is_over = True
        self.watch.settle(self)
        return found

    def restarted(self) -> tuple[Any, ...]:
        """Begin again; the values that variables have."""
        return self.begin()

    def taken_out(self) -> list[Node]:
        """The nodes of a step."""
        return take_out(self.recording, self.start)

    def kept_rows(self) -> list[Value]:
        """The values of a step of which all are kept; those of others come last."""
        return []

    def keep_rows(self, stacked: Sequence[Tensor]) -> None:
        """Hand on what is kept of all steps."""

    def check_test(self) -> None:
        """Raise Refused if the test may raise."""
        check_errors(self.test.nodes, self.test.outputs)

    def step(self, variable: Variable, after: Any) -> list[Any] | None:
        """The leaves of a variable after a step; None if the step is to be recorded again."""
        recording, before = self.recording, variable.now
        if is_unbound(before):
            if is_unbound(after):
                return []
            variable.initial = like(recording, after)
            return None
        if variable.leaves is None or variable.is_written:
            if after is not before:
                raise Refused("a variable is a different object after a step")
            return []
        leaves, structure = flatten(after)
        initial = flatten(variable.initial)[0]
        if not structure.is_like(flatten(before)[1]) or not all(map(is_leaf, leaves)):
            raise Refused("a variable is a different container after a step")
        outputs: list[Any] = []
        is_settled = True
        for leaf, new, old in zip(variable.leaves, leaves, initial, strict=True):
            if recording.placed.get(leaf.value):
                variable.is_written = True
                is_settled = False
            value = recording.lift(new)
            is_settled &= leaf.kind.form != "array" or not self.lies_in_more(leaf, (old, new))
            if leaf.widens(value.type, recording.kinds_of(value)):
                is_settled = False
            else:
                outputs.append(converted(Tensor(value, recording), leaf.kind))
                if leaf.flag is not None:
                    outputs.append(self.flag_of(value))
            if leaf.places is not None:
                places = leaf.places_of(new)
                leaf.has_places = places is not None and leaf.places_of(old) is not None
                is_settled &= leaf.has_places
                outputs.append(places)
        return outputs if is_settled else None

    def lies_in_more(self, leaf: Leaf, arrays: Sequence[Any]) -> bool:
        """Add to the bases of a leaf, which is one of some `arrays` at the begin of a step; return
        whether any is new."""
        held = {value for one in arrays if type(one) in TENSORS for value in held_by(one)}
        is_merged = not held.isdisjoint(self.recording.merged)
        known = len(leaf.bases)
        for key, (tensor, former, _) in self.recording.side_writes[-1].items():
            its = {tensor._held, former}
            may_be = is_merged and not self.recording.merged.isdisjoint(its)
            if may_be or not held.isdisjoint(its):
                leaf.bases[key] = tensor
        return len(leaf.bases) > known

    def flag_of(self, value: Value) -> Tensor:
        """A truth value that says if a number is one of Python's."""
        is_python = self.recording.is_python(value)
        if is_python is None:
            raise Refused("a number is Python's at one step and NumPy's at another")
        return Tensor(self.recording.lift(is_python), self.recording)

    def emitted(self, step: Side, alike: set[Value]) -> tuple[Any, ...]:
        """Emit the node; the values of variables after the loop."""
        recording = self.recording
        variables = self.carried_on
        leaves = [leaf for one in variables for leaf in one.leaves or () if not one.is_written]
        initial: list[Any] = [Tensor(one._value, recording) for one in self.arrays.values()]
        for variable in variables:
            if variable.leaves is not None and not variable.is_written:
                for leaf, value in zip(variable.leaves, flatten(variable.initial)[0], strict=True):
                    tensor = Tensor(recording.lift(value), recording)
                    alike.update(held_by(value) if isinstance(value, Tensor) else ())
                    initial.append(converted(tensor, leaf.kind))
                    if leaf.flag is not None:
                        initial.append(self.flag_of(tensor._value))
                    if leaf.places is not None:
                        initial.append(leaf.places_of(value))
        if len(step.outputs) == 0:
            raise Refused("nothing changes from step to step")
        carried = [*self.placed, *[one for leaf in leaves for one in leaf.inputs]]
        recording.side_nodes += 1 + len(step.nodes)
        results = self.emit(carried, step, initial)
        if self.failed is not None:
            self.check(results[len(carried) - 1])
        count = len(self.arrays)
        for tensor, result in zip(self.arrays.values(), results, strict=False):
            is_alike = result._held in alike or tensor._value in alike
            put(tensor, result)
            recording.merged.update([tensor._held] if is_alike else ())
        found = iter(results[count:])
        after: list[Tensor] = []
        for leaf in leaves:
            result = next(found)
            after.append(result)
            kinds = self.kinds_after(leaf)
            is_python = None if leaf.flag is None else next(found)
            if leaf.places is not None:
                next(found)
            if leaf.kind.form == "array":
                recording.merged.update((result._held, *alike))
            elif any(kind is not leaf.kind for kind in kinds):
                recording.mixed[result._held] = tuple(dict.fromkeys((*kinds, leaf.kind)))
                if is_python is not None:
                    recording.pythons[result._held] = is_python
        self.keep_rows([*found])
        remaining = iter(after)
        return tuple(self.after(variable, remaining) for variable in self.variables)

    def emit(self, carried: list[Value], step: Side, initial: list[Any]) -> list[Tensor]:
        """Emit the node."""
        recording = self.recording
        inputs = LoopInputs(carried, [], step_number(recording)._value)
        return emit_while(recording, recording.graph.name, inputs, self.test, step, initial)

    def kinds_after(self, leaf: Leaf) -> tuple[ArrayType, ...]:
        """The types that Python may give a number after the loop, which may not have run."""
        return leaf.kinds

    def after(self, variable: Variable, results: Any) -> Any:
        """A variable after the loop."""
        if variable.leaves is None or variable.is_written:
            return variable.initial
        return unflatten(flatten(variable.initial)[1], [next(results) for _ in variable.leaves])
