"""Helpers of autograd.misc: parameters as one vector, and simple optimisers."""

from tracejit.autograd.misc.flatten import flatten as flatten
from tracejit.autograd.misc.flatten import flatten_func as flatten_func
from tracejit.autograd.misc.tracers import const_graph as const_graph
