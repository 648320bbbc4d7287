"""scipy.interpolate, recordable: interpolators hold recorded arrays.

>>> import numpy as np
>>> import tracejit as tj
>>> from tracejit.scipy import interpolate
>>> f = lambda y: interpolate.CubicSpline([0.0, 1.0, 2.0], y)(0.5)[()]
>>> tj.grad(f)(np.array([0.0, 1.0, 4.0]))
array([ 0.375,  0.75 , -0.125])
"""

from __future__ import annotations

import scipy.interpolate

from tracejit.ops.base.op import HANDLERS
from tracejit.ops.scipy import interpolate as interpolate  # the records
from tracejit.trace.tensor.namespaces import namespace

__getattr__, __dir__ = namespace(scipy.interpolate, HANDLERS.get)
