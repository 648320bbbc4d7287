"""Keywords of a ufunc's call: the loop that NumPy runs, and the dtypes that operands are cast to.

`dtype` and `signature` choose the loop; the operands are cast to what it takes, and then the op is
recorded as for operands of these dtypes. Whether a cast is allowed, and what is said if not, is
NumPy's: the ufunc is called on ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tracejit.ir.types import PYTHON_TYPES, ArrayType
from tracejit.ops.base.creation import as_array, cast, is_recorded, type_in_call
from tracejit.ops.base.infer import promotion_key

Dtypes = tuple[np.dtype[Any], ...]

# Where 1 is no place to compute at: the function or its derivative is infinite there.
_SAFE: dict[Any, int] = {np.arcsin: 0, np.arccos: 0, np.arctanh: 0, np.arccosh: 2}


def loop_operands(
    ufunc: np.ufunc,
    operands: Sequence[Any],
    *,
    dtype: Any = None,
    casting: str = "same_kind",
    order: Any = "K",
    subok: Any = True,
    signature: Any = None,
    sig: Any = None,
    where: Any = True,
) -> tuple[Any, ...]:
    """The operands of a call with these keywords, cast to the dtypes that the loop takes."""
    if where is not True:
        raise TypeError(
            "where= without out= leaves the other places undefined; choose with "
            "np.where(mask, result, otherwise)"
        )
    if order not in ("K", "k"):
        raise TypeError(f"order={order!r} is not supported")
    if type(subok) is not bool:
        raise TypeError("'subok' must be a boolean")
    if signature is not None and sig is not None:
        raise TypeError("cannot specify both 'sig' and 'signature'")
    signature = sig if signature is None else signature
    if signature is not None and dtype is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    values = [as_array(operand) for operand in operands]
    types = [type_in_call(value) for value in values]
    chosen = _signature(ufunc, dtype, signature)
    wanted = _loop(ufunc, tuple(map(promotion_key, types)), chosen, casting)
    if chosen is None:
        return tuple(values)
    strong = [
        value if type.form == "weak" or type.dtype == dtype else cast(value, dtype)
        for value, type, dtype in zip(values, types, wanted, strict=True)
    ]
    if _natural(ufunc, strong) != wanted:
        strong = [_strong(value, dtype) for value, dtype in zip(strong, wanted, strict=True)]
    if _natural(ufunc, strong) != wanted:
        raise TypeError(f"the loop for {', '.join(map(str, wanted))} is not supported")
    return tuple(strong)


def with_keywords(
    ufunc: np.ufunc, operands: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The operands of a call of `ufunc`, cast as its keywords say."""
    if len(operands) != ufunc.nin:
        raise TypeError(f"takes {ufunc.nin} operands, {len(operands)} given")
    return loop_operands(ufunc, operands, **keywords) if keywords else operands


def _signature(ufunc: np.ufunc, dtype: Any, signature: Any) -> Any:
    """The dtypes that the user asks for, one per operand and result, None if any will do; text
    that NumPy refuses as it is."""
    if dtype is not None:
        return (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    if isinstance(signature, str):
        letters = signature.replace("->", "")
        fits = len(signature) == len(letters) + 2 and len(letters) == ufunc.nargs
        return tuple(map(np.dtype, letters)) if fits else signature
    if isinstance(signature, tuple):
        return tuple(None if entry is None else np.dtype(entry) for entry in signature)
    return signature


@cache
def _loop(ufunc: np.ufunc, keys: tuple[Any, ...], signature: Any, casting: Any) -> Dtypes:
    """The dtypes of the operands of the loop that NumPy runs; raises what NumPy raises."""
    shape = (1,) * (2 if ufunc.signature else 1)
    samples = [np.ones(shape, key) if isinstance(key, np.dtype) else key(1) for key in keys]
    chosen = {} if signature is None else {"signature": signature}
    with np.errstate(all="ignore"):
        ufunc(*samples, casting=casting, **chosen)
    if not any(isinstance(key, np.dtype) for key in keys):
        keys = tuple(map(np.dtype, keys))
    places: tuple[Any, ...] = (*keys, *[None] * ufunc.nout)
    found = ufunc.resolve_dtypes(places, casting=casting, **chosen)
    return tuple(found[: ufunc.nin])


def _natural(ufunc: np.ufunc, operands: Sequence[Any]) -> Dtypes:
    """The dtypes of the operands of the loop for operands as they are."""
    keys = tuple(promotion_key(type_in_call(operand)) for operand in operands)
    return _loop(ufunc, keys, None, "unsafe")


def _strong(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number in a dtype; anything else as it is."""
    return cast(value, dtype) if type_in_call(value).form == "weak" else value


def masked_call(ufunc: np.ufunc, operands: Sequence[Any], mask: Any, **keywords: Any) -> Any:
    """A call of the ufunc where `mask` holds; elsewhere a number that means nothing, computed where
    the ufunc and its derivative are finite: neither warnings nor nan come from there."""
    values = with_keywords(ufunc, tuple(as_array(operand) for operand in operands), keywords)
    loop = _natural(ufunc, values)
    safe = _SAFE.get(ufunc, 1)
    strong = [_strong(value, dtype) for value, dtype in zip(values, loop, strict=True)]
    return ufunc(*[_where(mask, value, safe) for value in strong])


def _where(mask: Any, value: Any, safe: int) -> Any:
    """`value` where mask holds, else `safe` in its dtype."""
    kind: ArrayType = type_in_call(value)
    if not (is_recorded(mask) or is_recorded(value)) and np.all(mask):
        return value
    return np.where(mask, value, PYTHON_TYPES["b" if kind.dtype.kind == "b" else "i"](safe))
