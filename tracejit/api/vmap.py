"""vmap: a function for every element of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.api.derived import callable_of, recorded_as, remembered, running
from tracejit.autodiff.batch.batch import Batch
from tracejit.ir.location import NOWHERE
from tracejit.ir.types import type_of
from tracejit.specialise.callee import Form
from tracejit.specialise.function import Function
from tracejit.specialise.pickling import recallable
from tracejit.support.errors import fail
from tracejit.trace.recording.active import called
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.variable import read_argument
from tracejit.trace.source import places
from tracejit.trace.structure.trees import Structure, flatten, map_tree, spread, unflatten
from tracejit.trace.tensor.memory import seal
from tracejit.trace.tensor.tensor import TENSORS, Tensor


@places.at_the_users_line
@remembered
@recallable
def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Function[..., Any]:
    """Return a function that computes `f` for every element of a batch at once.

    The generated code is vectorised NumPy: there is no loop over the batch.

    Parameters
    ----------
    f : callable
        A function of one element of the batch.
    in_axes : int, None, or tuple of them, default 0
        The batch axis of each positional argument: one number for all, or one for each. None marks
        an argument that all elements share. Inside a container, use a container of numbers.
    out_axes : int or container of int, default 0
        The axis along which results are stacked.

    Returns
    -------
    Function
        A function that takes and returns whole batches.

    Raises
    ------
    ArgumentError
        If the arguments have batches of different sizes, or no argument has a batch. A TypeError.
    UnsupportedError
        If `f` assigns a Variable or calls `tj.callback`. A TypeError.

    Notes
    -----
    Keyword arguments have their batch along axis 0. All elements share arguments that are neither
    arrays nor numbers, such as strings and None. If `f` draws random numbers, each element draws
    its own.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> dots = tj.vmap(lambda x, w: x @ w, in_axes=(0, None))
    >>> dots(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    python: Any = callable_of("vmap", f)

    def batched(*args: Any, **kwargs: Any) -> Any:
        recording = running("vmap")
        args, kwargs = map_tree(read_argument, args), map_tree(read_argument, kwargs)
        leaves, structure = flatten((args, kwargs))
        axes = _axes("in_axes", in_axes, flatten(args)[1], leaves)
        axes += [None if _is_fixed(leaf) else 0 for leaf in leaves[len(axes) :]]
        wholes = [
            leaf if axis is None else _in_front(leaf, axis, recording)
            for leaf, axis in zip(leaves, axes, strict=True)
        ]
        pairs = list(zip(wholes, axes, strict=True))
        sizes = {whole.shape[0] for whole, axis in pairs if axis is not None}
        if len(sizes) != 1:
            problem = (
                f"the sizes of the batch are {sorted(sizes)}"
                if sizes
                else "no argument has a batch"
            )
            raise fail("batch", places.here(), problem=problem)
        batch = Batch(recording, sizes.pop())
        events = len(recording.events)
        with recording.inside_scope(), batch.recorded():
            elements = [x if axis is None else _element(x, batch) for x, axis in pairs]
            inner_args, inner_kwargs = unflatten(structure, elements)
            result = map_tree(read_argument, called(python)(*inner_args, **inner_kwargs))
        if len(recording.events) > events:
            raise fail("no-batch", places.here(), op="an assignment or a callback")
        found, out_structure = flatten(result)
        placed = _axes("out_axes", out_axes, out_structure, found)
        answers = [_out(x, axis, batch) for x, axis in zip(found, placed, strict=True)]
        return unflatten(out_structure, answers)

    return recorded_as(f, batched, Form.RECORDED)


def _axes(name: str, axes: Any, structure: Structure, leaves: Sequence[Any]) -> list[int | None]:
    """The axis of every leaf of a structure; `axes` is a prefix of it."""
    try:
        found = spread(axes, structure)
    except LookupError as error:
        raise fail("batch", places.here(), problem=f"in {name} {error}") from None
    for axis in found:
        if not (axis is None or type(axis) is int):
            raise fail("batch", places.here(), problem=f"{name} has {axis!r} for an axis")
    pairs = zip(found, leaves[: len(found)], strict=True)
    return [None if _is_fixed(leaf) else axis for axis, leaf in pairs]


def _is_fixed(leaf: Any) -> bool:
    """Return whether a leaf is neither array nor number, and so the same for all elements."""
    return type(leaf) not in TENSORS and type_of(leaf) is None


def _in_front(leaf: Any, axis: int, recording: Recording) -> Any:
    """An argument with the batch as its first axis."""
    whole: Any = Tensor(recording.lift(leaf), recording)
    if not -whole.ndim <= axis < whole.ndim:
        problem = f"an argument of shape {whole.shape} has no axis {axis}"
        raise fail("batch", places.here(), problem=problem)
    with recording.at(NOWHERE):  # no line of the user's is about the batch
        return whole if axis == 0 else np.moveaxis(whole, axis, 0)


def _element(whole: Any, batch: Batch) -> Tensor:
    """One element of an argument, which cannot be written to: what it is part of would stay."""
    element = batch.placeholder(whole)
    seal(element, "one element of an argument of tj.vmap")
    return element


def _out(leaf: Any, axis: int | None, batch: Batch) -> Any:
    """A result with the batch along `axis`."""
    if axis is None:
        if not _is_fixed(leaf) and batch.whole(leaf) is not None:
            problem = "a result with out_axes=None is different for each element"
            raise fail("batch", places.here(), problem=problem)
        return leaf
    with batch.recording.at(NOWHERE):
        whole = batch.everywhere(leaf)
        return whole if axis == 0 else np.moveaxis(whole, 0, axis)
