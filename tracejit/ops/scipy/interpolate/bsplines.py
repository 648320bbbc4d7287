"""scipy.interpolate: B-splines, and the spline of any degree through data.

A spline is evaluated as the polynomials between its knots. Their coefficients are computed once
from those of the spline, by de Boor's recurrence.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as si

from tracejit.ops.base.creation import is_recorded
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import composite
from tracejit.ops.base.twins import Twin, as_doubles, twin, unsupported
from tracejit.ops.indexing.indexing import take
from tracejit.ops.indexing.updates import with_at
from tracejit.ops.scipy.base.blending import with_axes
from tracejit.ops.scipy.interpolate.cubic import read_data
from tracejit.ops.scipy.interpolate.polynomials import (
    Polynomials,
    extrapolation,
)
from tracejit.ops.scipy.linear_algebra.banded import solve_banded


def quotient(a: Any, b: Any) -> Any:
    """a / b; zero where b is, as between equal knots."""
    if not is_recorded(b) and np.all(b):
        return a / b
    is_zero = b == 0.0
    return np.where(is_zero, 0.0, a / np.where(is_zero, 1.0, b))


def _differences(c: Any, t: Any, k: int) -> Any:
    """The coefficients of the derivative of a spline of degree k, whose knots are those between the
    first and the last."""
    widths = t[k + 1 : -1] - t[1 : -k - 1]
    return quotient(np.diff(c, axis=0) * k, with_axes(widths, np.ndim(c) - 1))


def _at_starts(c: Any, t: Any, k: int) -> Any:
    """The values of a spline at the knots where its pieces begin."""
    pieces = np.shape(c)[0] - k
    x, rest = t[k : k + pieces], np.ndim(c) - 1
    d = [c[m : m + pieces] for m in range(k + 1)]
    for r in range(1, k + 1):
        for m in range(k, r - 1, -1):
            low, high = t[m : m + pieces], t[m + 1 + k - r : m + 1 + k - r + pieces]
            share = with_axes(quotient(x - low, high - low), rest)
            d[m] = d[m - 1] if m == k else d[m - 1] + share * (d[m] - d[m - 1])
    return d[k]


@twin(si.BSpline)
@dataclass
class Spline(Twin):
    """A spline: knots, coefficients, degree."""

    t: Any
    c: Any
    k: int
    extrapolate: Any = True
    axis: int = 0

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values at the points `x`, or derivatives there."""
        return self.pieces()(x, nu, extrapolate)

    def pieces(self) -> Any:
        """The polynomials between the knots."""
        t, k, count = self.t, self.k, np.shape(self.t)[0] - self.k - 1
        c = self.c[:count]
        found = []
        for order in range(k + 1):
            found.append(_at_starts(c, t, k - order) / math.factorial(order))
            if order < k:
                c, t = _differences(c, t, k - order), t[1:-1]
        knots = self.t[k : count + 1]
        return Polynomials(np.stack(found[::-1]), knots, self.extrapolate, self.axis)

    def derivative(self, nu: int = 1) -> Any:
        """The derivative of this order."""
        if nu < 0:
            return self.antiderivative(-nu)
        if nu > self.k:
            raise ValueError(
                f"Order of derivative (n = {nu}) must be <= order of spline (k = {self.k})"
            )
        t, k = self.t, self.k
        c = self.c[: np.shape(t)[0] - k - 1]
        for _ in range(nu):
            c, t, k = _differences(c, t, k), t[1:-1], k - 1
        c = np.concatenate([c, np.zeros((k + 1, *np.shape(c)[1:]))])
        return self.renewed(t=t, c=c, k=k)

    def antiderivative(self, nu: int = 1) -> Any:
        """The integral from the first knot, this often."""
        if nu < 0:
            return self.derivative(-nu)
        t, k = self.t, self.k
        if nu and not k:
            fix = "use a spline of degree 1 or more."
            raise unsupported("scipy.interpolate.BSpline.antiderivative", "its degree is 0", fix)
        c = self.c[: np.shape(t)[0] - k - 1]
        for _ in range(nu):
            widths = with_axes(t[k + 1 :] - t[: -k - 1], np.ndim(c) - 1)
            total = np.cumsum(c * widths / (k + 1), axis=0)
            c = np.concatenate([np.zeros_like(total[:1]), total])
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        if nu:
            c = np.concatenate([c, *[c[-1:]] * (k + 1)])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.renewed(t=t, c=c, k=k, extrapolate=extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b; without `extrapolate` the spline is zero beyond its knots."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if not extrapolate:
            count = np.shape(self.t)[0] - self.k - 1
            a, b = (np.clip(as_doubles(x), self.t[self.k], self.t[count]) for x in (a, b))
        return self.renewed(axis=0).pieces().integrate(a, b, extrapolate or True)


@composite(si.BSpline)
def BSpline(t: Any, c: Any, k: Any, extrapolate: Any = True, axis: int = 0) -> Any:
    """A spline with these knots and coefficients."""
    t, c, k = as_doubles(t), as_doubles(c), operator.index(k)
    count = np.shape(t)[0] - k - 1
    axis = normalize_axis(axis, np.ndim(c))
    c = np.moveaxis(c, axis, 0) if axis else c
    if k < 0:
        raise ValueError("Spline order cannot be negative.")
    if np.ndim(t) != 1:
        raise ValueError("Knot vector must be one-dimensional.")
    if count < k + 1:
        raise ValueError(f"Need at least {2 * k + 2} knots for degree {k}")
    if not is_recorded(t) and np.any(np.diff(t) < 0):
        raise ValueError("Knots must be in a non-decreasing order.")
    if np.shape(c)[0] < count:
        raise ValueError("Knots, coefficients and degree are inconsistent.")
    return Spline(t, c, k, extrapolation(extrapolate), axis)


# The basis at points


def basis(t: Any, place: Any, x: Any, k: int) -> list[Any]:
    """The k + 1 splines of degree k that are not zero between the knots `place` and the next, at
    the points `x` there."""
    near = {j: take.record_call(t, place + j) for j in range(1 - k, k + 1)}
    found = [1.0 + 0.0 * x]
    for j in range(1, k + 1):
        saved: Any = 0.0
        row = []
        for r in range(j):
            above, below = near[r + 1], near[1 - j + r]
            share = found[r] / (above - below)
            row.append(saved + (above - x) * share)
            saved = (x - below) * share
        found = [*row, saved]
    return found


def slopes_of_basis(t: Any, place: Any, x: Any, k: int, nu: int) -> list[Any]:
    """The derivatives of order `nu` of these splines."""
    row = basis(t, place, x, k - nu)
    for p in range(k - nu + 1, k + 1):
        near = [take.record_call(t, place + j) for j in range(1 - p, p + 1)]
        scaled = [p * one / (near[j + p] - near[j]) for j, one in enumerate(row)]
        row = [-scaled[0], *[a - b for a, b in itertools.pairwise(scaled)], scaled[-1]]
    return row


def weights_at(t: Any, x: Any, k: int, nu: int = 0) -> tuple[Any, list[Any]]:
    """The first of the coefficients that a spline reads at points, and by what their values, or
    their derivatives of this order, are multiplied; beyond the knots as between the last ones."""
    count = np.shape(t)[0] - k - 1
    first = np.searchsorted(t[k + 1 : count], x, side="right")
    if nu > k:
        return first, [np.zeros(np.shape(x))] * (k + 1)
    return first, slopes_of_basis(t, first + k, x, k, nu)


def interpolating_knots(x: Any, k: int, first: Any = None, last: Any = None) -> Any:
    """The knots of the spline through data at `x` that has none at the places next to the ends;
    `first` and `last` are the outer ones."""
    size, half = np.shape(x)[0], (k + 1) // 2
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2
    inner = inner[half : np.shape(inner)[0] - half]
    begin = np.reshape(x[0] if first is None else first, (1,))
    end = np.reshape(x[-1] if last is None else last, (1,))
    if size <= k:
        raise ValueError(f"Got {size} points, need at least {k + 1} for degree {k}.")
    return np.concatenate([*[begin] * (k + 1), inner, *[end] * (k + 1)])


def places_of_data(size: int, k: int) -> np.ndarray:
    """Between which of these knots the data are."""
    half = (k + 1) // 2 - k % 2
    inner = size - k - 1
    return np.asarray(k + np.clip(np.arange(size) - half, 0, inner))


def spline_through(x: Any, y: Any, t: Any, k: int, places: Any, ends: Any = ((), ())) -> Any:
    """The coefficients of the spline through data, with derivatives (order, values) at both
    ends."""
    left, right = ends
    size, count = np.shape(x)[0], np.shape(t)[0] - k - 1
    if count - size != len(left) + len(right):
        raise ValueError(
            "The number of derivatives at boundaries does not match: expected "
            f"{count - size}, got {len(left)}+{len(right)}"
        )
    row = np.arange(size) + len(left)
    cells, values = [], []
    for j, value in enumerate(basis(t, places, x, k)):
        column = places - k + j
        cells.append((k + row - column) * count + column)
        values.append(value)
    for number, (order, _) in enumerate(left):
        _add_end(cells, values, slopes_of_basis(t, k, x[0], k, order), number, 0, k, count)
    for number, (order, _) in enumerate(right):
        row_of_end = count - len(right) + number
        slopes = slopes_of_basis(t, count - 1, x[-1], k, order)
        _add_end(cells, values, slopes, row_of_end, count - 1 - k, k, count)
    flat = np.zeros((2 * k + 1) * count)
    index, numbers = np.concatenate(cells), np.concatenate(values)
    if is_recorded(index) or is_recorded(numbers):
        inside = (index >= 0) & (index < flat.size)
        index, numbers = np.where(inside, index, 0), np.where(inside, numbers, 0.0)
        band = with_at(np.add, numbers[0] * flat, index, numbers)
    else:
        band = flat
        np.add.at(band, index, numbers)
    band = np.reshape(band, (2 * k + 1, count))
    sides = [*[value[None] for _, value in left], y, *[value[None] for _, value in right]]
    b = np.concatenate(sides) if len(sides) > 1 else y
    columns = b if np.ndim(b) <= 2 else np.reshape(b, (count, -1))
    found = solve_banded(band, columns, lower=k, upper=k)
    return found if np.ndim(b) <= 2 else np.reshape(found, np.shape(b))


def _add_end(
    cells: list[Any], values: list[Any], slopes: list[Any], row: int, first: int, k: int, count: int
) -> None:
    """Add the equation of a derivative at an end to the cells of a band."""
    for j, slope in enumerate(slopes):
        column = first + j
        if abs(row - column) <= k:
            cells.append(np.array([(k + row - column) * count + column]))
            values.append(np.reshape(slope, (1,)))


def _periodic_knots(x: Any, k: int) -> Any:
    """The knots of a periodic spline: those between the ends go on beyond them."""
    if k % 2 == 0:
        x = np.concatenate([x[:1], x[1:-1] - np.diff(x)[:-1] / 2, x[-1:]])
    widths = np.diff(x)
    steps = np.arange(k) % (np.shape(x)[0] - 1)
    before, after = np.cumsum(widths[::-1][steps]), np.cumsum(widths[steps])
    return np.concatenate([x[0] - before[::-1], x, x[-1] + after])


def _periodic_spline(x: Any, y: Any, k: int, axis: int) -> Spline:
    """The periodic spline through data: a banded system with corners, of which the last equations
    are taken out, and solved for."""
    if np.shape(x)[0] <= k:
        problem = f"bc_type='periodic' has {np.shape(x)[0]} points for degree {k}"
        fix = f"give at least {k + 1} points."
        raise unsupported("scipy.interpolate.make_interp_spline", problem, fix)
    if not is_recorded(y) and not np.allclose(y[0], y[-1], atol=1e-15):
        raise ValueError("First and last points does not match while periodic case expected")
    t = _periodic_knots(x, k)
    size, half = np.shape(x)[0] - 1, k // 2
    inner, rows = size - half, np.arange(size)
    band, right, below = [], np.zeros((inner, half)), np.zeros((half, size))
    for number, value in enumerate(basis(t, rows + k, x[:-1], k)[: 2 * half + 1]):
        shift = number - half
        left, under = np.zeros(max(shift, 0)), np.zeros(max(-shift, 0))
        band.append(np.concatenate([left, value[under.size : inner - left.size], under]))
        is_there = (rows[:, None] + shift) % size == rows
        right = right + value[:inner, None] * is_there[:inner, inner:]
        below = below + value[inner:, None] * is_there[inner:]
    b = np.reshape(y[:-1], (size, -1))
    columns = np.concatenate([b[:inner], right], axis=1)
    found = solve_banded(np.stack(band[::-1]), columns, lower=half, upper=half)
    first, second = found[:, :-half], found[:, -half:]
    corner = below[:, inner:] - below[:, :inner] @ second
    last = np.linalg.solve(corner, b[inner:] - below[:, :inner] @ first)
    c = np.concatenate([first - second @ last, last])[(np.arange(size + k) - half) % size]
    return Spline(t, np.reshape(c, (size + k, *np.shape(y)[1:])), k, "periodic", axis)


def _derivatives(given: Any, y: Any) -> tuple[Any, ...]:
    """The conditions at an end: orders with values."""
    if given is None:
        return ()
    zeros = np.zeros(np.shape(y)[1:])
    if isinstance(given, str):
        if given not in ("clamped", "natural"):
            raise ValueError(f"Unknown boundary condition : {given}")
        return (({"clamped": 1, "natural": 2}[given], zeros),)
    return tuple((operator.index(order), as_doubles(value) + zeros) for order, value in given)


@composite(si.make_interp_spline)
def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """The spline of degree k through data."""
    x, y, axis = read_data(x, y, axis)
    k = operator.index(k)
    is_periodic = isinstance(bc_type, str) and bc_type == "periodic"
    if is_periodic and k > 1:
        if t is not None:
            raise NotImplementedError("For periodic case t is constructed automatically")
        return _periodic_spline(x, y, k, axis)
    is_default = is_periodic or (isinstance(bc_type, str) and bc_type == "not-a-knot")
    bc_type = None if is_default else bc_type
    left, right = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else bc_type
    if k <= 1 and t is None:
        if left is not None or right is not None:
            raise ValueError(f"Too much info for k={k}: bc_type can only be None.")
        knots = [x, x[-1:]] if k == 0 else [x[:1], x, x[-1:]]
        return Spline(np.concatenate(knots), y, k, True, axis)
    ends = _derivatives(left, y), _derivatives(right, y)
    if any(not 0 <= order <= k for end in ends for order, _ in end):
        raise ValueError(f"Bad boundary conditions: derivatives are of the orders up to {k}.")
    size = np.shape(x)[0]
    if t is None and left is None and right is None:
        t, places = interpolating_knots(x, k), places_of_data(size, k)
    elif t is None:
        t = np.concatenate([*[x[:1]] * k, x, *[x[-1:]] * k])
        places = np.minimum(np.arange(size) + k, size + k - 2)
    else:
        t = as_doubles(t)
        count = np.shape(t)[0] - k - 1
        if np.ndim(t) != 1 or (not is_recorded(t) and np.any(np.diff(t) < 0)):
            raise ValueError("Expect t to be a 1-D sorted array_like.")
        if count < size:
            raise ValueError(f"Got {np.shape(t)[0]} knots, need at least {size + k + 1}.")
        places = np.searchsorted(t[k + 1 : count], x, side="right") + k
    c = spline_through(x, y, t, k, places, ends) if np.size(y) else np.zeros_like(y)
    return Spline(t, c, k, True, axis)
