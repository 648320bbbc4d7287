"""The folder of the cache under attack: what others could put there is not what is used."""

import builtins
import errno
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from tests.cached import KEY, NAME, PLAIN, WEIGHTED, WEIGHTS, group_of_one, posix, root
from tests.support.processes import python
from tracejit.cache import folder as module_under_test
from tracejit.cache import settings as cache_settings
from tracejit.cache.folder import Folder, held, is_private_group
from tracejit.cache.key import seal
from tracejit.cache.settings import CacheWarning
from tracejit.cache.store import Store

pytestmark = posix
STRANGER = 12345


@pytest.fixture
def store(tmp_path):
    """A cache with one kernel in it, two folders below one of ours."""
    store = Store(tmp_path / "above" / "middle" / "cache")
    store.put(NAME, WEIGHTED, WEIGHTS)
    return store


def in_memory(store, problem):
    """The folder is not used, neither to read nor to write, which one warning says."""
    with pytest.warns(CacheWarning, match=f"kept in memory: .*{problem}") as caught:
        assert store.get(NAME, KEY) is None
        assert store.put(NAME, PLAIN, {}).__file__ == f"<tracejit {NAME}>"
    assert len(caught) == 1
    assert store.names() == [] and store.clear() == 0
    return True


# Folders above.


@pytest.mark.parametrize("mode", [0o777, 0o707, 0o722, 0o702])
@pytest.mark.parametrize("name", ["above", "above/middle"])
def test_a_folder_above_that_others_can_write_to_is_refused(store, tmp_path, name, mode):
    (tmp_path / name).chmod(mode)
    assert in_memory(store, f"{name} above it: others can write to it .mode {mode:o}; chmod go-w")
    (tmp_path / name).chmod(0o755)
    assert store.get(NAME, KEY) is not None


def test_a_sticky_folder_above_is_fine(store, tmp_path):
    (tmp_path / "above").chmod(0o1777)
    assert store.get(NAME, KEY).forward(1).sum() == 6


@root
@pytest.mark.parametrize("name", ["above", "above/middle", "above/middle/cache"])
def test_a_folder_of_another_user_is_refused(store, tmp_path, name):
    os.chown(tmp_path / name, STRANGER, STRANGER)
    (tmp_path / "above").chmod(0o1755)
    assert in_memory(store, "it belongs to another user")


@root
def test_what_another_user_made_first_in_a_sticky_folder_is_refused(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "tracejit").mkdir()
    os.chown(shared / "tracejit", STRANGER, STRANGER)
    assert in_memory(Store(shared / "tracejit" / "cache"), "belongs to another user")
    assert list((shared / "tracejit").iterdir()) == []


@root
def test_another_user_finds_nothing_to_use(store):
    """As root would see the cache of a user whose home it was given (sudo -E)."""
    os.chown(store.path, STRANGER, STRANGER)
    assert in_memory(store, "belongs to another user")


NAMESPACE = f"""
import ctypes, os, sys
from pathlib import Path
from tracejit.cache.store import Store
os.setuid({STRANGER})
libc = ctypes.CDLL(None)
libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: the maps are ours again after setuid
if libc.unshare(0x10000000):  # CLONE_NEWUSER
    print("no user namespaces here")
    raise SystemExit
Path("/proc/self/uid_map").write_text("{STRANGER} {STRANGER} 1")
assert os.stat("/").st_uid not in (0, {STRANGER}) and os.geteuid() == {STRANGER}
store = Store(Path(sys.argv[1], "cache"))
store.put({NAME!r}, {PLAIN!r}, {{}})
assert store.get({NAME!r}, {KEY!r}).forward(2) == 4
"""


@root
@pytest.mark.skipif(sys.platform != "linux", reason="user namespaces are those of Linux")
def test_who_owns_the_root_is_trusted_as_root_is():
    """In a container that does not know the user root, its folders belong to nobody."""
    own = Path(tempfile.mkdtemp())
    os.chown(own, STRANGER, STRANGER)
    try:
        printed = python(NAMESPACE, str(own), OPENBLAS_NUM_THREADS="1")
        if printed:
            pytest.skip(printed.strip())
        assert (own / "cache" / f"{NAME}.py").is_file()
    finally:
        shutil.rmtree(own)


@pytest.mark.parametrize("others", [(), ("you",)])
def test_a_group_may_write_above_if_it_is_the_user_alone(store, tmp_path, monkeypatch, others):
    (tmp_path / "above").chmod(0o775)
    group_of_one(monkeypatch, (tmp_path / "above").stat().st_gid, others)
    if others:
        assert in_memory(store, "others can write to it .mode 775")
    else:
        assert store.get(NAME, KEY) is not None


def test_a_group_is_not_private_if_it_is_the_first_of_another_user(tmp_path, monkeypatch):
    group_of_one(monkeypatch, 7)
    with held(tmp_path) as folder:
        assert is_private_group(7, folder.descriptor)
        (me,) = module_under_test.pwd.getpwall()
        you = type(me)(("you", "x", os.geteuid() + 1, 7, "", "/", ""))
        monkeypatch.setattr(module_under_test.pwd, "getpwall", lambda: [me, you])
        assert not is_private_group(7, folder.descriptor)
        assert not is_private_group(8, folder.descriptor)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="access lists are asked of Linux")
def test_a_group_is_not_private_where_an_access_list_names_others(tmp_path, monkeypatch):
    group_of_one(monkeypatch, 7)
    with held(tmp_path) as folder:
        assert is_private_group(7, folder.descriptor)
        monkeypatch.setattr(os, "getxattr", has_access_list(os.getxattr))
        assert not is_private_group(7, folder.descriptor)


def has_access_list(getxattr):
    """`os.getxattr` on a system where every file has an access list; asked of what only enters, it
    fails as it does."""

    def asked(descriptor, name):
        try:
            getxattr(descriptor, name)
        except OSError as error:
            if error.errno == errno.EBADF:
                raise
        return b"\x02\x00\x00\x00"

    return asked


# Links.


def test_a_link_of_ours_is_followed(store, tmp_path):
    (tmp_path / "link").symlink_to("above/middle")
    (tmp_path / "again").symlink_to(tmp_path / "link")
    (tmp_path / "up").symlink_to("above/../above/middle/cache")
    for path in ("link/cache", "again/cache", "up"):
        module = Store(tmp_path / path).get(NAME, KEY)
        assert module.__file__ == str(tmp_path / path / f"{NAME}.py")
    made = Store(tmp_path / "link" / "new")
    assert made.put(NAME, PLAIN, {}).forward(2) == 4
    assert (tmp_path / "above" / "middle" / "new" / f"{NAME}.py").is_file()


def test_what_a_link_leads_through_is_checked_too(store, tmp_path):
    (tmp_path / "link").symlink_to(store.path)
    (tmp_path / "above").chmod(0o777)
    assert in_memory(Store(tmp_path / "link"), "above above it: others can write")


@root
def test_a_link_of_another_user_is_refused(store, tmp_path):
    (tmp_path / "sticky").mkdir()
    (tmp_path / "sticky").chmod(0o1777)
    link = tmp_path / "sticky" / "link"
    link.symlink_to(store.path.parent)
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    assert in_memory(Store(link / "cache"), "link, a symbolic link above it, belongs to another")


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert in_memory(Store(tmp_path / "one" / "cache"), "a symbolic link that leads nowhere")


def test_a_link_to_nowhere_is_made_a_folder(tmp_path):
    (tmp_path / "link").symlink_to("later")
    assert Store(tmp_path / "link").get(NAME, KEY) is None
    assert Store(tmp_path / "link").put(NAME, PLAIN, {}).forward(2) == 4
    assert (tmp_path / "later").stat().st_mode & 0o777 == 0o700


# Names that change hands while the folder is in use.


def planted(tmp_path):
    """A folder with a kernel that says so when it is run, its seal as it should be."""
    path = tmp_path / "planted"
    Store(path).put(NAME, PLAIN + "import builtins\nbuiltins.tracejit_attacked = True\n", {})
    return path


@pytest.mark.parametrize("by_link", [True, False])
@pytest.mark.parametrize("moved", ["above", "above/middle", "above/middle/cache"])
def test_a_folder_replaced_between_check_and_use_changes_nothing(
    store, tmp_path, monkeypatch, moved, by_link
):
    evil = planted(tmp_path)
    target = tmp_path / moved
    rest = store.path.relative_to(target)
    if rest.parts:
        (tmp_path / "evil" / rest).parent.mkdir(parents=True)
        evil.rename(tmp_path / "evil" / rest)
        evil = tmp_path / "evil"
    walked = module_under_test._walk
    swaps = []

    def walk_then_swap(path, make):
        descriptor = walked(path, make)
        if not swaps:
            swaps.append(target.rename(tmp_path / "moved"))
            target.symlink_to(evil) if by_link else evil.rename(target)
        return descriptor

    monkeypatch.setattr(module_under_test, "_walk", walk_then_swap)
    module = store.get(NAME, KEY)
    assert swaps and module.forward(1).sum() == 6
    swaps.clear()
    (target.unlink if by_link else lambda: target.rename(evil))()
    (tmp_path / "moved").rename(target)
    text = WEIGHTED + "# new\n"
    store.put(NAME, text, WEIGHTS)
    assert swaps
    kept = (tmp_path / "moved" / rest / f"{NAME}.py").read_text()
    assert kept == seal(text, (tmp_path / "moved" / rest / f"{NAME}.npz").read_bytes())


def test_a_race_of_links_never_shows_the_planted_kernel(store, tmp_path):
    """The last folder but one becomes a link to a writable place and back, thousands of times."""
    evil = tmp_path / "open"
    evil.mkdir()
    planted(tmp_path).rename(evil / "cache")
    middle, aside, link = store.path.parent, tmp_path / "aside", tmp_path / "link"
    evil.chmod(0o777)
    over = threading.Event()

    def swap():
        while not over.is_set():
            middle.rename(aside)
            link.symlink_to(evil)
            link.rename(middle)
            middle.unlink()
            aside.rename(middle)
            time.sleep(1e-4)

    builtins.tracejit_attacked = False  # what `planted` ran itself does not count
    thread = threading.Thread(target=swap)
    thread.start()
    hits = 0
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cache_settings, "warn_once", lambda *words: None)
            patch.setattr("tracejit.cache.store.warn_once", lambda *words: None)
            for _ in range(2000):
                module = store.get(NAME, KEY)
                hits += module is not None
    finally:
        over.set()
        thread.join()
    assert not builtins.tracejit_attacked
    assert hits


# What tracejit makes.


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077, 0o377, 0o777])
def test_whatever_the_umask_folders_and_files_are_ours_alone(tmp_path, umask):
    path = tmp_path / "one" / "two" / "cache"
    old = os.umask(umask)
    try:
        Store(path).put(NAME, WEIGHTED, WEIGHTS)
    finally:
        os.umask(old)
    for folder in (path, path.parent, path.parent.parent):
        assert folder.stat().st_mode & 0o7777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in path.iterdir()} == {0o600}
    assert Store(path).get(NAME, KEY).forward(1).sum() == 6


@root
def test_a_folder_above_may_be_entered_only():
    """As homes of others often are: to be passed through, not to be listed."""
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o711)
        own = Path(above, "own")
        own.mkdir()
        os.chown(own, STRANGER, STRANGER)
        script = f"""
            import os
            from pathlib import Path
            from tracejit.cache.store import Store
            os.setuid({STRANGER})
            store = Store(Path({str(own)!r}, "cache"))
            store.put({NAME!r}, {PLAIN!r}, {{}})
            assert store.get({NAME!r}, {KEY!r}).forward(2) == 4
        """
        python(script)
        assert (own / "cache" / f"{NAME}.py").is_file()


def test_no_descriptor_is_left_open(store):
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208
    for _ in range(20):
        store.get(NAME, KEY)
        store.put(NAME, PLAIN, {})
        store.entries()
        Store(store.path / "nowhere").get(NAME, KEY)
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208


def test_without_descriptors_of_folders_names_are_used(tmp_path, monkeypatch):
    """As on Windows."""
    monkeypatch.setattr(module_under_test, "BY_DESCRIPTOR", False)
    store = Store(tmp_path / "one" / "cache")
    assert store.get(NAME, KEY) is None
    assert store.put(NAME, WEIGHTED, WEIGHTS).forward(1).sum() == 6
    assert store.get(NAME, KEY).forward(1).sum() == 6
    assert store.names() == [NAME]
    assert store.clear() == 1
    (tmp_path / "file").write_text("")
    assert in_memory(Store(tmp_path / "file"), "not a folder")


def test_without_hard_links_a_file_is_still_made_once(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    with Folder(tmp_path) as folder:
        assert folder.write_once("file", b"first", 0o600)
        assert not folder.write_once("file", b"second", 0o600)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"first"]
