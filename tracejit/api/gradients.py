"""`grad` and `value_and_grad`: gradients of a scalar function with respect to some of its
arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from tracejit.api.derived import callable_of, options_of, remembered
from tracejit.autodiff.request import request_of
from tracejit.specialise.function import Function
from tracejit.trace import places

if TYPE_CHECKING:
    import numpy as np

    from tracejit.support.typing import (
        A,
        Argnames,
        Argnums,
        First,
        FirstThree,
        FirstTwo,
        No,
        One,
        P,
        R,
        Two,
        X,
        Y,
        Yes,
        Z,
        Zero,
    )


@overload
def grad(
    f: np.ufunc, argnums: Argnums = 0, *, argnames: Argnames | None = None, has_aux: bool = False
) -> Function[..., Any]: ...
@overload
def grad(
    f: First[P, X, Any], argnums: Zero = 0, *, argnames: None = None, has_aux: No = False
) -> Function[P, X]: ...
@overload
def grad(
    f: FirstTwo[P, X, Y, Any], argnums: One, *, argnames: None = None, has_aux: No = False
) -> Function[P, Y]: ...
@overload
def grad(
    f: FirstThree[P, X, Y, Z, Any], argnums: Two, *, argnames: None = None, has_aux: No = False
) -> Function[P, Z]: ...
@overload
def grad(
    f: FirstTwo[P, X, Y, Any],
    argnums: tuple[Zero, One],
    *,
    argnames: None = None,
    has_aux: No = False,
) -> Function[P, tuple[X, Y]]: ...
@overload
def grad(
    f: FirstThree[P, X, Y, Z, Any],
    argnums: tuple[Zero, One, Two],
    *,
    argnames: None = None,
    has_aux: No = False,
) -> Function[P, tuple[X, Y, Z]]: ...
@overload
def grad(
    f: First[P, X, tuple[Any, A]], argnums: Zero = 0, *, argnames: None = None, has_aux: Yes
) -> Function[P, tuple[X, A]]: ...
@overload
def grad(
    f: FirstTwo[P, X, Y, tuple[Any, A]],
    argnums: tuple[Zero, One],
    *,
    argnames: None = None,
    has_aux: Yes,
) -> Function[P, tuple[tuple[X, Y], A]]: ...
@overload
def grad(
    f: Callable[P, Any], argnums: Argnums, *, argnames: None = None, has_aux: No = False
) -> Function[P, Any]: ...
@overload
def grad(
    f: Callable[P, Any], argnums: Argnums = 0, *, argnames: Argnames, has_aux: No = False
) -> Function[P, Any]: ...
@overload
def grad(
    f: Callable[P, tuple[Any, A]],
    argnums: Argnums,
    *,
    argnames: Argnames | None = None,
    has_aux: Yes,
) -> Function[P, tuple[Any, A]]: ...
@overload
def grad(
    f: Callable[P, tuple[Any, A]], argnums: Argnums = 0, *, argnames: Argnames, has_aux: Yes
) -> Function[P, tuple[Any, A]]: ...
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


@overload
def value_and_grad(
    f: np.ufunc, argnums: Argnums = 0, *, argnames: Argnames | None = None, has_aux: bool = False
) -> Function[..., tuple[Any, Any]]: ...
@overload
def value_and_grad(
    f: First[P, X, R], argnums: Zero = 0, *, argnames: None = None, has_aux: No = False
) -> Function[P, tuple[R, X]]: ...
@overload
def value_and_grad(
    f: FirstTwo[P, X, Y, R], argnums: One, *, argnames: None = None, has_aux: No = False
) -> Function[P, tuple[R, Y]]: ...
@overload
def value_and_grad(
    f: FirstThree[P, X, Y, Z, R], argnums: Two, *, argnames: None = None, has_aux: No = False
) -> Function[P, tuple[R, Z]]: ...
@overload
def value_and_grad(
    f: FirstTwo[P, X, Y, R],
    argnums: tuple[Zero, One],
    *,
    argnames: None = None,
    has_aux: No = False,
) -> Function[P, tuple[R, tuple[X, Y]]]: ...
@overload
def value_and_grad(
    f: FirstThree[P, X, Y, Z, R],
    argnums: tuple[Zero, One, Two],
    *,
    argnames: None = None,
    has_aux: No = False,
) -> Function[P, tuple[R, tuple[X, Y, Z]]]: ...
@overload
def value_and_grad(
    f: First[P, X, tuple[R, A]], argnums: Zero = 0, *, argnames: None = None, has_aux: Yes
) -> Function[P, tuple[tuple[R, A], X]]: ...
@overload
def value_and_grad(
    f: FirstTwo[P, X, Y, tuple[R, A]],
    argnums: tuple[Zero, One],
    *,
    argnames: None = None,
    has_aux: Yes,
) -> Function[P, tuple[tuple[R, A], tuple[X, Y]]]: ...
@overload
def value_and_grad(
    f: Callable[P, R], argnums: Argnums, *, argnames: None = None, has_aux: No = False
) -> Function[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, R], argnums: Argnums = 0, *, argnames: Argnames, has_aux: No = False
) -> Function[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, tuple[R, A]], argnums: Argnums, *, argnames: Argnames | None = None, has_aux: Yes
) -> Function[P, tuple[tuple[R, A], Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, tuple[R, A]], argnums: Argnums = 0, *, argnames: Argnames, has_aux: Yes
) -> Function[P, tuple[tuple[R, A], Any]]: ...
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
