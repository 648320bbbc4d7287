"""assert_type for programs that are both checked and run: a type checker compares the types that it
infers, and the run compares the values with them."""

# pyright: basic

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import assert_type as assert_type
else:

    def assert_type(value: Any, kind: Any) -> Any:
        """`value`, which is of this kind."""
        assert holds(value, kind), f"{value!r} is not of {kind}"
        return value


def holds(value: Any, kind: Any) -> bool:
    """Return whether a value is of a type, and what it contains of the types inside."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return True
    if hasattr(origin, "__value__"):  # NDArray, from NumPy 2.5 on
        return holds(value, origin.__value__[args])
    if kind is None:
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(holds(value, one) for one in args)
    if origin is np.ndarray:
        shape, dtype = args
        wanted = typing.get_args(dtype)[0] if typing.get_args(dtype) else Any
        sizes = typing.get_args(getattr(shape, "__value__", shape))
        fits = shape is Any or Ellipsis in sizes or len(sizes) == np.ndim(value)
        return type(value) is np.ndarray and fits and (wanted is Any or value.dtype == wanted)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return type(value) is tuple and all(holds(one, args[0]) for one in value)
        return len(value) == len(args) and all(map(holds, value, args))
    if origin is list:
        return type(value) is list and all(holds(one, args[0]) for one in value)
    if origin is dict:
        keys, values = args
        return all(holds(k, keys) and holds(v, values) for k, v in value.items())
    if origin is not None:
        return callable(value)
    return issubclass(type(value), kind)
