"""`grad` and `value_and_grad`: gradients of a scalar function with respect to some of its
arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracejit.api.derived import callable_of, options_of, remembered
from tracejit.autodiff.request.request import request_of
from tracejit.specialise.function import Function
from tracejit.trace.source import places

if TYPE_CHECKING:
    from tracejit.support.typing import Argnames, Argnums


@places.at_the_users_line
@remembered
def grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
) -> Function[..., Any]:
    """The gradient of `f`, which returns one real float.

    Answers, for each chosen argument, an array of its shape and dtype (containers of them for
    containers): the gradient alone for one argument, a tuple for several. Zeros where `f` does
    not depend on it. With `has_aux`, `f` returns (value, auxiliary) and the answer is (gradient,
    auxiliary). The gradient with respect to a complex argument z satisfies df = Re(sum(conj(grad)
    * dz)).

    Raises GradientError (a TypeError) where the result is no real scalar or an argument is not
    floating, and NoGradientError (a LookupError) where an operation on the path has no rule.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return _transform("grad", f, argnums, argnames, has_aux)


@places.at_the_users_line
@remembered
def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
) -> Function[..., Any]:
    """The value of `f` and its gradient, computed together: (value, gradient), as `grad`
    describes it.

    With `has_aux` the value is (value, auxiliary). Fits scipy.optimize.minimize(..., jac=True):
    the value is a float, gradients are new contiguous arrays. Raises as `grad` does.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> value, gradient = tj.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """
    return _transform("value_and_grad", f, argnums, argnames, has_aux)


def _transform(
    transform: str,
    f: Callable[..., Any],
    argnums: Argnums,
    argnames: Argnames | None,
    has_aux: bool,
) -> Function[..., Any]:
    python = callable_of(transform, f)
    request = request_of(transform, argnums, argnames, has_aux)
    return Function(python, request, options_of(f))
