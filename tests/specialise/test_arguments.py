"""The arguments of a call by themselves: Tensors among them, writes into them, containers."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tracejit.runtime.identity import NotApart
from tracejit.specialise.arguments import (
    check_containers,
    check_unread,
    eager_source,
    recording_among,
    without_tensors,
    write_plainly,
)
from tracejit.support.errors import TracejitError
from tracejit.trace.arguments.signature import Call, take_apart
from tracejit.trace.recording.record import Recording

X = np.array([1.0, -2.0, 3.0])


def call(**arguments: Any) -> Call:
    return take_apart(arguments, "f", str)


def test_the_recording_of_an_argument_is_found_at_any_depth() -> None:
    recording = Recording("f")
    tensor = recording.argument("x", tj.TensorSpec((3,)).type)
    assert recording_among({"a": X, "b": {"c": [1.0, tensor]}}) is recording
    assert recording_among({"a": X, "b": tj.constant(X)}) is None


def test_tensors_are_replaced_by_their_numbers_one_object_for_one_tensor() -> None:
    one, other = tj.constant(X), tj.constant(2.0)
    plain, tensors = without_tensors(call(a=one, b=[one, other], c=X))
    assert tensors == {"a": one, "b_0": one, "b_1": other}
    values = {leaf.name: leaf.value for leaf in plain.leaves}
    assert_same(values["a"], X)
    assert values["a"] is values["b_0"]
    assert values["c"] is X
    assert {leaf.name: leaf.role for leaf in plain.leaves}["b_1"] == "scalar"


def test_a_tensor_of_a_tape_whose_numbers_python_reads_is_refused() -> None:
    with tj.GradientTape() as tape:
        x = tj.constant(X)
        tape.watch(x)
        given = call(x=x * 2.0)
        values = [leaf.value for leaf in given.leaves]
        check_unread(given, values, ())
        with pytest.raises(TracejitError):
            check_unread(given, values, ("x",))


def test_a_container_that_is_changed_is_found() -> None:
    signature = inspect.signature(lambda p: None)
    given = call(p={"x": X})
    values = [X]
    check_containers(signature, {"p": {"x": X}}, given, values)
    for changed in ({"x": X, "y": X}, {"x": X.copy()}):
        with pytest.raises(NotApart, match="the argument p is a container"):
            check_containers(signature, {"p": changed}, given, values)


def test_what_is_written_into_a_tensor_is_written_into_the_array_it_stands_for() -> None:
    x, y = X.copy(), X.copy()
    given = call(x=x, y=y)
    values = [eager_source(leaf, True) for leaf in given.leaves]
    values[0][1] = 7.0
    write_plainly(given, values)
    assert_same(x, np.array([1.0, 7.0, 3.0]))
    assert_same(y, X)


def test_an_array_that_shares_memory_is_not_written_into() -> None:
    x = X.copy()
    given = call(x=x, y=x[1:])
    values = [eager_source(leaf, True) for leaf in given.leaves]
    values[0][1] = 7.0
    with pytest.raises(NotApart, match="shares memory"):
        write_plainly(given, values)
    assert_same(x, X)


def test_sources_are_what_numpy_has() -> None:
    (leaf,) = call(k=2.0).leaves
    assert_same(eager_source(leaf, True).numpy(), np.float64(2.0))
    assert eager_source(leaf, False) == 2.0
