"""Derivatives element by element, and by one argument that moves as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.api.derived import Sources, callable_of, recorded_as, remembered, typed_as
from tracejit.api.gradients import grad
from tracejit.autodiff.request.request import cotangents_of, request_of, tangents_of
from tracejit.specialise.function import Function
from tracejit.specialise.pickling import recallable
from tracejit.support.errors import fail
from tracejit.trace.source import places
from tracejit.trace.structure.trees import unflatten

if TYPE_CHECKING:
    from tracejit.support.typing import Argnames, Argnums


@typed_as(grad)
@places.at_the_users_line
@remembered
@recallable
def elementwise_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
) -> Function[..., Any]:
    """Return a function that computes the derivative of each element by itself.

    Use it for functions that work on each element by itself. It is the gradient of the sum of the
    result.

    Parameters
    ----------
    f : callable
        A function of arrays whose result has the shape of the argument.
    argnums : int or tuple of int, default 0
        The positions of the arguments to differentiate with respect to.
    argnames : str or tuple of str, default None
        The names of these arguments. Give either names or positions.
    has_aux : bool, default False
        If True, `f` returns a pair (result, auxiliary). Only the result is differentiated.

    Returns
    -------
    Function
        A function that returns the derivatives: an array of the shape and dtype of the argument.
        With `has_aux` it returns the pair (derivatives, auxiliary).

    Raises
    ------
    GradientError
        If a chosen argument is not floating. A TypeError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.elementwise_grad(lambda x: x**2)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    python = callable_of("elementwise_grad", f)
    request = request_of("elementwise_grad", argnums, argnames, has_aux)

    def slopes(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, args, kwargs)
        ys, _, auxiliary = sources.call()
        seeds = [np.ones_like(y) if y.type.is_inexact else None for y in ys]
        found = sources.rebuilt(cotangents_of(ys, sources.tensors, seeds, sources.nodes))
        return (found, auxiliary) if has_aux else found

    return recorded_as(f, slopes)


@places.at_the_users_line
@remembered
@recallable
def deriv(
    f: Callable[..., Any], argnums: int = 0, *, argnames: str | None = None, has_aux: bool = False
) -> Function[..., Any]:
    """Return a function that computes the derivative of `f` with respect to one number.

    The result may have any shape. This is forward mode along a direction of ones, so an array
    argument moves as a whole.

    Parameters
    ----------
    f : callable
        A function that returns arrays of any shape.
    argnums : int, default 0
        The position of the argument to differentiate with respect to.
    argnames : str, default None
        The name of this argument. Give either a name or a position.
    has_aux : bool, default False
        If True, `f` returns a pair (result, auxiliary). Only the result is differentiated.

    Returns
    -------
    Function
        A function that returns the derivative, in the structure and shapes of the result. With
        `has_aux` it returns the pair (derivative, auxiliary).

    Raises
    ------
    GradientError
        If several arguments are chosen, or the argument is not floating. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.deriv(lambda t: np.stack([np.cos(t), np.sin(t)]))(0.0)
    array([-0.,  1.])
    """
    python = callable_of("deriv", f)
    request = request_of("deriv", argnums, argnames, has_aux)
    if not request.single:
        problem = (
            f"it differentiates with respect to one argument, got argnums={argnums!r} and "
            f"argnames={argnames!r}"
        )
        raise fail("transform-option", places.here(), transform="tj.deriv", problem=problem)

    def slopes(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, args, kwargs)
        ys, structure, auxiliary = sources.call()
        dots = [np.ones_like(x) for x in sources.tensors]
        found = unflatten(structure, tangents_of(ys, sources.tensors, dots, sources.nodes))
        return (found, auxiliary) if has_aux else found

    return recorded_as(f, slopes)
