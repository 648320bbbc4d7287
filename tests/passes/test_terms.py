"""Terms: what is gained by a factor in its cheapest place."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType
from tracejit.passes.terms import NUMBER, Term, cost

F8 = np.dtype("f8")


def term(factor: float, saved: int, place: int) -> tuple[Term, list[float]]:
    """A term, and the numbers that it is asked for."""
    asked: list[float] = []

    def times(number: float) -> Value:
        asked.append(number)
        return Value(ArrayType((9,), F8))

    return Term(factor, saved, place, 0, times), asked


def test_a_number_costs_what_an_array_of_one_element_costs() -> None:
    assert cost(ArrayType((), F8)) == NUMBER
    assert cost(ArrayType((8, 4), F8)) == NUMBER + 31


def test_what_is_gained_is_what_is_saved_but_for_the_place_of_the_factor() -> None:
    assert term(2.0, 500, 300)[0].gain == 200
    assert term(1.0, 500, 300)[0].gain == 500


def test_a_whole_term_is_the_rest_times_its_factor() -> None:
    one, asked = term(2.0, 500, 300)
    one.whole()
    one.scaled(-6.0, 100).whole()
    assert asked == [2.0, -6.0]


@pytest.mark.parametrize("factor", [1.0, -1.0, 2.0])
def test_nothing_is_gained_by_a_factor_that_is_in_its_place(factor: float) -> None:
    placed = term(factor, 900, 300)[0].placed()
    assert placed.gain == 0
    assert placed.factor == factor
