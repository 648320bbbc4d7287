"""The number of threads that NumPy's BLAS uses while kernels that ask for one thread run.

After a product on several threads, OpenBLAS's threads spin for 100 ms, and take the processors from
the threads of `tracejit.runtime.workers`. The number belongs to the whole process: the first call
that is in sets it to one, the last that is out puts back what there was. Of other BLAS, and of an
OpenBLAS built on OpenMP, where the number belongs to a thread, nothing is changed.

Calls that overlap share one hold, whose end puts the number back. There is no lock and nothing is
counted, so a signal handler may call a kernel at any time, and an exception may be raised at any.
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
from typing import Any, NamedTuple, cast
from weakref import ref

import numpy as np

from tracejit.runtime.holds import Hold

# The OpenBLAS of NumPy's wheels, and those of distributions, with integers of 64 bits or not.
_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "_64", "")
_FUNCTIONS = ("get_num_threads", "set_num_threads", "get_parallel")
_OWN_THREADS = 1


class Blas(NamedTuple):
    """The functions of a BLAS that tell and set its number of threads."""

    get_threads: Callable[[], int]
    set_threads: Callable[[int], Any]


class BlasThreads:
    """The number of threads of `blas`: one while a call is in. `here` is a weak reference to what
    the calls hold that are in."""

    def __init__(self, blas: Blas) -> None:
        """Begin with no call in."""
        self.blas = blas
        self.here: Callable[[], Hold | None] = ref(Hold())
        self._back: dict[int, Callable[[], Any]] = {}

    def enter(self) -> Hold | None:
        """The hold of a call that finds none at `here`: one of its own, or that of another which
        has come in meanwhile. None if the number is one without it.

        What puts the number back is there before the number is set. Between the look at `here`,
        its replacement and the setting no other call comes in, as Python switches threads and runs
        signal handlers after calls and at jumps backwards alone. If one did, it would have more
        than one thread, or both would put back the same number.
        """
        here: Any
        last = self.here
        number = self.blas.get_threads()
        if number == 1:
            return self.here()
        set_threads = self.blas.set_threads
        for here in map(ref, (Hold(),)):
            here().end = self._back.get(number) or self._putting_back(number)
            if self.here is last:
                self.here = here
                set_threads(1)
                return cast(Hold, here())
            here().end = bool  # another has come in
        return self.here() or self.enter()

    def forget(self) -> None:
        """Let nobody be in: put the number back, and let the end of the hold do nothing."""
        here: Any = self.here
        if here() is not None:
            here().end()
            here().end = bool
        self.here = ref(Hold())

    def _putting_back(self, number: int) -> Callable[[], Any]:
        """A callable that sets the number of threads to `number`. It runs no Python code where the
        BLAS is C code."""
        return self._back.setdefault(number, functools.partial(self.blas.set_threads, number))


# That of this process, once it is known; None where the BLAS is another.
_of_process: list[BlasThreads | None] = []


def blas_threads() -> BlasThreads | None:
    """The BLAS threads of this process; None if its BLAS has no number of threads to set."""
    if not _of_process:
        blas = find()
        _of_process.append(None if blas is None else BlasThreads(blas))
    return _of_process[0]


def on_one_blas_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, during whose calls NumPy's BLAS uses one thread."""
    here = blas_threads()
    if here is None:
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return (here.here() or here.enter(), function(*args, **kwargs))[1]

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
    """The libraries to search for the functions: the one that NumPy's own extension module was
    linked with; on Windows, where that cannot be searched, those that its wheel brought along."""
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
    for here in _of_process:
        if here is not None:
            here.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
