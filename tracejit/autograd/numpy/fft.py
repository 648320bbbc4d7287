"""numpy.fft under autograd's name."""

import numpy

from tracejit.trace.tensor.namespaces import namespace

__getattr__, __dir__ = namespace(numpy.fft, lambda value: value, (), globals())
