"""Jacobians: one batched pass over the directions of the argument or of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from tracejit.api.derived import Sources, callable_of, recorded_as, remembered, typed_as
from tracejit.api.jacobian_rows import rows_of
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
) -> Function[..., Any]:
    """The derivatives of every element of the result by every element of an argument: an array of
    shape (*result.shape, *argument.shape) and the dtype of the argument, in the structure of the
    result, and in that of the chosen arguments. Zeros where one does not depend on the other.

    One batched pass: in forward mode over the elements of the arguments, in reverse mode over those
    of the result; "auto" takes the fewer, forward mode where they are as many. `chunk_size` bounds
    how many at once, and so the memory. With `has_aux`, `f` returns (result, auxiliary) and the
    answer is (Jacobian, auxiliary).

    In reverse mode a row is what `vjp` answers for the cotangent 1, which "auto" takes where
    something is complex; forward mode refuses complex arguments.

    Raises GradientError (a TypeError) where an argument is not floating, NoGradientError (a
    LookupError) where an operation on the path has no rule, and RuleTypeError (a TypeError) where
    forward mode meets a custom gradient that is not linear: "auto" then goes in reverse.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return jacobian_function("jacobian", f, argnums, argnames, mode, has_aux, chunk_size)


def jacobian_function(
    transform: str,
    f: Callable[..., Any],
    argnums: Argnums,
    argnames: Argnames | None,
    mode: Mode,
    has_aux: bool,
    chunk_size: int | None,
) -> Function[..., Any]:
    """The Function that `jacobian` makes, for the user's call of `transform`."""
    python = callable_of(transform, f)
    request = request_of(transform, argnums, argnames, has_aux)
    if mode not in ("auto", "fwd", "rev"):
        problem = f"mode={mode!r} is no mode"
        raise fail("transform-option", places.here(), transform=f"tj.{transform}", problem=problem)
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        problem = f"chunk_size={chunk_size!r} is no number of directions"
        raise fail("transform-option", places.here(), transform=f"tj.{transform}", problem=problem)

    def matrices(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, args, kwargs)
        ys, structure, auxiliary = sources.call()
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
    """`jacobian` in reverse mode: for arguments larger than results. Raises as it does.

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
    """`jacobian` in forward mode: for results larger than arguments. Raises as it does, and refuses
    complex arguments.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.jacfwd(lambda t: np.stack([t, t**2, t**3]))(2.0)
    array([ 1.,  4., 12.])
    """
    return jacobian_function("jacfwd", f, argnums, argnames, "fwd", has_aux, chunk_size)
