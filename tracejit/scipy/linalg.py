"""scipy.linalg, recordable.

>>> import numpy as np
>>> import tracejit as tj
>>> from tracejit.scipy import linalg
>>> tj.grad(lambda a: np.sum(linalg.expm(a)))(np.zeros((2, 2)))
array([[1., 1.],
       [1., 1.]])
"""

from __future__ import annotations

import scipy.linalg

from tracejit.ops.scipy import linalg as linalg  # the records
from tracejit.trace.tensor.namespaces import namespace

__getattr__, __dir__ = namespace(scipy.linalg)
