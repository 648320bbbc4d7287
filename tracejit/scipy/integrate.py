"""scipy.integrate, recordable.

>>> import numpy as np
>>> import tracejit as tj
>>> from tracejit.scipy import integrate
>>> tj.grad(lambda y: integrate.trapezoid(y, dx=2.0))(np.zeros(3))
array([1., 2., 1.])
"""

from __future__ import annotations

import scipy.integrate

from tracejit.ops.scipy import integrate as integrate  # the records
from tracejit.solvers import integrate as _routines  # noqa: F401  those of what calls functions
from tracejit.trace.convert.rules import rule_of
from tracejit.trace.tensor.namespaces import namespace

__getattr__, __dir__ = namespace(scipy.integrate, rule_of)
