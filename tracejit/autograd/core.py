"""Names of autograd.core: derivatives of functions of one argument, and vector spaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.api.derived import callable_of, options_of
from tracejit.api.transforms import jvp, vjp
from tracejit.autodiff.request.request import is_integers
from tracejit.autograd.boxes import Box as Box
from tracejit.autograd.boxes import getval as getval
from tracejit.autograd.boxes import isbox as isbox
from tracejit.autograd.extend import def_linear as def_linear
from tracejit.autograd.extend import defjvp as defjvp
from tracejit.autograd.extend import defjvp_argnum as defjvp_argnum
from tracejit.autograd.extend import defvjp as defvjp
from tracejit.autograd.extend import defvjp_argnum as defvjp_argnum
from tracejit.autograd.extend import defvjp_argnums as defvjp_argnums
from tracejit.autograd.extend import primitive as primitive
from tracejit.autograd.vspaces import VSpace as VSpace
from tracejit.autograd.vspaces import vspace as vspace
from tracejit.specialise.function import Function
from tracejit.support.options import Options
from tracejit.trace.structure.trees import map_tree


def conjugated(leaf: Any) -> Any:
    """The complex conjugate; what is real is itself."""
    return np.conj(leaf) if np.iscomplexobj(leaf) else leaf


def shared_options_of(fun: Any) -> Options:
    """The options of a function whose kernels serve others of the same code."""
    return options_of(fun)._replace(share=True)


def sharing(fun: Any) -> Function[..., Any]:
    """A function whose transforms share kernels with those of others of the same code."""
    python = callable_of("function", fun)
    return Function(python, options=shared_options_of(fun))


def floats(x: Any) -> Any:
    """A value to differentiate by, its arrays of integers as floating ones."""
    return map_tree(lambda leaf: leaf.astype(float) if is_integers(leaf) else leaf, x)


def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return the function that maps a cotangent of fun(x) to that of x, and fun(x).

    >>> pullback, value = make_vjp(lambda x: x**2, 3.0)
    >>> value, pullback(1.0)
    (np.float64(9.0), np.float64(6.0))
    """
    value, pullback = vjp(sharing(fun), floats(x))

    def pulled(g: Any) -> Any:
        (found,) = pullback(map_tree(conjugated, g))
        return map_tree(conjugated, found)

    return pulled, value


def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return the function that maps a tangent of x to fun(x) and its tangent.

    >>> make_jvp(lambda x: x**2, 3.0)(1.0)
    (np.float64(9.0), np.float64(6.0))
    """

    def pushed(g: Any) -> tuple[Any, Any]:
        value, tangent = jvp(sharing(fun), (floats(x),), (floats(g),))
        return value, tangent

    return pushed
