"""SciPy under autograd's names: the modules of `tracejit.scipy`."""
