"""numpy.fft under autograd's name."""

from numpy.fft import *
