"""scipy.stats.dirichlet, recordable, as a module under autograd's name."""

from tracejit.scipy import stats

__getattr__, __dir__ = stats.dirichlet.__getattr__, stats.dirichlet.__dir__
