"""Values in a few words."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from tracejit.trace.guards.descriptions import described, keys_told


class Layer:
    """An object."""


def helper() -> None:
    """A function."""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.5, "1.5"),
        ("a" * 60, "'" + "a" * 35 + " ..."),
        (np.float32(2), repr(np.float32(2))),
        (np.ones((2, 3), np.float32), "an array f4[2,3]"),
        (helper, "the function helper"),
        (Layer, "the class Layer"),
        (types, "the module types"),
        ([1, 2], "[1, 2]"),
        ((Layer(), 2), "a tuple of 2"),
        ({1: 2}, "a dict of 1"),
        (Layer(), "a Layer"),
    ],
)
def test_values_are_described(value: Any, words: str) -> None:
    assert described(value) == words


def test_of_many_keys_those_that_differ_are_told() -> None:
    keys = tuple(f"a_rather_long_key_{k}" for k in range(5))
    assert keys_told("keys", keys) == "of 5 keys"
    assert keys_told("keys", keys[::-1], keys) == "of 5 keys, in another order"
    assert keys_told("keys", (*keys, "b"), keys) == "of 6 keys, 'b' new"
    assert keys_told("keys", keys, (*keys, "b")) == "of 5 keys, 'b' gone"
