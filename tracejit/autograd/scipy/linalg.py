"""scipy.linalg, recordable: `tracejit.scipy.linalg` under autograd's name."""

from tracejit.scipy.linalg import __dir__ as __dir__
from tracejit.scipy.linalg import __getattr__ as __getattr__
