"""Modules written with marks: their trees are those of the modules without."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.test_golden import PROGRAMS
from tracejit.text.marks import PREFIX, marking


class Unmarked(ast.NodeTransformer):
    """Takes marks out of a tree."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        is_mark = isinstance(node.func, ast.Name) and node.func.id.startswith(PREFIX)
        return node.args[0] if is_mark else node

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.generic_visit(node)
        is_mark = isinstance(node.value, ast.Name) and node.value.id.startswith(PREFIX)
        return None if is_mark else node


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_its_marks_a_module_is_what_it_was(name: str) -> None:
    kernel = PROGRAMS[name].kernel()
    before = str(kernel.source)
    text, nodes = kernel.marked() or ("", [])
    numbers = {int(number) for number in re.findall(rf"{PREFIX}(\d+)", text)}
    assert numbers and numbers <= set(range(len(nodes)))
    assert ast.dump(Unmarked().visit(ast.parse(text))) == ast.dump(ast.parse(before))
    assert kernel.source == before


def test_nothing_is_marked_but_where_that_is_asked() -> None:
    with marking() as nodes:
        pass
    f = tj.function(lambda x: np.sum(np.tanh(x) * 2.0), cache=False)
    assert PREFIX not in f.kernel(np.ones(3)).source
    assert nodes == []


def test_loops_and_conditions_are_marked_inside() -> None:
    def f(x: Any) -> Any:
        def step(total: Any, row: Any) -> Any:
            new = tj.cond(row > 0.0, lambda: total + np.exp(-row), lambda: total * 0.5)
            return new, new

        return tj.scan(step, np.float64(0.0), x)[0]

    kernel = tj.value_and_grad(tj.function(f, cache=False)).kernel(np.linspace(-1.0, 1.0, 40))
    text, nodes = kernel.marked() or ("", [])
    assert {"exp", "add"} <= {node.op.name for node in nodes}
    assert re.search(rf"(?m)^ {{8,}}{PREFIX}\d+$", text)
    assert "for " in text
