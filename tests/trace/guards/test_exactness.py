"""Values are told from all that Python calls equal to them, at any depth."""

from __future__ import annotations

import dataclasses
import datetime
import fractions
import itertools
import pathlib
from collections import OrderedDict
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracejit as tj
from tracejit.trace.guards.exactness import exact, exact_key, is_exactly, is_normal, is_plain


class Point(NamedTuple):
    """A tuple with names."""

    x: Any
    y: Any


class Always:
    """An object that equals every other of its class."""

    def __init__(self, k: Any) -> None:
        """Hold k."""
        self.k = k

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Always)

    def __hash__(self) -> int:
        return 0

    def get(self) -> Any:
        """What it holds."""
        return self.k


class Slotted(Always):
    """The same with a slot."""

    __slots__ = ("s",)


class Forgetful(Always):
    """The same, pickled as nothing."""

    def __reduce__(self) -> Any:
        return Forgetful, (0,)


class Number(float):
    """A float that hides itself."""

    def __repr__(self) -> str:
        return "Number"


@dataclasses.dataclass(frozen=True)
class Frozen:
    """Fields compared by equality."""

    a: Any


INF, NAN = float("inf"), float("nan")
DAY = (2020, 1, 1)
ATOMIC = [1, True, 1.0, 0.0, -0.0, 0, 1j, -1j, complex(0.0, -0.0), complex(0.0, 0.0), NAN, "1",
          b"1", None, np.float64(1.0), np.float32(1.0), np.int64(1), np.longlong(1), np.True_,
          np.float64(-0.0), Number(0.0), Number(-0.0)]  # fmt: skip
GROUPS = [
    [(1,), (True,), (1.0,), [1], (1, 1), Point(1, 1), Point(True, 1)],
    [frozenset([1]), frozenset([True]), frozenset([1.0]), {1}],
    [frozenset([0.0]), frozenset([-0.0]), frozenset([0])],
    [frozenset([(1, (0.0,))]), frozenset([(1, (-0.0,))]), frozenset([(True, (0.0,))])],
    [frozenset([frozenset([1])]), frozenset([frozenset([True])])],
    [{1: 1}, {True: 1}, {1: True}, OrderedDict({1: 1}), OrderedDict({1: True})],
    [slice(1, 2), slice(True, 2), slice(1.0, 2)],
    [range(0), range(0, 0, 2)],
    [range(0, 3, 2), range(0, 4, 2)],
    [Decimal("1"), Decimal("1.0"), fractions.Fraction(1)],
    [Decimal("0"), Decimal("-0")],
    [datetime.datetime(*DAY, fold=0), datetime.datetime(*DAY, fold=1)],
    [np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00"), np.datetime64("2020-01-01", "s")],
    [Frozen(1), Frozen(True), Frozen(1.0), Frozen((1,)), Frozen((True,)), Frozen(Frozen(1))],
    [Always(1), Always(2), Always(True), Forgetful(1), Forgetful(2), Slotted(1)],
]  # fmt: skip


@pytest.mark.parametrize("values", [ATOMIC, *GROUPS])
def test_keys_are_equal_only_of_what_is_the_same(values: list[Any]) -> None:
    for one, other in itertools.product(values, repeat=2):
        assert is_exactly(one, other) is (one is other), (one, other)


@pytest.mark.parametrize(
    "make",
    [
        lambda: (1, (2.5, "a"), frozenset([1, 2])),
        lambda: float("nan") * -1.0,
        lambda: (float("nan"), [float("nan")]),
        lambda: Decimal("1.50"),
        lambda: datetime.datetime(*DAY, fold=1),
        lambda: pathlib.Path("a", "b"),
        lambda: np.dtype([("a", "f8")]),
        lambda: Frozen((1, Frozen(2))),
        lambda: {"a": [1, {2: 3}], (1,): None},
        lambda: Point(1, (2,)),
        lambda: Always(1).get,
    ],
)
def test_what_is_made_again_is_the_same(make: Any) -> None:
    one, other = make(), make()
    assert one is not other
    assert is_exactly(one, other) is (getattr(one, "__name__", "") != "get")


def test_attributes_in_slots_count() -> None:
    one, other = Slotted(1), Slotted(1)
    one.s, other.s = (1,), (True,)
    assert not is_exactly(one, other)
    other.s = (1,)
    assert is_exactly(one, other)


def test_arrays_and_objects_of_identity_are_the_same_as_themselves() -> None:
    array, thing = np.ones(3), object()
    assert is_exactly((array, thing), (array, thing))
    assert not is_exactly((array,), (array.copy(),))
    assert not is_exactly((thing,), (object(),))


def test_a_method_is_that_of_one_object() -> None:
    one, other = Frozen(1), Frozen(1)
    assert is_exactly(one.__hash__, one.__hash__)
    assert not is_exactly(one.__hash__, other.__hash__)
    assert not is_exactly([].append, [].append)


def test_a_circle_ends() -> None:
    one, other = Always(1), Always(1)
    one.k, other.k = (one, 1), (other, 1)
    assert is_exactly(one, other)
    other.k = (other, True)
    assert not is_exactly(one, other)


values = st.recursive(
    st.one_of(
        st.booleans(), st.integers(0, 1), st.sampled_from([0.0, -0.0, 1.0, 0j]), st.text("a")
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3)
    ),
    max_leaves=6,
)


@given(values, values)
def test_random_values(one: Any, other: Any) -> None:
    assert is_exactly(one, other) is (repr(one) == repr(other))


def test_elements_are_told_by_type_and_bits() -> None:
    assert exact([float("nan")]) == exact([float("inf") - float("inf")])
    assert exact("ab") == ["a", "b"]
    assert exact_key("a") == "a"


def test_normal_numbers_are_those_that_equality_tells() -> None:
    assert [is_normal(x) for x in (1.5, INF, 0.0, -0.0, NAN)] == [True, True, False, False, False]
    assert [is_plain(x) for x in (1, True, "a", b"a", None, 1.0, (1,), np.int64(1))] == [
        True, True, True, True, True, False, False, False,
    ]  # fmt: skip


HASHABLE = [
    [value for value in values if value.__hash__ is not None]
    for values in GROUPS
    if not isinstance(values[0], (np.datetime64, slice))
]


@pytest.mark.parametrize("group", HASHABLE)
def test_no_two_values_share_a_kernel(group: list[Any]) -> None:
    """As an argument, inside one, as its key, and as what is captured."""
    x = np.ones(1)
    cell: list[Any] = [None]

    def answer(value: Any) -> float:
        held = value.k if isinstance(value, (Always,)) else value
        return float(sum(map(ord, f"{type(held)}{held!r}")))

    argument = tj.function(lambda x, v: x * answer(v), static_argnames="v")
    key = tj.function(lambda x, v: x * sum(map(answer, v)))
    captured = tj.function(lambda x: x * answer(cell[0]))
    for one, other in itertools.permutations(group, 2):
        for value in (one, other):
            cell[0] = value
            assert argument(x, value) == answer(value)
            assert key(x, {value: 1.0}) == answer(value)
            assert captured(x) == answer(value)


def test_keys_that_cannot_be_compared_are_not() -> None:
    f = tj.function(lambda d: d[1] * len(d))
    assert f({np.int64(1): 2.0}) == f({Decimal(1): 2.0}) == 2.0
    with pytest.raises(TypeError):
        assert Decimal(1) == np.int64(1)
