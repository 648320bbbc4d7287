"""Updates in place: steps touch the part of a carried array that they change."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tests.interpret import interpret
from tests.support.graphs import ops_of
from tracejit.ir.printer import parse_graph
from tracejit.loops.bodies.loop_updates import update_in_place
from tracejit.ops.base.op import OPS
from tracejit.passes.framework.dce import drop_dead

HEAD = "graph step(acc: f8[5], g: f8[2], h: f8, i: i8) -> out: f8[5]\n"
LINES = {
    "a slice": "p  f8[5] = put_slice g  shape=(5,) index=(('slice', 1, 3, None),)",
    "a place": "p  f8[5] = put_slice h i  shape=(5,) index=('{1}',)",
}


def checked(text: str) -> list[str]:
    """The ops of a body after the pass, which computes the same."""
    graph = parse_graph(text, OPS)
    after = drop_dead(update_in_place(graph))
    arguments = [np.arange(5.0), np.array([3.0, -1.0]), np.float64(7.0), np.int64(2)]
    for old, new in zip(interpret(graph, *arguments), interpret(after, *arguments), strict=True):
        np.testing.assert_allclose(old, new)
    return ops_of(after)


def test_parts_in_zeros_are_added_in_the_array() -> None:
    for line in LINES.values():
        assert checked(f"{HEAD}  {line}\n  out  f8[5] = add acc p\n") == ["add_item"]
        assert checked(f"{HEAD}  {line}\n  out  f8[5] = add p acc\n") == ["add_item"]


def test_several_parts_are_added_one_after_the_other() -> None:
    lines = LINES["a slice"], LINES["a place"].replace("p ", "q ", 1)
    text = "".join(
        f"  {line}\n" for line in (*lines, "s  f8[5] = add p q", "out  f8[5] = add s acc")
    )
    assert checked(HEAD + text) == ["add_item", "add_item"]


def test_parts_that_are_read_again_stay() -> None:
    text = f"{HEAD}  {LINES['a slice']}\n  s  f8[5] = add acc p\n  out  f8[5] = multiply s p\n"
    assert checked(text) == ["put_slice", "add", "multiply"]


def test_a_copy_that_is_updated_is_none() -> None:
    copy = "  c  f8[5] = copy acc  order='C'\n"
    update = "add_item c h  index=(3,) unique=True"
    assert checked(f"{HEAD}{copy}  out  f8[5] = {update}\n") == ["add_item"]
    read = f"{HEAD}{copy}  a  f8[5] = {update}\n  out  f8[5] = multiply a c\n"
    assert checked(read) == ["add_item", "multiply"]
    returned = read.replace("out  f8[5] = multiply a c", "out  f8[5] = multiply a a").replace(
        "-> out: f8[5]", "-> out: f8[5], c: f8[5]"
    )
    assert checked(returned) == ["copy", "add_item", "multiply"]


def test_the_gradient_of_an_element_is_one_place() -> None:
    x = np.arange(1.0, 7.0)

    def loss(x: Any) -> Any:
        return tj.fori_loop(1, 6, lambda i, s: s * 0.5 + x[i] * x[i - 1], 0.0)

    def unrolled(x: Any) -> Any:
        s = 0.0
        for i in range(1, 6):
            s = s * 0.5 + x[i] * x[i - 1]
        return s

    derivative = tj.value_and_grad(loss)
    np.testing.assert_allclose(derivative(x)[1], tj.grad(unrolled)(x))
    steps = [line for line in derivative.source.split("\n") if line.startswith("        ")]
    assert not any("zeros" in line for line in steps)
