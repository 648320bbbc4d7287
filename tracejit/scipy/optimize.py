"""scipy.optimize, recordable.

>>> import tracejit as tj
>>> from tracejit.scipy import optimize
>>> def root(a):
...     return optimize.brentq(lambda x: x**2 - a, 0.0, 4.0)
>>> round(float(tj.grad(root)(4.0)), 6)
0.25
"""

from __future__ import annotations

import scipy.optimize

from tracejit.solvers import optimize as optimize  # the records
from tracejit.trace.convert.rules import rule_of
from tracejit.trace.tensor.namespaces import namespace

__getattr__, __dir__ = namespace(scipy.optimize, rule_of)
