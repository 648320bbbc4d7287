"""The cache as its user sees it: its folder, its kernels, and functions that make it smaller.

>>> import tracejit as tj
>>> sum(entry.bytes for entry in tj.cache.entries()) <= 10**9
True
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tracejit.cache.settings import default_path, warn_once
from tracejit.cache.store import Store, StoredKernel


def folder_of_kernels() -> Path | None:
    """The folder of the cache; None while kernels live in memory."""
    return default_path()


def entries() -> list[StoredKernel]:
    """Return a record of every kernel in the cache, sorted by name.

    Each file is read and verified. None is run.

    Returns
    -------
    list of StoredKernel
        Records with the fields `name`, `function`, `key`, `signature`, `path`, `bytes`, `mtime`
        (the day of the last use) and `intact`. The list is empty, with a CacheWarning, if the
        folder cannot be trusted.

    Examples
    --------
    >>> import tracejit as tj
    >>> names = [kernel.name for kernel in tj.cache.entries()]
    """
    return _store().entries()


def prune(max_bytes: int | None = None, max_age: float | timedelta | None = None) -> int:
    """Delete kernels that were not used for a long time, and return their number.

    A kernel that is needed again is made again.

    Parameters
    ----------
    max_bytes : int, default None
        The most bytes to keep. The kernels that were unused for longest are deleted first.
    max_age : float or timedelta, default None
        The longest time without use, in seconds or as a timedelta.

    Returns
    -------
    int
        The number of kernels that were deleted.

    Examples
    --------
    >>> import tracejit as tj
    >>> tj.cache.prune(max_age=10 * 365 * 24 * 3600.0)
    0
    """
    age = max_age.total_seconds() if isinstance(max_age, timedelta) else max_age
    return _store().prune(max_bytes, age)


def clear() -> int:
    """Delete every kernel in the cache, and no other file.

    Returns
    -------
    int
        The number of kernels that were deleted.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit as tj
    >>> with tempfile.TemporaryDirectory() as folder, tj.config(cache_dir=folder):
    ...     tj.cache.clear()
    0
    """
    return _store().clear()


def _store() -> Store:
    store = Store(default_path())
    problem = store.problem()
    if problem is not None:
        warn_once(f"listing {store.path}", f"the cache cannot be used: {store.path}: {problem}.")
    return store
