"""Rewriting of generated functions so that each operation shows its operands and its result.

`exp(-margin)` becomes `seen(2, (_1 := seen(1, (margin,), -margin),), exp(_1))`: operands first, as
Python evaluates them, then the operation. Where it writes into an array, the operands that share
memory with it are copied before. What has no operands is not shown: a constant is non-finite on
purpose. Nor is `empty`, whose elements have no values yet.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.debug.instrument import (
    ENTRIES,
    IN_TURN,
    at_line_of,
    blocks,
    called,
    loaded,
    names_bound,
    resolved,
    stored,
    tuple_of,
)

MAYBE_NUMBERS = (np.ndarray, np.generic, float, complex, type(None))
NOT_SHOWN = (np.empty, np.empty_like, range, reversed, zip, tuple, list, len, max, min)


class Site(NamedTuple):
    """One operation in the text: the function that it is in, its line, what it computes, its
    operands, and the variable that its statement binds or writes to. `is_gradient` where no value
    depends on it, `is_outermost` where it is all that its variable holds then."""

    function: str
    line: int
    text: str
    operands: tuple[str, ...]
    target: str
    is_gradient: bool
    is_outermost: bool


class _Call(NamedTuple):
    """An operation taken apart: the expressions that it reads, the text of each, and the arrays
    that it writes into."""

    operands: list[ast.expr]
    texts: list[str]
    outputs: list[ast.expr]


class Checks:
    """Rewrites the functions of one module, and numbers their operations: `sites`."""

    def __init__(self, module: ModuleType) -> None:
        """Begin without sites."""
        self.space = vars(module)
        self.sites: list[Site] = []

    def rewrite(self, function: ast.FunctionDef, prefix: str) -> None:
        """Rewrite one function in place."""
        local = names_bound(function)
        gradient = Dependence(self.space, local).gradient_statements(function)
        rewriting = _Rewriting(self, function.name, local, gradient, prefix)
        first = function.body[:1] if _is_docstring(function.body[0]) else []
        body = rewriting.statements(function.body[len(first) :])
        if function.name in ENTRIES:
            names = tuple_of([loaded(one.arg) for one in function.args.args])
            entered = called(f"{prefix}enter", ast.Constant(function.name), names)
            begin = stored(f"{prefix}run", entered)
            end = ast.Expr(called(f"{prefix}leave", loaded(f"{prefix}run")))
            inside = ast.Try(body=body, handlers=[], orelse=[], finalbody=[end])
            at_line_of([end], body[-1])
            at_line_of([begin], body[0])
            body = [begin, ast.copy_location(inside, body[0])]
        function.body = [*first, *body]


class _Rewriting:
    """The rewriting of one function, statement by statement."""

    def __init__(
        self,
        checks: Checks,
        function: str,
        local: set[str],
        gradient: set[ast.stmt],
        prefix: str,
    ) -> None:
        self._checks = checks
        self._space: Mapping[str, Any] = checks.space
        self._function, self._local, self._gradient = function, local, gradient
        self._prefix = prefix
        self._stores = Dependence(self._space, local).stores
        self._names = 0
        self._statement: ast.stmt = ast.Pass()
        self._target = ""
        self._outermost: ast.expr | None = None

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements in place of those of a block."""
        found: list[ast.stmt] = []
        for statement in body:
            new = self._in_place_of(statement)
            at_line_of([one for one in new if one is not statement], statement)
            found += new
        return found

    def _in_place_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """Rewrite one statement; return it, with those that go around it."""
        self._statement, self._names = statement, 0
        self._target, self._outermost = "", getattr(statement, "value", None)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                self._target = name
                statement.value = self._shown(statement.value)
            case ast.Assign(targets=[ast.Subscript() as target]):
                return self._put(statement, target)
            case ast.Assign():
                statement.value = self._shown(statement.value)
            case ast.AugAssign():
                return self._updated(statement)
            case ast.Expr():
                self._target = next(iter(self._stores(statement)), "")
                statement.value = self._shown(statement.value, is_statement=True)
            case ast.Return(value=ast.expr() as value):
                self._target = "return"
                statement.value = self._shown(value)
                if self._function in ENTRIES:
                    text = ast.Constant(ast.unparse(value))
                    run = loaded(f"{self._prefix}run")
                    statement.value = called(f"{self._prefix}result", run, text, statement.value)
            case ast.If() | ast.While():
                self._outermost = statement.test
                statement.test = self._shown(statement.test)
            case ast.For():
                statement.iter = self._shown(statement.iter)
        for block in list(blocks(statement)):
            block[:] = self.statements(block)
        return [statement]

    def _put(self, statement: ast.Assign, target: ast.Subscript) -> list[ast.stmt]:
        """A statement that writes into a part of an array: the part is shown afterwards, too."""
        text = ast.unparse(statement.value)
        self._target = next(_bases(target), "")
        statement.value = ast.NamedExpr(self._new_name(), self._shown(statement.value))
        operand = loaded(statement.value.target.id)
        number = self._number(ast.unparse(target), [text], is_outermost=False)
        return [statement, ast.Expr(self._hook(number, tuple_of([operand]), _read(target)))]

    def _updated(self, statement: ast.AugAssign) -> list[ast.stmt]:
        """A statement that updates an array in place: its operands are kept before."""
        texts = [ast.unparse(statement.target), ast.unparse(statement.value)]
        text = ast.unparse(statement)
        self._target = next(_bases(statement.target), "")
        read = _read(statement.target)
        name = self._new_name()
        operand = ast.NamedExpr(name, self._shown(statement.value))
        kept = self._new_name()
        operands = [read, operand]
        if isinstance(statement.value, ast.Constant):
            operands = [read, statement.value]
        else:
            statement.value = loaded(name.id)
        call = called(f"{self._prefix}kept", tuple_of(operands), tuple_of([read]))
        number = self._number(text, texts, isinstance(statement.target, ast.Name))
        after = self._hook(number, loaded(kept.id), read)
        return [stored(kept.id, call), statement, ast.Expr(after)]

    def _shown(self, node: ast.expr, is_statement: bool = False) -> ast.expr:
        """An expression whose operations show what they read and answer."""
        match node:
            case ast.Tuple() | ast.List():
                node.elts = [self._shown(one) for one in node.elts]
                return node
            case ast.IfExp():
                node.test = self._shown(node.test)
                node.body, node.orelse = self._shown(node.body), self._shown(node.orelse)
                return node
            case ast.BoolOp():
                node.values = [self._shown(one) for one in node.values]
                return node
            case ast.Compare():
                node.left = self._shown(node.left)
                if len(node.ops) == 1:
                    node.comparators = [self._shown(one) for one in node.comparators]
                return node
            case ast.Starred() | ast.Attribute() | ast.Subscript():
                node.value = self._shown(node.value)
                return node
            case ast.BinOp() | ast.UnaryOp() | ast.Call():
                return self._operation(node, is_statement)
        return node

    def _operation(self, node: ast.BinOp | ast.UnaryOp | ast.Call, is_statement: bool) -> ast.expr:
        """An operation that shows what it reads and answers."""
        text = ast.unparse(node)
        parts = _Call([], [], [])
        result: ast.expr = node
        if isinstance(node, ast.BinOp):
            node.left = self._operand(node.left, parts)
            node.right = self._operand(node.right, parts)
        elif isinstance(node, ast.UnaryOp):
            node.operand = self._operand(node.operand, parts)
        elif not self._is_shown(node):
            node.args = [self._shown(one) for one in node.args]
            return node
        else:
            outputs = {id(one) for one in written(node, self._space, self._local)}
            updated = node.args[:1] if is_statement and not outputs else []
            node.func = self._receiver(node.func, parts)
            node.args = [self._argument(one, parts, outputs) for one in node.args]
            for keyword in node.keywords:
                keyword.value = self._argument(keyword.value, parts, outputs)
            if updated and isinstance(node.args[0], ast.Name):
                name = node.args[0].id
                parts.outputs.append(loaded(name))
                result = called(f"{self._prefix}updated", node, loaded(name))
        if not parts.operands:
            return node
        operands: ast.expr = tuple_of(parts.operands)
        if parts.outputs:
            operands = called(f"{self._prefix}kept", operands, tuple_of(parts.outputs))
        number = self._number(text, parts.texts, node is self._outermost)
        return self._hook(number, operands, result)

    def _hook(self, number: int, operands: ast.expr, result: ast.expr) -> ast.expr:
        """The expression that shows operation `number`; its value is `result`."""
        return called(f"{self._prefix}seen", ast.Constant(number), operands, result)

    def _number(self, text: str, operands: list[str], is_outermost: bool) -> int:
        """The number of a new site."""
        sites = self._checks.sites
        line, is_gradient = self._statement.lineno, self._statement in self._gradient
        operands_of = tuple(operands)
        site = Site(
            self._function, line, text, operands_of, self._target, is_gradient, is_outermost
        )
        sites.append(site)
        return len(sites) - 1

    def _operand(self, node: ast.expr, parts: _Call) -> ast.expr:
        """Enter an operand in `parts`, under a name of its own; return what reads it."""
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, (ast.Tuple, ast.List)):
            node.elts = [self._operand(one, parts) for one in node.elts]
            return node
        if isinstance(node, ast.Starred):
            node.value = self._operand(node.value, parts)
            return node
        known = resolved(node, self._space, self._local)
        if isinstance(node, (ast.Slice, ast.Lambda)) or not isinstance(known, MAYBE_NUMBERS):
            return node
        parts.texts.append(ast.unparse(node))
        if isinstance(node, ast.Name):
            parts.operands.append(loaded(node.id))
            return node
        name = self._new_name()
        parts.operands.append(ast.NamedExpr(name, self._shown(node)))
        return loaded(name.id)

    def _argument(self, node: ast.expr, parts: _Call, outputs: set[int]) -> ast.expr:
        """Enter an argument in `parts`; one that is only written to is not an operand."""
        if id(node) not in outputs:
            return self._operand(node, parts)
        if not isinstance(node, ast.Name):
            name = self._new_name()
            parts.outputs.append(ast.NamedExpr(name, node))
            return loaded(name.id)
        parts.outputs.append(loaded(node.id))
        return node

    def _receiver(self, function: ast.expr, parts: _Call) -> ast.expr:
        """Enter the array of a method as an operand; return the function of the call."""
        if isinstance(function, ast.Attribute) and set(_bases(function)) & self._local:
            function.value = self._operand(function.value, parts)
        elif isinstance(function, ast.Attribute):
            owner = resolved(function.value, self._space, self._local)
            if owner is None or isinstance(owner, np.ndarray):
                function.value = self._operand(function.value, parts)
        return function

    def _is_shown(self, call: ast.Call) -> bool:
        """Return whether a call is an operation: not one of this module, which shows its own."""
        function = resolved(call.func, self._space, self._local)
        if function is None:
            return not isinstance(call.func, ast.Name)
        if isinstance(function, FunctionType) and function.__globals__ is self._space:
            return False
        if getattr(function, "__name__", "") == IN_TURN:
            return False
        return not any(function is other for other in NOT_SHOWN)

    def _new_name(self) -> ast.Name:
        self._names += 1
        return ast.Name(f"{self._prefix}{self._names}", ast.Store())


class Dependence(NamedTuple):
    """The variables that the statements of a function depend on. `space` are the globals of its
    module, `local` its own variables."""

    space: Mapping[str, Any]
    local: set[str]

    def gradient_statements(self, function: ast.FunctionDef) -> set[ast.stmt]:
        """The statements on which no value depends: all of `backward`; none of a `forward` that is
        no gradient itself; in other functions those that compute cotangents, by their names."""
        nodes = (node for node in ast.walk(function) if node is not function)
        every = {node for node in nodes if isinstance(node, ast.stmt)}
        if function.name == "backward":
            return every
        if function.name == "forward" and "_gradient__" not in str(self.space["__name__"]):
            return set()
        if function.name != "value_and_grad":
            return {one for one in every if any(map(_is_cotangent, self.stores(one)))}
        found: set[ast.stmt] = set()
        self.follow(function.body, set(), found)
        return every - found

    def follow(self, body: list[ast.stmt], live: set[str], found: set[ast.stmt]) -> set[str]:
        """Enter in `found` what the variables `live` after `body` depend on, and what is returned
        first; return the variables that are live before it."""
        for statement in reversed(body):
            inside = list(blocks(statement))
            if isinstance(statement, ast.Return):
                value = statement.value
                live = set(_bases(value.elts[0] if isinstance(value, ast.Tuple) else value))
            elif inside:
                live = self._follow_blocks(statement, inside, live, found)
                continue
            else:
                stores = set(self.stores(statement))
                if not stores & live:
                    continue
                if isinstance(statement, ast.Assign):
                    live = live - {one.id for one in statement.targets if isinstance(one, ast.Name)}
                live = live | set(_bases(statement))
            found.add(statement)
        return live

    def _follow_blocks(
        self,
        statement: ast.stmt,
        inside: list[list[ast.stmt]],
        live: set[str],
        found: set[ast.stmt],
    ) -> set[str]:
        """Follow a compound statement; the body of a loop twice, as it may follow itself."""
        for _ in range(2 if isinstance(statement, (ast.For, ast.While)) else 1):
            live = live.union(*[self.follow(block, live, found) for block in inside])
        if any(one in found for block in inside for one in block):
            found.add(statement)
            read = getattr(statement, "test", None) or getattr(statement, "iter", None)
            live = live | set(_bases(read))
        return live

    def stores(self, statement: ast.stmt) -> Iterator[str]:
        """The variables that a simple statement binds or writes into."""
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, (ast.AugAssign, ast.For)):
            targets = [statement.target]
        for target in targets:
            yield from _bases(target)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            outputs = list(written(statement.value, self.space, self.local))
            for output in outputs or statement.value.args[:1]:
                yield from _bases(output)


def written(call: ast.Call, space: Mapping[str, Any], local: set[str]) -> Iterator[ast.expr]:
    """The arguments that a call writes into and does not read."""
    yield from (one.value for one in call.keywords if one.arg == "out")
    function = resolved(call.func, space, local)
    if isinstance(function, np.ufunc):
        yield from call.args[function.nin :]
    elif function is np.dot:
        yield from call.args[2:]
    elif function is None and isinstance(call.func, ast.Attribute) and call.func.attr == "dot":
        yield from call.args[1:]
    elif getattr(function, "__name__", "") == IN_TURN:
        yield from call.args[3:]


def _is_cotangent(name: str) -> bool:
    """Return whether generated code calls a cotangent so: x_bar, x_bar_1."""
    return name.rstrip("0123456789").rstrip("_").endswith("_bar")


def _bases(node: ast.AST | None) -> Iterator[str]:
    """The variables in an expression."""
    for one in ast.walk(node) if node is not None else ():
        if isinstance(one, ast.Name):
            yield one.id


def _read(target: ast.expr) -> ast.expr:
    """The expression that reads what a statement writes to."""
    return ast.parse(ast.unparse(target), mode="eval").body


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
