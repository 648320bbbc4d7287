"""Detect draws from random generators that cannot be recorded, by their states before and after."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import CellType, FunctionType
from typing import Any

import numpy as np

from tracejit.support.errors import fail


def is_random(value: Any) -> bool:
    """Return whether `value` is a random generator: Python's, or NumPy's, which imports np.random
    on first use."""
    if isinstance(value, getattr(sys.modules.get("random"), "Random", ())):
        return True
    if "numpy.random" not in sys.modules:
        return False
    kinds = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    return isinstance(value, kinds)


def is_generator(value: Any) -> bool:
    """Return whether `value` is a Generator of NumPy's."""
    return "numpy.random" in sys.modules and type(value) is np.random.Generator


@contextmanager
def refusing_draws(function: str, captured: Mapping[str, Any]) -> Iterator[None]:
    """Raise UnsupportedError if meanwhile one of the generators in reach of `function` was drawn
    from: those of np.random and the module random, and the captured ones, by name."""
    sources = {"the module random": sys.modules["random"], **captured}  # tempfile imports random
    before = {name: _random_state(source) for name, source in sources.items()}
    of_numpy = _numpy_state()
    yield
    if "numpy.random" in sys.modules and _numpy_state() != (of_numpy or _numpy_state_at_import()):
        raise fail("random", None, function=function, generator="np.random")
    for name, source in sources.items():
        if _random_state(source) != before[name]:
            raise fail("random", None, function=function, generator=name)


def generators_around(function: Any) -> dict[str, Any]:
    """The random generators that a function, and those that it calls, hold in their closures, by
    name."""
    found: dict[str, Any] = {}
    pending, met = [function], set[int]()
    while pending:
        one = inspect.unwrap(pending.pop())
        if id(one) in met or not isinstance(one, FunctionType):
            continue
        met.add(id(one))
        cells = zip(one.__code__.co_freevars, one.__closure__ or (), strict=True)
        for name, value in ((name, content_of(cell)) for name, cell in cells):
            if is_random(value):
                if not type(value).__module__.startswith("tracejit"):  # those are recorded
                    found[name] = value
            elif callable(value):
                pending.append(value)
    return found


def content_of(cell: CellType) -> Any:
    """The content of a cell; None of an empty one."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _numpy_state() -> Any:
    """The state of NumPy's own generator; None if np.random is not imported yet, which takes as
    long as recording does."""
    if "numpy.random" not in sys.modules:
        return None
    return _random_state(np.random.mtrand._rand)


def _numpy_state_at_import() -> Any:
    """The state that NumPy's own generator had when it was made; None if it was seeded."""
    bits: Any = np.random.mtrand._rand._bit_generator
    seeds = getattr(bits, "seed_seq", None)
    return None if seeds is None else _random_state(np.random.RandomState(np.random.MT19937(seeds)))


def _random_state(source: Any) -> Any:
    """The state of a generator, comparable."""
    if hasattr(source, "getstate"):
        return source.getstate()
    if isinstance(source, np.random.RandomState):
        return _comparable(source.get_state(legacy=False))
    return _comparable(getattr(source, "bit_generator", source).state)


def _comparable(state: Any) -> Any:
    """A generator's state with bytes for the arrays in it."""
    if isinstance(state, dict):
        return {name: _comparable(part) for name, part in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
