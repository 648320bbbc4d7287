"""Operations on SciPy's functions, declared as NumPy's are; importing this imports SciPy."""

from tracejit.ops.scipy import library, special

__all__ = ["library", "special"]
