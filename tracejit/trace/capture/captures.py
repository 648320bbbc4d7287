"""Captured state: all that a function reads besides its arguments, and a guard against changes.

From the function, code reaches outward by name: globals and closure cells, the functions they
hold, attributes of objects and modules, elements of containers. `Captures` walks all that is
reachable by names that occur in the code, and writes one guard: numbers and strings by type and
value, other objects by identity, containers by length, keys and elements, arrays by identity and
contents, functions and classes by what they are made of. A guard that fails makes the function
record again, so a kernel is never stale.

A captured array that is an operand becomes a hidden argument of the kernel, read at each call,
and a view of it an operation on that (`views.py`).
What NumPy computes from a captured array before that is a constant of the kernel; the comparison
of contents protects it: of all elements, at the speed of memory. Arrays that nobody can write to
are not compared.

Attributes are those whose names the code spells; where it looks names up (`getattr`, `vars`), all
of them. What an iterator will answer nobody knows: a function that reaches one has kernels for one
call each. Not seen: what C code, modules and properties of foreign packages or the clock answer.
"""

from __future__ import annotations

import contextvars
import functools
import io
import operator
import re
import weakref
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import (
    BuiltinMethodType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from tracejit.trace.capture.ambient import ambient_states
from tracejit.trace.capture.classes import visit_class, visit_instance, visit_module
from tracejit.trace.capture.containers import visit_array, visit_buffer, visit_container
from tracejit.trace.capture.freezing import FrozenArrays
from tracejit.trace.capture.functions import visit_function, visit_memory
from tracejit.trace.capture.walk import LEAVES, Walk
from tracejit.trace.guards.access_paths import CALL, CONTEXT_VALUE, STATE, AccessPath
from tracejit.trace.guards.check import compiled
from tracejit.trace.guards.conditions import Guards
from tracejit.trace.guards.contents import is_buffer, memory_of
from tracejit.trace.guards.guards import Equal, Is, IsAlive, Never
from tracejit.trace.guards.reads import answers_once
from tracejit.trace.structure.draws import is_random, refusing_draws
from tracejit.trace.structure.sparse_products import is_sparse

CONTAINERS = (list, tuple, dict, set, frozenset, deque, MappingProxyType)
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
PARTIALS = (functools.partial, functools.partialmethod)
_MEMORY = type(functools.lru_cache(int))


class Captures(Walk):
    """Everything reachable from some functions and objects, as checks and captured arrays.

    No attribute is lent: nobody follows what code that is not converted does with it.
    """

    lent: Mapping[tuple[int, str], Any] = MappingProxyType({})
    attributes: Sequence[tuple[Any, str, Any]] = ()

    def __init__(
        self,
        roots: Iterable[Any],
        limit: int | None = LEAVES,
        compares: bool = True,
        freezes: bool = False,
    ) -> None:
        """Walk from `roots`: the function, the objects among its arguments, and the classes of
        containers among them. Containers of more than `limit` elements in all are refused, or,
        where it is None, not walked. Contents are copied only for a guard that `compares` them;
        where it `freezes`, arrays are made read-only instead, if they can be.
        """
        super().__init__(roots, limit)
        self._by_memory: dict[int, list[tuple[str, np.ndarray]]] | None = None
        self.frozen = FrozenArrays() if freezes else None
        before = None
        while before != (found := [*map(len, (self.words, self.habits))]):
            before = found
            self.begin()
            for root in self.roots:
                self.visit_object(root, "an argument")
        for state in ambient_states(self.names | self.words, self.modules, self.does("show")):
            self.add(AccessPath(state).then(STATE, state.label), Equal(state.read()))
        if compares:
            self.conditions.copy_contents()

    def holders(self) -> Iterable[Any]:
        """The objects that were found."""
        return self.visited.values()

    def assigned_names(self) -> Iterable[tuple[Any, str]]:
        """The single names that may have been assigned: a walk knows whole objects."""
        return ()

    def does(self, habit: str) -> bool:
        """Return whether code that is read may "ask type" (`type`, `hasattr`), "ask identity"
        (`is`, `id`), or "take gradients"."""
        return habit in self.habits

    def refusing_draws(self, function: str) -> AbstractContextManager[None]:
        """Raise UnsupportedError if meanwhile a random generator in reach was drawn from."""
        return refusing_draws(function, self.generators)

    def sources_of(self, array: np.ndarray) -> Sequence[tuple[str, np.ndarray]]:
        """The captured arrays, with their names, that `array` may be a view of: itself, or those
        in the same memory. Nothing where it shows no captured memory."""
        if id(array) in self.arrays:
            return (self.arrays[id(array)],)
        if self._by_memory is None:
            self._by_memory = {}
            for name, one in self.arrays.values():
                self._by_memory.setdefault(id(memory_of(one)), []).append((name, one))
        return self._by_memory.get(id(memory_of(array)), ())

    def guard(self) -> Guards | None:
        """One function that tells if everything is as it was; None where nothing was captured."""
        return compiled(self.conditions.all(), self.frozen)

    def is_unchanged(self) -> bool:
        """Return whether everything is as it was."""
        guard = self.guard()
        return guard is None or guard()

    def inside(self, value: Any, held: AccessPath, name: str) -> None:
        kind = type(value)
        if hasattr(kind, "__tracejit_record__"):
            self.labels[id(value)] = name
        elif issubclass(kind, np.ndarray):
            visit_array(self, value, held, name)
        elif is_random(value):
            self.generators[name] = value
        elif hasattr(kind, "numpy_generator"):
            self.generators[name] = value.numpy_generator
        elif kind is FunctionType:
            visit_function(self, value)
        elif kind is MethodType:
            for part in (value.__self__, value.__func__):
                self.visit_object(part, name)
        elif kind in (BuiltinMethodType, MethodWrapperType):
            if not isinstance(value.__self__, (ModuleType, type)):
                self.visit_object(value.__self__, name)
        elif isinstance(value, PARTIALS):
            for part in ("func", "args", "keywords"):
                self.visit(getattr(value, part), held.attribute(part), part)
        elif isinstance(value, (operator.attrgetter, operator.methodcaller)):
            self.words.update(re.findall(r"\w+", repr(value)))
        elif kind is _MEMORY:
            visit_memory(self, value, held, name)
        elif isinstance(value, weakref.ref):
            # The path begins at the reference: whatever is referred to may go.
            referent = value()
            self.add(held.then(CALL), Is(None) if referent is None else IsAlive())
            self.inside(referent, held.then(CALL), name)
        elif kind is contextvars.ContextVar:
            try:
                now = value.get()
            except LookupError:
                self.visit(None, held.then(CONTEXT_VALUE, (None,)), name)
            else:
                self.visit(now, held.then(CONTEXT_VALUE, ()), name)
        elif isinstance(value, CONTAINERS) and not is_sparse(kind):  # one of these is a dict
            visit_container(self, value, held, name)
            if kind not in CONTAINERS:
                visit_instance(self, value, held)
        elif kind in VIEWS:
            visit_container(self, value.mapping, AccessPath(value.mapping), name)
        elif kind is ModuleType:
            visit_module(self, value, held)
        elif isinstance(value, type):
            visit_class(self, value)
        elif is_buffer(value):
            visit_buffer(self, value, held, name)
        elif answers_once(kind):
            if not isinstance(value, io.IOBase) or value.readable():
                self.add(held, Never())
        else:
            visit_instance(self, value, held)
