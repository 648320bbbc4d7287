"""Hessians: the Jacobian of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracejit.api.derived import callable_of, options_of, remembered
from tracejit.api.jacobian import jacobian_function
from tracejit.autodiff.request.request import request_of
from tracejit.specialise.function import Function
from tracejit.specialise.pickling import recallable
from tracejit.trace.source import places

if TYPE_CHECKING:
    from tracejit.support.typing import Argnames, Argnums


@places.at_the_users_line
@remembered
@recallable
def hessian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[..., Any]:
    """The second derivatives of `f`, which returns one real float: an array of shape
    (*argument.shape, *argument.shape), for several arguments in their structure, twice.

    Forward over reverse; reverse over reverse where a gradient rule of the user's is not linear.
    With `has_aux`, `f` returns (value, auxiliary) and the answer is (Hessian, auxiliary).

    Raises as `jacobian` does, and GradientError where the result is no real scalar.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.hessian(lambda x: x[0] * x[1] ** 2)(np.array([3.0, 2.0]))
    array([[0., 4.],
           [4., 6.]])
    """
    python = callable_of("hessian", f)
    request = request_of("hessian", argnums, argnames, has_aux)
    slope: Function[..., Any] = Function(python, request, options_of(f))
    return jacobian_function("hessian", slope, argnums, argnames, "auto", has_aux, chunk_size)
