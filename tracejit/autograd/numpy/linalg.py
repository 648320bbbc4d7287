"""numpy.linalg under autograd's name."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.api.markers import custom_gradient
from tracejit.trace.recording.active import OF_TRANSFORM
from tracejit.trace.tensor.namespaces import namespace, recorded_argument


def cholesky(A: Any) -> Any:
    """Return numpy.linalg.cholesky(A), its gradient divided evenly between both triangles of `A`.

    >>> from tracejit.autograd import elementwise_grad
    >>> elementwise_grad(cholesky)(np.eye(2))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    return np.linalg.cholesky(A if recorded_argument(A) is None else _symmetric(A))


@custom_gradient
def _symmetric(A: Any) -> Any:
    """A matrix that is read as a symmetric one."""
    return A, lambda g: 0.5 * (g + np.conj(np.swapaxes(g, -1, -2)))


vars(cholesky)[OF_TRANSFORM] = "reader"
__getattr__, __dir__ = namespace(np.linalg, lambda value: value, (), globals())
