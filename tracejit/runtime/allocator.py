"""The process's allocator, told once to keep the memory that kernels free and ask for again.

glibc returns freed memory above a threshold to the system, and every page of it is faulted in anew
by the next call: four fresh temporaries of 1 MiB then cost ten times what they hold. The thresholds
follow the largest block freed so far, up to 32 MiB
(https://man7.org/linux/man-pages/man3/mallopt.3.html, M_MMAP_THRESHOLD).
"""

from __future__ import annotations

import numpy as np

# What malloc adds to a block must not take it over the limit of 32 MiB.
LARGEST = 2**25 - 2**16

_warmed: list[bool] = []


def keep_freed_memory() -> None:
    """Allocate and free the largest block that counts, untouched: once in a process and its forks.

    Up to 64 MiB that were in use stay with the process. Other allocators take it as any block.
    """
    if not _warmed:
        _warmed.append(True)
        np.empty(LARGEST, np.uint8)
