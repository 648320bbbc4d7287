"""`rebuild`: a copy but for what the rewrite says, in a graph of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.interpret import interpret
from tests.support.graphs import ops_of
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.passes.framework.rebuild import rebuild

TEXT = """\
graph loss(x: f8[8,4], w: f8[4,3], lr: ~f8) -> out: f8, c_1: f8[2], x: f8[8,4]
  c_1 f8[2] = constant [0.5,-0.0]
  h_1    f8[8,3] = matmul x w                     # loss:1  h = np.tanh(x @ w)
  h      f8[8,3] = tanh h_1
  again  f8[8,3] = tanh@2 h_1                     # loss:2  again    [recomputed]
  a, b   f8[8,3], f8[8,3] = override h again <- x  outputs=2 grad=rint
  out_1  f8[8,3] = multiply a b                   # loss:3  return lr * np.sum(a * b)
  out_2  f8      = sum out_1  axis=(0, 1)
  out    f8      = multiply lr out_2
"""


def nothing(graph: Graph, node: Node, operands: tuple[Value, ...]) -> None:
    """The rewrite that copies every node."""


@pytest.fixture
def graph() -> Graph:
    """The graph of TEXT, with a place for its function."""
    graph = parse_graph(TEXT, OPS)
    graph.files["loss"] = ("train.py", 30)
    return graph


def test_a_copy_prints_the_same_and_holds_nothing_of_the_original(graph: Graph) -> None:
    new = verify(rebuild(graph, nothing))
    assert print_graph(new) == print_graph(graph)
    assert not {id(value) for value in new.values()} & {id(value) for value in graph.values()}
    assert not {id(node) for node in new.nodes} & {id(node) for node in graph.nodes}


def test_places_regions_and_files_stay(graph: Graph) -> None:
    new = rebuild(graph, nothing)
    assert [node.where for node in new.nodes] == [node.where for node in graph.nodes]
    assert [node.region for node in new.nodes] == [0, 0, 2, 0, 0, 0, 0]
    assert new.files == {"loss": ("train.py", 30)}


def test_tapes_stay(graph: Graph) -> None:
    graph.nodes[1].tapes = (3, 5)
    assert rebuild(graph, nothing).nodes[1].tapes == (3, 5)


def test_the_original_is_not_changed(graph: Graph) -> None:
    def share_regions(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
        return new.copy_node(node, operands, region=0).results

    before = print_graph(graph)
    rebuild(graph, share_regions, {graph.inputs[2]: 2.0})
    assert print_graph(graph) == before


def test_what_a_rewrite_makes_equal_becomes_one_node(graph: Graph) -> None:
    def share_regions(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
        return new.copy_node(node, operands, region=0).results

    new = verify(rebuild(graph, share_regions))
    assert ops_of(new).count("tanh") == 1
    assert new.nodes[2].operands[0] is new.nodes[2].operands[1]


def test_a_value_that_stands_for_another_takes_its_name_if_it_has_none(graph: Graph) -> None:
    def drop_overrides(
        new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        return operands[:2] if node.op.name == "override" else None

    graph.nodes[1].results[0].label = ""  # h is a temporary now, again and a are named
    new = verify(rebuild(graph, drop_overrides))
    assert [value.name for value in new.nodes[3].operands] == ["a", "again"]


def test_inputs_keep_their_names_whatever_they_stand_for(graph: Graph) -> None:
    def first_operand(
        new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        return operands[:1] if node.op.name == "tanh" else None

    text = "graph f(x: f8[3]) -> h: f8[3]\n  h  f8[3] = tanh x\n"
    new = verify(rebuild(parse_graph(text, OPS), first_operand))
    assert print_graph(new) == "graph f(x: f8[3]) -> x: f8[3]\n"


def test_substitutes_become_constants_and_are_no_inputs(graph: Graph) -> None:
    new = verify(rebuild(graph, nothing, {graph.inputs[2]: 0.25}))
    assert [value.name for value in new.inputs] == ["x", "w"]
    assert "out    f8               = multiply 0.25 out_2" in print_graph(new)


def test_constants_are_kept_once(graph: Graph) -> None:
    new = rebuild(graph, nothing)
    assert new.outputs[1] is graph.outputs[1]
    assert new.constant(np.array([0.5, -0.0])) is graph.outputs[1]


def test_a_rewrite_sees_operands_of_the_new_graph(graph: Graph) -> None:
    seen: list[Value] = []

    def watch(new: Graph, node: Node, operands: tuple[Value, ...]) -> None:
        seen.extend(operands)

    new = rebuild(graph, watch)
    there = set(new.values())
    assert seen and all(value in there for value in seen)


def test_the_number_of_results_is_checked(graph: Graph) -> None:
    with pytest.raises(ValueError, match="zip"):
        rebuild(graph, lambda new, node, operands: ())


def test_a_copy_computes_the_same(graph: Graph) -> None:
    text = "graph f(x: f8[2]) -> y: f8[2], y: f8[2]\n  y  f8[2] = multiply x 3\n"
    graph = parse_graph(text, OPS)
    x = np.array([0.1, -0.0])
    for expected, found in zip(
        interpret(graph, x), interpret(rebuild(graph, nothing), x), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_nodes_of_a_passing_graph_move_on_and_read_the_new_one() -> None:
    text = """graph f(x: f8[2]) -> z: f8[2]
  a  f8[2] = exp x
  y  f8[2] = tanh a
  b  f8[2] = exp y
  z  f8[2] = add b a
"""

    def drop(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Any:
        return operands if node.op.name == "tanh" else None

    copied = rebuild(parse_graph(text, OPS), drop)
    graph = parse_graph(text, OPS)
    before = list(graph.nodes)
    graph.is_passing = True
    new = verify(rebuild(graph, drop))
    assert print_graph(new) == print_graph(copied)
    assert new.nodes == [before[0], *before[2:]]
    assert before[2].operands == before[0].results


def test_a_graph_that_is_not_passing_stays_as_it_is() -> None:
    text = "graph f(x: f8[2]) -> z: f8[2]\n  y  f8[2] = tanh x\n  z  f8[2] = exp y\n"
    graph = parse_graph(text, OPS)

    def drop(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Any:
        return operands if node.op.name == "tanh" else None

    before = print_graph(graph)
    new = rebuild(graph, drop)
    assert print_graph(graph) == before and set(new.nodes).isdisjoint(graph.nodes)


def test_a_passing_graph_in_which_nothing_changes_is_the_next_graph() -> None:
    graph = parse_graph("graph f(x: f8[2]) -> y: f8[2]\n  y  f8[2] = exp x\n", OPS)
    graph.is_passing = True
    assert rebuild(graph, nothing) is graph


def test_what_a_pass_makes_equal_to_a_node_that_moved_on_is_that_node() -> None:
    graph = parse_graph(
        """graph f(x: f8[2]) -> z: f8[2]
  a  f8[2] = exp x
  y  f8[2] = tanh x
  z  f8[2] = add a y
""",
        OPS,
    )

    def as_exp(new: Graph, node: Node, operands: tuple[Value, ...]) -> Any:
        if node.op.name != "tanh":
            return None
        return new.emit(OPS["exp"], operands, {}, [node.results[0].type], node.where).results

    graph.is_passing = True
    new = rebuild(graph, as_exp)
    assert ops_of(new) == ["exp", "add"]
    assert new.nodes[1].operands[0] is new.nodes[1].operands[1]
