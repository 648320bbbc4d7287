"""How many threads a kernel may use: options, environment, affinity, control groups."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.runtime import processors
from tracejit.runtime.processors import (
    default_threads,
    open_mp_threads,
    processor_quota,
)
from tracejit.support.errors import ArgumentError


@pytest.fixture(autouse=True)
def many_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with eight processors, where nothing is set."""
    monkeypatch.delenv("TRACEJIT_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(processors, "_GROUPS", Path("nowhere"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)


def write(folder: Path, **files: str) -> None:
    """Files of a control group; _ stands for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_no_more_than_two_unasked() -> None:
    assert default_threads() == 2


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("7", 7), (" 3 ", 3), ("", 2)])
def test_the_environment_says_it(monkeypatch: pytest.MonkeyPatch, text: str, number: int) -> None:
    monkeypatch.setenv("TRACEJIT_THREADS", text)
    assert default_threads() == number


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_an_environment_that_is_wrong(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TRACEJIT_THREADS", text)
    with pytest.raises(ArgumentError, match=f"TRACEJIT_THREADS={text} is not a whole number"):
        default_threads()


@pytest.mark.parametrize("threads", [0, -2, 1.0, "2", True])
def test_an_option_that_is_wrong(threads: object) -> None:
    with pytest.raises(ArgumentError, match=r"threads=.* is not a number of threads"):
        tj.function(np.sin, threads=threads)


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("4", 4), ("1,8", 1), ("0", 1), ("many", 2), ("", 2)]
)
def test_open_mp(monkeypatch: pytest.MonkeyPatch, text: str, number: int) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert open_mp_threads() == number
    assert default_threads() == min(2, number)


def test_one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert default_threads() == 1


def test_no_affinity_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processors.processors() == 1


def test_no_control_groups(tmp_path: Path) -> None:
    assert processor_quota(tmp_path / "cgroup", tmp_path) is None


def test_a_group_of_the_second_version(tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("0::/jobs/one\n")
    write(tmp_path / "jobs" / "one", cpu__max="max 100000\n")
    assert processor_quota(tmp_path / "cgroup", tmp_path) is None
    write(tmp_path / "jobs", cpu__max="150000 100000\n")
    assert processor_quota(tmp_path / "cgroup", tmp_path) == 1.5
    write(tmp_path / "jobs" / "one", cpu__max="50000 100000\n")
    assert processor_quota(tmp_path / "cgroup", tmp_path) == 0.5


def test_a_container_that_sees_its_own_group_alone(tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("0::/elsewhere/container\n")
    write(tmp_path, cpu__max="300000 100000\n")
    assert processor_quota(tmp_path / "cgroup", tmp_path) == 3.0


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
def test_a_group_of_the_first_version(tmp_path: Path, folder: str) -> None:
    (tmp_path / "cgroup").write_text("9:memory:/a\n4:cpu,cpuacct:/a/b\n3:cpuset:/\n")
    write(tmp_path / folder / "a" / "b", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n")
    assert processor_quota(tmp_path / "cgroup", tmp_path) is None
    write(tmp_path / folder, cpu__cfs_quota_us="200000\n", cpu__cfs_period_us="100000\n")
    assert processor_quota(tmp_path / "cgroup", tmp_path) == 2.0


def test_a_quota_counts_at_least_one_processor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cgroup").write_text("0::/\n")
    monkeypatch.setattr(processors, "_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(processors, "_MOUNTED", tmp_path)
    for quota, number in (("50000", 1), ("190000", 1), ("200000", 2), ("max", 2)):
        write(tmp_path, cpu__max=f"{quota} 100000\n")
        assert default_threads() == number
