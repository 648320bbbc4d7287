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
import builtins
import functools
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from tracejit.trace.places import SourceFile, source_of

_STATEMENTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Pass, ast.Continue,
)  # fmt: skip
_IN_FUNCTIONS = (*_STATEMENTS, ast.Return, ast.FunctionDef)
_REFUSED = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.GeneratorExp)
_BUILTINS = frozenset(
    (
        abs, bool, complex, divmod, enumerate, float, int, isinstance, len, list, max, min, pow,
        range, reversed, round, sum, tuple, zip,
    )
)  # fmt: skip
_METHODS = frozenset(
    (
        "all", "any", "argmax", "argmin", "astype", "clip", "conj", "copy", "cumprod", "cumsum",
        "diagonal", "dot", "flatten", "item", "max", "mean", "min", "prod", "ravel", "repeat",
        "reshape", "round", "squeeze", "std", "sum", "swapaxes", "trace", "transpose", "var",
    )
)  # fmt: skip
_PURE_PACKAGES = ("numpy", "scipy", "tracejit")
_EFFECTS = frozenset(
    (
        "assign", "at", "callback", "copyto", "fill_diagonal", "place", "put", "put_along_axis",
        "putmask", "save", "savetxt", "savez", "savez_compressed", "set_printoptions", "seterr",
        "seterrcall", "setbufsize",
    )
)  # fmt: skip
_ASKING = frozenset(("all", "any", "bool", "max", "min", "sorted"))
_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEEPEST = 8

Loop = ast.While | ast.For


class LoopSyntax(NamedTuple):
    """A loop that can be closed: the lines of its test, the first instruction of its body, the
    outcome of each decision in the test that goes on with the loop, the names that a step assigns,
    those that it updates in place, and those that are `tested`. A test that `is_single` has one
    part alone. A `for` has a `counter`.

    The code of a test may stand before the body, for the first trip, and once more after it.
    """

    lines: range
    is_single: bool
    body: int
    stays: bool
    stores: frozenset[str]
    updates: frozenset[str]
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
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    stores = _stored(loop.body).union([counter.name] if counter else ())
    tested = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    updates = {name for node in inside for name in _updated(node)}
    lines = range(test.lineno, (test.end_lineno or test.lineno) + 1)
    first = loop.body[0].lineno
    body = min((start for start, _, line in frame.f_code.co_lines() if line == first), default=0)
    return LoopSyntax(
        lines,
        len(_parts(test)) == 1,
        body,
        polarity,
        frozenset(stores),
        frozenset(updates),
        frozenset(tested),
        counter,
    )


def _counter(loop: ast.For, frame: FrameType) -> Counter | str:
    """The counter of a `for`, or the reason why there is none."""
    call, target = loop.iter, loop.target
    known = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    stores = _stored(loop.body)
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


def _stored(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that statements assign."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def _updated(node: ast.AST) -> Iterator[str]:
    """The names of what a node updates in place, if they are arrays."""
    target = node.target if isinstance(node, ast.AugAssign) else node
    if isinstance(target, ast.Subscript) and isinstance(target.ctx, ast.Store):
        target = target.value
    elif target is node:
        return
    if isinstance(target, ast.Name):
        yield target.id


@functools.lru_cache(256)
def _test_at(code: CodeType, line: int) -> tuple[Loop, ast.expr, bool, Any] | None:
    """The loop with its exit test at a line, the outcome of the test that goes on, and the
    function."""
    source: SourceFile = source_of(code)
    statement = source.statement(line)
    function = _function(source, code)
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


def _function(source: SourceFile, code: CodeType) -> ast.stmt | None:
    """The statement that defines the function of `code`."""
    return source.statement(source.defs.get(code.co_firstlineno, code.co_firstlineno))


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
    stores = _stored(loop.body)
    shared = stores & {*frame.f_code.co_cellvars, *frame.f_code.co_freevars}
    if shared:
        return f"{min(shared)} is shared with another function"
    exits = [each for each in loop.body if isinstance(each, ast.If) and each.test is test]
    known = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}
    checker = _Checker(known, stores, exits[0].body[-1] if exits else None)
    return checker.of(loop.body, _STATEMENTS) or checker.of_expressions(test)


class _Checker:
    """A search for what the statements of a step or function do besides computing. `known` are the
    values of names; those that are assigned here have none."""

    def __init__(
        self,
        known: Mapping[str, Any],
        stores: set[str],
        exit: ast.stmt | None = None,
        depth: int = 0,
    ) -> None:
        """`exit` is the one `break` that is allowed."""
        self.known = known
        self.stores = stores
        self.exit = exit
        self.depth = depth

    def of(self, statements: list[ast.stmt], allowed: tuple[type, ...]) -> str:
        """The first thing that is not on the list, in words."""
        for statement in statements:
            if statement is self.exit or _is_text(statement):
                continue
            if not isinstance(statement, allowed):
                return f"`{_first_line(statement)}` in it"
            problem = self._of_targets(statement) or self.of_expressions(statement)
            if problem:
                return problem
            for part in ("body", "orelse"):
                inner = getattr(statement, part, None)
                if isinstance(inner, list):
                    problem = self.of(inner, allowed)
                    if problem:
                        return problem
        return ""

    def _of_targets(self, statement: ast.stmt) -> str:
        for node in _own_nodes(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                return f"it assigns {ast.unparse(node)}"
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                base = node.value
                if not (isinstance(base, ast.Name) and base.id in self.stores):
                    return f"it writes to {ast.unparse(base)}"
        return ""

    def of_expressions(self, statement: ast.AST) -> str:
        """The first expression that may do more than compute, in words."""
        for node in _own_nodes(statement):
            if isinstance(node, _REFUSED):
                return f"`{ast.unparse(node)}` in it"
            if isinstance(node, ast.Call):
                problem = self._of_call(node)
                if problem:
                    return problem
        return ""

    def _of_call(self, call: ast.Call) -> str:
        function = call.func
        if any(word.arg == "out" for word in call.keywords):
            return f"`{ast.unparse(call)}` writes to an array"
        if isinstance(function, ast.Call):  # tj.grad(f)(x)
            made = self._value(function.func)
            if not _package(made) == "tracejit" or not function.args:
                return f"`{ast.unparse(function)}` may do anything"
            return self._of_callable(function.args[0], self._value(function.args[0]))
        known = self._value(function)
        if known is not None:
            return self._of_callable(function, known)
        if isinstance(function, ast.Attribute) and function.attr in _METHODS:
            return ""
        return f"`{ast.unparse(function)}` may do anything"

    def _of_callable(self, text: ast.expr, known: Any) -> str:
        """The first thing that a callable does besides computing."""
        if isinstance(text, ast.Lambda):
            return ""  # its body is looked through where it stands
        if isinstance(known, type) or not callable(known):
            return "" if _is_in(known, _BUILTINS) else f"`{ast.unparse(text)}` may do anything"
        if _is_in(known, _BUILTINS) or getattr(known, "__module__", "") in ("math", "_operator"):
            return ""
        if getattr(known, "__name__", "") in _EFFECTS:
            return f"`{ast.unparse(text)}` in it"
        if _package(known) in _PURE_PACKAGES and "random" not in str(known.__module__):
            return ""
        python = getattr(known, "python", known)
        if isinstance(python, FunctionType) and self.depth < DEEPEST:
            return _problem_of_function(python, self.depth + 1)
        return f"`{ast.unparse(text)}` may do anything"

    def _value(self, node: ast.expr) -> Any:
        """The value of a name, of an attribute of a module, or of a method of an object; None where
        it is not known."""
        if isinstance(node, ast.Name):
            return None if node.id in self.stores else self.known.get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        owner = self._value(node.value)
        if isinstance(owner, ModuleType):
            return getattr(owner, node.attr, None)
        method = inspect.getattr_static(type(owner), node.attr, None)
        is_hidden = node.attr in getattr(owner, "__dict__", ())
        return method if isinstance(method, FunctionType) and not is_hidden else None


def _problem_of_function(function: FunctionType, depth: int) -> str:
    """The first thing that a function of the user's does besides computing, in words."""
    code = function.__code__
    tree = _function(source_of(code), code)
    name = function.__name__
    if not isinstance(tree, ast.FunctionDef):
        return f"{name} is not found in the source"
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    held = {word: cell.cell_contents for word, cell in cells.items() if _is_filled(cell)}
    known = {**vars(builtins), **function.__globals__, **held}
    stores = _stored(tree.body)
    parameters = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    inner = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    checker = _Checker(known, stores | {one.name for one in inner}, depth=depth)
    updated = {word for node in ast.walk(tree) for word in _updated(node)}
    if updated & parameters:
        return f"{name} writes to {min(updated & parameters)}"
    problem = checker.of(tree.body, _IN_FUNCTIONS)
    return f"{name}: {problem}" if problem else ""


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _is_in(value: Any, values: frozenset[Any]) -> bool:
    return any(value is one for one in values)


def _package(value: Any) -> str:
    module = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
    return str(module).partition(".")[0]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).partition("\n")[0]


def _own_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, without the statements inside it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        pending += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.stmt)]
