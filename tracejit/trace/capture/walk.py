"""The state of a walk over all that a function reaches, and the steps that every kind of object
shares: how what is met becomes conditions of a guard."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from tracejit.support.errors import fail
from tracejit.support.words import a
from tracejit.trace.capture.ambient import module_of
from tracejit.trace.capture.freezing import FrozenArrays
from tracejit.trace.guards.access_paths import ATTRIBUTE_IF_ANY, AccessPath
from tracejit.trace.guards.conditions import ConditionSet
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.guards.reads import LABELS, module_name
from tracejit.trace.structure.wrapped import is_of_dask, of_dask

LEAVES = 1000
COMPILERS = ("numba",)
"""Packages whose compiled functions keep what they have read when they were compiled."""

# What every object, class or module has: no data of the user's.
_OF_EVERY_OBJECT = {name for name in dir(type) if name.startswith("__")} | set(
    """__weakref__ __slots__ __builtins__ __loader__ __spec__ __cached__ __package__
    __path__""".split()
)


class Walk:
    """A walk from some functions and objects outward, with the guard that it writes."""

    def __init__(self, roots: Iterable[Any], limit: int | None = LEAVES) -> None:
        """Start at `roots`. Containers of more than `limit` elements in all are refused, or, where
        it is None, not walked.

        `arrays` are the arrays found, `labels` the names of Tensors and Variables, by id. `words`
        are the attributes that the code spells, `names` its globals, `modules` those that objects
        come from, `habits` what the code does that asks for more checks. `root` is the function
        that is first.
        """
        self.roots = list(roots)
        self.root = getattr(self.roots[0], "__func__", self.roots[0]) if self.roots else None
        self.limit = limit
        self.arrays: dict[int, tuple[str, np.ndarray]] = {}
        self.labels: dict[int, str] = {}
        self.words: set[str] = set()
        self.names: set[str] = set()
        self.modules: set[str] = set()
        self.habits: set[str] = set()
        self.frozen: FrozenArrays | None = None
        self.begin()

    def begin(self) -> None:
        """Forget what was found, but for the words and habits of the code."""
        self.arrays.clear()
        self.labels.clear()
        self.generators: dict[str, Any] = {}
        self.conditions = ConditionSet()
        self.add = self.conditions.add
        self.visited: dict[int, Any] = {}
        self.leaves = 0

    def visit(self, value: Any, place: AccessPath, name: str) -> None:
        """Add the guards of `value`, which is read again at `place`."""
        if place.step is not None:
            self.conditions.add_value(place, value)
        kind = type(value)
        if kind in ATOMS or issubclass(kind, np.generic):
            return
        if id(value) in self.visited:
            return
        self.visited[id(value)] = value
        if self.limit is not None and is_of_dask(kind):
            raise of_dask(value, f"the captured {name}", name, is_captured=True)
        self.modules.add(module_of(value))
        if kind is FunctionType:
            self.names.add(value.__name__)
        if module_name(kind).partition(".")[0] in COMPILERS:
            return
        self.inside(value, AccessPath(value), name)

    def visit_object(self, value: Any, name: str) -> None:
        """Add the guards of what is inside of an object that is known to be the same."""
        self.visit(value, AccessPath(value), name)

    def inside(self, value: Any, held: AccessPath, name: str) -> None:
        """Add the guards of what is inside of `value`, an object that stands at `held`."""
        raise NotImplementedError

    def count(self, elements: int, container: Any, name: str) -> bool:
        """Return whether a container is walked: refuse it where there is a limit."""
        self.leaves += elements
        if self.limit is None:
            return self.leaves <= LEAVES
        if self.leaves > self.limit:
            what = f"the captured container {name}"
            kind = f"{a(type(container).__name__)} of more than {LEAVES} elements"
            fix = "pass the part that you need as an argument."
            raise fail("not-an-array", None, what=what, kind=kind, fix=fix)
        return True

    def spelled(self, names: Collection[str]) -> set[str]:
        """Those of some attributes that the code reads."""
        if "look up" in self.habits:
            return {name for name in names if name not in _OF_EVERY_OBJECT}
        return self.words.intersection(names)

    def visit_labels(self, value: Any, held: AccessPath) -> None:
        """Visit the `LABELS` of a function or class, such as its name, that the code asks for."""
        for word in sorted(self.words & LABELS):
            self.visit(getattr(value, word, None), held.then(ATTRIBUTE_IF_ANY, word), word)
