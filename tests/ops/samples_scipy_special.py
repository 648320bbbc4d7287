"""Samples of scipy.special."""

from __future__ import annotations

from scipy import special as sc
from table import Sample, normal, positive

from tracejit.ops.scipy.special import zeta

SAMPLES = [
    Sample("erf", sc.erf, (normal(3, 2),), holomorphic=False),
    Sample("gammaln", sc.gammaln, (positive(4),), holomorphic=False),
    Sample("psi", sc.psi, (positive(4),), holomorphic=False),
    Sample("zeta", lambda q: zeta(2.0, q), (positive(4) + 1.0,), holomorphic=False),
]
