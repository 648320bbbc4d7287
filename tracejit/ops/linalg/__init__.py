"""Products, factorisations, norms and solvers of numpy.linalg."""
