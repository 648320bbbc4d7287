"""The printed form: what it looks like, and that it is read back as an equal graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpret import interpret, record, run
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.ir.graph import Graph
from tracejit.ir.location import Location, location_text
from tracejit.ir.printer import parameter_text, parse_graph, print_graph
from tracejit.ir.types import ArrayType
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.ops.control.marker_ops import OVERRIDE, Marker
from tracejit.support.errors import GraphError

F8 = np.dtype("f8")


def loss(x: Any, w: Any) -> Any:
    h = np.tanh(x * w + 1.0)
    return np.sum(h)


def read_back(graph: Graph) -> Graph:
    """The graph that the print of `graph` is parsed to; fails unless it prints the same."""
    text = print_graph(graph)
    large = {constant.name: constant.data for constant in graph.constants()}
    again = verify(parse_graph(text, OPS, large))
    assert print_graph(again) == text
    return again


def test_a_graph_is_printed_a_node_a_line() -> None:
    graph, _ = record(loss, np.ones((2, 3)), np.ones(3))
    assert print_graph(graph).splitlines() == [
        "graph loss(x: f8[2,3], w: f8[3]) -> out: f8",
        "  h_1  f8[2,3] = multiply x w                       # loss:1  h = np.tanh(x * w + 1.0)",
        "  h_2  f8[2,3] = add h_1 1.0",
        "  h    f8[2,3] = tanh h_2",
        "  out  f8      = sum h  axis=(0, 1)                 # loss:2  return np.sum(h)",
    ]


def test_a_graph_is_read_back() -> None:
    x, w = np.arange(6.0).reshape(2, 3), np.ones(3)
    graph, _ = record(loss, x, w)
    again = read_back(graph)
    assert interpret(again, x, w) == interpret(graph, x, w)
    assert [node.where.text for node in again.nodes if node.where] == [
        node.where.text for node in graph.nodes if node.where
    ]


def test_gradients_are_read_back() -> None:
    started = run(loss, np.ones((2, 3)), np.ones(3))
    seed = started.recording.argument("g", ArrayType((), F8, "scalar"))
    graph = started.finish(*gradients(started.tensors, started.inputs, [seed]))
    inputs = [np.arange(6.0).reshape(2, 3), np.ones(3), np.float64(2.0)]
    for one, other in zip(
        interpret(graph, *inputs), interpret(read_back(graph), *inputs), strict=True
    ):
        np.testing.assert_array_equal(one, other)


NUMBERS = [
    True, 0, -3, 2**70, 0.1, -0.0, 1e-300, float("nan"), float("inf"), -float("inf"), 1 - 2j, 2j,
    complex(-0.0, -1), complex(float("nan"), -0.0), complex(0.0, float("-inf")),
    np.bool_(False), np.uint8(200), np.float16(0.1), np.float32(0.1), np.float64(-0.0),
    np.float32("nan"), np.complex64(1 - 0.1j), np.complex128(complex(-0.0, 3)),
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_are_read_back_to_the_bit(number: Any) -> None:
    graph = Graph("f")
    graph.outputs = [graph.constant(number)]
    graph.assign_names()
    (again,) = read_back(graph).outputs
    assert again.type is graph.outputs[0].type
    assert repr(again.data) == repr(number)


ARRAYS = [
    np.array([0.1, -0.0, np.nan, np.inf, -np.inf]),
    np.array([[True], [False]]),
    np.arange(6, dtype=np.uint8).reshape(2, 3),
    np.array([1 - 0.1j, complex(-0.0, np.nan)], np.complex64),
    np.array(3.0),
    np.zeros((0, 2)),
    np.arange(17.0),
]


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_arrays_are_read_back_to_the_bit(array: np.ndarray) -> None:
    graph = Graph("f")
    graph.outputs = [graph.constant(array)]
    graph.assign_names()
    (again,) = read_back(graph).outputs
    assert again.type is graph.outputs[0].type
    np.testing.assert_array_equal(again.data, array)
    np.testing.assert_array_equal(np.signbit(again.data.real), np.signbit(array.real))


def test_large_arrays_are_printed_by_their_hash() -> None:
    graph = Graph("f")
    graph.outputs = [graph.constant(np.arange(100.0))]
    graph.assign_names()
    text = print_graph(graph)
    assert "c_1 f8[100] = constant sha256:" in text
    assert len(text) < 200
    other = Graph("f")
    other.outputs = [other.constant(np.arange(100.0) + 1)]
    other.assign_names()
    assert print_graph(other) != text


def test_a_constant_and_a_temporary_of_c_are_told_apart() -> None:
    def f(x: Any) -> Any:
        c = np.exp(x + np.arange(3.0))
        return c * c

    graph, _ = record(f, np.ones(3))
    x = np.arange(3.0)
    np.testing.assert_array_equal(interpret(read_back(graph), x)[0], f(x))


def test_regions_results_and_notes_are_read_back() -> None:
    graph = Graph("f")
    x = graph.add_input("x", ArrayType((3,), F8))
    marker = Marker("clip", "clipped", lambda *cotangents: cotangents)
    place = Location("m.f", 1, "y, z = clip(x)", "clipped")
    params = {"outputs": 2, "grad": marker}
    node = graph.emit(OVERRIDE, (x, x, x), params, [x.type, x.type], place, region=2)
    node.results[0].label, node.results[1].label = "y", "z"
    graph.outputs = list(node.results)
    graph.assign_names()
    text = print_graph(graph)
    assert "  y, z  f8[3], f8[3] = override@2 x <- x x  outputs=2 grad=clip" in text
    assert text.endswith("# f:1  y, z = clip(x)    [clipped]\n")
    again = parse_graph(text, OPS)
    assert print_graph(again) == text
    assert again.nodes[0].region == 2
    assert again.nodes[0].where == Location("f", 1, "y, z = clip(x)", "clipped")


def test_parameters_are_printed_as_literals_dtypes_and_names() -> None:
    assert parameter_text((0, 1)) == "(0, 1)"
    assert parameter_text("ij,jk->ik") == "'ij,jk->ik'"
    assert parameter_text(np.dtype(np.float32)) == "f4"
    assert parameter_text(len) == "len"
    assert parameter_text(Marker("clip", "", len)) == "clip"


def test_a_note_stands_behind_the_line() -> None:
    assert location_text(Location("m.f", 2, "y = x")) == "f:2  y = x"
    assert location_text(Location("m.f", 2, "y = x", "again")) == "f:2  y = x    [again]"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not a printed graph"),
        ("hello\n", "not a printed graph"),
        ("graph f(x: f8[3]) -> x: f8[3]\n  nonsense\n", "is not a node"),
    ],
)
def test_what_is_not_a_graph_is_refused(text: str, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        parse_graph(text, OPS)
