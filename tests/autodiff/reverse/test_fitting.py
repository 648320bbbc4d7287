"""Derivatives take the forms of what they are derivatives of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret, run
from tracejit.autodiff.reverse.fitting import derivative_type, like
from tracejit.ir.types import ArrayType, type_of

F8 = np.dtype("f8")


@pytest.mark.parametrize("source", [np.float64(2.0), np.array(2.0), np.ones(3)], ids=repr)
def test_zeros_stand_for_what_is_unconnected(source: Any) -> None:
    started = run(lambda x: x * 1.0, source)
    graph = started.finish(like(None, started.inputs[0]))
    zeros = interpret(graph, source)[-1]
    assert type_of(zeros) is type_of(source)
    assert not np.any(zeros)


def test_zeros_for_a_number_of_pythons_are_a_scalar() -> None:
    for x, by in ((np.ones(2), 1), (np.array(2.0), 1), (2.0, (0, 1))):
        found = tj.grad(lambda x, s: np.sum(x) * 0.0 + 1.0, by)(x, 0.5)
        for one in found if type(found) is tuple else [found]:
            assert type(one) is np.float64 and one == 0.0


@pytest.mark.parametrize("source", [np.float64(2.0), np.array(2.0)], ids=repr)
@pytest.mark.parametrize("gradient", [np.float64(3.0), np.array(3.0)], ids=repr)
def test_a_gradient_has_the_form_of_its_source(source: Any, gradient: Any) -> None:
    started = run(lambda x, g: x * g, source, gradient)
    graph = started.finish(like(started.inputs[1], started.inputs[0]))
    found = interpret(graph, source, gradient)[-1]
    assert type_of(found) is type_of(source)
    assert found == 3.0


def test_it_is_called_after_its_source_unless_it_has_a_name() -> None:
    started = run(lambda x: np.sin(x), np.ones(3), name="f")
    x, y = started.inputs[0], started.tensors[0]
    graph = started.finish(like(np.cos(x * 2.0), x, "_dot"), like(x, y))
    assert [value.name for value in graph.outputs[1:]] == ["x_dot", "x"]


def test_the_derivative_of_a_number_of_pythons_is_a_scalar() -> None:
    weak = ArrayType((), F8, "weak")
    assert derivative_type(weak) is ArrayType((), F8, "scalar")
    for type in (ArrayType((3,), F8), ArrayType((), F8), ArrayType((), F8, "scalar")):
        assert derivative_type(type) is type
