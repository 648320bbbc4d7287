"""Functional updates: an array with some elements replaced or added to, as `a[index] = v` does.

In the graph the result is another value; in generated code the statement writes into the array
itself where nothing reads the old one any more. The operands are the array, the arrays in the
index, and what is written; the index is kept as in `indexing`, but that a mask stays a mask. Where
index arrays may name a place twice, the last element written there counts, as in NumPy, and has
the whole derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array, cast, followed, is_recorded, type_in_call
from tracejit.ops.base.infer import broadcast_shapes
from tracejit.ops.base.op import OPS, Each, Op, defop
from tracejit.ops.indexing import batched_indices, index_axes
from tracejit.ops.indexing.index_text import added_up, index_text
from tracejit.ops.indexing.indexing import (
    Index,
    add_at,
    getitem,
    is_unique,
    parsed_index,
    part_is_mask,
    put_slice,
    selected_type,
    take_at,
)


def _has_mask(indices: Sequence[Any]) -> bool:
    return any(index.dtype.kind == "b" for index in indices)


def _updated_type(x: ArrayType, *operands: ArrayType, index: Index, unique: bool) -> ArrayType:
    *indices, v = operands
    if v.dtype.kind == "c" and x.dtype.kind != "c":
        raise TypeError("complex values do not fit into an array of real numbers")
    if _has_mask(indices):
        return x
    shape = selected_type(x, *indices, index=index).shape
    extra = max(0, v.ndim - len(shape))
    if set(v.shape[:extra]) - {1} or not _spreads(v.shape[extra:], shape):
        raise ValueError(f"could not broadcast input array from shape {v.shape} into shape {shape}")
    return x


def _spreads(given: Shape, shape: Shape) -> bool:
    try:
        return broadcast_shapes(given, shape) == shape
    except ValueError:
        return False


def _text(index: Index) -> str:
    return index_text(index) if index else "()"


def _last(types: Sequence[ArrayType]) -> str:
    """The place of the operand that is written."""
    return f"{{{len(types) - 1}}}"


# Replacing


def _assignment(types: Sequence[ArrayType], index: Index, unique: bool) -> str:
    return f"{{out}}[{_text(index)}] = {_last(types)}"


def _set_rule(k: int, g: Any, y: Any, x: Any, *operands: Any, index: Index, unique: bool) -> Any:
    *indices, v = operands
    if k == 0:
        if not any(map(np.ndim, indices)):
            getitem(g, *indices, index=index)  # for v: read before the update, which is in place
        return set_item(g, *indices, 0, index=index, unique=unique)
    if k <= len(indices):
        return None
    if _has_mask(indices):
        return _under_mask(g, indices, v, index)
    if not any(map(np.ndim, indices)):
        return getitem(g, *indices, index=index)
    taken = take_at(g, *indices, index=index, unique=unique)
    return taken if unique else np.where(_is_last(g, taken, indices, index), taken, 0)


def _is_last(x: Any, taken: Any, indices: Sequence[Any], index: Index) -> Any:
    """True for the elements written that are the last for their place."""
    order = np.arange(taken.size).reshape(taken.shape)
    nowhere = np.zeros_like(x, dtype=order.dtype)
    written = set_item(nowhere, *indices, order, index=index, unique=False)
    return take_at(written, *indices, index=index, unique=False) == order


def _under_mask(g: Any, indices: Sequence[Any], v: Any, index: Index) -> Any:
    """The cotangent of what is written under a mask: a number for each place, or for each batch of
    places, or a row for each that the mask selects."""
    before = v.ndim - 1
    if v.ndim and indices[0].ndim == g.ndim - before:
        return take_under(g, *indices, index=index, shape=v.shape)
    there = set_item(np.zeros_like(g), *indices, 1, index=index, unique=True)
    return np.sum(g * there, axis=tuple(range(before, g.ndim - 1)) if v.ndim else None)


set_item: Op = defop(
    name="set_item",
    infer=_updated_type,
    vjp=Each(_set_rule),
    jvp="linear",
    batch=batched_indices.updating("set_item"),
    statements=lambda types, **params: ("{out} = np.array({0})", _assignment(types, **params)),
    inplace=_assignment,
    update="put",
    order="kept",
    axes=index_axes.updated,
)
take_under: Op = defop(
    name="take_under",
    infer=lambda x, *indices, index, shape: ArrayType(shape, x.dtype),
    vjp=Each(
        lambda k, g, y, x, *indices, index, shape: set_item(
            np.zeros_like(x, dtype=g.dtype), *indices, g, index=index, unique=True
        )
    ),
    jvp="linear",
    batch=batched_indices.take_under,
    source=lambda types, index, shape: f"{{0}}[{_text(index)}]",
)


def with_item(x: Any, index: Any, v: Any) -> Any:
    """x with v at x[index], as by an assignment; v in the dtype of x."""
    v = as_array(v)
    if is_recorded(index) and index.dtype.kind == "b" and not index.ndim:
        if np.ndim(v) > x.ndim and (flag := followed(index)) is not None:
            return replaced(x, v[0]) if flag else x
        return np.where(index, replaced(x, v), x)
    entries, indices = parsed_index(x, index, masks=True)
    if _has_mask([type_in_call(one) for one in indices]):
        if np.ndim(v) and np.size(v) == 1:
            v = np.reshape(v, ())
        selected = np.ndim(indices[0]) == x.ndim
        if np.ndim(v) and not (selected and np.ndim(v) == 1 and len(entries) == 1):
            return _with_parts(x, index, indices, v)
        return set_item(x, *indices, v, index=entries, unique=True)
    if entries == ("...",):
        return replaced(x, v)
    return set_item(x, *indices, v, index=entries, unique=is_unique(*indices))


def _with_parts(x: Any, index: Any, masks: Sequence[Any], v: Any) -> Any:
    """x with v at x[index], whose `masks` select more than one element after another."""
    if not any(map(part_is_mask, filter(is_recorded, masks))):
        entries, indices = parsed_index(x, index)
        return set_item(x, *indices, v, index=entries, unique=is_unique(*indices))
    mask = masks[0]
    if type(index) is tuple or np.ndim(v) > x.ndim - mask.ndim:
        text = (
            "only numbers, 1-D arrays and whole rows can be written under a mask that is recorded"
        )
        raise TypeError(text)
    v = cast(v, x.dtype) if v.dtype != x.dtype else v
    return np.where(np.reshape(mask, mask.shape + (1,) * (x.ndim - mask.ndim)), v, x)


def replaced(x: Any, v: Any) -> Any:
    """An array like x with v everywhere."""
    kind = type_in_call(v)
    if kind.dtype.kind == "c" and x.dtype.kind != "c":
        raise TypeError("complex values do not fit into an array of real numbers")
    if kind.shape != x.shape or kind.form != "array":
        extra = max(0, kind.ndim - x.ndim)
        if set(kind.shape[:extra]) - {1} or not _spreads(kind.shape[extra:], x.shape):
            text = f"could not broadcast input array from shape {kind.shape} into shape {x.shape}"
            raise ValueError(text)
        return np.full_like(x, np.reshape(v, kind.shape[extra:]) if extra else v)
    return v if kind.dtype == x.dtype else cast(v, x.dtype)


# Adding and subtracting


def _updating(
    name: str, symbol: str, ufunc: Literal["add", "subtract"], share: Callable[[Any], Any]
) -> Op:
    """The op of `x[index] += v` or `-=`, every place counted as often as it occurs; `share` makes
    the cotangent of v of that of what was updated."""

    def update(types: Sequence[ArrayType], index: Index, unique: bool) -> tuple[str, ...]:
        if unique:
            return (f"{{out}}[{_text(index)}] {symbol}= {_last(types)}",)
        shape, rows, value = types[0].shape, types[1], types[-1]
        return added_up(f"np.{ufunc}.at", _last(types), value, rows, shape, index)

    def rule(k: int, g: Any, y: Any, x: Any, *operands: Any, index: Index, unique: bool) -> Any:
        indices = operands[:-1]
        if k == 0:
            return g
        if k <= len(indices):
            return None
        if not any(map(np.ndim, indices)):
            return share(getitem(g, *indices, index=index))
        return share(take_at(g, *indices, index=index, unique=unique))

    def formula(x: Any, *operands: Any, index: Index, unique: bool) -> Any:
        """The sum with all that is written, put in zeros."""
        *indices, v = operands
        types = [type_in_call(one) for one in (x, *indices)]
        there = selected_type(*types, index=index).shape
        extra = max(0, np.ndim(v) - len(there))
        values = np.reshape(v, np.shape(v)[extra:]) if extra else v
        values = cast(np.broadcast_to(values, there), x.dtype)
        place = add_at if any(map(np.ndim, indices)) else put_slice
        return getattr(np, ufunc)(x, place(values, *indices, shape=x.shape, index=index))

    return defop(
        name=name,
        infer=_updated_type,
        formula=formula,
        vjp=Each(rule),
        jvp="linear",
        batch=batched_indices.updating(name),
        statements=lambda types, **params: ("{out} = np.array({0})", *update(types, **params)),
        inplace=lambda types, **params: "\n".join(update(types, **params)),
        update=ufunc,
        order="kept",
        axes=index_axes.updated,
    )


add_item = _updating("add_item", "+", "add", lambda g: g)
subtract_item = _updating("subtract_item", "-", "subtract", np.negative)
UPDATES = {"add": add_item, "subtract": subtract_item}


# Exchanging


def _exchange(types: Sequence[ArrayType], index: Index, unique: bool) -> str:
    there, other = [_text(index).replace("{1}", pair) for pair in ("[{1}, {2}]", "[{2}, {1}]")]
    return f"{{out}}[{there}] = {{out}}[{other}]"


def _exchanged(moved: Moved, x: Any, i: Any, j: Any, index: Index, unique: bool) -> Any:
    """The batching rule: the parts at two places are taken and written, each at the other's."""
    if not any(moved[1:]):
        return swap_items(x, i, j, index=(batched_indices.ALL, *index), unique=unique)
    pair = [cast(one, np.dtype(np.intp)) for one in np.broadcast_arrays(i, j)]
    places = np.stack(pair, axis=-1)
    taken = batched_indices.take_at(
        (moved[0], True), x, places[:, ::-1], index=index, unique=unique
    )
    write = batched_indices.updating("set_item")
    return write((moved[0], True, True), x, places, taken, index=index, unique=unique)


swap_items: Op = defop(
    name="swap_items",
    infer=lambda x, i, j, **params: x,
    vjp=(lambda g, y, x, i, j, **params: swap_items(g, i, j, **params), None, None),
    jvp="linear",
    batch=_exchanged,
    statements=lambda types, **params: ("{out} = np.array({0})", _exchange(types, **params)),
    inplace=_exchange,
    moves=True,
    order="kept",
)
"""`x[[i, j]] = x[[j, i]]`: the parts of an array at two places exchanged. It is its own adjoint,
whether the places are one or not."""


def _swapped(values: Sequence[Value], params: Mapping[str, Any]) -> tuple[Value, ...] | None:
    """The operands of an exchange, where `set_item` on these values is one."""
    if len(values) != 3 or values[2].node is None or values[1].node is None:
        return None
    x, places, (taken, pair) = values[0], values[1], (values[2].node, values[1].node)
    if taken.op is not take_at or taken.params["index"] != params["index"]:
        return None
    there, others = taken.operands[0], taken.operands[1].node
    if there is not x or others is None or not others.op is pair.op is OPS["stack"]:
        return None
    is_pair = (
        places.type.ndim == 1 and len(pair.operands) == 2 and pair.operands == others.operands[::-1]
    )
    return (x, *pair.operands) if is_pair else None


def as_update(values: Sequence[Value], params: Mapping[str, Any]) -> tuple[Op, tuple[Value, ...]]:
    """`set_item` on these values; as an addition to what is there, where that is what it is:
    `a[i] = a[i] + v` is `a[i] += v`; or as an exchange."""
    exchanged = _swapped(values, params)
    if exchanged is not None:
        return swap_items, exchanged
    *where, v = values
    node = v.node
    update = UPDATES.get(node.op.name) if node is not None and params["unique"] else None
    if update is not None and v.type.dtype == values[0].type.dtype:
        assert node is not None
        pairs = [node.operands, node.operands[::-1]][: 1 + (update is add_item)]
        for part, other in pairs:
            taken = part.node
            if taken is not None and taken.op in (getitem, take_at):
                if taken.operands == tuple(where) and taken.params["index"] == params["index"]:
                    return update, (*where, other)
    return set_item, tuple(values)


def with_at(ufunc: np.ufunc, x: Any, index: Any, *operand: Any) -> Any:
    """x as ufunc.at(x, index, operand) leaves it."""
    entries, indices = parsed_index(x, index)
    unique = is_unique(*indices)
    selected = getitem if not any(map(np.ndim, indices)) else take_at
    params = {"index": entries} if selected is getitem else {"index": entries, "unique": unique}
    operand = tuple(map(as_array, operand))
    result = ufunc(selected(x, *indices, **params), *operand)
    if not np.can_cast(result.dtype, x.dtype, "same_kind"):
        raise TypeError(f"cannot cast {result.dtype} to {x.dtype} with casting rule 'same_kind'")
    if ufunc in (np.add, np.subtract):
        update = UPDATES[ufunc.__name__]
        return update(x, *indices, operand[0], index=entries, unique=unique)
    if not unique:
        text = "an index that may name a place twice is supported for add and subtract only"
        raise TypeError(text)
    return set_item(x, *indices, result, index=entries, unique=True)


# Between rows


def _filling(types: Sequence[ArrayType], used: int, length: int) -> str:
    size = types[0].size - used
    if not types[1].shape:
        return f"helpers.fill_gaps({{out}}, {size}, {used}, {length}, {{1}})"
    gaps = f".reshape({size // length}, {length})[:, {used}:]"
    return f"{{out}}[:{size}]{gaps} = {{1}}{gaps}"


fill_gaps: Op = defop(
    name="fill_gaps",
    infer=lambda x, v, used, length: x,
    statements=lambda types, **params: ("{out} = np.array({0})", _filling(types, **params)),
    inplace=_filling,
)
"""Rows of `length`, in turn, of which `used` elements count, the last one without its
end: what lies between them replaced by a number, or by what lies there in other rows, all whole.
"""
