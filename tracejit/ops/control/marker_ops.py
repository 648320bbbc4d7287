"""`override`: the one op behind every gradient marker. `identity`: a value as another one.

override(*values, *inputs, outputs=n, grad=Marker) is its n values in the forward direction. In
the reverse pass the cotangents of its results go to the marker's rule, and the rule's answers to
the inputs; nothing flows into the values. stop_gradient is an override without inputs,
grad_pass_through one whose rule is the identity.

identity(x, number=k) is x, but no other value is treated as it: what a nested transform
differentiates by, so that the same array read another way is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import Joint, defop


class LinearCall(NamedTuple):
    """A call as a linear map of the inputs that move: `obstacle` says in words why it is none, and
    is empty if it is; `transposed` takes a tangent or None per result to one per input."""

    obstacle: str
    transposed: Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Marker:
    """The user's gradient at one place.

    `rule(*cotangents)` takes one cotangent per result (zeros where nothing arrived, None for
    integer and boolean results) and answers one entry per input of the override, None if there
    is not a gradient; shapes and dtypes are checked already. `note` is what the generated code says
    in brackets.

    A rule that is `pruned` is called with two lists: a cotangent or None per result, and whether
    the gradient of each input is wanted. One that also `continues` gets as a third list what the
    inputs' cotangents are so far, and answers their sums: in the order of additions that its
    statements would have in the open. `push` takes a tangent or None per input to the tangents of
    the results; without it forward mode transposes the rule. `sight` is told which eager tapes hold
    the operation.

    `linear` is there where the values were computed out of sight, by a kernel or in a region that
    is run again: it takes which inputs move and which results are wanted, and returns the call as
    a LinearCall. `reads` are the user's functions and objects that the rule may read from.
    """

    name: str
    note: str
    rule: Callable[..., Sequence[Any]]
    pruned: bool = False
    continues: bool = False
    push: Callable[..., Sequence[Any]] | None = None
    sight: Any = None
    linear: Callable[[Sequence[bool], Sequence[bool]], LinearCall] | None = None
    reads: Sequence[Any] = field(default=(), repr=False)

    @property
    def __name__(self) -> str:
        """The printed name, which does not differ from run to run."""
        return self.name


def stop(*cotangents: Any) -> Sequence[Any]:
    """The rule of stop_gradient, which has no inputs."""
    return ()


def pass_through(*cotangents: Any) -> Sequence[Any]:
    """The rule of grad_pass_through: each cotangent to the input in the same place."""
    return cotangents


FIXED_RULES = (stop, pass_through)
"""Rules that are the same at every place, so that a gradient through them need not be recorded
again."""


def _value_types(*operands: ArrayType, outputs: int, grad: Marker) -> tuple[ArrayType, ...]:
    return operands[:outputs]


IDENTITY = defop(
    name="identity",
    infer=lambda x, number: x,
    vjp=lambda g, y, x, number: g,
    jvp="linear",
    batch=lambda moved, x, number: x,
    source="{0}",
    view_of=0,
    cost=lambda *types, **params: 0,
    elements="same",
    order="kept",
)
OVERRIDE = defop(
    name="override",
    infer=_value_types,
    source=lambda types, outputs, grad: ", ".join(f"{{{k}}}" for k in range(outputs)),
    cost=lambda *types, **params: 0,
)


def inputs_of(node: Node) -> tuple[Value, ...]:
    """The operands that gradients flow into: of an override, those its rule answers for."""
    return node.operands[node.params["outputs"] :] if node.op is OVERRIDE else node.operands


def is_ruled(node: Node) -> bool:
    """Return whether a rule of the user's gives the derivative of a node."""
    if node.op is OVERRIDE:
        return node.params["grad"].rule not in FIXED_RULES
    return isinstance(node.op.vjp, Joint)


def values_of(node: Node) -> tuple[Value, ...]:
    """The operands that a node's results are computed from: of an override its values, or its
    inputs where those were computed out of sight."""
    if node.op is not OVERRIDE:
        return node.operands
    outputs = node.params["outputs"]
    return (
        node.operands[:outputs] if node.params["grad"].linear is None else node.operands[outputs:]
    )


def dependent_results(node: Node, dependent: set[Value]) -> Sequence[Value]:
    """The results of a node that are computed from values that are `dependent`."""
    values = values_of(node)
    if dependent.isdisjoint(values):
        return ()
    if node.op is not OVERRIDE or node.params["grad"].linear is not None:
        return node.results
    return [y for x, y in zip(values, node.results, strict=True) if x in dependent]
