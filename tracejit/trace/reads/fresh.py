"""Objects that C code has just made: nobody else holds them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def is_new(answer: Any) -> bool:
    """Return whether an object that C code answers is held by nobody else."""
    is_view = isinstance(answer, np.ndarray) and answer.base is not None
    return sys.getrefcount(answer) <= _ALONE and not is_view


def _references() -> int:
    def references(o: Any) -> int:
        return sys.getrefcount(o)

    made = list[Any]()
    return references(made)


_ALONE = _references()
