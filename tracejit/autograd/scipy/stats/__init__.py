"""scipy.stats, recordable: `tracejit.scipy.stats` under autograd's name."""

from tracejit.scipy.stats import __dir__ as __dir__
from tracejit.scipy.stats import __getattr__ as __getattr__
