from typing import Any, overload

from tracejit.eager.targets import NONE, Nones, NumbersT, Recorded, RecordedT, Zeros
from tracejit.trace.tensor.tensor import Tensor

@overload
def gradients(
    ys: Any,
    xs: Recorded | list[RecordedT] | tuple[RecordedT, ...],
    grad_ys: Any = None,
    stop_gradients: Any = None,
    *,
    unconnected_gradients: Zeros,
) -> list[Tensor]: ...
@overload
def gradients(
    ys: Any,
    xs: Recorded | list[RecordedT] | tuple[RecordedT, ...],
    grad_ys: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Nones = NONE,
) -> list[Tensor | None]: ...
@overload
def gradients(
    ys: Any,
    xs: NumbersT | list[NumbersT] | tuple[NumbersT, ...],
    grad_ys: Any = None,
    stop_gradients: Any = None,
    *,
    unconnected_gradients: Zeros,
) -> list[NumbersT]: ...
@overload
def gradients(
    ys: Any,
    xs: NumbersT | list[NumbersT] | tuple[NumbersT, ...],
    grad_ys: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Nones = NONE,
) -> list[NumbersT | None]: ...
@overload
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Zeros | Nones = NONE,
) -> list[Any]: ...
