"""tj.debug_nans and operations that are computed when they are met."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import NonFiniteError
from tracejit.trace.recording.eager import Eager

X = np.array([0.0, 1.0, 4.0])


def test_an_operation_of_a_tape_stops_at_its_line() -> None:
    with tj.debug_nans(), tj.GradientTape() as tape:
        x = tj.constant(X)
        tape.watch(x)
        y = np.sqrt(x) * 2.0
        with pytest.raises(NonFiniteError, match=r"^the result of log has 1 inf") as caught:
            np.log(y)
    assert f"{Path(__file__).name}:" in str(caught.value)
    assert "operand 1 f8[3] from 0 to 4" in str(caught.value)


def test_the_gradient_of_a_tape_is_checked() -> None:
    with tj.debug_nans():
        with tj.GradientTape() as tape:
            x = tj.constant(X)
            tape.watch(x)
            y = np.sum(np.sqrt(x))
        with pytest.raises(NonFiniteError, match="gradient"):
            tape.gradient(y, x)


def test_what_comes_from_nan_is_no_event() -> None:
    with tj.debug_nans():
        found: Any = np.sqrt(tj.constant(X * np.nan))
    assert np.isnan(found.numpy()).all()


def test_results_only_leaves_them_alone_and_warn_warns() -> None:
    with np.errstate(all="ignore"), tj.debug_nans(results_only=True):
        assert np.log(tj.constant(0.0)).numpy() == -np.inf
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with tj.debug_nans(warn=True):
            np.log(tj.constant(0.0))
    (one,) = told
    assert Path(one.filename).name == Path(__file__).name


def test_it_ends_with_the_block() -> None:
    plain = Eager.record
    with tj.debug_nans():
        assert Eager.record is not plain
    assert Eager.record is plain
