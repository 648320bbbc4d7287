"""Every function of scipy.special that is recorded, by family."""

from tracejit.ops.scipy.special import airy as airy
from tracejit.ops.scipy.special import bessel as bessel
from tracejit.ops.scipy.special import distributions as distributions
from tracejit.ops.scipy.special import elementary as elementary
from tracejit.ops.scipy.special import elliptic as elliptic
from tracejit.ops.scipy.special import error_functions as error_functions
from tracejit.ops.scipy.special import gamma as gamma
from tracejit.ops.scipy.special import harmonics as harmonics
from tracejit.ops.scipy.special import hypergeometric as hypergeometric
from tracejit.ops.scipy.special import integrals as integrals
from tracejit.ops.scipy.special import polynomials as polynomials
from tracejit.ops.scipy.special import python_functions as python_functions
from tracejit.ops.scipy.special import softmax as softmax
