"""Checks of eager operations under tapes, at the time when each is computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.debug.ranges import is_event, is_finite, premise, range_of
from tracejit.ops.base.op import Op
from tracejit.support.errors import TracejitError, fail
from tracejit.trace.recording.eager import EAGER, Eager
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import TENSORS


def check_eager(mode: Callable[[], Any]) -> Callable[[], None]:
    """Check eager operations where there is a `mode`; return what ends that.

    With `results_only` they are not checked: each is a result that the program sees.
    """
    plain = Eager.record

    def record(self: Eager, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        wanted = mode()
        if wanted is None or wanted.results_only:
            return plain(self, op, operands, params)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            result = plain(self, op, operands, params)
        error = error_of(op, operands, result)
        if error is not None and not wanted.warn:
            raise error
        if error is not None:
            warnings.warn(str(error), RuntimeWarning, places.user_depth())
        return result

    setattr(Eager, "record", record)  # noqa: B010  a method may not be assigned to
    return lambda: setattr(Eager, "record", plain)


def error_of(op: Op, operands: Sequence[Any], result: Any) -> TracejitError | None:
    """The error of an operation that is an event; None if it is none."""
    results = [one._value.data for one in _tensors(result) if one._recording is EAGER]
    data = [one._value.data if type(one) in TENSORS else one for one in operands]
    if not is_event(data, results):
        return None
    found = next(one for one in results if not is_finite(one))
    ranges = [range_of(f"operand {number}", one) for number, one in enumerate(data, 1)]
    words = {
        "op": op.name,
        "found": range_of("", found).found,
        "premise": premise(data),
        "operands": "; ".join(map(str, ranges)),
    }
    return fail("non-finite-eager", places.here(), **words)


def _tensors(result: Any) -> list[Any]:
    return [one for one in (result if type(result) is tuple else (result,)) if type(one) in TENSORS]
