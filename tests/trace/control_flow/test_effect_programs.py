"""Loops with effects do what plain Python does: values by type and bits, what is left behind, and
derivatives. 20 random programs in every run, 2,000 with `-m nightly`."""

from __future__ import annotations

import pytest

from tests.by_day import some_by_day
from tests.trace.control_flow.effect_programs import (
    EFFECTS,
    NUMBERS,
    Writer,
    differs,
    one_statement,
)


def check(seed: int, text: str) -> None:
    problem = differs(seed, text)
    assert not problem, f"{problem}\n{text}"


@pytest.mark.parametrize("statement", some_by_day(EFFECTS, 3))
def test_a_step_with_an_effect_is_pythons(statement: str) -> None:
    check(1, one_statement(statement))


@pytest.mark.parametrize("statement", some_by_day(NUMBERS, 3))
def test_a_step_that_computes_is_pythons(statement: str) -> None:
    check(1, one_statement(statement))


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_with_effects(seed: int) -> None:
    check(seed, Writer(seed).program())


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(20_000, 22_000, 100))
def test_nightly_programs_with_effects(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed, Writer(seed).program())
