"""NumPy under the name that autograd's own modules have for it."""

import tracejit.autograd.numpy as _numpy
from tracejit.trace.tensor.namespaces import namespace as _namespace

__getattr__, __dir__ = _namespace(_numpy, lambda value: value, ("ndarray",), globals())
