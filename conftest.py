"""The doctests that pytest looks for: of modules that have examples, and that can be imported."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

# What needs Dask, where it is not installed.
collect_ignore_glob = [] if importlib.util.find_spec("dask") else ["tracejit/dask/*.py"]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for no doctests where there is no example: that takes a third of all collecting."""
    found = yield
    if file_path.suffix != ".py" or ">>> " in file_path.read_text("utf-8"):
        return found
    return [each for each in found if not isinstance(each, DoctestModule)]
