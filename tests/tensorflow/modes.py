"""Gradients of a program, taken in four ways that must agree.

A gradient program is a text that ends in `return f, args[, variables]`. Its gradients are those of
`f(*args)` by the args and then the variables; its second order is the gradient of the first of them
by the args. The modes are

    E   an eager tape
    FO  a tape around a compiled function
    FI  a tape opened and used inside a compiled function
    TG  tj.gradients inside a compiled function
"""

from __future__ import annotations

import functools
import itertools
import linecache
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tests.tensorflow.namespace import PREAMBLE

_numbers = itertools.count()


class Program(NamedTuple):
    """What a text returns: a function, its arguments, and Variables that it reads."""

    f: Callable[..., Any]
    args: list[Any]
    variables: list[tj.Variable]


class Failure(NamedTuple):
    """An error as data."""

    type: str
    text: str


class Outcome(NamedTuple):
    """What one mode says of a program: y and its gradients, the same when asked again, and the
    second order; each may be a Failure."""

    first: Any
    again: Any
    second: Any


def run_text(text: str) -> Any:
    """What the body of a function returns, run where tracebacks and tracejit can read it."""
    source = "def program():\n" + textwrap.indent(text, "    ") + "\n"
    filename = f"<gradient program {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space = dict(PREAMBLE, __name__="gradient_program")
    exec(compile(source, filename, "exec"), space)
    made: Any = space["program"]
    return made()


def program(text: str) -> Program:
    """The program of a text, with Variables of its own."""
    f, args, *variables = run_text(text)
    return Program(f, args, *variables or [[]])


def floating(args: Any) -> list[Any]:
    """The arguments that a tape can watch."""
    return [x for x in args if x.dtype.kind == "f"]


def value(f: Callable[..., Any], args: Any) -> Any:
    """f(*args), on one line for all modes: errors name it."""
    return f(*args)


def first_by_tape(f: Callable[..., Any], args: Any, variables: Any) -> Any:
    """The value and the gradients, by a tape."""
    with tj.GradientTape() as tape:
        tape.watch(floating(args))
        y = value(f, args)
    return y, tape.gradient(y, [*args, *variables])


def second_by_tapes(f: Callable[..., Any], args: Any, variables: Any) -> Any:
    """The gradients of the first gradient, by a tape around a tape."""
    with tj.GradientTape() as tape:
        tape.watch(floating(args))
        _, found = first_by_tape(f, args, variables)
    return None if found[0] is None else tape.gradient(found[0], list(args))


def first_by_gradients(f: Callable[..., Any], args: Any, variables: Any) -> Any:
    """The value and the gradients, by tj.gradients."""
    y = value(f, args)
    return y, tj.gradients(y, [*args, *variables])


def second_by_gradients(f: Callable[..., Any], args: Any, variables: Any) -> Any:
    """The gradients of the first gradient, by tj.gradients of tj.gradients."""
    _, found = first_by_gradients(f, args, variables)
    return None if found[0] is None else tj.gradients(found[0], list(args))


def eager(take: Callable[..., Any], given: Program) -> Callable[[], Any]:
    """Nothing compiled."""
    return lambda: take(given.f, given.args, given.variables)


def around(take: Callable[..., Any], given: Program) -> Callable[[], Any]:
    """f compiled, the tapes around it."""
    f = tj.function(given.f)
    return lambda: take(f, given.args, given.variables)


def inside(take: Callable[..., Any], given: Program) -> Callable[[], Any]:
    """All compiled, with what takes the gradients."""
    whole = tj.function(lambda *args: take(given.f, args, given.variables))
    return lambda: whole(*given.args)


MODES: dict[str, tuple[Any, Any, Any]] = {
    "E": (eager, first_by_tape, second_by_tapes),
    "FO": (around, first_by_tape, second_by_tapes),
    "FI": (inside, first_by_tape, second_by_tapes),
    "TG": (inside, first_by_gradients, second_by_gradients),
}


@functools.cache
def outcome(text: str, mode: str) -> Outcome:
    """What a mode says of a program; the second order has a program of its own."""
    way, first, second = MODES[mode]
    run = way(first, program(text))
    return Outcome(attempt(run), attempt(run), attempt(way(second, program(text))))


def attempt(run: Callable[[], Any]) -> Any:
    """What a run answers, as arrays; or its error."""
    with np.errstate(all="ignore"):
        try:
            return plain(run())
        except Exception as error:
            return Failure(type(error).__name__, str(error))


def plain(result: Any) -> Any:
    """A result as arrays and NumPy scalars, in lists."""
    if result is None:
        return None
    if isinstance(result, (list, tuple)):
        return [plain(one) for one in result]
    return result.numpy() if hasattr(result, "numpy") else result
