"""Explicit loops: `scan` and `fori_loop`.

Recorded, a loop is one node, whose body is recorded once, whatever the number of steps. Outside of
recordings it is a loop of Python's on arrays, or on Tensors where a tape is open.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.api.carries import (
    Carry,
    check_structure,
    kind_of,
    misfit,
    name_of,
    parameter_of,
    pin_sizes,
    values_of,
)
from tracejit.ops.control.control_flow import element_type
from tracejit.trace.control_flow.loops import (
    LoopInputs,
    LoopRange,
    Side,
    emit_loop,
    inside_body,
    placeholder,
    step_number,
    take_out,
)
from tracejit.trace.recording.record import Recording, current_recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.variable import current_recorder, read_argument
from tracejit.trace.source import places
from tracejit.trace.structure.trees import Structure, flatten, map_tree, unflatten
from tracejit.trace.tensor.memory import seal
from tracejit.trace.tensor.tensor import Tensor

Step = Callable[[Any, Any, Any], tuple[Any, Any]]


@places.at_the_users_line
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    checkpoint: int | bool | None = None,
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` for each x in `xs`; return the last carry and all y, stacked.

    The body is recorded once. The generated code and the first call do not grow with the number of
    steps.

    Parameters
    ----------
    f : callable
        A function of the carry and one element that returns the next carry and a result.
    init : array, number, or container of them
        The first carry. The carry keeps its structure, shapes and dtypes from step to step.
    xs : array or container of arrays, default None
        The elements, taken along the first axis. Without it, each x is None.
    length : int, default None
        The number of steps. It is needed if there is no `xs`.
    reverse : bool, default False
        If True, steps run from the last element to the first. Each y is stacked where its x was.
    unroll : int or bool, default 1
        The number of steps in each round of the generated loop. True unrolls the whole loop.
    checkpoint : int or bool, default None
        The values that are kept for the reverse pass. None lets a cost model choose. True keeps
        only the carry of each step, and a number n the carry of each n-th step. The rest is
        computed again.

    Returns
    -------
    tuple
        The pair (carry, ys): the last carry, and all results stacked along a new first axis.

    Raises
    ------
    ArgumentError
        If arrays in `xs` differ in length, an option is not a positive number, or the carry changes
        its structure, a shape or a dtype. The message names the part that changes. A TypeError.

    Notes
    -----
    For T steps, `checkpoint` near the square root of T makes memory grow as the square root of T.
    It costs one more forward pass. A Python number in `init` takes the type that `f` gives it.

    Examples
    --------
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
    leaves, structure = flatten(map_tree(read_argument, xs))
    arrays = [leaf for leaf in leaves if leaf is not None]
    count = _length(arrays, length, name_of(f))

    def step(carry: Any, elements: Sequence[Any], t: Any) -> tuple[Any, Any]:
        remaining = iter(elements)
        x = unflatten(structure, [None if leaf is None else next(remaining) for leaf in leaves])
        answer = f(carry, x)
        if type(answer) is not tuple or len(answer) != 2:
            problem = f"the body returns {kind_of(answer)} instead of a pair (carry, y)"
            raise misfit(name_of(f), problem, "return (carry, y); y may be None.")
        return answer

    loop = _Loop(f, step, init, arrays, LoopRange(count, bool(reverse)))
    if current_recording() is None:
        return loop.run()
    if unroll is not False and unroll != 1:
        size = count if unroll is True else _positive(f, "unroll", unroll)
        return loop.in_blocks(max(size, 1), _Loop.unrolled)
    if checkpoint is None or checkpoint is False:
        return loop.run()
    if checkpoint is True:
        return loop.checkpointed().run()
    size = _positive(f, "checkpoint", checkpoint)
    return loop.checkpointed().in_blocks(size, _Loop.run)


@places.at_the_users_line
def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """Run `value = body(i, value)` for i from `lower` to `upper` - 1; return the last value.

    The body is recorded once.

    Parameters
    ----------
    lower : int
        The first i.
    upper : int
        The end of the range, which is not part of it.
    body : callable
        A function of i and the value that returns the next value. i is a recorded integer: use it
        in arithmetic and as an index.
    init : array, number, or container of them
        The first value. It keeps its structure, shapes and dtypes from step to step.

    Returns
    -------
    array or container of arrays
        The value after the last step.

    Raises
    ------
    ArgumentError
        If the bounds are not integers, or the value changes its structure, a shape or a dtype. The
        message names the part that changes. A TypeError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.fori_loop(0, 4, lambda i, x: x * (i + 1), np.ones(2))
    array([24., 24.])
    """
    try:
        first, last = operator.index(lower), operator.index(upper)
    except TypeError:
        problem = f"the bounds are {kind_of(lower)} and {kind_of(upper)}, not two integers"
        raise misfit(name_of(body), problem, "pass integers, such as x.shape[0].") from None

    def step(value: Any, elements: Sequence[Any], t: Any) -> tuple[Any, Any]:
        return body(t + first if first else t, value), None

    steps = LoopRange(max(last - first, 0), False)
    return _Loop(body, step, init, (), steps, 1).run()[0]


class _Loop(NamedTuple):
    """One call of a loop: the user's function, the step made of it, and what it runs over. The
    function takes the carry in `place`."""

    function: Any
    step: Step
    init: Any
    arrays: Sequence[Any]
    steps: LoopRange
    place: int = 0

    def run(self) -> tuple[Any, Any]:
        """The last carry and what was stacked."""
        recording = current_recording()
        if recording is None:
            return self._in_python(current_recorder())
        sizes = recording.graph.sizes
        if not self.steps.length or (sizes is not None and sizes.stay_free):
            return self._in_python(recording)
        return self._recorded(recording)

    def checkpointed(self) -> _Loop:
        """The loop that keeps the carry of each step, and nothing else, for its derivative."""
        return self._replace(steps=self.steps._replace(checkpoint=True))

    def unrolled(self) -> tuple[Any, Any]:
        """The last carry and what was stacked, step by step."""
        recording = current_recording()
        return self._in_python(current_recorder() if recording is None else recording)

    def in_blocks(self, size: int, run: Callable[[_Loop], tuple[Any, Any]]) -> tuple[Any, Any]:
        """The last carry and what was stacked: a loop over blocks of so many steps, each of which
        is a loop that is `run`, and the steps that remain."""
        count, reverse = self.steps.length, self.steps.reverse
        blocks = count // size
        whole = blocks * size
        inner = self.steps._replace(length=size)

        def block(carry: Any, elements: Sequence[Any], t: Any) -> tuple[Any, Any]:
            return run(self._replace(init=carry, arrays=elements, steps=inner))

        columns = [np.reshape(x[:whole], (blocks, size, *x.shape[1:])) for x in self.arrays]
        steps = self.steps._replace(length=blocks)
        main = self._replace(step=block, arrays=columns, steps=steps)
        rest = self._replace(
            arrays=[x[whole:] for x in self.arrays], steps=inner._replace(length=count - whole)
        )
        carry, found = self.init, []
        for part in (rest, main) if reverse else (main, rest):
            if part.steps.length:
                carry, y = part._replace(init=carry).run()
                leaves, stacked = flatten(y)
                if part is main:
                    leaves = [None if x is None else _flat(x, whole) for x in leaves]
                found.append(leaves)
        if not found:
            return self.run()
        parts = zip(*(found[::-1] if reverse else found), strict=True)
        joined = [None if part[0] is None else np.concatenate(part) for part in parts]
        return carry, unflatten(stacked, joined if len(found) > 1 else found[0])

    def _in_python(self, recorder: Recorder) -> tuple[Any, Any]:
        """The steps one by one; of none at all, one on zeros tells what would be stacked."""
        carry: Any = map_tree(read_argument, self.init)
        rows: list[list[Any]] = []
        steps = range(self.steps.length)
        stacked: Structure | None = None
        for t in reversed(steps) if self.steps.reverse else steps:
            new, y = self.step(carry, [array[t] for array in self.arrays], t)
            new, y = map_tree(read_argument, new), map_tree(read_argument, y)
            check_structure(name_of(self.function), carry, new)
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

    def _recorded(self, recording: Recording) -> tuple[Any, Any]:
        """The node of the loop; the body is recorded again where a number of Python's in `init`
        becomes another type in it."""
        pin_sizes(recording)
        root = parameter_of(self.function, self.place, "carry")
        carry = Carry(recording, self.function, root, self.init)
        sliced: list[Any] = [Tensor(recording.lift(array), recording) for array in self.arrays]
        is_settled = False
        while not is_settled:
            start = len(recording.graph.nodes)
            t = step_number(recording)
            events = len(recording.events)
            with inside_body(recording, self.function):
                carried = carry.placeholders()
                elements = [placeholder(recording, element_type(x.type)) for x in sliced]
                for tensor in (*carried, *elements):
                    seal(tensor, f"what the loop over {carry.function} hands to a step")
                new, y = self.step(carry.whole(carried), elements, t)
                new, y = map_tree(read_argument, new), map_tree(read_argument, y)
            if len(recording.events) > events:
                problem = "the body assigns a Variable or uses tj.callback"
                raise misfit(carry.function, problem, "return the value, and do it after the loop.")
            returned = carry.returned(carry.whole(carried), new)
            rows, stacked = flatten(y)
            kept = [Tensor(recording.lift(row), recording) for row in rows if row is not None]
            inputs = LoopInputs(values_of(carried), values_of(elements), t._value)
            nodes = take_out(recording, start, inputs.all)
            is_settled = carry.settle(returned)
        step = Side(nodes, values_of([*returned, *kept]))
        results = emit_loop(
            recording, carry.function, self.steps, inputs, step, carry.initial, sliced
        )
        remaining = iter(results[len(returned) :])
        whole = [None if row is None else next(remaining) for row in rows]
        return carry.whole(results[: len(returned)]), unflatten(stacked, whole)


def _flat(stack: Any, count: int) -> Any:
    """An array that blocks have stacked, step by step."""
    return np.reshape(stack, (count, *stack.shape[2:]))


def _positive(f: Any, name: str, value: Any) -> int:
    """The number of steps that an argument names."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        problem = f"{name} is {value!r}, not a positive number"
        raise misfit(name_of(f), problem, "pass an integer of at least 1.")
    return number


def _length(arrays: Sequence[Any], length: int | None, name: str) -> int:
    """The number of steps."""
    if any(not np.ndim(array) for array in arrays):
        raise misfit(name, "xs holds a number, which has no elements", "pass arrays.")
    sizes = {int(np.shape(array)[0]) for array in arrays}
    if length is not None:
        sizes.add(operator.index(length))
    if len(sizes) != 1:
        problem = f"xs and length say {sorted(sizes)} steps" if sizes else "neither xs nor length"
        raise misfit(
            name, problem + (" is given" if not sizes else ""), "pass xs of one length, or length=."
        )
    return sizes.pop()
