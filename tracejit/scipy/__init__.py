"""SciPy whose functions are recorded: `import tracejit.scipy.special as special`, and so on.

Each module in here is SciPy's of that name. A call with a Tensor is recorded, or refused by name;
any other is SciPy's own. The ufuncs of scipy.special are recorded by their SciPy names too.
"""
