"""Sizes that differ from step to step: one answer for all steps, or none."""

from __future__ import annotations

import pytest

from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ir.step_sizes import NotForAllSteps, StepSizes
from tracejit.ir.subgraph import differs_in_size
from tracejit.ops.base.op import OPS
from tracejit.ops.control.control_flow import run

PREFIXES = """graph sums(x: f8[6]) -> out: f8[6]
  steps t<6
  z    f8[6] = full  shape=(6,) fill=0.0 dtype=f8
  out  f8[6] = loop x z  body=step invariants=1 carried=1 length=6 reverse=False size=0
    body: graph step(x: f8[6], z: f8[6], t: ~i8) -> z_1: f8[6]
      part   f8[t] = getitem x  index=(('slice', None, t, None),)
      total  f8    = sum part  axis=(0,)
      z_1    f8[6] = set_item z t total  index=('{1}',) unique=True
"""


def test_what_holds_of_all_steps_is_known() -> None:
    t = StepSizes().step(8)
    assert t + 1 > 0 and 10 - t > 2 and t < 8 and not t > 7
    assert t != 8 and 2 * t != 7 and t - t == 0
    assert t != 0 and t != 1 and t > 0 and t > 1 and not t < 2


def test_of_loops_in_loops() -> None:
    """A step of an inner loop is one of fewer than the outer loop has begun."""
    sizes = StepSizes()
    t = sizes.step(8)
    j = sizes.step(t + 1, 8)
    assert j < t + 1 and t + 3 > j and not j > t + 2 and j != t + 2 and j - j + 3 == 3
    assert 8 - j > 0 and t + j < 20
    for question in (lambda: j < t, lambda: j == t, lambda: j > 4, lambda: t * j > 7):
        with pytest.raises(NotForAllSteps):
            question()


@pytest.mark.parametrize("question", [lambda t: t < 4, lambda t: t == 5, lambda t: 9 - t > t])
def test_what_holds_of_some_steps_is_refused(question: object) -> None:
    with pytest.raises(NotForAllSteps, match="whether"):
        question(StepSizes().step(8))  # type: ignore[operator]


@pytest.mark.parametrize("number", [int, float, hash, range, lambda t: [0] * t])
def test_its_number_is_refused(number: object) -> None:
    with pytest.raises(NotForAllSteps, match="the number of t"):
        number(StepSizes().step(8))  # type: ignore[operator]


def test_none_of_them_is_free() -> None:
    sizes = StepSizes()
    first, second = sizes.step(8), sizes.step(3)
    assert sizes.free() == [] and sizes.conditions() == []
    assert sizes.line() == "  steps t<8 t_1<3"
    assert (first + second).least() == 0 and (5 - first).least() == -2


def test_a_loop_with_them_is_printed_parsed_and_run() -> None:
    graph = parse_graph(PREFIXES, OPS)
    assert print_graph(graph) == PREFIXES
    body = graph.nodes[1].params["body"].graph
    assert [differs_in_size(node) for node in body.nodes] == [True, False, False]
    (out,) = run(graph, [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    assert out.tolist() == [0.0, 1.0, 3.0, 6.0, 10.0, 15.0]
