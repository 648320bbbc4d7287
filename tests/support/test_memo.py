"""Tables that start afresh when they are full."""

from __future__ import annotations

from tracejit.support.memo import Table


def test_a_table_starts_afresh_when_its_entries_weigh_too_much() -> None:
    table = Table()
    for k in range(table.LIMIT):
        table.keep(k, k)
    assert len(table) == table.LIMIT
    table.keep("one more", 1)
    assert dict(table) == {"one more": 1}
    table.keep("heavy", 2, table.LIMIT + 1)
    assert dict(table) == {"heavy": 2}
    table.keep("light", 3)
    assert dict(table) == {"light": 3}
