"""The secret of a cache: what was not written with it is not run."""

import os
import warnings

import pytest

from tests.by_day import by_day
from tests.cached import (
    COUNTING,
    KEY,
    NAME,
    PLAIN,
    WEIGHTED,
    WEIGHTS,
    failing,
    posix,
    refused,
    root,
)
from tests.support.processes import at_once
from tracejit.cache.folder import Folder, held
from tracejit.cache.key import digest, kernel_name, seal
from tracejit.cache.secret import SECRET, secret_of
from tracejit.cache.settings import CacheWarning
from tracejit.cache.store import Store
from tracejit.support.errors import KernelError


@pytest.fixture
def store(tmp_path):
    """A cache with one kernel in it."""
    store = Store(tmp_path / "cache")
    store.put(NAME, WEIGHTED, WEIGHTS)
    return store


def in_memory(store, problem):
    """Kernels are neither read nor written, which one warning says."""
    before = {file.name: file.read_bytes() for file in store.path.iterdir() if file.name != SECRET}
    with pytest.warns(CacheWarning, match=f"kept in memory: .*{problem}") as caught:
        assert store.get(NAME, KEY) is None
        assert store.put(NAME, PLAIN, {}).__file__ == f"<tracejit {NAME}>"
    assert len(caught) == 1 and str(store.path) in str(caught[0].message)
    after = {file.name: file.read_bytes() for file in store.path.iterdir() if file.name != SECRET}
    return after == before


def test_it_is_random_and_stays(store, tmp_path):
    with held(store.path) as folder:
        secret = secret_of(folder)
    assert len(secret) == 65 and secret == (store.path / SECRET).read_bytes()
    Store(tmp_path / "other").put(NAME, PLAIN, {})
    assert (tmp_path / "other" / SECRET).read_bytes() != secret
    store.clear()
    store.put(NAME, PLAIN, {})
    assert (store.path / SECRET).read_bytes() == secret


def test_a_cache_without_kernels_has_none(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o700)
    assert Store(tmp_path / "cache").get(NAME, KEY) is None
    assert list((tmp_path / "cache").iterdir()) == []


# Entries that were not written with it.


@pytest.mark.parametrize("proof", ["none", "of another", "of another name", "empty", "garbage"])
def test_a_planted_kernel_whose_seal_fits_is_a_miss(store, tmp_path, runs, proof):
    other = Store(tmp_path / "other")
    other.put(NAME, COUNTING, {})
    twin = kernel_name("twin", "f8", KEY)
    store.put(twin, COUNTING, {})
    assert runs() == 2
    (store.path / f"{NAME}.py").write_text(seal(COUNTING))
    file = store.path / f"{NAME}.mark"
    if proof == "none":
        file.unlink()
    elif proof == "of another":
        file.write_bytes((other.path / file.name).read_bytes())
    elif proof == "of another name":
        file.write_bytes((store.path / f"{twin}.mark").read_bytes())
    else:
        file.write_bytes(b"" if proof == "empty" else bytes(65))
    assert refused(store, "does not have the mark of this cache")
    assert not store.entries()[0].intact
    with pytest.raises(KernelError, match="does not have the mark"):
        store.load(NAME)
    assert runs() == 2
    store.put(NAME, COUNTING, {})
    assert store.get(NAME, KEY) is not None
    assert runs() == 4


def test_planted_constants_are_a_miss(store, tmp_path):
    other = Store(tmp_path / "other")
    other.put(NAME, WEIGHTED, {"w": WEIGHTS["w"] * 2})
    for suffix in (".py", ".npz"):
        planted = (other.path / f"{NAME}{suffix}").read_bytes()
        (store.path / f"{NAME}{suffix}").write_bytes(planted)
    assert refused(store, "does not have the mark of this cache")


def test_one_warning_for_all_kernels_of_another_cache(store):
    names = []
    for function in ("one", "two", "three"):
        key = digest(function)
        names.append((kernel_name(function, "f8", key), key))
        store.put(names[-1][0], PLAIN.replace(KEY, key), {})
    (store.path / SECRET).unlink()
    with pytest.warns(CacheWarning, match="mark of this cache") as caught:
        assert [store.get(*name) for name in names] == [None] * 3
    assert len(caught) == 1


def test_kernels_from_before_there_were_marks_are_made_again_in_silence(store, tmp_path):
    (store.path / f"{NAME}.mark").unlink()
    os.utime(store.path / f"{NAME}.py", (1e9, 1e9))
    assert store.get(NAME, KEY) is None
    (store.path / SECRET).unlink()
    assert store.get(NAME, KEY) is None
    store.put(NAME, PLAIN, {})
    assert store.get(NAME, KEY).forward(2) == 4


@posix
def test_a_mark_that_cannot_be_trusted_is_a_miss(store):
    (store.path / f"{NAME}.mark").chmod(0o666)
    assert refused(store, "its mark: others can write to it")


@posix
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o666, 0o660])
def test_a_secret_that_others_may_know_is_not_used(store, mode):
    (store.path / SECRET).chmod(mode)
    assert in_memory(store, f"its .secret: others can .*mode {mode:o}")
    (store.path / SECRET).unlink()  # as the warning says
    store.put(NAME, PLAIN, {})
    assert store.get(NAME, KEY).forward(2) == 4


@root
def test_a_secret_of_another_user_is_not_used(store):
    os.chown(store.path / SECRET, 12345, 12345)
    assert in_memory(store, "its .secret: it belongs to another user")


@posix
def test_a_secret_that_is_a_link_is_not_used(store, tmp_path):
    (store.path / SECRET).rename(tmp_path / "elsewhere")
    (store.path / SECRET).symlink_to(tmp_path / "elsewhere")
    assert in_memory(store, "its .secret: it is a symbolic link")


@posix
def test_a_secret_that_is_a_pipe_does_not_block(store):
    (store.path / SECRET).unlink()
    os.mkfifo(store.path / SECRET, 0o600)
    assert in_memory(store, "its .secret: it is not a plain file")


def test_a_secret_that_cannot_be_read_is_not_used(store, monkeypatch):
    opened = os.open

    def refuse(name, *arguments, **options):
        return failing(13)() if str(name).endswith(SECRET) else opened(name, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    assert in_memory(store, "its .secret: it cannot be read .Permission denied")


@posix
def test_a_secret_of_8_gigabytes_is_not_read(store):
    os.truncate(store.path / SECRET, 2**33)
    assert in_memory(store, f"its .secret: it takes {2**33} bytes")


@pytest.mark.parametrize(
    "damaged", [b"", b"\n", bytes(65), b"ab" * 16, b"0" * 64, b"g" * 64 + b"\n", b"0" * 66]
)
def test_a_secret_in_parts_is_replaced(store, damaged):
    (store.path / SECRET).write_bytes(damaged)
    assert refused(store, "does not have the mark of this cache")
    assert store.put(NAME, PLAIN, {}).__file__ == str(store.path / f"{NAME}.py")
    assert (store.path / SECRET).read_bytes() != damaged
    assert store.get(NAME, KEY).forward(2) == 4


# Two at once.


def test_of_two_that_make_one_both_use_the_one_that_stands(tmp_path, monkeypatch):
    link = os.link
    with Folder(tmp_path) as folder:

        def lose(*arguments, **options):
            monkeypatch.setattr(os, "link", link)
            first = secret_of(folder, make=True)
            with pytest.raises(FileExistsError):
                link(*arguments, **options)
            made.append(first)
            raise FileExistsError

        made = []
        monkeypatch.setattr(os, "link", lose)
        assert secret_of(folder, make=True) == made[0]
    assert [file.name for file in tmp_path.iterdir()] == [SECRET]


def test_processes_that_race_for_the_secret_read_each_others_kernels(tmp_path):
    count = by_day(2, 4)
    script = f"""
        import time
        from pathlib import Path
        from tracejit.cache.key import digest, kernel_name
        from tracejit.cache.store import Store
        GATE
        for turn in range(10):
            store = Store(Path({str(tmp_path)!r}, str(turn)))
            for process in (number, *range({count})):
                key = digest(f"{{turn}} {{process}}")
                name = kernel_name(f"f{{process}}", "f8", key)
                if process == number:
                    store.put(name, {PLAIN!r}.replace({KEY!r}, key), {{}})
                else:
                    while store.get(name, key) is None:  # a warning would be an error here
                        time.sleep(0.001)
    """
    assert at_once(script, count) == [""] * count


def test_without_hard_links_a_lost_race_is_a_miss_at_worst(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", failing(1))
    store = Store(tmp_path / "cache")
    store.put(NAME, PLAIN, {})
    assert store.get(NAME, KEY).forward(2) == 4
    assert not [file for file in store.path.iterdir() if file.suffix == ".tmp"]


def test_the_text_does_not_depend_on_the_secret(tmp_path):
    stores = [Store(tmp_path / name) for name in ("one", "two")]
    for store in stores:
        store.put(NAME, WEIGHTED, WEIGHTS)
    for suffix, is_same in ((".py", True), (".npz", True), (".mark", False)):
        one, two = ((store.path / f"{NAME}{suffix}").read_bytes() for store in stores)
        assert (one == two) == is_same
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(store.get(NAME, KEY) is not None for store in stores)
