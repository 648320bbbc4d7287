"""Routines of a library that call functions of the user's: a call is one node, which owns them.

routine(*invariants, *given, function=body, invariants=n) calls a routine such as SciPy's `root`.
Each body is a function by itself: it takes the invariants, which are the values that the user's
function reads from around it, and then what the routine hands it. What is `given` are the other
arguments of the call that are arrays. Options are literals.

In the generated code a body is a function beside the call, which reads the invariants there. A body
that the text of the call does not name is there for the derivative alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from tracejit.ir.graph import Node
from tracejit.ir.subgraph import Subgraph, bodies_of
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.base.op import LIBRARIES, OPS, literal
from tracejit.ops.control.control_flow import OWNERS, ControlFlow, cost_of, run

CALLS = 100
"""The number of calls of a function that a routine makes, where a cost is estimated."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Routine(ControlFlow):
    """The record of a routine.

    `spelling` is a function (given, **params) -> template of the call for the types of what is
    given: in it {0}, {1}, ... are what is given, and {NAME} is the function that the body of this
    name is. `derivative` makes the derivative of a node, as `ConditionDerivative` is one of a
    condition. `first_alone` is the routine that takes the place of this one where nothing reads but
    its first result. `given` has the names of what is given, and `options` those of parameters that
    are options; `base` is the routine that an adjoint goes through backwards.
    """

    spelling: Callable[..., str]
    derivative: Callable[..., Any]
    first_alone: Routine | None = None
    given: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    base: Routine | None = None

    def statement_lines(
        self, operands: Sequence[ArrayType], params: Mapping[str, Any]
    ) -> list[str]:
        """The call, over what is given and the names of the functions."""
        return [self.spelling(operands[params["invariants"] :], **params)]

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        """The results for arrays and numbers."""
        first = params["invariants"]
        given = operands[first:]
        template = self.spelling([type_of(one) for one in given], **params)
        functions = {
            name: partial(_called, body, operands[:first])
            for name, body in params.items()
            if type(body) is Subgraph
        }
        call = _compiled(template, len(given), tuple(functions))
        return call(*given, *functions.values())


def _called(body: Subgraph, invariants: Sequence[Any], *arguments: Any) -> Any:
    """The value that a body returns to the routine."""
    found = run(body.now, [*invariants, *arguments])
    return found[0] if len(found) == 1 else tuple(found)


@lru_cache(1024)
def _compiled(template: str, given: int, functions: tuple[str, ...]) -> Callable[..., Any]:
    """The function of what is given, and of the functions, that makes the call."""
    places = [f"_{number}" for number in range(given)]
    text = template.format(*places, **{name: name for name in functions})
    made: Callable[..., Any] = eval(f"lambda {', '.join([*places, *functions])}: {text}", LIBRARIES)
    return made


def define(
    name: str,
    *,
    infer: Callable[..., ArrayType | tuple[ArrayType, ...]],
    spelling: Callable[..., str],
    derivative: Callable[..., Any],
    batch: Callable[..., Any],
    **fields: Any,
) -> Routine:
    """Declare a routine of SciPy's and enter it in the tables."""
    made = Routine(
        name=name,
        infer=infer,
        batch=batch,
        library="scipy",
        statements=lambda *types, **params: ("call",),
        cost=_cost,
        spelling=spelling,
        derivative=derivative,
        **fields,
    )
    assert name not in OPS, name
    OPS[name] = made
    OWNERS.add(name)
    return made


def _cost(*types: ArrayType, **params: Any) -> int:
    bodies = [value for value in params.values() if type(value) is Subgraph]
    return CALLS * sum(map(cost_of, bodies))


def is_routine(node: Node) -> bool:
    """Return whether a node calls a routine."""
    return isinstance(node.op, Routine)


def functions_of(node: Node) -> dict[str, Subgraph]:
    """The bodies that the text of the call names, by name."""
    types = [value.type for value in node.operands]
    (text,) = node.op.statement_lines(types, node.params)
    return {name: body for name, body in bodies_of(node) if f"{{{name}}}" in text}


def keywords(**options: Any) -> str:
    """Options as the last arguments of a call; those that are None are left out.

    >>> keywords(method="hybr", tol=None, options=(("maxfev", 10),))
    ", method='hybr', options=dict(maxfev=10)"
    """
    return "".join(
        f", {name}={_option(value)}" for name, value in options.items() if value is not None
    )


def _option(value: Any) -> str:
    if type(value) is tuple and value and all(type(one) is tuple for one in value):
        return f"dict({', '.join(f'{name}={literal(one)}' for name, one in value)})"
    return literal(value)
