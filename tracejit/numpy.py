"""NumPy, with arrays that can hold what is being recorded: `import tracejit.numpy as np`.

Everything in here is NumPy's own, but that while a function is recorded, or a tape is open, the
functions that make arrays make ones that are recorded: what is written into them is, too. Outside,
they make NumPy's arrays. Lists of recorded arrays are taken by every function that is known.

Arrays of integers made of numbers alone (`np.arange(3)`, `np.array([0, 2])`) stay NumPy's: they are
what indices are made of. `np.empty` makes zeros where it is recorded, and so does `np.ndarray`
where a statement only calls it; elsewhere that is NumPy's class. Ufuncs are equal to NumPy's, but
other objects.

>>> import tracejit as tj
>>> import tracejit.numpy as np
>>> @tj.function
... def cumulative(x):
...     total = np.zeros(x.shape)
...     total[0] = x[0]
...     for i in range(1, len(x)):
...         total[i] = total[i - 1] + x[i]
...     return total
>>> cumulative(np.array([1.0, 2.0, 3.0]))
array([1., 3., 6.])
"""

from __future__ import annotations

import numpy as _numpy

from tracejit.api.arrays import wrapped as _wrapped
from tracejit.trace.tensor.namespaces import namespace as _namespace

__all__ = list(_numpy.__all__)
__getattr__, __dir__ = _namespace(_numpy, _wrapped, fresh=("ndarray",), known=globals())
