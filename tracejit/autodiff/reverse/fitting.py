"""Fitting of derivatives: a gradient or tangent gets the form of its source, and a cotangent is
summed over the axes that broadcasting added."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.forms import as_array, as_element, as_scalar
from tracejit.ops.base.infer import are_alike, is_repeated
from tracejit.ops.shapes.shapes import astype
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.tensor.tensor import Tensor


def like(gradient: Any, source: Tensor, suffix: str = "_bar") -> Any:
    """The gradient, or tangent, in the form of its source, and called after it: zeros where
    unconnected, 0-d array for 0-d array, NumPy scalar for Python number."""
    if gradient is None:
        primal: Any = source
        gradient = np.zeros_like(primal)
    forms = gradient.type.form, derivative_type(source.type).form
    convert = {("scalar", "array"): as_array, ("array", "scalar"): as_element}.get(forms)
    if convert is not None:
        gradient = convert(gradient)
    value = gradient._value
    if value.node is not None and not value.is_named:
        value.derived = source._value, suffix
    return gradient


def derivative_type(type: ArrayType) -> ArrayType:
    """The type of the cotangent or tangent of a value: that of a Python number is a scalar."""
    return type.with_form("scalar") if type.form == "weak" else type


def fit(cotangent: Any, type: ArrayType, recording: Recorder) -> Tensor:
    """`cotangent` summed over the axes that broadcasting added, and cast, to the shape and dtype
    of `type`."""
    if not isinstance(cotangent, Tensor):
        cotangent = Tensor(recording.lift(cotangent), recording)
    if cotangent.type.form == "weak":
        cotangent = as_scalar(cotangent, dtype=cotangent.dtype)
    if cotangent.dtype.kind == "c" and type.dtype.kind != "c":
        cotangent = np.real(cotangent)
    if not are_alike(cotangent.shape, type.shape):
        cotangent = unbroadcast(cotangent, type.shape)
    if cotangent.dtype != type.dtype:
        cotangent = astype(cotangent, dtype=type.dtype)
    return cotangent  # type: ignore[no-any-return]


def unbroadcast(cotangent: Any, shape: tuple[int, ...]) -> Any:
    """`cotangent` summed over the axes along which `shape` was broadcast; or broadcast to
    `shape`."""
    extra = cotangent.ndim - len(shape)
    sizes = (1,) * -extra + cotangent.shape[max(extra, 0) :]
    repeated = [axis for axis, size in enumerate(shape) if is_repeated(size)]
    stretched = tuple(axis for axis in repeated if not is_repeated(sizes[axis]))
    extended = [axis for axis in range(extra) if not is_repeated(cotangent.shape[axis])]
    axes = (*extended, *[axis + extra for axis in stretched])
    if axes:
        cotangent = np.sum(cotangent, axis=axes, keepdims=extra <= 0)
    aligned = tuple(1 if axis in stretched else size for axis, size in enumerate(sizes))
    if not are_alike(cotangent.shape, aligned):
        cotangent = np.reshape(cotangent, aligned)
    return cotangent if are_alike(aligned, shape) else np.broadcast_to(cotangent, shape)
