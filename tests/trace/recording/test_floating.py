"""Floating-point errors that raise, call or are caught: plain Python's answer."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.recording import floating
from tracejit.trace.recording.decisions import Failed
from tracejit.trace.recording.floating import Handling, loudness

X = np.array([1.0, 0.0, 2.0])
FINE = np.array([1.0, 3.0, 2.0])
strictly = functools.partial(np.errstate, all="raise")


def by_division(x: Any) -> Any:
    try:
        with np.errstate(divide="raise"):
            return np.sum(1.0 / x)
    except FloatingPointError:
        return -1.0


def whose_result_nobody_reads(x: Any) -> Any:
    try:
        with np.errstate(divide="raise"):
            1.0 / x
    except FloatingPointError:
        return -1.0
    return np.sum(x)


def by_a_state_from_outside(x: Any) -> Any:
    try:
        with strictly():
            y = np.exp(x * 1000.0)
    except FloatingPointError:
        y = x * 0.0
    return np.sum(y)


def by_seterr(x: Any) -> Any:
    before = np.seterr(all="raise")
    try:
        return np.sum(np.log(x))
    except FloatingPointError:
        return -2.0
    finally:
        np.seterr(**before)


def by_a_call(x: Any) -> Any:
    met: list[str] = []
    with np.errstate(divide="call", call=lambda kind, flag: met.append(kind)):
        y = 1.0 / x
    return np.sum(np.minimum(y, 5.0)) + len(met)


def by_a_filter(x: Any) -> Any:
    try:
        with warnings.catch_warnings():
            y = x + 1.0
            warnings.simplefilter("error")
            return np.sum(np.log(y - 1.5))
    except RuntimeWarning:
        return -3.0


def by_a_filter_of_a_category(x: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", category=RuntimeWarning)
            1.0 / x
    except RuntimeWarning:
        return -3.0
    return np.sum(x)


def by_warnings_as_data(x: Any) -> Any:
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        y = np.minimum(1.0 / x, 5.0)
    return np.sum(y) + len(met)


def caught_by_everything(x: Any) -> Any:
    with np.errstate(all="raise"):
        try:
            return np.sum(1.0 / x)
        except:  # noqa: E722
            return -4.0


LOUD = [
    by_division,
    whose_result_nobody_reads,
    by_a_state_from_outside,
    by_seterr,
    by_a_call,
    by_a_filter,
    by_a_filter_of_a_category,
    by_warnings_as_data,
    caught_by_everything,
]


def answers(function: Callable[[Any], Any], *arguments: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [float(function(x)) for x in arguments]


@pytest.mark.parametrize("function", LOUD)
def test_a_function_that_lets_errors_be_loud_answers_as_python(function: Any) -> None:
    compiled = tj.function(function, cache=False)
    given = X, FINE, X, FINE
    assert answers(compiled, *given) == answers(function, *given)
    assert not compiled.kernels


@pytest.mark.parametrize("function", LOUD)
def test_it_is_said_once_and_at_the_line(function: Any) -> None:
    compiled = tj.function(function, cache=False)
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        compiled(FINE)
        compiled(FINE)
    (said,) = [one for one in met if one.category is tj.TracejitWarning]
    assert f"{function.__name__} has run a call as plain Python" in str(said.message)
    assert said.filename == __file__


def test_a_gradient_is_that_of_the_way_that_python_takes() -> None:
    slope = tj.grad(by_a_state_from_outside)
    with pytest.warns(tj.TracejitWarning, match="as plain Python"):
        np.testing.assert_array_equal(slope(X), np.zeros(3))


def test_states_that_are_quiet_leave_a_kernel() -> None:
    @tj.function(cache=False)
    def f(x: Any) -> Any:
        with np.errstate(divide="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = 1.0 / x
        return np.sum(np.minimum(y, 5.0))

    assert float(f(X)) == 1.0 + 5.0 + 0.5
    assert len(f.kernels) == 1


def test_errors_that_are_loud_around_a_warm_call() -> None:
    """Also where the kernel does not compute what would raise."""
    compiled = tj.function(lambda x: (1.0 / x, np.sum(x))[1], name="compiled", cache=False)
    assert compiled(FINE) == 6.0
    met: list[str] = []
    with np.errstate(divide="raise"):
        with pytest.warns(tj.TracejitWarning, match="compiled has run a call as plain Python"):
            assert compiled(FINE) == 6.0
        with pytest.raises(FloatingPointError):
            compiled(X)
    with np.errstate(divide="call", call=lambda kind, flag: met.append(kind)):
        assert compiled(X) == 3.0
    assert met == ["divide by zero"]
    assert compiled(X) == 3.0
    with np.errstate(divide="ignore", over="warn"):
        assert compiled(X) == 3.0
    assert len(compiled.kernels) == 1


def test_explain_names_it() -> None:
    compiled = tj.function(lambda x: np.sum(1.0 / x), cache=False)
    with np.errstate(divide="raise"):
        assert "lets floating-point errors raise" in compiled.explain(FINE)


def test_what_can_only_be_recorded_has_a_kernel_all_the_same() -> None:
    with np.errstate(divide="raise"):
        found = tj.vmap(lambda x: x * 2.0)(FINE)
    np.testing.assert_array_equal(found, FINE * 2.0)


def test_the_state_of_another_thread_counts_for_nobody_else() -> None:
    compiled = tj.function(lambda x: np.sum(1.0 / x), cache=False)
    compiled(FINE)
    seen: list[str] = []
    with np.errstate(divide="raise"):
        assert loudness() == "raise"
        thread = threading.Thread(target=lambda: seen.append(loudness()))
        thread.start()
        thread.join()
    assert seen == [""]
    assert loudness() == ""


def test_what_is_asked_of_numpy_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    geterr = np.geterr
    monkeypatch.setattr(floating.np, "geterr", lambda: (asked.append(1), geterr())[1])
    with np.errstate(over="ignore"):
        assert [loudness() for _ in range(5)] == [""] * 5
    assert len(asked) == 1


def test_changes_of_the_handling() -> None:
    handling = Handling()
    assert handling.change() == ""
    with np.errstate(invalid="call"):
        assert "call" in handling.change()
    with warnings.catch_warnings():
        assert handling.change() == ""
        warnings.simplefilter("ignore")
        assert handling.change() == ""
        warnings.simplefilter("error", DeprecationWarning)
        assert handling.change() == ""
        warnings.simplefilter("error", RuntimeWarning)
        assert handling.change() == floating.STRICT
        with pytest.raises(Failed, match="filters of warnings"):
            handling.check()
    handling = Handling()
    handling.check()
    with warnings.catch_warnings(record=True):
        assert handling.change() == floating.CATCHES
    assert handling.change() == ""
