"""The rows of a Jacobian: one batched pass over the directions of the argument, in forward mode, or
of the result, in reverse mode; where nothing is recorded, one pass after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.api.derived import Sources
from tracejit.autodiff.batch.batch import Batch
from tracejit.autodiff.request.request import cotangents_of, like, tangents_of
from tracejit.ir.location import NOWHERE
from tracejit.ops.base.creation import directions
from tracejit.ops.base.forms import as_element
from tracejit.support.errors import NoGradientError, RuleTypeError, ValueNeededError, fail
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import Tensor

MOST_ROWS = 100
"""So many rows may each have a reverse pass of their own: each is written out."""


def rows_of(
    ys: Sequence[Any], sources: Sources, mode: str, chunk_size: int | None
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
