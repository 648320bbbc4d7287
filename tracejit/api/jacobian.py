"""Jacobians: one batched pass over the directions of the argument or of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from tracejit.api.derived import Sources, callable_of, recorded_as, remembered, typed_as
from tracejit.api.jacobian_rows import rows_of
from tracejit.api.sparse_jacobian import SparseRows
from tracejit.autodiff.request.request import request_of
from tracejit.specialise.function import Function
from tracejit.specialise.pickling import recallable
from tracejit.support.errors import fail
from tracejit.trace.source import places
from tracejit.trace.structure.trees import unflatten

if TYPE_CHECKING:
    from tracejit.support.typing import Argnames, Argnums

Mode = Literal["auto", "fwd", "rev"]


@places.at_the_users_line
@remembered
@recallable
def jacobian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    mode: Mode = "auto",
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    sparse: bool = False,
) -> Function[..., Any]:
    """Return a function that computes the Jacobian: every result element by every argument element.

    All rows or columns are computed in one batched pass, with no Python loop.

    Parameters
    ----------
    f : callable
        A function of arrays that returns arrays of any shape.
    argnums : int or tuple of int, default 0
        The positions of the arguments to differentiate with respect to.
    mode : {"auto", "fwd", "rev"}, default "auto"
        Forward mode goes over the elements of the arguments, and reverse mode over the elements of
        the result. "auto" takes whichever has fewer elements, and forward mode for a tie.
    argnames : str or tuple of str, default None
        The names of the arguments. Give either names or positions.
    has_aux : bool, default False
        If True, `f` returns a pair (result, auxiliary). Only the result is differentiated.
    chunk_size : int, default None
        The number of rows or columns to compute at once, which bounds the memory. None takes all.
    sparse : bool, default False
        If True, the Jacobian is a `scipy.sparse.csr_array` of shape (result.size, argument.size).
        It needs SciPy.

    Returns
    -------
    Function
        A function that returns an array of shape (*result.shape, *argument.shape), in the structure
        of the result and then of the arguments. With `has_aux` it returns the pair (Jacobian,
        auxiliary).

    Raises
    ------
    GradientError
        If a chosen argument is not floating. A TypeError.
    UnsupportedError
        If `sparse` is True and the Jacobian is large and dense, or SciPy is not installed. A
        TypeError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.
    RuleTypeError
        If a custom gradient is not linear and `mode` is "fwd". "auto" uses reverse mode. A
        TypeError.

    Notes
    -----
    Forward mode refuses complex arguments, so "auto" uses reverse mode for them. There, a row is
    the result of the pullback of `vjp` for the cotangent 1.

    With `sparse`, the pattern is read from the recorded operations: an element is in it if the
    result may depend on the argument there, for any numbers. Columns that share no row are computed
    together, or rows if that takes fewer passes. A band takes one pass for each of its diagonals.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return jacobian_function(
        "jacobian", f, argnums, argnames, mode, has_aux, chunk_size, sparse=sparse
    )


def jacobian_function(
    transform: str,
    f: Callable[..., Any],
    argnums: Argnums,
    argnames: Argnames | None,
    mode: Mode,
    has_aux: bool,
    chunk_size: int | None,
    sparse: bool = False,
) -> Function[..., Any]:
    """The Function that `jacobian` makes, for the user's call of `transform`."""
    python = callable_of(transform, f)
    request = request_of(transform, argnums, argnames, has_aux)
    if mode not in ("auto", "fwd", "rev"):
        problem = f"mode={mode!r} is not a mode"
        raise fail("transform-option", places.here(), transform=f"tj.{transform}", problem=problem)
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        problem = f"chunk_size={chunk_size!r} is not a number of directions"
        raise fail("transform-option", places.here(), transform=f"tj.{transform}", problem=problem)

    def matrices(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, args, kwargs)
        ys, structure, auxiliary = sources.call()
        if sparse:
            rows = SparseRows(ys, sources, chunk_size, transform == "hessian").matrices(mode)
        else:
            rows = rows_of(ys, sources, mode, chunk_size)
        answers = unflatten(structure, [sources.rebuilt(row) for row in rows])
        return (answers, auxiliary) if has_aux else answers

    return recorded_as(f, matrices)


@places.at_the_users_line
@remembered
@recallable
def jacrev(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[..., Any]:
    """Return a function that computes the Jacobian in reverse mode.

    Use it if the argument has more elements than the result.

    Parameters
    ----------
    f : callable
        A function of arrays that returns arrays of any shape.
    argnums : int or tuple of int, default 0
        The positions of the arguments to differentiate with respect to.
    argnames : str or tuple of str, default None
        The names of these arguments. Give either names or positions.
    has_aux : bool, default False
        If True, `f` returns a pair (result, auxiliary). Only the result is differentiated.
    chunk_size : int, default None
        The number of rows to compute at once, which bounds the memory. None takes all.

    Returns
    -------
    Function
        A function that returns the Jacobian as `jacobian` does.

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
    >>> tj.jacrev(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return jacobian_function("jacrev", f, argnums, argnames, "rev", has_aux, chunk_size)


@typed_as(jacrev)
@places.at_the_users_line
@remembered
@recallable
def jacfwd(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[..., Any]:
    """Return a function that computes the Jacobian in forward mode.

    Use it if the result has more elements than the argument.

    Parameters
    ----------
    f : callable
        A function of arrays that returns arrays of any shape.
    argnums : int or tuple of int, default 0
        The positions of the arguments to differentiate with respect to.
    argnames : str or tuple of str, default None
        The names of these arguments. Give either names or positions.
    has_aux : bool, default False
        If True, `f` returns a pair (result, auxiliary). Only the result is differentiated.
    chunk_size : int, default None
        The number of columns to compute at once, which bounds the memory. None takes all.

    Returns
    -------
    Function
        A function that returns the Jacobian as `jacobian` does.

    Raises
    ------
    GradientError
        If a chosen argument is complex or not floating. A TypeError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.
    RuleTypeError
        If a custom gradient is not linear in its cotangent. A TypeError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.jacfwd(lambda t: np.stack([t, t**2, t**3]))(2.0)
    array([ 1.,  4., 12.])
    """
    return jacobian_function("jacfwd", f, argnums, argnames, "fwd", has_aux, chunk_size)
