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
    """Return a function that computes the gradient of `f`.

    It takes the arguments of `f`. Call it as often as you like: `f` is recorded at the first call,
    and generated NumPy code runs from then on.

    Parameters
    ----------
    f : callable
        A function of arrays that returns one real number.
    argnums : int or tuple of int, default 0
        The positions of the arguments to differentiate with respect to.
    argnames : str or tuple of str, default None
        The names of these arguments. Give either names or positions.
    has_aux : bool, default False
        If True, `f` returns a pair (value, auxiliary). Only the value is differentiated.

    Returns
    -------
    Function
        A function that returns the gradient: an array of the shape and dtype of the argument. For a
        container of arrays it is a container of gradients, and for several arguments a tuple. It is
        zero if `f` does not depend on an element. With `has_aux` the function returns the pair
        (gradient, auxiliary).

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument is not floating. A TypeError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.

    Notes
    -----
    The gradient g with respect to a complex argument z satisfies df = Re(sum(conj(g) * dz)).

    Examples
    --------
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
    """Return a function that computes the value of `f` and its gradient together.

    It can be passed directly to `scipy.optimize.minimize(..., jac=True)`.

    Parameters
    ----------
    f : callable
        A function of arrays that returns one real number.
    argnums : int or tuple of int, default 0
        The positions of the arguments to differentiate with respect to.
    argnames : str or tuple of str, default None
        The names of these arguments. Give either names or positions.
    has_aux : bool, default False
        If True, `f` returns a pair (value, auxiliary). Only the value is differentiated.

    Returns
    -------
    Function
        A function that returns the pair (value, gradient), with the gradient as `grad` returns it.
        With `has_aux` it returns ((value, auxiliary), gradient). Gradients are new arrays.

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument is not floating. A TypeError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> fit = tj.value_and_grad(lambda x: np.sum(x**2))
    >>> value, gradient = fit(np.array([1.0, 2.0]))
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
