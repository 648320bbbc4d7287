"""scipy.stats: distributions and a few statistics, as formulas.

Values agree with SciPy's to 1e-12 of their size, and those of a logarithm to 1e-12 of its argument,
but not bit for bit. Outside of a distribution's support the gradient is zero; where a parameter is
invalid the result is nan, as SciPy has it.
"""

from tracejit.ops.scipy.stats import bounded as bounded
from tracejit.ops.scipy.stats import continuous as continuous
from tracejit.ops.scipy.stats import densities as densities
from tracejit.ops.scipy.stats import discrete as discrete
from tracejit.ops.scipy.stats import families as families
from tracejit.ops.scipy.stats import multivariate as multivariate
from tracejit.ops.scipy.stats import positive as positive
from tracejit.ops.scipy.stats import statistics as statistics
