"""SciPy for code that is not converted: `import tracejit.scipy.special as special`, and so on.

In a function that is converted, SciPy's own names do the same. Each module in here is SciPy's of
that name. A call with a Tensor is recorded, or refused by name; any other is SciPy's own.
"""
