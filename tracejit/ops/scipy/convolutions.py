"""scipy.signal: convolutions and correlations of arrays, of any number of axes.

The transpose of a convolution is a convolution of the cotangent, placed in the full result, with
the other operand reversed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal as ss

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op, answer
from tracejit.ops.linalg.products import conj
from tracejit.ops.scipy.base.calls import linalg_op

_ALL = slice(None, None, -1)
_EXTENSIONS: dict[str, Any] = {
    "fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap",
    "symm": "symmetric", "symmetric": "symmetric",
}  # fmt: skip
"""The mode of np.pad for each boundary."""


def flipped(x: Any) -> Any:
    """Turned round along all axes."""
    return x[(_ALL,) * x.ndim]


def _larger(a: Shape, b: Shape) -> bool:
    return all(n >= m for n, m in zip(a, b, strict=True))


def _check(a: ArrayType, b: ArrayType, mode: str) -> None:
    if a.ndim != b.ndim or not a.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if not a.size or not b.size:
        raise TypeError("arrays of no elements are not supported")
    if mode not in ("full", "same", "valid"):
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")


def _shape(a: ArrayType, b: ArrayType, mode: str = "full", **params: Any) -> Shape:
    _check(a, b, mode)
    if mode == "same":
        return a.shape
    pairs = list(zip(a.shape, b.shape, strict=True))
    if mode == "full":
        return tuple(n + m - 1 for n, m in pairs)
    if not _larger(a.shape, b.shape):
        if not _larger(b.shape, a.shape):
            raise ValueError(
                "For 'valid' mode, one must be at least as large as the other in every dimension"
            )
    return tuple(max(n, m) - min(n, m) + 1 for n, m in pairs)


def _in_full(g: Any, a: Shape, b: Shape, mode: str, half: int) -> Any:
    """A cotangent where it stands in the full result; `half` rounds its middle up, or not."""
    if mode == "full":
        return g
    widths = []
    for n, m, size in zip(a, b, g.shape, strict=True):
        before = (m - 1 + half) // 2 if mode == "same" else min(n, m) - 1
        widths.append((before, n + m - 1 - size - before))
    return np.pad(g, widths)


def _turned(
    convolve: Callable[..., Any], g: Any, other: Any, mode: str, a: Any, b: Any, half: int = 0
) -> Any:
    whole = _in_full(g, a.shape, b.shape, mode, half)
    return convolve(whole, flipped(other), mode="valid")


def _convolution(function: Any, keywords: tuple[str, ...] = ("mode",), handles: bool = True) -> Op:
    """The op of a function that convolves."""

    def of(x: Any, y: Any, mode: str) -> Any:
        return op(x, y) if mode == "full" else op(x, y, mode=mode)

    op: Op = linalg_op(
        function,
        name=f"signal_{function.__name__}",
        operands=("in1", "in2"),
        keywords=keywords,
        shape=_shape,
        vjp=(
            lambda g, y, a, b, mode="full", **params: _turned(of, g, b, mode, a, b),
            lambda g, y, a, b, mode="full", **params: _turned(of, g, a, mode, a, b),
        ),
        jvp="bilinear",
        module="signal",
        handles=handles,
        cost=lambda a, b, **params: 2 * a.size * b.size,
    )
    return op


convolve = _convolution(ss.convolve, ("mode", "method"))
fftconvolve = _convolution(ss.fftconvolve)
oaconvolve = _convolution(ss.oaconvolve)
convolve2d = _convolution(ss.convolve2d, handles=False)


def _correlation_shape(a: ArrayType, b: ArrayType, mode: str = "full", **params: Any) -> Shape:
    if mode == "valid" and not _larger(a.shape, b.shape):
        raise TypeError("mode='valid' of a second operand larger than the first is not supported")
    return _shape(a, b, mode)


def _correlation(
    function: Any,
    convolution: Op,
    keywords: tuple[str, ...] = ("mode",),
    half: int = 0,
    handles: bool = True,
) -> Op:
    """The op of a function that correlates: convolves with the second turned and conjugated.

    `half` says that the middle of a result of even size is taken one further.
    """

    def of(x: Any, y: Any, mode: str) -> Any:
        return convolution(x, y) if mode == "full" else convolution(x, y, mode=mode)

    def second(g: Any, y: Any, a: Any, b: Any, mode: str = "full", **params: Any) -> Any:
        return flipped(conj(_turned(of, g, a, mode, a, b, half)))

    def first(g: Any, y: Any, a: Any, b: Any, mode: str = "full", **params: Any) -> Any:
        return _turned(of, g, flipped(conj(b)), mode, a, b, half)

    return linalg_op(
        function,
        name=f"signal_{function.__name__}",
        operands=("in1", "in2"),
        keywords=keywords,
        shape=_correlation_shape,
        vjp=(first, second),
        jvp="bilinear",
        module="signal",
        handles=handles,
        cost=lambda a, b, **params: 2 * a.size * math.prod(b.shape),
    )


correlate = _correlation(ss.correlate, convolve, ("mode", "method"))
correlate2d = _correlation(ss.correlate2d, convolve2d, half=1, handles=False)


def _of_images(function: Any, op: Op, half: int) -> None:
    """Record a function of images, whose first one is extended beyond its edges before."""

    def call(
        in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
    ) -> Any:
        image, kernel = as_array(in1), as_array(in2)
        is_plain = boundary in ("fill", "pad") and type(fillvalue) is int and fillvalue == 0
        if not is_plain and mode in ("full", "same"):
            if boundary not in _EXTENSIONS:
                raise ValueError(f"boundary={boundary!r} is not one of {', '.join(_EXTENSIONS)}")
            _check(image, kernel, mode)
            after = [(m - 1 + half) // 2 if mode == "same" else m - 1 for m in kernel.shape]
            whole = [m - 1 if mode == "same" else 2 * m - 2 for m in kernel.shape]
            widths = [(both - end, end) for both, end in zip(whole, after, strict=True)]
            options = {"constant_values": fillvalue} if _EXTENSIONS[boundary] == "constant" else {}
            image, mode = np.pad(image, widths, _EXTENSIONS[boundary], **options), "valid"
        operands, params = op.canonical(image, kernel, mode=mode)
        return op(*operands, **params)

    answer(function, call)


_of_images(ss.convolve2d, convolve2d, 0)
_of_images(ss.correlate2d, correlate2d, 1)
