"""Drawings of graphs: boxes for nodes, bodies inside, statements where nodes are too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.explorer.pages import read
from tests.support.running import kernel_of
from tracejit.compiler.kernel import Kernel
from tracejit.explorer import drawing
from tracejit.explorer.drawing import Drawing, backward_nodes, drawing_of
from tracejit.explorer.user_code import Numbers

X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def drawn(kernel: Kernel) -> Drawing:
    return drawing_of(kernel.graph, Numbers(), "out_bar")


def test_every_node_and_input_that_is_read_has_a_box() -> None:
    def f(x: Any, unused: Any) -> Any:
        return np.sum(np.tanh(x) * 2.0)

    kernel = kernel_of(f, X, X)
    root = read(drawn(kernel).svg)
    titles = [one.all("text")[0].text for one in root.all("g", class_="box")]
    assert len(titles) == len(kernel.graph.nodes) + 2
    assert {"x", "out_bar", "tanh", "multiply 2.0"} <= set(titles) and "unused" not in titles
    assert len(root.all("path")) >= len(kernel.graph.nodes)


def test_backward_is_told_by_the_cotangent() -> None:
    kernel = kernel_of(lambda x: np.sum(np.tanh(x)), X)
    backward = backward_nodes(kernel.graph, "out_bar")
    names = [node.op.name for node in kernel.graph.nodes if node not in backward]
    assert backward and names == ["tanh", "sum"]
    root = read(drawn(kernel).svg)
    assert len(root.all("g", class_="back")) == len(backward) + 1  # and the cotangent itself


def test_the_body_of_a_loop_is_one_step_inside_its_box() -> None:
    def f(x: Any) -> Any:
        return tj.scan(lambda c, row: (np.sin(c) + row, c), np.float64(0.0), x)[0]

    kernel = kernel_of(f, np.ones(50))
    root = read(drawn(kernel).svg)
    loops = root.all("g", class_="group")
    assert loops and "of 50 steps" in loops[0].text
    assert "sin" in loops[0].text


def test_a_large_graph_is_drawn_by_statements_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "MOST_NODES", 5)
    monkeypatch.setattr(drawing, "MOST_STATEMENTS", 3)

    def f(x: Any) -> Any:
        y = np.sin(x) * 2.0
        z = y - np.exp(-x)
        return np.sum(z * y)

    made = drawn(kernel_of(f, X))
    boxes = read(made.svg).all("g", class_="box")
    assert [box.all("text")[0].text for box in boxes] == [
        "y = np.sin(x) * 2.0", "z = y - np.exp(-x)", "return np.sum(z * y)",
    ]  # fmt: skip
    assert "2 nodes" in boxes[0].text
    assert len(read(made.svg).all("path")) == 3
    assert "The first 3 boxes of" in made.left_out


def test_the_steps_of_a_loop_that_is_written_out_are_drawn_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drawing, "MOST_NODES", 10)

    def f(x: Any) -> Any:
        for k in range(9):
            x = np.sin(x) * x[0, k % 4]
            x = x - np.exp(-x)
        return np.sum(x)

    made = drawn(kernel_of(f, X))
    texts = [box.text for box in read(made.svg).all("g", class_="box")]
    assert len([text for text in texts if "np.sin" in text]) <= 4
    assert any("times" in text for text in texts) and "all steps of a loop" in made.left_out


def test_names_are_escaped() -> None:
    def f(p: Any) -> Any:
        return np.sum(p["</svg><script>alert(1)</script>"] * 2.0)

    kernel = kernel_of(f, {"</svg><script>alert(1)</script>": X})
    assert {one.tag for one in read(drawn(kernel).svg).all()} <= {"g", "rect", "text", "path"}
