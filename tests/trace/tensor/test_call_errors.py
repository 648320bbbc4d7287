"""Errors of calls that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ops.base.op import HANDLERS
from tracejit.support.errors import ShapeError, UnsupportedError
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.tensor.call_errors import call_error

X = np.array([1.0, 2.0, 3.0])


def refusal(function: Callable[..., Any], *args: Any) -> str:
    """The text of the error that a recording raises."""
    with pytest.raises((ShapeError, UnsupportedError)) as caught:
        tj.function(function, cache=False)(*args)
    return str(caught.value)


def test_what_numpy_refuses_is_said_to_be_refused_by_numpy() -> None:
    text = refusal(lambda x: np.reshape(x, (2, 2)), X)
    assert "NumPy raises the same error" in text
    assert "Fix: change the operands; given: x f8[3]." in text


def test_what_numpy_takes_is_not() -> None:
    def handler(x: Any) -> Any:
        raise ValueError("it is not for arrays of 3 elements; write np.exp(x)")

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(HANDLERS, np.sinc, handler)
        text = refusal(np.sinc, X)
    assert "NumPy raises" not in text
    assert text.startswith("np.sinc cannot be recorded in this form: it is not for arrays of 3")
    assert text.splitlines()[-1] == "  Fix: write np.exp(x)."


@pytest.mark.usefixtures("as_written")
def test_the_cure_in_the_reason_is_the_fix() -> None:
    text = refusal(np.nonzero, X)
    assert text.splitlines()[-1] == (
        "  Fix: index with a condition, x[condition], or choose with np.where(condition, a, b)."
    )


def test_a_local_array_has_its_name() -> None:
    def f(x: Any) -> Any:
        basis = np.ones((4, 2))
        return x @ basis

    text = refusal(f, X)
    assert text.startswith("x @ basis: ")
    assert "given: x f8[3], basis f8[4, 2]." in text


def test_without_a_name_the_numbers_of_an_array_are_left_out() -> None:
    text = refusal(lambda x: x @ np.ones((4, 2)), X)
    assert text.startswith(("x @ np.ones((4, 2)): ", "x @ an array: "))
    assert "given: x f8[3], an array f8[4, 2]." in text


def test_to_ask_numpy_writes_to_no_array_of_the_users() -> None:
    target = np.ones(3)
    error = call_error(
        EAGER, np.copyto, ValueError("it does not fit"), (target, tj.constant(X)), {}
    )
    assert isinstance(error, ShapeError)
    assert target.tolist() == [1.0, 1.0, 1.0]
