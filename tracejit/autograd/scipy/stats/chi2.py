"""scipy.stats.chi2, recordable, as a module under autograd's name."""

from tracejit.scipy import stats

__getattr__, __dir__ = stats.chi2.__getattr__, stats.chi2.__dir__
