"""The user's line behind an error that a kernel raises."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.debug.notes import add_note

SINGULAR = np.zeros((2, 2))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: None) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))


def inverse(x: Any) -> Any:
    shifted = x * 2.0
    inverted = np.linalg.inv(shifted)
    return np.sum(inverted * 3.0)


@pytest.mark.parametrize("transform", [tj.function, tj.grad, tj.value_and_grad, tj.jacobian])
def test_an_error_comes_from_the_users_line(transform: Callable[..., Any]) -> None:
    """What raises in a kernel is asked of Python once more."""
    compiled = transform(inverse)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            compiled(SINGULAR)
        lines = [entry.line for entry in traceback.extract_tb(caught.value.__traceback__)]
        assert "inverted = np.linalg.inv(shifted)" in lines


def test_the_note_cites_the_users_line() -> None:
    """A transform that plain Python cannot compute."""
    compiled = tj.vmap(inverse)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            compiled(SINGULAR[None])
        notes = getattr(caught.value, "__notes__", [])
        if sys.version_info < (3, 11):
            assert not notes
        else:
            (note,) = notes
            assert f"{Path(__file__).name}:{inverse.__code__.co_firstlineno + 2}  " in note
            assert "inverted = np.linalg.inv(shifted)" in note


def test_an_error_outside_a_kernel_has_no_note() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        tj.function(fails)(SINGULAR)
    assert not hasattr(caught.value, "__notes__")
    for error in (caught.value, KeyError("never raised")):
        add_note(error)
        assert not hasattr(error, "__notes__")


def test_an_error_of_numpys_arithmetic_has_the_note() -> None:
    compiled = tj.vmap(lambda x: np.sum(1.0 / x))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError) as caught:
        compiled(np.zeros((3, 2)))
    if sys.version_info >= (3, 11):
        assert "1.0 / x" in caught.value.__notes__[0]
