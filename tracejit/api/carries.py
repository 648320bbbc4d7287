"""Carries of loops: the values that each step takes from the step before, leaf by leaf.

The carry keeps its containers, shapes and dtypes from step to step. A Python number in the initial
value takes the type that the body gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.graph import Value
from tracejit.ir.types import type_of
from tracejit.ops.base.forms import as_array, as_element, as_scalar
from tracejit.support.errors import fail
from tracejit.trace.arguments.signature import signature_of
from tracejit.trace.control_flow.loops import placeholder
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.variable import read_argument
from tracejit.trace.source import places
from tracejit.trace.structure.trees import flatten, map_tree, paths, unflatten
from tracejit.trace.tensor.tensor import TENSORS, Tensor

SAME_CARRY = "return a carry with the containers, shapes and dtypes that the body takes."


class Carry:
    """The carry of a loop that is being recorded: its leaves and their `initial` values."""

    def __init__(self, recording: Recording, function: Any, root: str, init: Any) -> None:
        """The carry of a loop over `function`, which calls it `root`."""
        self.recording = recording
        self.function = name_of(function)
        leaves, self.structure = flatten(map_tree(read_argument, init))
        self.names = [*paths(self.structure, root, repr)]
        pairs = zip(leaves, self.names, strict=True)
        self.initial: list[Any] = [self._number(leaf, name) for leaf, name in pairs]

    def placeholders(self) -> list[Tensor]:
        """Values to record a body on."""
        labels = [name if name.isidentifier() else "" for name in self.names]
        pairs = zip(self.initial, labels, strict=True)
        return [placeholder(self.recording, x.type, label) for x, label in pairs]

    def whole(self, leaves: Sequence[Any]) -> Any:
        """The containers that hold these leaves."""
        return unflatten(self.structure, leaves)

    def returned(self, carry: Any, new: Any) -> list[Tensor]:
        """The leaves that a step returns for a carry, in the forms of those that it took."""
        check_structure(self.function, carry, new)
        leaves = zip(flatten(new)[0], self.initial, self.names, strict=True)
        return [self._like(leaf, initial, name) for leaf, initial, name in leaves]

    def settle(self, returned: Sequence[Tensor]) -> bool:
        """Return whether the body returns what it took. A Python number that it makes another type
        of begins as one of that type, and the body is to be recorded again."""
        changed = [k for k, x in enumerate(returned) if x.type is not self.initial[k].type]
        for k in changed:
            self.initial[k] = as_scalar(self.initial[k], dtype=returned[k].dtype)
        return not changed

    def _number(self, leaf: Any, name: str) -> Any:
        if type(leaf) not in TENSORS and type_of(leaf) is None:
            problem = f"{name} is {kind_of(leaf)}, neither an array nor a number"
            raise misfit(self.function, problem)
        return Tensor(self.recording.lift(leaf), self.recording)

    def _like(self, leaf: Any, initial: Any, name: str) -> Any:
        """A leaf that a step returns, in the form of what it began with; as it is where that was a
        Python number, which becomes what the step makes of it."""
        tensor: Any = self._number(leaf, name)
        before, after = initial.type, tensor.type
        if after is before:
            return tensor
        grows = after.form != "weak" or not np.can_cast(after.dtype, before.dtype, "same_kind")
        if before.form == "weak" and not after.shape and grows:
            return as_element(tensor) if after.form == "array" else tensor
        if after.form == "weak" and np.can_cast(after.dtype, before.dtype, "same_kind"):
            tensor = as_scalar(tensor, dtype=before.dtype)
        if {tensor.type.form, before.form} == {"array", "scalar"} and not tensor.shape:
            tensor = as_array(tensor) if before.form == "array" else as_element(tensor)
        if tensor.type is before:
            return tensor
        raise misfit(self.function, f"{name} is {before!r} at first and {after!r} after a step")


def check_structure(function: str, carry: Any, new: Any) -> None:
    """Raise ArgumentError if a step returns other containers than it took."""
    if not flatten(carry)[1].is_like(flatten(new)[1]):
        problem = f"the carry is {kind_of(carry)} at first, and another container after a step"
        raise misfit(function, problem)


def pin_sizes(recording: Recording) -> None:
    """Record for the sizes of this call: bodies have no free dimensions."""
    sizes = recording.graph.sizes
    while sizes is not None and (free := list(sizes.free())):
        int(sizes.dim(free[0]))


def values_of(tensors: Sequence[Tensor]) -> list[Value]:
    """The values that Tensors stand for."""
    return [tensor._value for tensor in tensors]


def parameter_of(function: Any, number: int, otherwise: str) -> str:
    """The name of a parameter of the user's function."""
    names = [*signature_of(function).parameters]
    return names[number] if len(names) > number else otherwise


def name_of(function: Any) -> str:
    """The name of the user's function, for errors."""
    return getattr(function, "__name__", type(function).__name__)


def kind_of(value: Any) -> str:
    """The words for a value in an error."""
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def misfit(function: str, problem: str, fix: str = SAME_CARRY) -> Exception:
    """The error of a loop over `function` that cannot be run."""
    return fail("loop", places.here(), function=function, problem=problem, fix=fix)
