"""Shift invariance: find a maximum that is subtracted and on which no result depends.

In `m + log(sum(exp(x - m)))` and in `exp(x - m) / sum(exp(x - m))` the maximum `m` keeps numbers in
range; the result is the same whatever `m` is, and the cotangent of `m` is zero. Computed, it is
rounding noise, and finding where the maxima are costs more than all the rest.

`has_no_effect` follows a step of `m` through the graph. Some values shift by a multiple of the
step; exponentials of those scale by a power of its exponential. Sums, differences, products,
quotients and logarithms of such values shift, scale, or stay the same. If every result stays the
same, `m` has no effect. Any other operation on a value that moves counts as an effect.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.ir.dims import key_of
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ops.base.op import Joint, Op
from tracejit.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tracejit.ops.elementwise.exponential import exp, log
from tracejit.ops.indexing.indexing import FULL, getitem
from tracejit.ops.reductions import reductions
from tracejit.ops.shapes.shapes import broadcast_to, transpose
from tracejit.support.cost_model import costs

Axes = tuple[Any, ...]


class Motion(NamedTuple):
    """The motion of a value: it shifts by `rate` times the step, or it `scales` by the exponential
    of that. `axes` are its axes, as axes of the step, None if the step does not vary."""

    scales: bool
    rate: float
    axes: Axes


Moved = tuple[Motion | None, ...]
Effect = LookupError
Move = Callable[[Node, Moved], Motion | None]


def has_no_effect(
    extremum: Node, followers: Mapping[Value, Sequence[tuple[int, Node]]], ends: Collection[Value]
) -> bool:
    """Return whether none of `ends` depends on the result of `extremum`, a maximum or minimum along
    axes.

    `followers` are the nodes that read a value, with their numbers in program order.
    """
    motions: dict[Value, Motion] = {}
    pending: list[tuple[int, Node]] = []

    def note(value: Value, motion: Motion | None) -> None:
        if motion is not None and motion.rate:
            motions[value] = motion
            for follower in followers.get(value, ()):
                heapq.heappush(pending, follower)

    note(extremum.results[0], _step(extremum))
    done = -1
    steps = 0
    while pending:
        number, node = heapq.heappop(pending)
        if number == done:
            continue
        done, steps = number, steps + 1
        if node.op.vjp == ():
            continue
        move = _move_of(node)
        if move is None or steps > costs().shifted_operations or isinstance(node.op.vjp, Joint):
            return False
        try:
            note(node.results[0], move(node, tuple(map(motions.get, node.operands))))
        except Effect:
            return False
    return motions.keys().isdisjoint(ends)


def followers_of(nodes: Sequence[Node]) -> dict[Value, list[tuple[int, Node]]]:
    """The nodes that read each value, with their numbers."""
    found: dict[Value, list[tuple[int, Node]]] = {}
    for number, node in enumerate(nodes):
        for value in node.operands:
            found.setdefault(value, []).append((number, node))
    return found


def _step(extremum: Node) -> Motion:
    """The step itself, which varies along the axes that were not reduced."""
    reduced = extremum.params["axis"]
    kept = range(extremum.operands[0].type.ndim)
    if extremum.params.get("keepdims"):
        return Motion(False, 1.0, tuple(None if axis in reduced else axis for axis in kept))
    return Motion(False, 1.0, tuple(axis for axis in kept if axis not in reduced))


# Elementwise operations


def _aligned(node: Node, value: Value, motion: Motion) -> Motion:
    """`motion` of an operand as one of the result, to which it is broadcast."""
    shape, own = node.results[0].type.shape, value.type.shape
    first = len(shape) - len(own)
    axes = [None] * first
    for axis, size, stretched in zip(motion.axes, own, shape[first:], strict=True):
        axes.append(axis if key_of(size) == key_of(stretched) else None)
    return motion._replace(axes=tuple(axes))


def _both(node: Node, moved: Moved) -> list[Motion | None]:
    """The motions of the operands, as motions of the result, along the same axes."""
    motions = [
        None if motion is None else _aligned(node, value, motion)
        for value, motion in zip(node.operands, moved, strict=True)
    ]
    if len({motion.axes for motion in motions if motion is not None}) > 1:
        raise Effect
    return motions


def _sum(node: Node, moved: Moved) -> Motion | None:
    """The motion of a sum: the shifts of both operands add; scales must agree."""
    first, second = _both(node, moved)
    sign = 1.0 if node.op is add else -1.0
    some = first or second
    assert some is not None
    if some.scales:
        if first != second:
            raise Effect
        return some
    rates = [0.0 if motion is None else motion.rate for motion in (first, second)]
    if any(motion is not None and motion.scales for motion in (first, second)):
        raise Effect
    return some._replace(rate=rates[0] + sign * rates[1])


def _product(node: Node, moved: Moved) -> Motion | None:
    """A product scales as its factors do; a multiple of what shifts, shifts."""
    first, second = _both(node, moved)
    some = first or second
    assert some is not None
    if any(motion is not None and not motion.scales for motion in (first, second)):
        other = node.operands[0] if first is None else node.operands[1]
        if (first is not None and second is not None) or not isinstance(other, Constant):
            raise Effect
        if other.type.shape or other.type.dtype.kind not in "fi":
            raise Effect
        if node.op is multiply:
            return some._replace(rate=some.rate * float(other.data))
        if first is None or not other.data:
            raise Effect
        return some._replace(rate=some.rate / float(other.data))
    sign = 1.0 if node.op is multiply else -1.0
    rates = [0.0 if motion is None else motion.rate for motion in (first, second)]
    return some._replace(rate=rates[0] + sign * rates[1])


def _negative(node: Node, moved: Moved) -> Motion | None:
    (motion,) = moved
    assert motion is not None
    return motion if motion.scales else motion._replace(rate=-motion.rate)


def _exp(node: Node, moved: Moved) -> Motion | None:
    (motion,) = moved
    if motion is None or motion.scales:
        raise Effect
    return motion._replace(scales=True)


def _log(node: Node, moved: Moved) -> Motion | None:
    (motion,) = moved
    if motion is None or not motion.scales:
        raise Effect
    return motion._replace(scales=False)


# Sums and other shapes


def _sum_along(node: Node, moved: Moved) -> Motion | None:
    """A sum along axes in which the step does not vary, of what scales."""
    (motion,) = moved
    reduced = node.params["axis"]
    if motion is None or not motion.scales or any(motion.axes[k] is not None for k in reduced):
        raise Effect
    if node.params.get("keepdims"):
        return motion
    kept = tuple(axis for k, axis in enumerate(motion.axes) if k not in reduced)
    return motion._replace(axes=kept)


def _same_shape(node: Node, moved: Moved) -> Motion | None:
    return moved[0]


def _broadcast(node: Node, moved: Moved) -> Motion | None:
    assert moved[0] is not None
    return _aligned(node, node.operands[0], moved[0])


def _transpose(node: Node, moved: Moved) -> Motion | None:
    (motion,) = moved
    assert motion is not None
    return motion._replace(axes=tuple(motion.axes[axis] for axis in node.params["axes"]))


def _axes_of_one(node: Node, moved: Moved) -> Motion | None:
    """A view with other axes of length one; the step does not vary along these. An axis from which
    one of several elements is taken is missing afterwards."""
    (motion, *others) = moved
    before, after = node.operands[0].type.shape, node.results[0].type.shape
    index = node.params.get("index", ())
    if (
        motion is None
        or others
        or any(type(part) is not int and part not in (None, FULL, "...") for part in index)
    ):
        raise Effect
    varying = [(key_of(n), axis) for n, axis in zip(before, motion.axes, strict=True)]
    varying = [(size, axis) for size, axis in varying if size != 1]
    remaining = iter(varying)
    if [size for size, _ in varying] != [key_of(n) for n in after if key_of(n) != 1]:
        raise Effect
    axes = tuple(None if key_of(size) == 1 else next(remaining)[1] for size in after)
    return motion._replace(axes=axes)


MOVES: dict[Op, Move] = {
    add: _sum,
    subtract: _sum,
    multiply: _product,
    divide: _product,
    negative: _negative,
    exp: _exp,
    log: _log,
    reductions.sum: _sum_along,
    broadcast_to: _broadcast,
    transpose: _transpose,
    getitem: _axes_of_one,
}


def _move_of(node: Node) -> Move | None:
    """The rule by which `node` hands on motion; None if none is known."""
    if node.op.elements == "same":
        return _same_shape if node.results[0].type.is_inexact else None
    return _axes_of_one if node.op.elements == "reshaped" else MOVES.get(node.op)
