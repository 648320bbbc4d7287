"""Everyday programs and functions of libraries under their own names, where calls are routed.

A row works, or is refused for the reason that its table gives; never is it wrong. One that works
leaves the reasons: the test says so.
"""

from __future__ import annotations

import pytest

from tests.by_day import some_by_day
from tests.trace.convert.count import TABLES, rows
from tests.trace.convert.table import Row, judge

pytest.importorskip("scipy")

ROWS = {row.name: row for kind in TABLES for several in rows(kind).values() for row in several}


@pytest.mark.parametrize("name", some_by_day(sorted(ROWS), 12))
def test_a_row_works_or_is_refused_for_its_reason(name: str) -> None:
    row: Row = ROWS[name]
    verdict = judge(row)
    assert verdict.word == ("refused" if row.refused else "works"), verdict.reason


def test_most_rows_work() -> None:
    for kind, least in (("idioms", 0.97), ("libraries", 0.8)):
        several = [row for table in rows(kind).values() for row in table]
        assert sum(not row.refused for row in several) >= least * len(several)
