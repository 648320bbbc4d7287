"""The packages of SciPy whose routines are recorded here: imported when one is first called."""

from tracejit.trace.convert.rules import LATE

LATE["scipy.optimize"] = "tracejit.solvers.optimize"
LATE["scipy.integrate"] = "tracejit.solvers.integrate"
