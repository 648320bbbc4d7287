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
    """The derivative of each element of the result by the element of the argument in its place,
    for functions that keep elements apart: the gradient of the sum of the result. With `has_aux`,
    `f` returns (result, auxiliary) and the answer is (derivative, auxiliary).

    Answers an array of the argument's shape and dtype. Raises as `grad` does, but for the shape of
    the result, which may be any.

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
    """The derivative of the result, of any shape and structure, by one argument that moves as a
    whole: in forward mode, along ones. With `has_aux`, `f` returns (result, auxiliary) and the
    answer is (derivative, auxiliary).

    Answers an array of the result's shape. Raises GradientError (a TypeError) where several
    arguments are chosen or the argument is not floating, and NoGradientError (a LookupError) where
    an operation on the path has no rule.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.deriv(lambda t: np.stack([np.cos(t), np.sin(t)]))(0.0)
    array([-0.,  1.])
    """
    python = callable_of("deriv", f)
    request = request_of("deriv", argnums, argnames, has_aux)
    if not request.single:
        problem = f"one argument moves, got argnums={argnums!r} and argnames={argnames!r}"
        raise fail("transform-option", places.here(), transform="tj.deriv", problem=problem)

    def slopes(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, args, kwargs)
        ys, structure, auxiliary = sources.call()
        dots = [np.ones_like(x) for x in sources.tensors]
        found = unflatten(structure, tangents_of(ys, sources.tensors, dots, sources.nodes))
        return (found, auxiliary) if has_aux else found

    return recorded_as(f, slopes)
