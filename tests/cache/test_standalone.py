"""Kernels that travel: what `save` writes, and what `load_file` and `tj.load` refuse."""

import errno
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tracejit as tj
from tests.cached import PLAIN, WEIGHTED, WEIGHTS, failing, group_of_one, posix, root
from tracejit.cache.key import constants_bytes, seal
from tracejit.cache.standalone import load_file, load_sealed, save
from tracejit.support.errors import KernelError


@pytest.mark.parametrize(("text", "constants"), [(PLAIN, {}), (WEIGHTED, WEIGHTS)])
def test_save_then_load_file(tmp_path, monkeypatch, text, constants):
    npz = constants_bytes(constants) if constants else None
    monkeypatch.chdir(tmp_path)
    save(seal(text, npz), npz, "kernels/loss.v2.py")
    module = load_file("kernels/loss.v2.py")
    assert module.forward(np.ones(3)).sum() == 6
    assert module.__file__ == str(tmp_path / "kernels" / "loss.v2.py")
    # And as ordinary Python, without tracejit.
    path = tmp_path / "kernels" / "loss.v2.py"
    script = f"import runpy; print(runpy.run_path({str(path)!r})['forward'](1))"
    assert subprocess.run([sys.executable, "-c", script], check=True, cwd="/").returncode == 0


@posix
def test_saved_files_have_ordinary_modes_and_may_be_links(tmp_path):
    old = os.umask(0o022)
    try:
        save(seal(PLAIN), None, tmp_path / "loss.py")
    finally:
        os.umask(old)
    assert (tmp_path / "loss.py").stat().st_mode & 0o777 == 0o644
    (tmp_path / "link.py").symlink_to("loss.py")
    assert load_file(tmp_path / "link.py").forward(2) == 4


def test_a_saved_file_may_have_converted_line_endings(tmp_path):
    (tmp_path / "loss.py").write_bytes(seal(PLAIN).replace("\n", "\r\n").encode())
    assert load_file(tmp_path / "loss.py").forward(2) == 4


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda file: file.unlink(), "does not exist"),
        (lambda file: file.with_suffix(".npz").unlink(), "missing"),
        (lambda file: file.write_text("x = 1\n"), "not a kernel"),
        (lambda file: file.write_text(file.read_text().replace("w", "v")), "changed after"),
        (lambda file: file.with_suffix(".npz").write_bytes(b"PK"), "were changed"),
        (lambda file: file.write_text(seal("1 / 0\n")), "raises ZeroDivisionError"),
        (lambda file: (file.unlink(), file.mkdir()), "not a plain file|cannot be read"),
    ],
)
def test_load_file_says_what_is_wrong_and_what_to_do(tmp_path, damage, problem):
    npz = constants_bytes(WEIGHTS)
    save(seal(WEIGHTED, npz), npz, tmp_path / "loss.py")
    damage(tmp_path / "loss.py")
    with pytest.raises(KernelError, match=problem) as caught:
        load_file(tmp_path / "loss.py")
    assert f"{tmp_path / 'loss.py'}: " in str(caught.value)
    assert "Fix: save it again with kernel.save(path), or import it as an ordinary" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("text", "npz", "name", "problem"),
    [
        (PLAIN, None, "loss.py", "not a kernel"),
        (seal(PLAIN), b"npz", "loss.py", "without constants"),
        (seal(PLAIN), None, "loss.txt", "not the name of a Python file"),
        (seal(PLAIN), None, "loss", "not the name of a Python file"),
    ],
)
def test_save_refuses_what_load_file_would(tmp_path, text, npz, name, problem):
    with pytest.raises(KernelError, match=problem):
        save(text, npz, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_save_passes_on_what_the_disk_says(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    with pytest.raises(OSError, match="No space"):
        save(seal(PLAIN), None, tmp_path / "loss.py")
    assert list(tmp_path.iterdir()) == []


@posix
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_what_is_saved_can_be_loaded_whatever_the_umask(tmp_path, umask):
    npz = constants_bytes(WEIGHTS)
    old = os.umask(umask)
    try:
        save(seal(WEIGHTED, npz), npz, tmp_path / "loss.py")
    finally:
        os.umask(old)
    assert load_file(tmp_path / "loss.py").forward(1).sum() == 6


@posix
@pytest.mark.parametrize("suffix", [".py", ".npz"])
@pytest.mark.parametrize("mode", [0o602, 0o646, 0o666, 0o622])
def test_a_file_that_others_can_write_is_loaded_only_on_trust(tmp_path, suffix, mode):
    npz = constants_bytes(WEIGHTS)
    save(seal(WEIGHTED, npz), npz, tmp_path / "loss.py")
    (tmp_path / f"loss{suffix}").chmod(mode)
    with pytest.raises(KernelError, match=f"others can write to it .mode {mode:o}") as caught:
        load_file(tmp_path / "loss.py")
    assert "tj.load(path, trust=True)" in str(caught.value)
    assert load_file(tmp_path / "loss.py", trust=True).forward(1).sum() == 6


@root
@pytest.mark.parametrize("suffix", [".py", ".npz"])
def test_a_file_of_another_user_is_loaded_only_on_trust(tmp_path, suffix):
    npz = constants_bytes(WEIGHTS)
    save(seal(WEIGHTED, npz), npz, tmp_path / "loss.py")
    os.chown(tmp_path / f"loss{suffix}", 12345, 12345)
    with pytest.raises(KernelError, match="belongs to another user"):
        load_file(tmp_path / "loss.py")
    assert load_file(tmp_path / "loss.py", trust=True).forward(1).sum() == 6


@root
def test_what_root_installed_is_loaded(tmp_path, monkeypatch):
    save(seal(PLAIN), None, tmp_path / "loss.py")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert load_file(tmp_path / "loss.py").forward(2) == 4


@posix
@pytest.mark.parametrize("others", [(), ("you",)])
def test_a_file_that_the_private_group_of_the_user_can_write_is_loaded(
    tmp_path, monkeypatch, others
):
    save(seal(PLAIN), None, tmp_path / "loss.py")
    (tmp_path / "loss.py").chmod(0o664)
    group_of_one(monkeypatch, (tmp_path / "loss.py").stat().st_gid, others)
    if others:
        with pytest.raises(KernelError, match="others can write"):
            load_file(tmp_path / "loss.py")
    else:
        assert load_file(tmp_path / "loss.py").forward(2) == 4


@posix
def test_tj_load_is_told_to_trust(tmp_path):
    kernel = tj.function(lambda x: x * 2.0, cache=False).kernel(np.ones(3))
    kernel.save(tmp_path / "double.py")
    (tmp_path / "double.py").chmod(0o666)
    with pytest.raises(KernelError, match="others can write"):
        tj.load(tmp_path / "double.py")
    assert (tj.load(tmp_path / "double.py", trust=True).forward(np.ones(3)) == 2.0).all()


@posix
@pytest.mark.parametrize("suffix", [".py", ".npz"])
@pytest.mark.parametrize("trust", [False, True])
def test_a_file_of_8_gigabytes_is_refused_unread(tmp_path, suffix, trust):
    npz = constants_bytes(WEIGHTS)
    save(seal(WEIGHTED, npz), npz, tmp_path / "loss.py")
    os.truncate(tmp_path / f"loss{suffix}", 2**33)  # sparse: takes no room on the disk
    with pytest.raises(KernelError, match=f"it takes {2**33} bytes"):
        load_file(tmp_path / "loss.py", trust)


def test_a_kernel_that_was_sent_carries_its_seal_alone():
    kernel = tj.function(lambda x: x * 2.0, cache=False).kernel(np.ones(3))
    assert pickle.loads(pickle.dumps(kernel)).source == kernel.source
    with pytest.raises(KernelError, match="changed after") as caught:
        load_sealed("double", kernel.source.replace("2.0", "3.0"), None)
    assert "pickle the kernel again" in str(caught.value)
