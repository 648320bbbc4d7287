"""Importing this declares the operations on functions of scipy.linalg."""

from tracejit.ops.scipy import banded as banded
from tracejit.ops.scipy import cholesky as cholesky
from tracejit.ops.scipy import inverses as inverses
from tracejit.ops.scipy import lu as lu
from tracejit.ops.scipy import matrix_functions as matrix_functions
from tracejit.ops.scipy import polar as polar
from tracejit.ops.scipy import qr as qr
from tracejit.ops.scipy import riccati as riccati
from tracejit.ops.scipy import solvers as solvers
from tracejit.ops.scipy import spectra as spectra
from tracejit.ops.scipy import structured as structured
