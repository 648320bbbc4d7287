"""Conversions between Python numbers, NumPy scalars and 0-d arrays."""

from __future__ import annotations

from tracejit.ops.op import defop

as_scalar = defop(
    name="as_scalar",
    infer=lambda x, dtype: x.with_form("scalar").with_dtype(dtype),
    vjp=lambda g, y, x, dtype: g,
    jvp="linear",
    batch=lambda moved, x, dtype: x if x.dtype == dtype else x.astype(dtype),
    source="{dtype}({0})",
    elements="same",
)
as_element = defop(
    name="as_element",
    infer=lambda x: x.with_form("scalar"),
    vjp=lambda g, y, x: g,
    jvp="linear",
    batch=lambda moved, x: x,
    source="{0}[()]",
    elements="same",
)
as_array = defop(
    name="as_array",
    infer=lambda x: x.with_form("array"),
    vjp=lambda g, y, x: g,
    jvp="linear",
    batch=lambda moved, x: x,
    source="np.asarray({0})",
    elements="same",
)
