"""Reductions and scans along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ops.infer import normalize_axes, reduction_type
from tracejit.ops.op import defop


def _axes(a: Any, axis: Any = None, *, keepdims: bool = False) -> tuple[tuple[Any], dict[str, Any]]:
    """The canonical form of a reduction: the axes as a sorted tuple."""
    params: dict[str, Any] = {"axis": normalize_axes(axis, np.ndim(a))}
    return (a,), params | ({"keepdims": True} if keepdims else {})


def spread(g: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """A cotangent of a reduction over `axis`, with the reduced axes back as ones, broadcast to x's shape."""
    if not keepdims:
        g = np.expand_dims(g, axis)
    return np.broadcast_to(g, x.shape)


sum = defop(
    np.sum,
    canonical=_axes,
    infer=reduction_type(np.add),
    vjp=lambda g, y, x, axis, keepdims=False: spread(g, x, axis, keepdims),
    jvp="linear",
    source=lambda types, axis, keepdims=False: (
        "np.add.reduce({0}, axis={axis}" + (", keepdims=True)" if keepdims else ")")
    ),
)
