"""scipy.signal, recordable: `tracejit.scipy.signal` under autograd's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.scipy import signal as _signal
from tracejit.scipy.signal import __dir__ as __dir__
from tracejit.scipy.signal import __getattr__ as __getattr__
from tracejit.trace.recording.active import OF_TRANSFORM


def convolve(
    A: Any,
    B: Any,
    axes: Sequence[Sequence[int]] | None = None,
    dot_axes: Sequence[Sequence[int]] = ((), ()),
    mode: str = "full",
) -> Any:
    """Return the convolution of `A` and `B` along pairs of `axes`, by default along all.

    Along pairs of `dot_axes` products are summed. The result has the other axes of A, then those of
    B, then the convolved ones.

    >>> images, filters = np.ones((5, 1, 4, 4)), np.ones((1, 2, 3, 3))
    >>> convolve(images, filters, ([2, 3], [2, 3]), ([1], [0]), mode="valid").shape
    (5, 2, 2, 2)
    """
    if axes is None:
        return _signal.convolve(A, B, mode)
    ours, theirs = (
        [axis % np.ndim(x) for axis in own] for x, own in zip((A, B), axes, strict=True)
    )
    others = len(ours) + len(dot_axes[0])
    sizes = [np.shape(B)[axis] for axis in theirs]
    if mode == "valid" and any(np.shape(A)[a] < n for a, n in zip(ours, sizes, strict=True)):
        swapped = convolve(B, A, (theirs, ours), tuple(dot_axes)[::-1], mode)
        first, last = np.ndim(A) - others, np.ndim(B) - others
        return np.moveaxis(swapped, range(last), range(first, first + last))
    if mode != "valid":
        widths = [(0, 0)] * np.ndim(A)
        for axis, size in zip(ours, sizes, strict=True):
            after = size - 1 if mode == "full" else (size - 1) // 2
            widths[axis] = (size - 1 - (0 if mode == "full" else after), after)
        A = np.pad(A, widths)
    windows = np.lib.stride_tricks.sliding_window_view(A, tuple(sizes), tuple(ours))
    inside = range(np.ndim(A), np.ndim(A) + len(ours))
    summed = ([*dot_axes[0], *inside], [*dot_axes[1], *theirs])
    found = np.tensordot(windows, np.flip(B, tuple(theirs)), summed)
    kept = [axis for axis in range(np.ndim(A)) if axis not in dot_axes[0]]
    return np.moveaxis(found, [kept.index(axis) for axis in ours], range(-len(ours), 0))


vars(convolve)[OF_TRANSFORM] = "reader"
