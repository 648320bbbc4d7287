"""scipy.signal, recordable.

>>> import numpy as np
>>> import tracejit as tj
>>> from tracejit.scipy import signal
>>> tj.grad(lambda x: np.sum(signal.convolve(x, [1.0, 2.0])))(np.zeros(3))
array([3., 3., 3.])
"""

from __future__ import annotations

import scipy.signal

from tracejit.ops.scipy import signal as signal  # the records
from tracejit.trace.tensor.namespaces import namespace

__getattr__, __dir__ = namespace(scipy.signal)
