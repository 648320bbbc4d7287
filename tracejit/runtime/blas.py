"""How many threads NumPy's BLAS uses while kernels run that ask for one.

After a product on several threads those of OpenBLAS spin for 100 ms, and take the processors from
the threads of `tracejit.runtime.workers`. The number belongs to the whole process: the first call
that is in sets it to one, the last that is out puts back what there was. Of other BLAS, and of an
OpenBLAS built on OpenMP, where the number belongs to a thread, nothing is changed.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

# The OpenBLAS of NumPy's wheels, and those of distributions, with integers of 64 bits or not.
_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "_64", "")
_FUNCTIONS = ("get_num_threads", "set_num_threads", "get_parallel")
_OWN_THREADS = 1


class Blas(NamedTuple):
    """The functions of a BLAS that tell and set its number of threads."""

    get_threads: Callable[[], int]
    set_threads: Callable[[int], Any]


class Regime:
    """The calls that are in, which have one thread of `blas`, and the number that there was."""

    def __init__(self, blas: Blas) -> None:
        """No call is in."""
        self.blas = blas
        self.calls = 0
        self.before = 1
        self._lock = Lock()

    def enter(self) -> None:
        """One call more is in."""
        with self._lock:
            if not self.calls:
                self.before = self.blas.get_threads()
                if self.before != 1:
                    self.blas.set_threads(1)
            self.calls += 1

    def leave(self) -> None:
        """It is out."""
        with self._lock:
            self.calls -= 1
            if not self.calls and self.before != 1:
                self.blas.set_threads(self.before)


# That of this process, once it is known; None where the BLAS is another.
_regimes: list[Regime | None] = []


def regime() -> Regime | None:
    """The regime of this process; None where its BLAS has no number of threads to set."""
    if not _regimes:
        blas = find()
        _regimes.append(None if blas is None else Regime(blas))
    return _regimes[0]


def on_one_blas_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, during whose calls NumPy's BLAS uses one thread."""
    if regime() is None:
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        here = _regimes[0]
        assert here is not None
        here.enter()
        try:
            return function(*args, **kwargs)
        finally:
            here.leave()

    return called


def find() -> Blas | None:
    """The OpenBLAS that NumPy has loaded, if its number of threads is one for all."""
    for library in _libraries():
        for prefix, suffix in itertools.product(_PREFIXES, _SUFFIXES):
            names = [f"{prefix}_{word}{suffix}" for word in _FUNCTIONS]
            if all(hasattr(library, name) for name in names):
                get_threads, set_threads, parallel = (library[name] for name in names)
                set_threads.argtypes, set_threads.restype = [ctypes.c_int], None
                return Blas(get_threads, set_threads) if parallel() == _OWN_THREADS else None
    return None


def _libraries() -> list[ctypes.PyDLL]:
    """Where the functions are looked for: in what NumPy's own extension module was linked with, and
    on Windows, where a name is not looked for in there, in what its wheel brought along."""
    if sys.platform == "win32":
        folder = Path(np.__file__).parents[1] / "numpy.libs"
        return [ctypes.PyDLL(str(file)) for file in folder.glob("*openblas*.dll")]
    extension = find_spec("numpy._core._multiarray_umath")
    if extension is None or extension.origin is None:
        return []
    # Not CDLL: letting go of Python's lock around a call that sets a number costs more than it.
    return [ctypes.PyDLL(extension.origin)]


def _begin_in_child() -> None:
    """In a forked child, be out of the calls of threads that are not there."""
    here = _regimes[0] if _regimes else None
    if here is not None:
        _regimes[0] = Regime(here.blas)
        if here.calls and here.before != 1:
            here.blas.set_threads(here.before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
