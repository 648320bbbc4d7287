"""Tables of rows in one item; see tests/rows.py."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tests.rows import each_row


def test_every_row_is_tried_and_each_that_fails_is_named() -> None:
    tried = []

    @each_row("a, b", [(1, 1), (2, 1), (3, 3), (4, 5)])
    def alike(a: int, b: int) -> None:
        tried.append(a)
        assert a == b

    with pytest.raises(AssertionError, match="2 of 4 rows") as raised:
        alike()
    assert tried == [1, 2, 3, 4]
    text = str(raised.value)
    assert "row 1 of alike, {'a': 2, 'b': 1}" in text and "row 3 of alike" in text
    assert "row 0" not in text and "assert a == b" in text


def test_tables_may_be_crossed() -> None:
    tried = []

    @each_row("a", "xy")
    @each_row("b", {1: "one", 2: "two"})
    def pairs(a: str, b: int) -> None:
        tried.append((a, b))

    pairs()
    assert tried == [("x", 1), ("x", 2), ("y", 1), ("y", 2)]


def test_rows_may_be_those_of_parametrize() -> None:
    tried = []

    @each_row("a", [pytest.param((1, 2), id="one"), (3, 4)])
    def pairs(a: tuple[int, int]) -> None:
        tried.append(a)

    pairs()
    assert tried == [(1, 2), (3, 4)]
    with pytest.raises(AssertionError, match="no marks"):
        each_row("a", [pytest.param(1, marks=pytest.mark.xfail)])


def test_a_table_without_rows_is_refused() -> None:
    @each_row("a", [])
    def nothing(a: int) -> None:
        pass

    with pytest.raises(AssertionError, match="no rows"):
        nothing()


@each_row("name", ["a", "b"])
def test_fixtures_are_handed_on(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(name)
    assert (tmp_path / name).read_text() == name


def test_fixtures_alone_are_asked_for() -> None:
    assert list(inspect.signature(test_fixtures_are_handed_on).parameters) == ["tmp_path"]
