"""Calls of NumPy, SciPy and `math` under their own names, where functions are converted."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from scipy.special import gammaln

import tracejit as tj
from tests.convert.running import define
from tracejit.support.errors import UnsupportedError
from tracejit.trace.convert import routes
from tracejit.trace.source import files

X = np.array([1.5, 2.0, 3.0])
SCALE = 2.0


def array_of_elements(x: Any) -> Any:
    return np.sum(np.array([x[0], x[1] * 2]))


def asarray(x: Any) -> Any:
    return np.sum(np.asarray(x) ** 2)


def zeros_filled(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(3):
        out[i] = x[i] * i
    return np.sum(out)


def mean_of_a_list(x: Any) -> Any:
    return np.mean([x[0], x[1]])


def maximum_of_a_list(x: Any) -> Any:
    return np.sum(np.maximum([x[0], x[1]], 1.7))


def functions_of_math(x: Any) -> Any:
    return math.exp(x[0]) + math.log(x[1], 2.0) + math.log(x[2]) + math.atan2(x[0], x[1])


def math_of_numbers(x: Any) -> Any:
    return x[0] * math.sqrt(SCALE) * math.floor(2.5)


def inverse(x: Any) -> Any:
    return np.sum(scipy.linalg.inv(np.diag(x)))


def special(x: Any) -> Any:
    return np.sum(scipy.special.gammaln(x)) + gammaln(x[0])


def _helper(y: Any) -> Any:
    return np.array([y, y**2])


def helper(x: Any) -> Any:
    return np.sum(_helper(x[0]))


def inner_functions(x: Any) -> Any:
    def square(y: Any) -> Any:
        return math.pow(y, 2.0)

    return sum(map(lambda f: f(x[1]), [square])) * square(x[0])


class Model:
    def __init__(self, w: float) -> None:
        self.w = w

    def loss(self, x: Any) -> Any:
        return np.sum(np.array([self.w * x[0], self.half(x[1])]))

    @staticmethod
    def half(y: Any) -> Any:
        return np.asarray(y) / 2.0


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        array_of_elements, asarray, zeros_filled, mean_of_a_list, maximum_of_a_list,
        functions_of_math, math_of_numbers, inverse, special, helper,
    )
} | {"method": Model(3.0).loss, "partial": functools.partial(Model.loss, Model(2.0))}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_idioms_have_their_values_and_gradients(name: str) -> None:
    function = FUNCTIONS[name]
    value, slope = tj.value_and_grad(function)(X)
    assert value == pytest.approx(function(X), rel=1e-14)
    steps = 1e-6 * np.eye(3)
    expected = [(function(X + step) - function(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-8)


def test_what_wraps_a_function_of_numpy_is_called_itself() -> None:
    slope = tj.function(lambda x: tj.elementwise_grad(np.sin)(x))(X)
    np.testing.assert_allclose(slope, np.cos(X), rtol=1e-14)


def marked(x: Any) -> Any:
    return np.sum(x) * len(x)


def uses_marked(x: Any) -> Any:
    return np.sum(np.asarray(x)) + marked(x)


def test_explain_names_what_runs_as_written() -> None:
    tj.as_is(marked)
    function = tj.function(uses_marked)
    assert function(X) == pytest.approx(uses_marked(X))
    line = marked.__code__.co_firstlineno
    told = f"marked ({__file__}:{line}) runs as written: it is marked with as_is. Remove the mark."
    assert function.explain().splitlines()[-1] == told
    assert function.explain().count("marked with") == 1


def test_packages_run_as_written_by_the_setting() -> None:
    function = tj.function(asarray)
    with tj.config(as_is="tests"):
        with pytest.raises(tj.TracejitError):
            function(X)
    assert "the setting as_is names its package" in function.explain()
    assert tj.grad(asarray)(X) is not None


@tj.as_is
def by_type(x: Any) -> Any:
    return 2.0 * x if type(x) is np.ndarray else -x


@tj.as_is
def by_identity(x: Any, y: Any) -> Any:
    return 2.0 * x if x is y else -x


def test_types_in_functions_that_run_as_written_are_refused() -> None:
    for function in (by_type, lambda x: by_type(x)):
        with pytest.raises(UnsupportedError, match=r"type\(x\) cannot be recorded"):
            tj.function(function)(X)


def test_identities_in_functions_that_run_as_written_are_those_of_the_arguments() -> None:
    for function in (by_identity, lambda x, y: by_identity(x, y)):
        made = tj.function(function)
        assert np.array_equal(made(X, X + 0.0), -X)
        assert np.array_equal(made(X, X), 2.0 * X)


def test_the_setting_switches_conversion_off() -> None:
    with tj.config(convert=False), pytest.raises(tj.TracejitError):
        tj.grad(asarray)(X)


def test_dump_prints_what_is_converted(capsys: pytest.CaptureFixture[str]) -> None:
    with tj.config(dump="converted"):
        tj.function(mean_of_a_list)(X)
    line = mean_of_a_list.__code__.co_firstlineno
    head = f"--- converted\n# mean_of_a_list ({__file__}:{line})\ndef mean_of_a_list(x):\n"
    printed = capsys.readouterr().err
    assert printed.startswith(head)
    assert "method(name(here, 'np', np), 'mean')(made(" in printed


def test_dump_leaves_out_decorators(capsys: pytest.CaptureFixture[str]) -> None:
    @tj.function
    def total(x: Any) -> Any:
        return np.sum(x)

    with tj.config(dump="converted"):
        total(X)
    assert ")\ndef total(x):\n" in capsys.readouterr().err


LIBRARY = """
import numpy as np
def inner(x):
    y = np.asarray(x)
    return np.sum(y)
def outer(x):
    y = inner(x)
    return y + inner(x)
"""


@pytest.mark.parametrize(("most", "names"), [(9, []), (5, ["inner"]), (2, ["outer"])])
def test_a_call_of_a_library_converts_so_many_lines(
    most: int, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_SITE", ("/programs/",))
    monkeypatch.setattr(routes, "MOST_LINES", most)
    outer = define(LIBRARY)["outer"]
    function = tj.function(lambda x: outer(x) + outer(2.0 * x))
    with suppress(tj.TracejitError):
        assert function(X) == pytest.approx(6.0 * np.sum(X))
    told = [one for one in function.explain().splitlines() if routes.TOO_LONG.why in one]
    assert [one.split()[0] for one in told] == names


@pytest.mark.usefixtures("as_written")
def test_calls_are_not_routed_without_the_switch() -> None:
    with pytest.raises(tj.TracejitError):
        tj.grad(asarray)(X)
