"""scipy.ndimage, recordable.

>>> import numpy as np
>>> import tracejit as tj
>>> from tracejit.scipy import ndimage
>>> tj.grad(lambda x: ndimage.uniform_filter1d(x, 3)[0])(np.zeros(4))
array([0.66666667, 0.33333333, 0.        , 0.        ])
"""

from __future__ import annotations

import scipy.ndimage

from tracejit.ops.scipy import ndimage as ndimage  # the records
from tracejit.trace.tensor.namespaces import namespace

__getattr__, __dir__ = namespace(scipy.ndimage)
