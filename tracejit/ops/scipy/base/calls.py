"""Functions of SciPy as ops: calls read by their signatures, dtypes as SciPy has them.

The user's own call runs, so values are SciPy's. Parameters are the keywords that the user gave
another value than their default; `check_finite` is passed on. Stacks of matrices are taken where
the SciPy that is installed takes them: each call is tried once on small arrays of its dtypes and
numbers of axes, which gives the dtypes of the results and SciPy's own errors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tracejit.ir.types import HANDLE, ArrayType, Shape, type_of
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array, is_recorded, settled, type_in_call
from tracejit.ops.base.op import OPS, Op, Rules, answer, defop

Probe = Callable[..., Any]
FREE = (
    "check_finite",
    "overwrite_a",
    "overwrite_b",
    "overwrite_ab",
    "overwrite_x",
    "overwrite_data",
)


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
            value = tuple(value) if type(value) is list else settled(value)
            if is_recorded(value):
                raise TypeError(
                    f"{name} cannot be a recorded value: it must be known before the call"
                )
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
    return (2 * np.eye(2)).astype(dtype).reshape((1,) * (ndim - 2) + (2, 2))


@cache
def _answers(
    probe: Probe, kinds: tuple[tuple[int, np.dtype[Any]], ...], params: tuple[tuple[str, Any], ...]
) -> tuple[ArrayType, ...] | list[ArrayType]:
    with np.errstate(all="ignore"):
        answered = probe(*[sample(*kind) for kind in kinds], **dict(params))
    if isinstance(answered, list):
        return [type_of(part) or HANDLE for part in answered]
    answers = answered if isinstance(answered, tuple) else (answered,)
    return tuple([type_of(part) or HANDLE for part in answers])


def answer_types(
    probe: Probe, types: Sequence[ArrayType], params: Mapping[str, Any]
) -> tuple[ArrayType, ...] | list[ArrayType]:
    """The types, but for the shapes, of what SciPy answers to operands of these types: a tuple, or
    a list where SciPy answers one."""
    kinds = tuple([(type.ndim, type.dtype) for type in types])
    return _answers(probe, kinds, tuple(sorted(params.items())))


def call_text(function: str, places: str, params: Mapping[str, Any]) -> str:
    """The template of a call with these parameters as keywords, but for those in `places`."""
    later = [name for name in params if f"{{{name}}}" not in places]
    keywords = "".join(f", {name}={{{name}}}" for name in later)
    return f"scipy.{function}({places}{keywords})"


def linalg_op(
    function: Callable[..., Any],
    *,
    operands: Sequence[str] = ("a",),
    keywords: Sequence[str] = (),
    shape: Callable[..., Shape | list[Shape]],
    vjp: Rules,
    jvp: Any = None,
    linear_in: tuple[int, ...] = (),
    name: str = "",
    places: str = "",
    suffix: Callable[..., str] | None = None,
    probe: Probe | None = None,
    source: Callable[..., str] | None = None,
    handles: bool = True,
    module: str = "linalg",
    infer: Callable[..., ArrayType] | None = None,
    batch: Any = None,
    cost: Callable[..., int] | None = None,
    assumes_shape: bool = False,
    axes: str | Callable[..., str | None] | None = None,
) -> Op:
    """The op of one function of scipy.linalg, or of another `module` of SciPy's.

    `shape` gives the shape of the result, or a list of them, for the operands' types and the
    parameters. `places` spells the operands, `suffix(types, **params)` what follows the
    call; `source` replaces both. `infer` replaces the probe; `linear_in`, `batch`, `axes` and
    `assumes_shape` are as in an Op, and functions of one matrix take a stack where SciPy does.
    `handles` False: calls of the function are read elsewhere.
    """
    places = places or ", ".join(f"{{{number}}}" for number in range(len(operands)))
    taken = hasattr(np.linalg, function.__name__)
    name = name or ("scipy_" if taken else "") + function.__name__
    probe = probe or function

    def by_probe(*types: ArrayType, **params: Any) -> ArrayType | tuple[ArrayType, ...]:
        shapes: Any = shape(*types, **params)
        kinds = answer_types(probe, types, params)
        if isinstance(shapes, list):
            return tuple(map(_typed, shapes, kinds))
        return _typed(shapes, kinds[0])

    def spelled(types: Sequence[ArrayType], **params: Any) -> str:
        call = call_text(f"{module}.{function.__name__}", places, params)
        return call + (suffix(types, **params) if suffix is not None else "")

    def stacked(moved: Moved, a: Any, **params: Any) -> Any:
        """As a stack of matrices, which some functions and versions of SciPy take, but for an empty
        one."""
        if not a.size:
            return NotImplemented
        try:
            op.result_types([a.type], params)
        except (TypeError, ValueError):
            return NotImplemented
        return op(a, **params)

    def call(*args: Any, **keywords: Any) -> Any:
        operands, params = op.canonical(*args, **keywords)
        results = op(*operands, **params)
        if isinstance(results, tuple):
            return in_its_container(function, operands, results)
        return results

    is_of_matrices = shape in (matrix, square) and len(operands) == 1
    op: Op = defop(
        name=name,
        canonical=read_call(function, operands, keywords),
        infer=infer or by_probe,
        vjp=vjp,
        jvp=jvp,
        linear_in=linear_in,
        batch=batch or (stacked if is_of_matrices else None),
        source=source or spelled,
        library="scipy",
        cost=cost or _cubic,
        assumes_shape=assumes_shape,
        axes=axes or ("...__->...__" if is_of_matrices else None),
    )
    if handles:
        answer(function, call)
    return op


def in_its_container(function: Probe, operands: Sequence[Any], results: Any) -> Any:
    """Several results in a list where SciPy answers to stacks of matrices with one."""
    types = [type_in_call(operand) for operand in operands]
    answered = answer_types(function, types, {})
    return list(results) if isinstance(answered, list) else results


def _typed(shape: Shape, kind: ArrayType) -> ArrayType:
    """A result of this shape where SciPy answered `kind` to small arrays."""
    if kind.ndim != len(shape):  # some versions take a stack of matrices for one
        raise TypeError("stacks of matrices are not supported by the SciPy that is installed")
    return ArrayType(shape, kind.dtype, "array" if shape else kind.form)


def _cubic(*types: ArrayType, **params: Any) -> int:
    return 4 * types[0].size * max(types[0].shape[-1:], default=1)


def matrix(a: ArrayType, **params: Any) -> Shape:
    """The shape of a matrix, or of a stack of them; ValueError for any other."""
    if a.ndim < 2:
        raise ValueError(f"expected matrices, got the shape {a.shape}")
    return a.shape


def square(a: ArrayType, **params: Any) -> Shape:
    """The shape of a square matrix, or of a stack of them; ValueError for any other."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"expected square matrices, got the shape {a.shape}")
    return a.shape


def checked(check_finite: bool, **overwrites: bool) -> dict[str, Any]:
    """The parameters of a call that is read by hand; ones that overwrite are refused."""
    for name, value in overwrites.items():
        if value:
            raise TypeError(f"unexpected keyword argument '{name}'")
    return {} if check_finite else {"check_finite": False}


def along_one_axis(name: str) -> Callable[..., Any]:
    """The batching rule of the op `name` along one axis, the last one by default, whose other
    operands are the same for all elements."""

    def rule(moved: Moved, x: Any, *others: Any, axis: int = -1, **params: Any) -> Any:
        if any(moved[1:]) or not x.size:
            return NotImplemented
        where = {} if axis == -1 else {"axis": axis + 1 if axis >= 0 else axis}
        return OPS[name](x, *others, **where, **params)

    return rule
