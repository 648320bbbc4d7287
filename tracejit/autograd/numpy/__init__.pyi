"""NumPy under autograd's name: its types are NumPy's."""

from numpy import *

from tracejit.autograd.numpy import numpy_boxes as numpy_boxes
from tracejit.autograd.numpy import numpy_vjps as numpy_vjps
