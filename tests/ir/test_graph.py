"""Graphs: consing, constants, and the names that values get."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.ir.graph import Graph, Node, Value, replace_values
from tracejit.ir.location import Location
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import OPS, Op

F8 = np.dtype("f8")
VECTOR = ArrayType((3,), F8)
DRAW = Op(name="draw", infer=lambda: VECTOR, effect=True)


def emit(graph: Graph, op: Any, *operands: Value, line: int = 1, **parts: Any) -> Node:
    """A node whose type is that of a vector."""
    op = OPS[op] if isinstance(op, str) else op
    params = parts.pop("params", {})
    where = Location("m.f", line, f"line {line}")
    return graph.emit(op, operands, params, [VECTOR], where, **parts)


def vectors(*names: str) -> tuple[Graph, list[Value]]:
    """A graph and its inputs."""
    graph = Graph("f")
    return graph, [graph.add_input(name, VECTOR) for name in names]


def test_equal_nodes_are_one() -> None:
    graph, (x, y) = vectors("x", "y")
    assert emit(graph, "add", x, y) is emit(graph, "add", x, y, line=2)
    assert len(graph.nodes) == 1


def test_the_first_place_of_a_shared_node_stands() -> None:
    graph, (x,) = vectors("x")
    emit(graph, "exp", x, line=1)
    assert emit(graph, "exp", x, line=2).where == Location("m.f", 1, "line 1")


@pytest.mark.parametrize(
    "different",
    [
        {"op": "multiply"},
        {"swapped": True},
        {"params": {"axis": (0,)}},
        {"region": 1},
        {"tapes": (1,)},
    ],
)
def test_nodes_that_differ_are_two(different: dict[str, Any]) -> None:
    graph, (x, y) = vectors("x", "y")
    first = emit(graph, "add", x, y)
    op = different.pop("op", "add")
    operands = (y, x) if different.pop("swapped", False) else (x, y)
    assert emit(graph, op, *operands, **different) is not first


def test_the_order_of_tapes_matters_not_to_other_graphs() -> None:
    graph, (x,) = vectors("x")
    assert emit(graph, "exp", x, tapes=(1, 2)) is emit(graph, "exp", x, tapes=(1, 2))
    assert emit(graph, "exp", x, tapes=(1,)) is not emit(graph, "exp", x, tapes=(1, 2))


def test_params_of_different_types_are_different() -> None:
    graph, (x,) = vectors("x")
    nodes = {emit(graph, "exp", x, params={"k": k}) for k in (1, 1.0, True, "1", (1,))}
    assert len(nodes) == 5


def test_effects_are_never_shared() -> None:
    graph, _ = vectors()
    assert emit(graph, DRAW) is not emit(graph, DRAW)


def test_numbers_are_one_constant_only_if_type_and_sign_agree() -> None:
    graph, _ = vectors()
    numbers = [1, 1.0, True, 1 + 0j, np.float64(1), np.float32(1), np.int64(1), np.bool_(True)]
    numbers += [0.0, -0.0, np.float64(0.0), np.float64(-0.0), complex(0.0, -0.0), 0j]
    assert len({graph.constant(number) for number in numbers}) == len(numbers)
    assert all(graph.constant(number) is graph.constant(number) for number in numbers)
    assert graph.constant(float("nan")) is graph.constant(float("nan"))


def test_arrays_are_one_constant_if_type_and_bytes_agree() -> None:
    graph, _ = vectors()
    assert graph.constant(np.zeros(3)) is graph.constant(np.zeros(3))
    assert graph.constant(np.zeros(3)) is not graph.constant(-np.zeros(3))
    assert graph.constant(np.zeros(3)) is not graph.constant(np.zeros((3, 1)))
    assert graph.constant(np.zeros(3)) is not graph.constant(np.zeros(3, np.int64))
    assert graph.constant(np.array(1.0)) is not graph.constant(np.float64(1.0))


def test_a_constant_does_not_follow_its_array() -> None:
    graph, _ = vectors()
    array = np.zeros(3)
    constant = graph.constant(array)
    array[0] = 1.0
    assert constant.data.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        constant.data[0] = 1.0


def test_constants_are_those_in_use_by_first_use() -> None:
    graph, (x,) = vectors("x")
    unused, two, one = graph.constant(9.0), graph.constant(2.0), graph.constant(1.0)
    node = emit(graph, "add", emit(graph, "add", x, one).results[0], two)
    seed = graph.constant(3.0)
    graph.outputs = [node.results[0], one, seed]
    assert graph.constants() == [one, two, seed]
    assert unused not in graph.constants()


def test_values_are_inputs_then_results() -> None:
    graph, (x, y) = vectors("x", "y")
    node = emit(graph, "add", x, y)
    assert list(graph.values()) == [x, y, *node.results]


def test_a_copy_keeps_names_and_changes_what_is_asked() -> None:
    graph, (x, y) = vectors("x", "y")
    node = emit(graph, "exp", x)
    node.results[0].label = "h"
    copy = graph.copy_node(node, (y,), region=3)
    assert copy.operands == (y,)
    assert copy.region == 3
    assert copy.where == node.where
    assert copy.results[0].label == "h"
    assert graph.copy_node(node, (x,)) is node


def test_a_name_of_its_own_is_kept() -> None:
    graph, (x, y) = vectors("x", "y")
    one, other = emit(graph, "exp", x).results[0], emit(graph, "exp", y).results[0]
    one.label, other.label = "a", "b"
    one.take_name(other)
    assert one.label == "a"
    x.take_name(other)
    assert x.label == "x"


def test_constants_can_be_shared_between_graphs() -> None:
    graph, _ = vectors()
    other, _ = vectors()
    constant = graph.constant(2.0)
    other.adopt(graph)
    assert other.constant(2.0) is constant


def test_replace_values() -> None:
    _, (x, y, z) = vectors("x", "y", "z")
    assert replace_values((x, y, x), {x: z}) == (z, y, z)


def named(graph: Graph, *outputs: Value) -> list[str]:
    """The names of all results."""
    graph.outputs = list(outputs)
    graph.assign_names()
    return [value.name for node in graph.nodes for value in node.results]


def test_temporaries_are_called_after_what_their_statement_makes() -> None:
    graph, (x, y) = vectors("x", "y")
    (one,) = emit(graph, "multiply", x, y).results
    (two,) = emit(graph, "add", one, x).results
    (h,) = emit(graph, "tanh", two).results
    h.label = "h"
    assert named(graph, h) == ["h_1", "h_2", "h"]


def test_values_of_no_name_are_called_after_their_op_and_an_output_out() -> None:
    graph, (x,) = vectors("x")
    (one,) = emit(graph, "exp", x, line=1).results
    (two,) = emit(graph, "tanh", one, line=2).results
    assert named(graph, two) == ["exp_1", "out"]


def test_a_name_given_again_is_numbered() -> None:
    graph, (x,) = vectors("x")
    value = x
    for line in range(3):
        (value,) = emit(graph, "exp", value, line=line).results
        value.label = "h"
    assert named(graph, value) == ["h", "h_1", "h_2"]


def test_a_result_called_like_an_input_is_numbered() -> None:
    graph, (x,) = vectors("x")
    (value,) = emit(graph, "exp", x).results
    value.label = "x"
    assert named(graph, value) == ["x_1"]


def test_a_cotangent_is_called_after_its_primal() -> None:
    graph, (x,) = vectors("x")
    (h,) = emit(graph, "exp", x).results
    h.label = "h"
    (bar,) = emit(graph, "multiply", h, h, line=2).results
    bar.derived = (h, "_bar")
    (second,) = emit(graph, "multiply", bar, h, line=3).results
    second.derived = (bar, "_dot")
    assert named(graph, bar) == ["h", "h_bar", "h_bar_dot"]


def test_a_constant_is_never_called_like_a_value() -> None:
    graph, (x,) = vectors("x")
    constant = graph.constant(np.arange(3.0))
    (one,) = emit(graph, "add", x, constant).results
    (c,) = emit(graph, "exp", one).results
    c.label = "c"
    assert named(graph, c) == ["c_1", "c"]
    assert constant.name == "c_2"


def test_all_names_are_different() -> None:
    graph, (x, y) = vectors("h", "h_1")
    (one,) = emit(graph, "multiply", x, y).results
    (h,) = emit(graph, "tanh", one).results
    h.label = "h"
    named(graph, h)
    names = [value.name for value in graph.values()]
    assert len(set(names)) == len(names)


def test_the_place_is_cited_by_function_and_line() -> None:
    assert Location("package.module.loss", 3, "x = 1").short == "loss:3"


def test_of_many_nodes_those_that_were_met_last_are_found_again() -> None:
    graph, (x,) = vectors("x")
    graph.most_keys = 2

    def added(number: int) -> Node:
        return emit(graph, "add", x, graph.constant(float(number)))

    first, second = added(1), added(2)
    for number in range(3, 9):
        assert added(1) is first
        added(number)
    assert added(2) is not second


def test_constants_differ_by_sign_of_zero_and_by_type() -> None:
    graph = Graph("f")
    made = [0.0, -0.0, 1.0, 1, True, np.float64(1.0), np.float32(1.0), float("nan")]
    constants = [graph.constant(number) for number in made]
    assert len(set(constants)) == len(made)
    assert [graph.constant(number) for number in made] == constants
