"""From the end of a recording to the user's results: which outputs the graph has, where the kernel
returns them, and how they are put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CoroutineType, GeneratorType, MemberDescriptorType
from typing import Any, NamedTuple

import numpy as np

from tracejit.autodiff.request.request import Answer, Request
from tracejit.compiler.kernel import Kernel
from tracejit.compiler.pipeline import Recorded, one_of
from tracejit.eager.call_operation import CallOp
from tracejit.eager.traced_call import run_event
from tracejit.ir.dims import Dim
from tracejit.ir.location import Origin
from tracejit.ops.control.branches import DECIDE, ENSURE
from tracejit.runtime.dispatch import Answers, Output
from tracejit.support.errors import fail
from tracejit.support.words import a
from tracejit.trace.arguments.signature import leaf_names
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.recording.eager import EAGER, snapshot
from tracejit.trace.recording.events import Event, lasting_events
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.variable import read_leaf
from tracejit.trace.structure.trees import LEAF, flatten, labels, unflatten
from tracejit.trace.tensor.selected import Selected
from tracejit.trace.tensor.tensor import TENSORS, Tensor

Indices = tuple[int, ...]


class CommitFailed(Exception):
    """A callback raised (the cause) after the kernel had succeeded: nothing is called again."""


class Commit(NamedTuple):
    """An event with the places of its values in what the kernel returns."""

    event: Event
    places: list[Indices]

    def run(self, *values: Any) -> None:
        """Let it take place, with these values; CommitFailed where it raises."""
        try:
            if self.event.argument:
                array, new = values
                array[...] = new
            elif self.event.run is not None:
                self.event.run(*values)
            else:
                self.event.variable.commit(*values)
        except Exception as error:
            raise CommitFailed from error

    def run_eagerly(self, values: Sequence[Tensor], leaves: Mapping[str, Any]) -> None:
        """The same with eager Tensors, unless what runs now has run before."""
        try:
            if self.event.argument:
                leaves[self.event.argument][...] = values[0]
            else:
                run_event(self.event, values)
        except Exception as error:
            raise CommitFailed from error


class Finished(NamedTuple):
    """A recording that has ended.

    `places` say where in what the kernel returns each output of the graph is, those of the value
    within its `group`; `outputs` how the user's results are built from there; `commits` are what
    takes place after the call, in order.
    """

    recorded: Recorded
    outputs: list[Output]
    places: list[Indices]
    commits: list[Commit]
    group: Indices

    @property
    def answers(self) -> Answers:
        """The answers of the call."""
        return Answers(self.outputs, self.commits)

    def numbered(self) -> tuple[Answers, Indices]:
        """The same for a kernel that returns the number of the trace after the results; and the
        index of that number."""
        count = self.recorded.outputs

        def moved(indices: Indices) -> Indices:
            return (*indices, 0) if count == 1 and indices == self.group else indices

        outputs = [
            Output(
                output.structure,
                [(kind, moved(x) if kind == "result" else x) for kind, x in output.leaves],
            )
            for output in self.outputs
        ]
        commits = [
            commit._replace(places=[moved(indices) for indices in commit.places])
            for commit in self.commits
        ]
        return Answers(outputs, commits), (*self.group, -1)

    def answers_like(self, other: Finished) -> bool:
        """Return whether the user's results are built as those of `other` are, and that is all."""
        if self.commits or other.commits or len(self.outputs) != len(other.outputs):
            return False
        return all(map(_alike, self.outputs, other.outputs))

    def operation(
        self,
        recording: Recording,
        target: Callable[..., Any],
        make: Callable[[Recorded], Kernel],
    ) -> CallOp:
        """The call of the kernel's function `target` as one operation; `make` as Path takes it."""
        graph, seed = self.recorded.graph, self.recorded.seed
        seeds = {} if seed is None else {seed: one_of(seed.type)}
        decisions = [node for node in graph.nodes if node.op is DECIDE]
        seeds |= {node.results[0]: node.params["outcome"] for node in decisions}
        ensured = [node for node in graph.nodes if node.op is ENSURE]
        seeds |= {node.results[0]: True for node in ensured}
        inputs = [value for value in graph.inputs if value is not seed]
        places = self.places

        def compute(*arrays: Any) -> Sequence[Any]:
            found = target(*arrays)
            return [_picked(found, indices) for indices in places]

        operation = CallOp(
            recording, self.recorded.origin, inputs, graph.outputs, compute, seeds, make
        )
        effects = [node for node in graph.nodes if node.op.effect]
        operation.drawn = [
            value for node in effects for value in node.results if value not in seeds
        ]
        operation.decides = bool(decisions)
        return operation


def finish(
    answer: Answer, recording: Recording, request: Request, name: str, origin: Origin
) -> Finished:
    """Close the recording of function `name`: the outputs of its graph are the value's arrays, the
    new values of Variables, and the gradients."""
    tensors: list[Tensor] = []

    def placed(leaf: Any, label: str) -> tuple[str, Any]:
        if type(leaf) is Selected:
            leaf = leaf.known("a result that a mask selects")
        if type(leaf) is np.ndarray:
            leaf = Tensor(recording.lift(leaf), recording)
        if type(leaf) not in TENSORS:
            _check_fixed(leaf, name)
            return "fixed", leaf
        leaf = Tensor(recording.lift(leaf), recording)
        if label:
            leaf._value.name_result(label)
        tensors.append(leaf)
        return "result", len(tensors) - 1

    names = leaf_names(list(labels(answer.value_structure, "out")), whole=True)
    named = names if answer.value_structure is not LEAF else [""]
    leaves = [placed(*one) for one in zip(answer.value, named, strict=True)]
    marks = [object() for _ in answer.gradients]
    numbers = {mark: number for number, mark in enumerate(marks)}
    slope_tree = unflatten(answer.gradient_structure, marks) if request.transform else ()
    slopes, slope_structure = flatten(slope_tree)
    kept = [
        ("gradient", numbers[leaf]) if type(leaf) is object else placed(leaf, "") for leaf in slopes
    ]
    events = lasting_events(recording.events)
    first = len(tensors)
    tensors += [Tensor(value, recording) for event in events for value in event.values]
    count, total = len(tensors), len(answer.gradients)
    graph = recording.finish([tensor._value for tensor in (*tensors, *answer.gradients)])
    seed = answer.seed._value if answer.seed is not None else None
    sources = tuple(source._value for source in answer.sources)
    group: Indices = (0,) if request.transform else ()
    values = [_place(group, k, count) for k in range(count)]
    gradients = [_place((1,), k, total) for k in range(total)]

    def at(leaf: tuple[str, Any]) -> tuple[str, Any]:
        kind, known = leaf
        places = {"result": values, "gradient": gradients}.get(kind)
        return leaf if places is None else ("result", places[known])

    following = iter(values[first:])
    commits = [Commit(event, [next(following) for _ in event.values]) for event in events]
    return Finished(
        Recorded(graph, origin, count, sources, seed),
        _outputs(
            Output(answer.value_structure, [*map(at, leaves)]),
            Output(slope_structure, [*map(at, kept)]),
            request,
        ),
        [*values, *gradients],
        commits,
        group,
    )


def _alike(one: Output, other: Output) -> bool:
    """Return whether two outputs are built alike: fixed parts are the same objects, or equal
    numbers and strings of one type."""
    if one.structure != other.structure:
        return False
    return all(
        kind == other_kind
        and (
            x is y
            or (kind == "result" and x == y)
            or (type(x) is type(y) and type(x) in ATOMS and repr(x) == repr(y))
        )
        for (kind, x), (other_kind, y) in zip(one.leaves, other.leaves, strict=True)
    )


def _outputs(value: Output, found: Output, request: Request) -> list[Output]:
    """The outputs that the user sees, in order: of the value, and of what was `found` by
    differentiating."""
    if not request.transform:
        return [value]
    if request.transform == "value_and_grad":
        return [value, found]
    if request.has_aux:
        return [found, Output(value.structure.children[1], value.leaves[1:])]
    return [found]


def apart(leaf: Any) -> Any:
    """A result of a nested call: an array in memory of its own."""
    is_array = type(leaf) in TENSORS and leaf.type.form == "array"
    return Tensor(leaf._value, leaf._recording) if is_array else leaf


def own(leaf: Any) -> Any:
    """A result of plain Python as a kernel gives it: an array in memory of its own, of an eager
    Tensor or a Variable its numbers."""
    leaf = read_leaf(leaf)
    data = leaf._value.data if type(leaf) in TENSORS else leaf
    return data.copy(order="K") if type(data) is np.ndarray else data


def taped_result(leaf: Any) -> Any:
    """A result of plain Python as a kernel gives it under a tape: of an array or a Variable an
    eager Tensor."""
    leaf = read_leaf(leaf)
    if type(leaf) is not np.ndarray or leaf.dtype.kind not in "biufc":
        return leaf
    return Tensor(snapshot(EAGER.lift(leaf)), EAGER)


def _picked(found: Any, indices: Indices) -> Any:
    for index in indices:
        found = found[index]
    return found


def _place(group: Indices, number: int, count: int) -> Indices:
    """The indices of a result in what the kernel returns: one alone is not in a tuple."""
    return group if count == 1 else (*group, number)


def _attributes(leaf: Any) -> list[Any]:
    """The values that an object has in its `__dict__` and in the slots of its classes."""
    classes = [cls for cls in type(leaf).__mro__ if "__slots__" in vars(cls)]
    members = [one for cls in classes for one in vars(cls).items()]
    slots = [name for name, member in members if type(member) is MemberDescriptorType]
    values = [getattr(leaf, name, None) for name in slots]
    return [*getattr(leaf, "__dict__", {}).values(), *values]


def _check_fixed(leaf: Any, function: str) -> None:
    """Refuse a result that would be one object for every call although it changes, or holds what
    only this recording knows."""
    held = () if isinstance(leaf, type) else _attributes(leaf)
    elements = leaf if isinstance(leaf, frozenset) else ()
    parts = [part for value in (*held, *elements) for part in flatten(value)[0]]
    for part in parts:
        if type(part) is Dim:
            part.sizes.pin(part)
    inside = any(type(part) in TENSORS for part in parts)
    kind = type(leaf)
    if kind.__hash__ is None or inside or issubclass(kind, (CoroutineType, GeneratorType)):
        raise fail(
            "not-an-array",
            None,
            what=f"a result of {function}",
            kind=a(kind.__name__),
            fix="return arrays and numbers, in a dict, list, tuple, NamedTuple or dataclass.",
        )
