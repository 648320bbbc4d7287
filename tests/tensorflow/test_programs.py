"""Gradient programs whose answers by TensorFlow 2.21 are on record, in four modes.

`programs.json` holds the programs and what TensorFlow answered. Where tracejit's rules differ,
OVERRULED has its answer with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.by_day import some_by_day
from tests.rows import each_row
from tests.support.compare import assert_same
from tests.tensorflow.modes import MODES, Failure, outcome

RECORDS = json.loads((Path(__file__).parent / "programs.json").read_text(encoding="utf-8"))
RECORD = {record["number"]: record for record in RECORDS}

NUMBERS = list(RECORD)
SOME = some_by_day(NUMBERS, 3)

# TensorFlow's exp, log and sin differ from NumPy's in the last digits.
BOUND = 4 * np.finfo(np.float64).eps


class Overruled(NamedTuple):
    """What tracejit answers in place of parts of the record, and why."""

    why: str
    parts: dict[str, Any]


F = np.float64

OVERRULED = {
    "150": Overruled(
        "S6: a Variable that is returned is read",
        {"error": Failure("RuleTypeError", "its gradient rule takes no `variables`")},
    ),
    "156": Overruled("S14: an integer source gets None", {"grads": [F(10.0), None]}),
    "157": Overruled("S4: a gradient has its input's dtype", {"grads": [F(10.0)]}),
    "169": Overruled(
        "S6: a rule that insists on variables gets an empty list",
        {"y": F(4.0), "grads": [F(10.0)], "second": [None]},
    ),
    "171": Overruled(
        "S4: any sequence will do",
        {"y": F(6.0), "grads": [F(10.0), F(100.0)], "second": [None]},
    ),
    "195": Overruled(
        "S3: vmap keeps the rule",
        {"grads": [np.array([3.0, 6.0])], "second": [np.array([3.0, 3.0])]},
    ),
    "211": Overruled("S4: a gradient has its input's dtype", {"grads": [F(1.0)]}),
    "217": Overruled(
        "S11: the gradients of f at any order; here cos(wx) 2w - sin(wx) w^2 x",
        {"second": [np.cos([0.5, 3.0]) * [2.0, 4.0] - np.sin([0.5, 3.0]) * [0.5, 6.0]]},
    ),
    "220": Overruled("S11: what f closes over has its gradient", {"grads": [F(20.0), F(4.0)]}),
    "221": Overruled("S11: what f ignores is unconnected", {"grads": [F(6.0), None]}),
    "224": Overruled("S11, S14: an integer source gets None", {"grads": [F(3.0), None]}),
}


def recorded(entry: Any) -> Any:
    """A value of the record as an array, None, or a list of such."""
    if isinstance(entry, list):
        return [recorded(one) for one in entry]
    return entry and np.array(numbers(entry["value"]), entry["dtype"]).reshape(entry["shape"])


def numbers(value: Any) -> Any:
    """Nested lists of numbers, some of which are written as text: NaN, Infinity."""
    return [numbers(one) for one in value] if isinstance(value, list) else float(value)


def expected(number: str) -> dict[str, Any]:
    """What tracejit should answer to a program: y, grads and, where known, second; or an error."""
    ruled = OVERRULED[number].parts if number in OVERRULED else {}
    record = RECORD[number]["result"]
    if "error" in ruled or "error" in record:
        return ruled
    return {part: recorded(value) for part, value in record.items() if part not in ruled} | ruled


def assert_answer(found: Any, wanted: Any) -> None:
    """`found` is what is wanted: None, an array with its dtype and shape, a list of such, or an
    error."""
    if isinstance(wanted, Failure):
        assert isinstance(found, Failure)
        assert found.type == wanted.type
        assert wanted.text in found.text
    elif wanted is None:
        assert found is None
    elif isinstance(wanted, list):
        assert type(found) is list and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_answer(one, other)
    else:
        assert found is not None and not isinstance(found, Failure)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=BOUND, atol=0.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", SOME)
def test_value_and_gradients_are_those_on_record(number: str, mode: str) -> None:
    found = outcome(RECORD[number]["program"], mode)
    wanted = expected(number)
    assert_answer(found.first, wanted.get("error") or [wanted["y"], wanted["grads"]])
    assert_same(found.again, found.first)


@each_row("mode", MODES)
@each_row("number", [n for n in SOME if "second" in expected(n)])
def test_the_second_order_is_that_on_record(number: str, mode: str) -> None:
    assert_answer(outcome(RECORD[number]["program"], mode).second, expected(number)["second"])


@each_row("mode", [mode for mode in MODES if mode != "E"])
@each_row("number", SOME)
def test_every_mode_answers_as_eager_tapes_do(number: str, mode: str) -> None:
    """Of first and second order, to the rounding of a rewritten statement; errors with their
    text."""
    text = RECORD[number]["program"]
    assert_same(outcome(text, mode), outcome(text, "E"), bound=4 * float(np.finfo(float).eps))


@pytest.mark.parametrize("number", OVERRULED)
def test_what_is_overruled_differs_from_the_record(number: str) -> None:
    for part, ruled in OVERRULED[number].parts.items():
        entry = RECORD[number]["result"].get(part)
        with pytest.raises(AssertionError):
            assert_answer(recorded(entry) if isinstance(entry, list) else entry, ruled)


def test_every_program_is_run() -> None:
    assert len(RECORD) == len(RECORDS) == 56
    assert OVERRULED.keys() <= set(NUMBERS)
