"""Namespaces of NumPy and SciPy, with replacements for functions that the library cannot dispatch.

NumPy hands its functions to a Tensor by its protocols. Functions of other libraries, and those of
NumPy that make an array of anything, know no such protocol: called by the name they have here,
they are recorded where a Tensor or a Variable is among their arguments.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Collection, Iterable
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.support.errors import fail
from tracejit.trace.source import places
from tracejit.trace.structure.trees import DEEPEST, MAPPINGS, SEQUENCES, flatten, keys_of
from tracejit.trace.tensor.selected import Selected

NUMPY: list[Callable[[Any], Any]] = []
"""Finders of what stands for a function of NumPy's, or None."""

_SEQUENCES = frozenset((*SEQUENCES, deque))
PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), np.ndarray, np.float64))
"""Types of arguments that are never recorded, nor hold what is."""


def recorded_argument(*args: Any) -> Any:
    """The first Tensor or Variable, or what a mask selects of one, among `args` and in their
    containers; None without."""
    if PLAIN.issuperset(map(type, args)):
        return None
    waiting: list[Iterable[Any]] = [args]
    for _ in range(DEEPEST):
        inside: list[Iterable[Any]] = []
        for value in chain.from_iterable(waiting):
            kind = type(value)
            if kind in PLAIN:
                continue
            if kind is Selected or hasattr(kind, "__tracejit_record__"):
                return value
            if hasattr(kind, "__tracejit_sparse__"):
                return value.operands[0]
            if kind in _SEQUENCES:
                inside.append(value)
            elif kind in MAPPINGS:
                inside.append(value.values())
            elif (keys := keys_of(value)) is not None:
                inside.append([getattr(value, key) for key in keys])
        if not inside:
            return None
        waiting = inside
    raise fail("too-deep", places.here(), deepest=DEEPEST)


def _is_data(arg: Any) -> bool:
    """Return whether a sequence stands for an array: a list or deque, or a tuple that holds one;
    others are sizes, axes and their like."""
    return type(arg) in (list, deque) or (type(arg) is tuple and _holds_array(arg))


def _holds_array(sequence: Any) -> bool:
    """Return whether a Tensor or a Variable that is no Python number is in a sequence."""
    recorded = [leaf for leaf in flatten(sequence)[0] if hasattr(type(leaf), "__tracejit_record__")]
    return any(leaf.type.form != "weak" for leaf in recorded)


def _is_named_data(name: str, arg: Any) -> bool:
    """The same of an argument that is given by name, where a list may be axes or sizes, too."""
    is_sequence = type(arg) is deque or (type(arg) in SEQUENCES and _holds_array(arg))
    return name != "out" and is_sequence


def recordable(
    function: Callable[..., Any], convert: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """`function`, its calls with a Tensor or a Variable recorded, or refused by name; `convert`
    makes arrays of lists, and of tuples that hold them."""

    shown = () if isinstance(function, type) else functools.WRAPPER_UPDATES

    @functools.wraps(function, updated=shown)
    def call(*args: Any, **kwargs: Any) -> Any:
        recorded = recorded_argument(*args, *kwargs.values())
        if recorded is None:
            return function(*args, **kwargs)
        if convert is not None:
            args = tuple(convert(arg) if _is_data(arg) else arg for arg in args)
            kwargs = {
                name: convert(arg) if _is_named_data(name, arg) else arg
                for name, arg in kwargs.items()
            }
        return recorded.__array_function__(function, (), args, kwargs)

    return call


RECORDABLE = recordable(print).__code__
"""The code of functions that `recordable` makes."""
_SHOWN = frozenset(("__name__", "__qualname__", "__doc__", "__signature__"))


class ListUfunc:
    """A ufunc of NumPy's that takes lists of Tensors, too, as its methods do.

    It is equal to the ufunc, an instance of np.ufunc, and has all its attributes: NumPy has no
    protocol for what is inside a list.
    """

    def __init__(self, ufunc: np.ufunc, convert: Callable[[Any], Any]) -> None:
        """`ufunc`, of whose arguments `convert` makes arrays of lists."""
        self._ufunc = ufunc
        self._convert = convert
        for name in dir(ufunc):
            if name[0] != "_" or name in _SHOWN:
                setattr(self, name, getattr(ufunc, name))
        for name in ("reduce", "accumulate", "reduceat", "outer", "at"):
            own = getattr(ufunc, name)
            method = functools.partial(self._at if name == "at" else self._call, own)
            setattr(self, name, functools.update_wrapper(method, own))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for arg in args:
            if type(arg) in _SEQUENCES:
                return self._call(self._ufunc, *args, **kwargs)
        return self._ufunc(*args, **kwargs)

    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The call of `function` with arrays in place of sequences that hold Tensors."""
        given = [
            self._convert(arg)
            if type(arg) in _SEQUENCES and recorded_argument(arg) is not None
            else arg
            for arg in args
        ]
        return function(*given, **kwargs)

    def _at(self, at: Callable[..., Any], a: Any, indices: Any, *b: Any) -> None:
        """The method `at`, for which a tuple is an index."""
        if type(indices) is tuple:
            self._call(lambda *given: at(a, indices, *given), *b)
        else:
            self._call(at, a, indices, *b)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """np.ufunc, for isinstance."""
        return np.ufunc

    def __eq__(self, other: object) -> bool:
        return self._ufunc == (other._ufunc if type(other) is ListUfunc else other)

    def __hash__(self) -> int:
        return hash(self._ufunc)

    def __repr__(self) -> str:
        return repr(self._ufunc)

    def __reduce__(self) -> Any:
        return ListUfunc, (self._ufunc, self._convert)


def namespace(
    library: ModuleType,
    wrapped: Callable[[Any], Any] | None = None,
    fresh: Collection[str] = (),
    known: dict[str, Any] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module that stands for `library`.

    What `wrapped` answers for an attribute, unless None, takes its place; functions are recordable.
    It is asked once, but for those in `fresh` each time. What is found is kept in `known`: in the
    dict of the module, Python finds it there the next time.
    """
    known = {} if known is None else known

    def attribute(name: str) -> Any:
        if name not in known:
            value = getattr(library, name)
            other = wrapped(value) if wrapped is not None else None
            if other is None and type(value) is FunctionType:
                other = recordable(value)
            if type(other) is FunctionType:
                other.__name__ = name
            found = value if other is None else other
            if name in fresh:
                return found
            known[name] = found
        return known[name]

    return attribute, lambda: dir(library)
