"""Sizes: arithmetic is that of the numbers, and what was asked holds wherever it was answered."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejit.ir.dims import Dim, estimated, spelled
from tracejit.ir.size_parser import parse_sizes
from tracejit.ir.sizes import SizeNeeded, Sizes
from tracejit.ir.types import ArrayType

OPERATORS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod,
)  # fmt: skip
F8 = np.dtype("f8")
QUESTIONS = (operator.eq, operator.lt, operator.le, operator.ne, operator.gt, operator.ge)
STEPS = st.lists(
    st.tuples(st.sampled_from(OPERATORS), st.integers(0, 9), st.integers(-3, 4)), max_size=6
)


def computed(steps: list[Any], n: Any, m: Any) -> list[Any]:
    """What the steps compute of two sizes, each of an earlier result and another or a number."""
    found = [n, m, n + m]
    for step, first, second in steps:
        other = found[second % len(found)] if second > 1 else second
        if not (step in (operator.floordiv, operator.mod) and not int_of(other)):
            found.append(step(found[first % len(found)], other))
    return found


def int_of(size: Any) -> int:
    return size.number if type(size) is Dim else int(size)


@given(STEPS, st.integers(2, 9), st.integers(2, 9))
def test_arithmetic_is_that_of_the_numbers(steps: list[Any], n: int, m: int) -> None:
    sizes = Sizes()
    found = computed(steps, sizes.symbol(n), sizes.symbol(m))
    assert list(map(int_of, found)) == computed(steps, n, m)


@given(STEPS, st.integers(2, 9), st.integers(2, 9), st.integers(2, 9), st.integers(2, 9))
def test_answers_hold_wherever_the_conditions_do(
    steps: list[Any], n: int, m: int, other_n: int, other_m: int
) -> None:
    """The sizes of another call that satisfy what was noted give the same answers and sizes."""
    sizes = Sizes()
    names = {"n": sizes.symbol(n), "m": sizes.symbol(m)}
    found = computed(steps, *names.values())
    answers = [ask(found[-1], each) for ask in QUESTIONS for each in (0, 1, 5, *found)]
    numbers = computed(steps, n, m)
    assert answers == [ask(numbers[-1], each) for ask in QUESTIONS for each in (0, 1, 5, *numbers)]
    if not sizes.hold({"n": other_n, "m": other_m}):
        return
    fits = all(
        int_of(sizes.resolved(dim)) == other
        for dim, other in zip(names.values(), (other_n, other_m), strict=True)
        if type(sizes.resolved(dim)) is not Dim
    )
    same = sizes.resolved(names["n"]) is not sizes.resolved(names["m"])
    if not fits or (1 in sizes.solved and type(sizes.solved[1]) is Dim and other_n != other_m):
        return
    assert same or other_n == other_m
    others = computed(steps, other_n, other_m)
    if len(others) == len(numbers):
        asked = [ask(others[-1], each) for ask in QUESTIONS for each in (0, 1, 5, *others)]
        assert asked == answers


@given(STEPS)
def test_sizes_read_back(steps: list[Any]) -> None:
    sizes = Sizes()
    names = {"n": sizes.symbol(6), "m": sizes.symbol(4)}
    for size in computed(steps, *names.values()):
        assert parse_sizes(spelled(size), names) == size
    assert not sizes.solved


def test_zero_and_one_are_answered_without_a_condition() -> None:
    sizes = Sizes()
    n = sizes.symbol(2)
    assert not (n == 0 or n == 1 or n < 2 or 2 * n - 2 < 1 or n * n == 3)
    assert n
    assert sizes.conditions() == []


def test_equal_sizes_are_one() -> None:
    sizes = Sizes()
    n, m = sizes.symbol(5), sizes.symbol(5)
    assert n == m
    assert sizes.conditions() == []
    assert ArrayType((n, 3), F8) is ArrayType((m, 3), F8)
    assert repr(m * 2 + n) == "Dim(3*n)"


def test_a_number_that_is_needed_is_known_from_then_on() -> None:
    sizes = Sizes()
    n = sizes.symbol(5)
    assert list(range(n)) == [0, 1, 2, 3, 4]
    assert type(n + 1) is int
    assert sizes.free() == []


def test_after_the_recording_only_what_is_known_is_answered() -> None:
    sizes = Sizes()
    n = sizes.symbol(8)
    assert n > 5
    sizes.freeze()
    assert n > 5
    assert n > 3
    with pytest.raises(SizeNeeded):
        assert n > 7
    with pytest.raises(SizeNeeded):
        range(n)
    assert f"{n // 2} {(n, 2 * n)!r}" == "(n//2) (n, (2*n))"
    sizes.end()
    assert (n, str(n + 1)) == (8, "9")


def test_planners_take_every_size_for_the_same() -> None:
    first, second = Sizes(), Sizes()
    assert estimated((first.symbol(2), 3)) == estimated((second.symbol(10**6), 3))


def test_a_size_is_divided_as_far_as_it_goes() -> None:
    sizes = Sizes()
    n, m = sizes.symbol(6), sizes.symbol(4)
    assert (6 * n * m) // (2 * n) == 3 * m
    assert (4 * n + 2) // 2 == 2 * n + 1
    assert (3 * n + 1) % 3 == 1
    assert sizes.conditions() == []
    with pytest.raises(ZeroDivisionError):
        n // 0


def test_a_size_is_an_int_to_the_user() -> None:
    n = Sizes().symbol(6)
    assert isinstance(n, int)
    assert {6: "six"}[n] == "six"
    assert (n.bit_length(), round(n), float(n), [0] * n) == (3, 6, 6.0, [0] * 6)
