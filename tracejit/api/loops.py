"""Explicit loops: `scan` and `fori_loop`.

Recorded, a loop is one node, whose body is recorded once, whatever the number of steps. Outside of
recordings it is a loop of Python's on arrays, or on Tensors where a tape is open.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.forms import as_array, as_element, as_scalar
from tracejit.support.errors import fail
from tracejit.trace import places
from tracejit.trace.loops import (
    LoopInputs,
    LoopRange,
    emit_loop,
    placeholder,
    step_number,
    take_out,
)
from tracejit.trace.record import Recording, current_recording
from tracejit.trace.recorder import Recorder
from tracejit.trace.signature import signature_of
from tracejit.trace.tensor import TENSORS, Tensor
from tracejit.trace.trees import Structure, flatten, map_tree, paths, unflatten
from tracejit.trace.variable import current_recorder, read_leaf

Step = Callable[[Any, Any, Any], tuple[Any, Any]]


@places.at_the_users_line
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` for each x in `xs`; return the last carry and all y, stacked.

    `init`, `xs`, the carry and y are arrays, numbers or containers of them. Elements of `xs` are
    taken along the first axis of each array. Without `xs`, x is None and `length` says how many
    steps there are. In `reverse`, steps run from the last element to the first, and y of each step
    is stacked in the place of its x.

    In a recorded function the body is recorded once: recording, generated code and first call do
    not grow with the number of steps. The carry keeps its types from step to step; a Python number
    in `init` takes the type that `f` gives it.

    Raises ArgumentError where arrays differ in length, or the carry changes its structure, a shape
    or a dtype, naming the leaf.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> def running(total, x):
    ...     total = total + x
    ...     return total, total
    >>> last, sums = tj.scan(running, 0.0, np.array([1.0, 2.0, 3.0]))
    >>> float(last), sums
    (6.0, array([1., 3., 6.]))
    >>> tj.grad(lambda x: tj.scan(running, 0.0, x)[1].sum())(np.ones(3))
    array([3., 2., 1.])
    """
    leaves, structure = flatten(map_tree(read_leaf, xs))
    arrays = [leaf for leaf in leaves if leaf is not None]
    count = _length(arrays, length, _name(f))

    def step(carry: Any, elements: Sequence[Any], t: Any) -> tuple[Any, Any]:
        remaining = iter(elements)
        x = unflatten(structure, [None if leaf is None else next(remaining) for leaf in leaves])
        answer = f(carry, x)
        if type(answer) is not tuple or len(answer) != 2:
            problem = f"the body returns {_kind(answer)} instead of a pair (carry, y)"
            raise _misfit(_name(f), problem)
        return answer

    return _Loop(f, step, init, arrays, LoopRange(count, bool(reverse))).run()


@places.at_the_users_line
def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """Run `value = body(i, value)` for i from `lower` to `upper` - 1, from `init`; return the last.

    `value` is an array, a number or a container of them, which keeps its types from step to step.
    In a recorded function the body is recorded once, with i as a Python int that is being recorded:
    use it in arithmetic and as an index.

    Raises ArgumentError where the bounds are no integers, or `value` changes its structure, a shape
    or a dtype, naming the leaf.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.fori_loop(0, 4, lambda i, x: x * (i + 1), np.ones(2))
    array([24., 24.])
    """
    try:
        first, last = operator.index(lower), operator.index(upper)
    except TypeError:
        problem = f"the bounds are {_kind(lower)} and {_kind(upper)}, not two integers"
        raise _misfit(_name(body), problem) from None

    def step(value: Any, elements: Sequence[Any], t: Any) -> tuple[Any, Any]:
        return body(t + first if first else t, value), None

    return _Loop(body, step, init, (), LoopRange(max(last - first, 0), False)).run()[0]


class _Loop(NamedTuple):
    """One call of a loop: the user's function, the step made of it, and what it runs over."""

    function: Any
    step: Step
    init: Any
    arrays: Sequence[Any]
    steps: LoopRange

    def run(self) -> tuple[Any, Any]:
        """The last carry and what was stacked."""
        recording = current_recording()
        if recording is None or not self.steps.length:
            return self._in_python(current_recorder() if recording is None else recording)
        return self._recorded(recording)

    def _in_python(self, recorder: Recorder) -> tuple[Any, Any]:
        """The steps one by one; of none at all, one on zeros tells what would be stacked."""
        carry: Any = map_tree(read_leaf, self.init)
        rows: list[list[Any]] = []
        steps = range(self.steps.length)
        stacked: Structure | None = None
        for t in reversed(steps) if self.steps.reverse else steps:
            new, y = self.step(carry, [array[t] for array in self.arrays], t)
            new, y = map_tree(read_leaf, new), map_tree(read_leaf, y)
            self._check_structure(carry, new)
            carry = new
            leaves, stacked = flatten(y)
            rows.append(leaves)
        if stacked is None:
            elements = [np.zeros_like(array, shape=np.shape(array)[1:]) for array in self.arrays]
            leaves, stacked = flatten(self.step(carry, elements, 0)[1])
            empty = [
                None if leaf is None else np.zeros((0, *np.shape(leaf)), np.asarray(leaf).dtype)
                for leaf in leaves
            ]
            return carry, unflatten(stacked, empty)
        if self.steps.reverse:
            rows.reverse()
        columns = zip(*rows, strict=True)
        whole = [None if column[0] is None else np.stack(column) for column in columns]
        return carry, unflatten(stacked, whole)

    def _check_structure(self, carry: Any, new: Any) -> None:
        before, after = flatten(carry)[1], flatten(new)[1]
        if not before.is_like(after):
            problem = f"the carry is {_kind(carry)} at first and another container after a step"
            raise _misfit(_name(self.function), problem)

    def _recorded(self, recording: Recording) -> tuple[Any, Any]:
        """The node of the loop; the body is recorded again where a number of Python's in `init`
        becomes another type in it."""
        _pin_sizes(recording)
        leaves, structure = flatten(map_tree(read_leaf, self.init))
        names = [*paths(structure, _carry_name(self.function), repr)]
        initial: list[Any] = [
            self._number(recording, leaf, name) for leaf, name in zip(leaves, names, strict=True)
        ]
        sliced: list[Any] = [Tensor(recording.lift(array), recording) for array in self.arrays]
        for _ in range(len(leaves) + 1):
            start = len(recording.graph.nodes)
            carried = [placeholder(recording, x.type) for x in initial]
            elements = [placeholder(recording, _element(x.type)) for x in sliced]
            t = step_number(recording)
            events = len(recording.events)
            with recording.inside_scope():
                new, y = self.step(unflatten(structure, carried), elements, t)
                new, y = map_tree(read_leaf, new), map_tree(read_leaf, y)
            if len(recording.events) > events:
                raise _misfit(_name(self.function), "the body assigns a Variable")
            self._check_structure(unflatten(structure, carried), new)
            found = flatten(new)[0]
            pairs = zip(found, initial, names, strict=True)
            returned = [self._returned(recording, leaf, x, name) for leaf, x, name in pairs]
            inputs = LoopInputs(_values(carried), _values(elements), t._value)
            rows, stacked = flatten(y)
            kept = [_row(recording, row) for row in rows if row is not None]
            nodes = take_out(recording, start, inputs.all)
            changed = [k for k, x in enumerate(returned) if x.type is not initial[k].type]
            if not changed:
                break
            for k in changed:
                initial[k] = as_scalar(initial[k], dtype=returned[k].dtype)
        results = emit_loop(
            recording,
            _name(self.function),
            self.steps,
            inputs,
            nodes,
            _values([*returned, *kept]),
            initial,
            sliced,
        )
        remaining = iter(results[len(initial) :])
        whole = [None if row is None else next(remaining) for row in rows]
        return unflatten(structure, results[: len(initial)]), unflatten(stacked, whole)

    def _number(self, recording: Recording, leaf: Any, name: str) -> Any:
        if type(leaf) not in TENSORS and type_of(leaf) is None:
            problem = f"{name} is {_kind(leaf)}, neither an array nor a number"
            raise _misfit(_name(self.function), problem)
        return Tensor(recording.lift(leaf), recording)

    def _returned(self, recording: Recording, leaf: Any, initial: Any, name: str) -> Any:
        """What a step returns for a carried leaf, in the form of what it began with; as it is where
        that was a Python number, which becomes what the step makes of it."""
        tensor: Any = self._number(recording, leaf, name)
        before, after = initial.type, tensor.type
        if after is before:
            return tensor
        if before.form == "weak" and not after.shape and after.form != "weak":
            return as_element(tensor) if after.form == "array" else tensor
        if after.form == "weak" and np.can_cast(after.dtype, before.dtype, "same_kind"):
            tensor = as_scalar(tensor, dtype=before.dtype)
        if {tensor.type.form, before.form} == {"array", "scalar"} and not tensor.shape:
            tensor = as_array(tensor) if before.form == "array" else as_element(tensor)
        if tensor.type is before:
            return tensor
        problem = f"{name} is {before!r} at first and {after!r} after a step"
        raise _misfit(_name(self.function), problem)


def _length(arrays: Sequence[Any], length: int | None, name: str) -> int:
    """The number of steps."""
    if any(not np.ndim(array) for array in arrays):
        raise _misfit(name, "xs holds a number, which has no elements")
    sizes = {int(np.shape(array)[0]) for array in arrays}
    if length is not None:
        sizes.add(operator.index(length))
    if len(sizes) != 1:
        problem = f"xs and length say {sorted(sizes)} steps" if sizes else "neither xs nor length"
        raise _misfit(name, problem + (" is given" if not sizes else ""))
    return sizes.pop()


def _pin_sizes(recording: Recording) -> None:
    """Record for the sizes of this call: bodies have no free dimensions."""
    sizes = recording.graph.sizes
    while sizes is not None and (free := list(sizes.free())):
        int(sizes.dim(free[0]))


def _element(type: ArrayType) -> ArrayType:
    return ArrayType(type.shape[1:], type.dtype, "array" if type.ndim > 1 else "scalar")


def _values(tensors: Sequence[Tensor]) -> list[Value]:
    return [tensor._value for tensor in tensors]


def _row(recording: Recording, row: Any) -> Tensor:
    return Tensor(recording.lift(row), recording)


def _carry_name(f: Any) -> str:
    names = [*signature_of(f).parameters]
    return names[0] if names else "carry"


def _name(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _misfit(function: str, problem: str) -> Exception:
    return fail("loop", places.here(), function=function, problem=problem)
