"""Explicit conditions and loops on a condition: `cond`, `switch` and `while_loop`.

They do as functions what Python's `if` and `while` do where these are converted. Recorded, each is
one node, whose sides or body are recorded once. Outside of recordings it is Python's `if` and
`while` on arrays, or on Tensors where a tape is open.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

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
from tracejit.ir.types import ArrayType, type_of
from tracejit.support.errors import fail
from tracejit.trace.control_flow.conditions import common_type, emit_condition, record_side
from tracejit.trace.control_flow.loops import (
    LoopInputs,
    Side,
    emit_while,
    inside_body,
    step_number,
    take_out,
)
from tracejit.trace.recording.record import Recording, current_recording
from tracejit.trace.recording.variable import read_argument
from tracejit.trace.source import places
from tracejit.trace.structure.trees import Structure, flatten, map_tree, paths, unflatten
from tracejit.trace.tensor.tensor import TENSORS, Tensor

if TYPE_CHECKING:
    from tracejit.support.typing import R, Ts, Unpack


@places.at_the_users_line
def cond(
    predicate: Any,
    true_fun: Callable[[Unpack[Ts]], R],
    false_fun: Callable[[Unpack[Ts]], R],
    *operands: Unpack[Ts],
) -> R:
    """Return `true_fun(*operands)` if `predicate` is true, else `false_fun(*operands)`.

    Both sides are recorded once, and the generated code is one `if`. Only the side that is taken is
    computed, and only its derivative.

    Parameters
    ----------
    predicate : bool or scalar array
        The condition, which may be computed from recorded data.
    true_fun : callable
        The side for a true predicate. It may read values from outside.
    false_fun : callable
        The side for a false predicate. It returns the same structure, shapes and dtypes as
        `true_fun`.
    *operands : arrays
        The arguments of the side that is taken.

    Returns
    -------
    array or container of arrays
        The result of that side. A Python number takes the dtype that the other side has.

    Raises
    ------
    ArgumentError
        If the predicate is not a scalar, or the sides return different types. The message names the
        part of the result that differs. A TypeError.

    Notes
    -----
    Python's `if` does the same if its sides only compute. `cond` works in code that is not
    converted too, and it refuses sides that differ.

    Under `tj.vmap`, a predicate that differs between elements computes each side for all elements
    and chooses with `np.where`. Elements that do not take a side cause no error, warning or nan in
    it.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> def root(x):
    ...     return tj.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)
    >>> float(root(4.0)), float(tj.grad(root)(4.0)), float(tj.grad(root)(-1.0))
    (2.0, 0.25, 0.0)
    """
    predicate = read_argument(predicate)
    recording = _recording_of(predicate)
    if recording is None:
        return (true_fun if predicate else false_fun)(*operands)
    choice = _scalar(predicate, "tj.cond", "the predicate")
    if choice.dtype.kind != "b":
        choice = choice != 0
    result: R = _recorded(recording, "tj.cond", choice, (true_fun, false_fun), operands)
    return result


@places.at_the_users_line
def switch(index: Any, branches: Sequence[Callable[[Unpack[Ts]], R]], *operands: Unpack[Ts]) -> R:
    """Return `branches[index](*operands)`.

    All branches are recorded once, as for `cond`. Only the branch that is taken is computed.

    Parameters
    ----------
    index : int or scalar array
        The number of the branch. A negative one takes the first branch, one too large the last.
    branches : sequence of callable
        The functions to choose from. They return the same structure, shapes and dtypes.
    *operands : arrays
        The arguments of the branch that is taken.

    Returns
    -------
    array or container of arrays
        The result of that branch.

    Raises
    ------
    ArgumentError
        If the index is not an integer, it has no branches, or they return different types. A
        TypeError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> powers = [np.ones_like, lambda x: x, np.square]
    >>> [float(tj.switch(k, powers, 3.0)) for k in (-1, 0, 1, 2, 7)]
    [1.0, 1.0, 3.0, 9.0, 9.0]
    """
    branches = list(branches)
    if not branches:
        raise _mismatch("tj.switch", "it has no branches")
    index = read_argument(index)
    recording = _recording_of(index)
    if recording is None:
        try:
            number = operator.index(index)
        except TypeError:
            raise _mismatch("tj.switch", f"the index is {kind_of(index)}, not an integer") from None
        return branches[min(max(number, 0), len(branches) - 1)](*operands)
    choice = _scalar(index, "tj.switch", "the index")
    if choice.dtype.kind not in "iu":
        raise _mismatch("tj.switch", f"the index is {choice.type!r}, not an integer")
    result: R = _recorded(recording, "tj.switch", choice, branches, operands)
    return result


@places.at_the_users_line
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """Run `value = body_fun(value)` while `cond_fun(value)` is true; return the last value.

    Both functions are recorded once, and the generated code is one `while`.

    Parameters
    ----------
    cond_fun : callable
        A function of the value that returns a bool or a scalar array.
    body_fun : callable
        A function of the value that returns the next value, of the same structure and types.
    init : array, number, or container of them
        The first value.

    Returns
    -------
    array or container of arrays
        The value for which `cond_fun` is false.

    Raises
    ------
    ArgumentError
        If the condition is not a scalar, or the value changes its structure, a shape or a dtype.
        The message names the part that changes. A TypeError.

    Notes
    -----
    Python's `while` is recorded in the same way if its body only computes. Derivatives
    of any order work. Reverse mode keeps the value at the start of each step. `tj.fori_loop` needs
    less memory if the number of steps is known.

    Under `tj.vmap`, the loop runs until the condition is false for all elements. Elements that are
    done keep their values.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> def root(a):
    ...     return tj.while_loop(
    ...         lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), np.maximum(a, 1.0)
    ...     )
    >>> round(float(root(2.0)), 9), round(float(tj.grad(root)(2.0)), 9)
    (1.414213562, 0.353553391)
    """
    recording = current_recording()
    if recording is None:
        last = map_tree(read_argument, init)
        while cond_fun(last):
            new = map_tree(read_argument, body_fun(last))
            check_structure(name_of(body_fun), last, new)
            last = new
        return last
    pin_sizes(recording)
    carry = Carry(recording, body_fun, parameter_of(body_fun, 0, "value"), init)
    is_settled = False
    while not is_settled:
        carried = carry.placeholders()
        inputs = LoopInputs(values_of(carried), [], step_number(recording)._value)
        events = len(recording.events)
        with inside_body(recording, body_fun, cond_fun):
            value = carry.whole(carried)
            test = record_side(recording, partial(_test, recording, cond_fun, value))
            start = len(recording.graph.nodes)
            new = map_tree(read_argument, body_fun(value))
        if len(recording.events) > events:
            problem = "the body assigns a Variable"
            raise misfit(carry.function, problem, "return the value, and assign after the loop.")
        returned = carry.returned(value, new)
        step = Side(take_out(recording, start), values_of(returned))
        is_settled = carry.settle(returned)
    results = emit_while(recording, carry.function, inputs, test, step, carry.initial)
    return carry.whole(results)


def _test(recording: Recording, function: Any, value: Any) -> list[Any]:
    """The condition of a loop, as a truth value alone."""
    found: Any = read_argument(function(value))
    fix = "return one truth value, such as np.any(test)."
    if type(found) not in TENSORS and type_of(found) is None:
        raise misfit(
            name_of(function), f"the condition is {kind_of(found)}, not a truth value", fix
        )
    found = Tensor(recording.lift(found), recording)
    if found.shape:
        raise misfit(name_of(function), f"the condition is {found.type!r}, not a scalar", fix)
    return [found if found.dtype.kind == "b" else found != 0]


def _recording_of(choice: Any) -> Recording | None:
    """The recording that does not know `choice`; None if Python can choose."""
    return current_recording() if type(choice) in TENSORS else None


def _scalar(choice: Any, call: str, name: str) -> Any:
    if choice.shape:
        raise _mismatch(call, f"{name} is {choice.type!r}, not a scalar")
    return choice


def _recorded(
    recording: Recording,
    call: str,
    choice: Tensor,
    functions: Sequence[Callable[..., Any]],
    operands: Sequence[Any],
) -> Any:
    """The results of a condition: one node, once every side is recorded."""
    pin_sizes(recording)
    operands = [map_tree(read_argument, operand) for operand in operands]
    structures: list[Structure] = []
    nothing: list[list[bool]] = []

    def run(function: Callable[..., Any]) -> list[Tensor]:
        events = len(recording.events)
        with inside_body(recording, function):
            leaves, structure = flatten(map_tree(read_argument, function(*operands)))
        if len(recording.events) > events:
            raise _mismatch(call, f"{name_of(function)} assigns a Variable")
        structures.append(structure)
        nothing.append([leaf is None for leaf in leaves])
        names = paths(structure, "result", repr)
        pairs = zip(leaves, names, strict=True)
        return [_leaf(recording, call, leaf, name) for leaf, name in pairs if leaf is not None]

    sides = [record_side(recording, partial(run, function)) for function in functions]
    first = structures[0]
    for function, structure, none in zip(functions, structures, nothing, strict=True):
        if not first.is_like(structure) or none != nothing[0]:
            pair = f"{name_of(functions[0])} and {name_of(function)}"
            raise _mismatch(call, f"{pair} return different containers")
    names = [
        name
        for name, none in zip(paths(first, "result", repr), nothing[0], strict=True)
        if not none
    ]
    for number, name in enumerate(names):
        types = [side.outputs[number].type for side in sides]
        if common_type(types) is None:
            raise _mismatch(call, f"{name} is {_differing(types)}")
    results = iter(emit_condition(recording, name_of(functions[0]), choice, sides))
    return unflatten(first, [None if none else next(results) for none in nothing[0]])


def _leaf(recording: Recording, call: str, leaf: Any, name: str) -> Tensor:
    if type(leaf) not in TENSORS and type_of(leaf) is None:
        raise _mismatch(call, f"{name} is {kind_of(leaf)}, neither an array nor a number")
    return Tensor(recording.lift(leaf), recording)


def _differing(types: Sequence[ArrayType]) -> str:
    """The first two types that differ."""
    other = next(type for type in types if common_type([types[0], type]) is None)
    return f"{types[0]!r} on one side and {other!r} on another"


def _mismatch(call: str, problem: str) -> Exception:
    return fail("condition", places.here(), call=call, problem=problem)
