"""Recorded code follows ordinary Python: whole programs, first as they are, then recorded.

Each scene of tests/semantics is played under plain Python and under `tj.function`, through the same
calls and the same changes between them. Results, exceptions, arguments and the state at the end are
the same; where a scene is smooth, so are the gradients, against an eager tape and differences.

What tracejit documents as different stands at the end.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.semantics import (
    branches,
    captured,
    exceptions,
    loops,
    numerics,
    objects,
    signatures,
)
from tests.semantics.scenes import SCENES, assert_same_slopes, assert_same_story
from tracejit.specialise.fallback import Fallback
from tracejit.support.errors import (
    ArgumentError,
    ArityError,
    LeakedTensorError,
    ShapeError,
    UnsupportedError,
    ValueNeededError,
)

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:.* has made 5 kernels:tracejit.support.errors.TracejitWarning"
    ),
]

PLAYED = (branches, loops, numerics, exceptions, objects, captured, signatures)
SMOOTH = [name for name, one in SCENES.items() if one.smooth]
X = np.array([0.7, -1.2, 0.4])
# How many calls Python itself answers, as they meet what no kernel does: an exception of a kernel
# that the function catches, a container or overlapping arrays that change, an answer of a callback.
PYTHONS = {
    "a_matrix_that_is_not_positive": 3,
    "jitter_until_it_works": 2,
    "a_singular_system": 2,
    "zero_division_and_overflow": 1,
    "retries": 3,
    "arguments_that_are_changed": 3,
    "the_same_array_twice": 6,
    "a_decision_after_a_callback": 5,
}


def noted_calls_of_python(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls that Python itself answers from here on."""
    calls: list[Any] = []
    ask = Fallback.call
    monkeypatch.setattr(
        Fallback, "call", lambda self, *call: calls.append(call) or ask(self, *call)
    )
    return calls


@pytest.mark.parametrize("name", some_by_day(SCENES, 5))
def test_a_recorded_program_goes_as_under_python(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_python = noted_calls_of_python(monkeypatch)
    raised = assert_same_story(SCENES[name])
    assert len(by_python) <= raised + PYTHONS.get(name, 0), "what does not raise is compiled"


@pytest.mark.parametrize("name", some_by_day(SMOOTH))
def test_a_recorded_program_has_the_gradients_of_the_path_taken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_python = noted_calls_of_python(monkeypatch)
    assert_same_slopes(SCENES[name])
    assert name in PYTHONS or not by_python, "gradients and calls under a tape are compiled"


def test_what_came_before_an_exception_stands_where_a_gradient_is_asked_for() -> None:
    count = tj.Variable(0.0)

    def f(x: Any, rng: Any) -> Any:
        count.assign_add(1.0)
        y = rng.normal() * x[0]
        if x[0] > 0:
            raise KeyError("up")
        return y

    both = tj.value_and_grad(f)
    for calls, x in enumerate((-X, X, -X, X), 1):
        mine, pythons = np.random.default_rng(1), np.random.default_rng(1)
        pythons.normal()
        if x[0] > 0:
            with pytest.raises(KeyError, match="up"):
                both(x, mine)
        else:
            both(x, mine)
        assert mine.bit_generator.state == pythons.bit_generator.state
        assert count.numpy() == calls


# What differs, as documented


def test_results_are_fresh_where_python_returns_the_argument() -> None:
    @tj.function
    def f(x: Any) -> Any:
        if x[0] > 0:
            return x, x, x[1:]
        return x.T, x

    for given in (X, -X, X):
        x = given.copy()
        results = f(x)
        assert not any(np.may_share_memory(x, y) for y in results)
        assert not np.may_share_memory(*results[:2])


def test_what_is_printed_is_printed_while_recording(capsys: pytest.CaptureFixture[str]) -> None:
    @tj.function
    def f(x: Any) -> Any:
        print("up" if x[0] > 0 else "down")  # noqa: T201
        return x * 2

    for x in (X, X, -X, X, -X):
        f(x)
    assert capsys.readouterr().out.split() == ["up", "down"]


FROZEN: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(x[0]),
    "complex": lambda x: complex(x[0]),
    "asarray": lambda x: np.asarray(x),
    "array of a list": lambda x: np.array([x[0], 1.0]),
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "format": lambda x: f"{x[0]:.3f}",
    "math": lambda x: math.sin(x[0]),
    "key": lambda x: {0.7: "found"}.get(x[0]),
    "after a decision": lambda x: float(x[0]) if x[0] > 0 else x,
}


def test_numbers_that_are_recorded_are_not_frozen() -> None:
    for name in ("float", "complex", "asarray", "array of a list", "item", "tolist", "math"):
        f = tj.function(FROZEN[name])
        for x in (X, X + 1.0, X):
            np.testing.assert_array_equal(f(x), FROZEN[name](x))
        assert f.tracing_count == 1


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("name", FROZEN)
def test_numbers_that_would_be_frozen_are_refused(name: str) -> None:
    f = tj.function(FROZEN[name])
    for _ in range(2):
        with pytest.raises(ValueNeededError, match=r"test_python_semantics\.py"):
            f(X)


def test_type_answers_what_an_array_stands_for() -> None:
    assert tj.function(lambda x: type(x) is np.ndarray)(X)
    assert tj.function(lambda x: [type(v) is float for v in x.tolist()])(X) == [True] * len(X)


@pytest.mark.usefixtures("as_written")
def test_isinstance_answers_what_an_array_stands_for_and_type_is_refused() -> None:
    assert tj.function(lambda x: isinstance(x, np.ndarray))(X)
    with pytest.raises(UnsupportedError, match="isinstance"):
        tj.function(lambda x: type(x) is np.ndarray)(X)


@pytest.mark.usefixtures("as_written")
def test_a_method_of_numpy_scalars_that_is_not_recorded_is_no_missing_attribute() -> None:
    f = tj.function(lambda x: x[0].is_integer() if hasattr(x[0], "is_integer") else None)
    with pytest.raises(UnsupportedError, match=r"float64\.is_integer is not recorded"):
        f(X)


def test_a_tensor_that_is_kept_is_refused_later() -> None:
    @functools.lru_cache
    def scaled(n: int) -> Any:
        return kept.setdefault(n, base[0] * n)

    kept: dict[int, Any] = {}
    base: list[Any] = [None]

    @tj.function
    def f(x: Any, n: int) -> Any:
        base[0] = x
        return x + scaled(n)

    np.testing.assert_array_equal(f(X, 2), 3 * X)
    with pytest.raises(LeakedTensorError, match="lru_cache"):
        f(X[:2], 2)


def test_hidden_draws_are_refused() -> None:
    @tj.function
    def f(x: Any) -> Any:
        return x + np.random.normal() if x[0] > 0 else x  # noqa: NPY002

    with pytest.raises(UnsupportedError, match="drew random numbers"):
        f(X)
    np.testing.assert_array_equal(f(-X), -X)


def test_errors_of_calls_and_shapes_are_pythons_in_other_words() -> None:
    f = tj.function(lambda x, y: x + y if x[0] > 0 else x)
    with pytest.raises(ArityError, match="missing a required argument: 'y'") as arity:
        f(X)
    assert isinstance(arity.value, TypeError)
    with pytest.raises(ShapeError, match="broadcast") as shape:
        f(X, X[:2])
    assert isinstance(shape.value, ValueError)
    np.testing.assert_array_equal(f(-X, X[:2]), -X)


def test_containers_that_are_no_arguments_are_refused() -> None:
    f = tj.function(lambda items: sum(items))
    with pytest.raises(ArgumentError, match="deque"):
        f(deque([1.0, X]))
