"""scipy.integrate, recordable: `tracejit.scipy.integrate` under autograd's name."""

from tracejit.scipy.integrate import __dir__ as __dir__
from tracejit.scipy.integrate import __getattr__ as __getattr__
