"""SciPy's routines that call functions of the user's: solvers, integrals, initial values."""
