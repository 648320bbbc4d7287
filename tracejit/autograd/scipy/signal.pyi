"""scipy.signal under autograd's name."""

from tracejit.scipy.signal import *
from tracejit.scipy.signal import __getattr__ as __getattr__
