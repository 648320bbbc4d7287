"""The differential operators of autograd.

They are transforms of tracejit with autograd's arguments. Three things differ from those of
`tracejit` itself: `argnum` chooses the argument, a result of one element counts as a number,
whatever its shape, and the gradient with respect to a complex z is df/d(Re z) - i df/d(Im z), the
conjugate of what `tj.grad` returns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.api.derivatives import deriv as _deriv
from tracejit.api.derived import Sources, callable_of, recorded_as, remembered
from tracejit.api.jacobian_rows import rows_of
from tracejit.api.markers import recompute_grad
from tracejit.api.transforms import linearize
from tracejit.autodiff.request.request import Request, cotangents_of, request_of
from tracejit.autograd.core import conjugated, floats, shared_options_of, sharing
from tracejit.autograd.core import make_jvp as _make_jvp
from tracejit.autograd.core import make_vjp as _make_vjp
from tracejit.autograd.wrap_util import unary_to_nary
from tracejit.specialise.function import Function
from tracejit.specialise.pickling import recallable
from tracejit.support.errors import fail
from tracejit.trace.arguments.signature import call_arguments, signature_of
from tracejit.trace.recording.active import called
from tracejit.trace.source import places
from tracejit.trace.structure.trees import unflatten

Argnum = int | Sequence[int]


def _slopes(transform: str, fun: Any, argnum: Any, has_aux: bool = False) -> Function[..., Any]:
    """The Function of a transform with autograd's conventions."""
    python = callable_of(transform, fun)
    request = request_of(transform, argnum, None, has_aux)._replace(transposed=True)
    return Function(python, request, shared_options_of(fun))


def _keeping(made: Function[..., Any], request: Request) -> Function[..., Any]:
    """The Function of a transform, which may take what it does not differentiate as it is."""
    made._callee.varying = request
    return made


def _pulled(
    transform: str, fun: Any, argnum: Any, part: Callable[[Any], Any]
) -> Function[..., Any]:
    """The Function that pulls ones back from a part of the results."""
    python = callable_of(transform, fun)
    request = request_of(transform, argnum, None)._replace(transposed=True)

    def slopes(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, args, kwargs)
        ys = [part(y) for y in sources.call()[0]]
        if any(y.dtype.kind == "c" for y in ys):
            words = {"transform": f"tj.{transform}", "function": sources.name}
            fix = "return np.real(...), or take the jacobian."
            why = "only a real result has a slope"
            raise fail("not-real", None, type="a complex array", why=why, fix=fix, **words)
        seeds = [np.ones_like(y) if y.type.is_inexact else None for y in ys]
        found = cotangents_of(ys, sources.tensors, seeds, sources.nodes)
        return sources.rebuilt([conjugated(slope) for slope in found])

    return _keeping(recorded_as(sharing(fun), slopes), request)


@places.at_the_users_line
@remembered
def grad(fun: Callable[..., Any], argnum: Argnum = 0) -> Function[..., Any]:
    """Return a function that computes the gradient of `fun`.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns a number, or an array of one element.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    Function
        A function that returns the gradient, in the structure and shapes of the argument. For
        several positions it is a tuple.

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument holds no numbers. A
        TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Notes
    -----
    The gradient with respect to a complex z is df/d(Re z) - i df/d(Im z), as in
    autograd. `tj.grad` returns the conjugate. The function is recorded at the first call. Another
    function with the same code, such as a method of another object, uses the same kernels if it
    reads the same values.

    Examples
    --------
    >>> import tracejit.autograd.numpy as np
    >>> from tracejit.autograd import grad
    >>> grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return _slopes("grad", fun, argnum)


@places.at_the_users_line
@remembered
def value_and_grad(fun: Callable[..., Any], argnum: Argnum = 0) -> Function[..., Any]:
    """Return a function that computes the value of `fun` and its gradient together.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns a number, or an array of one element.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    Function
        A function that returns the pair (value, gradient).

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument holds no numbers. A
        TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> import tracejit.autograd.numpy as np
    >>> from tracejit.autograd import value_and_grad
    >>> value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    return _slopes("value_and_grad", fun, argnum)


@places.at_the_users_line
@remembered
def grad_and_aux(fun: Callable[..., Any], argnum: Argnum = 0) -> Function[..., Any]:
    """Return a function that computes the gradient of the first of two results of `fun`.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns a pair.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    Function
        A function that returns the pair (gradient, second result).

    Raises
    ------
    GradientError
        If the first result is not one real number, or a chosen argument holds no numbers. A
        TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> from tracejit.autograd import grad_and_aux
    >>> grad_and_aux(lambda x: (x**2, x + 1.0))(3.0)
    (np.float64(6.0), 4.0)
    """
    return _slopes("grad", fun, argnum, has_aux=True)


@places.at_the_users_line
@remembered
@recallable
def elementwise_grad(fun: Callable[..., Any], argnum: Argnum = 0) -> Function[..., Any]:
    """Return a function that computes the derivative of each element by itself.

    Parameters
    ----------
    fun : callable
        A function of arrays that works on each element by itself.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    Function
        A function that returns the derivatives: the gradient of the sum of the results.

    Raises
    ------
    GradientError
        If the result is complex, or a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> import tracejit.autograd.numpy as np
    >>> from tracejit.autograd import elementwise_grad
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return _pulled("elementwise_grad", fun, argnum, lambda y: y)


def grad_named(fun: Callable[..., Any], argname: str) -> Function[..., Any]:
    """Return a function that computes the gradient with respect to the argument of this name.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns a number, or an array of one element.
    argname : str
        The name of the argument.

    Returns
    -------
    Function
        A function that returns the gradient.

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument holds no numbers. A
        TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> from tracejit.autograd import grad_named
    >>> grad_named(lambda x, y: x * y, "y")(2.0, 3.0)
    np.float64(2.0)
    """
    return grad(fun, list(signature_of(fun).parameters).index(argname))


@places.at_the_users_line
@remembered
@recallable
def holomorphic_grad(fun: Callable[..., Any], argnum: Argnum = 0) -> Function[..., Any]:
    """Return a function that computes the complex derivative of a holomorphic function.

    Parameters
    ----------
    fun : callable
        A function of arrays of a complex argument.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    Function
        A function that returns the derivative.

    Raises
    ------
    GradientError
        If a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> from tracejit.autograd import holomorphic_grad
    >>> holomorphic_grad(lambda z: z**2)(1.0 + 2.0j)
    np.complex128(2+4j)
    """
    return _pulled("holomorphic_grad", fun, argnum, np.real)


def deriv(fun: Callable[..., Any], argnum: int = 0) -> Function[..., Any]:
    """Return a function that computes the derivative along a direction of ones, in forward mode.

    Parameters
    ----------
    fun : callable
        A function of arrays.
    argnum : int, default 0
        The position of the argument to differentiate with respect to.

    Returns
    -------
    Function
        A function that returns the derivative, in the shape of the result.

    Raises
    ------
    GradientError
        If a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> import tracejit.autograd.numpy as np
    >>> from tracejit.autograd import deriv
    >>> deriv(lambda t: np.array([t, t**2]))(3.0)
    array([1., 6.])
    """
    return _deriv(sharing(fun), argnum)


@places.at_the_users_line
@remembered
@recallable
def jacobian(fun: Callable[..., Any], argnum: Argnum = 0) -> Function[..., Any]:
    """Return a function that computes the Jacobian: every result by every argument element.

    Parameters
    ----------
    fun : callable
        A function of arrays.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    Function
        A function that returns an array of shape (*result.shape, *argument.shape).

    Raises
    ------
    GradientError
        If a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> import tracejit.autograd.numpy as np
    >>> from tracejit.autograd import jacobian
    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    python = callable_of("jacobian", fun)
    request = request_of("jacobian", argnum, None)._replace(transposed=True)

    def matrices(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, args, kwargs)
        ys, structure, _ = sources.call()
        rows = rows_of(ys, sources, "auto", None)
        found = [sources.rebuilt([conjugated(one) for one in row]) for row in rows]
        return unflatten(structure, found)

    return _keeping(recorded_as(sharing(fun), matrices), request)


def hessian(fun: Callable[..., Any], argnum: int = 0) -> Function[..., Any]:
    """Return a function that computes the Hessian: the Jacobian of the Jacobian.

    Parameters
    ----------
    fun : callable
        A function of arrays.
    argnum : int, default 0
        The position of the argument to differentiate with respect to.

    Returns
    -------
    Function
        A function that returns an array of shape (*result.shape, *argument.shape,
        *argument.shape).

    Raises
    ------
    GradientError
        If a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> import tracejit.autograd.numpy as np
    >>> from tracejit.autograd import hessian
    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(jacobian(fun, argnum), argnum)


def make_vjp(fun: Callable[..., Any], argnum: Argnum = 0) -> Callable[..., Any]:
    """Return a function that takes arguments to the pullback of `fun` at them.

    Parameters
    ----------
    fun : callable
        A function of arrays.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    callable
        A function that returns the pair (pullback, value). The pullback maps a cotangent of the
        value to the gradient.

    Raises
    ------
    GradientError
        If a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> from tracejit.autograd import make_vjp
    >>> pullback, value = make_vjp(lambda x: x**2)(3.0)
    >>> value, pullback(1.0)
    (np.float64(9.0), np.float64(6.0))
    """
    made: Callable[..., Any] = unary_to_nary(_make_vjp)(fun, argnum)
    return made


def make_jvp(fun: Callable[..., Any], argnum: Argnum = 0) -> Callable[..., Any]:
    """Return a function that takes arguments to the pushforward of `fun` at them.

    Parameters
    ----------
    fun : callable
        A function of arrays.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    callable
        A function that returns a function of a tangent, which returns the pair (value, tangent of
        the value).

    Raises
    ------
    GradientError
        If a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> from tracejit.autograd import make_jvp
    >>> make_jvp(lambda x: x**2)(3.0)(1.0)
    (np.float64(9.0), np.float64(6.0))
    """
    made: Callable[..., Any] = unary_to_nary(_make_jvp)(fun, argnum)
    return made


def make_jvp_reversemode(fun: Callable[..., Any], argnum: Argnum = 0) -> Callable[..., Any]:
    """Return a function that takes arguments to the map of tangents at them.

    Parameters
    ----------
    fun : callable
        A function of arrays.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    callable
        A function that returns a function of a tangent, which returns the tangent of the value.

    Raises
    ------
    GradientError
        If a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> from tracejit.autograd import make_jvp_reversemode
    >>> make_jvp_reversemode(lambda x: x**2)(3.0)(1.0)
    np.float64(6.0)
    """
    made: Callable[..., Any] = unary_to_nary(_pushed)(fun, argnum)
    return made


def make_hvp(fun: Callable[..., Any], argnum: Argnum = 0) -> Callable[..., Any]:
    """Return a function that takes arguments to the Hessian-vector product at them.

    Parameters
    ----------
    fun : callable
        A function of arrays.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    callable
        A function that returns the pair (product, gradient). The product is a function of a
        vector.

    Raises
    ------
    GradientError
        If a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> from tracejit.autograd import make_hvp
    >>> product, gradient = make_hvp(lambda x: x**3)(2.0)
    >>> gradient, product(1.0)
    (np.float64(12.0), np.float64(12.0))
    """
    made: Callable[..., Any] = unary_to_nary(_make_hvp)(fun, argnum)
    return made


def _pushed(fun: Callable[..., Any], x: Any) -> Callable[[Any], Any]:
    """The map of tangents of a function at x."""
    _, push = linearize(sharing(fun), floats(x))
    return push


def _make_hvp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The Hessian-vector product of a function at x, and its gradient."""
    return _make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Callable[..., Any], argnum: Argnum = 0) -> Function[..., Any]:
    """Return a function of (*args, tensor) that computes the Hessian times the tensor.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns a number, or an array of one element.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    Function
        A function that returns the product, in the shape of the argument.

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument holds no numbers. A
        TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> import tracejit.autograd.numpy as np
    >>> from tracejit.autograd import hessian_vector_product
    >>> hessian_vector_product(lambda x: np.sum(x**3))(np.ones(2), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    slope = grad(fun, argnum)

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, tensor = args
        return np.tensordot(slope(*given, **kwargs), tensor, np.ndim(tensor))

    return grad(product, argnum)


def tensor_jacobian_product(fun: Callable[..., Any], argnum: Argnum = 0) -> Function[..., Any]:
    """Return a function of (*args, tensor) that computes the tensor times the Jacobian.

    Parameters
    ----------
    fun : callable
        A function of arrays.
    argnum : int or tuple of int, default 0
        The position of the argument to differentiate with respect to, or several positions.

    Returns
    -------
    Function
        A function that returns the product, in the shape of the argument.

    Raises
    ------
    GradientError
        If a chosen argument holds no numbers. A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> import tracejit.autograd.numpy as np
    >>> from tracejit.autograd import vector_jacobian_product
    >>> vector_jacobian_product(lambda x: x**2)(np.ones(2), np.array([1.0, 0.0]))
    array([2., 0.])
    """

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, tensor = args
        return np.tensordot(tensor, called(fun)(*given, **kwargs), np.ndim(tensor))

    return jacobian(product, argnum)


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product


def make_ggnvp(
    f: Callable[..., Any], g: Callable[[Any], Any] | None = None, f_argnum: int = 0
) -> Callable[..., Any]:
    """Return a function that takes arguments to the generalised Gauss-Newton product at them.

    Parameters
    ----------
    f : callable
        The inner function of arrays.
    g : callable, default None
        The outer function, which returns a number. None is half the sum of squares.
    f_argnum : int, default 0
        The position of the argument of `f` to differentiate with respect to.

    Returns
    -------
    callable
        A function that returns a function of a vector, which returns the product with J^T H J.

    Raises
    ------
    GradientError
        If the result of `g` is not one real number, or a chosen argument holds no numbers.
        A TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> import tracejit.autograd.numpy as np
    >>> from tracejit.autograd import make_ggnvp
    >>> make_ggnvp(lambda x: 2.0 * x)(np.ones(2))(np.ones(2))
    array([4., 4.])
    """
    outer = g or (lambda x: 0.5 * np.sum(x**2, axis=-1))

    @unary_to_nary
    def made(f: Callable[..., Any], x: Any) -> Callable[[Any], Any]:
        pull, value = _make_vjp(f, x)
        push = _pushed(f, x)
        curve, _ = _make_hvp(outer, value)
        return lambda v: pull(curve(push(v)))

    product: Callable[..., Any] = made(f, f_argnum)
    return product


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes the gradients with respect to all arguments, by name.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns a number, or an array of one element.

    Returns
    -------
    callable
        A function that returns an OrderedDict: the gradient of each argument under its name.

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument holds no numbers. A
        TypeError.
    NoGradientError
        If the result depends on the argument through an operation without a gradient. A
        LookupError.

    Examples
    --------
    >>> from tracejit.autograd import multigrad_dict
    >>> dict(multigrad_dict(lambda x, y=3.0: x * y)(2.0))
    {'x': np.float64(3.0), 'y': np.float64(2.0)}
    """
    signature = signature_of(fun)

    def of_all(arguments: dict[str, Any]) -> Any:
        positional, keywords = call_arguments(signature, arguments)
        return called(fun)(*positional, **keywords)

    slope = grad(of_all)

    def gradients(*args: Any, **kwargs: Any) -> OrderedDict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        found = slope(dict(bound.arguments))
        return OrderedDict((name, found[name]) for name in bound.arguments)

    return gradients


checkpoint = recompute_grad
