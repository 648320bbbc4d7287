"""scipy.ndimage: linear filters with constant kernels. Importing this declares them all.

gaussian_filter, sobel, laplace and similar functions are the same sequence of filters as in SciPy,
so values are SciPy's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.ndimage as nd

from tracejit.ops.base.creation import as_array, is_recorded, settled
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import answer
from tracejit.ops.scipy import filters, images
from tracejit.ops.scipy.filters import OPERATIONS, options_of, sequence

__all__ = ["filters", "images"]


def _check_output(output: Any, axes: Any = None) -> None:
    for name, value in (("output", output), ("axes", axes)):
        if value is not None:
            raise TypeError(f"unexpected keyword argument '{name}'")


def _array(input: Any) -> Any:
    if is_recorded(x := as_array(input)) and x.type.form != "array":
        raise ValueError("filters need arrays of at least one dimension")
    return x


def _weights(weights: Any) -> np.ndarray:
    """The weights of a filter, which are constant."""
    weights = settled(weights)
    if is_recorded(weights):
        raise TypeError("weights cannot be recorded values: they must be known before the call")
    found = np.asarray(weights)
    if found.dtype.kind == "c":
        raise TypeError("complex weights are not supported")
    return found.astype(float)


def _along(name: str) -> Callable[..., Any]:
    """scipy.ndimage.correlate1d or convolve1d."""

    def handler(
        input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
        cval: float = 0.0, origin: int = 0,
    ) -> Any:  # fmt: skip
        _check_output(output)
        x, weights = _array(input), _weights(weights)
        if weights.ndim != 1 or not weights.size:
            raise ValueError("no filter weights given")
        params = options_of(mode, cval, operator.index(origin))
        return OPERATIONS[name](x, weights, axis=normalize_axis(axis, x.ndim), **params)

    return handler


_correlated = _along("correlate1d")


def _uniform(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """scipy.ndimage.uniform_filter1d."""
    _check_output(output)
    x, params = _array(input), options_of(mode, cval, operator.index(origin))
    axis = normalize_axis(axis, x.ndim)
    return OPERATIONS["uniform_filter1d"](x, size=operator.index(size), axis=axis, **params)


@lru_cache(256)
def _gaussian_weights(sigma: float, order: int, radius: int) -> np.ndarray:
    """The weights that SciPy correlates with: what it answers to a single one, turned round."""
    one = np.zeros(2 * radius + 1)
    one[radius] = 1.0
    found = nd.gaussian_filter1d(one, sigma, order=order, mode="constant", radius=radius)
    return np.asarray(found[::-1])


def _gaussian(
    input: Any, sigma: float, axis: int = -1, order: int = 0, output: Any = None,
    mode: str = "reflect", cval: float = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    """scipy.ndimage.gaussian_filter1d."""
    sigma, order = float(sigma), operator.index(order)
    if radius is None:
        radius = int(float(truncate) * sigma + 0.5)
    radius = operator.index(radius)
    if order < 0 or radius < 0:
        raise ValueError("order and radius must be non-negative")
    return _correlated(input, _gaussian_weights(sigma, order, radius), axis, output, mode, cval)


# Of any number of axes


def _in_all(name: str) -> Callable[..., Any]:
    """scipy.ndimage.correlate or convolve."""

    def handler(
        input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: float = 0.0,
        origin: Any = 0, *, axes: Any = None,
    ) -> Any:  # fmt: skip
        _check_output(output, axes)
        x, weights = _array(input), _weights(weights)
        if weights.ndim != x.ndim:
            raise ValueError("weights must have as many axes as the array")
        origins = tuple(map(operator.index, sequence(origin, x.ndim)))
        return OPERATIONS[name](x, weights, **options_of(mode, cval, origins))

    return handler


def _axes_of(x: Any, axes: Any) -> list[int]:
    if axes is None:
        return list(range(x.ndim))
    return [normalize_axis(operator.index(axis), x.ndim) for axis in np.atleast_1d(axes)]


def _gaussian_all(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect",
    cval: float = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """scipy.ndimage.gaussian_filter."""
    _check_output(output)
    x = _array(input)
    chosen = _axes_of(x, axes)
    words = [sequence(word, len(chosen)) for word in (sigma, order, mode, radius)]
    found = x
    for axis, s, k, way, r in zip(chosen, *words, strict=True):
        if float(s) > 1e-15:
            found = _gaussian(found, s, axis, k, None, way, cval, truncate, radius=r)
    return found if found is not x else x.copy()


def _uniform_all(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: float = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """scipy.ndimage.uniform_filter."""
    _check_output(output)
    x = _array(input)
    chosen = _axes_of(x, axes)
    words = [sequence(word, len(chosen)) for word in (size, origin, mode)]
    found = x
    for axis, count, shift, way in zip(chosen, *words, strict=True):
        if operator.index(count) > 1:
            found = _uniform(found, count, axis, None, way, cval, shift)
    return found if found is not x else x.copy()


def _edges(smoothing: Sequence[float]) -> Callable[..., Any]:
    """scipy.ndimage.sobel or prewitt: differences along one axis, smoothed along the others."""

    def handler(
        input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: float = 0.0
    ) -> Any:
        _check_output(output)
        x = _array(input)
        axis, modes = normalize_axis(axis, x.ndim), sequence(mode, x.ndim)
        found = _correlated(x, [-1.0, 0.0, 1.0], axis, None, modes[axis], cval)
        for other in range(x.ndim):
            if other != axis:
                found = _correlated(found, smoothing, other, None, modes[other], cval)
        return found

    return handler


def _sum_of(derivatives: Sequence[Any]) -> Any:
    found = derivatives[0]
    for one in derivatives[1:]:
        found = found + one
    return found


def _laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: float = 0.0, *, axes: Any = None
) -> Any:
    """scipy.ndimage.laplace."""
    _check_output(output)
    x = _array(input)
    chosen = _axes_of(x, axes)
    modes = sequence(mode, len(chosen))
    pairs = zip(chosen, modes, strict=True)
    return _sum_of([_correlated(x, [1.0, -2.0, 1.0], axis, None, way, cval) for axis, way in pairs])


def _derivatives(
    input: Any, sigma: Any, order: int, output: Any, mode: Any, cval: float, words: dict[str, Any]
) -> list[Any]:
    """gaussian_filter with a derivative of this order along each axis in turn."""
    axes = words.pop("axes", None)
    _check_output(output, axes)
    x = _array(input)
    orders = np.eye(x.ndim, dtype=int) * order
    return [_gaussian_all(x, sigma, [*one], None, mode, cval, **words) for one in orders.tolist()]


def _gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: float = 0.0,
    **words: Any,
) -> Any:  # fmt: skip
    """scipy.ndimage.gaussian_laplace."""
    return _sum_of(_derivatives(input, sigma, 2, output, mode, cval, words))


def _gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: float = 0.0,
    **words: Any,
) -> Any:  # fmt: skip
    """scipy.ndimage.gaussian_gradient_magnitude; its gradient is 0 where it is 0, as a norm's."""
    found = _derivatives(input, sigma, 1, output, mode, cval, words)
    total = _sum_of([one * one for one in found])
    if total.dtype.kind not in "fc":
        return np.sqrt(total).astype(total.dtype)
    is_zero = total == 0
    return np.where(is_zero, total, np.sqrt(np.where(is_zero, 1, total)))


answer(nd.correlate1d, _correlated)
answer(nd.convolve1d, _along("convolve1d"))
answer(nd.uniform_filter1d, _uniform)
answer(nd.gaussian_filter1d, _gaussian)
answer(nd.correlate, _in_all("correlate"))
answer(nd.convolve, _in_all("convolve"))
answer(nd.gaussian_filter, _gaussian_all)
answer(nd.uniform_filter, _uniform_all)
answer(nd.sobel, _edges([1.0, 2.0, 1.0]))
answer(nd.prewitt, _edges([1.0, 1.0, 1.0]))
answer(nd.laplace, _laplace)
answer(nd.gaussian_laplace, _gaussian_laplace)
answer(nd.gaussian_gradient_magnitude, _gaussian_gradient_magnitude)
