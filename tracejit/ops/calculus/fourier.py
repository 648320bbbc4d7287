"""numpy.fft: discrete Fourier transforms along one axis and several, and shifts of their results.

Four ops transform one axis; everything else is composed of them, in the order in which NumPy
composes it. Their parameters are canonical: `n` the number of points, that the axis is cropped or
padded with zeros to, `axis` a number from 0 on, `norm` a word. Single precision stays single.

A transform is a symmetric matrix, so it is its own transpose. A real one keeps half of the
frequencies; those that stand for two count twice in `irfft`, and so by half in what `rfft` passes
back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import along_axis
from tracejit.ops.base.creation import known, size_of
from tracejit.ops.base.infer import answered, few, normalize_axis
from tracejit.ops.base.op import Op, defop
from tracejit.ops.reductions.reductions import along

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _same(size: int) -> int:
    return size


def _half(n: int) -> int:
    """The number of frequencies that a real transform of `n` points has."""
    return n // 2 + 1


def _whole(size: int) -> int:
    """The number of points that `size` frequencies of a real transform stand for, unless the user
    says."""
    return 2 * (size - 1)


def _transform(
    function: Any,
    vjp: Callable[..., Any],
    points: Callable[[int], int] = _same,
    results: Callable[[int], int] = _same,
) -> Op:
    """The op of a transform of `points(size)` points by default, of which `results(n)` come out.

    `vjp` need not crop or pad.
    """

    def canonical(
        a: Any, n: Any = None, axis: Any = -1, norm: str | None = None
    ) -> tuple[tuple[Any], dict[str, Any]]:
        axis = normalize_axis(axis, np.ndim(a))
        size = int(np.shape(a)[axis])
        n = points(size) if n is None else size_of(known(n, "n"))
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
        if not size and points is _whole:  # NumPy reads beyond the array
            raise TypeError(f"there are no frequencies along axis {axis}")
        if norm not in _OPPOSITE:
            raise ValueError(
                f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".'
            )
        return (a,), {"n": n, "axis": axis, "norm": norm or "backward"}

    def infer(x: ArrayType, n: int, axis: int, norm: str) -> ArrayType:
        shape = (*x.shape[:axis], results(n), *x.shape[axis + 1 :])
        return ArrayType(shape, answered(function, few(x, 2)).dtype)

    def source(types: Sequence[ArrayType], n: int, axis: int, norm: str) -> str:
        x = types[0]
        keywords = [] if n == points(x.shape[axis]) else ["n={n}"]
        keywords += [] if axis == x.ndim - 1 else ["axis={axis}"]
        keywords += [] if norm == "backward" else ["norm={norm}"]
        return f"np.fft.{function.__name__}({', '.join(['{0}', *keywords])})"

    def transpose(g: Any, y: Any, x: Any, n: int, axis: int, norm: str) -> Any:
        return _resized(vjp(g, n, axis, norm), x.shape[axis], axis)

    return defop(
        function,
        canonical=canonical,
        infer=infer,
        vjp=transpose,
        jvp="linear",
        batch=along_axis(function.__name__),
        source=source,
        cost=lambda x, n, axis, norm: 5 * x.size * n.bit_length(),
        axes=axes.along,
    )


def _resized(v: Any, size: int, axis: int) -> Any:
    """An axis cropped or padded with zeros at its end, as a transform does."""
    missing = size - v.shape[axis]
    if missing <= 0:
        return v[along(axis, slice(size))] if missing else v
    return np.pad(v, [(0, missing if k == axis else 0) for k in range(v.ndim)])


def _scale_pairs(v: Any, factor: float, n: int, axis: int) -> Any:
    """`v` with the kept frequencies that stand for two of `n`, all but 0 and n / 2, times
    `factor`."""
    end = (n + 1) // 2
    if end == 1:
        return v
    first, paired = v[along(axis, slice(1))], v[along(axis, slice(1, end))]
    parts = [first, factor * paired]
    parts += [] if n % 2 else [v[along(axis, slice(end, None))]]
    return np.concatenate(parts, axis)


def _rfft_vjp(g: Any, n: int, axis: int, norm: str) -> Any:
    return np.fft.hfft(_scale_pairs(g, 0.5, n, axis), n, axis, norm)  # type: ignore[arg-type]


def _irfft_vjp(g: Any, n: int, axis: int, norm: str) -> Any:
    return _scale_pairs(np.fft.ihfft(g, n, axis, norm), 2.0, n, axis)  # type: ignore[arg-type]


fft = _transform(np.fft.fft, vjp=lambda g, n, axis, norm: np.fft.fft(g, n, axis, norm))
ifft = _transform(np.fft.ifft, vjp=lambda g, n, axis, norm: np.fft.ifft(g, n, axis, norm))
rfft = _transform(np.fft.rfft, vjp=_rfft_vjp, results=_half)
irfft = _transform(np.fft.irfft, vjp=_irfft_vjp, points=_whole)


# Several axes


# Shifts
