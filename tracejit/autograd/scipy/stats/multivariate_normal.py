"""scipy.stats.multivariate_normal, recordable, as a module under autograd's name."""

from tracejit.scipy import stats

__getattr__, __dir__ = stats.multivariate_normal.__getattr__, stats.multivariate_normal.__dir__
