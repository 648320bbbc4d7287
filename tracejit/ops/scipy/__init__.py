"""Operations on SciPy's functions, declared as NumPy's are; importing this imports SciPy."""

from tracejit.ops.scipy import library as library
from tracejit.ops.scipy import special as special
