"""scipy.special, recordable.

>>> import numpy as np
>>> import tracejit as tj
>>> from tracejit.scipy import special
>>> tj.grad(lambda x: np.sum(special.gammaln(x)))(np.array([1.0, 2.0]))
array([-0.57721566,  0.42278434])
"""

from __future__ import annotations

from typing import Any

import scipy.special

from tracejit.ops.scipy import special as special  # the records
from tracejit.trace.tensor.namespaces import namespace, recordable


def _wrapped(member: Any) -> Any:
    """SciPy's own kind of ufunc, which no protocol dispatches."""
    return recordable(member) if type(member).__name__ == "MultiUFunc" else None


__getattr__, __dir__ = namespace(scipy.special, _wrapped)
