"""Operations on functions of libraries that tracejit does not import, and of numpy.polynomial.

Their records are read when such a function is first met: then its library has been imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ops.base.op import HANDLERS
from tracejit.support.imports import import_module


def handler_of(function: Any) -> Callable[..., Any] | None:
    """The handler of the user's calls of `function`; None if it has none."""
    handler = HANDLERS.get(function)
    if handler is None and isinstance(function, np.ufunc) and "scipy.special" in sys.modules:
        import_module("tracejit.ops.scipy.special")
        handler = HANDLERS.get(function)
    if handler is None and str(getattr(function, "__module__", "")).startswith("numpy.polynomial"):
        import_module("tracejit.ops.calculus.series")
        handler = HANDLERS.get(function)
    return handler
