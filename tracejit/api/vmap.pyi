from collections.abc import Callable
from typing import Any, Concatenate, overload

import numpy as np
from numpy.typing import NDArray

from tracejit.specialise.function import Function
from tracejit.support.typing import Array, ArraysT, D, P

@overload
def vmap(f: np.ufunc, in_axes: Any = 0, out_axes: Any = 0) -> Function[..., Any]: ...
@overload
def vmap(
    f: Callable[Concatenate[float, ...], Array[D]], in_axes: Any = 0, out_axes: Any = 0
) -> Function[..., NDArray[D]]: ...
@overload
def vmap(
    f: Callable[Concatenate[float, ...], float], in_axes: Any = 0, out_axes: Any = 0
) -> Function[..., NDArray[Any]]: ...
@overload
def vmap(
    f: Callable[P, Array[D]], in_axes: Any = 0, out_axes: Any = 0
) -> Function[P, NDArray[D]]: ...
@overload
def vmap(
    f: Callable[P, float], in_axes: Any = 0, out_axes: Any = 0
) -> Function[P, NDArray[Any]]: ...
@overload
def vmap(f: Callable[P, ArraysT], in_axes: Any = 0, out_axes: Any = 0) -> Function[P, ArraysT]: ...
@overload
def vmap(f: Callable[P, Any], in_axes: Any = 0, out_axes: Any = 0) -> Function[P, Any]: ...
