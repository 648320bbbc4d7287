"""How functions of scipy.linalg become ops: calls read by their signatures, dtypes as SciPy has
them.

What runs is the user's own call, so values are SciPy's. Parameters are the keywords that the user
gave another value than their default; `check_finite` is passed on. Stacks of matrices are taken
where the SciPy that is installed takes them: each call is tried once on small arrays of its dtypes
and numbers of axes, which gives the dtypes of the results and SciPy's own errors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.creation import as_array, is_recorded
from tracejit.ops.op import Op, Rules, defop

Probe = Callable[..., Any]
FREE = ("check_finite", "overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_x")


def read_call(
    function: Callable[..., Any], operands: Sequence[str], keywords: Sequence[str] = ()
) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]:
    """The canonical form of a call: operands by name, and those of `keywords` that are not as by
    default."""
    signature = inspect.signature(function)
    defaults = {name: known.default for name, known in signature.parameters.items()}

    def read(*args: Any, **given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arguments = signature.bind(*args, **given).arguments
        params: dict[str, Any] = {}
        for name, value in arguments.items():
            if name in operands or value is defaults[name]:
                continue
            if is_recorded(value):
                raise TypeError(f"{name} cannot be recorded: it has to be known beforehand")
            if name in FREE and name != "check_finite" and not value:
                continue
            if name not in keywords and name != "check_finite":
                raise TypeError(f"unexpected keyword argument '{name}'")
            if value != defaults[name]:
                params[name] = value.item() if isinstance(value, np.generic) else value
        return tuple([as_array(arguments[name]) for name in operands]), params

    return read


def sample(ndim: int, dtype: np.dtype[Any]) -> Any:
    """A small array that every function takes: twice an identity matrix, a vector, a number."""
    if ndim < 2:
        return np.ones((2,) * ndim, dtype)
    return np.broadcast_to((2 * np.eye(2)).astype(dtype), (1,) * (ndim - 2) + (2, 2))


@cache
def _answers(
    probe: Probe, kinds: tuple[tuple[int, np.dtype[Any]], ...], params: tuple[tuple[str, Any], ...]
) -> tuple[np.dtype[Any], ...]:
    with np.errstate(all="ignore"):
        answer = probe(*[sample(*kind) for kind in kinds], **dict(params))
    answers = answer if isinstance(answer, tuple) else (answer,)
    return tuple([np.asarray(answer).dtype for answer in answers])


def answer_dtypes(
    probe: Probe, types: Sequence[ArrayType], params: Mapping[str, Any]
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of what SciPy answers to operands of these types."""
    kinds = tuple([(type.ndim, type.dtype) for type in types])
    return _answers(probe, kinds, tuple(sorted(params.items())))


def call_text(function: str, places: str, params: Mapping[str, Any]) -> str:
    """The template of a call with these parameters as keywords."""
    keywords = "".join(f", {name}={{{name}}}" for name in params)
    return f"scipy.{function}({places}{keywords})"


def linalg_op(
    function: Callable[..., Any],
    *,
    operands: Sequence[str] = ("a",),
    keywords: Sequence[str] = (),
    shape: Callable[..., Shape | tuple[Shape, ...]],
    vjp: Rules,
    jvp: Any = None,
    name: str = "",
    places: str = "",
    suffix: Callable[..., str] | None = None,
    probe: Probe | None = None,
    handles: bool = True,
    cost: Callable[..., int] | None = None,
) -> Op:
    """The op of one function of scipy.linalg.

    `shape` gives the shape of the result, or a list of them, for the operands' types and the
    parameters. `places` spells the operands, `suffix(types, **params)` what follows the
    call. `handles` False: calls of
    the function are read elsewhere.
    """
    places = places or ", ".join(f"{{{number}}}" for number in range(len(operands)))
    name = name or function.__name__
    probe = probe or function

    def infer(*types: ArrayType, **params: Any) -> ArrayType | tuple[ArrayType, ...]:
        shapes: Any = shape(*types, **params)
        dtypes = answer_dtypes(probe, types, params)
        if isinstance(shapes, list):
            return tuple([ArrayType(*kind) for kind in zip(shapes, dtypes, strict=True)])
        return ArrayType(shapes, dtypes[0])

    return defop(
        *([function] if handles else []),
        name=name,
        canonical=read_call(function, operands, keywords),
        infer=infer,
        vjp=vjp,
        jvp=jvp,
        source=lambda types, **params: (
            call_text(f"linalg.{function.__name__}", places, params)
            + (suffix(types, **params) if suffix is not None else "")
        ),
        library="scipy",
        cost=cost or _cubic,
    )


def _cubic(*types: ArrayType, **params: Any) -> int:
    return 4 * types[0].size * max(types[0].shape[-1:], default=1)


def square(a: ArrayType, **params: Any) -> Shape:
    """The shape of a square matrix, or of a stack of them; ValueError for any other."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"expected square matrices, got the shape {a.shape}")
    return a.shape
