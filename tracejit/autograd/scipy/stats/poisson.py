"""scipy.stats.poisson, recordable, as a module under autograd's name."""

from tracejit.scipy import stats

__getattr__, __dir__ = stats.poisson.__getattr__, stats.poisson.__dir__
