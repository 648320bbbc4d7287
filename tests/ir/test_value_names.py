"""Names: each is given once."""

from __future__ import annotations

from tracejit.ir.graph import Value
from tracejit.ir.types import WEAK_TYPES
from tracejit.ir.value_names import ValueNames


def test_a_name_that_is_taken_gets_a_number() -> None:
    names = ValueNames({"x", "y_1"})
    values = [Value(WEAK_TYPES[float]) for _ in range(5)]
    for value, base in zip(values, ["x", "x", "h", "y", "y"], strict=True):
        names.give(value, base)
    assert [value.name for value in values] == ["x_1", "x_2", "h", "y", "y_2"]
    assert [value.base for value in values] == ["x", "x", "h", "y", "y"]


def test_a_temporary_has_a_number_in_any_case() -> None:
    names, value = ValueNames(set()), Value(WEAK_TYPES[float])
    names.give(value, "h", numbered=True)
    assert (value.base, value.name) == ("h", "h_1")
