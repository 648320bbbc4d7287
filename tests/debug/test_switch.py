"""tj.debug_nans: which kernels check, where, and that they are as before afterwards."""

from __future__ import annotations

import gc
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.debug.switch import SWITCH, Mode
from tracejit.support.errors import NonFiniteError

X = np.array([0.0, 1.0, 4.0])


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(all="ignore"):
        yield
    assert not SWITCH.is_open


def logs(x: Any) -> Any:
    return np.sum(np.log(x))


def made(**words: Any) -> Any:
    return tj.value_and_grad(tj.function(logs, cache=False, **words))


def test_a_block_checks_the_calls_in_it() -> None:
    f = made()
    plain = f(X + 1.0)
    code = f.kernels[0].module.value_and_grad.__code__
    with tj.debug_nans():
        assert np.array_equal(f(X + 1.0)[1], plain[1])
        with pytest.raises(NonFiniteError, match="log"):
            f(X)
    assert f(X)[0] == -np.inf
    assert f.kernels[0].module.value_and_grad.__code__ is code


def test_kernels_that_are_made_in_the_block_are_checked_from_their_first_call() -> None:
    f = made()
    with tj.debug_nans(), pytest.raises(NonFiniteError):
        f(X)
    assert f(X)[0] == -np.inf
    assert f.tracing_count == 1


def test_the_switch_checks_all_calls_until_it_is_off() -> None:
    f = made()
    tj.debug_nans(True)
    try:
        with pytest.raises(NonFiniteError):
            f(X)
        with tj.debug_nans(False):
            assert f(X)[0] == -np.inf
        with pytest.raises(NonFiniteError):
            f(X)
    finally:
        tj.debug_nans(False)
    assert f(X)[0] == -np.inf


def test_blocks_nest_and_the_inner_way_of_checking_holds() -> None:
    def masked(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.log(x), 0.0))

    f = tj.function(masked, cache=False)
    with tj.debug_nans():
        with tj.debug_nans(results_only=True):
            assert f(X) == np.log(4.0)
        with pytest.raises(NonFiniteError):
            f(X)
    assert Mode() != Mode(results_only=True)


def test_other_threads_go_on_as_before() -> None:
    f = made()
    f(X)
    found: list[Any] = []

    def call() -> None:
        with np.errstate(all="ignore"):
            found.append(f(X)[0])

    with tj.debug_nans():
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        with pytest.raises(NonFiniteError):
            f(X)
    assert found == [-np.inf]


def test_tiles_on_workers_are_checked() -> None:
    def tiled(x: Any) -> Any:
        return np.sum(np.log(x) * np.sin(x) / (2.0 + np.cos(x)))

    x = np.linspace(1.0, 2.0, 1_500_000)
    f = tj.function(tiled, cache=False, threads=2)
    plain = f(x)
    assert "in_turn(tile_1" in f.source
    with tj.debug_nans():
        assert f(x) == plain
        x[-1] = 0.0
        with pytest.raises(NonFiniteError, match="log"):
            f(x)


def test_warnings_are_at_the_users_line_and_numpys_are_silent() -> None:
    f = made()
    with np.errstate(all="warn"), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with tj.debug_nans(warn=True):
            value, _ = f(X)
    assert value == -np.inf
    first = told[0]
    assert first.category is RuntimeWarning
    assert Path(first.filename).name == Path(__file__).name
    assert first.lineno == logs.__code__.co_firstlineno + 1
    assert all(Path(one.filename).name == Path(__file__).name for one in told)


def test_a_warning_of_an_argument_is_at_the_call() -> None:
    f = made()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with tj.debug_nans(warn=True):
            f(X * np.nan)
    (one,) = told
    assert Path(one.filename).name == Path(__file__).name
    assert "argument x of logs holds 3 nan" in str(one.message)


def test_kernels_that_nobody_holds_are_forgotten() -> None:
    before = len(SWITCH.kernels())
    f = made()
    f(X)
    assert len(SWITCH.kernels()) > before
    del f
    gc.collect()
    assert len(SWITCH.kernels()) <= before


def test_nothing_outside_is_touched_by_a_call_that_stops() -> None:
    count = tj.Variable(0.0)

    def counted(x: Any) -> Any:
        count.assign_add(1.0)
        return np.sum(np.log(x))

    f = tj.function(counted, cache=False)
    with tj.debug_nans():
        f(X + 1.0)
        with pytest.raises(NonFiniteError):
            f(X)
    assert count.numpy() == 1.0


def test_what_runs_as_plain_python_is_numpys() -> None:
    f = tj.function(logs, cache=False)
    with tj.debug_nans(), tj.eager():
        assert f(X) == -np.inf
