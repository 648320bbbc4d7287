"""Names that code reads: globals, attributes and modules that its instructions spell."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.trace.source.bytecode import instructions
from tracejit.trace.source.files import is_installed_file
from tracejit.trace.source.places import PACKAGE

# What tests are run by stands in the way of an `assert`, and is not what the function reads.
TESTERS = frozenset(("_pytest", "pytest", "pluggy", "hypothesis"))
# Their objects are read by what they keep, not by their code.
LIBRARIES = frozenset(("pandas", "xarray", "sklearn"))
TOOLS = TESTERS | LIBRARIES | {"scipy"}
LOOKUPS = frozenset(("getattr", "hasattr", "vars", "attrgetter", "__dict__"))
MISSES = LOOKUPS | {"dir", "AttributeError"}
NAMESPACES = frozenset(("globals", "eval", "exec"))
ENVIRONMENT = frozenset(("environ", "environb", "getenv", "getenvb"))
MAKERS = frozenset(("type", "__class__"))
TAKERS = frozenset(("watch", "gradients", "ForwardAccumulator"))
ATTRIBUTE_TESTS = frozenset(("hasattr", "getattr"))
IDENTITY_TESTS = frozenset(("is_", "is_not"))
SHOWERS = frozenset(("str", "repr", "format", "ascii", "__str__", "__repr__", "__format__"))
# What is read of functions and classes beside what they are for.
LABELS = frozenset(
    ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__annotate__")
)
_SHOWING = frozenset(
    ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE", "BUILD_STRING")
)
CLOSURE = "closure "  # before the names of variables of a closure
_ATTRIBUTES = frozenset(
    "LOAD_ATTR LOAD_METHOD LOAD_SUPER_ATTR IMPORT_FROM STORE_ATTR DELETE_ATTR".split()
)
_CONSTANTS = ("LOAD_CONST", "LOAD_COMMON_CONSTANT")
# What functions are in a class as; a function itself may be one, too.
METHODS = (
    property,
    staticmethod,
    classmethod,
    functools.cached_property,
    functools.singledispatchmethod,
)
# Foreign classes whose methods leave all to those of the subclass.
_ABSTRACT = frozenset(("builtins", "typing", "abc", "collections.abc", "enum"))
_STDLIB = str(Path(os.__file__).parent)
_FOREIGN = (
    PACKAGE,
    str(Path(np.__file__).parent) + os.sep,
    _STDLIB,
    "<frozen ",
)


class Reads(NamedTuple):
    """The reads of code: names of globals, of attributes, and of modules that it imports, each with
    the number of dots in front. `shows` says that it makes text of objects, `matches` that it takes
    them apart by patterns, `asks_type` that it calls `type`, or asks a local variable for an
    attribute by name: but of self. `compared` are the names and attributes that follow on `is`,
    None among them for an expression without such a name."""

    names: frozenset[str]
    attributes: frozenset[str]
    modules: frozenset[tuple[str, int]]
    shows: bool
    matches: bool
    asks_type: bool
    compared: frozenset[tuple[str, ...] | None]

    def uses(self, words: frozenset[str]) -> bool:
        """Return whether one of these words is read, as a global name or an attribute."""
        return not (words.isdisjoint(self.names) and words.isdisjoint(self.attributes))


@functools.lru_cache(4096)
def reads_of(code: CodeType) -> Reads:
    """The reads of `code` and of the functions inside it."""
    names: set[str] = set()
    attributes: set[str] = set()
    modules: set[tuple[str, int]] = set()
    compared: set[tuple[str, ...] | None] = set()
    shows = matches = asks_type = False
    before: list[Any] = [None, None]
    last: tuple[str, ...] | None = None
    for instruction in instructions(code):
        name, value = instruction.opname, instruction.argval
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
            names.add(value)
        elif name in _ATTRIBUTES:
            attributes.add(value)
        elif name == "IMPORT_NAME":
            modules |= {(value, before[-2] or 0), (value.partition(".")[0], before[-2] or 0)}
        elif name == "MATCH_CLASS":
            matches = True
            attributes.update(before[-1] or ())
        pair = before[-1] if isinstance(before[-1], tuple) else before
        if name == "IS_OP" and last != () and pair[0] != "self":  # which is no array
            compared.add(last)
        last = _spelled(name, value, last)
        shows |= name in _SHOWING or (name.startswith("BINARY_") and "%" in instruction.argrepr)
        first = value[0] if isinstance(value, tuple) and value else value
        if name.startswith("LOAD_") and first != "self":
            asks_type |= before[-1] == "type"
            asks_type |= before[-1] in ATTRIBUTE_TESTS and name.startswith(
                ("LOAD_FAST", "LOAD_DEREF")
            )
        before = [before[-1], value]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = reads_of(constant)
            names |= inner.names
            attributes |= inner.attributes
            modules |= inner.modules
            shows |= inner.shows
            matches |= inner.matches
            asks_type |= inner.asks_type
            compared |= inner.compared
    # What a cell of this very code holds is a local variable.
    own = {CLOSURE + cell for cell in code.co_cellvars}
    compared = {None if path is not None and path[0] in own else path for path in compared}
    found = frozenset(names), frozenset(attributes), frozenset(modules)
    reads = Reads(*found, shows, matches, asks_type, frozenset(compared))
    if "id" in names or reads.uses(IDENTITY_TESTS):
        reads = reads._replace(compared=reads.compared | {None})
    return reads._replace(shows=shows or reads.uses(SHOWERS))


def _spelled(
    instruction: str, value: Any, before: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """The name and attributes that reach what an instruction loads; empty for a constant, None for
    what has none. `before` is that of the instruction before."""
    if instruction in ("LOAD_GLOBAL", "LOAD_NAME"):
        return (value,)
    if instruction == "LOAD_DEREF":
        return (CLOSURE + value,)
    if value == "__class__":
        return ()
    if instruction in ("LOAD_ATTR", "LOAD_METHOD") and before:
        return (*before, value)
    return () if instruction.startswith(_CONSTANTS) else None


def value_of(path: tuple[str, ...] | None, names: Mapping[str, Any]) -> Any:
    """The object that this name and its attributes lead to. Only classes and modules are looked
    into. None if the object is not known."""
    if path is None:
        return None
    value = names.get(path[0])
    for word in path[1:]:
        value = vars(value).get(word) if isinstance(value, (type, ModuleType)) else None
    return value


def module_names(reads: Reads, package: str) -> list[str]:
    """The full names of the modules that code of a module in `package` imports."""
    found = []
    for name, level in sorted(reads.modules):
        if not level:
            found.append(name)
        elif package:
            found.append(importlib.util.resolve_name("." * level + name, package))
    return found


def is_foreign(filename: str) -> bool:
    """Return whether code in this file is never read for names: tracejit, NumPy and the standard
    library."""
    return filename.startswith(_FOREIGN[:2]) or (
        filename.startswith(_FOREIGN) and not is_installed_file(filename)
    )


def is_installed(function: FunctionType) -> bool:
    """Return whether a function comes from an installed package, whose code stays as it is."""
    return is_installed_file(function.__code__.co_filename)


def is_installed_class(cls: type) -> bool:
    """Return whether a class comes from an installed package."""
    module = sys.modules.get(cls.__module__)
    return is_installed_file(getattr(module, "__file__", None) or "")


def is_foreign_module(name: str) -> bool:
    """Return whether code of a module is never read; one without a file is the user's, unless
    Python comes with it."""
    if name.partition(".")[0] in TOOLS:
        return True
    filename = getattr(sys.modules.get(name), "__file__", None)
    return is_foreign(filename) if filename else name in sys.stdlib_module_names


def module_name(thing: Any) -> str:
    """The name of the module that a class or function says it is from; some of those written in C
    say something else there."""
    name = thing.__module__
    return name if isinstance(name, str) else "builtins"


def is_tool(function: Any) -> bool:
    """Return whether a function is a library's, whose names nobody rebinds."""
    if not isinstance(function, FunctionType):
        return False
    module = function.__globals__.get("__name__", "")
    return is_foreign(function.__code__.co_filename) or module.partition(".")[0] in TOOLS


def keeps_elements(cls: type) -> bool:
    """Return whether objects of a foreign class (UserDict, ChainMap) are containers, which keep in
    attributes what is read by index."""
    if module_name(cls) in _ABSTRACT or not is_foreign_module(module_name(cls)):
        return False
    return "__getitem__" in vars(cls) or "__iter__" in vars(cls)


def answers_once(cls: type) -> bool:
    """Return whether objects of a foreign class answer something else each time, unforeseeably:
    iterators, generators, files, queues."""
    methods = ("__next__", "get_nowait", "recv")
    return any(hasattr(cls, name) for name in methods) and is_foreign_module(module_name(cls))


def functions_in(method: Any) -> list[Any]:
    """The functions that one of METHODS is made of."""
    parts = ("fget", "fset", "func", "__func__", "dispatcher")
    found = [getattr(method, part, None) for part in parts]
    return [function for function in found if function is not None]
