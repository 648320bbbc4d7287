"""Forks: conditions of Python's on recorded values, whose sides run in turn.

A fork records one side, then the other, each out of the graph; what their variables are after is
merged by a node that owns both. A side may only compute. Where it does more (`Refused`), raises, or
the variables have no common type, the fork gives up: nothing has happened but that nodes were
recorded, which are taken out, and Python takes one side for this call.

A merged array may share memory with what one side made it of. Who writes to either records the
function again, without forks. A merged number that is a Python float on one side alone counts as
NumPy's while it is recorded, and is of its side's type where the function returns it. An operation
that would tell the two apart records the function again too.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

import numpy as np

from tracejit.convert.glue import UNBOUND, UNSET
from tracejit.ir.dims import spelled
from tracejit.ir.graph import Node, Value
from tracejit.ir.step_sizes import NotForAllSteps
from tracejit.ir.subgraph import needed_for
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.control.branches import may_raise, raises_in_python
from tracejit.ops.indexing.updates import swap_items
from tracejit.ops.shapes.joining import stack
from tracejit.trace.control_flow.conditions import emit_condition
from tracejit.trace.control_flow.loops import Side, take_out
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.reruns import CONDITION, CheckFailed, GivenUp, Refused, RefusedLoop
from tracejit.trace.source.refusals import forget_refusals, refused
from tracejit.trace.structure.trees import flatten, is_named_tuple, map_tree, unflatten
from tracejit.trace.tensor.memory import held_by
from tracejit.trace.tensor.tensor import TENSORS, Tensor

FLOAT64 = np.dtype(np.float64)


class Watch(Protocol):
    """Whoever sees to it that a side only computes."""

    def enter(self) -> None:
        """A side begins."""

    def leave(self) -> Mapping[int, Any]:
        """A side ends: the objects that it has made, by their ids."""

    def hide(self, lists: Mapping[int, Any]) -> None:
        """Nothing may read these lists, by their ids."""

    def show(self, lists: Mapping[int, Any]) -> None:
        """Lists may be read again."""

    def around(self, fork: Attempt) -> Sequence[Attempt]:
        """The forks that a fork is in, innermost last."""

    def settle(self, fork: Attempt) -> None:
        """A fork has ended."""

    def give_up(self, fork: Attempt, reason: GivenUp) -> None:
        """A fork takes one side, and will at its place from now on."""


class Untold:
    """Nothing: an object that both sides of a condition cannot be merged with, for a `reason`."""

    def __init__(self, reason: str) -> None:
        """It is as good as False."""
        self.reason = reason

    def __bool__(self) -> bool:
        return False


class Ran(NamedTuple):
    """A side that was recorded: its nodes, the values of the variables after it, and what objects
    it has made. `held` is what each of these Tensors stands for, `written` what each Tensor from
    outside stands for that the side has written to. `failed` says if anything raises in it."""

    nodes: Sequence[Any]
    values: Sequence[Any]
    made: Mapping[int, Any] = {}
    held: Mapping[int, Value] = {}
    written: Mapping[int, tuple[Tensor, Value]] = {}
    failed: Any = False


class Attempt:
    """Code of the user's that runs although it may not be what this call does, from the `carried`
    values of variables on. Where it fails, these are what they were."""

    errors = (Exception, Refused, NotForAllSteps)
    recorded = CONDITION

    def __init__(
        self, recording: Recording, carried: Sequence[Any], watch: Watch, place: tuple[int, int]
    ) -> None:
        """Nothing runs yet."""
        self.recording = recording
        self.carried = tuple(carried)
        self.watch = watch
        self.place = place
        self.first = len(recording.graph.nodes)
        self.refusals = refused()
        self.depth = recording.sides
        self.is_open = False
        self.checks: list[Any] = []

    def open(self) -> None:
        """Begin: what is recorded from here on, and written to arrays, is not of this call."""
        recording = self.recording
        self.start = len(recording.graph.nodes)
        self.events = len(recording.events)
        self.scope = recording.inside_scope(may_write=True)
        self.scope.__enter__()
        recording.side_writes.append({})
        recording.side_views.append({})
        recording.sides = self.depth + 1
        self.watch.enter()
        self.checks = []
        self.is_open = True

    def failing(self) -> list[Any]:
        """The truth values, recorded so far, of which one says that something raises."""
        return self.checks

    def check(self, failed: Any) -> None:
        """Let the code around ask if anything has raised. Raises CheckFailed if that is so in
        this call, and no code around is being recorded."""
        around = self.watch.around(self)
        if around:
            around[-1].checks.append(failed)
        elif failed:
            raise CheckFailed

    def check_events(self) -> None:
        """Raise Refused if a Variable was assigned."""
        if len(self.recording.events) > self.events:
            raise Refused("a Variable is assigned")

    def close(self) -> Mapping[int, Any]:
        """End: arrays are what they were. Answer the objects that were made."""
        self.is_open = False
        recording = self.recording
        for tensor, value, owner in recording.side_writes.pop().values():
            tensor._held, tensor._owner = value, owner
        for view, value, seen in recording.side_views.pop().values():
            view._held, view._owner.seen = value, seen
        self.scope.__exit__(None, None, None)
        recording.sides = self.depth
        return self.watch.leave()

    def abandon(self) -> None:
        """End, and take out all that was recorded or refused."""
        if self.is_open:
            self.close()
        take_out(self.recording, self.first)
        forget_refusals(self.refusals)

    def again(self) -> tuple[Any, ...]:
        """Give up: answer what the variables were before."""
        return self.carried

    def give_up(self) -> None:
        """Give up for good, for what was raised."""
        error = sys.exc_info()[1]
        self.abandon()
        if type(error) is CheckFailed:
            self.recording.raising.add(self.place)
            self.watch.settle(self)
        else:
            self.watch.give_up(self, GivenUp.by(error, self.recorded))


class Fork(Attempt):
    """One condition of which both sides are being recorded. Python takes it for true while the
    first side runs."""

    def __init__(
        self,
        recording: Recording,
        choice: Tensor,
        carried: Sequence[Any],
        watch: Watch,
        place: tuple[int, int],
    ) -> None:
        """Begin with the first side."""
        super().__init__(recording, carried, watch, place)
        self.choice = choice
        self.ran: list[Ran] = []
        self.alike: set[Value] = set()
        self.open()

    def end(self, values: Sequence[Any]) -> None:
        """End a side."""
        self.check_events()
        failed = either(self.checks)
        tensors = tensors_in([*values, failed])
        held = {id(one): one._value for one in tensors}
        writes = self.recording.side_writes[-1]
        written = {key: (one, one._value) for key, (one, *_) in writes.items()}
        self.alike.update(value for one in tensors for value in held_by(one))
        nodes = take_out(self.recording, self.start, leaves_rows=True)
        self.recording.side_nodes += 1 + len(nodes)
        wanted = [*held.values(), *[value for _, value in written.values()]]
        check_errors(nodes, [*wanted, *map(self.recording.lift, filter(is_leaf, values))])
        self.ran.append(Ran(nodes, values, self.close(), held, written, failed))

    def other(self, *values: Any) -> tuple[Any, ...]:
        """End the first side, after which variables have these values, those that are carried
        first; answer what they are where the other begins."""
        self.end(values)
        self.open()
        return (*self.carried, *values[len(self.carried) :])

    def merged(self, *values: Any) -> tuple[Any, ...]:
        """End the other side, and answer what the variables are after the condition."""
        self.end(values)
        first, second = self.ran
        merging = _Merging(self.recording, self.choice, first, second, self.alike)
        found = merging.run(self.check)
        self.watch.settle(self)
        return found

    def outcome(self) -> bool:
        """Give up: the side that this call takes."""
        self.give_up()
        return bool(self.choice)


class _Merging:
    """The values of variables after both sides of a condition, from those after each. `alike` are
    the values in whose memory variables may lie."""

    def __init__(
        self,
        recording: Recording,
        choice: Tensor,
        first: Ran,
        second: Ran,
        alike: Set[Value] = frozenset(),
    ) -> None:
        """Nothing is merged yet."""
        self.recording = recording
        self.choice = choice
        self.sides = first, second
        self.alike = alike
        self.pairs: list[tuple[Value, Value]] = []

    def run(self, check: Callable[[Any], None] | None = None) -> tuple[Any, ...]:
        """Emit the node, and answer the values; tell `check` if anything has raised."""
        first, second = self.sides
        recipes = [self.recipe(a, b) for a, b in zip(first.values, second.values, strict=True)]
        of_variables = len(self.pairs)
        former = {**first.written, **second.written}
        for key, (tensor, _) in former.items():
            values = [ran.written.get(key, (tensor, tensor._value))[1] for ran in self.sides]
            self.pairs.append((values[0], values[1]))
        flags: dict[int, int] = {}
        for number, (a, b) in enumerate([*self.pairs]):
            if common_kind(a.type, b.type) is None:
                raise Refused(f"a variable is {a.type!r} on one side, {b.type!r} on another")
            known = [self.recording.is_python(one) for one in (a, b)]
            is_mixed = a.type is not b.type or any(one in self.recording.mixed for one in (a, b))
            if is_mixed and not any(one is None for one in known):
                flags[number] = len(self.pairs)
                self.pairs.append((self.recording.lift(known[0]), self.recording.lift(known[1])))
        checked = len(self.pairs)
        if first.failed is not False or second.failed is not False:
            self.pairs.append((self.value(first, first.failed), self.value(second, second.failed)))
        sides = [
            Side(ran.nodes, [pair[k] for pair in self.pairs]) for k, ran in enumerate(self.sides)
        ]
        name = self.recording.graph.name
        results = (
            emit_condition(self.recording, name, self.choice, sides, takes_numbers=True)
            if self.pairs
            else []
        )
        if check is not None and len(self.pairs) > checked:
            check(results[checked])
        for result, pair in zip(results[:of_variables], self.pairs, strict=False):
            self.note(result, *pair)
        for number, flag in flags.items():
            self.recording.pythons[results[number]._held] = results[flag]
        for (tensor, _), result, pair in zip(
            former.values(), results[of_variables:], self.pairs[of_variables:], strict=False
        ):
            self.write(tensor, result, pair)
        return tuple(_built(recipe, results) for recipe in recipes)

    def write(self, tensor: Tensor, result: Tensor, pair: tuple[Value, Value]) -> None:
        """Let what a side has written to stand for the result."""
        put(tensor, result)
        if not self.alike.isdisjoint(pair):
            self.recording.merged.update((tensor._held, result._held))

    def value(self, side: Ran, leaf: Any) -> Value:
        """The value of a variable after a side."""
        return side.held.get(id(leaf)) or self.recording.lift(leaf)

    def recipe(self, a: Any, b: Any) -> Any:
        """A recipe of what a variable becomes: itself, the number of a result, or a container."""
        if a is b or _is_same_number(a, b):
            return _Kept(a)
        if is_unbound(a):
            return self.recipe(like(self.recording, b), b)
        if is_unbound(b):
            return self.recipe(a, like(self.recording, a))
        if is_leaf(a) and is_leaf(b):
            first, second = self.sides
            self.pairs.append((self.value(first, a), self.value(second, b)))
            return len(self.pairs) - 1
        is_rebuilt = type(a) in (tuple, list, dict) or is_named_tuple(type(a))
        if type(a) is type(b) and is_rebuilt and self.may_rebuild(a, b):
            (mine, structure), (theirs, other) = flatten(a), flatten(b)
            if structure.is_like(other):
                pairs = zip(mine, theirs, strict=True)
                return structure, [self.recipe(x, y) for x, y in pairs]
        for one in (a, b):
            if isinstance(one, Untold):
                raise RefusedLoop(one.reason)
        raise Refused("a variable is a different object on each side")

    def may_rebuild(self, a: Any, b: Any) -> bool:
        """Return whether nobody else holds two containers."""
        first, second = self.sides
        return isinstance(a, tuple) or (id(a) in first.made and id(b) in second.made)

    def note(self, result: Tensor, a: Value, b: Value) -> None:
        """Note that a result may share memory with values, or be a number of two types."""
        recording = self.recording
        if result.type.form == "array":
            recording.merged.update((result._held, a, b, *self.alike))
            return
        kinds = [kind for one in (a, b) for kind in recording.kinds_of(one)]
        if any(kind is not result.type for kind in kinds):
            recording.mixed[result._held] = tuple(dict.fromkeys(kinds))


def chosen(recording: Recording, choice: Tensor, first: Any, second: Any) -> Any:
    """One of two numbers, by a condition. Raises Refused if their types differ."""
    return _Merging(recording, choice, Ran([], [first]), Ran([], [second])).run()[0]


class _Kept(NamedTuple):
    """A value that is the same after both sides."""

    value: Any


def _built(recipe: Any, results: Sequence[Tensor]) -> Any:
    if type(recipe) is _Kept:
        return recipe.value
    if type(recipe) is int:
        return results[recipe]
    structure, inside = recipe
    return unflatten(structure, [_built(one, results) for one in inside])


def either(truths: Sequence[Any]) -> Any:
    """Return whether any of some truth values holds; False where there are none."""
    return functools.reduce(np.logical_or, truths) if truths else False


def check_errors(nodes: Sequence[Node], wanted: Sequence[Value]) -> None:
    """Raise Refused if something may raise in the user's program that nobody reads."""
    raising = [node for node in nodes if may_raise(node) or raises_in_python(node)]
    if raising:
        needed = {*needed_for(wanted, nodes, ())}
        places = {_place(node) for node in needed if "index" in node.params}
        if any(node not in needed and _place(node) not in places for node in raising):
            raise Refused("an operation whose result is not read may raise")


def _place(node: Node) -> Any:
    """The place of the elements that a node takes or writes: another raises the same error."""
    index = node.params.get("index", ())
    count = sum(type(one) is str and one != "..." for one in index)
    shape = node.operands[0].type.shape if node.operands else ()
    given = [_stacked(one) for one in node.operands[1 : 1 + count]]
    given = [node.operands[1:]] if node.op is swap_items else given
    return spelled((index, shape)), tuple(map(frozenset, given))


def _stacked(value: Value) -> Sequence[Value]:
    """The values that one stacks, or it alone."""
    node = value.node
    return (value,) if node is None or node.op is not stack else node.operands


def put(tensor: Any, new: Tensor) -> None:
    """Let an array stand for another, as if that was written to it."""
    call = "a write on one side of a condition, or in a loop"
    value = tensor._written_value(new, call)
    tensor._owner.write(tensor, value, call)


def tensors_in(values: Sequence[Any]) -> list[Any]:
    """The Tensors among values and in their containers."""
    return [one for value in values for one in flatten(value)[0] if type(one) in TENSORS]


def is_unbound(value: Any, *marks: tuple[str]) -> bool:
    """Return whether a value stands for that of a name which is not bound."""
    is_mark = type(value) is tuple and len(value) == 1 and type(value[0]) is str
    return is_mark and value in (marks or (UNBOUND, UNSET))


def like(recording: Recording, value: Any) -> Any:
    """Anything of the type of a value, which nobody reads."""
    return map_tree(lambda leaf: _zeros_like(recording, leaf), value)


def _zeros_like(recording: Recording, leaf: Any) -> Any:
    if not is_leaf(leaf):
        return leaf
    type = recording.lift(leaf).type
    return (
        type.dtype.type(0).item() if type.form == "weak" else np.zeros(type.shape, type.dtype)[()]
    )


def is_leaf(value: Any) -> bool:
    """Return whether a value is a number or an array."""
    return type(value) in TENSORS or type_of(value) is not None


def _is_same_number(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or type(a) not in (bool, int, float, str, type(None)):
        return False
    return a == b and repr(a) == repr(b)


def common_kind(a: ArrayType, b: ArrayType) -> ArrayType | None:
    """The type of a value that has these on the sides; None if Python could tell them apart."""
    if a is b:
        return a
    if a.shape or b.shape or "array" in (a.form, b.form):
        return None
    weak, strong = (a, b) if a.form == "weak" else (b, a)
    if strong.form == "weak" and {weak.dtype.kind, strong.dtype.kind} == {"i", "f"}:
        return strong.with_form("scalar") if strong.dtype == FLOAT64 else weak.with_form("scalar")
    if weak.form != "weak" or strong.form != "scalar":
        return None
    is_float = strong.dtype == FLOAT64 and weak.dtype.kind in "if"
    is_truth = strong.dtype.kind == weak.dtype.kind == "b"
    return strong if is_float or is_truth else None
