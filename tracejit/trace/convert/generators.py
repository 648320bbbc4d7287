"""Rules of NumPy's generators, whose module is slow to import: they pick elements of Tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tracejit.trace.convert.rules import rule
from tracejit.trace.recording.generators import PICKING, picked


def _rule(kind: Any, name: str) -> Callable[..., Any]:
    plain = getattr(kind, name)

    def pick(generator: Any, *args: Any, **kwargs: Any) -> Any:
        return picked(partial(plain, generator), name, args, kwargs)

    return rule(plain)(pick)


for _kind in (np.random.Generator, np.random.RandomState):
    for _name in PICKING:
        _rule(_kind, _name)
