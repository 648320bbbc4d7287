"""numpy.linalg under autograd's name."""

from numpy.linalg import *
