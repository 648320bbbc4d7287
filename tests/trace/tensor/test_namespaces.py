"""Functions that no protocol dispatches are recorded under the names they have in a namespace."""

from __future__ import annotations

import types

import numpy as np
import pytest

import tracejit as tj
from tracejit.ops.base.op import HANDLERS
from tracejit.trace.tensor.namespaces import namespace, recordable, recorded_argument


def twice(x, times=2):
    """A library's function."""
    return np.asarray(x) * times


@pytest.fixture
def library(monkeypatch):
    """A library whose one function has a handler."""
    monkeypatch.setitem(HANDLERS, twice, lambda x, times=2: x * times)
    made = types.ModuleType("library")
    made.twice, made.unknown, made.number = twice, lambda x: x, 3
    return made


def test_a_call_without_tensors_is_the_librarys_own(library) -> None:
    result = recordable(library.twice)([1.0, 2.0])
    assert result.tolist() == [2.0, 4.0]


def test_a_call_with_a_tensor_is_recorded(library) -> None:
    double = recordable(library.twice)
    assert tj.grad(lambda x: np.sum(double(x, times=3)))(np.ones(2)).tolist() == [3.0, 3.0]
    assert tj.grad(lambda x: double(times=x, x=4.0))(1.0) == 4.0


def test_variables_are_found_too(library) -> None:
    double, v = recordable(library.twice), tj.Variable([1.0, 2.0])
    with tj.GradientTape() as tape:
        y = double(v)
    assert tape.gradient(y, v).tolist() == [2.0, 2.0]


def test_an_unknown_function_is_refused_by_name(library) -> None:
    unknown = recordable(library.unknown)
    assert unknown(3.0) == 3.0
    with pytest.raises(tj.TracejitError, match="is not recorded"):
        tj.grad(unknown)(1.0)


def test_tensors_are_found_in_containers() -> None:
    t = tj.constant(1.0)
    assert recorded_argument(1.0, {"a": [2.0, t]}) is t
    assert recorded_argument(1.0, {"a": [2.0, "t"]}) is None


def test_a_namespace_is_the_library_but_for_its_functions(library) -> None:
    attribute, names = namespace(library, lambda value: 4 if value == 3 else None)
    assert attribute("number") == 4
    assert attribute("twice") is attribute("twice")
    assert attribute("twice").__wrapped__ is twice
    assert "twice" in names()
    with pytest.raises(AttributeError, match="absent"):
        attribute("absent")
