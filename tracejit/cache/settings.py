"""Settings of the cache from the environment: where it is, and how large it may become.

| variable | means |
|---|---|
| `TRACEJIT_CACHE=0` | no cache: kernels live in memory |
| `TRACEJIT_CACHE_DIR` | the folder, an absolute path or one that begins with `~` |
| `TRACEJIT_CACHE_RELATIVE=1` | that folder may be relative to where the process runs |
| `TRACEJIT_CACHE_SIZE` | the most that it holds from one day to the next: `500M`, `2G`; 0 for all |
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

from tracejit.cache.notices import warn_once

DEFAULT_BYTES = 1_000_000_000

_SIZE = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)(i?)b?\s*", re.ASCII | re.IGNORECASE)


class CacheLocation(NamedTuple):
    """The folder of the cache, or None with the problem, if it is not meant to be off."""

    path: Path | None
    problem: str | None


def default_path() -> Path | None:
    """`$TRACEJIT_CACHE_DIR`, else a folder in the user's cache; None if `TRACEJIT_CACHE=0`, or if
    it would be relative, which one warning says."""
    path, problem = location()
    if problem is not None:
        warn_once(problem, f"kernels are kept in memory: {problem}")
    return path


def location() -> CacheLocation:
    """The folder that the environment names, and why it cannot be used if it cannot."""
    if os.environ.get("TRACEJIT_CACHE") == "0":
        return CacheLocation(None, None)
    chosen = os.environ.get("TRACEJIT_CACHE_DIR")
    try:
        path = Path(chosen).expanduser() if chosen else _of_user()
    except RuntimeError:  # no home directory
        return CacheLocation(None, None)
    if path.is_absolute():
        return CacheLocation(path, None)
    if not chosen:
        return CacheLocation(None, f"the home directory of this process is relative ({path}).")
    if os.environ.get("TRACEJIT_CACHE_RELATIVE") != "1":
        return CacheLocation(
            None,
            f"TRACEJIT_CACHE_DIR={chosen} is relative, and a folder that came with other files may "
            f"bring kernels of its own. Give an absolute path, or set TRACEJIT_CACHE_RELATIVE=1.",
        )
    try:
        return CacheLocation(path.absolute(), None)
    except OSError as error:
        problem = f"TRACEJIT_CACHE_DIR={chosen} is relative to a folder that is gone ({error})."
        return CacheLocation(None, problem)


def size_limit() -> int | None:
    """The bytes that `TRACEJIT_CACHE_SIZE` allows, 1 GB without it; None if there is no limit."""
    text = os.environ.get("TRACEJIT_CACHE_SIZE", "")
    if not text.strip():
        return DEFAULT_BYTES
    found = _SIZE.fullmatch(text)
    if found is None:
        example = "is not a size such as 500M or 2G, so the cache holds 1 GB"
        warn_once(f"size {text}", f"TRACEJIT_CACHE_SIZE={text} {example}.")
        return DEFAULT_BYTES
    unit = 1024 if found[3] else 1000
    return int(float(found[1]) * unit ** " kmgt".index(found[2].lower() or " ")) or None


def _of_user() -> Path:
    """The folder for tracejit in the cache that the system gives each user."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local or Path.home() / "AppData" / "Local") / "tracejit" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tracejit"
    # The XDG specification says to ignore relative paths.
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "tracejit"
