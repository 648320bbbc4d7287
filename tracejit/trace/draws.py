"""Random generators that cannot be recorded: their states before and after say whether a function
drew from them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.errors import fail


def is_random(value: Any) -> bool:
    """Whether `value` is a random generator: Python's, or NumPy's, which imports np.random on first
    use."""
    if isinstance(value, getattr(sys.modules.get("random"), "Random", ())):
        return True
    if "numpy.random" not in sys.modules:
        return False
    kinds = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    return isinstance(value, kinds)


def is_generator(value: Any) -> bool:
    """Whether `value` is a Generator of NumPy's."""
    return "numpy.random" in sys.modules and type(value) is np.random.Generator


@contextmanager
def refusing_draws(function: str, captured: Mapping[str, Any]) -> Iterator[None]:
    """Raise UnsupportedError if meanwhile one of the generators in reach of `function` was drawn
    from: those of np.random and the module random, and the captured ones, by name."""
    sources = {
        "np.random": np.random.mtrand._rand,
        "the module random": sys.modules["random"],  # np.random has imported it
        **captured,
    }
    before = {name: _random_state(source) for name, source in sources.items()}
    yield
    for name, source in sources.items():
        if _random_state(source) != before[name]:
            raise fail("random", None, function=function, generator=name)


def _random_state(source: Any) -> str:
    """The state of a generator, comparable."""
    if hasattr(source, "getstate"):
        return str(hash(source.getstate()))
    if isinstance(source, np.random.RandomState):
        state: dict[str, Any] = source.get_state(legacy=False)
        return f"{hash(state['state']['key'].tobytes())} {state}"
    return repr(getattr(source, "bit_generator", source).state)
