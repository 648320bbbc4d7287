"""The command line, by `main` as the console script calls it: what it prints, and the exit code."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit import cli
from tracejit.cli import main

ROOT = Path(tj.__file__).parents[1]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    for name in ("TRACEJIT_CACHE", "TRACEJIT_DISABLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def kernels():
    """Two kernels in it, the older first."""
    made = [
        tj.function(double).kernel(tj.TensorSpec((3,))),
        tj.function(double).kernel(tj.TensorSpec((5,))),
    ]
    os.utime(made[0].path, (1e9, 1e9))
    return made


def double(x):
    return x + x


@pytest.fixture
def run(capsys):
    """Run a command: (exit code, stdout, stderr)."""

    def run(*words):
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


def damage(kernel):
    kernel.path.write_text(kernel.source + "# edited\n")


def test_path_is_the_folder_of_the_cache(run, folder):
    assert run("path") == (0, f"{folder}\n", "")


def test_ls_lists_every_kernel(run, kernels):
    code, out, err = run("ls")
    *lines, total = out.splitlines()
    assert (code, err) == (0, "")
    assert sorted(line.split()[0] for line in lines) == sorted(kernel.name for kernel in kernels)
    assert "2001-09-" in out
    assert total.startswith("2 kernels, ") and total.endswith(", all intact")


def test_ls_of_an_empty_cache(run):
    assert run("ls") == (0, "0 kernels, 0 B\n", "")


def test_ls_marks_a_damaged_kernel(run, kernels):
    damage(kernels[0])
    code, out, _ = run("ls")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if line.endswith("  damaged")] == [
        kernels[0].name
    ]
    assert out.endswith(", 1 damaged\n")


@pytest.mark.parametrize("digits", [None, 8, 6, 64])
def test_show_prints_a_kernel_by_name_or_key(run, kernels, digits):
    kernel = kernels[1]
    key = kernel.name if digits is None else kernel.key[:digits]
    assert run("show", key) == (0, kernel.source, "")


def test_show_prints_a_damaged_kernel_too(run, kernels):
    damage(kernels[0])
    assert run("show", kernels[0].name) == (0, kernels[0].source + "# edited\n", "")


@pytest.mark.parametrize("key", ["double", "0" * 64, "../double", "", "train:loss"])
@pytest.mark.parametrize("command", ["show", "verify"])
def test_an_unknown_key_is_refused(run, kernels, command, key):
    code, out, err = run(command, key)
    assert (code, out) == (2, "")
    assert f"is called {key!r} or has such a key" in err


def test_a_key_that_begins_like_another_is_refused(run, kernels, folder):
    name = kernels[0].name
    twin = f"{name[:-1]}{'0' if name[-1] != '0' else '1'}"
    (folder / f"{twin}.py").write_text("")
    code, out, err = run("show", name[-8:-1])
    assert (code, out) == (2, "")
    assert name in err and twin in err


def test_verify_finds_intact_kernels(run, kernels):
    code, out, _ = run("verify")
    assert code == 0 and out.startswith("2 kernels, ") and out.endswith(", all intact\n")
    code, out, _ = run("verify", kernels[0].key[:8])
    assert code == 0 and out.startswith("1 kernel, ")


def test_verify_says_what_is_wrong(run, kernels):
    damage(kernels[0])
    code, out, _ = run("verify")
    assert code == 1
    first, total = out.splitlines()
    assert kernels[0].name in first and "it does not end in a seal" in first
    assert total.endswith(", 1 damaged")
    assert run("verify", kernels[0].name)[0] == 1
    assert run("verify", kernels[1].name)[0] == 0


def test_prune_deletes_by_age(run, kernels):
    code, out, _ = run("prune", "--max-age", 1.5)
    assert code == 0 and out.startswith("removed 1 kernel; 1 kernel, ")
    assert not kernels[0].path and kernels[1].path


def test_prune_deletes_the_oldest_beyond_a_size(run, kernels):
    run("prune", "--max-bytes", kernels[1].path.stat().st_size)
    assert not kernels[0].path and kernels[1].path


def test_prune_without_a_limit_keeps_every_kernel(run, kernels):
    assert run("prune")[1].startswith("removed 0 kernels; 2 kernels, ")


def test_doctor_names_versions_and_the_cache(run, kernels, folder):
    code, out, err = run("doctor")
    said = {line.split()[0]: line.split(maxsplit=1)[1] for line in out.splitlines()}
    assert (code, err) == (0, "")
    assert said["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert said["numpy"] == np.__version__
    assert said["tracejit"] == tj.__version__
    assert said["astor"][0].isdigit()
    assert said["blas"]
    assert said["cache"] == str(folder)
    assert said["kernels"].startswith("2 kernels, ")


def test_doctor_reports_damage(run, kernels):
    damage(kernels[0])
    code, out, _ = run("doctor")
    assert code == 1 and "1 damaged" in out and "it does not end in a seal" in out


@pytest.mark.parametrize("command", [["ls"], ["path"], ["verify"], ["prune"], ["show", "k"]])
def test_a_cache_that_is_off_is_said(run, monkeypatch, command):
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    code, out, err = run(*command)
    assert (code, out) == (1, "")
    assert "the cache is off" in err


def test_doctor_of_a_cache_that_is_off(run, monkeypatch):
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    code, out, _ = run("doctor")
    assert code == 0 and "the cache is off" in out


@pytest.mark.parametrize("command", ["ls", "verify", "prune", "doctor"])
def test_a_folder_that_is_none_is_said(run, folder, command):
    folder.write_text("")
    code, out, err = run(command)
    assert code == 1
    assert f"the cache cannot be used: {folder}: it is not a folder" in out + err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["no-such-command"],
        ["ls", "extra"],
        ["show"],
        ["prune", "--max-age", "old"],
        ["prune", "--max-age", "nan"],
        ["prune", "--max-bytes", "-1"],
        ["demo", "--epochs", "0"],
    ],
)
def test_a_wrong_command_line_is_explained(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("usage: tracejit")


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0 and "doctor" in out
    assert run("--version") == (0, f"tracejit {tj.__version__}\n", "")


def test_demo_passes_epochs_on(run, monkeypatch):
    demo = importlib.import_module("tracejit.demo")
    seen = []
    monkeypatch.setattr(demo, "main", lambda *epochs: seen.append(epochs) or 1)
    assert run("demo")[0] == 1 and run("demo", "--epochs", 3)[0] == 1
    assert seen == [(), (3,)]


def test_demo_without_scikit_learn_names_the_extra(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    monkeypatch.delitem(sys.modules, "tracejit.demo", raising=False)
    code, out, err = run("demo")
    assert (code, out) == (1, "")
    assert err == "tracejit: the demo needs scikit-learn: pip install 'tracejit[demo]'\n"


def test_an_interrupt_is_no_traceback(run, monkeypatch):
    def interrupted(store):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.Store, "entries", interrupted)
    assert run("ls") == (130, "", "\ntracejit: interrupted\n")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_999, "1.0 MB"), (2_340_000, "2.3 MB")],
)
def test_sizes_are_written_for_people(count, text):
    assert cli._size(count) == text


def test_it_runs_as_a_module(folder):
    command = [sys.executable, "-W", "error", "-m", "tracejit", "path"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{folder}\n", "")


@pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")
def test_a_reader_that_leaves_early_is_no_error(kernels):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        command = [sys.executable, "-m", "tracejit", "show", kernels[0].name]
        done = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(os.name != "posix", reason="sparse files and times are those of POSIX")
def test_ls_of_times_that_no_calendar_has(run, kernels, monkeypatch):
    entries = cli.Store.entries
    for seconds in (2.0**60, -(2.0**60), 1e300, float("inf"), float("nan")):
        monkeypatch.setattr(
            cli.Store,
            "entries",
            lambda store, time=seconds: [entry._replace(mtime=time) for entry in entries(store)],
        )
        code, out, err = run("ls")
        assert (code, err) == (0, "")
        assert out.count("no date") == 2
    monkeypatch.undo()


@pytest.mark.skipif(os.name != "posix", reason="sparse files and times are those of POSIX")
@pytest.mark.parametrize("command", ["ls", "verify", "doctor", "prune"])
def test_files_with_a_far_time_and_of_8_gigabytes_are_listed(run, kernels, command):
    os.utime(kernels[0].path, ns=(2**62, 2**62))
    os.truncate(kernels[1].path, 2**33)
    code, out, _ = run(command)
    assert code == (command in ("verify", "doctor"))
    assert "1 damaged" in out and "8.6 GB" in out
    if command in ("verify", "doctor"):
        assert f"it takes {2**33} bytes" in out


def test_show_of_8_gigabytes_is_refused(run, kernels):
    os.truncate(kernels[0].path, 2**33)
    code, out, err = run("show", kernels[0].name)
    assert (code, out) == (1, "")
    assert f"it takes {2**33} bytes" in err


@pytest.mark.parametrize("command", ["ls", "path", "verify", "prune", "show", "doctor"])
def test_a_relative_folder_is_said(run, monkeypatch, command):
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", "relative")
    code, out, err = run(command, *["k"] * (command == "show"))
    assert code == 1
    assert "TRACEJIT_CACHE_DIR=relative is relative" in out + err
    monkeypatch.setenv("TRACEJIT_CACHE_RELATIVE", "1")
    assert run("path") == (0, f"{Path.cwd() / 'relative'}\n", "")


def test_verify_finds_what_another_tracejit_wrote(run, kernels, folder):
    (folder / f"{kernels[0].name}.mark").write_text("0" * 64 + "\n")
    code, out, _ = run("verify")
    assert code == 1
    assert "it does not carry the mark of this cache" in out


@pytest.mark.parametrize(
    ("setting", "said"),
    [("", "1.0 GB"), ("500M", "500.0 MB"), ("0", "none (TRACEJIT_CACHE_SIZE=0)")],
)
def test_doctor_says_how_much_the_cache_may_hold(run, monkeypatch, setting, said):
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", setting)
    code, out, _ = run("doctor")
    assert code == 0 and f"limit         {said}\n" in out
