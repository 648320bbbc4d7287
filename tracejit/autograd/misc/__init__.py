"""Helpers of autograd.misc: parameters as one vector, and simple optimisers."""

from tracejit.autograd.misc.flatten import flatten as flatten
from tracejit.autograd.misc.flatten import flatten_func as flatten_func
