"""The same function on Dask arrays that are split along their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.api.gradients import grad as _grad
from tracejit.api.gradients import value_and_grad as _value_and_grad
from tracejit.dask.function import SplitFunction
from tracejit.specialise.function import Function


def function(f: Callable[..., Any], *, compute: bool = True) -> SplitFunction:
    """`f` on Dask arrays."""
    made: Any = f if isinstance(f, Function) else Function(f)
    return SplitFunction(made, compute)


def grad(f: Callable[..., Any], argnums: Any = 0, *, compute: bool = True, **words: Any) -> Any:
    """The gradient of `f` on Dask arrays."""
    return SplitFunction(_grad(f, argnums, **words), compute)


def value_and_grad(
    f: Callable[..., Any], argnums: Any = 0, *, compute: bool = True, **words: Any
) -> Any:
    """The value and gradient of `f` on Dask arrays."""
    return SplitFunction(_value_and_grad(f, argnums, **words), compute)
