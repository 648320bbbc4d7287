"""Boxes: autograd's wrappers of values that it follows. Here they are Tensors."""

from __future__ import annotations

from typing import Any

from tracejit.api.markers import stop_gradient
from tracejit.trace.tensor.tensor import TENSORS


class _OfTensors(type):
    """The class of classes whose instances are the Tensors."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) in TENSORS


class Box(metaclass=_OfTensors):
    """The class of all that is followed: `isinstance(x, Box)` is true of a Tensor.

    >>> import tracejit as tj
    >>> isinstance(tj.constant(1.0), Box), isinstance(1.0, Box)
    (True, False)
    """


def isbox(x: Any) -> bool:
    """Return whether `x` is followed.

    >>> isbox(1.0)
    False
    """
    return isinstance(x, Box)


def getval(x: Any) -> Any:
    """Return the value of `x`, through which no gradient flows.

    >>> from tracejit.autograd import grad
    >>> grad(lambda x: x * getval(x))(3.0)
    np.float64(3.0)
    """
    return stop_gradient(x) if isbox(x) else x
