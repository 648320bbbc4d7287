"""Declarations of SciPy's functions: as ufuncs, and as calls of a library."""
