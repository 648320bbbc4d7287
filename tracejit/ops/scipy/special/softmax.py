"""logsumexp, softmax and log_softmax, along axes, weighted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, aligned, behind
from tracejit.ops.base.creation import as_array, known
from tracejit.ops.base.infer import (
    answered,
    answers,
    broadcast_shapes,
    normalize_axes,
    reduced_shape,
)
from tracejit.ops.base.op import Op, answer, defop
from tracejit.support.errors import fail

Axis = tuple[int, ...] | None


def _axis(axis: Any, ndim: int) -> Axis:
    """The axes as numbers from 0 on; None for all."""
    axis = known(axis, "axis")
    return None if axis is None else normalize_axes(axis, ndim)


def _spelled(axis: Axis) -> str:
    """The keyword of an axis, after a comma."""
    if axis is None:
        return ""
    return f", axis={axis[0] if len(axis) == 1 else axis}"


def _small(type: ArrayType) -> ArrayType:
    return ArrayType((1,) * type.ndim, type.dtype)


# logsumexp


def _logsumexp(a: Any, b: Any = None, **keywords: Any) -> Any:
    return sc.logsumexp(a, b=b, **keywords)


def _logsumexp_type(
    *types: ArrayType, axis: Axis, keepdims: bool, return_sign: bool
) -> tuple[ArrayType, ...]:
    shape = broadcast_shapes(*[type.shape for type in types])
    if not len(shape) and types[0].form == "weak":
        types = tuple(type.with_form("array") for type in types)
    kinds = answers(
        _logsumexp,
        *map(_small, types),
        axis=axis,
        keepdims=keepdims,
        return_sign=return_sign,
    )
    axes = normalize_axes(axis, len(shape))
    reduced = reduced_shape(shape, axes, keepdims)
    return tuple(ArrayType(reduced, kind.dtype, kind.form) for kind in kinds)


def _logsumexp_source(
    types: Sequence[ArrayType], axis: Axis, keepdims: bool, return_sign: bool
) -> str:
    keywords = _spelled(axis) + (", b={1}" if len(types) > 1 else "")
    keywords += ", keepdims=True" if keepdims else ""
    keywords += ", return_sign=True" if return_sign else ""
    return "scipy.special.logsumexp({0}" + keywords + ")"


def _spread(value: Any, operands: tuple[Any, ...], axis: Axis, keepdims: bool) -> Any:
    """A value of the result's shape, to go with the operands."""
    shape = broadcast_shapes(*[operand.shape for operand in operands])
    if keepdims or not shape:
        return value
    return np.reshape(value, reduced_shape(shape, normalize_axes(axis, len(shape)), True))


def _parts(y: Any) -> tuple[Any, Any]:
    """The logarithm, and the sign where there is one."""
    if not isinstance(y, (tuple, list)):
        return y, None
    if y[1].dtype.kind == "c":
        raise fail("no-rule", None, op="logsumexp of complex numbers with return_sign=True")
    log, sign = y
    return log, sign


def _weights(y: Any, operands: tuple[Any, ...], axis: Axis, keepdims: bool) -> Any:
    """exp(a - y), with the sign of the sum: the derivative by b."""
    log, sign = _parts(y)
    log = _spread(log, operands, axis, keepdims)
    ratio = np.exp(operands[0] - np.where(log == -np.inf, 0.0, log))
    return ratio if sign is None else ratio * _spread(sign, operands, axis, keepdims)


def _moved(g: Any, y: Any) -> Any:
    return g[0] if isinstance(y, (tuple, list)) else g


def _by_a(g: Any, y: Any, *operands: Any, axis: Axis, keepdims: bool, return_sign: bool) -> Any:
    """The softmax, times b."""
    moved = _moved(g, y)
    if moved is None:
        return None
    weights = _weights(y, operands, axis, keepdims)
    weights = weights * operands[1] if len(operands) > 1 else weights
    return _spread(moved, operands, axis, keepdims) * weights


def _by_b(g: Any, y: Any, *operands: Any, axis: Axis, keepdims: bool, return_sign: bool) -> Any:
    moved = _moved(g, y)
    if moved is None:
        return None
    return _spread(moved, operands, axis, keepdims) * _weights(y, operands, axis, keepdims)


def _batched_logsumexp(moved: Moved, *operands: Any, axis: Axis, **params: Any) -> Any:
    lined = aligned(moved, operands)
    if not all(x.size for x in lined):  # SciPy refuses several axes of nothing
        return NotImplemented
    axes = behind(axis) if axis is not None else tuple(range(1, max(x.ndim for x in lined)))
    return logsumexp(*lined, axis=axes, **params)


def _logsumexp_axes(
    types: Sequence[ArrayType], axis: Axis, keepdims: bool, return_sign: bool
) -> str:
    whole = ArrayType(broadcast_shapes(*[type.shape for type in types]), types[0].dtype)
    letters = axes.mixed(axes.letters_of(whole), axis)
    result = axes.without(letters, axis, keepdims)
    operands = [axes.named(letters, type.shape) for type in types]
    return axes.text_of(operands, *[result] * (1 + return_sign))


def _greatest(x: Any, axis: Axis) -> Any:
    """The largest elements, zero where that is infinite: what can be subtracted."""
    largest = np.max(x, axis=axis, keepdims=True)
    return np.where(np.isfinite(largest), largest, 0.0)


def _logsumexp_formula(a: Any, *weights: Any, axis: Axis, keepdims: bool, return_sign: bool) -> Any:
    """The logarithm of a sum of exponentials beside the largest; NotImplemented for complex
    numbers."""
    if any(x.dtype.kind == "c" for x in (a, *weights)):
        return NotImplemented
    if weights:
        a = np.where(weights[0] == 0, -np.inf, a)
    largest = _greatest(a, axis)
    powers = np.exp(a - largest)
    total = np.sum(powers * weights[0] if weights else powers, axis=axis, keepdims=True)
    size = np.abs(total) if return_sign else total
    log = np.where(size == 0, -np.inf, np.log(np.where(size == 0, 1.0, size))) + largest
    results = [log, np.sign(total)][: 1 + return_sign]
    results = [x if keepdims else np.squeeze(x, axis) for x in results]
    return tuple(results) if return_sign else results[0]


logsumexp: Op = defop(
    name="logsumexp",
    infer=_logsumexp_type,
    vjp=(_by_a, _by_b),
    batch=_batched_logsumexp,
    source=_logsumexp_source,
    library="scipy",
    cost=lambda *types, **params: 60 * max(type.size for type in types),
    axes=_logsumexp_axes,
    formula=_logsumexp_formula,
)


def _logsumexp_call(
    a: Any, axis: Any = None, b: Any = None, keepdims: Any = False, return_sign: Any = False
) -> Any:
    operands = [as_array(a)] if b is None else [as_array(a), as_array(b)]
    ndim = len(broadcast_shapes(*map(np.shape, operands)))
    return logsumexp(
        *operands,
        axis=_axis(axis, ndim),
        keepdims=bool(keepdims),
        return_sign=bool(return_sign),
    )


answer(sc.logsumexp, _logsumexp_call)


# softmax


def _total(x: Any, axis: Axis) -> Any:
    return np.sum(x, axis=axis, keepdims=True)


def _along(function: Callable[..., Any], vjp: Any, formula: Any) -> Op:
    """The op of a function that keeps the shape of its argument."""

    def infer(x: ArrayType, axis: Axis) -> ArrayType:
        kind = answered(function, _small(x), axis=axis)
        return ArrayType(x.shape, kind.dtype, kind.form)

    def canonical(x: Any, axis: Any = None) -> tuple[tuple[Any], dict[str, Any]]:
        x = as_array(x)
        return (x,), {"axis": _axis(axis, np.ndim(x))}

    def batched(moved: Moved, x: Any, axis: Axis) -> Any:
        return made(x, axis=behind(axis) if axis is not None else tuple(range(1, x.ndim)))

    made: Op = defop(
        function,
        canonical=canonical,
        infer=infer,
        vjp=vjp,
        formula=formula,
        batch=batched,
        source=lambda types, axis: f"scipy.special.{function.__name__}({{0}}{_spelled(axis)})",
        library="scipy",
        cost=lambda x, **params: 40 * x.size,
        axes=axes.along,
    )
    return made


def _softmax_formula(x: Any, axis: Axis) -> Any:
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / _total(powers, axis)


def _log_softmax_formula(x: Any, axis: Axis) -> Any:
    beside = x - _greatest(x, axis)
    return beside - np.log(_total(np.exp(beside), axis))


softmax = _along(
    sc.softmax,
    vjp=lambda g, y, x, axis: y * (g - _total(g * y, axis)),
    formula=_softmax_formula,
)
log_softmax = _along(
    sc.log_softmax,
    vjp=lambda g, y, x, axis: g - np.exp(y) * _total(g, axis),
    formula=_log_softmax_formula,
)
