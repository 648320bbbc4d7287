"""NumPy under autograd's name: `tracejit.numpy`, with the modules that programs import from it.

As in autograd, what joins arrays takes any iterable of them.

>>> import tracejit.autograd.numpy as np
>>> np.stack({"a": np.ones(2), "b": np.zeros(2)}.values())
array([[1., 1.],
       [0., 0.]])
"""

from __future__ import annotations

import functools as _functools
from collections.abc import Callable as _Callable
from typing import Any as _Any

import tracejit.numpy as _numpy
from tracejit.autograd.numpy import fft as fft
from tracejit.autograd.numpy import linalg as linalg
from tracejit.autograd.numpy import numpy_boxes as numpy_boxes
from tracejit.autograd.numpy import numpy_vjps as numpy_vjps
from tracejit.autograd.numpy import random as random
from tracejit.trace.recording.active import OF_TRANSFORM as _OF_TRANSFORM
from tracejit.trace.tensor.namespaces import namespace as _namespace

__all__ = list(_numpy.__all__)


def _joining(join: _Callable[..., _Any]) -> _Callable[..., _Any]:
    """A function that joins the arrays of a sequence, for any iterable of them."""

    @_functools.wraps(join)
    def joined(arrays: _Any, *args: _Any, **kwargs: _Any) -> _Any:
        given = arrays if hasattr(type(arrays), "__getitem__") else list(arrays)
        return join(given, *args, **kwargs)

    vars(joined)[_OF_TRANSFORM] = "reader"
    return joined


_JOINED = frozenset(("concatenate", "stack", "hstack", "vstack", "column_stack"))


def _wrapped(value: _Any) -> _Any:
    return _joining(value) if getattr(value, "__name__", "") in _JOINED else value


__getattr__, __dir__ = _namespace(_numpy, _wrapped, ("ndarray",), globals())
