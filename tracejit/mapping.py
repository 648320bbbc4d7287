"""vmap: a function for every element of a batch at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.autodiff.batch import Batch
from tracejit.errors import fail
from tracejit.function import Function
from tracejit.random import Generator
from tracejit.sources import python_of, recorded_as, running
from tracejit.trace import places
from tracejit.trace.memory import seal
from tracejit.trace.record import Recording
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import flatten, map_tree, unflatten
from tracejit.trace.variable import read_leaf


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """`f` for every element of a batch at once.

    `in_axes` says which axis of each argument the batch is along: a number, None for an argument
    that is the same for all elements, or one for each positional argument; inside containers a
    container of them, or one for all. Keyword arguments have the batch along axis 0. `out_axes`
    says where it goes in the results. Where `f` draws random numbers, every element draws its own;
    a generator among the arguments is the same for all.

    Raises ArgumentError where sizes of the batch differ or none is given, and UnsupportedError
    where `f` assigns Variables or calls back.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> dots = tj.vmap(lambda x, w: x @ w, in_axes=(0, None))
    >>> dots(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    python = python_of(f)

    def batched(*args: Any, **kwargs: Any) -> Any:
        recording = running("vmap")
        args, kwargs = map_tree(read_leaf, args), map_tree(read_leaf, kwargs)
        leaves, structure = flatten((args, kwargs))
        axes = _axes(args, in_axes) + [0] * len(flatten(kwargs)[0])
        axes = [
            None if isinstance(leaf, (np.random.Generator, Generator)) else axis
            for leaf, axis in zip(leaves, axes, strict=True)
        ]
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
            result = map_tree(read_leaf, python(*inner_args, **inner_kwargs))
        if len(recording.events) > events:
            raise fail("no-batch", places.here(), op="an assignment or a callback")
        found, out_structure = flatten(result)
        placed = _axes(result, out_axes)
        answers = [_out(x, axis, batch) for x, axis in zip(found, placed, strict=True)]
        return unflatten(out_structure, answers)

    return recorded_as("vmap", f, batched)


def _axes(value: Any, axes: Any) -> list[int | None]:
    """The axis of every leaf of `value`; `axes` is a prefix of its structure."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(flatten(value)[0])
    children = value.items() if type(value) is dict else enumerate(value)
    by_key = axes if type(axes) is dict else dict(enumerate(axes))
    pairs = sorted(children) if type(value) is dict else list(children)
    if len(pairs) != len(by_key):
        problem = f"there are {len(pairs)} values and {len(by_key)} axes"
        raise fail("batch", places.here(), problem=problem)
    return [axis for key, child in pairs for axis in _axes(child, by_key[key])]


def _in_front(leaf: Any, axis: int, recording: Recording) -> Any:
    """An argument with the batch as its first axis."""
    whole: Any = Tensor(recording.lift(leaf), recording)
    if not -whole.ndim <= axis < whole.ndim:
        problem = f"an argument of shape {whole.shape} has no axis {axis}"
        raise fail("batch", places.here(), problem=problem)
    return whole if axis == 0 else np.moveaxis(whole, axis, 0)


def _element(whole: Any, batch: Batch) -> Tensor:
    """One element of an argument, which cannot be written to: what it is part of would stay."""
    element = batch.placeholder(whole)
    seal(element, "one element of an argument of tj.vmap")
    return element


def _out(leaf: Any, axis: int | None, batch: Batch) -> Any:
    """A result with the batch along `axis`."""
    if axis is None:
        if batch.whole(leaf) is not None:
            problem = "a result with out_axes=None differs between the elements"
            raise fail("batch", places.here(), problem=problem)
        return leaf
    whole = batch.everywhere(leaf)
    return whole if axis == 0 else np.moveaxis(whole, 0, axis)
