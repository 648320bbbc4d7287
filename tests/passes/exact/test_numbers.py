"""Python numbers in graphs: computed as NumPy scalars where nothing can tell."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ops.base.op import OPS
from tracejit.passes.exact.numbers import as_numpy_numbers


@pytest.mark.parametrize(
    "step",
    [
        "y    f4[3] = multiply a x_1",  # float32 stays float32 beside a Python number alone
        "y    ~i8 = python_round x_1  digits=None",
        "y    ~f8 = python_mod x_1 2.0",
    ],
    ids=["float32", "round", "an op of Python's"],
)
def test_a_graph_in_which_something_can_tell_stays_as_it_is(step: str) -> None:
    kind = step.split("=")[0].split()[1]
    text = f"graph f(x: f8, a: f4[3]) -> y: {kind}\n  x_1  ~f8 = python_float x\n  {step}\n"
    graph = parse_graph(text, OPS)
    assert as_numpy_numbers(graph) is graph


def test_numbers_that_are_computed_from_arrays_stay_pythons() -> None:
    text = "graph f(x: f8[3]) -> y: ~f8\n  s  f8 = sum x  axis=(0,)\n  y  ~f8 = python_float s\n"
    graph = parse_graph(text, OPS)
    assert print_graph(as_numpy_numbers(graph)) == print_graph(graph)


def test_text_has_no_conversions() -> None:
    f = tj.value_and_grad(lambda x, y: np.sin(x * y) / (1.0 + x) ** 2 - abs(y) * (x < 3.0))
    f(0.5, 2.0)
    assert "float(" not in f.kernels[0].source.replace("value_and_grad_in_floats(float", "")
    assert f(0.5, 2.0)[0] == pytest.approx(np.sin(1.0) / 2.25 - 2.0)


def test_float32_keeps_its_dtype() -> None:
    f = tj.value_and_grad(lambda x, a: np.sum(a * x))
    value, slope = f(0.5, np.ones(3, "f4"))
    assert type(value) is np.float32
    assert slope == 3.0
