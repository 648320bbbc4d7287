"""The report on a sample: each property that does not hold by name, and which are left to the
night."""

from __future__ import annotations

import pytest

from tests.by_day import some_by_day
from tests.ops.cases import CASES_OF, Case
from tests.ops.properties import batched, eager, memory, recorded  # noqa: F401
from tests.ops.properties.registry import PROPERTIES, Property, assert_properties


def always(case: Case) -> bool:
    """Apply to every sample."""
    return True


def holds(case: Case) -> None:
    """Hold for every sample."""


def is_of_another_op(case: Case) -> None:
    """Hold for no sample of np.add."""
    assert case.sample.op != "add"


def can_be_divided(case: Case) -> None:
    """Hold for no sample."""
    raise ZeroDivisionError("by nothing")


def test_each_property_that_fails_is_named() -> None:
    case = CASES_OF["add"][0]
    properties = [Property(one, always, 1) for one in (is_of_another_op, holds, can_be_divided)]
    with pytest.raises(AssertionError) as caught:
        assert_properties([(CASES_OF["cos"][0], [Property(holds, always, 1)]), (case, properties)])
    told = str(caught.value)
    assert told.startswith("2 of 3 properties of add-0 do not hold:\n")
    assert "    is of another op: AssertionError" in told
    assert "    can be divided: ZeroDivisionError: by nothing" in told
    assert "holds:" not in told
    assert 'assert case.sample.op != "add"' in told.split("---- add-0: is of another op")[1]


def test_programs_are_dropped_after_a_sample() -> None:
    case = CASES_OF["add"][0]
    assert_properties([(case, [Property(lambda case: case.program.recorded, always, 1)])])
    assert "program" not in vars(case)


def test_a_property_is_checked_of_each_sample_by_day_or_by_night() -> None:
    cases = [case for op in some_by_day(CASES_OF) for case in CASES_OF[op]]
    for one in PROPERTIES:
        days = {case.name for case in cases if one.is_checked(case, night=False)}
        nights = {case.name for case in cases if one.is_checked(case, night=True)}
        assert not days & nights
        assert days | nights == {case.name for case in cases if one.applies(case)}
        assert (one.every == 1) == (not nights)


def test_names_of_properties_are_distinct() -> None:
    names = [one.name for one in PROPERTIES]
    assert len(names) == len(set(names)) >= 13
