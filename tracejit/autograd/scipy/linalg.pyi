"""scipy.linalg under autograd's name."""

from tracejit.scipy.linalg import *
from tracejit.scipy.linalg import __getattr__ as __getattr__
