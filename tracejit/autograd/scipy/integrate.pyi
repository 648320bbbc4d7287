"""scipy.integrate under autograd's name."""

from tracejit.scipy.integrate import *
from tracejit.scipy.integrate import __getattr__ as __getattr__
