"""Kernels are files here, and nothing has been warned of yet."""

from __future__ import annotations

import builtins
from collections.abc import Callable

import pytest

from tracejit.cache import settings


@pytest.fixture(autouse=True)
def in_files(files: None) -> None:
    """Every test writes kernels to files."""


@pytest.fixture(autouse=True)
def nothing_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test is warned of what another one was warned of."""
    monkeypatch.setattr(settings, "_warned", {})


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the kernel COUNTING was run."""
    monkeypatch.setattr(builtins, "tracejit_runs", 0, raising=False)
    return lambda: vars(builtins)["tracejit_runs"]
