"""Tables that start afresh when they are full, and memos of objects derived from another."""

from __future__ import annotations

import gc
from types import CodeType

from tracejit.support.memo import ByIdentity, Table


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


def test_equal_owners_are_told_apart_and_forgotten() -> None:
    one, other = (compile("x", "a.py", "eval") for _ in range(2))
    assert one == other
    memo: ByIdentity[CodeType, int] = ByIdentity()
    memo[one] = 1
    assert one in memo
    assert other not in memo
    assert memo.get(other) is None
    assert memo.setdefault(other, 2) == memo.setdefault(other, 3) == 2
    del one
    gc.collect()
    assert memo.values() == [2]
    assert len(memo) == 1


def test_an_owner_is_forgotten_when_it_is_told_so() -> None:
    owner = compile("x", "a.py", "eval")
    memo: ByIdentity[CodeType, int] = ByIdentity()
    memo[owner] = 1
    del memo[owner]
    assert owner not in memo
    del memo[owner]
