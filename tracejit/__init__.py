"""tracejit: plain NumPy functions, recorded once, as readable generated NumPy for value and
gradient.

>>> import numpy as np
>>> import tracejit as tj
>>> @tj.function
... def loss(w, x):
...     return np.sum(np.tanh(x @ w) ** 2)
>>> value, slope = tj.value_and_grad(loss)(np.zeros(3), np.ones((2, 3)))
>>> slope
array([0., 0., 0.])
"""

from tracejit import cache, ops
from tracejit.api import arrays as _arrays  # noqa: F401  calls of NumPy's are routed there
from tracejit.api import random
from tracejit.api.callbacks import callback
from tracejit.api.checks import check_grads
from tracejit.api.configuration import config
from tracejit.api.control_flow import cond, switch, while_loop
from tracejit.api.derivatives import deriv, elementwise_grad
from tracejit.api.export import export
from tracejit.api.gradients import grad, value_and_grad
from tracejit.api.hessian import hessian
from tracejit.api.jacobian import jacfwd, jacobian, jacrev
from tracejit.api.loops import fori_loop, scan
from tracejit.api.markers import custom_gradient, grad_pass_through, recompute_grad, stop_gradient
from tracejit.api.registry import no_gradient, primitive, register_gradient
from tracejit.api.transforms import hvp, jvp, linearize, vjp
from tracejit.api.vmap import vmap
from tracejit.compiler.kernel import Kernel, load
from tracejit.convert.exclusions import as_is as as_is
from tracejit.debug.stepping import set_trace
from tracejit.debug.switch import debug_nans
from tracejit.eager.accumulator import ForwardAccumulator
from tracejit.eager.constants import constant
from tracejit.eager.recorded_gradients import gradients
from tracejit.eager.tape import GradientTape
from tracejit.eager.targets import UnconnectedGradients
from tracejit.solvers import routes as _routes  # noqa: F401  calls of SciPy's are routed there
from tracejit.specialise.eager_mode import eager
from tracejit.specialise.function import Function, function
from tracejit.support import errors
from tracejit.support.errors import TracejitError, TracejitWarning
from tracejit.support.options import Options
from tracejit.trace.arguments.signature import TensorSpec
from tracejit.trace.recording.variable import Variable
from tracejit.trace.tensor.tensor import Tensor
from tracejit.version import __version__

checkpoint = recompute_grad

__all__ = [
    "ForwardAccumulator",
    "Function",
    "GradientTape",
    "Kernel",
    "Options",
    "Tensor",
    "TensorSpec",
    "TracejitError",
    "TracejitWarning",
    "UnconnectedGradients",
    "Variable",
    "__version__",
    "as_is",
    "cache",
    "callback",
    "check_grads",
    "checkpoint",
    "cond",
    "config",
    "constant",
    "custom_gradient",
    "debug_nans",
    "deriv",
    "eager",
    "elementwise_grad",
    "errors",
    "export",
    "fori_loop",
    "function",
    "grad",
    "grad_pass_through",
    "gradients",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "load",
    "no_gradient",
    "ops",
    "primitive",
    "random",
    "recompute_grad",
    "register_gradient",
    "scan",
    "set_trace",
    "stop_gradient",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
