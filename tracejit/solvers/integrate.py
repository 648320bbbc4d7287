"""scipy.integrate, recorded."""

from tracejit.ops.scipy.base import library as library  # as generated code calls SciPy
from tracejit.solvers import integrals as integrals
from tracejit.solvers import trajectories as trajectories
