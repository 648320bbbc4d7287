"""Tune the process's allocator once, so that it keeps memory that kernels free and ask for again.

glibc returns freed memory above a threshold to the system, and every page of it is faulted in anew
by the next call: four fresh temporaries of 1 MiB then cost ten times what they hold. The thresholds
follow the largest block freed so far, up to 32 MiB
(https://man7.org/linux/man-pages/man3/mallopt.3.html, M_MMAP_THRESHOLD). What the states of many
steps take together is soon more than the 64 MiB that are kept then, so more is asked for.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

from tracejit.support.cost_model import costs

M_TRIM_THRESHOLD = -1

_warmed: list[bool] = []


def keep_freed_memory() -> None:
    """Allocate and free the largest block that counts, untouched: once in a process and its forks.

    Up to freed_bytes that were in use stay with the process. Other allocators take it as any block.
    """
    if not _warmed:
        _warmed.append(True)
        np.empty(costs().largest_freed_bytes, np.uint8)
        set_option = None
        if sys.platform == "linux":
            set_option = getattr(ctypes.pythonapi, "mallopt", None)  # not every C library has it
        if set_option is not None:
            set_option(M_TRIM_THRESHOLD, costs().freed_bytes)
