"""Operations of the user, with autograd's form of a rule: one function for each argument.

A rule gets the result, then the arguments of the call; for `defvjp` it returns the function that
maps the cotangent of the result to that of its argument, for `defjvp` it gets the tangent first and
returns that of the result. Complex cotangents are as autograd has them: a rule is the transpose,
and conjugates nothing.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from tracejit.api.callbacks import CheckedCall
from tracejit.api.registry import (
    Primitive,
    library_function,
    library_name,
    no_gradient,
    op_of,
    set_rule,
)
from tracejit.api.registry import primitive as _primitive
from tracejit.autodiff.request.rules import RULES_FOR_NUMPY
from tracejit.autograd.boxes import Box as Box
from tracejit.autograd.formulas import Formula, is_formula
from tracejit.autograd.util import subval
from tracejit.autograd.vspaces import VSpace as VSpace
from tracejit.autograd.vspaces import vspace as vspace
from tracejit.ops.areas import handler_of
from tracejit.ops.base.op import Each
from tracejit.support.errors import TracejitWarning, UnsupportedError, ValueNeededError, fail
from tracejit.trace.arguments.signature import TensorSpec
from tracejit.trace.recording.active import called
from tracejit.trace.recording.variable import current_recorder
from tracejit.trace.source import places
from tracejit.trace.structure.trees import flatten, unflatten

OPAQUE = UnsupportedError, ValueNeededError, TypeError
"""What a rule that calls compiled code raises where it is followed: it is one operation then."""


@places.at_the_users_line
def primitive(f: Callable[..., Any], *, result: Any = None) -> Any:
    """Make a function one operation, which runs as it is and is never looked into.

    Parameters
    ----------
    f : callable
        The function. It is called with plain arrays and must be pure.
    result : TensorSpec or container of them, default None
        The shapes and dtypes of the result. Without it, `f` is called once to find out, with the
        numbers of the call that is recorded, or with ones where they are not known yet.

    Returns
    -------
    callable
        The operation. `defvjp` gives it a gradient.

    Raises
    ------
    NoGradientError
        If it is differentiated and has no gradient. The call of the gradient raises it. A
        LookupError.

    Examples
    --------
    >>> from tracejit.autograd import grad
    >>> from tracejit.autograd.extend import defvjp, primitive
    >>> @primitive
    ... def cube(x):
    ...     return np.array([element**3 for element in x])
    >>> defvjp(cube, lambda ans, x: lambda g: 3.0 * x**2 * g)
    >>> grad(lambda x: np.sum(cube(x)))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if is_formula(f) and result is None:
        return Formula(f, None)
    made: Any = _primitive(f, result=result)
    made.by_numbers = True
    return made


def defvjp(fun: Any, *vjpmakers: Any, argnums: Iterable[int] | None = None) -> None:
    """Give a primitive its gradient: one `vjpmaker(ans, *args, **kwargs)` for each argument.

    >>> @primitive
    ... def product(x, y):
    ...     return x * y
    >>> defvjp(product, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    >>> from tracejit.autograd import grad
    >>> grad(product, argnum=(0, 1))(2.0, 3.0)
    (np.float64(3.0), np.float64(2.0))
    """
    makers = _by_argnum(fun, vjpmakers, argnums)

    def vjpmaker(argnum: int, ans: Any, args: Any, kwargs: Any) -> Any:
        maker = _maker(makers, argnum, fun)
        return (lambda g: None) if maker is None else maker(ans, *args, **kwargs)

    _set_vjp(fun, vjpmaker, vjpmakers)


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Give a primitive its gradient by one `vjpmaker(argnum, ans, args, kwargs)` for all arguments.

    >>> @primitive
    ... def total(*numbers):
    ...     return sum(numbers)
    >>> defvjp_argnum(total, lambda argnum, ans, args, kwargs: lambda g: g)
    >>> from tracejit.autograd import grad
    >>> grad(total, argnum=1)(2.0, 3.0)
    np.float64(1.0)
    """
    _set_vjp(fun, vjpmaker, (vjpmaker,))


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Give a primitive its gradient by one `vjpmaker(argnums, ans, args, kwargs)`, which returns a
    function of the cotangent that returns one gradient for each of `argnums`.

    >>> @primitive
    ... def total(*numbers):
    ...     return sum(numbers)
    >>> defvjp_argnums(total, lambda argnums, ans, args, kwargs: lambda g: (g,) * len(argnums))
    >>> from tracejit.autograd import grad
    >>> grad(total, argnum=1)(2.0, 3.0)
    np.float64(1.0)
    """

    def one(argnum: int, ans: Any, args: Any, kwargs: Any) -> Any:
        pull = vjpmaker((argnum,), ans, args, kwargs)
        return lambda g: next(iter(pull(g)))

    _set_vjp(fun, one, (vjpmaker,))


def defjvp(fun: Any, *jvpmakers: Any, argnums: Iterable[int] | None = None) -> None:
    """Give a primitive its tangents: one `jvpmaker(g, ans, *args, **kwargs)` for each argument, or
    "same" where the primitive is linear in it.

    >>> @primitive
    ... def product(x, y):
    ...     return x * y
    >>> defjvp(product, "same", lambda g, ans, x, y: x * g)
    >>> from tracejit.autograd import make_jvp
    >>> make_jvp(product, 1)(2.0, 3.0)(1.0)
    (np.float64(6.0), np.float64(2.0))
    """
    makers = _by_argnum(fun, jvpmakers, argnums)

    def jvpmaker(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        maker = _maker(makers, argnum, fun)
        if maker is None:
            return None
        if maker == "same":
            return fun(*subval(args, argnum, g), **kwargs)
        return maker(g, ans, *args, **kwargs)

    _set_jvp(fun, jvpmaker, jvpmakers)


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Give a primitive its tangents by one `jvpmaker(argnum, g, ans, args, kwargs)`.

    >>> @primitive
    ... def total(*numbers):
    ...     return sum(numbers)
    >>> defjvp_argnum(total, lambda argnum, g, ans, args, kwargs: g)
    >>> from tracejit.autograd import make_jvp
    >>> make_jvp(total, 1)(2.0, 3.0)(1.0)
    (np.float64(5.0), np.float64(1.0))
    """
    _set_jvp(fun, jvpmaker, (jvpmaker,))


def def_linear(fun: Any) -> None:
    """Give a primitive that is linear in each of its arguments its tangents.

    >>> double = primitive(lambda x: 2.0 * x)
    >>> def_linear(double)
    >>> from tracejit.autograd import make_jvp
    >>> make_jvp(double)(1.0)(3.0)
    (np.float64(2.0), np.float64(6.0))
    """

    def moved(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        return fun(*subval(args, argnum, g), **kwargs)

    _set_jvp(fun, moved, ())


def notrace_primitive(f: Callable[..., Any]) -> Any:
    """Make a function one operation through which no gradient flows.

    >>> ranks = notrace_primitive(lambda x: np.argsort(np.argsort(x)).astype(float))
    >>> from tracejit.autograd import grad
    >>> grad(lambda x: np.sum(x * ranks(x)))(np.array([3.0, 1.0]))
    array([1., 0.])
    """
    made = primitive(f)
    no_gradient(made)
    return made


def _by_argnum(fun: Any, makers: Any, argnums: Iterable[int] | None) -> dict[int, Any]:
    """The makers by the number of their argument."""
    numbers = itertools.count() if argnums is None else argnums
    return dict(zip(numbers, makers, strict=False))


def _maker(makers: dict[int, Any], argnum: int, fun: Any) -> Any:
    """The maker for an argument. Raises NoGradientError if there is none."""
    if argnum not in makers:
        raise fail("no-rule", None, op=f"argument {argnum} of {_name(fun)}")
    return makers[argnum]


def _name(fun: Any) -> str:
    return getattr(fun, "__name__", repr(fun))


def _is_operation(fun: Any) -> bool:
    """Return whether a rule of a function is ever asked for: of a plain one it is not, as in
    autograd, nor of one of SciPy's that has a rule."""
    library = library_function(fun)
    if type(library) is not FunctionType or isinstance(handler_of(library), Primitive):
        return True
    if library_name(library) != "scipy":
        told = "is not a primitive: its code is recorded, and its rule has no effect."
        told = f"{_name(fun)} {told} To give it a rule, decorate it with @primitive."
    elif handler_of(library) is None:
        return True
    else:
        told = f"{_name(fun)} has a gradient already: this rule has no effect."
    warnings.warn(told, TracejitWarning, places.user_depth())
    return False


class _Given:
    """The arguments of a recorded call of a primitive, and the place of an operand in them."""

    def __init__(self, call: CheckedCall, operands: Any, operand: int) -> None:
        """`operands` come after the handle of the op, which is number 0."""
        leaves = list(call.call.fixed)
        for place, value in zip(call.call.places, operands, strict=True):
            leaves[place] = value
        self.args, self.kwargs = unflatten(call.call.structure, leaves)
        place = call.call.places[operand - 1]
        self.argnum, self.leaf, start = -1, 0, 0
        for number, argument in enumerate(self.args):
            count = len(flatten(argument)[0])
            if start <= place < start + count:
                self.argnum, self.leaf = number, place - start
            start += count

    def pulled_by(self, vjpmaker: Callable[..., Any], x: Any, ans: Any, g: Any) -> Any:
        """The gradient with respect to the operand x by a rule as one operation, on plain arrays.
        It has no gradient itself."""

        def backward(ans: Any, g: Any, args: Any, kwargs: Any) -> Any:
            return flatten(vjpmaker(self.argnum, ans, args, kwargs)(g))[0][self.leaf]

        made = primitive(backward, result=TensorSpec(x.shape, x.dtype))
        return made(ans, g, self.args, self.kwargs)

    def pushed_by(self, jvpmaker: Callable[..., Any], outs: Sequence[Any], ans: Any, v: Any) -> Any:
        """The same of the tangents of the results `outs` for the tangent v of the operand."""

        moving = [k for k, y in enumerate(outs) if y.dtype.kind in "fc"]

        def forward(v: Any, ans: Any, args: Any, kwargs: Any) -> Any:
            found = flatten(jvpmaker(self.argnum, v, ans, args, kwargs))[0]
            return tuple([found[k] for k in moving])

        result = tuple([TensorSpec(outs[k].shape, outs[k].dtype) for k in moving])
        found = primitive(forward, result=result)(v, ans, self.args, self.kwargs)
        tangents = dict(zip(moving, found, strict=True))
        return [tangents.get(k, 0.0) for k in range(len(outs))]


@places.at_the_users_line
def _set_vjp(fun: Any, vjpmaker: Callable[..., Any], rules: Any) -> None:
    """Let a primitive have this rule, which reads what `rules` read."""

    def rule(
        operand: int, g: Any, out: Any, handle: Any, /, *operands: Any, results: Any, call: Any
    ) -> Any:
        given = _Given(call, operands, operand)
        outs, gs = (out, g) if len(results) > 1 else ((out,), (g,))
        dense = [np.zeros_like(y) if dy is None else dy for y, dy in zip(outs, gs, strict=True)]
        ans, seeds = unflatten(call.structure, outs), unflatten(call.structure, dense)
        try:
            with current_recorder().running_rule():
                pull = called(vjpmaker)(given.argnum, ans, given.args, given.kwargs)
                found = called(pull)(seeds)
        except OPAQUE:
            return given.pulled_by(vjpmaker, operands[operand - 1], ans, seeds)
        return None if found is None else flatten(found)[0][given.leaf]

    if _is_operation(fun):
        set_rule(op_of(fun), fun, Each(rule, 1))
        _note_reads(fun, rules)


@places.at_the_users_line
def _set_jvp(fun: Any, jvpmaker: Callable[..., Any], rules: Any) -> None:
    """Let a primitive have this rule in forward mode, which reads what `rules` read."""

    def rule(
        operand: int, v: Any, out: Any, handle: Any, /, *operands: Any, results: Any, call: Any
    ) -> Any:
        given = _Given(call, operands, operand)
        outs = out if len(results) > 1 else (out,)
        ans = unflatten(call.structure, outs)
        try:
            with current_recorder().running_rule():
                found = called(jvpmaker)(given.argnum, v, ans, given.args, given.kwargs)
        except OPAQUE:
            found = given.pushed_by(jvpmaker, outs, ans, v)
        moved = [
            tangent if y.dtype.kind in "fc" else np.zeros(y.shape)
            for y, tangent in zip(outs, flatten(found)[0], strict=True)
        ]
        return tuple(moved) if len(moved) > 1 else moved[0]

    if _is_operation(fun):
        set_rule(op_of(fun), fun, Each(rule, 1), "jvp")
        _note_reads(fun, rules)


def _note_reads(fun: Any, rules: Any) -> None:
    """Let what `rules` capture count as read where the function is called."""
    if isinstance(fun, Primitive):
        vars(fun)["__gradient_rule__"] = (*vars(fun).get("__gradient_rule__", ()), *rules)
    else:
        RULES_FOR_NUMPY.extend(rules)
