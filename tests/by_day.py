"""The part of the suite that runs by day, in every run of `sh .ci/test`, and the whole, by night.

A test that takes longer than its budget tries less by day: `by_day(10, 200)` examples,
`some_by_day(rows)`. By night, where `-m` asks for nightly tests too, each tries all it has.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

VARIABLE = "TESTS_BY_NIGHT"  # set by conftest.py; no setting of tracejit
BY_NIGHT = os.environ.get(VARIABLE) == "1"


def by_day(few: T, all_: T) -> T:
    """`few` by day, `all_` by night."""
    return all_ if BY_NIGHT else few


def name_of(row: object) -> str:
    """The name of a row, the same in every process."""
    return getattr(row, "__name__", None) or re.sub(" at 0x[0-9a-f]+", "", repr(row))


def some_by_day(rows: Iterable[T], one_in: int = 4) -> list[T]:
    """By day one of so many rows, chosen by what they look like, so that a row that is new moves no
    other; by night all."""
    whole = list(rows)
    some = [row for row in whole if zlib.crc32(name_of(row).encode()) % one_in == 0]
    return by_day(some or whole[:1], whole)
