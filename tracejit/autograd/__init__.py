"""The names of autograd, on top of tracejit.

`import tracejit.autograd as autograd` and `import tracejit.autograd.numpy as np` run a program that
was written for autograd. Arguments, results and the convention for complex gradients are autograd's
here; kernels, errors and the rest are tracejit's.

>>> import tracejit.autograd.numpy as np
>>> from tracejit.autograd import grad
>>> grad(lambda x, y: np.sum(x * y), argnum=1)(np.ones(2), np.zeros(2))
array([1., 1.])
"""

from tracejit.autograd.builtins import dict, isinstance, list, tuple, type
from tracejit.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from tracejit.autograd.extend import primitive

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]
