"""scipy.stats.t, recordable, as a module under autograd's name."""

from tracejit.scipy import stats

__getattr__, __dir__ = stats.t.__getattr__, stats.t.__dir__
