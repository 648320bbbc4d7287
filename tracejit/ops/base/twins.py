"""Twins: objects used in place of SciPy's objects while something in them is recorded.

A twin is a dataclass of the arrays that an object of SciPy's holds, with the methods that are
recorded, written in NumPy. It is a container like any other: it may be an argument, a result, or
what a loop carries. For `isinstance` it is of SciPy's class. A call of the class with something
recorded is answered by a composite that makes a twin. An object that SciPy made is read as one
where a method of its is given something recorded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tracejit.ops.base.creation import as_array, cast, type_in_call
from tracejit.support.errors import TracejitError, fail

Kind = TypeVar("Kind", bound="type[Twin]")
TWINS: dict[type, type[Twin]] = {}
"""The twins, by the classes of SciPy's that they stand for."""


def as_doubles(x: Any) -> Any:
    """Numbers in double precision, as many classes of SciPy's have them."""
    x = as_array(x)
    kind = type_in_call(x)
    dtype = np.dtype(np.complex128 if kind.dtype.kind == "c" else np.float64)
    return x if kind.dtype == dtype and kind.form != "weak" else cast(x, dtype)


def unsupported(called: str, problem: str, fix: str) -> TracejitError:
    """The error for a call that is not recorded in this form."""
    return fail("unsupported-call", None, function=called, problem=problem, fix=fix)


def public_name(cls: type) -> str:
    """The name by which users import a class of SciPy's.

    >>> import scipy.interpolate
    >>> public_name(scipy.interpolate.PPoly)
    'scipy.interpolate.PPoly'
    """
    parts = [part for part in cls.__module__.split(".") if not part.startswith("_")]
    return ".".join([*parts, cls.__name__])


class Twin:
    """An object of SciPy's class `of`, whose arrays are recorded. `calls` are methods by whose
    returns an object is read beside its attributes."""

    of: Any = object
    calls: tuple[str, ...] = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """SciPy's class, for isinstance."""
        return self.of

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self.of, name):
            raise AttributeError(f"{self.of.__name__!r} object has no attribute {name!r}")
        fix = "compute it outside of the function, or write it in NumPy."
        raise unsupported(f"{public_name(self.of)}.{name}", "its arrays are recorded", fix)

    @classmethod
    def attributes(cls, made: Any) -> list[str]:
        """The attributes of an object of SciPy's that hold the fields; versions differ in which are
        hidden behind properties."""
        names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        return [f"_{name}" if hasattr(made, f"_{name}") else name for name in names]

    @classmethod
    def reading(cls, *values: Any) -> Any:
        """The twin of an object whose attributes have these values."""
        return cls(*values)

    def renewed(self, **changes: Any) -> Any:
        """The same with other arrays."""
        kind: Any = type(self)
        held = {name: getattr(self, name) for name in kind.__dataclass_fields__}
        return kind(**(held | changes))


def twin(of: type, *read: type) -> Callable[[Kind], Kind]:
    """Let a class stand for this one of SciPy's, and for objects of others that are read alike."""

    def declare(cls: Kind) -> Kind:
        cls.of = of
        TWINS.update(dict.fromkeys((of, *read), cls))
        return cls

    return declare
