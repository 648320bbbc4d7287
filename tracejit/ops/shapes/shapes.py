"""Reshaping: the same elements in another shape, order of axes or dtype.

Ops that only look at memory in another way cost nothing and may share it with their operand
(`view_of`). Axes are canonical: a permutation is written out, `swapaxes`, `moveaxis` and `.T` are
all `transpose`, and Fortran's order is that of the transpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.batching import along_axis, behind, rows, spread
from tracejit.ops.base.creation import (
    as_array,
    is_recorded,
    known,
    require_layout,
    size_of,
    type_in_call,
)
from tracejit.ops.base.forms import same_elements
from tracejit.ops.base.infer import broadcast_shapes, normalize_axes, normalize_axis, strict_axes
from tracejit.ops.base.op import Op, answer, composite, defop

Call = tuple[tuple[Any], dict[str, Any]]

answer(np.ndim, lambda a: len(a.shape))
answer(np.shape, lambda a: a.shape)
answer(np.size, lambda a, axis=None: math.prod(a.shape[k] for k in normalize_axes(axis, a.ndim)))


def viewed(x: ArrayType, shape: Shape) -> ArrayType:
    """The type of what a method of x makes of it: of a NumPy scalar, a scalar if still 0-d."""
    return ArrayType(shape, x.dtype, "scalar" if x.form == "scalar" and not shape else "array")


def _view(*numpy: Any, source: Any, infer: Callable[..., ArrayType], vjp: Any, **fields: Any) -> Op:
    """The op of a linear function whose result may share memory with its operand."""
    return defop(
        *numpy,
        infer=infer,
        vjp=vjp,
        jvp="linear",
        source=source,
        view_of=0,
        cost=lambda *types, **params: 0,
        **fields,
    )


def _method(name: str) -> Callable[..., str]:
    """The spelling of a method of ndarray; for a Python number, which has none, NumPy's
    function."""

    def source(types: Sequence[ArrayType], **params: Any) -> str:
        values = [value[0] if len(value) == 1 else value for value in params.values()]
        arguments = ", ".join(map(repr, values))
        if types[0].form == "weak":
            return f"np.{name}({', '.join(['{0}', *filter(None, [arguments])])})"
        return f"{{0}}.{name}({arguments})"

    return source


def _is_fortran(order: str) -> bool:
    """Return whether the first axis changes fastest; an order that depends on the memory layout of
    an array is refused."""
    if order not in ("C", "F"):
        raise TypeError(f"order={order!r} depends on the layout of the array in memory")
    return order == "F"


def _sizes(shape: Any) -> list[int]:
    """A shape given as a number or a sequence of numbers."""
    if is_recorded(shape) and shape.ndim:
        shape = known(shape, "shape").tolist()
    if isinstance(shape, (tuple, list)) or (type(shape) is np.ndarray and shape.ndim):
        return [size_of(size) for size in shape]
    return [size_of(shape)]


def _reshape_call(a: Any, shape: Any) -> Call:
    target = _sizes(shape)
    unknown = [k for k, size in enumerate(target) if size < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    sizes = math.prod(size for size in target if size >= 0)
    for k in unknown:
        target[k] = np.size(a) // sizes if sizes else -1
    if math.prod(target) != np.size(a) or any(size < 0 for size in target):
        raise ValueError(f"cannot reshape array of size {np.size(a)} into shape {tuple(target)}")
    return (a,), {"shape": tuple(target)}


reshape: Op = _view(
    name="reshape",
    canonical=_reshape_call,
    infer=lambda x, shape: viewed(x, shape),
    vjp=lambda g, y, x, shape: np.reshape(g, x.shape),
    batch=lambda moved, x, shape: reshape(x, shape=(x.shape[0], *shape)),
    source=_method("reshape"),
    elements="reshaped",
    order="kept",
    axes=axes.reshaped,
)


def copies(copy: Any) -> bool:
    """Return whether `copy=` asks for a copy: None and np._CopyMode.IF_NEEDED do not."""
    return copy is not np._CopyMode.IF_NEEDED and bool(copy)


def _reshape(a: Any, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    if copy is False or copy is np._CopyMode.NEVER:
        raise TypeError("copy=False is not supported")
    if _is_fortran(order):
        turned = reshape.record_call(np.transpose(a), _sizes(shape)[::-1])
        result = np.transpose(turned) if turned.ndim > 1 else turned
    else:
        result = reshape.record_call(a, shape)
    return np.copy(result) if copies(copy) else result


answer(np.reshape, _reshape)


# Not a reshape: the result is contiguous, which a product with it may depend on to the bit.
ravel = _view(
    name="ravel",
    infer=lambda x: ArrayType((x.size,), x.dtype),
    vjp=lambda g, y, x: np.reshape(g, x.shape),
    batch=lambda moved, x: rows(x),
    source=_method("ravel"),
    elements="reshaped",
    order="C",
    axes=lambda types: axes.reshaped(types, (types[0].size,)),
)


answer(np.ravel, lambda a, order="C": ravel(np.transpose(a) if _is_fortran(order) else a))


def _broadcast_call(array: Any, shape: Any, subok: bool = False) -> Call:
    target = tuple(_sizes(shape))
    if any(size < 0 for size in target):
        raise ValueError("all elements of broadcast shape must be non-negative")
    return (array,), {"shape": target}


def _broadcast_type(x: ArrayType, shape: Shape) -> ArrayType:
    if broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"shape {x.shape} cannot be broadcast to {shape}")
    return ArrayType(shape, x.dtype)


broadcast_to = _view(
    np.broadcast_to,
    canonical=_broadcast_call,
    infer=_broadcast_type,
    vjp=lambda g, y, x, shape: g,
    batch=lambda moved, x, shape: np.broadcast_to(
        spread(x, True, len(shape)), (x.shape[0], *shape)
    ),
    source="np.broadcast_to({0}, {shape})",
    elements="spread",
    view="read-only",
    axes=axes.broadcast,
)


@composite(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Each array broadcast to the shape they have in common."""
    arrays = [as_array(array) for array in args]
    shape = broadcast_shapes(*map(np.shape, arrays))
    return tuple(np.broadcast_to(array, shape) for array in arrays)


def _expand_call(a: Any, axis: Any) -> Call:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return (a,), {"axis": normalize_axes(axes, np.ndim(a) + len(axes))}


def _expanded(shape: Shape, axis: tuple[int, ...]) -> Shape:
    sizes = iter(shape)
    return tuple(1 if k in axis else next(sizes) for k in range(len(shape) + len(axis)))


def _expand_source(types: Sequence[ArrayType], axis: tuple[int, ...]) -> str:
    x = types[0]
    if x.form == "weak" or not axis:
        return "np.expand_dims({0}, {axis})"
    if x.ndim > 1 and axis[0] == x.ndim:
        return f"{{0}}[...{', None' * len(axis)}]"
    index = ["None" if k in axis else ":" for k in range(axis[-1] + 1)]
    return f"{{0}}[{', '.join(index)}]"


expand_dims = _view(
    np.expand_dims,
    canonical=_expand_call,
    infer=lambda x, axis: ArrayType(_expanded(x.shape, axis), x.dtype),
    vjp=lambda g, y, x, axis: np.squeeze(g, axis),
    batch=along_axis("expand_dims"),
    source=_expand_source,
    elements="reshaped",
    view="always",
    order="kept",
    axes=axes.expanded,
)


def _squeeze_call(a: Any, axis: Any = None) -> Call:
    if axis is None:
        return (a,), {"axis": tuple(k for k, size in enumerate(np.shape(a)) if size == 1)}
    return (a,), {"axis": strict_axes(axis, np.ndim(a))}


def _squeeze_type(x: ArrayType, axis: tuple[int, ...]) -> ArrayType:
    if any(x.shape[k] != 1 for k in axis):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return viewed(x, tuple(size for k, size in enumerate(x.shape) if k not in axis))


squeeze = _view(
    np.squeeze,
    canonical=_squeeze_call,
    infer=_squeeze_type,
    vjp=lambda g, y, x, axis: np.expand_dims(g, axis),
    batch=along_axis("squeeze"),
    source=_method("squeeze"),
    elements="reshaped",
    view="always",
    order="kept",
    axes=axes.squeezed,
)


def _transpose_call(a: Any, axes: Any = None) -> Call:
    ndim = np.ndim(a)
    if axes is None:
        return (a,), {"axes": tuple(reversed(range(ndim)))}
    order = _sizes(axes)
    if len(order) != ndim:
        raise ValueError("axes don't match array")
    order = [normalize_axis(axis, ndim) for axis in order]
    if len(set(order)) != ndim:
        raise ValueError("repeated axis in transpose")
    return (a,), {"axes": tuple(order)}


def _transpose_source(types: Sequence[ArrayType], axes: tuple[int, ...]) -> str:
    ndim = len(axes)
    if types[0].form == "weak":
        return "np.transpose({0})"
    if axes == tuple(reversed(range(ndim))):
        return "{0}.T"
    if axes == (*range(ndim - 2), ndim - 1, ndim - 2):
        return "{0}.mT"
    return "{0}.transpose({axes})"


def _inverse(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


transpose = _view(
    np.transpose,
    canonical=_transpose_call,
    infer=lambda x, axes: viewed(x, tuple(x.shape[axis] for axis in axes)),
    vjp=lambda g, y, x, axes: np.transpose(g, _inverse(axes)),
    batch=lambda moved, x, axes: np.transpose(x, (0, *behind(axes))),
    source=_transpose_source,
    elements="permuted",
    view="always",
    axes=axes.transposed,
)


@composite(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes swapped."""
    order = list(range(np.ndim(a)))
    first, second = normalize_axis(axis1, np.ndim(a)), normalize_axis(axis2, np.ndim(a))
    order[first], order[second] = second, first
    return np.transpose(a, order)


def _astype_call(
    x: Any,
    dtype: Any,
    *,
    casting: str = "unsafe",
    device: Any = None,
) -> Call:
    require_layout(None, device)
    target = np.dtype(dtype)
    if target.kind not in "biufc":
        raise TypeError(f"dtype {target} is not supported")
    if not np.can_cast(x.dtype, target, casting):  # type: ignore[arg-type]
        raise TypeError(f"cannot cast {x.dtype} to {target} according to the rule {casting!r}")
    return (x,), {"dtype": target}


astype = same_elements(
    name="astype",
    canonical=_astype_call,
    infer=lambda x, dtype: ArrayType(x.shape, dtype, "array" if x.form == "array" else "scalar"),
    source=lambda types, dtype: (
        "{dtype}({0})" if types[0].form == "weak" else "{0}.astype({dtype})"
    ),
    order="kept",
)


def _astype(x: Any, dtype: Any, *, copy: bool | None = True, **options: Any) -> Any:
    if isinstance(copy, np._CopyMode):
        raise ValueError(
            "_CopyMode enum is not allowed for astype function. Use true/false instead."
        )
    if not copy and np.dtype(dtype) == x.dtype and type_in_call(x).form == "array":
        require_layout(None, options.get("device"))
        return x
    return astype.record_call(x, dtype, **options)


answer(np.astype, _astype)


def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if order == "F" and np.ndim(a) > 1:
        return copy_fortran(a)
    return copy(a, order=order if np.ndim(a) else "K")


def _copy_source(types: Sequence[ArrayType], order: str) -> str:
    if order == "C":
        return "{0}.copy()"
    return "np.array({0})" if order == "K" else "np.array({0}, order={order})"


# np.copy keeps the order of memory and makes an array of a scalar; the method does neither.
copy = same_elements(
    name="copy",
    infer=lambda x, order: x if order == "C" else x.with_form("array"),
    source=_copy_source,
    order="kept",
)
copy_fortran = same_elements(
    name="copy_fortran",
    infer=lambda x: x,
    source="np.array({0}, order='F')",
    order="F",
)
answer(np.copy, _copy)
answer(np.ndarray.copy, lambda a: copy(a, order="C"))
