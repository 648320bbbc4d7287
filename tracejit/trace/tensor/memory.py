"""Ownership of the memory of a Tensor: what is written to an array is seen by its views, and
the other way round.

Values never change; what changes is which value a Tensor stands for. A Tensor without an owner
stands for the value it was made with. One that was written to is `Written`; a `View` derives its
value from the Tensor it is a view of, again whenever that one was written to; `Sealed` refuses.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from tracejit.ir.dims import spelled
from tracejit.ir.graph import Value
from tracejit.ir.types import Shape
from tracejit.ops.base.op import Op
from tracejit.ops.control.marker_ops import IDENTITY
from tracejit.ops.elementwise.complex import WITH_PART
from tracejit.ops.indexing.indexing import getitem
from tracejit.ops.indexing.sparse import matrix_view
from tracejit.ops.indexing.updates import set_item
from tracejit.ops.shapes.shapes import copy
from tracejit.ops.shapes.windows import windows
from tracejit.support.errors import fail
from tracejit.trace.structure.trees import flatten

COPY_FIRST = "write into a copy: x = x.copy()."


class Owner(Protocol):
    """The owner of the memory of a Tensor, as the Tensor asks it."""

    def value_of(self, tensor: Any) -> Value:
        """The value that `tensor` stands for now."""

    def write(self, tensor: Any, value: Value, call: str) -> None:
        """Let `tensor` stand for `value` from here on; `call` is the user's, for errors."""


class Written:
    """A Tensor that was written to, the last time at `stamp`."""

    __slots__ = ("in_order", "stamp", "windows")

    def __init__(self, stamp: int, in_order: bool) -> None:
        """Written for the `stamp`-th time of its recorder's; `in_order` says that its memory surely
        is in C order."""
        self.stamp = stamp
        self.in_order = in_order
        self.windows: Sequence[Any] = ()

    def value_of(self, tensor: Any) -> Value:
        """Its last value; refused in a rule that was made before: it would see what came after."""
        recorder = tensor._recording
        moment = recorder.moment
        if moment is not None and self.stamp > moment.write and tensor._scope < moment.scope:
            raise fail("written-later", recorder.here(), name=recorder.name_of(tensor._held))
        value: Value = tensor._held
        return value

    def write(self, tensor: Any, value: Value, call: str) -> None:
        """Stand for another value."""
        tensor._held = value
        self.stamp = tensor._recording.stamp()
        self.windows = [weakref.ref(window) for window in tensor._recording.windows]


class Sealed:
    """A Tensor that may not be written to, for `fix` tells what to do instead."""

    __slots__ = ("fix", "what")

    def __init__(self, what: str, fix: str = COPY_FIRST) -> None:
        """`what` is what the Tensor is."""
        self.what = what
        self.fix = fix

    def value_of(self, tensor: Any) -> Value:
        """The value it was made with."""
        value: Value = tensor._held
        return value

    def write(self, tensor: Any, value: Value, call: str) -> None:
        """Refused."""
        raise fail("write", tensor._recording.here(), call=call, target=self.what, fix=self.fix)


class View:
    """A Tensor that shows the memory of another: `base`, by `op`."""

    __slots__ = ("base", "op", "params", "rest", "seen")

    def __init__(self, base: Any, op: Op, rest: Sequence[Any], params: dict[str, Any]) -> None:
        """A view of the Tensor `base`; `rest` are the op's other operands."""
        self.base = base
        self.op = op
        self.rest = rest
        self.params = params
        self.seen: Value = base._held

    def value_of(self, tensor: Any) -> Value:
        """The value of the base, seen by the op: of every base from the first on."""
        views = [tensor]
        while type(views[-1]._owner) is View:
            views.append(views[-1]._owner.base)
        value: Value = views.pop()._value
        for view in reversed(views):
            view._owner.see(view, value)
            value = view._held
        return value

    def see(self, tensor: Any, now: Value) -> None:
        """Let `tensor` show the base, which stands for `now`."""
        if now is self.seen:
            return
        self._check_shared(tensor, "")
        tensor._recording.note_view(tensor)
        with tensor._recording.seen_by(self._windows(tensor._recording.windows)):
            tensor._held = self.op(self.base, *self.rest, **self.params)._held
        self.seen = now

    def write(self, tensor: Any, value: Value, call: str) -> None:
        """Write through to every base."""
        written = []
        while type(tensor._owner) is View:
            written.append((tensor, value))
            whole = tensor._owner.within_base(tensor, value, call)
            tensor = tensor._owner.base
            value = tensor._written_value(whole, call)
        tensor._owner.write(tensor, value, call)
        for view, shown in reversed(written):
            view._owner.show(view, shown)

    def within_base(self, tensor: Any, value: Value, call: str) -> Any:
        """The base with `value` in the place of `tensor`."""
        if self.op is windows:
            words = {"target": "windows, which overlap", "fix": "write into the array itself."}
            raise fail("write", tensor._recording.here(), call=call, **words)
        if self.op is matrix_view:
            words = {"target": "a sparse matrix", "fix": "make another one, such as A = A * c."}
            raise fail("write", tensor._recording.here(), call=call, **words)
        if self.op.view == "read-only":
            raise ValueError("assignment destination is read-only")
        self._check_shared(tensor, call)
        new, base = type(tensor)(value, tensor._recording), self.base
        if self.op in WITH_PART:
            return WITH_PART[self.op](base, new)
        if self.op is getitem:
            return set_item(base, *self.rest, new, unique=True, **self.params)
        rule = self.op.vjp_rule(0)
        assert rule is not None
        return rule(new, None, base, **self.params)

    def show(self, tensor: Any, value: Value) -> None:
        """Let `tensor` stand for `value`, which has been written to the base."""
        tensor._recording.note_view(tensor)
        tensor._held, self.seen = value, self.base._held
        if value.data is not None or tensor._recording.exact:  # laid out as the base is
            tensor._held = self.op(self.base, *self.rest, **self.params)._held

    def _windows(self, now: Sequence[Any]) -> Sequence[Any]:
        """The windows that are open `now`, and those that were when the base was written to."""
        base = base_of(self.base)
        held = base._owner.windows if type(base._owner) is Written else ()
        before = [window() for window in held]
        return (*now, *[one for one in before if one is not None and one not in now])

    def shows(self, base: Any, index: Any, numbers: Sequence[Any]) -> bool:
        """Return whether this is base[index], with these numbers in the index, as base is now."""
        if self.op is not getitem or self.base is not base or len(self.rest) != len(numbers):
            return False
        lift = base._recording.lift
        if any(lift(one) is not lift(other) for one, other in zip(self.rest, numbers, strict=True)):
            return False
        return base._value is self.seen and spelled(self.params["index"]) == spelled(index)

    def _check_shared(self, tensor: Any, call: str) -> None:
        """Refuse where NumPy returns a view or a copy, whichever the layout of memory allows."""
        name, held = self.op.name, tensor._held
        if self.op.view is not None or self._surely_shares(held):
            return
        target = (
            f"the result of {name}, which is a view or a copy, depending on the layout in memory"
        )
        fix = "reshape a copy, x.copy(), or write before the reshape."
        call = (
            call
            or f"reading {tensor._called()}, after the array that it is a view of was written to,"
        )
        raise fail("write", tensor._recording.here(), call=call, target=target, fix=fix)

    def _surely_shares(self, held: Value) -> bool:
        """Return whether the array of `held` surely lies in the memory of the base's."""
        if held.data is not None and self.seen.data is not None:
            return np.may_share_memory(held.data, self.seen.data)
        splits = self.op.order != "C" and only_splits(self.seen.type.shape, held.type.shape)
        return splits or lies_in_order(self.base)


class Carried:
    """A Tensor that a step of a loop begins with. It shows the memory of one of the `bases`: of the
    only one its elements at `places`, if these are known. Else it may not be read once the step has
    written to a base."""

    __slots__ = ("bases", "places", "seen")

    def __init__(self, bases: Sequence[Any], places: Any = None) -> None:
        """Remember what the bases are at the begin of the step."""
        self.bases = bases
        self.places = places
        self.seen = [base._value for base in bases]

    def value_of(self, tensor: Any) -> Value:
        """The value it began with, or what the base has at its places; refused where a base of
        others has another value."""
        value: Value = tensor._held
        if all(base._value is seen for base, seen in zip(self.bases, self.seen, strict=True)):
            return value
        if self.places is None:
            why = "it writes to an array, and reads a view of it that an earlier step made"
            raise tensor._recording.refusal(why)
        value = np.reshape(self.bases[0], -1)[self.places]._held
        return value

    def write(self, tensor: Any, value: Value, call: str) -> None:
        """Refused."""
        raise tensor._recording.refusal("it writes to a view that an earlier step made")


def places_in(tensor: Any, base: Any) -> Any:
    """The places of the elements of a Tensor among those of `base` in C order, as an array of
    integers; None where it shows no elements of that."""
    if tensor is base:
        size = math.prod(base.shape)
        return np.arange(size).reshape(base.shape) if type(size) is int else None
    owner = tensor._owner
    if type(owner) is Carried:
        return owner.places if owner.bases == [base] else None
    if type(owner) is not View or owner.op.elements not in _MOVING:
        return None
    places = places_in(owner.base, base)
    return None if places is None else owner.op(places, *owner.rest, **owner.params)


_MOVING = frozenset(("same", "reshaped", "permuted", "taken"))
"""What ops say of the elements of their results, each of which is another element of an operand."""


def owner_of_view(
    tensor: Any, op: Op, operands: Sequence[Any], params: dict[str, Any]
) -> Owner | None:
    """The owner of what an op answers that is a view of its operand."""
    assert op.view_of is not None
    if tensor._held.type.form != "array" or op is IDENTITY:
        return None
    base = operands[op.view_of]
    if not hasattr(type(base), "_held"):
        return Sealed("a view of an array that is not a Tensor")
    if base.type.form != "array":
        return None  # NumPy makes a new array of a number
    rest = tuple(operand for number, operand in enumerate(operands) if number != op.view_of)
    return View(base, op, rest, params)


def base_of(tensor: Any) -> Any:
    """The Tensor whose memory `tensor` shows, in the end."""
    while type(tensor._owner) is View:
        tensor = tensor._owner.base
    return tensor


def free_result(result: Any, arguments: Any) -> None:
    """Let the result of a formula own its memory, where that is a view of what only the formula
    has seen: of none of the arguments, nor of anything that functions among them know."""
    if any(owner.op.view == "read-only" for owner in _owners(result)):
        return
    leaves = flatten(arguments)[0]
    if any(callable(leaf) and not isinstance(leaf, type) for leaf in leaves):
        return
    base = base_of(result)
    if all(base is not base_of(leaf) for leaf in leaves if type(leaf) is type(base)):
        result._owner = None


def _owners(tensor: Any) -> Iterator[View]:
    while type(tensor._owner) is View:
        yield tensor._owner
        tensor = tensor._owner.base


def seal(tensor: Any, what: str) -> None:
    """Let nobody write to the memory of `tensor` any more."""
    base_of(tensor)._owner = Sealed(what)


def only_splits(before: Shape, after: Shape) -> bool:
    """Return whether a reshape merges no axes, but splits them and adds axes of length one:
    whatever the layout, that is a view.

    >>> only_splits((6, 4), (2, 3, 1, 4)), only_splits((2, 3), (6,))
    (True, False)
    """
    sizes = iter([size for size in after if size != 1])
    for whole in before:
        part = whole
        while part != 1:
            size = next(sizes, 0)
            if not size or part % size:
                return False
            part //= size
    return next(sizes, None) is None


def lies_in_order(tensor: Any) -> bool:
    """Return whether the array of `tensor` surely lies in memory in C order, without gaps: writing
    to it does not move it."""
    shown = [tensor]
    while type(owner := shown[-1]._owner) is View and owner.op.order == "kept":
        shown.append(owner.base)
    if type(owner) is Written:
        shown.pop()
        if owner.in_order:
            return True
    return any(_is_in_order(one._held, one._recording) for one in reversed(shown))


def lay_like(value: Value, tensor: Any) -> None:
    """Let the array of `value`, which is being recorded, not count as being in C order unless that
    of `tensor` is, whatever it was computed from."""
    recording = tensor._recording
    node = value.node
    if value.type.ndim < 2:
        return
    if node is not None and node.op.statements is not None and node.operands[0] is tensor._held:
        return
    if not lies_in_order(tensor) and _is_in_order(value, recording):
        recording.out_of_order.add(value)


def _is_in_order(value: Value, recording: Any) -> bool:
    """Return whether the node of `value` returns an array in C order."""
    pending, met = [value], {value}
    while pending:
        one = pending.pop()
        if one.data is not None:
            if not np.asarray(one.data).flags.c_contiguous:
                return False
            continue
        if one in recording.out_of_order:
            return False
        if one.node is None:
            if not recording.starts_in_order(one):
                recording.out_of_order.add(value)
                return False
            continue
        op = one.node.op
        if op.order == "C" or (op is copy and one.node.params["order"] == "C"):
            continue
        if op.order == "kept":
            following = one.node.operands[:1]
        elif op.elementwise:
            following = tuple(x for x in one.node.operands if x.type.ndim == one.type.ndim)
        else:
            following = ()
        if not following:
            recording.out_of_order.add(value)
            return False
        pending += [x for x in following if x not in met]
        met.update(following)
    return True


def held_by(tensor: Any) -> Iterator[Value]:
    """The value that a Tensor stands for, and those of the arrays that it is a view of."""
    yield tensor._held
    while type(tensor._owner) is View:
        tensor = tensor._owner.base
        yield tensor._held
    for base in tensor._owner.bases if type(tensor._owner) is Carried else ():
        yield from held_by(base)
