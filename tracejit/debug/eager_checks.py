"""Checks of eager operations: those of tapes, each computed when it is met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.debug.ranges import has_nan, is_finite, range_of
from tracejit.ops.op import Op
from tracejit.support.errors import fail
from tracejit.trace import places
from tracejit.trace.eager import EAGER, Eager
from tracejit.trace.tensor import TENSORS


def check_eager(mode: Callable[[], Any]) -> Callable[[], None]:
    """Check eager operations where there is a `mode`; return what ends that.

    With `results_only` they are not checked: each is a result that the program sees.
    """
    plain = Eager.record

    def record(self: Eager, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        result = plain(self, op, operands, params)
        wanted = mode()
        if wanted is not None and not wanted.results_only:
            check(op, operands, result)
        return result

    setattr(Eager, "record", record)  # noqa: B010  a method may not be assigned to
    return lambda: setattr(Eager, "record", plain)


def check(op: Op, operands: Sequence[Any], result: Any) -> None:
    """Raise NonFiniteError where finite operands gave a result that is not finite."""
    results = [one._value.data for one in _tensors(result) if one._recording is EAGER]
    if is_finite(results):
        return
    data = [one._value.data if type(one) in TENSORS else one for one in operands]
    if not is_finite(data) and (has_nan(data) or not has_nan(results)):
        return
    found = next(one for one in results if not is_finite(one))
    ranges = [range_of(f"operand {number}", one) for number, one in enumerate(data, 1)]
    words = {
        "expression": f"the result of {op.name}",
        "found": range_of("", found).found,
        "operands": "".join(f"\n    {one}" for one in ranges),
    }
    raise fail("non-finite-eager", places.here(), **words)


def _tensors(result: Any) -> list[Any]:
    return [one for one in (result if type(result) is tuple else (result,)) if type(one) in TENSORS]
