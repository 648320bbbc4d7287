"""Kernels are files here."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def in_files(files: None) -> None:
    """Every test writes kernels to files."""
