"""scipy.stats under autograd's name."""

from tracejit.scipy.stats import *
from tracejit.scipy.stats import __getattr__ as __getattr__
