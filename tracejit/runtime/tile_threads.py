"""The threads of a kernel's tiles, which follow the setting `threads`."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from tracejit.runtime.processors import default_threads
from tracejit.runtime.workers import in_turn_on
from tracejit.support.config import watch

InTurn: TypeAlias = Callable[..., Any]

# The `in_turn` that these modules were written with, which uses no thread but the caller's.
_FOLLOWING: WeakKeyDictionary[ModuleType, InTurn] = WeakKeyDictionary()


def share_tiles(module: ModuleType, threads: int | None) -> None:
    """Run the tiles of a module on up to so many threads; None follows the setting."""
    written: InTurn = module.in_turn
    if threads is None:
        _FOLLOWING[module] = written
    _put(module, written, default_threads() if threads is None else threads)


def _put(module: ModuleType, written: InTurn, threads: int) -> None:
    module.__dict__.update(in_turn=in_turn_on(threads) if threads > 1 else written)


def _follow() -> None:
    """Let every module that follows the setting run on as many threads as it says now."""
    threads = default_threads()
    for module, written in list(_FOLLOWING.items()):
        _put(module, written, threads)


watch("threads", _follow)
