"""Pure code: statements and calls that do nothing but compute, by a closed list.

What is assigned here are local names; they hold what is computed here. Any other name that is read
must stand for what nothing on the list can change: arrays, numbers, text, plain containers of such,
and pure functions. An object of the user's is read by its attributes alone, and by those that it
holds: no property, no `__getattr__`. Nothing is written to but arrays that are made here.

Whatever is not on the list is told, with the reason.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import CodeType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracejit.ir.types import type_of
from tracejit.trace.source.places import SourceFile, source_of
from tracejit.trace.tensor.tensor import PLAIN

STATEMENTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Pass, ast.Continue,
)  # fmt: skip
_IN_FUNCTIONS = (*STATEMENTS, ast.Return)
_EXPRESSIONS = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.Constant, ast.IfExp, ast.List, ast.Slice, ast.Subscript,
    ast.Tuple, ast.UnaryOp, ast.boolop, ast.cmpop, ast.expr_context, ast.operator, ast.unaryop,
)  # fmt: skip
_ATTRIBUTES = frozenset(("T", "dtype", "imag", "ndim", "real", "shape", "size"))
_BUILTINS = (
    abs, bool, complex, divmod, enumerate, float, int, isinstance, len, list, max, min, pow,
    range, reversed, round, sum, tuple, zip,
)  # fmt: skip
# Methods of arrays, and how many arguments they take before `out`.
_METHODS = dict.fromkeys(
    (
        "all", "any", "argmax", "argmin", "astype", "conj", "copy", "cumprod", "cumsum", "diagonal",
        "dot", "flatten", "item", "max", "mean", "min", "prod", "ravel", "round", "squeeze", "std",
        "sum", "trace", "var",
    ),
    1,
) | {"clip": 2, "repeat": 2, "reshape": 9, "swapaxes": 2, "transpose": 9}  # fmt: skip
_PURE_PACKAGES = ("numpy", "scipy", "tracejit")
_FUNCTIONS = ("function", "builtin_function_or_method", "ufunc", "_ArrayFunctionDispatcher")
_EFFECTS = frozenset(
    (
        "assign", "at", "callback", "copyto", "fill_diagonal", "fromfile", "load", "place", "put",
        "put_along_axis", "putmask", "save", "savetxt", "savez", "savez_compressed",
        "set_printoptions", "set_trace", "seterr", "seterrcall", "setbufsize",
    )
)  # fmt: skip
_NEW = frozenset(
    (
        "arange", "array", "concatenate", "copy", "empty", "empty_like", "eye", "full", "full_like",
        "linspace", "ones", "ones_like", "roll", "stack", "where", "zeros", "zeros_like",
    )
)  # fmt: skip
_CONSTANTS = (EllipsisType, bytes, range)
_WRITING = ("copy", "out", "overwrite_a", "overwrite_b", "overwrite_x", None)
_UNKNOWN = object()
DEEPEST = 8


class PureCode:
    """A search for what code does besides computing. `known` are the values of names; those that
    it `stores` have none."""

    def __init__(
        self,
        known: Mapping[str, Any],
        stores: Collection[str],
        exit: ast.stmt | None = None,
        depth: int = 0,
    ) -> None:
        """`exit` is the one `break` that is allowed."""
        self.known = known
        self.stores = stores
        self.exit = exit
        self.depth = depth

    def problem(self, statements: Sequence[ast.stmt], allowed: tuple[type, ...]) -> str:
        """The first thing that is not on the list, in words."""
        return self._of_statements(statements, allowed) or self._of_updates(statements)

    def _of_statements(self, statements: Iterable[ast.stmt], allowed: tuple[type, ...]) -> str:
        for statement in statements:
            if statement is self.exit or _is_text(statement):
                continue
            if not isinstance(statement, allowed):
                return f"`{_first_line(statement)}` in it"
            for child in ast.iter_child_nodes(statement):
                if isinstance(child, ast.stmt):
                    problem = self._of_statements([child], allowed)
                elif child is not getattr(statement, "annotation", None):
                    problem = self.of_expression(child)
                if problem:
                    return problem
        return ""

    def of_expression(self, node: ast.AST) -> str:
        """The first part of an expression, or target, that may do more than compute, in words."""
        text = ast.unparse(node)
        if isinstance(node, ast.Call):
            return self._of_call(node, f"`{text}`")
        if isinstance(node, ast.Name):
            return "" if isinstance(node.ctx, ast.Store) else self._of_value(node)
        if isinstance(node, ast.Attribute):
            return f"it assigns {text}" if isinstance(node.ctx, ast.Store) else self._of_value(node)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if not isinstance(node.value, ast.Name) or node.value.id not in self.stores:
                return f"it writes to {ast.unparse(node.value)}"
        if not isinstance(node, _EXPRESSIONS) or _asks_more_than_values(node):
            return f"`{text}` in it"
        return _first(map(self.of_expression, ast.iter_child_nodes(node)))

    def _of_value(self, node: ast.Name | ast.Attribute) -> str:
        """The reason why a name or attribute may be read for no more than a value."""
        found, text = self._value(node), ast.unparse(node)
        if found is not _UNKNOWN:
            return self._of_known(found, text)
        if isinstance(node, ast.Name):
            return ""
        return self.of_expression(node.value) if node.attr in _ATTRIBUTES else _anything(text)

    def _of_known(self, value: Any, text: str, depth: int = 0) -> str:
        """The reason why a value may be changed, or do more than stand for itself when it is
        read."""
        kind, described = type(value), type_of(value)
        if described is not None:
            return f"{text} has Python objects in it" if described.dtype.hasobject else ""
        if kind in (list, tuple, dict) and depth < DEEPEST:
            inside = [*value, *value.values()] if kind is dict else value
            return _first(self._of_known(one, text, depth + 1) for one in inside)
        if kind in PLAIN or kind in _CONSTANTS or isinstance(value, np.dtype):
            return ""
        if hasattr(kind, "__tracejit_read__"):
            return ""
        if isinstance(value, type) and value.__module__ in ("builtins", "numpy"):
            return ""
        if callable(value):
            return self._of_callable(value, text)
        return f"{text} is neither an array nor a number"

    def _of_call(self, call: ast.Call, text: str) -> str:
        function = call.func
        arguments = [*call.args, *[word.value for word in call.keywords]]
        if any(word.arg in _WRITING for word in call.keywords):
            return f"{text} writes to an array"
        problem = _first(map(self.of_expression, arguments))
        if problem:
            return problem
        known, count = self._value(function), len(call.args)
        name = ast.unparse(function)
        if known is not _UNKNOWN:
            problem = self._of_callable(known, name)
            return problem or (f"{text} writes to an array" if _fills(known, count) else "")
        if isinstance(function, ast.Attribute) and count <= _METHODS.get(function.attr, -1):
            return self.of_expression(function.value)
        if isinstance(function, ast.Call) and _package(self._value(function.func)) == "tracejit":
            return self.of_expression(function)  # tj.grad(f)(x)
        return _anything(name)

    def _of_callable(self, known: Any, text: str) -> str:
        """The first thing that a callable does besides computing."""
        is_number = isinstance(known, type) and issubclass(known, np.generic)
        if is_number or getattr(known, "__module__", "") == "math":
            return ""
        if any(known is one for one in _BUILTINS):
            return ""
        name, package = getattr(known, "__name__", ""), _package(known)
        is_function = type(known).__name__ in _FUNCTIONS or _package(type(known)) == "tracejit"
        python = known.python if hasattr(type(known), "python") else known
        if is_function and package in _PURE_PACKAGES:
            is_pure = name not in _EFFECTS and "random" not in str(known.__module__)
            return "" if is_pure else f"`{text}` in it"
        if isinstance(python, FunctionType | MethodType) and self.depth < DEEPEST:
            return _problem_of_function(python, self.depth + 1)
        return _anything(text)

    def _value(self, node: ast.expr) -> Any:
        """The value of a name, or of an attribute that something known holds."""
        if isinstance(node, ast.Name) and node.id not in self.stores:
            return self.known.get(node.id, _UNKNOWN)
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            return _UNKNOWN if owner is _UNKNOWN else _held(owner, node.attr)
        return _UNKNOWN

    def _of_updates(self, statements: Sequence[ast.stmt]) -> str:
        """The first name that is updated in place, and may be of an array made elsewhere."""
        inside = [node for statement in statements for node in ast.walk(statement)]
        updated = {name for node in inside for name in updated_by(node)}
        made: list[ast.AST] = []
        for node in inside:
            if isinstance(node, ast.AugAssign):
                made.append(node.target)
            elif isinstance(node, ast.Assign) and self._is_new(node.value):
                made += node.targets
        for node in inside:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                if node.id in updated and node not in made:
                    return f"{node.id}, which is updated in place, may be an array of another name"
        return ""

    def _is_new(self, node: ast.expr) -> bool:
        """Return whether an expression is a number, or an array that it makes itself."""
        if isinstance(node, ast.Call):
            known = self._value(node.func)
            if isinstance(known, np.ufunc) or _package(known) in _PURE_PACKAGES:
                return isinstance(known, np.ufunc) or getattr(known, "__name__", "") in _NEW
            return isinstance(node.func, ast.Attribute) and node.func.attr == "copy"
        return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Constant))


def _problem_of_function(function: FunctionType | MethodType, depth: int) -> str:
    """The first thing that a function of the user's does besides computing, in words."""
    owner = function.__self__ if isinstance(function, MethodType) else _UNKNOWN
    plain = getattr(function, "__func__", function)
    name = function.__name__
    tree = function_of(source_of(plain.__code__), plain.__code__)
    if not isinstance(plain, FunctionType) or not isinstance(tree, ast.FunctionDef):
        return f"{name} is not found in the source"
    cells = zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True)
    held = {word: cell.cell_contents for word, cell in cells if _is_filled(cell)}
    known = {**vars(builtins), **plain.__globals__, **held}
    parameters = [node.arg for node in ast.walk(tree.args) if isinstance(node, ast.arg)]
    stores = stored_by(tree.body)
    if owner is not _UNKNOWN and parameters[0] not in stores:
        known[parameters.pop(0)] = owner
    updated = {word for node in ast.walk(tree) for word in updated_by(node)}.intersection(
        parameters
    )
    if updated:
        return f"{name} writes to {min(updated)}"
    code = PureCode(known, stores.union(parameters), depth=depth)
    defaults = [*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()]
    problem = _first(code._of_known(one, "a default") for one in defaults)
    problem = problem or code.problem(tree.body, _IN_FUNCTIONS)
    return f"{name}: {problem}" if problem else ""


def _held(owner: Any, name: str) -> Any:
    """The value of an attribute, if to read it is all that happens."""
    kind = type(owner)
    if isinstance(owner, ModuleType):
        is_ours = owner.__name__.partition(".")[0] in _PURE_PACKAGES
        return getattr(owner, name, _UNKNOWN) if is_ours else vars(owner).get(name, _UNKNOWN)
    reading = inspect.getattr_static(kind, "__getattribute__")
    if kind in PLAIN or reading is not object.__getattribute__:
        return _UNKNOWN
    own = vars(owner) if hasattr(kind, "__dict__") and hasattr(owner, "__dict__") else {}
    found = inspect.getattr_static(kind, name, _UNKNOWN)
    if isinstance(found, FunctionType):
        return _UNKNOWN if name in own else MethodType(found, owner)
    return _UNKNOWN if hasattr(type(found), "__get__") else own.get(name, found)


def _asks_more_than_values(node: ast.AST) -> bool:
    """Return whether a comparison asks if two objects are one; None is one at all trips."""
    if not isinstance(node, ast.Compare):
        return False
    is_none = all(isinstance(one, ast.Constant) and one.value is None for one in node.comparators)
    by_identity = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
    return not is_none and any(isinstance(operator, by_identity) for operator in node.ops)


def _fills(known: Any, count: int) -> bool:
    """Return whether a function with so many arguments by position has one to write to."""
    if isinstance(known, np.ufunc):
        return count > known.nin
    try:
        return "out" in [*inspect.signature(known).parameters][:count]
    except ValueError:
        return count > 2 and getattr(known, "__module__", "") == "numpy"


def stored_by(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that statements assign."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def updated_by(node: ast.AST) -> Iterator[str]:
    """The names of what a node updates in place, if they are arrays."""
    target = node.target if isinstance(node, ast.AugAssign) else node
    if isinstance(target, ast.Subscript) and isinstance(target.ctx, ast.Store):
        target = target.value
    elif target is node:
        return
    if isinstance(target, ast.Name):
        yield target.id


def function_of(source: SourceFile, code: CodeType) -> ast.stmt | None:
    """The statement that defines the function of `code`."""
    return source.statement(source.defs.get(code.co_firstlineno, code.co_firstlineno))


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _first(problems: Iterable[str]) -> str:
    return next(filter(None, problems), "")


def _anything(text: str) -> str:
    return f"`{text}` may do anything"


def _package(value: Any) -> str:
    module = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
    return str(module).partition(".")[0]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).partition("\n")[0]
