"""scipy.fft, recordable.

>>> import numpy as np
>>> import tracejit as tj
>>> from tracejit.scipy import fft
>>> tj.grad(lambda x: fft.dct(x)[0])(np.zeros(3))
array([2., 2., 2.])
"""

from __future__ import annotations

from typing import Any

import scipy.fft

from tracejit.ops.scipy import fourier as fourier  # the records
from tracejit.trace.tensor.namespaces import namespace, recordable


def _wrapped(value: Any) -> Any:
    """SciPy's functions that have several implementations."""
    return recordable(value) if type(value).__name__ == "_Function" else None


__getattr__, __dir__ = namespace(scipy.fft, _wrapped)
