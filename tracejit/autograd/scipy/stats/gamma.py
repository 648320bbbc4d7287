"""scipy.stats.gamma, recordable, as a module under autograd's name."""

from tracejit.scipy import stats

__getattr__, __dir__ = stats.gamma.__getattr__, stats.gamma.__dir__
