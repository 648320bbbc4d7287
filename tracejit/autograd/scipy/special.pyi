"""scipy.special under autograd's name."""

from tracejit.scipy.special import *
from tracejit.scipy.special import __getattr__ as __getattr__
