"""Warnings of the cache: each is given once per process."""

from __future__ import annotations

import warnings

# Topics already warned of in this process.
_warned: dict[str, object] = {}


class CacheWarning(UserWarning):
    """A file or folder of the kernel cache that cannot be used; the call itself goes on."""


def warn_once(topic: str, message: str) -> None:
    """One `CacheWarning` per topic and process, from whichever thread comes first."""
    ticket = object()
    if _warned.setdefault(topic, ticket) is ticket:
        warnings.warn(message, CacheWarning, stacklevel=4)
