"""Fitting of derivatives: the form of a gradient or tangent is that of its source."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.forms import as_array, as_element
from tracejit.trace.tensor import Tensor


def like(gradient: Any, source: Tensor, suffix: str = "_bar") -> Any:
    """The gradient, or tangent, in the form of its source, and called after it: zeros where
    unconnected, 0-d array for 0-d array."""
    if gradient is None:
        primal: Any = source
        gradient = np.zeros_like(primal)
    forms = gradient.type.form, source.type.form
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
