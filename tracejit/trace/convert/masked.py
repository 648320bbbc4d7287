"""Rules of numpy.ma, whose module is slow to import: no Tensor is a masked array."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array
from tracejit.trace.convert.rules import rule


@rule(np.ma.isMaskedArray, np.ma.isMA, np.ma.is_masked)
def _is_masked(x: Any) -> bool:
    return False


@rule(np.ma.getdata, np.ma.filled)
def _unmasked(a: Any, *rest: Any, **options: Any) -> Any:
    return as_array(a)


@rule(np.ma.getmask)
def _getmask(a: Any) -> Any:
    return np.ma.nomask
