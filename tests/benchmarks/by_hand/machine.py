"""Two cores, OpenBLAS and glibc: what the versions by hand use besides NumPy."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TILE = 2**19  # bytes of one operand


def keep_freed_memory() -> None:
    """Allocate and free 32 MiB: glibc then keeps what is freed instead of mapping it anew."""
    np.empty(2**25 - 2**16, "u1")


def openblas() -> tuple[Callable[[int], None], Callable[[], int]]:
    """How NumPy's OpenBLAS is told its number of threads, and asked; it is never told if absent."""
    place = Path(np.__file__).parents[1] / "numpy.libs"
    for path in place.glob("*openblas*"):
        library = ctypes.CDLL(str(path))
        names = "scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_"
        for name in names:
            if hasattr(library, name.format("set")):
                tell = getattr(library, name.format("set"))
                tell.argtypes, tell.restype = [ctypes.c_int], None
                return tell, getattr(library, name.format("get"))
    return lambda number: None, lambda: 1


set_threads, get_threads = openblas()
THREADS = get_threads()


class Worker:
    """A second thread, woken and awaited by locks."""

    def __init__(self) -> None:
        self.begin, self.finished = threading.Lock(), threading.Lock()
        self.begin.acquire()
        self.finished.acquire()
        self.work: Callable[[], None] = list
        self.error: BaseException | None = None
        self.thread: threading.Thread | None = None

    def run(self) -> None:
        """Do what is asked, for ever."""
        while True:
            self.begin.acquire()
            try:
                self.work()
            except BaseException as error:
                self.error = error
            self.finished.release()

    def both(self, here: Callable[[], None], there: Callable[[], None]) -> None:
        """Run one function on this thread and one on the other, BLAS on one thread each."""
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()
        set_threads(1)
        self.work = there
        self.begin.release()
        try:
            here()
        finally:
            self.finished.acquire()
            set_threads(THREADS)
        if self.error is not None:
            error, self.error = self.error, None
            raise error


WORKER = Worker()


def alone(work: Callable[[], None]) -> None:
    """Run a function with BLAS on one thread, which leaves none spinning afterwards."""
    set_threads(1)
    try:
        work()
    finally:
        set_threads(THREADS)


def constant(number: float, dtype: Any = float) -> Any:
    """A number as ufuncs take it fastest."""
    return np.array(number, dtype)


def tiles(start: int, stop: int, size: int) -> list[tuple[int, int]]:
    """The tiles of a range, the last one shorter."""
    return [(first, min(first + size, stop)) for first in range(start, stop, size)]


def halves(n: int, size: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The tiles of two threads."""
    middle = n // 2
    return tiles(0, middle, size), tiles(middle, n, size)


def refuse(*given: Any) -> None:
    """Say that arguments are not those that the function was made for."""
    raise TypeError(f"made for other shapes than {[np.shape(value) for value in given]}")
