"""Arrays made like another: constants.

A constant is recorded without operands, so that nothing is kept alive for the sake of its shape.
What NumPy leaves uninitialised (`np.empty_like`) is zero here.

`as_array` and `known` are how every area reads an argument that need not be a Tensor.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.dims import estimated, spelled, whole
from tracejit.ir.types import ArrayType, Shape, type_of
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, spread
from tracejit.ops.base.infer import broadcast_shapes
from tracejit.ops.base.op import Op, answer, defop, literal


def is_recorded(value: Any) -> bool:
    """Return whether `value` is a Tensor."""
    return hasattr(type(value), "__tracejit_record__")


def type_in_call(value: Any) -> ArrayType:
    """The type of a Tensor, array or number that stands in a call."""
    kind = value.type if is_recorded(value) else type_of(value)
    return kind if kind is not None else ArrayType((), np.dtype(object))


def as_array(value: Any) -> Any:
    """A Tensor, array or number as it is; a list as an array, stacked where it holds Tensors."""
    if is_recorded(value) or type_of(value) is not None:
        return value
    if _holds_recorded(value):
        return np.stack([as_array(entry) for entry in value])
    read = getattr(type(value), "__tracejit_read__", None)
    return np.asarray(value) if read is None else read(value)


def _holds_recorded(value: Any) -> bool:
    if isinstance(value, (list, tuple, deque)):
        return any(map(_holds_recorded, value))
    return is_recorded(value)


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Tensor, array or number cast to a dtype."""
    if is_recorded(value) and value.type.form == "weak":
        return np.multiply(value, dtype.type(1))
    return value.astype(dtype) if hasattr(value, "astype") else dtype.type(value)


def settled(value: Any) -> Any:
    """A Tensor of integers or booleans that has its numbers as a plain array: no gradient is lost
    with it. Anything else as it is."""
    data = getattr(type(value), "__tracejit_data__", None)
    return value if data is None else data(value)


def known(value: Any, name: str) -> Any:
    """The argument `name` as NumPy takes it; array data that is being recorded is refused."""
    value = settled(value)
    if not is_recorded(value):
        return value
    if value.type.form == "weak":
        return operator.index(value)
    numbers = followed(value)
    if numbers is not None:
        return numbers
    raise TypeError(f"the shape of the result depends on {name}, whose values are not known yet")


def is_routed(value: Any) -> bool:
    """Return whether a value is a Tensor of a recording in which calls are routed."""
    return bool(getattr(getattr(value, "_recording", None), "is_routed", False))


def followed(value: Any) -> Any:
    """The numbers of an array of integers or booleans by which Python goes from here, so that what
    follows is recorded for these alone; None if nothing may go by them."""
    if is_recorded(value):
        return value._recording.followed(value) if is_routed(value) else None
    return np.asarray(value)


def with_room(x: Any) -> Any:
    """`x`, of float16 in float32: a number of elements, or a product of many, may leave float16."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def size_of(size: Any) -> Any:
    """A size as it is, if it is an integer; for NumPy, True is none."""
    if isinstance(size, bool):
        raise TypeError("an integer is required")
    return whole(size)


def shape_of(shape: Any) -> Shape:
    """A shape given as a number, a sequence or an array."""
    if (is_recorded(shape) or isinstance(shape, np.ndarray)) and shape.ndim == 1:
        shape = known(shape, "shape").tolist()
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(size_of(size) for size in sizes)


def require_layout(order: Any, device: Any = None) -> None:
    """Refuse what says where an array lies in memory, unless it is where results lie anyway."""
    if order not in ("C", "K", None):
        raise TypeError(f"order={order!r} is not supported")
    if device not in ("cpu", None):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')


_ZEROS_AND_ONES = {
    str(kind(number)): number for kind in (bool, int, float, complex) for number in (0, 1)
}


def plain_number(value: Any) -> Any:
    """A number as a Python number; zero and one as 0 and 1, but for the sign of -0.0."""
    number = np.asarray(value).item()
    return _ZEROS_AND_ONES.get(str(number), number)


def filled(shape: Shape, fill: Any, dtype: np.dtype[Any]) -> str:
    """Source of an array full of one number: np.zeros((3, 4)), np.full(3, 2.0, np.float32)."""
    sizes = shape[0] if len(shape) == 1 else shape
    if type(fill) is int and fill in (0, 1):
        text = f"{'np.ones' if fill else 'np.zeros'}({spelled(sizes)}"
        return text + (")" if dtype == np.float64 else f", {literal(dtype)})")
    if dtype.kind == "f" and type(fill) is int:
        fill = float(fill)
    text = f"np.full({spelled(sizes)}, {_number(fill)}"
    return text + (")" if np.asarray(fill).dtype == dtype else f", {literal(dtype)})")


def _number(number: Any) -> str:
    """A Python number as source, nan and inf included."""
    if isinstance(number, complex) and not cmath.isfinite(number):
        return f"complex({_number(number.real)}, {_number(number.imag)})"
    if isinstance(number, float) and not math.isfinite(number):
        return "np.nan" if math.isnan(number) else "np.inf" if number > 0 else "-np.inf"
    return literal(number)


full = defop(
    name="full",
    infer=lambda shape, fill, dtype: ArrayType(shape, dtype),
    vjp=(),
    source=lambda types, shape, fill, dtype: filled(shape, fill, dtype),
    cost=lambda shape, fill, dtype: estimated(shape),
    order="C",
    axes=axes.made,
)


def _full_of_type(fill: ArrayType, shape: Shape, dtype: np.dtype[Any]) -> ArrayType:
    if broadcast_shapes(fill.shape, shape) != shape:
        raise ValueError(f"shape {fill.shape} cannot be broadcast to {shape}")
    return ArrayType(shape, dtype)


def _full_of_source(types: Sequence[ArrayType], shape: Shape, dtype: np.dtype[Any]) -> str:
    sizes = spelled(shape[0] if len(shape) == 1 else shape)
    return f"np.full({sizes}, {{0}}" + (")" if types[0].dtype == dtype else ", dtype={dtype})")


def _full_of_batch(moved: Moved, fill: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    return full_of(spread(fill, True, len(shape)), shape=(fill.shape[0], *shape), dtype=dtype)


full_of: Op = defop(
    name="full_of",
    infer=_full_of_type,
    vjp=lambda g, y, fill, shape, dtype: g,
    jvp="linear",
    batch=_full_of_batch,
    source=_full_of_source,
    cost=lambda fill, shape, dtype: estimated(shape),
    elements="spread",
    order="C",
    axes=axes.broadcast,
)


def _filled_like_source(types: Sequence[ArrayType], fill: Any, dtype: np.dtype[Any]) -> str:
    if types[0].dtype == dtype and type(fill) is int and fill in (0, 1):
        return f"np.{'ones' if fill else 'zeros'}_like({{0}})"
    return f"np.full_like({{0}}, {_number(fill)}, {literal(dtype)})"


filled_like = defop(
    name="filled_like",
    infer=lambda a, fill, dtype: ArrayType(a.shape, dtype),
    vjp=(),
    batch="elementwise",
    source=_filled_like_source,
)
"""An array full of one number that lies in memory as its operand does. Only where every bit counts:
sums add up in the order of memory, and `full` reads no array."""


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """np.full_like: one number, or a Tensor or array broadcast to the shape."""
    require_layout(order, device)
    kind = a.dtype if dtype is None else np.dtype(dtype)
    sizes = a.shape if shape is None else shape_of(shape)
    fill_value = as_array(fill_value)
    if is_recorded(fill_value) or np.ndim(fill_value):
        made = a.__tracejit_record__(full_of, (fill_value,), {"shape": sizes, "dtype": kind})
    else:
        params = {"shape": sizes, "fill": plain_number(fill_value), "dtype": kind}
        made = a.__tracejit_record__(full, (), params)
    return made if shape is not None else made._laid_like(a)


def _like(fill: int) -> Callable[..., Any]:
    """The handler of np.zeros_like, np.ones_like."""

    def handler(a: Any, dtype: Any = None, *rest: Any, **options: Any) -> Any:
        return full_like(a, fill, dtype, *rest, **options)

    return handler


answer(np.full_like, full_like)
answer(np.zeros_like, _like(0))
answer(np.ones_like, _like(1))
answer(np.empty_like, lambda prototype, *args, **options: _like(0)(prototype, *args, **options))


# Unit arrays


def _directions_source(
    types: Sequence[ArrayType], shape: Shape, dtype: np.dtype[Any], start: int, stop: int
) -> str:
    """np.eye(6), np.eye(2, 6, 4), or np.eye(6).reshape(6, 2, 3)."""
    size = math.prod(shape)
    sizes = f"{size}" if (start, stop) == (0, size) else f"{stop - start}, {size}, {start}"
    text = f"np.eye({sizes}" + (")" if dtype == np.float64 else f", dtype={literal(dtype)})")
    axes = ", ".join(map(str, (stop - start, *shape)))
    return text if len(shape) == 1 else f"{text}.reshape({axes})"


directions = defop(
    name="directions",
    infer=lambda shape, dtype, start, stop: ArrayType((stop - start, *shape), dtype),
    vjp=(),
    source=_directions_source,
    cost=lambda shape, dtype, start, stop: (stop - start) * math.prod(shape),
)
