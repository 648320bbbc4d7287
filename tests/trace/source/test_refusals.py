"""What tracejit refuses in functions as written, and a program catches."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tracejit as tj

ONES = np.ones(3)
as_written = pytest.mark.usefixtures("as_written")


def a_number_or_none(x: Any) -> Any:
    try:
        scale = float(np.sum(x))
    except Exception:
        scale = 0.0
    return np.sum(x) * scale


def suppressed(x: Any) -> Any:
    with suppress(TypeError):
        x = np.unique(x)
    return np.sum(x)


def written(x: Any) -> Any:
    out = np.zeros(3)
    with suppress(ValueError, TypeError):
        out += x
    return np.sum(out * x)


def gradient_or_none(x: Any) -> Any:
    try:
        slope = tj.grad(lambda y: y[1] * float(y[0]))(x)
    except TypeError:
        slope = 0.0
    return np.sum(x * slope)


CAUGHT = [a_number_or_none, suppressed, written, gradient_or_none]


@pytest.mark.parametrize("f", CAUGHT)
def test_converted_nothing_is_refused(f: Any) -> None:
    x = ONES * [1.0, 2.0, 3.0]
    value, slope = tj.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    steps = 1e-6 * np.eye(3)
    expected = [(f(x + step) - f(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-7)


def solved(x: Any) -> Any:
    try:
        scale = scipy.optimize.leastsq(lambda t: t - x[0], 1.0)[0]
    except Exception:
        scale = 0.0
    return np.sum(x) * scale


@pytest.mark.parametrize("transform", [tj.function, tj.grad, tj.jacobian])
def test_converted_what_is_caught_is_refused_still(transform: Callable[..., Any]) -> None:
    with pytest.raises(tj.TracejitError, match=r"^solved caught an error of tracejit"):
        transform(solved)(ONES)


@as_written
@pytest.mark.parametrize("f", CAUGHT)
@pytest.mark.parametrize("transform", [tj.function, tj.grad, tj.jacobian])
def test_what_is_caught_is_refused_still(f: Any, transform: Callable[..., Any]) -> None:
    with pytest.raises(tj.TracejitError, match=f"^{f.__name__} caught an error of tracejit"):
        transform(f)(ONES)


@as_written
def test_an_inner_function_is_named_by_the_outer() -> None:
    inner = tj.function(a_number_or_none)
    with pytest.raises(tj.TracejitError, match=r"(?s)^outer caught .* float\(np.sum\(x\)\)"):
        tj.function(lambda x: inner(x), name="outer")(ONES)


@as_written
def test_a_gradient_by_eager_tensors_is_refused_as_well() -> None:
    with tj.eager(), pytest.raises(tj.TracejitError, match=r"^a_number_or_none caught"):
        tj.grad(a_number_or_none)(ONES)


@pytest.mark.parametrize("convert", [float, int, complex, hash, "{:.2f}".format])
def test_what_numpy_raises_may_be_caught(convert: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        try:
            convert(x)
        except TypeError:
            return np.sum(x) * 2.0
        return np.sum(x) * (2.0 if convert is hash else 1.0)

    np.testing.assert_array_equal(tj.grad(f)(ONES), [2.0, 2.0, 2.0])


@as_written
def test_another_error_may_be_raised_from_it() -> None:
    def f(x: Any) -> Any:
        try:
            return x * float(x[0])
        except TypeError as error:
            raise KeyError("no number") from error

    with pytest.raises(KeyError, match="no number"):
        tj.grad(f)(ONES)


@as_written
def test_errors_that_the_program_lets_pass_are_themselves() -> None:
    def f(x: Any) -> Any:
        try:
            return x * float(x[0])
        except tj.TracejitError:
            raise
        except Exception:
            return x

    with pytest.raises(tj.TracejitError, match=r"^float\((t|x\[0\])\) needs a value"):
        tj.function(f)(ONES)


def test_what_logging_cannot_print_changes_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.Logger("f")
    logger.addHandler(logging.StreamHandler())

    def f(x: Any) -> Any:
        logger.warning("%.2f", x[0])
        return np.sum(x)

    np.testing.assert_array_equal(tj.grad(f)(ONES), ONES)
    assert "Logging error" in capsys.readouterr().err


@as_written
def test_what_is_caught_by_its_name_is_caught() -> None:
    def f(x: Any) -> Any:
        try:
            return x * float(x[0])
        except tj.TracejitError:
            return x

    np.testing.assert_array_equal(tj.function(f)(2.0 * ONES), 2.0 * ONES)


def test_tracebacks_are_those_of_plain_python() -> None:
    def f(x: Any) -> Any:
        if np.any(x > 0):
            raise KeyError("positive")
        return np.sum(x)

    for call in (tj.function(f), tj.grad(f), tj.jacobian(f)):
        with pytest.raises(KeyError, match="positive") as caught:
            call(ONES)
        assert caught.value.__context__ is None
        names = [entry.name for entry in caught.traceback]
        assert names[-1] == "f"
        assert len(names) <= 3


TABLE = np.zeros(2)


def element(x: Any) -> Any:
    row = TABLE[:1]
    with suppress(ValueError):
        row[0] = x[0] * 3.0
    return np.sum(TABLE) + x[1]


def flat_element(x: Any) -> Any:
    try:
        TABLE.flat[0] = x[0]
    except ValueError:
        return 0.0 * x[0]
    return TABLE[0] * x[1]


@pytest.mark.parametrize("f", [element, flat_element])
def test_an_error_that_numpy_raises_in_the_place_of_a_refusal_hides_it_not(f: Any) -> None:
    """NumPy says `setting an array element with a sequence` where a plain array is written to."""
    with pytest.raises(tj.TracejitError, match=r"caught an error .* writes in place into a plain"):
        tj.grad(f)(ONES)
