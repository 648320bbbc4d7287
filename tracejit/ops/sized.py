"""Arrays whose numbers follow from free dimensions alone: what `tracejit.numpy` makes of `arange`
and `eye` of a size. NumPy's own functions ask for the number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.dims import code_text
from tracejit.ir.types import ArrayType
from tracejit.ops.op import Op, defop, literal


def _arange_type(start: int, stop: int, dtype: np.dtype[Any]) -> ArrayType:
    count = stop - start
    return ArrayType((0 if count < 0 else count,), dtype)


def _arange_source(types: Sequence[ArrayType], start: int, stop: int, dtype: np.dtype[Any]) -> str:
    words = [code_text(start)] if type(start) is not int or start else []
    words += [code_text(stop)]
    words += [] if dtype == np.intp else [f"dtype={literal(dtype)}"]
    return f"np.arange({', '.join(words)})"


def _eye_source(types: Sequence[ArrayType], rows: int, columns: int, dtype: np.dtype[Any]) -> str:
    words = [code_text(rows)] + ([] if rows == columns else [code_text(columns)])
    words += [] if dtype == np.float64 else [f"dtype={literal(dtype)}"]
    return f"np.eye({', '.join(words)})"


arange = defop(name="arange", infer=_arange_type, vjp=(), source=_arange_source)
eye = defop(
    name="eye",
    infer=lambda rows, columns, dtype: ArrayType((rows, columns), dtype),
    vjp=(),
    source=_eye_source,
)


def _counted(*ends: Any, dtype: Any = None) -> dict[str, Any]:
    start, stop = ends if len(ends) == 2 else (0, *ends)
    return {"start": start, "stop": stop, "dtype": np.dtype(np.intp if dtype is None else dtype)}


def _identity(n: Any, m: Any = None, *, dtype: Any = float) -> dict[str, Any]:
    return {"rows": n, "columns": n if m is None else m, "dtype": np.dtype(dtype)}


SIZED: dict[Any, tuple[Op, Callable[..., Any]]] = {
    np.arange: (arange, _counted),
    np.eye: (eye, _identity),
    np.identity: (eye, _identity),
}
"""The op of a function, and its parameters by the user's."""
