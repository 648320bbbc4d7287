"""numpy.random under autograd's name. What a recorded function draws is drawn anew at each call.

>>> import tracejit.autograd.numpy.random as npr
>>> from tracejit.autograd import grad
>>> rs, again = npr.RandomState(0), npr.RandomState(0)
>>> slope = grad(lambda x: x * rs.randn())
>>> [slope(1.0) == again.randn() for _ in range(2)]
[np.True_, np.True_]
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.api.callbacks import callback
from tracejit.trace.arguments.signature import TensorSpec
from tracejit.trace.recording.active import OF_TRANSFORM
from tracejit.trace.recording.record import current_recording, outside_recordings
from tracejit.trace.structure.trees import map_tree
from tracejit.trace.tensor.namespaces import namespace

_OTHERS = frozenset(("seed", "get_state", "set_state", "shuffle", "bytes"))


def _drawn(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a RandomState, called at each call of a function that is recorded."""

    @functools.wraps(method)
    def draw(*args: Any, **kwargs: Any) -> Any:
        if current_recording() is None:
            return method(*args, **kwargs)
        with outside_recordings():
            example = getattr(np.random.RandomState(0), method.__name__)(*args, **kwargs)
        result = map_tree(lambda x: TensorSpec(np.shape(x), np.result_type(x)), example)
        drawn = callback(functools.partial(method, *args, **kwargs), result=result)
        return map_tree(lambda x: x if np.shape(x) else x[()], drawn)

    vars(draw)[OF_TRANSFORM] = "reader"
    return draw


class RandomState(np.random.RandomState):
    """NumPy's RandomState, with the same numbers, which recorded functions may capture."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return found if name[0] == "_" or name in _OTHERS else _drawn(found)


def _wrapped(value: Any) -> Any:
    if value is np.random.RandomState:
        return RandomState
    name = getattr(value, "__name__", "")
    is_draw = isinstance(getattr(value, "__self__", None), np.random.RandomState)
    return _drawn(value) if is_draw and name not in _OTHERS else value


__getattr__, __dir__ = namespace(np.random, _wrapped, (), globals())
