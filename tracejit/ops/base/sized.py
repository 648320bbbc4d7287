"""Arrays whose numbers follow from free dimensions alone: what `tracejit.numpy` makes of `arange`
and `eye` of a size. NumPy's own functions ask for the number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.dims import code_text
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import Op, defop, literal


def _arange_type(*first: ArrayType, start: int, stop: int, dtype: np.dtype[Any]) -> ArrayType:
    count = stop - start
    return ArrayType((0 if count < 0 else count,), dtype)


def _arange_source(types: Sequence[ArrayType], start: int, stop: int, dtype: np.dtype[Any]) -> str:
    if types:
        return _block_source(start, stop, dtype)
    words = [code_text(start)] if type(start) is not int or start else []
    words += [code_text(stop)]
    words += [] if dtype == np.intp else [f"dtype={literal(dtype)}"]
    return f"np.arange({', '.join(words)})"


def _block_source(start: int, stop: Any, dtype: np.dtype[Any]) -> str:
    """The numbers of a block: whole ones first, as a count in float32 would stop at 2**24."""
    ((_, each), *_) = (stop - start).key
    first = "{0}" if each == 1 else f"{each} * {{0}}"
    begin = f"{first} + {start}" if start else first
    text = f"np.arange({begin}, {first} + {code_text(stop)})"
    return text if dtype == np.intp else f"{text}.astype({literal(dtype)})"


def _eye_source(types: Sequence[ArrayType], rows: int, columns: int, dtype: np.dtype[Any]) -> str:
    words = [code_text(rows)] + ([] if rows == columns else [code_text(columns)])
    words += [] if dtype == np.float64 else [f"dtype={literal(dtype)}"]
    return f"np.eye({', '.join(words)})"


# Beside what is in blocks, its operand is the number of the first row of a block: the elements of
# the first rows are left out.
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
