"""Methods of ufuncs: the functions behind reduce, accumulate, reduceat and outer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array, cast, is_recorded
from tracejit.ops.base.op import answer
from tracejit.ops.reductions.accumulations import accumulate_call
from tracejit.ops.reductions.folds import reduce_call
from tracejit.ops.reductions.segments import reduceat_call


def _outer_call(ufunc: np.ufunc, a: Any, b: Any, /, **keywords: Any) -> Any:
    """The ufunc of every element of one with every element of the other."""
    a, b = _array(a), _array(b)
    spread = (..., *(None,) * np.ndim(b))
    return ufunc(a[spread] if np.ndim(b) else a, b, **keywords)


def _array(value: Any) -> Any:
    """A number as an array would be taken: not weak."""
    value = as_array(value)
    if not is_recorded(value):
        return np.asarray(value)
    return cast(value, value.dtype) if value.type.form == "weak" else value


# Operands that are given by keyword are handed over by NumPy twice.
_OPERANDS = ("array", "indices")


def _bound(call: Any, ufunc: np.ufunc) -> Any:
    """The handler of a method of one ufunc."""

    def handler(*args: Any, **keywords: Any) -> Any:
        words = {name: word for name, word in keywords.items() if name not in _OPERANDS}
        return call(ufunc, *args, **words)

    return handler


_UFUNCS = dict.fromkeys(function for function in vars(np).values() if type(function) is np.ufunc)

for _ufunc in _UFUNCS:
    if _ufunc.nin == 2 and _ufunc.signature is None:
        answer((_ufunc, "outer"), _bound(_outer_call, _ufunc))
        if _ufunc.nout == 1:
            answer((_ufunc, "reduce"), _bound(reduce_call, _ufunc))
            answer((_ufunc, "accumulate"), _bound(accumulate_call, _ufunc))
            answer((_ufunc, "reduceat"), _bound(reduceat_call, _ufunc))
