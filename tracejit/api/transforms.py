"""Transforms in forward and reverse mode: jvp, linearize, vjp and hvp.

Each transform is an ordinary function of Tensors that runs while a function is recorded. It returns
a `Function`, which records, compiles and keeps kernels like any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.api.derived import (
    Sources,
    callable_of,
    derived_from,
    dynamic_options_of,
    memoised_for,
    name_results,
    parameters_of,
)
from tracejit.api.linearize import PULLBACK, Halves, SecondHalf, misfit, refuse_structure
from tracejit.autodiff.request.request import Request, cotangents_of, tangents_of
from tracejit.ir.types import type_of
from tracejit.specialise.function import Function
from tracejit.support.errors import RuleTypeError, fail
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import current_recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.variable import Variable, read_argument
from tracejit.trace.source import places
from tracejit.trace.structure.trees import Structure, flatten, leaves_like, unflatten
from tracejit.trace.tensor.tensor import TENSORS, Tensor

if TYPE_CHECKING:
    from tracejit.support.typing import R, Ts, Unpack

# Forward mode


def _moved(f: Any, transform: str, has_aux: bool, count: int) -> Callable[..., Any]:
    """The function (*primals, *tangents), `count` each, -> (result, its tangent), of others than
    jvp the tangent alone."""

    def pushed(*given_arguments: Any) -> Any:
        primals, tangents_in = given_arguments[:count], given_arguments[count:]
        request = Request(transform, tuple(range(count)), single=False, has_aux=has_aux)
        sources = Sources(f, request, primals, {})
        dots = leaves_like(sources.structure, tangents_in)
        if dots is None:
            refuse_structure(transform)
        given = [
            _given(dot, x, sources.recording, "primals", f"tj.{transform}")
            for x, dot in zip(sources.tensors, dots, strict=True)
        ]
        leaves, structure, auxiliary = sources.call()
        name_results(leaves, structure)
        try:
            found = tangents_of(leaves, sources.tensors, given, sources.nodes)
        except RuleTypeError:
            if transform != "hvp":
                raise
            found = cotangents_of(
                leaves, sources.tensors, given, sources.nodes
            )  # a Hessian is symmetric
        moved = unflatten(structure, found)
        if transform != "jvp":
            return moved
        value = unflatten(structure, leaves)
        return (value, moved, auxiliary) if has_aux else (value, moved)

    return pushed


def _given(given: Any, like: Any, recording: Recorder, row: str, call: str) -> Any:
    """A tangent or cotangent as a Tensor, cast to the dtype of what it belongs to."""
    leaf = read_argument(given)
    kind = leaf.type if type(leaf) in TENSORS else type_of(leaf)
    problem = misfit(kind, leaf, like.type, row)
    if problem:
        raise fail(row, places.here(), call=call, problem=problem)
    tensor = recording.strong(leaf)
    return tensor if tensor.dtype == like.dtype else tensor.astype(like.dtype)


@places.at_the_users_line
def jvp(f: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """Compute f(*primals) and its derivative along `tangents`, in forward mode.

    Parameters
    ----------
    f : callable
        A function of arrays that returns arrays of any shape.
    primals : tuple or list
        The arguments of `f`. Anything else is the only argument.
    tangents : tuple or list
        The directions in which the arguments move, in the structure and shapes of `primals`.
    has_aux : bool, default False
        If True, `f` returns a pair (result, auxiliary). Only the result is differentiated.

    Returns
    -------
    tuple
        The pair (result, tangent), where the tangent has the structure and shapes of the result.
        With `has_aux` it is (result, tangent, auxiliary).

    Raises
    ------
    SeedError
        If `tangents` does not fit `primals`. A ValueError.
    GradientError
        If an argument is not floating. A TypeError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    return _jvp(f, "jvp", primals, tangents, has_aux)


def _jvp(f: Any, transform: str, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    python = callable_of(transform, f)
    if type(primals) not in (tuple, list):
        primals, tangents = (primals,), (tangents,)
    if type(tangents) not in (tuple, list) or len(tangents) != len(primals):
        refuse_structure(transform)
    count = len(primals)

    def made() -> Function[..., Any]:
        names = parameters_of(python, count)
        moved = _moved(python, transform, has_aux, count)
        return derived_from(f, moved, [*names, *[f"{name}_dot" for name in names]])

    key = transform, has_aux, dynamic_options_of(f), count
    return memoised_for(python, key, made)(*primals, *tangents)


@places.at_the_users_line
def linearize(
    f: Callable[[Unpack[Ts]], R], *primals: Unpack[Ts]
) -> tuple[R, Callable[[Unpack[Ts]], R]]:
    """Compute f(*primals), and return the function that maps tangents to its derivative.

    Use it for many directions at one point: each call costs only the derivative.

    Parameters
    ----------
    f : callable
        A function of arrays that returns arrays of any shape.
    *primals : arrays
        The arguments of `f`.

    Returns
    -------
    tuple
        The pair (result, push). `push(*tangents)` takes one tangent for each argument and returns
        the tangent of the result.

    Raises
    ------
    SeedError
        If the tangents do not fit the arguments. `push` raises it. A ValueError.
    GradientError
        If an argument is not floating. A TypeError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.

    Notes
    -----
    `push` keeps copies of the arguments and of the values it needs, so later writes to your arrays
    change nothing. It computes the values again in three cases: under a tape, inside a recorded
    function, and if a gradient rule has side effects.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> y, push = tj.linearize(np.square, 3.0)
    >>> push(1.0), push(10.0)
    (np.float64(6.0), np.float64(60.0))
    """
    python = callable_of("linearize", f)
    leaves, structure = flatten(primals)
    leaves = [_snapshot(leaf) for leaf in leaves]
    held = unflatten(structure, leaves)
    whole: Any = functools.partial(_push, f, held)
    found = _split(f, python, "linearize", False, leaves, held)
    if found is None:
        return _valued(f, python, "linearize", held), whole
    value, _, second, kept = found
    push: Any = functools.partial(_push_on, whole, second, kept, held)
    return value, push


@places.at_the_users_line
def _push(f: Any, held: Any, /, *moves: Any) -> Any:
    """The tangent of the result, from the beginning."""
    return _jvp(f, "linearize", held, moves)


@places.at_the_users_line
def _push_on(whole: Any, second: SecondHalf, kept: Sequence[Any], held: Any, /, *moves: Any) -> Any:
    """The same by the second half, where no one else is to see it."""
    if not _is_plain(flatten(moves)[0]):
        return whole(*moves)
    leaves = leaves_like(second.structure, moves)
    if leaves is None:
        refuse_structure("linearize")
    return second(kept, leaves, held)


def _split(
    f: Any, python: Any, transform: str, has_aux: bool, leaves: Sequence[Any], primals: Any
) -> Any:
    """(result, auxiliary, the second half of `f`, what it takes of the primals, whose leaves are
    given, and of the first half); None if the halves are one."""
    if not _is_plain(leaves):
        return None
    count = len(primals)
    key = "halves", transform, has_aux, dynamic_options_of(f), count
    halves = memoised_for(python, key, lambda: Halves(f, python, transform, has_aux, count))
    found = halves(primals)
    if found is None:
        return None
    value, auxiliary, residuals, second = found
    return value, auxiliary, second, [*[leaves[k] for k in second.given], *residuals]


def _is_plain(leaves: Sequence[Any]) -> bool:
    """Return whether no tape and no recording has to see operations on these leaves."""
    if current_recording() is not None or EAGER.is_watched:
        return False
    return not any(type(leaf) in {Variable, *TENSORS} for leaf in leaves)


def _snapshot(leaf: Any) -> Any:
    """A leaf that does not change any more."""
    if type(leaf) is Variable and current_recording() is None and not EAGER.is_watched:
        return leaf.numpy()
    leaf = read_argument(leaf)
    if type(leaf) is np.ndarray:
        return leaf.copy()
    return Tensor(leaf._value, leaf._recording) if type(leaf) in TENSORS else leaf


# Reverse mode


def _valued(f: Any, python: Any, transform: str, primals: Any, has_aux: bool = False) -> Any:
    """The result of `f`, whose Python function is `python`, for primals that have derivatives."""
    count = len(primals)

    def valued(*primals: Any) -> Any:
        request = Request(transform, tuple(range(count)), single=False, has_aux=has_aux)
        leaves, structure, auxiliary = Sources(python, request, primals, {}).call()
        value = unflatten(structure, leaves)
        return (value, auxiliary) if has_aux else value

    def made() -> Function[..., Any]:
        return derived_from(f, valued, parameters_of(python, count))

    key = "value", transform, has_aux, dynamic_options_of(f), count
    return memoised_for(python, key, made)(*primals)


@places.at_the_users_line
def _pulled(f: Any, python: Any, has_aux: bool, primals: Any, cotangents: Any) -> Any:
    """The cotangents of the primals, from the beginning."""
    count = len(primals)

    def pulled(*given: Any) -> Any:
        request = Request("vjp", tuple(range(count)), single=False, has_aux=has_aux)
        sources = Sources(python, request, given[:-1], {})
        ys, structure, _ = sources.call()
        seeds = _seeds(given[-1], ys, structure, sources.recording)
        return sources.rebuilt(cotangents_of(ys, sources.tensors, seeds, sources.nodes))

    def made() -> Function[..., Any]:
        return derived_from(f, pulled, [*parameters_of(python, count), "out_bar"])

    return memoised_for(python, ("pulled", has_aux, dynamic_options_of(f), count), made)(
        *primals, cotangents
    )


def _seeds(
    cotangents: Any, ys: Sequence[Any], structure: Structure, recording: Recorder
) -> list[Any]:
    """One cotangent per result; of results that are not floating none."""
    leaves = leaves_like(structure, cotangents)
    if leaves is None:
        refuse_structure("vjp")
    return [
        _given(leaf, y, recording, "seeds", PULLBACK) if y.type.is_inexact else None
        for leaf, y in zip(leaves, ys, strict=True)
    ]


@places.at_the_users_line
def vjp(f: Callable[[Unpack[Ts]], Any], *primals: Unpack[Ts], has_aux: bool = False) -> Any:
    """Compute f(*primals), and return the function that maps cotangents back to the arguments.

    This is reverse mode for results of any shape. Each call of the pullback costs only the
    derivative.

    Parameters
    ----------
    f : callable
        A function of arrays that returns arrays of any shape.
    *primals : arrays
        The arguments of `f`.
    has_aux : bool, default False
        If True, `f` returns a pair (result, auxiliary). Only the result is differentiated.

    Returns
    -------
    tuple
        The pair (result, pullback), or (result, pullback, auxiliary) with `has_aux`. `pullback`
        takes a cotangent in the structure and shapes of the result. It returns a tuple with one
        gradient for each argument.

    Raises
    ------
    GradientError
        If an argument is not floating. A TypeError.
    SeedError
        If the cotangent does not fit the result. The pullback raises it. A ValueError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.

    Notes
    -----
    A result that is not floating has no cotangent: pass None for it. The pullback keeps
    copies of the arguments and of the values it needs, so later writes to your arrays change
    nothing. It computes the values again in three cases: under a tape, inside a recorded function,
    and if a gradient rule has side effects.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> y, pullback = tj.vjp(np.multiply, 2.0, 5.0)
    >>> y, pullback(1.0)
    (np.float64(10.0), (np.float64(5.0), np.float64(2.0)))
    """
    python = callable_of("vjp", f)
    leaves, structure = flatten(primals)
    leaves = [_snapshot(leaf) for leaf in leaves]
    held = unflatten(structure, leaves)
    whole = functools.partial(_pulled, f, python, has_aux, held)
    found = _split(f, python, "vjp", has_aux, leaves, held)
    if found is not None:
        value, auxiliary, second, kept = found
        pullback = functools.partial(_pull_back, whole, second, kept, held)
    else:
        answer = _valued(f, python, "vjp", held, has_aux)
        value, auxiliary = answer if has_aux else (answer, None)
        pullback = whole
    return (value, pullback, auxiliary) if has_aux else (value, pullback)


@places.at_the_users_line
def _pull_back(
    whole: Any, second: SecondHalf, kept: Sequence[Any], held: Any, cotangents: Any
) -> Any:
    """The cotangents of the primals by the second half, where no one else is to see it."""
    if not _is_plain(flatten(cotangents)[0]):
        return whole(cotangents)
    leaves = leaves_like(second.structure, cotangents)
    if leaves is None:
        refuse_structure("vjp")
    return second(kept, leaves, held)


@places.at_the_users_line
def hvp(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """Compute the Hessian of `f` times `tangents`, without building the Hessian.

    It costs about two gradients, whatever the size of the arguments.

    Parameters
    ----------
    f : callable
        A function of arrays that returns one real number.
    primals : tuple or list
        The arguments of `f`. Anything else is the only argument.
    tangents : tuple or list
        The vector to multiply with, in the structure and shapes of `primals`.

    Returns
    -------
    array or tuple of arrays
        The product, in the structure and shapes of `primals`.

    Raises
    ------
    SeedError
        If `tangents` does not fit `primals`. A ValueError.
    GradientError
        If the result is not one real number, or an argument is not floating. A TypeError.
    NoGradientError
        If the result depends on an argument through an operation without a gradient. A LookupError.

    Notes
    -----
    The gradient is differentiated in forward mode. It is differentiated in reverse mode
    if a custom gradient is not linear in its cotangent.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    python = callable_of("hvp", f)
    alone = type(primals) not in (tuple, list)
    numbers = (0,) if alone else tuple(range(len(primals)))
    request = Request("hvp", numbers, single=alone)
    options = dynamic_options_of(f)
    key = request, options
    slope: Any = memoised_for(python, key, lambda: Function(python, request, options))
    return _jvp(slope, "hvp", primals, tangents)
