"""Modules that are imported where they are first needed."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from tracejit.support.garbage import collection_paused


def import_module(name: str) -> ModuleType:
    """Import a module, while no garbage is collected: what is collected may call a function of
    tracejit's, which would find half of the module, or half of what it registers."""
    if name in sys.modules:
        return importlib.import_module(name)  # which waits for another thread that imports it
    with collection_paused():
        return importlib.import_module(name)
