"""scipy.stats.beta, recordable, as a module under autograd's name."""

from tracejit.scipy import stats

__getattr__, __dir__ = stats.beta.__getattr__, stats.beta.__dir__
