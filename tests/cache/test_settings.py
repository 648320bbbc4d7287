"""Where the cache is, and how large it may become, by the environment."""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tests.cached import posix
from tests.support.processes import in_child
from tracejit.cache.settings import DEFAULT_BYTES, CacheWarning, default_path, size_limit

RELATIVE = "TRACEJIT_CACHE_RELATIVE"


@pytest.mark.parametrize(
    ("platform", "environment", "path"),
    [
        ("linux", {}, "home/.cache/tracejit"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/tracejit"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/tracejit"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "home/Library/Caches/tracejit"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/tracejit/cache"),
        ("win32", {}, "home/AppData/Local/tracejit/cache"),
        ("linux", {"TRACEJIT_CACHE_DIR": "/chosen"}, "/chosen"),
        ("linux", {"TRACEJIT_CACHE_DIR": "~/chosen"}, "home/chosen"),
        ("darwin", {"TRACEJIT_CACHE_DIR": "chosen", "TRACEJIT_CACHE_RELATIVE": "1"}, "chosen"),
        ("linux", {"TRACEJIT_CACHE_DIR": "/chosen", "TRACEJIT_CACHE": "0"}, None),
        ("linux", {"TRACEJIT_CACHE": "1", "TRACEJIT_CACHE_DIR": ""}, "home/.cache/tracejit"),
    ],
)
@posix
def test_default_path(monkeypatch, tmp_path, platform, environment, path):
    for name in (
        "XDG_CACHE_HOME",
        "LOCALAPPDATA",
        "TRACEJIT_CACHE_DIR",
        "TRACEJIT_CACHE",
        RELATIVE,
    ):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path / "home"), **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.chdir(tmp_path)
    assert default_path() == (path and tmp_path / path)


def test_without_a_home_there_is_no_default_path(monkeypatch):
    def no_home(*arguments):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("TRACEJIT_CACHE_DIR", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert default_path() is None


@pytest.mark.parametrize("folder", ["chosen", "./chosen", "../chosen", ".", "a/b"])
def test_a_relative_folder_is_refused_with_one_warning(monkeypatch, folder):
    monkeypatch.delenv("TRACEJIT_CACHE", raising=False)
    monkeypatch.delenv(RELATIVE, raising=False)
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", folder)
    with pytest.warns(CacheWarning, match="is relative.*TRACEJIT_CACHE_RELATIVE=1") as caught:
        assert default_path() is None
        assert default_path() is None
    assert len(caught) == 1


@posix
def test_a_relative_home_is_refused(monkeypatch):
    for name in ("TRACEJIT_CACHE", "TRACEJIT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "somewhere")
    with pytest.warns(CacheWarning, match="home directory of this process is relative"):
        assert default_path() is None


@posix
@pytest.mark.parametrize(
    "environment",
    [
        {"TRACEJIT_CACHE_DIR": "chosen"},
        {"TRACEJIT_CACHE_DIR": "chosen", RELATIVE: "1"},
        {"HOME": "somewhere", "XDG_CACHE_HOME": "", "TRACEJIT_CACHE_DIR": ""},
        {"TRACEJIT_CACHE_DIR": "~/chosen", "HOME": "somewhere"},
        {"TRACEJIT_CACHE_DIR": "~nobody-of-that-name/chosen"},
    ],
)
def test_a_function_runs_in_a_folder_that_was_removed(tmp_path, monkeypatch, environment):
    """In a child, which is left there."""

    def said():
        os.chdir(gone)
        gone.rmdir()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for size in (2, 3):
                assert tj.function(lambda x: x * 2.0)(np.ones(size)).sum() == 2 * size
        return [str(warning.message) for warning in caught]

    gone = tmp_path / "gone"
    gone.mkdir()
    for name, value in {"TRACEJIT_CACHE": "1", **environment}.items():
        monkeypatch.setenv(name, value)
    lines = in_child(said)
    assert len(lines) == (0 if "nobody" in environment["TRACEJIT_CACHE_DIR"] else 1)
    assert all(line.startswith("kernels are kept in memory: ") for line in lines)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("", DEFAULT_BYTES),
        ("0", None),
        ("500", 500),
        ("500M", 500_000_000),
        ("2G", 2_000_000_000),
        ("1.5 GB", 1_500_000_000),
        ("64KiB", 65536),
        (" 1t ", 10**12),
    ],
)
def test_the_size_of_the_cache(monkeypatch, text, limit):
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", text)
    assert size_limit() == limit


@pytest.mark.parametrize("text", ["much", "-1", "1e9", "inf", "2X", "1G2", "9" * 400])
def test_a_size_that_is_none_is_said_once(monkeypatch, text):
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", text)
    with pytest.warns(CacheWarning, match="is not a size such as 500M") as caught:
        assert size_limit() == size_limit() == DEFAULT_BYTES
    assert len(caught) == 1
