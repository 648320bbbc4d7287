"""Modules made of text: constants come from memory, whatever the disk has to say."""

import io
import os
import re
import subprocess
import tempfile
import textwrap
import warnings

import numpy as np
import pytest

import tracejit as tj
from tests.cached import KEY, NAME, WEIGHTED, WEIGHTS, failing, posix, root
from tests.support.processes import python
from tracejit.cache import settings as cache_settings
from tracejit.cache.folder import Folder
from tracejit.cache.key import constants_bytes, seal
from tracejit.cache.modules import ConstantsPath, load_text, read_kernel, run
from tracejit.cache.settings import CacheWarning
from tracejit.cache.store import Store
from tracejit.support.errors import KernelError

NPZ = constants_bytes(WEIGHTS)


@pytest.mark.parametrize("on_disk", [True, False])
def test_running_a_text_opens_no_file(tmp_path, monkeypatch, on_disk):
    path = tmp_path / f"{NAME}.py" if on_disk else None
    for owner, function in ((os, "open"), (io, "open"), (tempfile, "mkdtemp")):
        monkeypatch.setattr(owner, function, failing(24))
    monkeypatch.setattr("builtins.open", failing(24))
    module = load_text(NAME, WEIGHTED, path, NPZ)
    assert module.forward(1).sum() == 6
    assert module.__file__ == (str(path) if on_disk else f"<tracejit {NAME}>")
    assert module.__npz__ is NPZ


def test_what_runs_is_what_was_verified(tmp_path):
    """Whatever lies beside the text by then."""
    store = Store(tmp_path / "cache")
    store.put(NAME, WEIGHTED, WEIGHTS)
    with Folder(store.path) as folder:
        text, npz, _ = read_kernel(folder, NAME)
    other = constants_bytes({"w": WEIGHTS["w"] * 100})
    (store.path / f"{NAME}.npz").write_bytes(other)
    module = load_text(NAME, text, store.path / f"{NAME}.py", npz)
    assert module.forward(1).sum() == 6


def test_constants_replaced_between_check_and_use_change_nothing(tmp_path, monkeypatch):
    store = Store(tmp_path / "cache")
    store.put(NAME, WEIGHTED, WEIGHTS)
    run = load_text

    def replace_and_run(name, text, path, npz):
        path.with_suffix(".npz").write_bytes(constants_bytes({"w": WEIGHTS["w"] * 100}))
        return run(name, text, path, npz)

    monkeypatch.setattr("tracejit.cache.modules.load_text", replace_and_run)
    assert store.get(NAME, KEY).forward(1).sum() == 6


def test_the_path_of_a_running_text_leads_to_its_constants():
    assert (ConstantsPath(b"bytes")[:-3] + ".npz").read() == b"bytes"


@posix
@pytest.mark.parametrize("suffix", [".py", ".npz"])
def test_an_entry_of_8_gigabytes_is_a_miss_unread(tmp_path, suffix):
    store = Store(tmp_path / "cache")
    store.put(NAME, WEIGHTED, WEIGHTS)
    os.truncate(store.path / f"{NAME}{suffix}", 2**33)  # sparse: takes no room on the disk
    with pytest.warns(CacheWarning, match=f"it takes {2**33} bytes"):
        assert store.get(NAME, KEY) is None
    assert not store.entries()[0].intact
    assert store.put(NAME, WEIGHTED, WEIGHTS) and store.get(NAME, KEY) is not None


@posix
def test_a_planted_text_does_not_say_how_much_is_read(tmp_path):
    store = Store(tmp_path / "cache")
    store.put(NAME, WEIGHTED, WEIGHTS)
    constants = re.compile(r" npz [0-9a-f]{64} \d+\n")
    planted = constants.sub(f" npz {64 * '0'} {2**33}\n", seal(WEIGHTED, NPZ))
    (store.path / f"{NAME}.py").write_text(planted)
    os.truncate(store.path / f"{NAME}.npz", 2**33)
    with pytest.warns(CacheWarning, match="does not have the mark"):
        assert store.get(NAME, KEY) is None


# Whole calls, with large constants, where the disk gives nothing.

SCRIPT = """
import os, sys, tempfile, warnings
import numpy as np
import tracejit as tj
import tracejit.trace.reads.captured  # as the first call does

def f(x):
    return np.sum(x * np.linspace(0.0, 1.0, 5000))

both = tj.value_and_grad(f)
x = np.ones(5000)
BEFORE
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    value, slope = both(x)
assert np.isclose(value, 2500.0) and np.allclose(slope, np.linspace(0.0, 1.0, 5000))
assert both.kernels, "no kernel was made"
AFTER
print(*(str(warning.message).splitlines()[0] for warning in caught), sep="\\n")
"""

EXHAUST = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
"""


def run_script(tmp_path, before="", after="", **environment):
    """What a process that makes its first kernel warns of."""
    script = tmp_path / "script.py"
    text = SCRIPT.replace("BEFORE", textwrap.dedent(before))
    script.write_text(text.replace("AFTER", textwrap.dedent(after)))
    printed = python(script, TRACEJIT_CACHE="1", **environment)
    return [line for line in printed.splitlines() if line]


@posix
def test_without_descriptors_a_kernel_is_made_in_memory(tmp_path):
    after = "[os.close(one) for one in held]"
    folder = {"TRACEJIT_CACHE_DIR": str(tmp_path / "cache")}
    said = run_script(tmp_path, EXHAUST, after, **folder)
    assert len(said) == 1 and "kept in memory" in said[0] and "Too many open files" in said[0]


@posix
def test_without_descriptors_a_kernel_on_disk_is_made_again(tmp_path):
    folder = {"TRACEJIT_CACHE_DIR": str(tmp_path / "cache")}
    assert run_script(tmp_path, **folder) == []
    said = run_script(tmp_path, EXHAUST, "[os.close(one) for one in held]", **folder)
    assert len(said) == 1 and "Too many open files" in said[0]


@pytest.mark.parametrize("cache", [True, False])
def test_no_temporary_folder_is_needed(tmp_path, cache):
    before = "tempfile.tempdir = '/nowhere'; tempfile.mkdtemp = tempfile.mkstemp = None"
    gone = str(tmp_path / "gone")
    folder = str(tmp_path / "cache") if cache else "/proc/nowhere/cache"
    said = run_script(tmp_path, before, TMPDIR=gone, TEMP=gone, TMP=gone, TRACEJIT_CACHE_DIR=folder)
    assert len(said) == (0 if cache else 1)
    assert all("kept in memory" in line for line in said)


@posix
def test_a_file_size_limit_keeps_large_constants_in_memory(tmp_path):
    before = """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    """
    said = run_script(tmp_path, before, TRACEJIT_CACHE_DIR=str(tmp_path / "cache"))
    assert len(said) == 1 and "kept in memory: writing one" in said[0]
    left = {file.name for file in (tmp_path / "cache").iterdir()}
    assert left == {".secret"}


@root
def test_a_full_disk_keeps_large_constants_in_memory(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no file system may be mounted here")
    try:
        said = run_script(tmp_path, TRACEJIT_CACHE_DIR=str(disk / "cache"))
        left = {file.name for file in (disk / "cache").iterdir()}
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert len(said) == 1 and "No space left on device" in said[0]
    assert left <= {".secret"}


def test_a_disk_that_fills_up_in_a_run_says_so_once(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEJIT_CACHE", "1")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "replace", failing(28))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for size in (3000, 4000, 5000):
            compiled = tj.function(lambda x, n=size: x * np.linspace(0.0, 1.0, n))
            assert compiled(np.ones(size))[-1] == 1.0
            assert compiled.kernels[0].path is None
    (said,) = [str(one.message) for one in caught]
    where = f"writing one to {tmp_path / 'cache'} failed (No space left on device)"
    assert said == f"kernels are kept in memory: {where}."


def test_a_seal_of_the_wrong_size_is_no_seal(tmp_path):
    store = Store(tmp_path / "cache")
    store.put(NAME, WEIGHTED, WEIGHTS)
    sealed = seal(WEIGHTED, NPZ)
    for wrong in (f"{len(NPZ) - 1}", f"{len(NPZ) + 1}", "9" * 16, "-1"):
        text = sealed.replace(f" {len(NPZ)}\n", f" {wrong}\n")
        (store.path / f"{NAME}.py").write_text(text)
        with pytest.warns(CacheWarning, match="not a kernel|does not have the mark"):
            assert store.get(NAME, KEY) is None
        cache_settings._warned.clear()


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_an_interruption_of_the_process_is_not_blamed_on_the_file(tmp_path, error):
    with pytest.raises(error):
        run(NAME, f"raise {error.__name__}", tmp_path / f"{NAME}.py", None, "fix it")
    with pytest.raises(KernelError, match="running it raises ValueError"):
        run(NAME, "raise ValueError", tmp_path / f"{NAME}.py", None, "fix it")
