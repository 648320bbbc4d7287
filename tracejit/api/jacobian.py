"""Jacobians and Hessians: one batched pass over the directions of the argument or of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec

import numpy as np

from tracejit.api.derived import Sources, callable_of, options_of, recorded_as
from tracejit.autodiff.batch import Batch
from tracejit.autodiff.request import cotangents_of, like, request_of, tangents_of
from tracejit.ir.location import NOWHERE
from tracejit.ops.creation import directions
from tracejit.ops.forms import as_element
from tracejit.specialise.function import Function
from tracejit.specialise.pickling import recallable
from tracejit.support.errors import NoGradientError, RuleTypeError, ValueNeededError, fail
from tracejit.trace import places
from tracejit.trace.record import Recording
from tracejit.trace.recorder import Recorder
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import unflatten

P = ParamSpec("P")
Mode = Literal["auto", "fwd", "rev"]

MOST_ROWS = 100
"""So many rows may each have a reverse pass of their own: each is written out."""


@places.at_the_users_line
@recallable
def jacobian(
    f: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    mode: Mode = "auto",
    *,
    argnames: str | tuple[str, ...] | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[P, Any]:
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
    return _jacobian("jacobian", f, argnums, argnames, mode, has_aux, chunk_size)


def _jacobian(
    transform: str,
    f: Callable[P, Any],
    argnums: int | tuple[int, ...],
    argnames: str | tuple[str, ...] | None,
    mode: Mode,
    has_aux: bool,
    chunk_size: int | None,
) -> Function[P, Any]:
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
        rows = _rows(ys, sources, mode, chunk_size)
        answers = unflatten(structure, [sources.rebuilt(row) for row in rows])
        return (answers, auxiliary) if has_aux else answers

    return recorded_as(f, matrices)


def _rows(
    ys: Sequence[Any], sources: Sources, mode: Mode, chunk_size: int | None
) -> list[list[Any]]:
    """Per result, per source: the Jacobian."""
    xs = sources.tensors
    if mode == "auto":
        complexes = any(t.dtype.kind == "c" for t in (*ys, *xs))
        if not complexes and sum(x.size for x in xs) <= sum(y.size for y in ys):
            try:
                return forward_rows(ys, xs, sources, chunk_size)
            except (RuleTypeError, NoGradientError):
                pass
    elif mode == "fwd":
        for x in xs:
            if x.dtype.kind == "c":
                problem = f"an argument is complex ({x.dtype}), which needs mode='rev'"
                words = {"transform": f"tj.{sources.request.transform}", "problem": problem}
                raise fail("transform-option", places.here(), **words)
        return forward_rows(ys, xs, sources, chunk_size)
    return reverse_rows(ys, xs, sources, chunk_size)


def _directions(x: Any, recording: Recording, chunk_size: int | None) -> list[Any]:
    """The unit arrays of the type of x, one after another along a first axis, in chunks."""
    step = chunk_size or max(x.size, 1)
    params = {"shape": x.shape, "dtype": x.dtype}
    with recording.at(NOWHERE):  # no line of the user's is about directions
        return [
            recording.record(directions, (), {**params, "start": k, "stop": min(k + step, x.size)})
            for k in range(0, max(x.size, 1), step)
        ]


def forward_rows(
    ys: Sequence[Any], xs: Sequence[Any], sources: Sources, chunk_size: int | None = None
) -> list[list[Any]]:
    """Per y, per x: the Jacobian, column by column: all at once, eagerly one after another."""
    recording = sources.recording
    columns: list[list[Any]] = []
    for x in xs:
        if isinstance(recording, Recording):
            wholes = _batched_columns(ys, x, recording, chunk_size)
        else:
            found = [tangents_of(ys, [x], [unit], sources.nodes) for unit in _units(x, recording)]
            wholes = _stacked(found, ys, recording)
        columns.append(
            [_block(whole, y, x, recording, last=True) for whole, y in zip(wholes, ys, strict=True)]
        )
    return [list(row) for row in zip(*columns, strict=True)]


def _batched_columns(
    ys: Sequence[Any], x: Any, recording: Recording, chunk_size: int | None
) -> list[Any]:
    """Per y: the tangents for every element of x, along a first axis."""
    found: list[list[Any]] = []
    for units in _directions(x, recording, chunk_size):
        batch = Batch(recording, units.shape[0])
        with batch.recorded():
            moved = tangents_of(ys, [x], [batch.placeholder(units)])
        found.append([batch.everywhere(dot) for dot in moved])
    return [_joined(parts, recording) for parts in zip(*found, strict=True)]


def reverse_rows(
    ys: Sequence[Any], xs: Sequence[Any], sources: Sources, chunk_size: int | None = None
) -> list[list[Any]]:
    """Per y, per x: the Jacobian, row by row: all at once, or one after another where a gradient
    rule of the user's goes by the values of its cotangent."""
    recording = sources.recording
    rows = []
    for y in ys:
        if isinstance(recording, Recording):
            try:
                wholes = _batched_rows(y, xs, recording, chunk_size)
            except ValueNeededError:
                if y.size > MOST_ROWS:
                    raise
                wholes = _single_rows(y, xs, sources)
        else:
            wholes = _single_rows(y, xs, sources)
        rows.append([_block(whole, y, x, recording) for whole, x in zip(wholes, xs, strict=True)])
    return rows


def _batched_rows(
    y: Any, xs: Sequence[Any], recording: Recording, chunk_size: int | None
) -> list[Any]:
    """Per x: the gradients of every element of y, along a first axis."""
    found: list[list[Any]] = []
    for units in _directions(y, recording, chunk_size):
        batch = Batch(recording, units.shape[0])
        with batch.recorded():
            moved = cotangents_of([y], xs, [batch.placeholder(units)])
        found.append([batch.everywhere(g) for g in moved])
    return [_joined(parts, recording) for parts in zip(*found, strict=True)]


def _single_rows(y: Any, xs: Sequence[Any], sources: Sources) -> list[Any]:
    """The same, each by a reverse pass of its own, whose cotangent Python knows."""
    units = _units(y, sources.recording)
    found = [cotangents_of([y], xs, [unit], sources.nodes) for unit in units]
    return _stacked(found, xs, sources.recording)


def _units(x: Any, recorder: Recorder) -> list[Any]:
    """The unit arrays of the type of x, each a constant."""
    units = np.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)
    return [like(Tensor(recorder.lift(unit), recorder), x) for unit in units]


def _stacked(found: Sequence[Sequence[Any]], alike: Sequence[Any], recorder: Recorder) -> list[Any]:
    """Stack the rows in `found` along a new first axis: one array for each of `alike`."""
    with recorder.at(NOWHERE):  # no line of the user's is about rows
        if not found:
            return [np.zeros_like(x, shape=(0, *x.shape)) for x in alike]
        return [np.stack(parts) for parts in zip(*found, strict=True)]


def _joined(parts: Sequence[Any], recording: Recording) -> Any:
    with recording.at(NOWHERE):  # no line of the user's is about chunks
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _block(whole: Any, y: Any, x: Any, recording: Recorder, last: bool = False) -> Any:
    """The Jacobian of y by x in its shape, dtype and form; `last` says that the first axis of
    `whole` is that of x."""
    with recording.at(NOWHERE):  # no line of the user's is about shapes
        block = np.reshape(np.moveaxis(whole, 0, -1) if last else whole, (*y.shape, *x.shape))
        if block.dtype != x.dtype and block.dtype.kind != "c":
            block = block.astype(x.dtype)
        if not block.shape and "array" not in (x.type.form, y.type.form):
            block = as_element(block)
        return block


@places.at_the_users_line
@recallable
def jacfwd(
    f: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[P, Any]:
    """`jacobian` in forward mode: for results larger than arguments."""
    return _jacobian("jacfwd", f, argnums, argnames, "fwd", has_aux, chunk_size)


@places.at_the_users_line
@recallable
def jacrev(
    f: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[P, Any]:
    """`jacobian` in reverse mode: for arguments larger than results."""
    return _jacobian("jacrev", f, argnums, argnames, "rev", has_aux, chunk_size)


@places.at_the_users_line
@recallable
def hessian(
    f: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[P, Any]:
    """The second derivatives of `f`, which returns one real float: an array of shape
    (*argument.shape, *argument.shape), for several arguments in their structure, twice.

    Forward over reverse; reverse over reverse where a gradient rule of the user's is not linear.
    With `has_aux`, `f` returns (value, auxiliary) and the answer is (Hessian, auxiliary).

    Raises as `jacobian` does, and GradientError where the result is no real scalar.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.hessian(lambda x: x[0] * x[1] ** 2)(np.array([3.0, 2.0]))
    array([[0., 4.],
           [4., 6.]])
    """
    python = callable_of("hessian", f)
    request = request_of("hessian", argnums, argnames, has_aux)
    slope: Function[P, Any] = Function(python, request, options_of(f))
    return _jacobian("hessian", slope, argnums, argnames, "auto", has_aux, chunk_size)
