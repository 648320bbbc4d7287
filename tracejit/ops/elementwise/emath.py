"""np.emath: functions that return complex numbers if real ones are outside of their domain.

The first is recorded, the second refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array, type_in_call
from tracejit.ops.base.op import answer


def _check(fix: str, *operands: Any) -> None:
    if any(type_in_call(as_array(operand)).dtype.kind != "c" for operand in operands):
        raise TypeError(
            f"the data decide if the result is complex; call {fix}, which stays real, or "
            "give it x.astype(complex)"
        )


def _of_complex(name: str) -> Callable[..., Any]:
    """The handler of np.emath.NAME."""

    def handler(x: Any) -> Any:
        _check(f"np.{name}", x)
        return getattr(np, name)(x)

    return handler


def _logn(n: Any, x: Any) -> Any:
    _check("np.log(x) / np.log(n)", n, x)
    return np.log(x) / np.log(n)


def _power(x: Any, p: Any) -> Any:
    _check("np.power", x)
    p = as_array(p)
    if type_in_call(p).dtype.kind not in "fc":
        raise TypeError(
            "an integer exponent becomes a float if it is negative, which depends on the data"
        )
    return np.power(x, p)


for _name in ("sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"):
    answer(getattr(np.emath, _name), _of_complex(_name))
answer(np.emath.logn, _logn)
answer(np.emath.power, _power)
