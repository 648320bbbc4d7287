"""scipy.special, recordable: `tracejit.scipy.special` under autograd's name."""

from tracejit.scipy.special import __dir__ as __dir__
from tracejit.scipy.special import __getattr__ as __getattr__
