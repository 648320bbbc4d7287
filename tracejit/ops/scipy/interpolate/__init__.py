"""scipy.interpolate: interpolators as formulas of their data and points.

Values are SciPy's to 1e-12. Knots, data and points may be recorded, each or all. Data that SciPy
would refuse for their numbers, as knots that do not increase, give nan where they are recorded.
"""

from tracejit.ops.scipy.interpolate import bsplines as bsplines
from tracejit.ops.scipy.interpolate import cubic as cubic
from tracejit.ops.scipy.interpolate import grids as grids
from tracejit.ops.scipy.interpolate import lines as lines
from tracejit.ops.scipy.interpolate import polynomials as polynomials
from tracejit.ops.scipy.interpolate import univariate as univariate
