"""Commands for the cache: what they print, their filters, and how kernels are named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tracejit.cache.store import Store


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


def test_ls_marks_a_damaged_kernel(run, kernels, damage):
    damage(kernels[0])
    code, out, _ = run("ls")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if line.endswith("  damaged")] == [
        kernels[0].name
    ]
    assert out.endswith(", 1 damaged\n")


@pytest.mark.parametrize("key", ["doubled", "0" * 64, "../double", ""])
@pytest.mark.parametrize("command", ["show", "verify"])
def test_an_unknown_key_is_refused(run, kernels, command, key):
    code, out, err = run(command, key)
    assert (code, out) == (2, "")
    assert f"is called {key!r} or has a key like this" in err


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


def test_verify_says_what_is_wrong(run, kernels, damage):
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


@pytest.mark.parametrize("command", [["ls"], ["path"], ["verify"], ["prune"], ["show", "k"]])
def test_a_cache_that_is_off_is_said(run, monkeypatch, command):
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    code, out, err = run(*command)
    assert (code, out) == (1, "")
    assert "the cache is off" in err


@pytest.mark.parametrize("command", ["ls", "verify", "prune", "doctor"])
def test_a_folder_that_is_none_is_said(run, folder, command):
    folder.write_text("")
    code, out, err = run(command)
    assert code == 1
    assert f"the cache cannot be used: {folder}: it is not a folder" in out + err


@pytest.mark.skipif(os.name != "posix", reason="sparse files and times are those of POSIX")
def test_ls_of_times_that_no_calendar_has(run, kernels, monkeypatch):
    entries = Store.entries
    for seconds in (2.0**60, -(2.0**60), 1e300, float("inf"), float("nan")):
        monkeypatch.setattr(
            Store,
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
    assert "it does not have the mark of this cache" in out


def listed(out):
    return [line.split()[0] for line in out.splitlines()[:-1]]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["double"], [0, 1]),
        (["d*e"], [0, 1]),
        (["double__f8_3"], [0]),
        (["nothing"], []),
        (["--older", "30"], [0]),
        (["--newer", "30"], [1]),
        (["--larger", "1G"], []),
        (["--larger", "10"], [0, 1]),
        (["--damaged"], []),
    ],
)
def test_ls_filters(run, kernels, words, numbers):
    code, out, _ = run("ls", *words)
    assert code == 0
    assert listed(out) == sorted(kernels[number].name for number in numbers)


def test_ls_finds_a_key_by_its_first_digits(run, kernels):
    assert listed(run("ls", kernels[1].key[:6])[1]) == [kernels[1].name]


def test_ls_shows_only_what_is_damaged(run, kernels, damage):
    damage(kernels[1])
    assert listed(run("ls", "--damaged")[1]) == [kernels[1].name]


def test_ls_sorts(run, kernels):
    newest, oldest = kernels[1].name, kernels[0].name
    assert listed(run("ls", "--sort", "date")[1]) == [newest, oldest]


def test_ls_as_json(run, kernels, folder):
    code, out, _ = run("ls", "--json", "--sort", "date")
    first, second = json.loads(out)
    assert code == 0
    assert first["name"] == kernels[1].name and first["function"].endswith(".double")
    assert first["intact"] is True and first["path"] == str(kernels[1].path)
    assert second["last_used"].startswith("2001-09-09T01:46:40")


def test_path_verify_and_prune_as_json(run, kernels, folder, damage):
    assert json.loads(run("path", "--json")[1]) == {"path": str(folder)}
    damage(kernels[1])
    code, out, _ = run("verify", "--json")
    found = json.loads(out)
    assert code == 1 and found["damaged"] == 1
    problems = [one["problem"] for one in found["kernels"] if one["problem"]]
    assert len(problems) == 1 and "it does not end in a seal" in problems[0]
    assert json.loads(run("prune", "--max-age", "30", "--json")[1])["removed"] == 1


def test_verify_takes_the_name_of_a_function(run, kernels, damage):
    damage(kernels[0])
    code, out, _ = run("verify", "double")
    assert code == 1 and out.endswith(", 1 damaged\n")


def test_show_takes_the_name_of_a_function(run, kernels):
    code, out, err = run("show", "double")
    assert (code, out) == (0, kernels[1].source)
    assert err == (
        f"tracejit: double has 2 kernels; this is {kernels[1].name}. "
        f"Other kernels: {kernels[0].name}\n"
    )


def test_the_beginning_of_a_name_will_do(run, kernels):
    assert run("show", "double__f8_5")[1] == kernels[1].source
    code, _, err = run("show", "doub")
    assert code == 2 and "is the beginning of several kernels" in err


def test_an_unknown_name_is_told_the_nearest(run, kernels):
    assert "Did you mean double?" in run("show", "duble")[2]


@pytest.mark.parametrize(("given", "bytes"), [("2k", 2000), ("0", 0)])
def test_prune_takes_sizes_with_units(run, kernels, given, bytes):
    code, out, _ = run("prune", "--max-bytes", given)
    assert code == 0
    assert out.startswith("removed 2 kernels" if not bytes else "removed 0 kernels")


def test_a_function_is_told_from_a_kernel(run, kernels):
    assert "write train:loss." in run("show", "train.loss")[2]
    assert "name it: train.py:FUNCTION." in run("show", "train.py")[2]
