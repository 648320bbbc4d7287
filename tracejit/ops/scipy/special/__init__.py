"""Every function of scipy.special that is recorded, by family."""

from tracejit.ops.scipy.special import (
    airy,
    bessel,
    distributions,
    elementary,
    elliptic,
    error_functions,
    gamma,
    harmonics,
    hypergeometric,
    integrals,
    polynomials,
    softmax,
)

__all__ = [
    "airy",
    "bessel",
    "distributions",
    "elementary",
    "elliptic",
    "error_functions",
    "gamma",
    "harmonics",
    "hypergeometric",
    "integrals",
    "polynomials",
    "softmax",
]
