"""numpy.random under autograd's name."""

from numpy.random import *
