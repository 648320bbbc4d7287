"""Arrays made of numbers that are being recorded, and arrays "like" a recorded one.

NumPy hands `np.array([a, b], like=x)` over where x is a Tensor; without `like` it wants the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array, is_recorded, require_layout, type_in_call
from tracejit.ops.base.forms import same_elements
from tracejit.ops.base.op import answer
from tracejit.ops.shapes.shapes import copies


def _plain(function: Callable[..., Any]) -> None:
    """Let `function` make a plain array, like any."""
    answer(function, lambda *args, **kwargs: function(*args, **kwargs))


for _function in (
    np.arange,
    np.empty,
    np.eye,
    np.fromfunction,
    np.identity,
    np.ones,
    np.tri,
    np.zeros,
):
    _plain(_function)


def _full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None
) -> Any:
    fill_value = as_array(fill_value)
    if not is_recorded(fill_value):
        return np.full(shape, fill_value, dtype, order)
    return np.full_like(fill_value, fill_value, dtype, order, shape=shape, device=device)


def _of_dtype(value: Any, dtype: Any) -> Any:
    """A Tensor or array of `value`, never a number."""
    value = as_array(value)
    value = np.copy(value) if type_in_call(value).form != "array" else value
    return value if dtype is None or value.dtype == np.dtype(dtype) else value.astype(dtype)


def _array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
) -> Any:
    made = _asarray(object, dtype, order, copy=copy)
    return np.reshape(made, (1,) * (ndmin - made.ndim) + made.shape) if ndmin > made.ndim else made


def _asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None
) -> Any:
    require_layout(order, device)
    made = _of_dtype(a, dtype)
    return np.copy(made) if made is a and copies(copy) else made


def _require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    for requirement in (requirements,) if isinstance(requirements, str) else requirements or ():
        if requirement.upper() not in ("C", "C_CONTIGUOUS", "CONTIGUOUS", "A", "ALIGNED", "E"):
            raise TypeError(f"the requirement {requirement!r} is not supported")
    made = _of_dtype(a, dtype)
    return made if not requirements else _ascontiguous(made)


contiguous = same_elements(
    name="ascontiguousarray",
    infer=lambda x: x,
    source="np.ascontiguousarray({0})",
    view_of=0,
    order="C",
)


def _ascontiguous(a: Any, dtype: Any = None) -> Any:
    return contiguous(np.atleast_1d(_of_dtype(a, dtype)))


answer(np.full, _full)
answer(np.array, _array)
answer(np.asarray, _asarray)
answer(np.asanyarray, _asarray)
answer(np.ascontiguousarray, _ascontiguous)
answer(np.require, _require)
