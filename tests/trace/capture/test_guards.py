"""Conditions become one function, which answers and never raises."""

from __future__ import annotations

from typing import Any

import pytest

from tracejit.trace.capture.guards import Guard


def test_no_condition_is_no_guard() -> None:
    assert Guard().compiled() is None


def test_all_conditions_must_hold() -> None:
    guard, box = Guard(), [1, "a"]
    held = guard.bind(box)
    guard.check(f"len({held}) == 2")
    guard.check_plain(1, f"{held}[0]")
    guard.check_plain("a", f"{held}[1]")
    holds: Any = guard.compiled()
    assert holds.checks == tuple(guard.conditions)
    assert holds() is True
    for changed in ([True, "a"], [1, "b"], [1], [1, "a", 2], []):
        box[:] = changed
        assert holds() is False
    box[:] = [1, "a"]
    assert holds() is True


def test_one_object_has_one_name() -> None:
    guard, thing = Guard(), object()
    assert guard.bind(thing) == guard.bind(thing) != guard.bind(object())


def test_keys_that_must_be_absent() -> None:
    guard, space = Guard(), {"a": 1}
    guard.check_absent(["b"], guard.bind(space))
    guard.check_absent(["c"], guard.bind(space))
    holds: Any = guard.compiled()
    assert holds() is True
    space["d"] = 1
    assert holds() is True
    space["c"] = 1
    assert holds() is False


@pytest.mark.parametrize("keys", [["a", "b"], [1, "a"], [(1, 2)], [0.0], []])
def test_keys_are_compared_in_order_and_to_the_bit(keys: list[Any]) -> None:
    guard, table = Guard(), dict.fromkeys(keys)
    guard.check_keys(keys, guard.bind(table))
    holds: Any = guard.compiled()
    assert holds() is True
    others: list[list[Any]] = [["a", "b", "c"], ["b", "a"], [True, "a"], [(1, 3)], [-0.0]]
    for other in others:
        table.clear()
        table.update(dict.fromkeys(other))
        assert holds() is False


def test_an_error_fails_a_guard() -> None:
    guard = Guard()
    guard.check("1 / 0")
    holds: Any = guard.compiled()
    assert holds() is False
