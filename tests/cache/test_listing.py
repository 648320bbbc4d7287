"""`tj.cache`: where the cache is, what is in it, and how it is made smaller."""

from __future__ import annotations

import os
import time
import warnings
from datetime import timedelta
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.cached import posix
from tests.support.processes import python
from tracejit.cache.settings import CacheWarning

X = np.arange(3.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    """A cache of this test alone."""
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def squares(x: Any) -> Any:
    return np.sum(x**2)


def made(f: Any = squares, size: int = 3) -> Any:
    """A kernel in the cache."""
    alike = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    return tj.value_and_grad(alike).kernel(np.ones(size))  # which has none in memory


def test_path_is_the_folder_of_the_moment(folder: Path, monkeypatch: Any) -> None:
    assert tj.cache.path == folder
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    assert tj.cache.path is None
    assert tj.cache.entries() == []
    assert tj.cache.prune(0) == tj.cache.clear() == 0


def test_entries_tell_what_a_kernel_is(folder: Path) -> None:
    assert tj.cache.entries() == []
    kernel = made()
    (entry,) = tj.cache.entries()
    assert (entry.name, entry.key, entry.path) == (kernel.name, kernel.key, kernel.path)
    assert entry.function == "tests.cache.test_listing.squares"
    assert entry.signature == kernel.signature
    assert entry.bytes == folder.joinpath(f"{kernel.name}.py").stat().st_size
    assert entry.intact and abs(entry.mtime - time.time()) < 60


def test_a_damaged_kernel_is_listed_and_not_read(folder: Path) -> None:
    kernel = made()
    kernel.path.write_text(kernel.source.replace("f8[3]", "f8[4]"))
    (entry,) = tj.cache.entries()
    assert (entry.name, entry.intact, entry.key, entry.function) == (kernel.name, False, "", "")
    assert not entry.signature


def test_prune_by_size_and_by_age(folder: Path) -> None:
    kernels = [made(size=size) for size in (3, 4, 5)]
    now = time.time()
    for days, kernel in enumerate(kernels):
        os.utime(kernel.path, (now - 86400 * days, now - 86400 * days))
    assert tj.cache.prune() == tj.cache.prune(max_age=timedelta(days=3)) == 0
    assert tj.cache.prune(max_age=timedelta(days=1, hours=12)) == 1
    assert {entry.name for entry in tj.cache.entries()} == {one.name for one in kernels[:2]}
    assert tj.cache.prune(max_age=43_200.0) == 1
    assert tj.cache.prune(max_bytes=10) == 1
    assert tj.cache.entries() == []


def test_clear_deletes_kernels_and_nothing_else(folder: Path) -> None:
    made(), made(size=4)
    (folder / "mine.py").write_text("precious = 1\n")
    assert tj.cache.clear() == 2
    assert tj.cache.entries() == []
    assert (folder / "mine.py").read_text() == "precious = 1\n"
    assert made().path.is_file()


@posix
def test_a_folder_that_others_may_write_to_is_warned_of(folder: Path) -> None:
    made()
    folder.chmod(0o777)
    with pytest.warns(CacheWarning, match="others can write to it"):
        assert tj.cache.entries() == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        assert tj.cache.clear() == 0
    folder.chmod(0o700)
    assert tj.cache.clear() == 1


def test_it_is_imported_when_it_is_asked_for() -> None:
    printed = python("""
        import sys
        import tracejit as tj
        print("tracejit.cache.listing" in sys.modules, {"entries", "path"} <= {*dir(tj.cache)})
        tj.cache.entries()
        print("tracejit.cache.listing" in sys.modules, hasattr(tj.cache, "nothing"))
    """)
    assert printed.split() == ["False", "True", "True", "False"]
