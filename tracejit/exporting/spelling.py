"""The text of names and values in a checked call.

A parameter of the user's may be called what the text reads, `type` or `ndarray`: then the module
has another name for that. What has no text is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from tracejit.support.errors import TracejitError, fail
from tracejit.support.words import a, attribute, is_name
from tracejit.trace.arguments.signature import Leaf
from tracejit.trace.guards.descriptions import described
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.source import places
from tracejit.trace.structure.trees import MAPPINGS, SEQUENCES, Structure


class Names:
    """The names that the checked call of `function` reads, none of which is one of the
    `parameters`: `imports` as {name: module}, and `aliases` of names that are taken."""

    def __init__(self, function: str, parameters: Iterable[str]) -> None:
        """Begin with no name read."""
        self.function = function
        self.taken = {*parameters}
        self.imports: dict[str, str] = {}
        self.aliases: dict[str, str] = {}

    def refused(self, problem: str, fix: str) -> TracejitError:
        """The error for what has no text."""
        return cannot_export(self.function, problem, fix)

    def free(self, word: str) -> str:
        """A name for a local variable, which is not a parameter."""
        while word in self.taken:
            word += "_"
        return word

    def known(self, word: str, origin: str = "") -> str:
        """The name by which `call` reads a name of the module, of Python, or of a library."""
        if origin:
            self.imports[word] = origin
        return self.aliases.setdefault(word, self.free(word))

    def key(self, key: Any) -> str:
        """The text of a key of a container, or of a function in a path."""
        if key is getattr:
            return self.known("getattr")
        if is_atom(key):
            return self.spelled(key)
        if type(key) is tuple and all(map(is_atom, key)):
            return f"({''.join(f'{self.spelled(one)}, ' for one in key)})"
        raise self.refused(
            f"the key {described(key)} of a container has no text",
            "use strings or numbers as keys.",
        )

    def spelled(self, value: Any) -> str:
        """The text of a number or constant of Python's, or of a NumPy scalar."""
        if isinstance(value, np.generic):
            return self._scalar(value)
        if type(value) is complex:
            parts = f"{self.spelled(value.real)}, {self.spelled(value.imag)}"
            return f"{self.known('complex')}({parts})"
        if type(value) is float and not math.isfinite(value):
            return f"{self.known('float')}({repr(value)!r})"
        return self.known(repr(value)) if value is Ellipsis else repr(value)

    def _scalar(self, value: Any) -> str:
        """The text of a NumPy scalar."""
        item, kind = value.item(), value.dtype.kind
        if kind in "mM":
            unit = value.dtype.str.partition("[")[2][:-1]
            words = repr(str(value)) if kind == "M" else repr(int(value.astype(np.int64)))
            text = f"{words}, {unit!r}" if unit else words
        elif isinstance(value, np.longdouble):
            text = repr(str(value))
        elif is_atom(item):
            text = self.spelled(item)
        else:
            raise self.refused(
                f"it holds {a(type(value).__name__)}, {value}, which has no text",
                "pass it as an argument, or convert it.",
            )
        return f"{self.known(scalar_name(value.dtype), 'numpy')}({text})"


def cannot_export(function: str, problem: str, fix: str) -> TracejitError:
    """The error for what no module of NumPy alone can hold."""
    return fail("export", places.here(), function=function, problem=problem, fix=fix)


def is_atom(value: Any) -> bool:
    """Return whether it is a number, a text or a constant of Python's."""
    return type(value) in ATOMS or value is Ellipsis


def numpy_name(value: Any) -> str | None:
    """The name that a function or class of NumPy is imported by; None of anything else."""
    if not isinstance(value, (np.ufunc, FunctionType, BuiltinFunctionType, type)) and not callable(
        value
    ):
        return None
    name = getattr(value, "__name__", None)
    if type(name) is not str or not is_name(name) or vars(np).get(name) is not value:
        return None
    return name


def scalar_name(dtype: np.dtype[Any]) -> str:
    """The name in numpy of the scalars of a dtype.

    >>> scalar_name(np.dtype("f4")), scalar_name(np.dtype(bool))
    ('float32', 'bool_')
    """
    name = dtype.type.__name__
    return "bool_" if name == "bool" else name


def has_text(leaf: Leaf) -> bool:
    """Return whether `call` can take an argument: it is handed on, or can be compared."""
    if leaf.role == "variable":
        return False
    if leaf.role != "static" or is_atom(leaf.value) or isinstance(leaf.value, np.dtype):
        return True
    return numpy_name(leaf.value) is not None


def inside(structure: Structure, text: str, key: Any, names: Names) -> str:
    """The text of what stands under `key` in a container."""
    if structure.cls in (*MAPPINGS, *SEQUENCES):
        return f"{text}[{names.key(key)}]"
    return attribute(text, key, names.key)
