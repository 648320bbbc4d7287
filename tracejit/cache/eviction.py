"""Eviction: keep the cache below its limit by deleting the kernels longest unused.

A kernel is as old as its last use, to the day: the time of its text, which a reader moves on at
most once a day. A writer looks if a day has gone by since the last sweep, and then one process
sweeps: the kernels longest unused go until the rest fits, and so does what interrupted processes
left behind. Nothing is read for it but names, sizes and times.
"""

from __future__ import annotations

import os
import re
import time
from typing import NamedTuple

from tracejit.cache.folder import Folder
from tracejit.cache.key import KERNEL_NAME

DAY = 86400.0
SWEPT = ".swept"
CLAIM = f"{SWEPT}.turn.tmp"  # a draft, which a sweep removes once it is old
SUFFIXES = (".py", ".npz", ".mark")
"""The files of a kernel, its text first: without it the others are nothing."""

_DRAFT = re.compile(
    r"\.(\w+__[0-9a-f]{8}\.(py|npz|mark)|secret|swept)\.[0-9a-f]{12}\.tmp", re.ASCII
)
_ABANDONED_SECONDS = 3600.0


class Use(NamedTuple):
    """The size of a kernel on disk in bytes, and the time of its last use."""

    name: str
    bytes: int
    time: float


def kernel_names(folder: Folder) -> list[str]:
    """The names of all kernels in the folder, sorted, intact or not."""
    stems = (name.removesuffix(".py") for name in folder.names() if name.endswith(".py"))
    return [stem for stem in stems if KERNEL_NAME.fullmatch(stem)]


def use_of(folder: Folder, name: str) -> Use:
    """Bytes of text and constants of a kernel, and its last use; zeros of what is gone by now."""
    text, constants = (folder.status(f"{name}{suffix}") for suffix in SUFFIXES[:2])
    size = sum(status.st_size for status in (text, constants) if status is not None)
    return Use(name, size, 0.0 if text is None else text.st_mtime)


def note_use(folder: Folder, name: str, status: os.stat_result) -> None:
    """Move the time of a kernel that was read to now, where it is older than a day."""
    if abs(time.time() - status.st_mtime) > DAY:
        folder.touch(f"{name}.py")


def prune(folder: Folder, max_bytes: int | None = None, max_age: float | None = None) -> int:
    """Delete kernels not used for `max_age` seconds, then those longest unused beyond `max_bytes`,
    and what interrupted writers left; returns how many kernels."""
    now, removed, total = time.time(), 0, 0
    uses = [use_of(folder, name) for name in kernel_names(folder)]
    # A time that has yet to come tells nothing of the last use.
    known = [use if use.time <= now + DAY else use._replace(time=0.0) for use in uses]
    for use in sorted(known, key=lambda use: use.time, reverse=True):
        total += use.bytes
        too_old = max_age is not None and now - use.time > max_age
        if too_old or (max_bytes is not None and total > max_bytes):
            removed += drop(folder, use.name)
    remove_abandoned(folder)
    return removed


def drop(folder: Folder, name: str) -> bool:
    """Delete a kernel; says if there was one."""
    removed, *_ = [folder.remove(f"{name}{suffix}") for suffix in SUFFIXES]
    return removed


def remove_abandoned(folder: Folder) -> None:
    """Delete drafts, and files without a text, once no writer can still want them."""
    names = folder.names()
    texts = {name.removesuffix(".py") for name in names if name.endswith(".py")}
    for name in names:
        stem, dot, suffix = name.rpartition(".")
        left = dot + suffix in SUFFIXES and KERNEL_NAME.fullmatch(stem) and stem not in texts
        if left or _DRAFT.fullmatch(name):
            status = folder.status(name)
            if status is not None and status.st_mtime < time.time() - _ABANDONED_SECONDS:
                folder.remove(name)


def sweep(folder: Folder, limit: int | None) -> None:
    """Keep the cache below `limit`, if that is this process's turn."""
    if is_turn(folder):
        prune(folder, limit)


def is_turn(folder: Folder) -> bool:
    """Return whether a day has passed since the last sweep; True for one process alone."""
    if _was_swept(folder):
        return False
    if not folder.write_once(CLAIM, b"", 0o600):
        left = folder.status(CLAIM)
        if left is not None and not _is_recent(left):  # by a process that was ended
            folder.remove(CLAIM)
        return False
    try:
        if _was_swept(folder):  # by a process that had its turn meanwhile
            return False
        folder.remove(SWEPT)
        return folder.write_once(SWEPT, b"", 0o600)
    finally:
        folder.remove(CLAIM)


def _was_swept(folder: Folder) -> bool:
    status = folder.status(SWEPT)
    return status is not None and _is_recent(status)


def _is_recent(status: os.stat_result) -> bool:
    return abs(time.time() - status.st_mtime) < DAY
