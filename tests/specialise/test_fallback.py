"""Calls that Python itself makes, without a Function: when, what it answers, what is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.specialise.pieces import Pieces, pieces
from tests.support.compare import assert_same
from tracejit.autodiff.request.request import Request
from tracejit.runtime.identity import NotApart
from tracejit.specialise.callee import Form
from tracejit.specialise.fallback import apart_from, shown
from tracejit.specialise.results import CommitFailed
from tracejit.support.errors import ArityError, TracejitError, UnsupportedError, Where, fail
from tracejit.trace.recording.decisions import Failed

X = np.array([1.0, -2.0, 3.0])


def double(x: Any) -> Any:
    return x * 2.0


def after(made: Pieces, error: BaseException, *args: Any) -> tuple[Any, BaseException | None]:
    """The outcome after `error`, which has been raised."""
    try:
        raise error
    except BaseException as raised:
        return made.fallback.after(raised, args, {})


@pytest.fixture(autouse=True)
def may_hide_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strict mode wants Python to meet the errors of these tests, too."""
    monkeypatch.delenv("TRACEJIT_STRICT", raising=False)


def test_python_makes_the_call_on_arrays() -> None:
    assert pieces(lambda x: x).fallback.call((X,), {}) is X


def test_answers_are_arrays_of_their_own() -> None:
    found = pieces(lambda x: [x, x[1:]]).fallback.answer((X,), {})
    assert_same(found, [X, X[1:]])
    assert not any(np.may_share_memory(one, X) for one in found)


def test_under_a_tape_answers_are_tensors() -> None:
    found = pieces(lambda x: np.asarray(X) * 1.0).fallback.answer((tj.constant(X),), {})
    assert isinstance(found, tj.Tensor)


def test_a_gradient_is_computed_by_eager_tensors() -> None:
    made = pieces(lambda x: np.sum(x**2), Request("value_and_grad", (0,)))
    value, slope = made.fallback.answer((X,), {})
    assert_same(value, np.sum(X**2))
    assert_same(slope, 2.0 * X)


def test_a_function_that_takes_gradients_itself_gets_tensors() -> None:
    made = pieces(lambda x: tj.gradients(np.sum(x**2), x))
    assert_same(made.fallback.answer((X,), {}), [2.0 * X])
    assert made.callee.findings.takes_gradients


def test_what_python_writes_is_written_into_the_arguments() -> None:
    def writing(x: Any) -> Any:
        slope = tj.gradients(np.sum(x**2), x)
        x[0] = 7.0
        return slope

    x = X.copy()
    assert_same(pieces(writing).fallback.answer((x,), {}), [2.0 * X])
    assert_same(x, np.array([7.0, -2.0, 3.0]))


def test_what_runs_in_recordings_alone_is_not_called() -> None:
    made = pieces(double, form=Form.RECORDED)
    with pytest.raises(TracejitError, match="double"):
        made.fallback.call((X,), {})
    with pytest.raises(KeyError, match="why"):
        made.fallback.call((X,), {}, KeyError("why"))


@pytest.mark.parametrize(
    ("form", "answers"), [(Form.PLAIN, True), (Form.TRANSFORM, True), (Form.RECORDED, False)]
)
def test_after_an_error_of_a_function_with_effects_python_is_asked(
    form: Form, answers: bool
) -> None:
    made = pieces(double, form=form)
    error = KeyError("recorded")
    error.__context__ = before = ValueError("before")
    assert after(made, error, X) == (None, error)  # without effects it is the user's
    made.callee.findings.effects.add("events")
    found, problem = after(made, error, X)
    assert (problem is None) == answers
    assert error.__context__ is before
    if answers:
        assert_same(found, 2.0 * X)
        assert "recording it raised KeyError" in made.history.tell()


def test_after_a_refusal_and_after_a_commit_python_is_not_asked() -> None:
    calls: list[Any] = []
    made = pieces(calls.append)
    made.callee.findings.effects.add("events")
    found, problem = after(made, fail("no-batch", None, op="it"), X)
    assert (found, calls) == (None, [])
    assert isinstance(problem, UnsupportedError)
    committed, cause = CommitFailed(), KeyError("callback")
    committed.__cause__ = cause
    assert after(made, committed, X) == (None, cause)
    assert calls == []


def test_an_effect_that_has_taken_place_does_not_take_place_again() -> None:
    made = pieces(double)
    made.callee.findings.effects |= {"events", "callback"}
    error = KeyError("kernel")
    assert after(made, error, X) == (None, error)


def test_what_python_answers_after_an_error_is_an_array_of_its_own() -> None:
    made = pieces(lambda x: x)
    made.callee.findings.effects.add("events")
    found, problem = after(made, KeyError("recorded"), X)
    assert problem is None
    assert not np.may_share_memory(found, X)


def test_overlapping_arguments_are_for_python_where_it_is_the_users() -> None:
    found, problem = after(pieces(double), NotApart("x shares memory"), X)
    assert problem is None
    assert_same(found, 2.0 * X)
    found, problem = after(pieces(double, form=Form.TRANSFORM), NotApart("x shares memory"), X)
    assert isinstance(problem, TracejitError)
    assert "x shares memory" in str(problem)


def test_a_floating_error_is_told_also_where_python_raises_it() -> None:
    def raising(x: Any) -> Any:
        raise FloatingPointError("divide")

    made = pieces(raising)
    with pytest.warns(tj.TracejitWarning, match="would raise other errors"):
        found, problem = after(made, Failed("floating", "the state"), X)
    assert found is None
    assert isinstance(problem, FloatingPointError)


def test_where_python_raises_its_error_is_the_calls() -> None:
    def raising(x: Any) -> Any:
        raise ValueError("python's")

    made = pieces(raising)
    made.callee.findings.effects.add("events")
    _, problem = after(made, KeyError("kernel's"), X)
    assert isinstance(problem, ValueError)
    assert problem.__context__ is None


def test_arguments_that_do_not_fit_are_told_in_the_words_of_python() -> None:
    made = pieces(double)
    try:
        made.callee.python(1, 2)
    except TypeError as error:
        _, problem = made.fallback.after(error, (1, 2), {})
    assert isinstance(problem, ArityError)


def test_switched_off_by_a_block_but_not_for_the_body_of_a_transform() -> None:
    plain, transform = pieces(double), pieces(double, form=Form.TRANSFORM)
    assert not plain.fallback.is_switched_off()
    with tj.eager():
        assert plain.fallback.is_switched_off()
        assert not transform.fallback.is_switched_off()
        error = KeyError("python's")
        plain.callee.findings.effects.add("events")
        assert after(plain, error, X) == (None, error)


def test_an_error_forgets_the_one_that_was_being_handled() -> None:
    first, middle, last = KeyError(), ValueError(), TypeError()
    last.__context__, middle.__context__ = middle, first
    assert apart_from(last, first) is last
    assert middle.__context__ is None
    assert last.__context__ is middle


def test_an_error_is_shown_at_the_line_that_called() -> None:
    error = shown(fail("no-batch", None, op="it"))
    assert "test_fallback.py" in str(error)
    where = fail("no-batch", Where("mine.py", 7, "x = vmap(f)"), op="it")
    assert "mine.py:7" in str(shown(where))
