"""Index arithmetic: flat and multi-dimensional indices, and index grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.dims import dims_in
from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import broadcasting
from tracejit.ops.base.creation import (
    as_array,
    followed,
    is_recorded,
    settled,
    shape_of,
    type_in_call,
)
from tracejit.ops.base.infer import broadcast_shapes
from tracejit.ops.base.op import answer, composite, defop
from tracejit.ops.indexing.indexing import RECORDED_MASK

_INTP = np.dtype(np.intp)


def _order(order: str) -> dict[str, Any]:
    """The parameter for the user's `order`."""
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    return {"order": order} if order == "F" else {}


def _unravel_type(
    indices: ArrayType, shape: tuple[int, ...], order: str = "C"
) -> tuple[ArrayType, ...]:
    form = "array" if indices.shape else "scalar"
    return (ArrayType(indices.shape, _INTP, form),) * len(shape)  # type: ignore[arg-type]


def _unravel_source(types: Sequence[ArrayType], shape: tuple[int, ...], order: str = "C") -> str:
    call = "np.unravel_index({0}, {shape}" + (", order='F')" if order == "F" else ")")
    return call + ("[0]" if len(shape) == 1 else "")


def _unravel_axes(types: Sequence[ArrayType], shape: tuple[int, ...], **options: Any) -> str | None:
    """Element by element, of a shape that is known."""
    return None if any(dims_in(shape)) else f"...->{','.join(['...'] * len(shape))}"


unravel_index = defop(
    name="unravel_index",
    infer=_unravel_type,
    vjp=(),
    batch="leading",
    source=_unravel_source,
    axes=_unravel_axes,
)


def _unravel_call(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    sizes = shape_of(shape)
    results = unravel_index(indices, shape=sizes, **_order(order))
    return results if len(sizes) > 1 else (results,)


answer(np.unravel_index, _unravel_call)


def _ravel_type(*indices: ArrayType, dims: tuple[int, ...], **options: Any) -> ArrayType:
    if len(indices) != len(dims):
        raise ValueError(
            f"parameter multi_index must be a sequence of length {len(dims)}, not {len(indices)}"
        )
    for index in indices:
        if not np.can_cast(index.dtype, _INTP, "same_kind"):
            raise TypeError("only int indices permitted")
    shape = broadcast_shapes(*[index.shape for index in indices])
    return ArrayType(shape, _INTP, "array" if shape else "scalar")


def _ravel_source(types: Sequence[ArrayType], dims: tuple[int, ...], **options: Any) -> str:
    comma = "," if len(types) == 1 else ""
    keywords = "".join(f", {name}={{{name}}}" for name in options)
    return f"np.ravel_multi_index(({{operands}}{comma}), {{dims}}{keywords})"


ravel_multi_index = defop(
    name="ravel_multi_index",
    infer=_ravel_type,
    vjp=(),
    batch=broadcasting("ravel_multi_index"),
    source=_ravel_source,
    axes=axes.broadcasting,
)


def _ravel_call(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    modes = (mode,) if isinstance(mode, str) else tuple(mode)
    for each in modes:
        if each not in ("raise", "wrap", "clip"):
            raise ValueError(f"mode must be one of 'clip', 'raise', or 'wrap' (got {each!r})")
    options = {} if set(modes) == {"raise"} else {"mode": mode if isinstance(mode, str) else modes}
    indices = map(as_array, multi_index)
    return ravel_multi_index(*indices, dims=shape_of(dims), **options, **_order(order))


answer(np.ravel_multi_index, _ravel_call)


@composite(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    """Indices along each axis, shaped so that together they index a grid."""
    grids = []
    for number, given in enumerate(args):
        index = settled(as_array(given))
        if np.ndim(index) != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if type_in_call(index).dtype.kind == "b":
            index = followed(index)
            if index is None:
                raise TypeError(RECORDED_MASK)
            index = np.flatnonzero(index)
        elif not index.shape[0] and not is_recorded(index):
            index = index.astype(np.intp)
        grids.append(np.reshape(index, (1,) * number + (-1,) + (1,) * (len(args) - number - 1)))
    return tuple(grids)
