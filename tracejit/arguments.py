"""What a call leaves in its arguments: arrays it has written to, containers it has not."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from tracejit.errors import fail
from tracejit.runtime.dispatch import NotApart
from tracejit.trace import places
from tracejit.trace.memory import Written
from tracejit.trace.signature import Call
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import flatten
from tracejit.trace.writes import PLAIN, USE_NAMESPACE

VAR_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD


def check_containers(
    signature: inspect.Signature, arguments: dict[str, Any], call: Call, values: Sequence[Any]
) -> None:
    """NotApart where the function has put something else into a container that the caller sees."""
    remaining = iter(values)
    for name, structure in call.structures.items():
        given = [next(remaining) for _ in range(structure.size)]
        if signature.parameters[name].kind in (VAR_POSITIONAL, VAR_KEYWORD):
            continue
        leaves, now = flatten(arguments[name])
        if now != structure or any(a is not b for a, b in zip(leaves, given, strict=True)):
            raise NotApart(f"the argument {name} is a container that is changed")


def write_back(call: Call, values: Sequence[Any]) -> None:
    """Write into the arguments of a nested call what it has written into `values`, which stood for
    them."""
    for leaf, value in zip(call.leaves, values, strict=True):
        if value is not leaf.value and type(value._owner) is Written:
            if type(leaf.value) is not Tensor:
                raise fail("write", places.here(), call=leaf.name, target=PLAIN, fix=USE_NAMESPACE)
            leaf.value._write(value, leaf.name)
