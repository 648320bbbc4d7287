"""scipy.optimize, recorded."""

from tracejit.ops.scipy.base import library as library  # as generated code calls SciPy
from tracejit.solvers import minima as minima
from tracejit.solvers import roots as roots
