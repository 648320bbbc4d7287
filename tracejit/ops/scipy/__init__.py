"""Operations on SciPy's functions, declared as NumPy's are; importing this imports SciPy."""

from tracejit.ops.scipy.base import library as library
