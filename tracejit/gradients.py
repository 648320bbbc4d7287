"""`grad` and `value_and_grad`: gradients of a scalar function with respect to some of its
arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from tracejit.differentiate import Request
from tracejit.errors import fail
from tracejit.function import Function
from tracejit.trace import places


def grad(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    has_aux: bool = False,
) -> Function:
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


def value_and_grad(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    has_aux: bool = False,
) -> Function:
    """The value of `f` and its gradient, computed together: (value, gradient), as `grad`
    describes it.

    With `has_aux` the value is (value, auxiliary). Fits scipy.optimize.minimize(..., jac=True):
    the value is a float, gradients are new contiguous arrays.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> value, gradient = tj.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """
    return _transform("value_and_grad", f, argnums, argnames, has_aux)


def _transform(
    transform: Literal["grad", "value_and_grad"],
    f: Callable[..., Any],
    argnums: int | tuple[int, ...],
    argnames: str | tuple[str, ...] | None,
    has_aux: bool,
) -> Function:
    if not callable(f):
        raise fail(
            "not-callable",
            places.here(),
            decorator=f"tj.{transform}",
            kind=type(f).__name__,
        )
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if names and argnums == 0:
        numbers = ()
    single = len(numbers) + len(names) == 1 and not (
        (isinstance(argnums, tuple) and numbers) or (isinstance(argnames, tuple) and names)
    )
    request = Request(transform, numbers, names, single, has_aux)
    if isinstance(f, Function) and not f.request.transform:
        return Function(f.python, request, f.options)
    return Function(f, request)
