"""Membership and set operations, whose results have a length that depends on data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array, followed
from tracejit.ops.base.op import Op, answer, defop
from tracejit.ops.indexing.indexing import take_at

_BOOL = np.dtype(np.bool_)


@cache
def _check_kind(dtypes: tuple[np.dtype[Any], ...], kind: str | None) -> None:
    """Raise what NumPy raises for a way of searching that these dtypes do not allow."""
    options: dict[str, Any] = {"kind": kind}
    np.isin(np.zeros(1, dtypes[0]), np.zeros(1, dtypes[1]), **options)


def _isin_call(
    element: Any,
    test_elements: Any,
    assume_unique: Any = False,
    invert: Any = False,
    *,
    kind: str | None = None,
) -> tuple[tuple[Any, Any], dict[str, Any]]:
    options = {"assume_unique": bool(assume_unique), "invert": bool(invert), "kind": kind}
    given = {name: option for name, option in options.items() if option}
    return (as_array(element), as_array(test_elements)), given


def _isin_type(
    element: ArrayType, test: ArrayType, kind: str | None = None, **_: bool
) -> ArrayType:
    _check_kind((element.dtype, test.dtype), kind)
    return ArrayType(element.shape, _BOOL)


def _isin_source(types: Sequence[ArrayType], **options: Any) -> str:
    return f"np.isin({', '.join(['{0}', '{1}', *[f'{name}={{{name}}}' for name in options]])})"


def _isin_batch(moved: Moved, element: Any, test: Any, **options: Any) -> Any:
    return NotImplemented if moved[1] else isin(element, test, **options)


def _member_axes(types: Sequence[ArrayType], invert: bool = False, **params: Any) -> str:
    """An element is in a set, or in none, where it is in one of its parts, or in none."""
    x, others = types
    letters = axes.letters_of(x)
    operands = [letters, axes.letters_of(others, x.ndim)]
    return axes.text_of(operands, letters) + f" by logical_{'and' if invert else 'or'}"


isin: Op = defop(
    np.isin,
    canonical=_isin_call,
    infer=_isin_type,
    vjp=(),
    batch=_isin_batch,
    source=_isin_source,
    axes=_member_axes,
)


def _refuse_length(*args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        "the number of elements of the result depends on values that are not known yet; sort with "
        "np.sort, or test membership with np.isin, which keep the shape"
    )


def _pattern(condition: Any) -> Any:
    """The numbers of a condition, each pattern of which is recorded for itself; or an error."""
    found = followed(condition)
    return _refuse_length() if found is None else found


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The elements in order, each once; how many there are is what Python goes by."""
    flat = np.ravel(as_array(ar))
    if not sorted and flat.dtype.kind != "f":
        raise TypeError(
            "the order of the elements is not specified; call np.unique, which sorts them"
        )
    options: dict[str, Any] = {"kind": "stable"} if return_index else {}
    order = np.argsort(flat, **options)
    ordered = flat[order]
    low, high = ordered[:-1], ordered[1:]
    differs = low != high
    if equal_nan and flat.dtype.kind in "fc":
        differs = differs & ~(np.isnan(low) & np.isnan(high))
    starts = np.concatenate(([True], _pattern(differs)))[: flat.size]
    places = np.flatnonzero(starts)
    found = [ordered[places]]
    if return_index:
        found.append(order[places])
    if return_inverse:
        ranks = np.cumsum(starts) - 1
        places_of = np.argsort(order)
        inverse = take_at(ranks, places_of, index=("{1}",), unique=True)
        found.append(np.reshape(inverse, np.shape(ar)))
    if return_counts:
        found.append(np.diff(np.append(places, flat.size)))
    return tuple(found) if len(found) > 1 else found[0]


def _one_of_each(ar: Any, assume_unique: bool) -> Any:
    return np.ravel(as_array(ar)) if assume_unique else np.unique(ar)


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements that two arrays have in common, in order."""
    sides = [_one_of_each(ar, assume_unique) for ar in (ar1, ar2)]
    ordered = np.sort(np.concatenate(sides))
    return ordered[np.flatnonzero(_pattern(ordered[1:] == ordered[:-1]))]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements of one array that are not in another."""
    first = _one_of_each(ar1, assume_unique)
    return first[np.flatnonzero(_pattern(np.isin(first, as_array(ar2), invert=True)))]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements that are in one of two arrays alone, in order."""
    sides = [_one_of_each(ar, assume_unique) for ar in (ar1, ar2)]
    ordered = np.sort(np.concatenate(sides))
    starts = np.concatenate(([True], _pattern(ordered[1:] != ordered[:-1]), [True]))
    return ordered[np.flatnonzero(starts[1:] & starts[:-1])]


def union1d(ar1: Any, ar2: Any) -> Any:
    """The elements of two arrays in order, each once."""
    return np.unique(np.concatenate([np.ravel(as_array(ar)) for ar in (ar1, ar2)]))


def trim_zeros(filt: Any, trim: str = "fb") -> Any:
    """An array without the zeros at its ends."""
    filt = as_array(filt)
    if np.ndim(filt) != 1:
        raise TypeError("filt has more than one axis; take a slice")
    places = np.flatnonzero(_pattern(filt != 0))
    first, last = (places[0], places[-1]) if places.size else (np.size(filt), -1)
    first = first if "f" in trim.lower() else 0
    return filt[first : last + 1 if "b" in trim.lower() else np.size(filt)]


for _function in (unique, intersect1d, setdiff1d, setxor1d, union1d, trim_zeros):
    answer(getattr(np, _function.__name__), _function)


def _unique_as(function: Callable[[Any], Any], *returned: str) -> None:
    """Record a function of the array API's as np.unique with these results, under their names."""
    results = type(function(np.zeros(1)))
    options = dict.fromkeys(returned, True)
    answer(function, lambda x: results(*unique(x, equal_nan=False, **options)))


_unique_as(np.unique_all, "return_index", "return_inverse", "return_counts")
_unique_as(np.unique_counts, "return_counts")
_unique_as(np.unique_inverse, "return_inverse")
_SORTS_VALUES = np.lib.NumpyVersion(np.__version__) < "2.3.0"
answer(np.unique_values, lambda x: unique(x, equal_nan=False, sorted=_SORTS_VALUES))
