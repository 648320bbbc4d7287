"""The cache as its user sees it: where it is, what is in it, and how to make it smaller.

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
    """Every kernel in the cache, sorted by name, as a record: `name`, `function`, `key`,
    `signature`, `path`, `bytes`, `mtime` (the last use, to the day) and `intact`.

    Each is read and verified; none is run. Empty, with one `CacheWarning`, where the folder cannot
    be trusted.
    """
    return _store().entries()


def prune(max_bytes: int | None = None, max_age: float | timedelta | None = None) -> int:
    """Delete the kernels not used for `max_age`, in seconds or as a timedelta, then those longest
    unused beyond `max_bytes`; return how many.

    What interrupted processes have left goes, too. A kernel that is needed again is made again.
    """
    age = max_age.total_seconds() if isinstance(max_age, timedelta) else max_age
    return _store().prune(max_bytes, age)


def clear() -> int:
    """Delete every kernel in the cache, and no other file; return how many."""
    return _store().clear()


def _store() -> Store:
    store = Store(default_path())
    problem = store.problem()
    if problem is not None:
        warn_once(f"listing {store.path}", f"the cache cannot be used: {store.path}: {problem}.")
    return store
