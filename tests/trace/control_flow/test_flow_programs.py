"""Programs with control flow on data are right, or refused. By day the first two calls of each are
looked at, and the second only if the first was short; by night many more."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("pandas", reason="some of the programs work on tables of pandas")

from tests.by_day import by_day, some_by_day
from tests.trace.control_flow.count_flow import rows
from tests.trace.control_flow.flow_table import judge

ROWS = {row.name: row for several in rows().values() for row in several}
LONG = {"garch_500", "inverse_kinematics", "iterative_lqr"}  # their first calls take seconds
REFUSED = {
    "bootstrapped_yield_curve": r"pd\.Series",
    "tridiagonal_ground_state": "select asks for a part of the eigenvalues",
}


def check(name: str, calls: int, limit: float) -> None:
    found = judge(ROWS[name], calls, limit)
    if name in REFUSED:
        assert found.word == "refused" and re.search(REFUSED[name], found.reason), found
    else:
        assert found.word in ("right", "over time"), found.reason


@pytest.mark.parametrize("name", some_by_day(sorted(set(ROWS) - LONG), 2))
def test_a_program_is_right_or_refused(name: str) -> None:
    check(name, 2, by_day(0.1, 60.0))


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(ROWS))
def test_nightly_all_calls_of_a_program(name: str) -> None:
    check(name, 40, 20.0)


def test_calls_of_a_program_differ() -> None:
    """Each has several data sets, whose values differ."""
    assert len(ROWS) >= 42
    for row in ROWS.values():
        values = {float(row.function(*arguments)) for arguments in row.calls(4)}
        assert row.count >= 8 and len(values) > 1, row.name
