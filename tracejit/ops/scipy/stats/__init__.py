"""scipy.stats: distributions and a few statistics, as formulas.

Values are SciPy's to 1e-12 of their size, a logarithm's to that of what it is taken of, and not bit
for bit. Outside of a distribution's support the gradient is zero; where a parameter is invalid the
result is nan, as SciPy has it.
"""

from __future__ import annotations

from tracejit.ops.scipy.stats import continuous, discrete, families, multivariate, statistics

__all__ = ["continuous", "discrete", "families", "multivariate", "statistics"]
