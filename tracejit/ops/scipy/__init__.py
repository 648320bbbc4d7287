"""Operations on SciPy's functions, declared as NumPy's are; importing this imports SciPy."""

import scipy

from tracejit.ops.op import LIBRARIES
from tracejit.ops.scipy import special

__all__ = ["special"]

LIBRARIES["scipy"] = scipy
