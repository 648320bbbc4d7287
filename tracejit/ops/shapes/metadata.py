"""Functions that need only shapes and dtypes; those that need numbers are refused."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tracejit.ir.types import PYTHON_TYPES
from tracejit.ops.base.creation import is_recorded, type_in_call
from tracejit.ops.base.op import answer

# Dtypes


def _specimen(value: Any) -> Any:
    """A stand-in that promotes as `value` does: a dtype, or a Python number."""
    if not is_recorded(value):
        return value
    dtype = value.type.dtype
    return PYTHON_TYPES[dtype.kind](0) if value.type.form == "weak" else dtype


def _can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_specimen(from_), _specimen(to), casting)


def _common_type(*arrays: Any) -> Any:
    return np.common_type(*[np.empty(0, type_in_call(array).dtype) for array in arrays])


def _min_scalar_type(a: Any, /) -> np.dtype[Any]:
    if not np.ndim(a):
        raise TypeError("the smallest dtype that holds a number depends on the number")
    return type_in_call(a).dtype


answer(np.result_type, lambda *arrays: np.result_type(*map(_specimen, arrays)))
answer(np.can_cast, _can_cast)
answer(np.common_type, _common_type)
answer(np.min_scalar_type, _min_scalar_type)


# What needs the numbers, or the memory


def _refused(*functions: Any, reason: str) -> None:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(reason)

    for function in functions:
        answer(function, refuse)


_refused(
    np.may_share_memory,
    np.shares_memory,
    reason="the compiler decides later which arrays of the generated code share memory",
)
_refused(
    np.array2string,
    np.array_repr,
    np.array_str,
    reason="the text of an array needs its numbers; make it in a tj.callback, which has them",
)
_refused(
    np.asarray_chkfinite,
    reason="the test needs the numbers; use np.isfinite",
)
