"""tj.constant: a Tensor of numbers that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.eager.targets import tensor_of
from tracejit.ir.types import type_of
from tracejit.ops.control.marker_ops import OVERRIDE, Marker, stop
from tracejit.support.errors import fail
from tracejit.support.words import a
from tracejit.trace.recording.eager import eager_tensor
from tracejit.trace.recording.numbers import is_plain_number
from tracejit.trace.recording.record import current_recording
from tracejit.trace.recording.variable import current_recorder, strong_array
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import Tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike


@places.at_the_users_line
def constant(
    value: ArrayLike, dtype: DTypeLike | None = None, shape: tuple[int, ...] | None = None
) -> Tensor:
    """Return a Tensor with a copy of `value`.

    Parameters
    ----------
    value : array, number, or nested lists of numbers
        The values. A Python number becomes a NumPy scalar.
    dtype : dtype, default None
        The dtype. None is the dtype that NumPy gives.
    shape : tuple of int, default None
        A shape to broadcast to.

    Returns
    -------
    Tensor
        The Tensor. In a recorded function it is a constant: you can differentiate with respect to
        it, and no gradient flows through it to `value`.

    Raises
    ------
    ArgumentError
        If `value` is not an array of numbers. A TypeError.

    Examples
    --------
    >>> import tracejit as tj
    >>> tj.constant([1, 2], dtype=float)
    <Tensor f8[2] [1. 2.]>
    """
    recording = current_recording()
    if hasattr(type(value), "__tracejit_record__"):
        tensor = tensor_of(value, current_recorder())
        if recording is not None and not is_plain_number(tensor):
            return recording.distinct(_stopped(recording.strong(tensor), dtype, shape))
        value = tensor.numpy()
    data = strong_array(value, dtype)
    if shape is not None:
        data = np.array(np.broadcast_to(data, shape))
    known = type_of(data)
    if known is None or known.dtype.kind not in "biufc":
        kind = a(type(value).__name__)
        fix = "give it an array, a number or nested lists of numbers."
        words = {"what": "the value of tj.constant", "kind": kind, "fix": fix}
        raise fail("not-an-array", places.here(), **words)
    if recording is None:
        return eager_tensor(data, known)
    return recording.distinct(Tensor(recording.graph.constant(data), recording))


def _stopped(tensor: Any, dtype: Any, shape: tuple[int, ...] | None) -> Any:
    """The value as a constant of that dtype and shape in the current recording."""
    if tensor.type.is_inexact:
        tensor = OVERRIDE(tensor, outputs=1, grad=Marker("constant", "stopped", stop))
    if dtype is not None:
        tensor = tensor.astype(dtype)
    return tensor if shape is None else np.broadcast_to(tensor, shape).copy()
