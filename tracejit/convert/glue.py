"""Syntax between the user's statements in converted code, which asks forks and loops.

It has no place in a file, so debuggers, coverage and tracebacks see only the user's statements;
what calls something of a fork's has the place of the user's test.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tracejit.convert.syntax import at

RESULT = ".result"


UNBOUND: Any = ("\0unbound",)
"""The value of a name that is read only where another was assigned."""


UNSET: Any = ("\0unset",)
"""The value of a name that no step of a loop has bound yet."""


_NOWHERE = ast.Pass(lineno=-1, col_offset=-1, end_lineno=-1, end_col_offset=-1)


class Way(ast.If):
    """A test of a fork, which is not a test of the user's."""


class Turn(ast.While):
    """A loop `while` of which one step may stand for all: statements `asking` give `answer` the
    outcome of its test, and `flags` say that a step has left it."""

    _fields = ("asking", "body")
    asking: list[ast.stmt]
    answer: str
    flags: list[str]


class Round(ast.For):
    """A loop `for` over what a name of ours holds, `iterable`; `flags` say that a step has left
    it."""

    iterable: str
    flags: list[str]


class Give(ast.Assign):
    """An assignment of what a fork answers."""


class Release(ast.Assign):
    """A statement after which a name of no user's holds nothing."""


class Origin(ast.IfExp):
    """The choice of a loop `for`: the user's iterable, or that which records one step for all."""


class Unbind(ast.If):
    """A statement that unbinds a name which a loop has not bound."""


class Tell(ast.Expr):
    """A statement by which a fork or loop is told something."""


class Handler(ast.ExceptHandler):
    """A handler of what a fork catches."""


class Again(ast.While):
    """A loop that goes round again where a fork takes one side."""


class Dead(ast.While):
    """Statements after a jump, which never run: by them Python knows the names of the function, and
    that it is a generator."""


def nowhere(node: Any) -> Any:
    """`node` at no place."""
    return at(_NOWHERE, node)


def load(place: Any, name: str) -> ast.Name:
    """A name that is read, at a place."""
    loaded: ast.Name = at(place, ast.Name(name, ast.Load()))
    return loaded


def store(place: Any, name: str) -> ast.Name:
    """A name that is assigned, at a place."""
    stored: ast.Name = at(place, ast.Name(name, ast.Store()))
    return stored


def constant(place: Any, value: Any) -> ast.Constant:
    """A constant at a place."""
    constant: ast.Constant = at(place, ast.Constant(value))
    return constant


def name_of(name: str, context: Any = None) -> ast.Name:
    """A name at no place."""
    named: ast.Name = nowhere(ast.Name(name, context or ast.Load()))
    return named


def holds(name: str, value: Any) -> ast.Compare:
    """`name is value`."""
    test: ast.Compare = nowhere(ast.Compare(name_of(name), [ast.Is()], [constant(_NOWHERE, value)]))
    return test


def differs(name: str, value: Any) -> ast.Compare:
    """`name is not value`."""
    test = holds(name, value)
    test.ops = [ast.IsNot()]
    return test


def way(fork: str, outcome: bool, body: list[ast.stmt]) -> Way:
    """`if fork is not outcome: ...`."""
    found: Way = nowhere(Way(differs(fork, outcome), body, []))
    return found


def called(place: Any, fork: str, method: str, names: Sequence[str] = ()) -> ast.Call:
    """`fork.method(*names)`."""
    bound = at(place, ast.Attribute(load(place, fork), method, ast.Load()))
    call: ast.Call = at(place, ast.Call(bound, [load(place, name) for name in names], []))
    return call


def given_by(
    place: Any, fork: str, method: str, names: Sequence[str], is_asked: bool = True
) -> ast.stmt:
    """`(x, y) = fork.method(x, y)`, of what is in a line of its own."""
    targets = at(place, ast.Tuple([store(place, name) for name in names], ast.Store()))
    value = called(place, fork, method, names if is_asked else ())
    given: ast.stmt = at(place, Give([targets], value))
    return given


def released(names: Sequence[str]) -> ast.stmt:
    """A statement after which names of no user's hold nothing."""
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    return Release(targets, ast.Constant(None))
