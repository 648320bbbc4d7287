"""The kernel cache under attack: what lies on the disk is run only if it is ours and intact."""

import errno
import inspect
import linecache
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.by_day import by_day
from tests.cached import (
    COUNTING,
    HEADER,
    KEY,
    NAME,
    PLAIN,
    WEIGHTED,
    WEIGHTS,
    failing,
    filled,
    plant,
    posix,
    refused,
    root,
    shown,
)
from tests.support.processes import ROOT, python
from tracejit.cache.folder import Folder
from tracejit.cache.key import constants_bytes, digest, kernel_name, seal
from tracejit.cache.modules import load_text
from tracejit.cache.settings import CacheWarning
from tracejit.cache.standalone import save
from tracejit.cache.store import Store
from tracejit.support.errors import KernelError


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def store(folder):
    return Store(folder)


# What is written comes back.


@pytest.mark.parametrize(("text", "constants"), [(PLAIN, {}), (WEIGHTED, WEIGHTS)])
@pytest.mark.parametrize("path", ["cache", "deep/er/cache", None])
def test_put_then_get(tmp_path, path, text, constants):
    store = Store(path and tmp_path / path)
    assert store.get(NAME, KEY) is None
    module = store.put(NAME, text, constants)
    expected = 2.0 * np.ones(3) if text is PLAIN else WEIGHTS["w"]
    assert (module.forward(np.ones(3)) == expected).all()
    assert module.__name__ == f"tracejit.kernels.{NAME}"
    again = store.get(NAME, KEY)
    if path is None:
        assert again is None
        assert module.__file__ == f"<tracejit {NAME}>"
        assert list(tmp_path.iterdir()) == []
    else:
        assert (again.forward(np.ones(3)) == expected).all()
        assert again.__file__ == module.__file__ == str(tmp_path / path / f"{NAME}.py")


def test_a_file_on_disk_is_the_text_and_a_seal(store, folder):
    store.put(NAME, WEIGHTED, WEIGHTS)
    text = (folder / f"{NAME}.py").read_text(encoding="utf-8")
    assert text == seal(WEIGHTED, constants_bytes(WEIGHTS)) == store.read(NAME)
    assert shown(folder) == [f"{NAME}.mark", f"{NAME}.npz", f"{NAME}.py"]


@posix
def test_folder_and_files_are_private(store, folder):
    store.put(NAME, WEIGHTED, WEIGHTS)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_a_kernel_in_memory_leaves_no_file(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module = Store(None).put(NAME, WEIGHTED, WEIGHTS)
    assert (module.w == WEIGHTS["w"]).all()
    assert list(tmp_path.iterdir()) == []


def test_text_in_memory_that_fails_leaves_no_file_either(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        Store(None).put(NAME, WEIGHTED + "1 / 0\n", WEIGHTS)
    assert list(tmp_path.iterdir()) == []


def test_put_replaces_what_is_there(store, folder):
    store.put(NAME, PLAIN, {})
    (folder / f"{NAME}.py").write_text("damaged")
    assert refused(store, "not a kernel")
    assert store.put(NAME, PLAIN, {}).forward(2) == 4
    assert store.get(NAME, KEY).forward(2) == 4


def test_the_future_statements_of_the_store_are_not_the_kernels():
    module = load_text("f", "def forward(x: int): return x\n", None, None)
    assert module.forward.__annotations__ == {"x": int}


# What lies on the disk and must not be run.


def test_every_truncation_is_a_miss(store, folder, runs):
    store.put(NAME, COUNTING, {})
    file = folder / f"{NAME}.py"
    whole = file.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        for end in range(len(whole)):
            file.write_bytes(whole[:end])
            assert store.get(NAME, KEY) is None
    assert runs() == 1
    file.write_bytes(whole)
    assert store.get(NAME, KEY) is not None
    assert runs() == 2


@pytest.mark.parametrize("mask", [0x01, 0x20, 0x80])
def test_every_changed_byte_is_a_miss(store, folder, runs, mask):
    store.put(NAME, COUNTING, {})
    file = folder / f"{NAME}.py"
    whole = file.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] ^= mask
            file.write_bytes(changed)
            assert store.get(NAME, KEY) is None
    assert runs() == 1


def test_every_changed_byte_of_the_constants_is_a_miss(store, folder):
    store.put(NAME, WEIGHTED, WEIGHTS)
    file = folder / f"{NAME}.npz"
    whole = file.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] ^= 1
            file.write_bytes(changed)
            assert store.get(NAME, KEY) is None


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda file: file.write_bytes(b""), "not a kernel"),
        (lambda file: file.write_text("print('mine')\n"), "not a kernel"),
        (lambda file: file.write_bytes(b"\xff\xfe" + file.read_bytes()), "not UTF-8"),
        (lambda file: file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes()), "changed after"),
        (lambda file: file.write_text(file.read_text().replace("1", "2", 1)), "changed after"),
        (lambda file: file.write_text(seal("x = 1\n")), "another kernel .key missing"),
        (lambda file: file.write_text(seal(PLAIN.replace(KEY, 64 * "a"))), "another kernel"),
        (lambda file: file.with_suffix(".npz").unlink(), "missing"),
        (lambda file: file.with_suffix(".npz").write_bytes(b""), "were changed"),
        (lambda file: (file.unlink(), file.mkdir()), "not a plain file|cannot be read"),
        (
            lambda file: (file.with_suffix(".npz").unlink(), file.with_suffix(".npz").mkdir()),
            "not a plain file|cannot be read",
        ),
    ],
)
def test_a_bad_file_is_a_miss_with_one_warning(store, folder, damage, problem):
    store.put(NAME, WEIGHTED, WEIGHTS)
    damage(folder / f"{NAME}.py")
    assert refused(store, problem)
    assert not store.entries()[0].intact
    with pytest.raises(KernelError, match=problem):
        store.load(NAME)


def lose_the_end(file):
    content = file.read_bytes()
    kept = len(content) // 2
    file.write_bytes(content[:kept] + bytes(len(content) - kept))


@pytest.mark.parametrize("suffix", [".py", ".npz"])
@pytest.mark.parametrize(
    "cut",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(bytes(file.stat().st_size)),
        lambda file: file.write_bytes(file.read_bytes()[:-1]),
        lambda file: file.write_bytes(b"\xa5" * file.stat().st_size),
        lose_the_end,
    ],
    ids=["empty", "zeros", "short", "garbage", "half"],
)
def test_what_a_power_cut_leaves_is_made_again(store, folder, cut, suffix):
    store.put(NAME, WEIGHTED, WEIGHTS)
    cut(folder / f"{NAME}{suffix}")
    assert refused(store, "not a kernel|not UTF-8|changed after|were changed")
    whole = store.put(NAME, WEIGHTED, WEIGHTS)
    again = store.get(NAME, KEY)
    assert again is not None and np.array_equal(again.forward(2), whole.forward(2))


def test_the_cache_does_not_wait_for_the_disk(store, monkeypatch, tmp_path):
    waited = []
    monkeypatch.setattr(os, "fsync", waited.append)
    store.put(NAME, WEIGHTED, WEIGHTS)
    assert waited == []
    save(seal(PLAIN), None, tmp_path / "loss.py")
    assert len(waited) == 1


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("1 / 0", "raises ZeroDivisionError"),
        ("def (:", "raises SyntaxError"),
        ("from numpy import no_such_function", "raises ImportError"),
        ("raise SystemError", "raises SystemError"),
    ],
)
def test_an_intact_file_that_fails_is_a_miss_with_one_warning(store, folder, statement, problem):
    store.put(NAME, PLAIN, {})
    plant(store, f"{HEADER}{statement}\n")
    assert refused(store, problem)


def test_the_key_decides_not_the_name(store):
    store.put(NAME, PLAIN, {})
    other = KEY[:8] + 56 * "0"
    assert refused(store, f"another kernel .key {KEY}", key=other)
    assert store.load(NAME).forward(1) == 2


def test_converted_line_endings_are_no_damage(store, folder):
    store.put(NAME, PLAIN, {})
    file = folder / f"{NAME}.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert store.get(NAME, KEY).forward(2) == 4


@posix
@pytest.mark.parametrize("suffix", [".py", ".npz"])
def test_a_symbolic_link_is_refused(store, folder, tmp_path, suffix):
    store.put(NAME, WEIGHTED, WEIGHTS)
    file = folder / f"{NAME}{suffix}"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert refused(store, "symbolic link")
    # The next put replaces the link and leaves its target alone.
    before = (tmp_path / "elsewhere").read_bytes()
    store.put(NAME, WEIGHTED + "\n", WEIGHTS)
    assert not file.is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == before


@posix
@pytest.mark.parametrize("suffix", [".py", ".npz"])
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_can_write_is_refused(store, folder, suffix, mode):
    store.put(NAME, WEIGHTED, WEIGHTS)
    (folder / f"{NAME}{suffix}").chmod(mode)
    assert refused(store, f"others can write to it .mode {mode:o}")


@posix
def test_a_file_that_others_can_read_is_fine(store, folder):
    store.put(NAME, PLAIN, {})
    (folder / f"{NAME}.py").chmod(0o644)
    folder.chmod(0o755)
    assert store.get(NAME, KEY).forward(2) == 4


@root
@pytest.mark.parametrize("suffix", [".py", ".npz"])
def test_a_file_of_another_user_is_refused(store, folder, suffix):
    store.put(NAME, WEIGHTED, WEIGHTS)
    os.chown(folder / f"{NAME}{suffix}", 12345, 12345)
    assert refused(store, "belongs to another user")


@posix
@pytest.mark.parametrize("suffix", [".py", ".npz"])
def test_a_named_pipe_is_refused_and_does_not_block(store, folder, suffix):
    store.put(NAME, WEIGHTED, WEIGHTS)
    file = folder / f"{NAME}{suffix}"
    file.unlink()
    os.mkfifo(file, 0o600)
    assert refused(store, "not a plain file")


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_means_memory_only(store, folder, runs, mode):
    store.put(NAME, COUNTING, {})
    folder.chmod(mode)
    with pytest.warns(CacheWarning, match=f"kept in memory.*others can write.*{mode:o}") as caught:
        assert store.get(NAME, KEY) is None
        assert store.put(NAME, PLAIN, {}).__file__ == f"<tracejit {NAME}>"
        assert store.entries() == []
        assert store.clear() == 0
    assert len(caught) == 1
    assert runs() == 1
    with pytest.raises(KernelError, match="others can write"):
        store.load(NAME)
    folder.chmod(0o700)
    assert store.read(NAME) == seal(COUNTING)


@posix
def test_a_folder_of_another_user_means_memory_only(store, monkeypatch):
    store.put(NAME, PLAIN, {})
    somebody_else = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody_else)
    with pytest.warns(CacheWarning, match="belongs to another user") as caught:
        assert store.get(NAME, KEY) is None
        assert store.put(NAME, PLAIN, {}).forward(2) == 4
    assert len(caught) == 1


def test_a_file_in_place_of_the_folder_means_memory_only(store, folder):
    folder.write_text("not a folder")
    with pytest.warns(CacheWarning, match="not a folder") as caught:
        assert store.get(NAME, KEY) is None
        assert store.put(NAME, PLAIN, {}).forward(2) == 4
    assert len(caught) == 1
    assert folder.read_text() == "not a folder"


def test_a_file_above_the_folder_means_memory_only(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(CacheWarning, match="kept in memory") as caught:
        assert Store(tmp_path / "file" / "cache").put(NAME, WEIGHTED, WEIGHTS).forward(1).sum() == 6
    assert len(caught) == 1


@pytest.mark.parametrize(
    "name", ["../loss__3f9a1c07", "a/b__3f9a1c07", "loss", "", "a\0__3f9a1c07"]
)
def test_only_names_of_kernels_become_paths(store, folder, name):
    for use in (store.load, store.read, lambda name: store.put(name, PLAIN, {})):
        with pytest.raises(KernelError, match="not the name of a kernel"):
            use(name)
    with pytest.warns(CacheWarning, match="not the name of a kernel"):
        assert store.get(name, KEY) is None
    assert not folder.exists()


# Disks that refuse.


@pytest.mark.parametrize(
    ("owner", "function", "number"),
    [
        (os, "fdopen", errno.EMFILE),
        (os, "replace", errno.ENOSPC),
        (os, "replace", errno.EACCES),
        (os, "mkdir", errno.EROFS),
        (os, "open", errno.EROFS),
    ],
)
def test_a_disk_that_refuses_means_memory_with_one_warning(
    store, folder, monkeypatch, owner, function, number
):
    with monkeypatch.context() as patch:
        patch.setattr(owner, function, failing(number))
        with pytest.warns(CacheWarning, match="kept in memory") as caught:
            for _ in range(3):
                module = store.put(NAME, PLAIN, {})
                assert module.forward(2) == 4
                assert module.__file__ == f"<tracejit {NAME}>"
    assert len(caught) == 1
    assert os.strerror(number) in str(caught[0].message)
    assert not folder.exists() or shown(folder) == []


@posix
def test_a_folder_that_is_really_read_only(store, folder):
    store.put(NAME, PLAIN, {})
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("root writes where it likes")
    with pytest.warns(CacheWarning, match="kept in memory.*Permission denied"):
        assert store.put(NAME, PLAIN + "# new\n", {}).__file__ == f"<tracejit {NAME}>"
    assert store.get(NAME, KEY).forward(2) == 4
    assert store.clear() == store.prune(max_bytes=0) == 0
    folder.chmod(0o700)


def test_constants_and_mark_are_in_place_before_the_text(store, monkeypatch):
    replaced = []
    replace = os.replace

    def record(source, target, **folders):
        replaced.append(Path(target).suffix)
        return replace(source, target, **folders)

    monkeypatch.setattr(os, "replace", record)
    store.put(NAME, WEIGHTED, WEIGHTS)
    assert replaced == [".npz", ".mark", ".py"]


def test_a_disk_that_refuses_the_text_keeps_the_old_kernel(store, monkeypatch):
    store.put(NAME, PLAIN, {})
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing(errno.ENOSPC))
        with pytest.warns(CacheWarning):
            store.put(NAME, PLAIN.replace("2", "3"), {})
    assert store.get(NAME, KEY).forward(2) == 4


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE])
def test_a_file_that_cannot_be_read_is_a_miss(store, monkeypatch, number):
    store.put(NAME, PLAIN, {})
    monkeypatch.setattr(os, "open", failing(number))
    assert refused(store, "cannot be read")


def test_files_that_another_process_deletes_do_not_disturb_put(store, folder, monkeypatch):
    write = Store._write

    def write_and_lose(store, *arguments):
        write(store, *arguments)
        for file in folder.iterdir():
            file.unlink()

    monkeypatch.setattr(Store, "_write", write_and_lose)
    assert store.put(NAME, WEIGHTED, WEIGHTS).forward(1).sum() == 6  # and no warning


def test_a_folder_that_another_process_deletes_is_made_again(store, folder, monkeypatch):
    draft, lost = Folder.draft, []

    def lose_first(self, name, *arguments, **options):
        if not lost and name.endswith(".py"):
            lost.append(name)
            shutil.rmtree(folder)
        return draft(self, name, *arguments, **options)

    monkeypatch.setattr(Folder, "draft", lose_first)
    assert store.put(NAME, WEIGHTED, WEIGHTS).__file__ == str(folder / f"{NAME}.py")
    assert lost and store.get(NAME, KEY).forward(1).sum() == 6


@pytest.mark.parametrize("other", ["deletes", "replaces"])
@pytest.mark.parametrize("before", [".npz", ".mark"])
def test_what_another_process_does_to_a_kernel_being_read_is_no_damage(
    store, monkeypatch, other, before
):
    store.put(NAME, WEIGHTED, WEIGHTS)
    read, done = Folder.read, []

    def read_late(folder, name, *arguments, **options):
        if name.endswith(before) and not done:
            done.append(name)
            if other == "deletes":
                store.clear()
            else:
                store.put(NAME, WEIGHTED + "# new\n", {"w": WEIGHTS["w"] * 2})
        return read(folder, name, *arguments, **options)

    monkeypatch.setattr(Folder, "read", read_late)
    module = store.get(NAME, KEY)  # and no warning
    assert done
    assert module is None if other == "deletes" else module.forward(1).sum() == 12


def test_a_write_that_another_process_has_made_is_no_failure(store, folder, monkeypatch):
    """As on Windows, where a file that somebody reads cannot be replaced."""
    store.put(NAME, WEIGHTED, WEIGHTS)
    monkeypatch.setattr(os, "replace", failing(errno.EACCES))
    assert store.put(NAME, WEIGHTED, WEIGHTS).__file__ == str(folder / f"{NAME}.py")
    with pytest.warns(CacheWarning, match="kept in memory: writing one"):
        store.put(NAME, WEIGHTED + "# other\n", WEIGHTS)


@posix
def test_a_disk_that_is_really_full(folder):
    script = f"""
        import resource, warnings
        from pathlib import Path
        from tracejit.cache.store import Store
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # bytes in any one file
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = Store(Path({str(folder)!r})).put({NAME!r}, {PLAIN!r}, {{}})
        assert module.forward(2) == 4
        (warning,) = caught
        assert "too large" in str(warning.message), warning
    """
    python(script)
    assert shown(folder) == []


# Many at once.


def test_processes_that_write_and_read_one_name_never_see_half_a_file(folder):
    script = f"""
        import numpy as np
        from pathlib import Path
        from tracejit.cache.store import Store
        store = Store(Path({str(folder)!r}))
        for _ in range({by_day(15, 60)}):  # a warning would be an error here
            assert store.put({NAME!r}, {WEIGHTED!r}, {{"w": np.arange(5000.0)}}).w[-1] == 4999
            assert store.get({NAME!r}, {KEY!r}).w[-1] == 4999
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(by_day(2, 4))
    ]
    for process in processes:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
    assert shown(folder) == [f"{NAME}.mark", f"{NAME}.npz", f"{NAME}.py"]


def test_threads_that_write_read_and_clear_never_raise(store):
    raised = []

    def work(action):
        try:
            for _ in range(50):
                action()
        except BaseException as error:
            raised.append(error)

    actions = [
        lambda: store.put(NAME, WEIGHTED, WEIGHTS).forward(1),
        lambda: store.get(NAME, KEY),
        store.clear,
        store.entries,
        lambda: store.prune(max_bytes=10),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        threads = [threading.Thread(target=work, args=(action,)) for action in actions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert raised == []


def test_one_warning_from_many_threads(store, folder):
    store.put(NAME, PLAIN, {})
    (folder / f"{NAME}.py").write_text("damaged")
    with pytest.warns(CacheWarning) as caught:
        threads = [threading.Thread(target=store.get, args=(NAME, KEY)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(caught) == 1


# What people see of a kernel.


@pytest.mark.parametrize("on_disk", [True, False])
def test_tracebacks_and_inspect_show_the_lines(folder, on_disk):
    text = HEADER + "mark = '\x0c\u2028'\n\n\ndef forward(x):\n    return 1 / x  # here\n"
    module = Store(folder if on_disk else None).put(NAME, text, {})
    linecache.checkcache()
    try:
        module.forward(0)
    except ZeroDivisionError:
        shown = traceback.format_exc()
    assert "return 1 / x  # here" in shown
    assert f'{NAME}.py", line' in shown if on_disk else f'"<tracejit {NAME}>", line' in shown
    assert inspect.getsource(module.forward) == "def forward(x):\n    return 1 / x  # here\n"


def test_tracebacks_show_a_file_as_it_is_after_it_was_replaced(store):
    text = HEADER + "def forward(x):\n    return {} / x\n"
    for number in (1, 23):
        module = store.put(NAME, text.format(number), {})
        try:
            module.forward(0)
        except ZeroDivisionError:
            assert f"return {number} / x" in traceback.format_exc()


# The folder as a whole.


def test_entries(store, folder):
    plain, weighted = filled(store, ["plain", "weighted"])
    (folder / "notes.py").write_text("not a kernel")
    (folder / f"{plain}.py").write_text("damaged")
    first, second = store.entries()
    assert first[:5] == (plain, folder / f"{plain}.py", 7, first.mtime, False)
    sizes = [(folder / f"{weighted}{suffix}").stat().st_size for suffix in (".py", ".npz")]
    assert second[:3] == (weighted, folder / f"{weighted}.py", sum(sizes))
    assert second.intact
    assert time.time() - second.mtime == pytest.approx(10, abs=5)
    assert store.names() == [plain, weighted]
    assert Store(None).entries() == Store(folder / "nowhere").entries() == []


def test_clear_deletes_kernels_and_nothing_else(store, folder):
    filled(store, ["plain", "weighted", "damaged"])
    (folder / f"{kernel_name('damaged', 'f8', digest('damaged'))}.py").write_text("damaged")
    kept = ["notes.py", "weights.npz", ".hidden.tmp", "loss__zzzzzzzz.py", "notes.mark"]
    for name in kept:
        (folder / name).write_text("mine")
        os.utime(folder / name, (1, 1))
    assert store.clear() == 3
    assert shown(folder) == sorted(kept)
    assert store.clear() == Store(None).clear() == Store(folder / "nowhere").clear() == 0


def test_prune_by_age(store):
    new, middle, old = filled(store, ["new", "middle", "old"])
    assert store.prune() == store.prune(max_age=1000) == 0
    assert store.prune(max_age=15) == 1
    assert store.names() == sorted([new, middle])
    assert old not in store.names()


def test_prune_by_size_drops_the_oldest(store):
    new, middle, old = filled(store, ["new", "middle", "old"])
    size = {entry.name: entry.bytes for entry in store.entries()}
    assert store.prune(max_bytes=sum(size.values())) == 0
    assert store.prune(max_bytes=size[new] + size[middle] + size[old] - 1) == 1
    assert store.names() == sorted([new, middle])
    assert store.prune(max_bytes=0) == 2


def test_what_interrupted_writers_left_is_swept_once_it_is_old(store, folder):
    filled(store, ["plain"])
    left = [f".{NAME}.py.0123456789ab.tmp", f".{NAME}.npz.0123456789ab.tmp", f"{NAME}.npz"]
    left += [f"{NAME}.mark", ".secret.0123456789ab.tmp", ".swept.0123456789ab.tmp"]
    for name in left:
        (folder / name).write_text("half")
    assert store.prune() == 0
    assert len(shown(folder)) == 8
    for name in left:
        os.utime(folder / name, (1e9, 1e9))
    assert store.prune() == 0
    assert shown(folder) == [f"{store.names()[0]}{suffix}" for suffix in (".mark", ".py")]


def test_read_shows_damaged_kernels_too_but_no_missing_ones(store, folder):
    store.put(NAME, PLAIN, {})
    (folder / f"{NAME}.py").write_bytes(b"damaged \xff")
    assert store.read(NAME) == "damaged \N{REPLACEMENT CHARACTER}"
    store.clear()
    with pytest.raises(KernelError, match=f"{NAME}.py: it does not exist"):
        store.read(NAME)
