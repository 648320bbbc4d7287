"""Functions of Python's that go by the frame that calls them."""

from __future__ import annotations

import collections
import inspect
import sys
from typing import Any

_OF_FRAMES = frozenset(("warnings", "_warnings", "logging", "IPython.core.display_functions"))
_WITH_FRAMES = {
    "sys": (sys._getframe,),
    "inspect": (inspect.currentframe, inspect.stack),
    "collections": (collections.namedtuple,),
}


def sees_frames(called: Any) -> bool:
    """Return whether a function of Python's goes by the frame that calls it, and answers nothing
    that depends on objects of the user's."""
    module = getattr(called, "__module__", None)
    return module in _OF_FRAMES or (module in _WITH_FRAMES and called in _WITH_FRAMES[module])
