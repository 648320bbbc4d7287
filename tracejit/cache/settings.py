"""Place and size of the cache, by the settings `cache`, `cache_dir`, `cache_relative` and
`cache_size`, and warnings of it."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

from tracejit.support.config import SETTINGS, setting, source_of
from tracejit.support.errors import ArgumentError

DEFAULT_BYTES: int = SETTINGS["cache_size"].default
# Topics already warned of in this process.
_warned: dict[str, object] = {}


class CacheWarning(UserWarning):
    """A file or folder of the kernel cache that cannot be used; the call itself goes on."""


def warn_once(topic: str, message: str) -> None:
    """One `CacheWarning` per topic and process, from whichever thread comes first."""
    ticket = object()
    if _warned.setdefault(topic, ticket) is ticket:
        warnings.warn(message, CacheWarning, stacklevel=4)


class CacheLocation(NamedTuple):
    """The folder of the cache, or None with the problem, if it is not meant to be off."""

    path: Path | None
    problem: str | None


def default_path() -> Path | None:
    """The folder that is set, else one in the user's cache; None if the cache is off, or if it
    would be relative, which one warning says."""
    path, problem = location()
    if problem is not None:
        warn_once(problem, f"kernels are kept in memory: {problem}")
    return path


def location() -> CacheLocation:
    """The folder that the settings name, and why it cannot be used if it cannot."""
    if not setting("cache"):
        return CacheLocation(None, None)
    chosen = setting("cache_dir")
    try:
        path = Path(chosen).expanduser() if chosen else _of_user()
    except RuntimeError:  # no home directory
        return CacheLocation(None, None)
    if path.is_absolute():
        return CacheLocation(path, None)
    if not chosen:
        return CacheLocation(None, f"the home directory of this process is relative ({path}).")
    named = source_of("cache_dir")
    if not setting("cache_relative"):
        return CacheLocation(
            None,
            f"{named} is relative, and a folder that came with other files may hold kernels of "
            f"somebody else. Give an absolute path, or set TRACEJIT_CACHE_RELATIVE=1.",
        )
    try:
        return CacheLocation(path.absolute(), None)
    except OSError as error:
        problem = f"{named} is relative to a folder that is gone ({error})."
        return CacheLocation(None, problem)


def size_limit() -> int | None:
    """The bytes that the cache may hold; None if there is no limit."""
    try:
        return setting("cache_size") or None
    except ArgumentError as error:
        what = str(error).partition("\n")[0].removesuffix(".")
        warn_once(f"size {what}", f"{what}, so the cache holds 1 GB.")
        return DEFAULT_BYTES


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
