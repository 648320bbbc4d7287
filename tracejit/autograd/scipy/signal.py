"""scipy.signal, recordable: `tracejit.scipy.signal` under autograd's name."""

from tracejit.scipy.signal import __dir__ as __dir__
from tracejit.scipy.signal import __getattr__ as __getattr__
