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
    sparse: bool = False,
) -> Function[..., Any]:
    """Return a function that computes the matrix of second derivatives of `f`.

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
    chunk_size : int, default None
        The number of rows to compute at once, which bounds the memory. None takes all.
    sparse : bool, default False
        If True, the Hessian is a `scipy.sparse.csr_array` of shape (argument.size, argument.size).
        It needs SciPy.

    Returns
    -------
    Function
        A function that returns an array of shape (*argument.shape, *argument.shape). For several
        arguments or containers it returns their structure, twice. With `has_aux` it returns the
        pair (Hessian, auxiliary).

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument is not floating. A TypeError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.
    UnsupportedError
        If `sparse` is True and the Hessian is large and dense, or SciPy is not installed. A
        TypeError.

    Notes
    -----
    The gradient is differentiated in forward mode. It is differentiated in reverse mode
    if a custom gradient is not linear in its cotangent.

    With `sparse`, the pattern is read from the recorded operations, as by `jacobian`. An element
    that is computed with others in one column is taken from its row, since the matrix is symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.hessian(lambda x: x[0] * x[1] ** 2)(np.array([3.0, 2.0]))
    array([[0., 4.],
           [4., 6.]])
    """
    python = callable_of("hessian", f)
    request = request_of("hessian", argnums, argnames, has_aux)
    slope: Function[..., Any] = Function(python, request, options_of(f))
    return jacobian_function(
        "hessian", slope, argnums, argnames, "auto", has_aux, chunk_size, sparse=sparse
    )
