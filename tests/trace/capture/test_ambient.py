"""State that library functions read is compared where the code reaches them, and nowhere else."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.capture.ambient import (
    STATES,
    Ambient,
    ambient_states,
    decimal_context,
    module_of,
)
from tracejit.trace.capture.captures import Captures

pytestmark = pytest.mark.usefixtures("as_before")

X = np.array([1.0, 2.0, 3.0])
THIRD = Decimal(1)
ARRAY = np.array([1.0 / 3.0])
error_state = np.geterr


@pytest.fixture
def as_before() -> Iterator[None]:
    """Whatever a test sets is as it was afterwards."""
    errors, call, size = np.geterr(), np.geterrcall(), np.getbufsize()
    with np.printoptions(), decimal.localcontext():
        yield
    np.seterr(**errors)
    np.seterrcall(call)
    np.setbufsize(size)


def print_shorter() -> None:
    np.set_printoptions(precision=3)


def compute_shorter() -> None:
    decimal.getcontext().prec = 3


READERS: dict[str, tuple[Callable[[Any], Any], Callable[[], Any], str]] = {
    "geterr": (
        lambda x: x * (1.0 if np.geterr()["divide"] == "ignore" else 2.0),
        lambda: np.seterr(divide="ignore"),
        "np.geterr()",
    ),
    "geterr by another name": (
        lambda x: x * len(error_state()["divide"]),
        lambda: np.seterr(divide="ignore"),
        "np.geterr()",
    ),
    "geterrcall": (
        lambda x: x * (1.0 if np.geterrcall() is None else 2.0),
        lambda: np.seterrcall(print),
        "np.geterrcall()",
    ),
    "getbufsize": (
        lambda x: x * np.getbufsize(),
        lambda: np.setbufsize(16384),
        "np.getbufsize()",
    ),
    "get_printoptions": (
        lambda x: x * np.get_printoptions()["precision"],
        print_shorter,
        "np.get_printoptions()",
    ),
    "str": (lambda x: x * len(str(ARRAY)), print_shorter, "np.get_printoptions()"),
    "format": (lambda x: x * len(f"{ARRAY}"), print_shorter, "np.get_printoptions()"),
    "array2string": (
        lambda x: x * len(np.array2string(ARRAY)),
        print_shorter,
        "np.get_printoptions()",
    ),
    "Decimal": (
        lambda x: x * float(Decimal(1) / Decimal(3)),
        compute_shorter,
        "the context of decimal",
    ),
    "a Decimal": (lambda x: x * float(THIRD / 3), compute_shorter, "the context of decimal"),
    "rounding": (
        lambda x: x * int(str(THIRD / 3)[-1]),
        lambda: setattr(decimal.getcontext(), "rounding", decimal.ROUND_UP),
        "the context of decimal",
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_a_state_that_changes_is_noticed(name: str) -> None:
    python, change, label = READERS[name]
    f = tj.function(python)
    np.seterr(divide="warn")
    assert f(X).tolist() == f(X).tolist() == python(X).tolist()
    assert f.tracing_count == 1
    before, guard = python(X).tolist(), Captures([python]).guard()
    assert guard is not None
    change()
    assert [change.what for change in guard.changes()] == [label]
    assert f(X).tolist() == python(X).tolist() != before


def test_an_argument_that_is_a_decimal_is_computed_with_in_its_context() -> None:
    f = tj.function(lambda x, d: x * float(d / 3))
    first = f(X, THIRD)
    compute_shorter()
    assert f(X, THIRD).tolist() == (X * 0.333).tolist() != first.tolist()


def test_code_that_reads_no_state_is_not_checked_for_it() -> None:
    guard: Any = Captures([lambda x: np.exp(x) * ARRAY]).guard()
    assert not any(type(path.root) is Ambient for path, _ in guard.conditions)


def test_what_reaches_a_state() -> None:
    assert ambient_states(set(), set(), shows=False) == []
    assert [one.label for one in ambient_states({"Decimal"}, set(), shows=False)] == [
        "the context of decimal"
    ]
    assert [one.label for one in ambient_states(set(), {"decimal"}, shows=True)] == [
        "np.get_printoptions()", "the context of decimal",
    ]  # fmt: skip
    assert len({state.ambient.label for state in STATES}) == len(STATES)
    assert [module_of(x) for x in (decimal, Decimal, THIRD, decimal_context)] == [
        "decimal", "decimal", "decimal", "tracejit.trace.capture.ambient",
    ]  # fmt: skip


def test_the_user_is_told_which() -> None:
    f = tj.function(READERS["a Decimal"][0])
    f(X)
    compute_shorter()
    f(X)
    assert "the context of decimal" in f.explain()
