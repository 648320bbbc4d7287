"""Exact keys: what tells a value from those that Python calls equal to it.

`frozenset([1]) == frozenset([True])`, `Decimal("1") == Decimal("1.0")` and `0.0 == -0.0`, and a
function may answer differently for each. Two values have equal exact keys only where they are of
one class and of the same bits, at any depth, elements and keys in one order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinMethodType, MemberDescriptorType, MethodType, MethodWrapperType
from typing import Any

import numpy as np

from tracejit.trace.guards.reads import is_foreign_module, module_name

ATOMS = (bool, int, float, complex, str, bytes, type(None))
# Equality of values of these classes is of bits as well.
_PLAIN = (bool, int, str, bytes, type(None))
# How classes of Python's own give what they hold, whatever a subclass makes of it.
_CONTENTS: dict[type, Callable[[Any], Any]] = {
    tuple: tuple.__iter__,
    list: list.__iter__,
    frozenset: frozenset.__iter__,
    set: set.__iter__,
    deque: deque.__iter__,
    dict: lambda value: (part for pair in dict.items(value) for part in pair),
    str: lambda value: iter((str.__getitem__(value, slice(None)),)),
    bytes: lambda value: iter((bytes.__getitem__(value, slice(None)),)),
    int: lambda value: iter((int.__index__(value),)),
    float: lambda value: iter((float.__repr__(value),)),
    complex: lambda value: iter((complex.__repr__(value),)),
}


class Itself:
    """An object that nothing but itself is the same as."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        """Hold `value`."""
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]


def is_plain(value: Any) -> bool:
    """Return whether a value is equal to no other value of its class.

    >>> is_plain(1), is_plain(1.0), is_plain((1,))
    (True, False, False)
    """
    return type(value) in _PLAIN


def kinds(values: Iterable[Any]) -> list[type]:
    """The classes of values in order, which tell plain ones from those that are equal."""
    return list(map(type, values))


def exact(values: Iterable[Any]) -> list[Any]:
    """The exact keys of values in order.

    >>> exact([1, "a"]) == exact([True, "a"]), exact([0.0]) == exact([-0.0])
    (False, False)
    """
    return list(map(exact_key, values))


def exact_key(value: Any) -> Any:
    """A key that is equal for two values only if they are the same, to the bit and at any depth.
    Objects whose class leaves equality to Python, and arrays, are the same as themselves alone.

    >>> exact_key(frozenset([1])) == exact_key(frozenset([True]))
    False
    >>> exact_key((1, (2.5, float("nan")))) == exact_key((1, (2.5, float("nan"))))
    True
    """
    return _key(value, {})


def _key(value: Any, met: dict[int, tuple[int, Any]]) -> Any:
    """The exact key of a value inside of those that were `met`, each by id with its number."""
    kind = type(value)
    if kind in (str, bytes):
        return value
    if kind in _PLAIN:
        return kind, value
    if kind in (float, complex, np.longdouble, np.clongdouble):  # the latter have idle bits
        return kind, repr(value)
    if issubclass(kind, np.generic):
        return kind, value.dtype.str, value.tobytes()
    if isinstance(value, (MethodType, BuiltinMethodType, MethodWrapperType)):
        return (
            kind,
            Itself(value.__self__),
            value.__name__,
            Itself(getattr(value, "__func__", None)),
        )
    if isinstance(value, (np.ndarray, type)) or not is_own(kind, "__eq__"):
        return Itself(value)
    if id(value) in met:
        return "again", met[id(value)][0]
    met[id(value)] = len(met), value
    try:
        parts = [_key(part, met) for part in _parts(value)]
    except Exception:  # a class whose objects do not say what they are made of
        return Itself(value)
    return kind, parts


def _parts(value: Any) -> Iterator[Any]:
    """The parts of an object: the contents that its built-in base class gives it, what it is
    pickled as, and its attributes."""
    kind = type(value)
    known = next((cls for cls in kind.__mro__ if cls in _CONTENTS), None)
    if known is not None:
        yield from _CONTENTS[known](value)
    if kind is known:
        return
    says = is_own(kind, "__reduce__") or is_own(kind, "__reduce_ex__")
    if says:
        for part in value.__reduce_ex__(4):
            yield list(part) if isinstance(part, Iterator) else part
    if not says or not is_foreign_module(
        module_name(kind)
    ):  # the user's own may leave something out
        for name, part in attributes_of(value).items():
            yield name
            yield part


def is_own(kind: type, method: str) -> bool:
    """Return whether a class defines a method itself that every object has."""
    return getattr(kind, method) is not getattr(object, method)


def has_looser_equality(value: Any) -> bool:
    """Return whether the class of a value may call others equal that are not the same."""
    return not is_plain(value) and is_own(type(value), "__eq__")


def is_exactly(value: Any, other: Any) -> bool:
    """Return whether two values are the same, to the bit and at any depth."""
    return bool(exact_key(value) == exact_key(other))


def attributes_of(value: Any) -> dict[str, Any]:
    """The values in the attributes and slots of an object, by name."""
    slots = (
        word
        for cls in type(value).__mro__
        for word, member in vars(cls).items()
        if isinstance(member, MemberDescriptorType) and hasattr(value, word)
    )
    return {**getattr(value, "__dict__", {}), **{word: getattr(value, word) for word in slots}}


def is_normal(number: float) -> bool:
    """Return whether only a float of the same bits is equal to it: neither zero nor nan."""
    return number != 0 and number == number
