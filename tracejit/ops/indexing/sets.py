"""Membership and set operations, whose results have a length that depends on data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op, answer, defop

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
        "how many elements the result has depends on numbers that are not known yet; sort with "
        "np.sort, or test membership with np.isin, which keep the shape"
    )


for _name in (
    "intersect1d",
    "setdiff1d",
    "setxor1d",
    "trim_zeros",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
):
    answer(getattr(np, _name), _refuse_length)
