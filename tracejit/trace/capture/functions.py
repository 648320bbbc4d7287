"""The walk over functions: the globals and modules that their code names, closures and defaults,
and what a cache of answers holds."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import BuiltinMethodType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from tracejit.support.codes import code_of
from tracejit.trace.capture.walk import Walk
from tracejit.trace.guards.access_paths import CELL, GLOBAL, MODULE, AccessPath
from tracejit.trace.guards.contents import CacheSnapshot
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.guards.guards import Equal, Is, Length, Remembers, Unbound
from tracejit.trace.guards.reads import (
    CLOSURE,
    ENVIRONMENT,
    LOOKUPS,
    MAKERS,
    MISSES,
    NAMESPACES,
    TAKERS,
    Reads,
    is_foreign_module,
    is_installed,
    is_tool,
    module_names,
    reads_of,
    value_of,
)
from tracejit.trace.structure.draws import is_random


def visit_function(walk: Walk, function: FunctionType) -> None:
    """Visit a function: its code, attributes, defaults, closure variables and globals."""
    wrapped = vars(function).get("__wrapped__")
    held = AccessPath(function)
    if wrapped is not None:
        walk.visit_object(wrapped, "function")
    if isinstance(vars(function).get("registry"), MappingProxyType):  # of singledispatch
        walk.visit_object(vars(function)["registry"], "function")
    if is_tool(function) and (wrapped is None or is_tool(wrapped)):
        return
    for word in sorted(walk.spelled(vars(function))):
        walk.visit(vars(function)[word], held.own(word), word)
    walk.visit_labels(function, held)
    if not is_installed(function):
        walk.add(held.attribute("__code__"), Is(code_of(function)))
        if "miss" in walk.habits:
            walk.add(held.attribute("__dict__"), Length(len(vars(function)), "attributes"))
    _visit_defaults(walk, function, held)
    _visit_globals(walk, function, reads_of(code_of(function)))
    free = code_of(function).co_freevars
    for word, cell in zip(free, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # the variable is bound later, or not at all
            walk.add(AccessPath(cell), Unbound())
            continue
        walk.visit(value, AccessPath(cell).then(CELL, word), word)


def _visit_globals(walk: Walk, function: FunctionType, reads: Reads) -> None:
    """The names that the code of a function reads, and the modules that it imports."""
    space = function.__globals__
    walk.words |= reads.attributes
    walk.names |= reads.names
    installed = is_installed(function)
    known = {**vars(builtins), **space, **_closure_of(function)} if reads.compared else {}
    asks = any(_is_recorded(path, known) for path in reads.compared)
    habits = {"take gradients": reads.uses(TAKERS), "ask identity": asks}
    if not installed:
        habits |= {
            "look up": reads.uses(LOOKUPS),
            "miss": reads.uses(MISSES),
            "show": reads.shows,
            "match": reads.matches,
            "make": reads.uses(MAKERS),
            "ask type": reads.asks_type,
        }
    walk.habits.update(habit for habit, has in habits.items() if has)
    held, names = AccessPath(space), reads.names & space.keys()
    for word in sorted(names):
        walk.visit(space[word], held.then(GLOBAL, word), word)
    if NAMESPACES & reads.names and not installed:
        before, walk.limit = (walk.limit, walk.leaves), None
        for word in sorted(word for word in space if word[:2] != "__" and word not in names):
            walk.visit(space[word], held.then(GLOBAL, word), word)
        walk.limit, walk.leaves = before
    absent = reads.names - names
    builtin = space.get("__builtins__", {})
    builtin = vars(builtin) if isinstance(builtin, ModuleType) else builtin
    for word in sorted(absent & builtin.keys()):
        if not isinstance(builtin[word], (BuiltinMethodType, type)):
            walk.visit(builtin[word], AccessPath(builtin).then(GLOBAL, word), word)
    if absent and not installed:
        walk.conditions.add_absent(held, absent)
    if reads.uses(ENVIRONMENT):
        environment = vars(os.environ)["_data"]
        walk.add(AccessPath(environment), Equal(dict(environment)))
    for name in module_names(reads, space.get("__package__") or ""):
        walk.modules.add(name)
        if not is_foreign_module(name):
            walk.visit(sys.modules.get(name), AccessPath(sys.modules).then(MODULE, name), name)


def _is_recorded(path: tuple[str, ...] | None, known: Mapping[str, Any]) -> bool:
    """Return whether a name and its attributes may stand for another object during recording."""
    value = value_of(path, known)
    is_array = value is None or isinstance(value, (np.ndarray, np.generic)) or is_random(value)
    return is_array or hasattr(type(value), "numpy_generator")


def _closure_of(function: FunctionType) -> dict[str, Any]:
    """The variables of its closure that are bound, as `Reads.compared` spells them."""
    cells = zip(code_of(function).co_freevars, function.__closure__ or (), strict=True)
    found = {}
    for word, cell in cells:
        with suppress(ValueError):
            found[CLOSURE + word] = cell.cell_contents
    return found


def _visit_defaults(walk: Walk, function: FunctionType, held: AccessPath) -> None:
    """The defaults of a helper; those of the function itself are arguments."""
    code, values = code_of(function), function.__defaults__
    if values is not None:
        walk.add(held.attribute("__defaults__"), Is(values))
    if function is walk.root:
        for name, value in (function.__kwdefaults__ or {}).items():
            walk.add(held.attribute("__kwdefaults__").item(name), Is(value))
        return
    names = code.co_varnames[code.co_argcount - len(values or ()) :]
    for name, value in zip(names, values or (), strict=False):
        walk.visit_object(value, name)
    if function.__kwdefaults__ is not None:
        walk.visit(function.__kwdefaults__, held.attribute("__kwdefaults__"), "default")


def visit_memory(walk: Walk, function: Any, held: AccessPath, name: str) -> None:
    """A function under lru_cache, and what it remembers: it answers that again."""
    walk.visit_object(function.__wrapped__, name)
    memory = CacheSnapshot(function)
    walk.add(held, Remembers(memory))
    for answer in memory.answers:
        if type(answer) not in ATOMS:
            walk.visit_object(answer, name)
