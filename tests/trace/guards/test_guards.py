"""Every kind of guard: `check` and the compiled spelling agree, and a failure is told."""

from __future__ import annotations

import enum
import functools
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from types import CellType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.by_day import by_day
from tests.rows import each_row
from tracejit.trace.guards import guards
from tracejit.trace.guards.conditions import contents_of
from tracejit.trace.guards.contents import CacheSnapshot
from tracejit.trace.guards.guards import (
    Equal,
    Guard,
    HasBlocks,
    HasBuffer,
    HasContents,
    HasDtype,
    HasKeys,
    HasShape,
    HasTable,
    InOrder,
    Is,
    IsAlive,
    IsLikeMatrix,
    IsVariable,
    Length,
    Never,
    OfType,
    Remembers,
    SameBytes,
    SameText,
    SameValue,
    Static,
    Unbound,
    Without,
    WithoutAttribute,
    same_value,
)
from tracejit.trace.structure import trees
from tracejit.trace.structure.trees import HasStructure, flatten


class Colour(enum.Enum):
    """Two names."""

    RED = 1
    BLUE = 2


class Loose:
    """An object that is equal to every other of its class."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __eq__(self, other: object) -> bool:
        return type(other) is Loose

    def __hash__(self) -> int:
        return 0


class Pair(NamedTuple):
    """A pair."""

    x: Any
    y: Any


class Sub(np.ndarray):
    """A subclass."""


class Rows(NamedTuple):
    """A guard, values that pass it, values that do not, and those of which a guard is not asked
    that follows on one of the type."""

    guard: Guard
    passing: list[Any]
    failing: list[Any]
    foreign: tuple[Any, ...] = ()


def numbers(*values: Any) -> list[Rows]:
    """A row for each of some values, of which no two are the same."""
    return [
        Rows(same_value(one), [again(one)], [x for x in values if x is not one]) for one in values
    ]


def again(value: Any) -> Any:
    """The same number or text as another object."""
    if type(value) is float:
        return struct.unpack("d", struct.pack("d", value))[0]
    return value.copy() if isinstance(value, np.generic) else value


def cached() -> Any:
    """A function under lru_cache that has answered once."""
    found = functools.lru_cache(lambda n: n + 1)
    found(1)
    return found


def grown() -> Any:
    """The same with another answer."""
    found = cached()
    found(2)
    return found


CELL = CellType()
ARRAY = np.arange(6.0).reshape(2, 3)
SPARSE = pytest.importorskip("scipy.sparse")
TABLES = pytest.importorskip("pandas")
MEMO = cached()
THING, LOOSE = object(), Loose(1)

# The spelling of none of them takes another, as none has a container where another has a leaf.
TREES: list[Any] = [
    {"a": 1, "b": 2}, {"b": 1, "a": 2}, {"a": 1}, [1, 2], (1, 2), [1], Pair(1, 2), [],
    {"c": [1], "d": 2}, {"c": (1,), "d": 2}, {1: 1, "b": 2}, {True: 1, "b": 2}, {1, 2}, {1, 2.5},
    {"e": Pair(1, [2])}, {"e": Pair(1, (2,))},
]  # fmt: skip
NUMBERS = numbers(
    0, 1, -1, True, False, None, 2**40, 2**80, 10**400, 0.0, -0.0, 1.0, 0.1, 1e308, math.inf,
    -math.inf, math.nan, 1j, complex(0.0, -0.0), complex(-0.0, 0.0), complex(0.0, 0.0),
    complex(math.nan, 1.0), "1", "a\n'{", b"1", "", np.float64(1.0), np.float64(0.0),
    np.float64(-0.0), np.float64(math.nan), np.float32(1.0), np.float32(0.1), np.int64(1),
    np.longlong(1), np.uint8(1), np.True_, np.False_, np.complex128(1.0), np.complex64(1.0),
    np.str_("1"), np.bytes_(b"1"), np.datetime64("2020-01-01"), np.timedelta64(1, "s"),
    np.longdouble(1.5),
)  # fmt: skip
ROWS: dict[type, list[Rows]] = {
    Is: [
        *(row for row in NUMBERS if type(row.guard) is Is),
        Rows(Is(THING), [THING], [object(), None, 1]),
        Rows(Is(None), [None], [0, False, THING]),
        Rows(Is(False), [False], [0, True, None, np.False_]),
    ],
    IsVariable: [Rows(IsVariable(THING), [THING], [object(), None])],
    OfType: [
        Rows(OfType(float), [1.0, math.nan], [1, True, np.float64(1.0), "1.0", ARRAY]),
        Rows(OfType(np.ndarray), [ARRAY, ARRAY[0]], [ARRAY.view(Sub), [1.0], np.float64(1.0)]),
        Rows(OfType(tuple), [(), (1,)], [Pair(1, 2), []]),
    ],
    IsAlive: [Rows(IsAlive(), [0, THING], [None])],
    SameValue: [row for row in NUMBERS if type(row.guard) is SameValue],
    SameBytes: [row for row in NUMBERS if type(row.guard) is SameBytes],
    SameText: [row for row in NUMBERS if type(row.guard) is SameText],
    Static: [
        Rows(Static("tanh"), ["".join(("ta", "nh"))], ["sin", b"tanh", 1]),
        Rows(Static(frozenset("a")), [frozenset("a")], [frozenset("ab"), {"a"}]),
        Rows(Static(frozenset([1])), [frozenset([1])], [frozenset([True]), frozenset([1.0])]),
        Rows(Static(Decimal("1.0")), [Decimal("1.0")], [Decimal("1"), 1, Fraction(1)]),
        Rows(Static(Colour.RED), [Colour.RED], [Colour.BLUE, 1]),
        Rows(Static(LOOSE), [LOOSE, Loose(1)], [Loose(2), Loose]),
        Rows(Static(True), [True], [1, np.True_]),
        Rows(Static(None), [None], [0]),
        Rows(Static(math.sin), [math.sin], [math.cos]),
    ],
    Equal: [Rows(Equal({"a": 1}), [{"a": 1}], [{}, {"a": 2}, None])],
    HasDtype: [
        Rows(
            HasDtype(np.dtype("f8")),
            [ARRAY, np.ones(2, "=f8"), np.ones(2, np.float64)],
            [np.ones(2, "f4"), np.ones(2, ">f8"), np.ones(2, int)],
            (1.0,),
        )
    ],
    HasShape: [
        Rows(HasShape((2, 3)), [ARRAY], [ARRAY.T, ARRAY[0], np.ones((2, 3, 1))], (1.0,)),
        Rows(HasShape((3,)), [ARRAY[0]], [ARRAY, ARRAY[0, :2], np.ones(()), np.ones((3, 1))]),
        Rows(HasShape(()), [np.ones(())], [ARRAY[0], np.ones((1,))]),
    ],
    InOrder: [
        Rows(InOrder(), [ARRAY, ARRAY[0], np.ones(())], [ARRAY.T, ARRAY[:, 1], ARRAY[::-1]])
    ],
    IsLikeMatrix: [
        Rows(
            IsLikeMatrix(SPARSE.csr_array(ARRAY)),
            [SPARSE.csr_array(ARRAY * 2)],
            [SPARSE.csc_array(ARRAY), SPARSE.csr_array(ARRAY.T), SPARSE.csr_matrix(ARRAY),
             SPARSE.csr_array(ARRAY.astype("f4"))],
        )
    ],
    HasContents: [
        Rows(contents_of(ARRAY), [ARRAY.copy()], [ARRAY + 1.0, np.where(ARRAY, ARRAY, -0.0)]),
    ],
    HasBlocks: [Rows(contents_of(ARRAY.T), [ARRAY.T, ARRAY.copy().T], [ARRAY.T * 2.0])],
    HasBuffer: [
        Rows(contents_of(bytearray(b"ab")), [bytearray(b"ab"), b"ab"], [bytearray(b"ac"), b"abc"])
    ],
    HasTable: [
        Rows(
            HasTable(TABLES.DataFrame({"a": [1.0, np.nan], "b": [1, 2]})),
            [TABLES.DataFrame({"a": [1.0, np.nan], "b": [1, 2]})],
            [
                TABLES.DataFrame({"a": [1.0, 3.0], "b": [1, 2]}),
                TABLES.DataFrame({"a": [1.0, np.nan], "b": [1.0, 2.0]}),
                TABLES.DataFrame({"a": [1.0, np.nan], "c": [1, 2]}),
                TABLES.DataFrame({"a": [1.0, np.nan], "b": [1, 2]}, index=[0, 5]),
                TABLES.DataFrame({"a": [1.0, np.nan], "b": [1, 2]}).rename_axis("row"),
                TABLES.Series([1.0, np.nan]), ARRAY, None,
            ],
        ),
        Rows(
            HasTable(TABLES.Series([1.0], name="a")),
            [TABLES.Series([1.0], name="a")],
            [TABLES.Series([1.0], name="b"), TABLES.Series([2.0], name="a")],
        ),
    ],
    Remembers: [Rows(Remembers(CacheSnapshot(MEMO)), [MEMO, cached()], [grown()])],
    Length: [Rows(Length(2), [[1, 2], {1: 1, 2: 2}], [[], [1], [1, 2, 3]], (2,))],
    HasKeys: [
        Rows(HasKeys(("a", "b")), [{"a": 1, "b": 2}], [{"b": 1, "a": 2}, {"a": 1}, {}], (1,)),
        Rows(HasKeys((1, "a")), [{1: 0, "a": 0}], [{True: 0, "a": 0}, {1.0: 0, "a": 0}, {1: 0}]),
        Rows(HasKeys((0.0, (1, 2))), [{0.0: 0, (1, 2): 0}], [{-0.0: 0, (1, 2): 0}, {0.0: 0}]),
        Rows(HasKeys(()), [{}, set()], [{"a": 1}]),
    ],
    Without: [
        Rows(Without(frozenset("ab")), [{}, {"c": 1}], [{"a": 1}, {"b": 1, "c": 2}], (None,))
    ],
    WithoutAttribute: [
        Rows(WithoutAttribute("k"), [SimpleNamespace(), 1], [SimpleNamespace(k=None)])
    ],
    Unbound: [Rows(Unbound(), [CELL, CellType()], [CellType(1), CellType(None)])],
    Never: [Rows(Never(), [], [None, iter([1]), 1])],
    HasStructure: [
        Rows(HasStructure(flatten(one)[1]), [one], [x for x in TREES if x is not one])
        for one in TREES
    ],
}  # fmt: skip

ALL = [(kind, row) for kind, rows in ROWS.items() for row in rows]


def kinds_of_guards() -> set[type]:
    """The records in the table of kinds, and that of structures."""
    found = (*vars(guards).values(), *vars(trees).values())
    kinds = {one for one in found if isinstance(one, type) and issubclass(one, Guard)}
    return kinds - {Guard}


def compiled(guard: Guard, text: str, again: str = "") -> Callable[[Any], bool]:
    """The spelling of a guard as a function."""
    space: dict[str, Any] = {}

    def bind(thing: Any) -> str:
        space[f"_{len(space)}"] = thing
        return f"_{len(space) - 1}"

    space["passes"] = eval(f"lambda x: {guard.spelling(text, bind, again)}", space)
    return lambda value: answer(space["passes"], value)


def answer(test: Callable[[Any], Any], value: Any) -> bool:
    """The answer of a test about a value; an error is a no."""
    try:
        return bool(test(value))
    except Exception:
        return False


def test_every_kind_is_in_the_table() -> None:
    assert kinds_of_guards() == set(ROWS)


@each_row(("kind", "row"), ALL)
def test_check_and_spelling_agree(kind: type, row: Rows) -> None:
    assert type(row.guard) is kind
    tests = [row.guard.check, *compiled_ways(row.guard)]
    for value in row.passing:
        assert [answer(test, value) for test in tests] == [True] * len(tests), value
    for value in (*row.failing, *row.foreign):
        assert [answer(test, value) for test in tests] == [False] * len(tests), value


def compiled_ways(guard: Guard) -> list[Callable[[Any], bool]]:
    """The test of a name, and of an expression that gives its value a name at first."""
    plain = compiled(guard, "x")
    return [plain, compiled(guard, "(y := x)", "y")] if "{again}" in guard.text() else [plain]


@each_row(("kind", "row"), ALL)
def test_a_failure_is_told(kind: type, row: Rows) -> None:
    for value in row.failing:
        told = row.guard.explain("x", value)
        words = [told.tell(part) for part in ("because", "has", "then", "fix", "changed")]
        assert words[0].startswith(("x", "the contents of x ", "the function draws"))
        assert not {"{was}", "{now}", "{what}"} & set("".join(words).split())
        if kind not in (IsVariable, InOrder):  # whose sentences say both
            assert told.was != told.now, value


ANY = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text(),
    st.binary(), st.floats(width=32).map(np.float32), st.floats().map(np.float64),
    st.integers(-5, 5).map(np.int64), st.integers(-5, 5).map(np.int8),
)  # fmt: skip


@settings(deadline=None, max_examples=by_day(60, 300))
@given(ANY, ANY)
def test_any_two_values_are_told_apart_alike(one: Any, other: Any) -> None:
    same = type(one) is type(other) and bits(one) == bits(other)
    for guard in (same_value(one), Static(one)):
        for test in [guard.check, *compiled_ways(guard)]:
            assert answer(test, one) is True or one != one
            if type(guard) is not Static:
                assert answer(test, other) is same


def bits(value: Any) -> Any:
    """All that there is to a value of a type."""
    return value.tobytes() if isinstance(value, np.generic) else repr(value)
