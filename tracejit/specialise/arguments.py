"""The arguments of a call: Tensors among them, arrays that it writes to, and containers, which it
must not change."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import HANDLE
from tracejit.ops.base.forms import as_scalar
from tracejit.runtime.dispatch import check_apart
from tracejit.runtime.identity import NotApart
from tracejit.support.errors import fail
from tracejit.trace.arguments.signature import Call, Leaf
from tracejit.trace.recording.eager import EAGER, snapshot
from tracejit.trace.recording.record import Recording
from tracejit.trace.source import places
from tracejit.trace.structure.trees import flatten
from tracejit.trace.tensor.memory import Written
from tracejit.trace.tensor.tensor import TENSORS, Tensor
from tracejit.trace.tensor.writes import PLAIN, USE_NAMESPACE

VAR_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD


def recording_among(arguments: dict[str, Any]) -> Recording | None:
    """The recording of the first Tensor that is being recorded, among the leaves of the
    arguments."""
    leaves = (leaf for value in arguments.values() for leaf in flatten(value)[0])
    found = (leaf._recording for leaf in leaves if type(leaf) in TENSORS)
    return next((recording for recording in found if recording is not EAGER), None)


def without_tensors(call: Call) -> tuple[Call, dict[str, Tensor]]:
    """The call with the data of eager Tensors in their place, and these by leaf name."""
    tensors = {leaf.name: leaf.value for leaf in call.leaves if type(leaf.value) in TENSORS}
    seen: dict[int, Tensor] = {}
    leaves = [
        leaf._replace(
            value=_data_of(leaf.value, seen),
            role="scalar" if leaf.value.type.form == "scalar" else "array",
        )
        if leaf.name in tensors
        else leaf
        for leaf in call.leaves
    ]
    return Call(leaves, call.structures), tensors


def _data_of(tensor: Tensor, seen: dict[int, Tensor]) -> Any:
    """The numbers of an eager Tensor: one object for one Tensor, although two may share it."""
    data: Any = tensor._value.data
    if seen.setdefault(id(data), tensor) is tensor or type(data) is not np.ndarray:
        return data
    return data.view()


def check_unread(call: Call, values: Sequence[Any], read: Collection[str]) -> None:
    """Refuse eager Tensors that a tape records where Python has `read` the numbers, by leaf name:
    their gradients would be lost."""
    for leaf, value in zip(call.leaves, values, strict=True):
        if leaf.name in read and type(value) in TENSORS:
            EAGER.value_of(value._value, "reading {}", "")


def check_containers(
    signature: inspect.Signature, arguments: dict[str, Any], call: Call, values: Sequence[Any]
) -> None:
    """NotApart where the function has put something else into a container that the caller sees."""
    remaining = iter(values)
    for name, structure in call.structures.items():
        given = [next(remaining) for _ in range(structure.size)]
        if signature.parameters[name].kind in (VAR_POSITIONAL, VAR_KEYWORD):
            continue
        leaves, now = flatten(arguments[name], opens=False)
        if now != structure or any(a is not b for a, b in zip(leaves, given, strict=True)):
            problem = f"the argument {name} is a container that is changed"
            raise NotApart(problem, "return the values that the function puts into it.")


def write_back(call: Call, values: Sequence[Any]) -> None:
    """Write into the arguments of a nested call what it has written into `values`, which stood for
    them."""
    for leaf, value in zip(call.leaves, values, strict=True):
        if type(value) in TENSORS and value is not leaf.value and type(value._owner) is Written:
            if type(leaf.value) not in TENSORS:
                raise fail("write", places.here(), call=leaf.name, target=PLAIN, fix=USE_NAMESPACE)
            leaf.value._write(value, leaf.name)


def eager_source(leaf: Leaf, differentiated: bool) -> Any:
    """An argument of a call that Python makes: to differentiate by, as an eager Tensor."""
    if not differentiated or leaf.type is None or leaf.type is HANDLE:
        return leaf.value
    tensor: Any = Tensor(snapshot(EAGER.lift(leaf.value)), EAGER)
    if not leaf.type.is_inexact:
        return tensor
    if tensor.type.form == "weak":
        tensor = as_scalar(tensor, dtype=tensor.dtype)
    return EAGER.distinct(tensor)


def write_plainly(call: Call, values: Sequence[Any]) -> None:
    """Write into the arrays that are arguments what has been written into the eager Tensors that
    stood for them. NotApart where NumPy would have written somewhere else, too."""
    pairs = zip(call.leaves, values, strict=True)
    written = [
        (leaf, value)
        for leaf, value in pairs
        if type(value) in TENSORS and value is not leaf.value and type(value._owner) is Written
    ]
    arrays = [leaf.value for leaf in call.leaves if type(leaf.value) is np.ndarray]
    check_apart([leaf.value for leaf, _ in written if type(leaf.value) is np.ndarray], arrays)
    for leaf, value in written:
        if type(leaf.value) in TENSORS:
            leaf.value._write(value, leaf.name)
        else:
            leaf.value[...] = value.numpy()
