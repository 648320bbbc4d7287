"""Instrumented code: a generated module compiled once more, with calls around its operations.

The text of a module is parsed, its functions are rewritten, and the result is compiled under the
same file name with the same lines: tracebacks and debuggers show the module as it was written. A
rewriting computes what the module computes, operation by operation, so it returns the same bits.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.debug import INSTRUMENTED

ENTRIES = ("forward", "backward", "value_and_grad")
IN_TURN = "in_turn"


class Instrumented:
    """The functions of a generated module, rewritten: `codes` by name.

    `rewrite` takes the definition of a function and the prefix that its new names have, and
    changes it. `hooks` are what the new code calls, by the rest of the name.
    """

    def __init__(
        self,
        module: ModuleType,
        rewrite: Callable[[ast.FunctionDef, str], None],
        hooks: Mapping[str, Any],
    ) -> None:
        """Rewrite and compile every function of `module` but the loop over tiles."""
        source: str = module.__source__
        self.module = module
        prefix = "_tj_"
        while prefix in source:
            prefix = f"_{prefix}"
        self.hooks = {f"{prefix}{name}": hook for name, hook in hooks.items()}
        tree = ast.parse(source)
        found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        for node in found:
            if node.name != IN_TURN:
                rewrite(node, prefix)
        tree.body = [*found]
        ast.fix_missing_locations(tree)
        compiled = compile(tree, str(module.__file__), "exec", dont_inherit=True)
        constants = (one for one in compiled.co_consts if isinstance(one, CodeType))
        self.codes = {code.co_name: code for code in constants}

    def copy(self) -> ModuleType:
        """The module with the new functions; it shares the constants of the old, and runs its
        tiles in turn."""
        module = self.module
        copied = ModuleType(module.__name__, module.__doc__)
        copied.__dict__.update(module.__dict__)
        copied.__dict__.update({**self.hooks, INSTRUMENTED: True})
        if "empty" in copied.__dict__:
            copied.__dict__.update(empty=np.empty)  # a buffer pool belongs to the plain kernel
        for name, code in self.codes.items():
            plain = own_function(module, name)
            defaults = None if plain is None else plain.__defaults__
            made = FunctionType(code, copied.__dict__, name, defaults)
            made.__doc__ = None if plain is None else plain.__doc__
            copied.__dict__[name] = made
        return copied


def own_function(module: ModuleType, name: str) -> FunctionType | None:
    """The function that the text of `module` defines; None if another has taken its place."""
    found = getattr(module, name, None)
    if isinstance(found, FunctionType) and found.__globals__ is module.__dict__:
        return found
    return None


def names_bound(function: ast.FunctionDef) -> set[str]:
    """The parameters and variables of a function."""
    stored = (n.id for n in ast.walk(function) if isinstance(n, ast.Name) and _is_stored(n))
    return {*(one.arg for one in function.args.args), *stored}


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def resolved(node: ast.expr, space: Mapping[str, Any], local: set[str]) -> Any:
    """The object that a name or attribute of a library stands for; None if it is a variable."""
    if isinstance(node, ast.Name):
        if node.id in local:
            return None
        return space.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        owner = resolved(node.value, space, local)
        return None if owner is None else getattr(owner, node.attr, None)
    return None


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The lists of statements inside a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        inside = getattr(statement, name, None)
        if inside:
            yield inside
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def loaded(name: str) -> ast.Name:
    """An expression that reads a variable."""
    return ast.Name(name, ast.Load())


def stored(name: str, value: ast.expr) -> ast.Assign:
    """The statement that binds a variable."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def called(name: str, *args: ast.expr) -> ast.Call:
    """The expression that calls a hook."""
    return ast.Call(loaded(name), list(args), [])


def tuple_of(elements: list[ast.expr]) -> ast.Tuple:
    """The expression of a tuple."""
    return ast.Tuple(elements, ast.Load())


def at_line_of(nodes: list[ast.stmt], line: ast.stmt) -> list[ast.stmt]:
    """`nodes`, which stand at the line of another statement."""
    for node in nodes:
        ast.copy_location(node, line)
        ast.fix_missing_locations(node)
    return nodes
