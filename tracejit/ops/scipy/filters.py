"""Linear filters of scipy.ndimage, as ops: `correlate` and `convolve` of any number of axes, and
`correlate1d`, `convolve1d` and `uniform_filter1d` along one. Each is spelled as SciPy's call.

A filter extends the array beyond its bounds, as `mode` says, and correlates that with the weights.
The adjoint is transposed in both: the cotangent is spread over the extended array, of a correlation
by a convolution and the other way round, and what lies outside is added to the elements that it was
taken from. In "constant" mode that is `cval`, which has no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.ndimage as nd

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.op import Op, defop
from tracejit.ops.indexing.updates import with_at

_ALIASES = {"grid-mirror": "reflect", "grid-constant": "constant", "grid-wrap": "wrap"}
_ALL = slice(None)
_ROUND = slice(None, None, -1)


# Beyond the bounds


def _at(axis: int, where: Any) -> tuple[Any, ...]:
    """The index of a part of an axis."""
    return (*(_ALL,) * axis, where)


def _taken_from(places: np.ndarray, size: int, mode: str) -> np.ndarray:
    """The elements of an axis that stand at `places` outside of it."""
    if mode == "nearest":
        return np.asarray(np.clip(places, 0, size - 1))
    if mode == "wrap":
        return np.asarray(places % size)
    period = 2 * size if mode == "reflect" else max(2 * size - 2, 1)
    places = places % period
    return np.where(places < size, places, period - places - (mode == "reflect"))


def _folded(z: Any, axis: int, before: int, after: int, mode: str) -> Any:
    """Fold an extended axis back: add each element outside to the one that it was copied from.
    In mode "constant", drop the elements outside."""
    size = z.shape[axis] - before - after
    core = z[_at(axis, slice(before, before + size))]
    if mode == "constant" or not size:
        return core
    if before:
        places = _taken_from(np.arange(-before, 0), size, mode)
        core = _added(core, z[_at(axis, slice(before))], axis, places)
    if after:
        places = _taken_from(np.arange(size, size + after), size, mode)
        core = _added(core, z[_at(axis, slice(before + size, None))], axis, places)
    return core


def _added(core: Any, outside: Any, axis: int, places: np.ndarray) -> Any:
    """`core` with what stands outside added at its places along an axis: by slices, where these are
    in a row or all the same."""
    first, last = int(places[0]), int(places[-1])
    steps = np.diff(places)
    if np.all(steps == 1):
        return with_at(np.add, core, _at(axis, slice(first, last + 1)), outside)
    if np.all(steps == -1):
        turned = outside[_at(axis, _ROUND)]
        return with_at(np.add, core, _at(axis, slice(last, first + 1)), turned)
    if np.all(steps == 0):
        total = np.sum(outside, axis=axis, keepdims=True)
        return with_at(np.add, core, _at(axis, slice(first, first + 1)), total)
    return with_at(np.add, core, _at(axis, places), outside)


def _extended(g: Any, widths: Sequence[tuple[int, int]]) -> Any:
    """A cotangent with zeros around it."""
    return np.pad(g, widths) if any(map(any, widths)) else g


# Calls


@lru_cache(1024)
def _check_call(
    name: str, ndim: int, dtype: np.dtype[Any], params: tuple[tuple[str, Any], ...]
) -> None:
    """Raise what SciPy raises for an array of this dtype; the weights are those of a small call."""
    given = dict(params)
    x = np.zeros((2,) * ndim, dtype)
    if name != "uniform_filter1d":
        shape = given.pop("weights")
        getattr(nd, name)(x, np.ones(shape), **given)
    else:
        nd.uniform_filter1d(x, **given)


def _filter_type(name: str) -> Callable[..., ArrayType]:
    def infer(x: ArrayType, *weights: ArrayType, **params: Any) -> ArrayType:
        if weights:
            params["weights"] = weights[0].shape
        try:
            _check_call(name, x.ndim, x.dtype, tuple(sorted(params.items())))
        except RuntimeError as error:
            raise ValueError(str(error)) from None
        return x

    return infer


def _spelled(name: str) -> Callable[..., str]:
    def source(types: Sequence[ArrayType], **params: Any) -> str:
        operands = ", ".join(f"{{{number}}}" for number in range(len(types)))
        words = "".join(f", {word}={{{word}}}" for word in params)
        return f"scipy.ndimage.{name}({operands}{words})"

    return source


def options_of(mode: Any, cval: Any, origin: Any) -> dict[str, Any]:
    """The parameters of a filter that are not as by default."""
    mode = _ALIASES.get(mode, mode)
    params: dict[str, Any] = {} if mode == "reflect" else {"mode": mode}
    if mode == "constant" and float(cval) != 0.0:
        params["cval"] = float(cval)
    return params | ({"origin": origin} if np.any(origin) else {})


def sequence(value: Any, count: int) -> list[Any]:
    """An argument for each of `count` axes."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return [value] * count
    if len(value) != count:
        raise ValueError("sequence argument must have length equal to input rank")
    return list(value)


# Along one axis


def _before(name: str, size: int, origin: int) -> int:
    """The number of elements that a filter reads before the place of its result, along an axis."""
    return (size - 1) // 2 - origin if name.startswith("convolve") else size // 2 + origin


def _origin(name: str, size: int, before: int) -> int:
    """The origin of a filter that reads so many elements before its own."""
    return (size - 1) // 2 - before if name.startswith("convolve") else before - size // 2


def _adjoint1d(name: str, by: str) -> Callable[..., Any]:
    """The rule of the filter `name`, whose weights the filter `by` turns round."""

    def rule(
        g: Any, y: Any, x: Any, *weights: Any, axis: int, mode: str = "reflect", origin: int = 0,
        cval: float = 0.0, **size: int,
    ) -> Any:  # fmt: skip
        length = weights[0].shape[0] if weights else size["size"]
        before = _before(name, length, origin)
        after = length - 1 - before
        widths = [(0, 0)] * g.ndim
        widths[axis] = before, after
        options = size | {"axis": axis} | options_of("constant", 0.0, _origin(by, length, after))
        spread = OPERATIONS[by](_extended(g, widths), *weights, **options)
        return _folded(spread, axis, before, after, mode)

    return rule


def _tangent(name: str) -> Callable[..., Any]:
    """The tangent: the same filter, of zeros beyond the bounds where these are constant."""

    def rule(v: Any, y: Any, x: Any, *weights: Any, cval: float = 0.0, **params: Any) -> Any:
        return OPERATIONS[name](v, *weights, **params)

    return rule


def _batched1d(name: str) -> Callable[..., Any]:
    def rule(moved: Moved, x: Any, *weights: Any, axis: int, **params: Any) -> Any:
        if not moved[0] or any(moved[1:]) or not x.size:
            return NotImplemented
        return OPERATIONS[name](x, *weights, axis=axis + 1, **params)

    return rule


def _batched(name: str) -> Callable[..., Any]:
    def rule(moved: Moved, x: Any, weights: Any, origin: Any = 0, **params: Any) -> Any:
        if moved[1] or not x.size:
            return NotImplemented
        origins = (0, *sequence(origin, weights.ndim))
        params = params | ({"origin": origins} if any(origins) else {})
        return OPERATIONS[name](x, weights[None], **params)

    return rule


def _filter(name: str, vjp: Any, batch: Any) -> Op:
    weighted = name != "uniform_filter1d"
    return defop(
        name=f"ndimage_{name}",
        infer=_filter_type(name),
        vjp=(vjp, None) if weighted else vjp,
        jvp=(_tangent(name), None) if weighted else _tangent(name),
        batch=batch,
        axes=axes.along if name.endswith("1d") else None,
        source=_spelled(name),
        library="scipy",
        cost=lambda x, *weights, **params: 20 * x.estimated_size,
    )


OPERATIONS: dict[str, Op] = {}
for _name, _by in (
    ("correlate1d", "convolve1d"),
    ("convolve1d", "correlate1d"),
    ("uniform_filter1d", "uniform_filter1d"),
):
    OPERATIONS[_name] = _filter(_name, _adjoint1d(_name, _by), _batched1d(_name))


# Of any number of axes


def _adjoint(name: str, by: str) -> Callable[..., Any]:
    """The rule of the filter `name`, whose weights the filter `by` turns round."""

    def rule(
        g: Any, y: Any, x: Any, weights: Any, mode: str = "reflect", origin: Any = 0,
        cval: float = 0.0,
    ) -> Any:  # fmt: skip
        pairs = list(zip(weights.shape, sequence(origin, x.ndim), strict=True))
        widths = []
        for size, shift in pairs:
            before = _before(name, size, shift)
            widths.append((before, size - 1 - before))
        back = tuple(
            _origin(by, size, after) for size, (_, after) in zip(weights.shape, widths, strict=True)
        )
        options = options_of("constant", 0.0, back)
        spread = OPERATIONS[by](_extended(g, widths), weights, **options)
        for axis, (first, last) in enumerate(widths):
            spread = _folded(spread, axis, first, last, mode)
        return spread

    return rule


for _name, _by in (("correlate", "convolve"), ("convolve", "correlate")):
    OPERATIONS[_name] = _filter(_name, _adjoint(_name, _by), _batched(_name))
