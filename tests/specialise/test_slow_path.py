"""Calls that no entry takes, without a Function: on arrays, on Tensors, by branches."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.specialise.pieces import Pieces, pieces
from tests.support.compare import assert_same
from tracejit.autodiff.request.request import Request
from tracejit.runtime.dispatch import MISS
from tracejit.support.errors import ArityError, TracejitError
from tracejit.support.options import Options
from tracejit.trace.recording.decisions import Failed

X = np.array([1.0, -2.0, 3.0])


def signed(x: Any) -> Any:
    return np.sin(x) if (x[0] > 0).__bool__() else np.cos(x)


def call(made: Pieces, *args: Any) -> Any:
    """A call as a Function makes it: entries first."""
    calls: Sequence[Any] = made.table.calls
    try:
        for entry in calls:
            result = entry(*args)
            if result is not MISS:
                return result
        return made.slow_path.call(args, {}, calls)
    except (Exception, Failed) as error:
        result, problem = made.slow_path.after(error, args, {})
    if problem is not None:
        raise problem
    return result


def test_a_first_call_makes_a_kernel_and_a_second_finds_it() -> None:
    made = pieces(lambda x, k: x * k)
    assert_same(made.slow_path.call((X, 2.0), {}, ()), 2.0 * X)
    assert_same(made.slow_path.call((X,), {"k": 2.0}, ()), 2.0 * X)
    assert made.table.recordings == 1


def test_a_default_is_the_one_of_now() -> None:
    def scaled(x: Any, k: float = 2.0) -> Any:
        return x * k

    made = pieces(scaled)
    assert_same(made.slow_path.call((X,), {}, ()), 2.0 * X)
    scaled.__defaults__ = (3.0,)
    assert_same(made.slow_path.call((X,), {}, ()), 3.0 * X)
    assert_same(made.slow_path.call((X, 2.0), {}, ()), 2.0 * X)


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ArityError):
        pieces(lambda x: x).slow_path.call((X, X), {}, ())


def test_in_a_recording_a_call_is_part_of_it() -> None:
    made = pieces(lambda x: np.sum(x**2), Request("grad", (0,)))
    outer = tj.function(lambda x: made.slow_path.call((x,), {}, ()) + 1.0, cache=False)
    assert_same(outer(X), 2.0 * X + 1.0)
    assert made.table.kernels == []


@pytest.mark.usefixtures("as_written")
def test_another_branch_is_recorded_once() -> None:
    made = pieces(signed)
    for x, expected in ((X, np.sin(X)), (-X, np.cos(-X)), (X, np.sin(X)), (-X, np.cos(-X))):
        assert_same(call(made, x), expected)
    assert made.table.recordings == 2
    assert len(made.table.kernels) == 1
    assert made.history.uncompiled.tell() == []


def test_a_number_of_a_tape_that_python_reads_is_refused() -> None:
    made = pieces(lambda x, k: x * k if f"{k}" > "1" else x)
    with tj.GradientTape() as tape:
        k = tj.constant(np.float64(2.0))
        tape.watch(k)
        with pytest.raises(TracejitError, match="reading"):
            made.slow_path.call((X, k), {}, ())
    assert_same(made.slow_path.call((X, np.float64(2.0)), {}, ()), 2.0 * X)


@pytest.mark.usefixtures("as_written")
def test_tensors_of_a_tape_take_branches_too() -> None:
    made = pieces(signed)
    for x, slope in ((X, np.cos(X)), (-X, -np.sin(-X)), (X, np.cos(X))):
        with tj.GradientTape() as tape:
            given = tj.constant(x)
            tape.watch(given)
            y = np.sum(call(made, given))
        np.testing.assert_allclose(tape.gradient(y, given).numpy(), slope, rtol=1e-14)
    assert made.table.recordings == 2


@pytest.mark.usefixtures("as_written")
def test_no_more_branches_are_recorded_than_allowed() -> None:
    def counted(x: Any) -> Any:
        for k in range(3):
            if (x[0] < k).__bool__():
                return x + k
        return x

    made = pieces(counted, options=Options(cache=False, max_paths=2))
    with pytest.warns(tj.TracejitWarning, match="none of the 2 recorded"):
        for x in (X, X - 1.5, X + 1.5):
            assert_same(call(made, x), counted(x))
    for x in (X, X - 1.5):
        assert_same(call(made, x), counted(x))
    assert made.table.recordings == 2


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("taped", [False, True])
def test_one_branch_too_many_is_for_python(taped: bool) -> None:
    made = pieces(signed, options=Options(cache=False, max_paths=1))
    assert_same(made.slow_path.call((X,), {}, ()), np.sin(X))
    args = (tj.constant(-X) if taped else -X,)
    with pytest.raises((Failed, NotImplementedError)) as caught:
        made.table.calls[0](*args) if not taped else made.slow_path.call(args, {}, ())
    with pytest.warns(tj.TracejitWarning, match="none of the 1 recorded traces"):
        found, problem = made.slow_path.after(caught.value, args, {})
    assert problem is None
    assert_same(found.numpy() if taped else found, np.cos(-X))


def test_while_another_thread_records_the_call_there_is_no_answer() -> None:
    made = pieces(lambda x: x + 1.0)
    request = made.request(X)
    found: list[Any] = []
    with made.specialiser.flights.at(request.call, {}):
        thread = threading.Thread(target=lambda: found.append(made.slow_path.call((X,), {}, ())))
        thread.start()
        thread.join()
    assert found == [MISS]


def test_an_error_of_the_function_is_the_users() -> None:
    def failing(x: Any) -> Any:
        raise KeyError("mine")

    made = pieces(failing)
    with pytest.raises(KeyError, match="mine"):
        call(made, X)
    with pytest.raises(TracejitError, match="is not recorded"):
        call(pieces(lambda x: x.tobytes()), X)


def test_where_kernels_are_disabled_python_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_DISABLE", "1")
    made = pieces(lambda x: type(x).__name__)
    assert made.slow_path.call((X,), {}, ()) == "ndarray"
    assert made.table.kernels == []
