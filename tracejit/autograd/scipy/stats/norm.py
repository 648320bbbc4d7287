"""scipy.stats.norm, recordable, as a module under autograd's name."""

from tracejit.scipy import stats

__getattr__, __dir__ = stats.norm.__getattr__, stats.norm.__dir__
