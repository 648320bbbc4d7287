"""Forward and reverse mode as functions: jvp, linearize, vjp, and what they make of a function.

Each transform is an ordinary function of Tensors, run while a function is recorded: what it returns
is a `Function`, which records, compiles and keeps kernels as any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.autodiff.adjoint import gradients
from tracejit.autodiff.tangent import tangents
from tracejit.differentiate import Request, like
from tracejit.errors import fail
from tracejit.function import Function
from tracejit.gradients import grad
from tracejit.sources import Sources, kept_for, named, python_of, recorded_as, request_of, strong
from tracejit.trace import places
from tracejit.trace.record import Recording
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import flatten, map_tree, unflatten
from tracejit.trace.variable import read_leaf

# Forward mode


def _moved(f: Any, has_aux: bool) -> Callable[..., Any]:
    """The function (primals, tangents) -> (result, its tangent)."""

    def pushed(primals: Any, tangents_in: Any) -> Any:
        request = Request("grad", tuple(range(len(primals))))
        sources = Sources(f, request, "jvp", primals, {})
        dots = flatten(tuple(tangents_in))[0]
        leaves, structure, auxiliary = sources.call(has_aux)
        found = tangents_of(leaves, sources.tensors, dots, sources.recording)
        value = unflatten(structure, leaves)
        answer = value, unflatten(structure, found)
        return (*answer, auxiliary) if has_aux else answer

    return pushed


def tangents_of(
    ys: Sequence[Any], xs: Sequence[Any], dots: Sequence[Any], recording: Recording
) -> list[Any]:
    """The tangents of the ys, zeros where they do not move."""
    if len(dots) != len(xs):
        problem = f"there are {len(dots)} tangents for {len(xs)} arrays"
        raise fail("primals", places.here(), problem=problem)
    given = []
    for x, dot in zip(xs, dots, strict=True):
        tensor = strong(read_leaf(dot), recording)
        if tensor.shape != x.shape:
            problem = f"a tangent has shape {tensor.shape}, its primal {x.shape}"
            raise fail("primals", places.here(), problem=problem)
        given.append(tensor if tensor.dtype == x.dtype else tensor.astype(x.dtype))
    found = tangents(ys, xs, given)
    return [like(dot, y) for dot, y in zip(found, ys, strict=True)]


def jvp(f: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """The result of f(*primals) and its derivative when the primals move along `tangents`.

    Answers (result, tangent), with `has_aux`, where `f` returns (result, auxiliary), (result,
    tangent, auxiliary). Tangents have the shapes of their primals.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    python = python_of(f)
    made = kept_for(python, ("jvp", has_aux), lambda: Function(named(f, _moved(python, has_aux))))
    return made(tuple(primals), tuple(tangents))


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The result of f(*primals), and the function that takes tangents of the primals to that of
    the result.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> y, push = tj.linearize(np.square, 3.0)
    >>> push(1.0), push(10.0)
    (np.float64(6.0), np.float64(60.0))
    """
    held = map_tree(_snapshot, primals)
    zeros = map_tree(np.zeros_like, held)
    value = jvp(f, held, zeros)[0]
    return value, lambda *moves: jvp(f, held, moves)[1]


def _snapshot(leaf: Any) -> Any:
    """A leaf that does not change any more."""
    leaf = read_leaf(leaf)
    if type(leaf) is np.ndarray:
        return leaf.copy()
    return Tensor(leaf._value, leaf._recording) if type(leaf) is Tensor else leaf


# Reverse mode


def _pulled(f: Any, has_aux: bool) -> Callable[..., Any]:
    """The function (primals, cotangents) -> cotangents of the primals."""

    def pulled(primals: Any, cotangents: Any) -> Any:
        request = Request("grad", tuple(range(len(primals))), single=False)
        sources = Sources(f, request, "vjp", primals, {})
        ys, _, _ = sources.call(has_aux)
        seeds = [strong(read_leaf(leaf), sources.recording) for leaf in flatten(cotangents)[0]]
        return sources.rebuilt(cotangents_of(ys, sources, seeds), single=False)

    return pulled


def cotangents_of(ys: Sequence[Any], sources: Sources, seeds: Sequence[Any]) -> list[Any]:
    """The cotangents of the sources, zeros where unconnected."""
    if len(seeds) != len(ys):
        problem = f"there are {len(seeds)} cotangents for {len(ys)} results"
        raise fail("primals", places.here(), problem=problem)
    for y, seed in zip(ys, seeds, strict=True):
        if seed.shape != y.shape:
            problem = f"a cotangent has shape {seed.shape}, its result {y.shape}"
            raise fail("primals", places.here(), problem=problem)
    there = [k for k, y in enumerate(ys) if y.type.is_inexact]
    kinds = [
        seeds[k] if seeds[k].dtype == ys[k].dtype else seeds[k].astype(ys[k].dtype) for k in there
    ]
    found = gradients([ys[k] for k in there], sources.tensors, kinds)
    return [like(g, x) for g, x in zip(found, sources.tensors, strict=True)]


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The result of f(*primals), and the pullback: the function that takes a cotangent of the
    result, in its structure, to a tuple of those of the primals.

    The pullback can be called again and again; it keeps the primals as they are now. With
    `has_aux`, where `f` returns (result, auxiliary), answers (result, pullback, auxiliary).

    >>> import numpy as np
    >>> import tracejit as tj
    >>> y, pullback = tj.vjp(np.multiply, 2.0, 5.0)
    >>> y, pullback(1.0)
    (np.float64(10.0), (np.float64(5.0), np.float64(2.0)))
    """
    python = python_of(f)
    forward = kept_for(python, ("value",), lambda: Function(named(f, _value(python))))
    pull = kept_for(python, ("vjp", has_aux), lambda: Function(named(f, _pulled(python, has_aux))))
    held = map_tree(_snapshot, primals)
    value = forward(held)
    if has_aux:
        return value[0], functools.partial(pull, held), value[1]
    return value, functools.partial(pull, held)


def _value(f: Any) -> Callable[..., Any]:
    return lambda primals: f(*primals)


def hvp(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The Hessian of `f`, which returns one real float, times `tangents`, in the structure of the
    primals; for one argument that may stand for itself.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    (array([ 6., 12.]),)
    """
    python = python_of(f)
    numbers = tuple(range(len(primals)))
    slope = kept_for(python, ("grad", numbers), lambda: grad(python, numbers))
    return jvp(slope, primals, tangents)[1]


def elementwise_grad(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
) -> Function:
    """The derivative of each element of the result by the element of the argument in its place,
    for functions that keep elements apart: the gradient of the sum of the result.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    python, request = python_of(f), request_of(argnums, argnames)

    def slopes(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, "elementwise_grad", args, kwargs)
        ys, _, _ = sources.call()
        seeds = [np.ones_like(y) for y in ys]
        return sources.rebuilt(cotangents_of(ys, sources, seeds), request.single)

    return recorded_as("elementwise_grad", f, slopes)


def deriv(f: Callable[..., Any], argnums: int = 0) -> Function:
    """The derivative of the result, of any shape, by one argument that moves as a whole: in
    forward mode, along ones.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.deriv(lambda t: np.stack([np.cos(t), np.sin(t)]))(0.0)
    array([-0.,  1.])
    """
    python, request = python_of(f), request_of(argnums, None)

    def slopes(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, "deriv", args, kwargs)
        ys, structure, _ = sources.call()
        dots = [np.ones_like(x) for x in sources.tensors]
        return unflatten(structure, tangents_of(ys, sources.tensors, dots, sources.recording))

    return recorded_as("deriv", f, slopes)
