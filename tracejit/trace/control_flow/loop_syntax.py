"""Loops on data that can be closed: loops with a test, whose steps do nothing but compute.

A loop is closed where each step is the same function of the variables that it assigns. Its text
must show that: a closed list of statements and calls. Variables are assigned, functions of NumPy
and of Python's that change nothing are called, and functions of the user's of which the same holds.
There is one exit: the test of the `while`, or `if test: break` in the body of `while True`, or at
its end in the body of `for k in range(n)`.

Whatever is not on the list is refused with the reason, and the loop is recorded trip by trip.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple

from tracejit.ir.types import type_of
from tracejit.trace.control_flow.pure_code import (
    STATEMENTS,
    PureCode,
    function_of,
    stored_by,
    updated_by,
)
from tracejit.trace.source.places import SourceFile, source_of
from tracejit.trace.tensor.tensor import TENSORS

_ASKING = frozenset(("all", "any", "bool", "max", "min", "sorted"))
_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

Loop = ast.While | ast.For


class LoopSyntax(NamedTuple):
    """A loop that can be closed: the lines of its test, the first instruction of its body, the
    outcome of each decision in the test that goes on with the loop, the names that a step assigns,
    and those that are `tested`. A test that `is_single` has one part alone. A `for` has a
    `counter`.

    The code of a test may stand before the body, for the first trip, and once more after it.
    """

    lines: range
    is_single: bool
    body: int
    stays: bool
    stores: frozenset[str]
    tested: frozenset[str]
    counter: Counter | None = None


class Counter(NamedTuple):
    """The variable of a `for` in its current trip: its name, the numbers that are left for it,
    whether a step reads it, and whether the loop has an `else`. `head` and `body` are the first
    lines of the loop and of a step."""

    name: str
    left: range
    is_read: bool
    has_else: bool
    head: int
    body: int


class NotClosable(NamedTuple):
    """The reason why a loop is recorded trip by trip."""

    reason: str


def loop_at(frame: FrameType) -> LoopSyntax | NotClosable | None:
    """The loop whose test a frame is in; None where it is in no test of a loop."""
    found = _test_at(frame.f_code, frame.f_lineno)
    if found is None:
        return None
    loop, test, stays, function = found
    problem = _problem(loop, test, function, frame)
    counter = None
    if isinstance(loop, ast.For) and not problem:
        counter = _counter(loop, frame)
        problem = counter if isinstance(counter, str) else ""
    if problem or isinstance(counter, str):
        return NotClosable(problem)
    polarity = _polarity(test, stays)
    if polarity is None:
        return NotClosable("its test mixes `and` and `or`")
    stores = stored_by(loop.body).union([counter.name] if counter else ())
    tested = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    lines = range(test.lineno, (test.end_lineno or test.lineno) + 1)
    first = loop.body[0].lineno
    body = min((start for start, _, line in frame.f_code.co_lines() if line == first), default=0)
    return LoopSyntax(
        lines,
        len(_parts(test)) == 1,
        body,
        polarity,
        frozenset(stores),
        frozenset(tested),
        counter,
    )


def _counter(loop: ast.For, frame: FrameType) -> Counter | str:
    """The counter of a `for`, or the reason why there is none."""
    call, target = loop.iter, loop.target
    known = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    stores = stored_by(loop.body)
    is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.keywords
    if not isinstance(target, ast.Name) or not is_range or target.id in stores:
        return "it runs over something other than `range`"
    assert isinstance(call, ast.Call)
    numbers = [_number(bound, known, stores) for bound in call.args]
    current = known.get(target.id)
    is_range = known.get(ast.unparse(call.func)) is range
    if not is_range or None in numbers or type(current) is not int:
        return "it runs over something other than a `range` of numbers that stay the same"
    if target.lineno == loop.body[0].lineno:
        return "its body stands in the line of its head"
    whole = range(*numbers)  # type: ignore[arg-type]
    if current not in whole:
        return f"{target.id} is no number of its range"
    is_read = any(isinstance(node, ast.Name) and node.id == target.id for node in inside)
    left = whole[whole.index(current) + 1 :]
    lines = loop.lineno, loop.body[0].lineno
    return Counter(target.id, left, is_read, bool(loop.orelse), *lines)


def _number(bound: ast.expr, known: Mapping[str, Any], stores: Collection[str]) -> int | None:
    """The number that a bound of a range is, where it is written by numbers and names of such."""
    for node in ast.walk(bound):
        if isinstance(node, ast.Name):
            if node.id in stores or type(known.get(node.id)) is not int:
                return None
        elif not isinstance(
            node, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)
        ):
            return None
    code = compile(ast.Expression(bound), "<range>", "eval")
    number = eval(code, {"__builtins__": {}}, dict(known))
    return number if type(number) is int else None


@functools.lru_cache(256)
def _test_at(code: CodeType, line: int) -> tuple[Loop, ast.expr, bool, Any] | None:
    """The loop with its exit test at a line, the outcome of the test that goes on, and the
    function."""
    source: SourceFile = source_of(code)
    statement = source.statement(line)
    function = function_of(source, code)
    if isinstance(statement, ast.While):
        is_there = _is_on(line, statement.test)
        return (statement, statement.test, True, function) if is_there else None
    if not isinstance(statement, ast.If) or not _is_on(line, statement.test):
        return None
    if not isinstance(statement.body[-1], ast.Break) or statement.orelse:
        return None
    for loop in source.statements.values():
        if isinstance(loop, ast.For) and statement is loop.body[-1] and len(statement.body) == 1:
            return loop, statement.test, False, function
        if isinstance(loop, ast.While) and statement in loop.body:
            is_forever = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
            return (loop, statement.test, False, function) if is_forever else None
    return None


def _is_on(line: int, node: ast.expr) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _polarity(test: ast.expr, stays: bool) -> bool | None:
    """The outcome of each part of a test that goes on with the loop, if it is one for all parts and
    any other outcome of any of them ends the loop."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _polarity(test.operand, not stays)
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is not stays:
            return None
        parts = {_polarity(part, stays) for part in test.values}
        return parts.pop() if len(parts) == 1 else None
    return stays


def _parts(test: ast.expr) -> list[ast.expr]:
    """The parts of a test, each of which Python asks for its truth."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _parts(test.operand)
    if isinstance(test, ast.BoolOp):
        return [one for part in test.values for one in _parts(part)]
    return [test]


def _is_one_question(part: ast.expr) -> bool:
    """Return whether Python asks for one truth value only, at the end of an expression."""
    for node in ast.walk(part):
        if isinstance(node, (ast.IfExp, ast.BoolOp, ast.Lambda, *_SCOPES)):
            return False
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return False
        if isinstance(node, ast.Compare):
            if node.ops[1:] or isinstance(node.ops[0], (ast.In, ast.NotIn)):
                return False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in _ASKING:
                return False
    return True


def _problem(loop: Loop, test: ast.expr, function: Any, frame: FrameType) -> str:
    """The reason why a loop cannot be closed, or nothing."""
    if loop.orelse and isinstance(loop, ast.While):
        return "it has an `else`"
    if not all(map(_is_one_question, _parts(test))):
        return "its test asks more than one question in one part"
    for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
        if isinstance(node, (ast.Try, ast.With)) and any(each is loop for each in ast.walk(node)):
            return "it is inside of `try` or `with`"
    if not isinstance(function, ast.FunctionDef):
        return "its function is not found in the source"
    stores = stored_by(loop.body)
    if any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in ast.walk(function)):
        return "its function assigns what is not its own"
    local, shared = frame.f_locals, stores.intersection(frame.f_code.co_cellvars)
    if shared:
        return f"{min(shared)} is shared with another function"
    updates = {name for node in ast.walk(loop) for name in updated_by(node)}
    for name in sorted(stores.intersection(local)):
        kind = local[name].type if type(local[name]) in TENSORS else type_of(local[name])
        if kind is None or kind.dtype.hasobject:
            return f"{name} is neither an array nor a number"
        if name in updates and kind.form == "array":
            return f"{name} is updated in place"
    exits = [each for each in loop.body if isinstance(each, ast.If) and each.test is test]
    known = {**frame.f_builtins, **frame.f_globals, **local}
    pure = PureCode(known, stores, exits[0].body[-1] if exits else None)
    without_test = () if isinstance(loop, ast.While) and loop.test is test else (ast.Continue,)
    allowed = tuple([kind for kind in STATEMENTS if kind not in without_test])
    return pure.problem(loop.body, allowed) or pure.of_expression(test)
