"""What was freed is kept: no page of it is faulted in again."""

from __future__ import annotations

import platform

import pytest

from tests.support.processes import python
from tracejit.support.cost_model import costs

FAULTS = """
import resource
import sys

import numpy as np

from tracejit.runtime.allocator import keep_freed_memory


def call(count):
    return sum(array[0] for array in [np.ones(2**17) for _ in range(count)])


if sys.argv[1] == "kept":
    keep_freed_memory()
for count in map(int, sys.argv[2:]):
    for _ in range(5):
        call(count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        call(count)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="this is not glibc")


def faults(*words: str) -> list[int]:
    """How many pages 20 calls fault in, for each number of arrays of 1 MiB."""
    return [int(line) for line in python(FAULTS, *words).split()]


@needs_glibc
def test_what_was_freed_is_not_faulted_in_again() -> None:
    assert max(faults("kept", "4", "100")) < 200 < 5000 < faults("freed", "4")[0]


def test_it_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracejit.runtime import allocator

    made: list[int] = []
    monkeypatch.setattr(allocator, "_warmed", [])
    monkeypatch.setattr(allocator.np, "empty", lambda size, dtype: made.append(size))
    allocator.keep_freed_memory()
    allocator.keep_freed_memory()
    assert made == [costs().largest_freed_bytes]
