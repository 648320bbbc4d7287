"""Importing this declares the operations on functions of scipy.linalg."""

from tracejit.ops.scipy.linear_algebra import banded as banded
from tracejit.ops.scipy.linear_algebra import cholesky as cholesky
from tracejit.ops.scipy.linear_algebra import inverses as inverses
from tracejit.ops.scipy.linear_algebra import lu as lu
from tracejit.ops.scipy.linear_algebra import matrix_functions as matrix_functions
from tracejit.ops.scipy.linear_algebra import polar as polar
from tracejit.ops.scipy.linear_algebra import qr as qr
from tracejit.ops.scipy.linear_algebra import riccati as riccati
from tracejit.ops.scipy.linear_algebra import solvers as solvers
from tracejit.ops.scipy.linear_algebra import spectra as spectra
from tracejit.ops.scipy.linear_algebra import structured as structured
