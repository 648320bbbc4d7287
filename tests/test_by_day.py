"""What is left to the night is the same in every process, and nothing by night."""

from __future__ import annotations

from typing import Any

import pytest

from tests import by_day as module
from tests.by_day import by_day, some_by_day


class Row:
    """A row without a name."""


@pytest.fixture(params=[False, True])
def night(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(module, "BY_NIGHT", request.param)
    return bool(request.param)


def test_by_night_everything_is_tried(night: bool) -> None:
    assert by_day(2, 20) == (20 if night else 2)
    rows = [f"row {number}" for number in range(400)]
    some = some_by_day(rows, 4)
    assert some == rows if night else 60 < len(some) < 140
    assert [row for row in rows if row in set(some)] == some


@pytest.mark.parametrize("row", [Row, Row(), print, "text", 3])
def test_a_row_has_the_same_name_in_every_process(row: Any) -> None:
    assert "0x" not in module.name_of(row)


def test_a_table_is_never_empty_by_day() -> None:
    assert all(some_by_day([number], 1000) == [number] for number in range(20))
