"""The cache keeps below its limit: by last use, at most once a day, by one process."""

import os
import time

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.cached import KEY, NAME, PLAIN, failing, filled, shown
from tests.support.processes import at_once
from tracejit.cache import eviction
from tracejit.cache.eviction import CLAIM, DAY, SWEPT, is_turn
from tracejit.cache.folder import Folder
from tracejit.cache.settings import CacheWarning
from tracejit.cache.store import Store

HOUR = 3600.0


@pytest.fixture(autouse=True)
def no_size_is_set(monkeypatch):
    monkeypatch.delenv("TRACEJIT_CACHE_SIZE", raising=False)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache")


def age(store, name, seconds):
    """Let a file be so old."""
    then = time.time() - seconds
    os.utime(store.path / name, (then, then))


def test_a_use_moves_the_time_on_once_a_day(store):
    store.put(NAME, PLAIN, {})
    for days, is_moved in ((0.5, False), (1.5, True), (-400, True)):
        age(store, f"{NAME}.py", days * DAY)
        before = store.entries()[0].mtime
        assert store.get(NAME, KEY).forward(2) == 4
        after = store.entries()[0].mtime
        assert (after != before) == is_moved
        assert not is_moved or abs(after - time.time()) < HOUR


def test_looking_at_kernels_is_no_use_of_them(store):
    store.put(NAME, PLAIN, {})
    age(store, f"{NAME}.py", 5 * DAY)
    store.entries()
    store.read(NAME)
    assert time.time() - store.entries()[0].mtime > 4 * DAY


def test_a_writer_sweeps_what_was_longest_unused(store, monkeypatch):
    names = filled(store, ["new", "middle", "old"])
    sizes = {entry.name: entry.bytes for entry in store.entries()}
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", str(sum(sizes.values())))
    store.put(NAME, PLAIN, {})
    assert len(store.names()) == 4  # swept today
    age(store, SWEPT, 2 * DAY)
    store.put(NAME, PLAIN, {})
    assert store.names() == sorted([NAME, *names[:2]])
    age(store, SWEPT, 2 * DAY)
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", "0")
    store.put(NAME, PLAIN, {})
    assert len(store.names()) == 3


def test_a_reader_never_sweeps(store, monkeypatch):
    filled(store, ["new", "old"])
    store.put(NAME, PLAIN, {})
    age(store, SWEPT, 2 * DAY)
    monkeypatch.setattr(eviction, "prune", failing(0))
    assert store.get(NAME, KEY).forward(2) == 4
    assert len(store.names()) == 3


def test_a_sweep_reads_no_kernel(store, monkeypatch):
    filled(store, ["new", "old"])
    monkeypatch.setattr(Folder, "read", failing(5))
    assert store.prune(max_bytes=0) == 2


def test_drafts_go_with_a_sweep(store):
    store.put(NAME, PLAIN, {})
    for name in (f".{NAME}.py.0123456789ab.tmp", ".secret.0123456789ab.tmp"):
        (store.path / name).write_text("half")
        age(store, name, 2 * HOUR)
    age(store, SWEPT, 2 * DAY)
    store.put(NAME, PLAIN, {})
    assert shown(store.path) == [f"{NAME}.mark", f"{NAME}.py"]


def test_a_time_yet_to_come_is_no_recent_use(store, monkeypatch):
    young, future = filled(store, ["young", "future"])
    age(store, f"{future}.py", -1000 * DAY)
    size = {entry.name: entry.bytes for entry in store.entries()}
    assert store.prune(max_bytes=size[young]) == 1
    assert store.names() == [young]


def test_what_fails_in_a_sweep_is_nobodys_business(store, monkeypatch):
    store.put(NAME, PLAIN, {})
    age(store, SWEPT, 2 * DAY)
    monkeypatch.setattr(eviction, "prune", failing(5))
    assert store.put(NAME, PLAIN, {}).__file__ == str(store.path / f"{NAME}.py")


def test_one_process_has_the_turn(store):
    store.put(NAME, PLAIN, {})
    age(store, SWEPT, 2 * DAY)
    script = f"""
        from pathlib import Path
        from tracejit.cache.eviction import is_turn
        from tracejit.cache.folder import held
        GATE
        with held(Path({str(store.path)!r})) as folder:
            print(sum(is_turn(folder) for _ in range(100)))
    """
    assert sum(map(int, at_once(script, by_day(2, 4)))) == 1


def test_a_turn_taken_meanwhile_is_given_back(store, monkeypatch):
    store.put(NAME, PLAIN, {})
    age(store, SWEPT, 2 * DAY)
    write_once = Folder.write_once

    def late(folder, name, data, mode):
        monkeypatch.setattr(Folder, "write_once", write_once)
        assert is_turn(folder)  # another process, between the look and the claim
        return write_once(folder, name, data, mode)

    monkeypatch.setattr(Folder, "write_once", late)
    with Folder(store.path) as folder:
        assert not is_turn(folder)
        assert not is_turn(folder)
    assert (store.path / SWEPT).is_file()
    assert not list(store.path.glob("*.tmp"))


def test_a_claim_that_was_left_behind_is_taken_away(store):
    store.put(NAME, PLAIN, {})
    age(store, SWEPT, 2 * DAY)
    (store.path / CLAIM).touch()
    age(store, CLAIM, 2 * DAY)
    with Folder(store.path) as folder:
        assert not is_turn(folder)
        assert is_turn(folder)
        assert not is_turn(folder)


def test_a_kernel_that_is_larger_than_the_cache_stays_in_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEJIT_CACHE", "1")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", "20k")
    large = np.linspace(0.0, 1.0, 4000)
    with pytest.warns(CacheWarning, match=r"it takes 3\d+ bytes.*hold 20000 .TRACEJIT_CACHE_SIZE"):
        compiled = tj.function(lambda x: x * np.linspace(0.0, 1.0, 4000))
        assert np.array_equal(compiled(np.ones(4000)), large)
    assert compiled.kernels[0].path is None
    assert tj.function(lambda x: x * 2.0).kernel(np.ones(3)).path is not None
