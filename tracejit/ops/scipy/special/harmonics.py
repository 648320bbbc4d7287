"""Legendre functions and spherical harmonics that SciPy differentiates itself, up to twice.

An op stands for a derivative of some order by the polar argument, 0 for the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, aligned
from tracejit.ops.base.creation import as_array, known
from tracejit.ops.base.infer import broadcast_shapes
from tracejit.ops.base.op import Op, Rule, answer, defop
from tracejit.ops.scipy.base.ufuncs import refusal

HIGHEST = 2


def _spelled(name: str, count: int, polar: Callable[[int], str]) -> Callable[..., str]:
    """The source: a call, of which a derivative is picked; `polar(order)` is its index."""
    places = ", ".join(f"{{{number}}}" for number in range(count))

    def source(types: Sequence[ArrayType], order: int, **keywords: Any) -> str:
        given = "".join(f", {key}={value!r}" for key, value in keywords.items())
        derived = f", diff_n={order}" if order else ""
        picked = polar(order) if order else ""
        return f"scipy.special.{name}({places}{given}{derived}){picked}"

    return source


def _derivable(
    name: str,
    count: int,
    keywords: dict[str, Any],
    polar: Callable[[int], str],
    others: tuple[Rule, ...] = (),
) -> Op:
    """The op of `name`, of `count` arguments, `others` being the derivatives by those behind the
    polar one. What comes before it are whole numbers."""
    called = getattr(sc, name)

    @cache
    def sampled(dtypes: tuple[Any, ...], ndim: int, items: tuple[Any, ...]) -> ArrayType:
        samples = [np.zeros((1,) * ndim, dtype) for dtype in dtypes]
        result = np.asarray(called(*samples, **dict(items)))
        return ArrayType(result.shape, result.dtype)

    def infer(*types: ArrayType, order: int, **keywords: Any) -> ArrayType:
        shape = broadcast_shapes(*[type.shape for type in types])
        dtypes = tuple(type.dtype for type in types)
        kind = sampled(dtypes, len(shape), tuple(keywords.items()))
        leading = kind.shape[: kind.ndim - len(shape)] if not order else ()
        return kind if False else ArrayType((*leading, *shape), kind.dtype)

    def batched(moved: Moved, *operands: Any, **params: Any) -> Any:
        found = made(*(lined := aligned(moved, operands)), **params)
        extra = found.ndim - max(x.ndim for x in lined)
        return np.moveaxis(found, extra, 0) if extra else found

    def slope(g: Any, y: Any, *operands: Any, order: int, **keywords: Any) -> Any:
        if order == HIGHEST:
            return refusal(f"{name} more than twice")()
        return g * made(*operands, order=order + 1, **keywords)

    def by(derivative: Rule) -> Rule:
        return lambda g, *values, order, **keywords: g * derivative(*values)

    def handle(*args: Any, **given: Any) -> Any:
        unknown = given.keys() - keywords.keys()
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")
        if len(args) != count:
            raise TypeError(f"takes {count} operands, {len(args)} given")
        params = {key: known(value, key) for key, value in given.items()}
        params = {key: value for key, value in params.items() if value != keywords[key]}
        return made(*map(as_array, args), order=0, **params)

    def letters(types: Sequence[ArrayType], **params: Any) -> str:
        (result,) = made.result_types(types, params)
        extra = result.ndim - max(type.ndim for type in types)
        return axes.broadcasting(types).replace("->", "->" + "_" * extra)

    rules = (*(None,) * (count - 1 - len(others)), slope, *map(by, others))
    made: Op = defop(
        name=name,
        infer=infer,
        vjp=rules,
        batch=batched,
        source=_spelled(name, count, polar),
        library="scipy",
        cost=lambda *types, **params: 100 * max(type.size for type in types),
        axes=letters,
    )
    answer(called, handle)
    return made


if hasattr(sc, "legendre_p"):
    legendre_p = _derivable("legendre_p", 2, {}, lambda order: f"[{order}]")
    assoc_legendre_p = _derivable(
        "assoc_legendre_p", 3, {"branch_cut": 2, "norm": False}, lambda order: f"[{order}]"
    )
    sph_legendre_p = _derivable("sph_legendre_p", 3, {}, lambda order: f"[{order}]")
    sph_harm_y = _derivable(
        "sph_harm_y",
        4,
        {},
        lambda order: f"[{order}][..., {', '.join('0' * order)}]",
        others=(lambda y, n, m, theta, phi: 1j * m * y,),
    )
