"""Recordings whose guards are what was read, in place of the walk over what could be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def reads_decide(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Record by converted functions, whose kernels are guarded by what they read."""
    with patch.context() as patched:
        patched.setenv("TRACEJIT_READS", "1")
        yield
