"""NumPy for code that is not converted: `import tracejit.numpy as np`.

In a function that is converted, NumPy's own names do the same. Under an eager tape, in code without
source, and in functions marked with `tj.as_is`, take NumPy from here. It is NumPy, but its
functions that make arrays make ones that can hold what is recorded, and every function takes
lists of recorded arrays. Arrays of integers made of numbers alone (`np.arange(3)`) stay NumPy's.

>>> import tracejit as tj
>>> import tracejit.numpy as np
>>> x = tj.Variable([1.0, 3.0])
>>> with tj.GradientTape() as tape:
...     y = np.zeros(2)
...     y[0] = x[1] ** 2
...     total = np.sum(y)
>>> tape.gradient(total, x)
<Tensor f8[2] [0. 6.]>
"""

from __future__ import annotations

import numpy as _numpy

from tracejit.api.arrays import wrapped as _wrapped
from tracejit.trace.tensor.namespaces import namespace as _namespace

__all__ = list(_numpy.__all__)
__getattr__, __dir__ = _namespace(_numpy, _wrapped, fresh=("ndarray",), known=globals())
