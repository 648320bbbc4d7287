"""The verifier finds each kind of broken graph."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interpret import record
from tracejit.ir.graph import Graph, Value
from tracejit.ir.step_sizes import StepSizes
from tracejit.ir.types import ArrayType
from tracejit.ir.verify import check_steps, verify
from tracejit.ops.base.op import OPS
from tracejit.support.errors import GraphError

VECTOR = ArrayType((3,), np.dtype("f8"))


def graph_of_exp() -> Graph:
    """A graph that satisfies every invariant."""
    graph, _ = record(lambda x: np.exp(x), np.ones(3), name="f")
    return graph


def test_a_sound_graph_is_answered() -> None:
    graph = graph_of_exp()
    assert verify(graph) is graph


def test_a_value_used_before_it_is_made() -> None:
    graph = graph_of_exp()
    graph.emit(OPS["tanh"], (graph.outputs[0],), {}, [VECTOR], None)
    graph.nodes.reverse()
    with pytest.raises(GraphError, match=r"node 0 \(tanh\) uses .* before it is made"):
        verify(graph)


def test_a_type_that_the_op_does_not_infer() -> None:
    graph = graph_of_exp()
    graph.nodes[0].results[0].type = ArrayType((4,), np.dtype("f8"))
    with pytest.raises(GraphError, match=r"node 0 \(exp\) has types .*infer says"):
        verify(graph)


def test_an_output_of_another_graph() -> None:
    graph = graph_of_exp()
    graph.outputs = [Value(VECTOR)]
    with pytest.raises(GraphError, match="is not in the graph"):
        verify(graph)


def test_two_values_of_one_name() -> None:
    graph = graph_of_exp()
    graph.outputs[0].name = "x"
    with pytest.raises(GraphError, match="two values share a name"):
        verify(graph)


def test_an_output_may_be_a_constant_or_an_input() -> None:
    graph = graph_of_exp()
    graph.outputs = [graph.constant(1.0), graph.inputs[0]]
    verify(graph)


def test_a_size_of_a_step_stays_in_its_loop() -> None:
    graph = Graph("f")
    graph.sizes = sizes = StepSizes()
    x = graph.add_input("x", ArrayType((8,), np.dtype("f8")))
    index = (("slice", None, sizes.step(8) + 1, None),)
    kind = OPS["getitem"].result_types([x.type], {"index": index})
    graph.emit(OPS["getitem"], (x,), {"index": index}, kind, None)
    check_steps(graph, frozenset([0]))
    with pytest.raises(GraphError, match="outside of its loop"):
        check_steps(graph)
