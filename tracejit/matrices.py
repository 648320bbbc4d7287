"""Jacobians and Hessians: one batched pass over the directions of the argument or of the result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from tracejit.autodiff.adjoint import gradients
from tracejit.autodiff.batch import Batch
from tracejit.autodiff.tangent import tangents
from tracejit.differentiate import like
from tracejit.errors import TracejitError
from tracejit.function import Function
from tracejit.gradients import grad
from tracejit.sources import Sources, python_of, recorded_as, request_of
from tracejit.trace.record import Recording
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import unflatten

Mode = Literal["auto", "fwd", "rev"]


def jacobian(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    mode: Mode = "auto",
    *,
    argnames: str | tuple[str, ...] | None = None,
    chunk_size: int | None = None,
) -> Function:
    """The derivatives of every element of the result by every element of an argument: an array of
    shape (*result.shape, *argument.shape), in the structure of the result, and in that of the
    chosen arguments.

    One batched pass: in forward mode over the elements of the arguments, in reverse mode over those
    of the result; "auto" takes the fewer. `chunk_size` bounds how many at once, and so the memory.
    Complex results and arguments need reverse mode, which answers what gradients with cotangents 1
    are.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    python, request = python_of(f), request_of(argnums, argnames)

    def matrices(*args: Any, **kwargs: Any) -> Any:
        sources = Sources(python, request, "jacobian", args, kwargs)
        ys, structure, _ = sources.call()
        inputs = sum(x.size for x in sources.tensors)
        outputs = sum(y.size for y in ys)
        complexes = any(t.dtype.kind == "c" for t in (*ys, *sources.tensors))
        forward = mode == "fwd" or (mode == "auto" and inputs < outputs and not complexes)
        if forward:
            try:
                rows = _forward_rows(ys, sources, chunk_size)
            except TracejitError:
                if mode == "fwd":
                    raise
                rows = _reverse_rows(ys, sources, chunk_size)
        else:
            rows = _reverse_rows(ys, sources, chunk_size)
        answers = [sources.rebuilt(row, request.single) for row in rows]
        return unflatten(structure, answers)

    return recorded_as("jacobian", f, matrices)


def _directions(x: Any, recording: Recording, chunk_size: int | None) -> list[Any]:
    """The unit arrays of the type of x, one after another along a first axis, in chunks."""
    units = np.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)
    step = chunk_size or max(x.size, 1)
    chunks = [units[k : k + step] for k in range(0, x.size, step)] or [units]
    return [Tensor(recording.graph.constant(chunk), recording) for chunk in chunks]


def _forward_rows(ys: Sequence[Any], sources: Sources, chunk_size: int | None) -> list[list[Any]]:
    """Per result, per source: the Jacobian, column by column."""
    recording = sources.recording
    columns: list[list[Any]] = []
    for x in sources.tensors:
        found: list[list[Any]] = []
        for units in _directions(x, recording, chunk_size):
            batch = Batch(recording, units.shape[0])
            with batch.recorded():
                dots = tangents(ys, [x], [batch.placeholder(units)])
                moved = [like(dot, y) for dot, y in zip(dots, ys, strict=True)]
            found.append([batch.everywhere(dot) for dot in moved])
        wholes = [_joined(parts) for parts in zip(*found, strict=True)]
        columns.append(
            [
                np.reshape(np.moveaxis(whole, 0, -1), (*y.shape, *x.shape))
                for whole, y in zip(wholes, ys, strict=True)
            ]
        )
    return [list(row) for row in zip(*columns, strict=True)]


def _reverse_rows(ys: Sequence[Any], sources: Sources, chunk_size: int | None) -> list[list[Any]]:
    """Per result, per source: the Jacobian, row by row."""
    recording = sources.recording
    rows = []
    for y in ys:
        found: list[list[Any]] = []
        for units in _directions(y, recording, chunk_size):
            batch = Batch(recording, units.shape[0])
            with batch.recorded():
                pulled = gradients([y], sources.tensors, [batch.placeholder(units)])
                moved = [like(g, x) for g, x in zip(pulled, sources.tensors, strict=True)]
            found.append([batch.everywhere(g) for g in moved])
        wholes = [_joined(parts) for parts in zip(*found, strict=True)]
        rows.append(
            [
                np.reshape(whole, (*y.shape, *x.shape))
                for whole, x in zip(wholes, sources.tensors, strict=True)
            ]
        )
    return rows


def _joined(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def jacfwd(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, **options: Any) -> Function:
    """`jacobian` in forward mode."""
    return jacobian(f, argnums, "fwd", **options)


def jacrev(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, **options: Any) -> Function:
    """`jacobian` in reverse mode."""
    return jacobian(f, argnums, "rev", **options)


def hessian(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    chunk_size: int | None = None,
) -> Function:
    """The second derivatives of `f`, which returns one real float: an array of shape
    (*argument.shape, *argument.shape), for several arguments in their structure, twice.

    Forward over reverse; reverse over reverse where a gradient rule of the user's is not linear.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.hessian(lambda x: x[0] * x[1] ** 2)(np.array([3.0, 2.0]))
    array([[0., 4.],
           [4., 6.]])
    """
    slope = grad(f, argnums, argnames=argnames)
    outer = _outer(slope, f)
    return jacobian(outer, argnums, argnames=argnames, chunk_size=chunk_size)


def _outer(slope: Function, f: Any) -> Callable[..., Any]:
    return functools.wraps(f)(lambda *args, **kwargs: slope(*args, **kwargs))
