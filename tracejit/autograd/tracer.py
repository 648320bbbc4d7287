"""Names of autograd.tracer: the boxes around differentiated values, and the values in them."""

from tracejit.autograd.boxes import Box as Box
from tracejit.autograd.boxes import getval as getval
from tracejit.autograd.boxes import isbox as isbox
from tracejit.autograd.extend import notrace_primitive as notrace_primitive
from tracejit.autograd.extend import primitive as primitive
