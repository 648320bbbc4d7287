"""Copies of what is read late, and of nothing else."""

from __future__ import annotations

from tests.support.graphs import ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parse_graph
from tracejit.ops.base.op import OPS
from tracejit.passes.algebra.simplify import simplify
from tracejit.passes.exact.cse import share
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.framework.rematerialise import Late, recompute

TEXT = """graph f(x: f8[3], g: f8[3]) -> out: f8, x_bar: f8[3]
  a      f8[3] = sin x       # f:1  a = np.sin(x)
  b      f8[3] = tanh a      # f:2  b = np.tanh(a)
  c      f8[3] = exp b       # f:3  c = np.exp(b)
  out    f8    = sum c  axis=(0,)
  d      f8[3] = multiply g c
  e      f8[3] = multiply d b
  x_bar  f8[3] = multiply e a
"""


def graph() -> Graph:
    return parse_graph(TEXT, OPS)


def repeated(again: tuple[int, ...]) -> tuple[Graph, list[str]]:
    """The graph with the results of these nodes computed again for the last three."""
    made = graph()
    values = frozenset(value for number in again for value in made.nodes[number].results)
    new, originals = recompute(made, {0: Late(made.nodes[4:], values)})
    return new, [value.name for value in originals]


def test_nothing_to_compute_again_leaves_the_graph() -> None:
    made = graph()
    assert recompute(made, {0: Late(made.nodes[4:], frozenset())}) == (made, [])


def test_a_copy_stands_before_what_reads_it_first() -> None:
    new, names = repeated((1,))
    assert ops_of(new) == [
        "sin", "tanh", "exp", "sum", "multiply", "tanh", "multiply", "multiply",
    ]  # fmt: skip
    assert names == ["b"]


def test_what_a_copy_needs_is_copied_with_it() -> None:
    new, names = repeated((0, 1, 2))
    assert [node.op.name for node in new.nodes[4:8]] == ["sin", "tanh", "exp", "multiply"]
    assert names == ["a", "b", "c"]
    assert len({node.region for node in new.nodes[4:7]} - {0}) == 1
    assert {node.where.note for node in new.nodes[4:7]} == {"recomputed"}


def test_no_pass_merges_copies_with_the_first() -> None:
    new, _ = repeated((0, 1, 2))
    assert len(drop_dead(share(simplify(new))).nodes) == len(new.nodes)


def test_every_value_has_a_name_of_its_own() -> None:
    new, _ = repeated((0, 2))
    names = [value.name for value in new.values()]
    assert len(names) == len(set(names))
