"""scipy.ndimage: images at other places, by splines between their elements.

The weights come from B-splines with equal distances. For orders above 1 the image is filtered
first, so that the splines go through its elements; the filter is an operation, whose transpose is
itself but for the ends. Where places make a grid, one axis is interpolated after the other.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.ndimage as nd
from scipy import special as sc

from tracejit.ops.base import axes
from tracejit.ops.base.creation import as_array, cast, is_recorded, type_in_call
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import Op, composite, defop
from tracejit.ops.indexing.indexing import take
from tracejit.ops.scipy.base.blending import Weights, blended, with_axes
from tracejit.ops.scipy.filters import sequence

_PADDED = 12
"""The elements that SciPy adds beyond each end in mode "nearest"."""
_FEW = 48
"""Along fewer elements SciPy rounds the filter of mode "reflect", so that it is not symmetric."""
_MODES = ("constant", "nearest", "mirror", "reflect", "grid-wrap")


def _ends_halved(g: Any, axis: int, mode: str, factor: float) -> Any:
    """A cotangent with its ends multiplied, where the filter is not a symmetric matrix."""
    size = g.shape[axis]
    if mode in ("nearest", "reflect", "grid-wrap") or size < 2:
        return g
    factors = np.ones(size)
    factors[[0, -1]] = factor
    return g * np.reshape(factors, [size if k == axis else 1 for k in range(g.ndim)])


def _filter_vjp(g: Any, y: Any, x: Any, order: int, axis: int, mode: str) -> Any:
    size = g.shape[axis]
    if mode == "reflect" and size < _FEW:
        weights = nd.spline_filter1d(np.eye(size), order, axis=0, mode=mode).astype(g.dtype)
        return np.moveaxis(np.tensordot(g, weights, (axis, 0)), -1, axis)
    found = spline_filter1d(_ends_halved(g, axis, mode, 2.0), order=order, axis=axis, mode=mode)
    return _ends_halved(found, axis, mode, 0.5)


def _filter_batch(moved: Any, x: Any, order: int, axis: int, mode: str) -> Any:
    return spline_filter1d(x, order=order, axis=axis + 1, mode=mode)


spline_filter1d: Op = defop(
    name="spline_filter1d",
    infer=lambda x, order, axis, mode: x,
    vjp=_filter_vjp,
    jvp="linear",
    batch=_filter_batch,
    axes=axes.along,
    source="scipy.ndimage.spline_filter1d({0}, {order}, {axis}, mode={mode})",
    library="scipy",
    cost=lambda x, **params: 20 * x.estimated_size,
)


def _spline_weights(t: Any, order: int) -> list[Any]:
    """The weights of the order + 1 elements around a place, `t` behind the knot before it."""
    found = [1.0 + 0.0 * t]
    for j in range(1, order + 1):
        saved: Any = 0.0
        row = []
        for r in range(j):
            share = found[r] / j
            row.append(saved + (r + 1 - t) * share)
            saved = (t + j - 1 - r) * share
        found = [*row, saved]
    return found


def _index_inside(index: Any, size: int, mode: str) -> Any:
    """The elements that stand for those beyond the ends."""
    if mode == "grid-wrap":
        return index % size
    is_half = mode in ("reflect", "nearest")
    period = 2 * size if is_half else max(2 * size - 2, 1)
    index = index % period
    return np.where(index < size, index, period - index - is_half)


def _place_inside(q: Any, size: int, beyond: float) -> Any:
    """The places that those beyond the ends mirror."""
    length = size - 1 + 2 * beyond
    around = (q + beyond) % max(2 * length, 1.0)
    return np.where(around > length, 2 * length - around, around) - beyond


class _Image:
    """An image with the order and the mode by which it is interpolated."""

    def __init__(
        self, input: Any, order: int, mode: str, cval: Any, prefilter: bool, output: Any,
        around: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """`around` are the axes that are interpolated, all by default."""
        x = as_array(input)
        kind = type_in_call(x).dtype
        if output is not None:
            raise TypeError("unexpected keyword argument 'output'")
        if kind.kind not in "fc":
            raise TypeError("an image of integers is not supported; make it x.astype(float)")
        if not 0 <= (order := operator.index(order)) <= 5:
            raise RuntimeError("spline order not supported")
        if mode not in _MODES:
            raise TypeError(f"only the modes {', '.join(_MODES)} are recorded; use one of these")
        if mode == "nearest" and order > 1 and not prefilter:
            raise TypeError("mode='nearest' needs a filter; leave out prefilter=False")
        self.order, self.mode, self.cval, self.kind = order, mode, cval, kind
        self.shape, self.pad = np.shape(x), 0
        self.around = list(range(np.ndim(x))) if around is None else list(around)
        double = np.dtype(np.complex128 if kind.kind == "c" else np.float64)
        self.elements = x if kind == double else cast(x, double)
        if order > 1 and prefilter:
            if mode == "nearest":
                self.pad = _PADDED
                widths = [(self.pad * (k in self.around),) * 2 for k in range(np.ndim(x))]
                self.elements = np.pad(self.elements, widths, mode="edge")
            for axis in self.around:
                if np.shape(self.elements)[axis] > 1:
                    self.elements = spline_filter1d(
                        self.elements, order=order, axis=axis, mode=mode
                    )

    def weights(self, axis: int, q: Any) -> tuple[list[Any], list[Any]]:
        """The elements along an axis that places read, and their weights."""
        size = np.shape(self.elements)[axis]
        q = q + self.pad
        if self.mode == "nearest":
            q = np.clip(q, 0, size - 1)
        if self.order == 0 and self.mode in ("mirror", "reflect"):
            q = _place_inside(q, size, 0.5 * (self.mode == "reflect"))
        half = 0.0 if self.order % 2 else 0.5
        base = np.floor(q + half)
        places = base.astype(np.intp) - self.order // 2
        index = [_index_inside(places + k, size, self.mode) for k in range(self.order + 1)]
        return index, _spline_weights(q + half - base, self.order)

    def outside(self, axis: int, q: Any) -> Any:
        """True for the places beyond an axis."""
        return (q < 0) | (q > self.shape[axis] - 1)

    def finished(self, found: Any, outside: Any) -> Any:
        """The result, in the dtype of the image."""
        if self.mode == "constant":
            rest = np.ndim(found) - np.ndim(outside)
            found = np.where(with_axes(outside, rest), self.cval, found)
        return found if found.dtype == self.kind else cast(found, self.kind)

    def at_points(self, qs: Sequence[Any]) -> Any:
        """The image at points."""
        outside: Any = False
        along: list[Weights] = []
        for axis, q in enumerate(qs):
            outside = outside | self.outside(axis, q)
            index, weights = self.weights(axis, q)
            along.append((np.stack(index), weights))
        return self.finished(blended(self.elements, along), outside)

    def on_grid(self, qs: Sequence[Any]) -> Any:
        """The image on the grid of coordinates along each of its axes."""
        found, ndim = self.elements, len(self.shape)
        outside: Any = False
        for axis, q in enumerate(qs):
            shape = [-1 if k == axis else 1 for k in range(ndim)]
            outside = outside | np.reshape(self.outside(axis, q), shape)
            total: Any = 0.0
            for index, weight in zip(*self.weights(axis, q), strict=True):
                total = total + take.record_call(found, index, axis=axis) * np.reshape(
                    weight, shape
                )
            found = total
        return self.finished(found, outside)


def _numbers(x: Any) -> Any:
    x = as_array(x)
    return x if type_in_call(x).dtype == np.float64 else cast(x, np.dtype(np.float64))


@composite(nd.map_coordinates)
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image at points, whose coordinates are in the first axis."""
    image = _Image(input, order, mode, cval, prefilter, output)
    coordinates = _numbers(coordinates)
    if np.shape(coordinates)[0] != len(image.shape) or np.ndim(coordinates) < 2:
        raise ValueError("invalid shape for coordinate array")
    return image.at_points([coordinates[axis] for axis in range(len(image.shape))])


@composite(nd.shift)
def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image, shifted."""
    image = _Image(input, order, mode, cval, prefilter, output)
    steps = _of_each_axis(shift, len(image.shape))
    return image.on_grid([np.arange(n) - step for n, step in zip(image.shape, steps, strict=True)])


def _of_each_axis(values: Any, count: int) -> list[Any]:
    """Numbers, recorded or not, for each axis."""
    values = as_array(values)
    if np.ndim(values) == 0:
        return [values] * count
    if np.shape(values) != (count,):
        raise ValueError("sequence argument must have length equal to input rank")
    return [values[axis] for axis in range(count)]


@composite(nd.zoom)
def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True, *, grid_mode: bool = False,
) -> Any:  # fmt: skip
    """An image with more elements, or fewer."""
    if is_recorded(as_array(zoom)):
        raise TypeError("its zoom decides the shape of the result; pass a plain number")
    image = _Image(input, order, mode, cval, prefilter, output)
    factors = sequence(zoom, len(image.shape))
    if all(factor == 1 for factor in factors) and prefilter:
        return as_array(input) * 1
    qs = []
    for size, factor in zip(image.shape, factors, strict=True):
        count = round(size * factor)
        if grid_mode:
            qs.append((np.arange(count) + 0.5) * (size / count) - 0.5)
        else:
            qs.append(np.arange(count) * ((size - 1) / (count - 1) if count > 1 else 1.0))
    return image.on_grid(qs)


@composite(nd.affine_transform)
def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None,
    order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image whose elements are at the places that a matrix and an offset give."""
    image = _Image(input, order, mode, cval, prefilter, output)
    count = len(image.shape)
    sizes = image.shape if output_shape is None else tuple(output_shape)
    matrix = _numbers(matrix)
    if np.ndim(matrix) == 2 and np.shape(matrix)[1] == count + 1:
        matrix, offset = matrix[:count, :count], matrix[:count, count]
    if np.shape(matrix) not in ((count,), (count, len(sizes))):
        raise ValueError("affine matrix has wrong number of rows or columns")
    offsets = _of_each_axis(offset, count)
    if np.ndim(matrix) == 1:
        return image.on_grid([np.arange(sizes[k]) * matrix[k] + offsets[k] for k in range(count)])
    return image.at_points(_affine_places(matrix, offsets, sizes))


def _affine_places(matrix: Any, offsets: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    grid = np.indices(sizes, dtype=float)
    return [
        sum((matrix[row, k] * grid[k] for k in range(len(sizes))), offsets[row])
        for row in range(len(offsets))
    ]


@composite(nd.rotate)
def rotate(
    input: Any, angle: Any, axes: Any = (1, 0), reshape: bool = True, output: Any = None,
    order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """An image, turned in the plane of two axes by an angle in degrees."""
    x = as_array(input)
    if np.ndim(x) < 2 or len(axes) != 2:
        raise ValueError("input array should be at least 2D, axes two values")
    if reshape and is_recorded(angle):
        raise TypeError("its angle decides the shape of the result; pass reshape=False")
    plane = sorted(normalize_axis(axis, np.ndim(x)) for axis in axes)
    rest = [axis for axis in range(np.ndim(x)) if axis not in plane]
    x = np.transpose(x, [*plane, *rest]) if rest else x
    image = _Image(x, order, mode, cval, prefilter, output, around=(0, 1))
    c, s = sc.cosdg(angle), sc.sindg(angle)
    sizes = np.array(image.shape[:2])
    if reshape:
        rows = [[c * 0, s * sizes[1], c * sizes[0], c * sizes[0] + s * sizes[1]],
                [c * 0, c * sizes[1], -s * sizes[0], c * sizes[1] - s * sizes[0]]]  # fmt: skip
        sizes_of_result = (np.ptp(rows, axis=1) + 0.5).astype(int)
    else:
        sizes_of_result = sizes
    middle = (sizes_of_result - 1) / 2
    centers = (sizes - 1) / 2
    offsets = [
        centers[0] - (c * middle[0] + s * middle[1]),
        centers[1] - (c * middle[1] - s * middle[0]),
    ]
    y, z = np.indices(sizes_of_result.tolist(), dtype=float)
    places = [c * y + s * z + offsets[0], c * z - s * y + offsets[1]]
    found = image.at_points(places)
    return np.transpose(found, np.argsort([*plane, *rest])) if rest else found
