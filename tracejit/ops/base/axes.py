"""The axes of ops in the letters of einsum: the trait `axes`, and how it is read.

A rule has a letter for each axis of each operand and result, as in "ab,bc->ac":

- An axis with a letter can be cut into blocks, in all operands that have the letter. Where results
  have it, those of the blocks, in turn, are the result; where none has, `combine` takes
  those of the blocks together.
- A letter of results alone: every block is alike, as long as is asked for.
- `_` is an axis that the op mixes, makes of others, or broadcasts from size one.
- An axis keeps its letter where it gets a whole number of times longer or shorter.

>>> from tracejit.ops.base.op import OPS
>>> table, vector = ArrayType((5, 3), np.dtype("f8")), ArrayType((3,), np.dtype("f8"))
>>> for name in ("add", "matmul_vector"):
...     print(axis_rule(OPS[name], (table, vector), {}))
ab,b->ab
ab,b->a by add
>>> print(axis_rule(OPS["max"], (table,), {"axis": (0,)}))
ab->b by maximum

An op declares it as such a text, in which "..." are leading axes that are broadcast, or as a
function (types, **params) that returns the text, or None if nothing is known. "by maximum" at
its end names the ufunc that combines; without it, blocks are added. Ops that are elementwise,
reduce, are products or keep elements in their places need no declaration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import Dim, dims_in, key_of, terms_of
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import Op

Types = Sequence[ArrayType]

COMBINATIONS = (
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_or", "logical_and",
)  # fmt: skip
"""The ufuncs that combine what is made of blocks."""

MIXED = "_"

_OF_BLOCKS = ("shape", "index", "value")
"""Parameters in which a free size may stand: of an array, which is as long as the block, or of an
index, whose rule looks at it; or the number itself, which is that of all rows. In any other a
block would be treated as the whole."""

PRODUCTS = {
    "matrices": "...ab,...bc->...ac",
    "matrix_vector": "...ab,...b->...a",
    "vector_matrix": "...a,...ab->...b",
    "vectors": "...a,...a->...",
    "outer": "a,b->ab",
}


class AxisRule(NamedTuple):
    """A letter or `_` for each axis of the operands and of the results, and the name of the ufunc
    that combines results of blocks where they do not have the letter."""

    operands: tuple[str, ...]
    results: tuple[str, ...]
    combine: str = "add"

    def __str__(self) -> str:
        letters = set("".join(self.operands)) - set("".join((*self.results, "_")))
        text = f"{','.join(self.operands)}->{','.join(self.results)}"
        return f"{text} by {self.combine}" if letters else text


def axis_rule(op: Op, types: Types, params: Mapping[str, Any]) -> AxisRule | None:
    """The rule of `op` for operands of these types; None if nothing is known, so that all axes
    are mixed."""
    declared: Any = op.axes
    if any(any(dims_in(value)) for name, value in params.items() if name not in _OF_BLOCKS):
        return None
    if declared is None:
        declared = _derived(op, types, params)
    elif callable(declared):
        declared = declared(types, **params)
    return None if declared is None else _rule(declared, types)


def _derived(op: Op, types: Types, params: Mapping[str, Any]) -> str | None:
    """The declaration that follows from other traits."""
    if op.elementwise:
        count = len(op.result_types(types, params))
        return text_of(["..."] * len(types), *["..."] * count)
    if op.elements == "same":
        return "...->..."
    if op.reduces is not None:
        return reduced(types, **params) + f" by {op.reduces}"
    return None if op.product is None else PRODUCTS[op.product]


def _rule(text: str, types: Types) -> AxisRule | None:
    """The rule that a text declares, its "..." replaced by letters; None if it is not for as
    many axes."""
    words, _, combine = text.partition(" by ")
    operands, _, results = words.partition("->")
    given = operands.split(",") if types else []
    if len(given) != len(types):
        return None
    fixed = [len(one.replace("...", "")) for one in given]
    counts = [type.ndim - count for type, count in zip(types, fixed, strict=True)]
    pairs = list(zip(given, counts, strict=True))
    if any(count < 0 or (count and "..." not in one) for one, count in pairs):
        return None
    spare = [letter for letter in ascii_letters if letter not in words][: max(counts, default=0)]
    found = []
    for one, count, type in zip(given, counts, types, strict=True):
        first = one.find("...")
        letters = named(spare, type.shape[first : first + count]) if count else []
        found.append(one.replace("...", "".join(letters)))
    leading = [count for one, count in pairs if "..." in one]
    spare = spare[len(spare) - max(leading, default=0) :]
    rest = "".join(letter if any(letter in one for one in found) else "_" for letter in spare)
    made = tuple(one.replace("...", rest) for one in results.split(","))
    return _in_order(AxisRule(tuple(found), made, combine or "add"))


def _in_order(rule: AxisRule) -> AxisRule:
    """The rule in the letters a, b, ... in their order; one that an operand or result has twice is
    an axis of which only a diagonal counts."""
    twice = {
        letter for one in (*rule.operands, *rule.results) for letter in one if one.count(letter) > 1
    }
    everything = "".join((*rule.operands, *rule.results))
    order = [letter for letter in dict.fromkeys(everything) if letter not in twice | {"_"}]
    table = str.maketrans(dict(zip(order, ascii_letters, strict=False)) | dict.fromkeys(twice, "_"))
    return AxisRule(
        tuple(one.translate(table) for one in rule.operands),
        tuple(one.translate(table) for one in rule.results),
        rule.combine,
    )


# What declarations are made of


def is_one(size: Any) -> bool:
    """Return whether a size is known to be one; a free dimension is not."""
    return type(size) is not Dim and size == 1


def named(letters: Sequence[str], sizes: Sequence[Any]) -> list[str]:
    """The last of the letters for axes of these sizes, `_` for those of size one."""
    last = letters[len(letters) - len(sizes) :]
    return ["_" if is_one(size) else one for one, size in zip(last, sizes, strict=True)]


def letters_of(type: ArrayType, first: int = 0) -> list[str]:
    """A letter for each axis of an array, from letter number `first` on, `_` for those of size
    one."""
    return named(ascii_letters[first : first + type.ndim], type.shape)


def text_of(operands: Sequence[Any], *results: Any) -> str:
    """The declaration for letters of operands and of results."""
    return f"{','.join(map(''.join, operands))}->{','.join(map(''.join, results))}"


def mixed(letters: Sequence[str], axis: Any) -> list[str]:
    """Letters with `_` for an axis, for several, or for all, which is None."""
    if axis is None:
        return ["_"] * len(letters)
    places = axis if isinstance(axis, tuple) else (axis,)
    return [
        "_" if k in places or k - len(letters) in places else letter
        for k, letter in enumerate(letters)
    ]


def _beside(types: Types) -> list[str]:
    """The other operands, which have no part in the axes of the first."""
    return ["_" * type.ndim for type in types[1:]]


def along(types: Types, axis: Any = -1, **params: Any) -> str:
    """Mix one axis of the first operand, or several, and keep them all."""
    letters = mixed(letters_of(types[0]), axis)
    return text_of([letters, *_beside(types)], letters)


def along_axes(types: Types, axes: tuple[int, ...], **params: Any) -> str:
    """Mix some axes of the first operand."""
    return along(types, axes)


def over(types: Types, axis: Any = -1, keepdims: bool = False, **params: Any) -> str:
    """Mix one axis of the first operand, or several, and drop them."""
    letters = mixed(letters_of(types[0]), axis)
    return text_of([letters, *_beside(types)], without(letters, axis, keepdims))


def reduced(types: Types, axis: Any, keepdims: bool = False, **params: Any) -> str:
    """Take the elements along some axes together."""
    letters = letters_of(types[0])
    return text_of([letters, *_beside(types)], without(letters, axis, keepdims))


def without(letters: Sequence[str], axis: Any, keepdims: bool) -> list[str]:
    """The letters of a result over some axes."""
    if keepdims:
        return mixed(letters, axis)
    kept = mixed([str(k) for k in range(len(letters))], axis)
    return [letters[int(k)] for k in kept if k != "_"]


def reshaped(types: Types, shape: Sequence[Any]) -> str:
    """The same elements, in the same order, in another shape.

    >>> x = ArrayType((6, 5, 2), np.dtype("f8"))
    >>> [reshaped([x], shape) for shape in [(6, 10), (30, 2), (3, 20), (4, 15)]]
    ['ab_->ab', 'a_c->ac', 'a__->a_', '___->__']
    """
    (x,) = types
    letters, result = ["_"] * x.ndim, ["_"] * len(shape)
    before, after = _prefixes(x.shape), _prefixes(shape)
    is_empty = any(type(size) is int and not size for size in shape)
    common = [key for key in before if key in after and not is_empty]
    # A group of axes begins behind each product of sizes that both shapes have.
    for key in [1, *common[:-1]][: len(common)]:
        own, other = _next(before, key), _next(after, key)
        sizes = x.shape[own], shape[other]
        if is_multiple(*sizes) or is_multiple(*sizes[::-1]):
            letters[own] = result[other] = ascii_letters[own]
    return text_of([letters], result)


def _prefixes(shape: Sequence[Any]) -> dict[Any, int]:
    """The number of each axis that is not of size one, by the product of sizes up to it."""
    found: dict[Any, int] = {}
    product: Any = 1
    for axis, size in enumerate(shape):
        if not is_one(size):
            product = product * size
            found[key_of(product)] = axis
    return found


def _next(prefixes: Mapping[Any, int], key: Any) -> int:
    """The axis after the one at which the product is `key`."""
    axes = list(prefixes.values())
    return axes[0] if key == 1 else axes[axes.index(prefixes[key]) + 1]


def is_multiple(size: Any, other: Any) -> bool:
    """Return whether a size is a whole number of times another, whatever free dimensions are."""
    if type(size) is not Dim:
        return type(other) is not Dim and bool(other) and size % other == 0
    divisor = terms_of(other)
    terms = terms_of(size)
    if len(divisor) == 1:
        ((monomial, factor),) = divisor.items()
        return all(_has(one, monomial) and not count % factor for one, count in terms.items())
    return terms == divisor


def _has(monomial: Any, part: Any) -> bool:
    rest = list(monomial)
    for index in part:
        if index not in rest:
            return False
        rest.remove(index)
    return True


def broadcast(types: Types, shape: Sequence[Any], **params: Any) -> str:
    """One operand broadcast to a shape: what is repeated is alike in every block."""
    letters = ascii_letters[: len(shape)]
    return text_of([named(letters, types[0].shape)], named(letters, shape))


def joined(types: Types, axis: int) -> str:
    """Operands joined along an axis."""
    return text_of(
        [mixed(letters_of(types[0]), axis)] * len(types), mixed(letters_of(types[0]), axis)
    )


def stacked(types: Types, axis: int) -> str:
    """Operands of one shape joined along a new axis."""
    letters = letters_of(types[0])
    return text_of([letters] * len(types), [*letters[:axis], "_", *letters[axis:]])


def expanded(types: Types, axis: tuple[int, ...]) -> str:
    """Axes of size one put in."""
    letters = iter(letters_of(types[0]))
    made = ["_" if k in axis else next(letters) for k in range(types[0].ndim + len(axis))]
    return text_of([letters_of(types[0])], made)


def squeezed(types: Types, axis: tuple[int, ...]) -> str:
    """Axes of size one left out."""
    return reduced(types, axis)


def transposed(types: Types, axes: tuple[int, ...]) -> str:
    """Axes in another order."""
    letters = letters_of(types[0])
    return text_of([letters], [letters[axis] for axis in axes])


def broadcasting(types: Types, **params: Any) -> str:
    """Operands broadcast with each other, and computed with element by element."""
    return f"{','.join(['...'] * len(types))}->..."


def made(types: Types, shape: Sequence[Any], **params: Any) -> str:
    """An array made of no operand, alike in all blocks."""
    return text_of([], letters_of(ArrayType(tuple(shape), np.dtype(np.bool_))))


def sides(types: Types, **params: Any) -> str | None:
    """Columns of the last operand, solved for one by one with matrices or vectors."""
    *matrices, b = types
    if b.ndim not in (1, 2) or any(type.ndim > 2 for type in matrices):
        return None
    columns = ["_", *letters_of(b)[1:]]
    return text_of([*["_" * type.ndim for type in matrices], columns], columns)
