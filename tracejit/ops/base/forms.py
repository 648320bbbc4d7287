"""Conversions between Python numbers, NumPy scalars and 0-d arrays."""

from __future__ import annotations

from functools import partial

from tracejit.ops.base.op import defop

same_elements = partial(
    defop, vjp=lambda g, y, x, **params: g, jvp="linear", batch="leading", elements="same"
)
"""The op of a conversion that keeps all elements in their places."""

as_scalar = same_elements(
    name="as_scalar",
    infer=lambda x, dtype: x.with_form("scalar").with_dtype(dtype),
    batch=lambda moved, x, dtype: x if x.dtype == dtype else x.astype(dtype),
    source="{dtype}({0})",
)
as_element = same_elements(
    name="as_element",
    infer=lambda x: x.with_form("scalar"),
    batch=lambda moved, x: x,
    source="{0}[()]",
)
as_array = same_elements(
    name="as_array",
    infer=lambda x: x.with_form("array"),
    batch=lambda moved, x: x,
    source="np.asarray({0})",
)
