"""NumPy under autograd's name: `tracejit.numpy`, with the modules that programs import from it.

As in autograd, what joins arrays takes any iterable of them, and means are taken of tuples.

>>> import tracejit.autograd.numpy as np
>>> np.stack({"a": np.ones(2), "b": np.zeros(2)}.values())
array([[1., 1.],
       [0., 0.]])
"""

from __future__ import annotations

import functools as _functools
from collections.abc import Callable as _Callable
from typing import Any as _Any

import numpy as _numpy

import tracejit.numpy as _recordable
from tracejit.autograd.numpy import fft as fft
from tracejit.autograd.numpy import linalg as linalg
from tracejit.autograd.numpy import numpy_boxes as numpy_boxes
from tracejit.autograd.numpy import numpy_vjps as numpy_vjps
from tracejit.autograd.numpy import random as random
from tracejit.trace.recording.active import OF_TRANSFORM as _OF_TRANSFORM
from tracejit.trace.tensor.namespaces import namespace as _namespace

__all__ = list(_recordable.__all__)


def _joining(join: _Callable[..., _Any]) -> _Callable[..., _Any]:
    """A function of the arrays of a sequence, for any iterable of them."""

    @_functools.wraps(join)
    def joined(arrays: _Any, *args: _Any, **kwargs: _Any) -> _Any:
        is_array = type(arrays) is not tuple and hasattr(type(arrays), "__getitem__")
        given = arrays if is_array else list(arrays)
        return join(given, *args, **kwargs)

    vars(joined)[_OF_TRANSFORM] = "reader"
    return joined


_JOINED = frozenset("concatenate stack hstack vstack column_stack mean std var".split())


def make_diagonal(D: _Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> _Any:
    """Return matrices with the last axis of `D` on their diagonals; as in autograd, `axis1` and
    `axis2` are -1 and -2.

    >>> make_diagonal(_numpy.array([1.0, 2.0]), axis1=-1, axis2=-2)
    array([[1., 0.],
           [0., 2.]])
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal takes offset=0, axis1=-1, axis2=-2 alone")
    return _numpy.where(_numpy.eye(D.shape[-1], dtype=bool), D[..., None], 0)


def _wrapped(value: _Any) -> _Any:
    return _joining(value) if getattr(value, "__name__", "") in _JOINED else value


__getattr__, __dir__ = _namespace(_recordable, _wrapped, ("ndarray",), globals())
