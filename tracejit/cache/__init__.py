"""Generated kernels on disk, and `tj.cache`: `path`, `entries()`, `prune()` and `clear()`.

Text, not graphs: content keys and seals (`key`), the folder that they lie in (`settings`, `folder`,
`secret`, `eviction`), modules made of text (`modules`), kernels of the cache (`store`), kernels
that travel (`standalone`), and what a user asks of the cache (`listing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracejit.support.imports import import_module

if TYPE_CHECKING:
    from pathlib import Path

    from tracejit.cache.listing import clear, entries, prune

    path: Path | None

__all__ = ["clear", "entries", "path", "prune"]


def __getattr__(name: str) -> Any:
    # Everybody imports this package, for a module of it; few ask what is in the cache.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    listing = import_module("tracejit.cache.listing")
    return listing.folder_of_kernels() if name == "path" else getattr(listing, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
