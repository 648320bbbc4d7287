"""The rewriting of generated functions: what is shown, in which order, and what is not."""

from __future__ import annotations

import ast
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tracejit.debug.checks import Checks, Dependence
from tracejit.debug.instrument import Instrumented
from tracejit.debug.watch import kept, leave, updated


def shown(body: str, **arguments: Any) -> tuple[Any, list[tuple[str, tuple[Any, ...], Any]]]:
    """Run a function with this body, and list its operations: text, operands, result."""
    text = "from numpy import *\nimport numpy as np\nc1 = array(1.0)\n"
    text += f"def forward({', '.join(arguments)}):\n"
    text += "".join(f"    {line}\n" for line in body.splitlines())
    module = ModuleType("tracejit.kernels.f__x__00000000")
    exec(compile(text, "<f>", "exec"), module.__dict__)
    module.__dict__.update(__source__=text, __file__="<f>", SIGNATURE={"inputs": dict(arguments)})
    checks, found = Checks(module), []

    def seen(number: int, operands: tuple[Any, ...], value: Any) -> Any:
        site = checks.sites[number]
        assert len(site.operands) == len(operands), site
        found.append((site.text, operands, np.copy(value)))
        return value

    hooks = {
        "seen": seen, "kept": kept, "updated": updated, "leave": leave,
        "enter": lambda name, given: None, "result": lambda run, text, value: value,
    }  # fmt: skip
    copied = Instrumented(module, checks.rewrite, hooks).copy()
    given = [np.copy(one) for one in arguments.values()]
    answer = copied.forward(*given)
    plain = module.forward(*arguments.values())
    assert np.array_equal(answer, plain, equal_nan=True)
    return answer, found


X = np.array([1.0, 2.0, 3.0])
M = np.arange(9.0).reshape(3, 3)


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("return exp(-x)", ["-x", "exp(-x)"]),
        ("return x.T.dot(x) / 3", ["x.T.dot(x)", "x.T.dot(x) / 3"]),
        ("y = log(x) if x[0] > 5 else x * x\nreturn y", ["x * x"]),
        ("y = x * c1\ny -= x\nreturn y", ["x * c1", "y -= x"]),
        ("y = empty(3)\nexp(x, y)\nreturn y", ["exp(x, y)"]),
        ("y = zeros(3)\ny[1:] = x[1:] * 2.0\nreturn y", ["x[1:] * 2.0", "y[1:]"]),
        ("y = zeros(3)\nadd.at(y, [0, 1], x[:2])\nreturn y", ["add.at(y, [0, 1], x[:2])"]),
        ("y = empty(3)\ncopyto(y, x + 1)\nreturn y", ["x + 1", "copyto(y, x + 1)"]),
        ("linalg.norm(x - 1.0)\nreturn x", ["x - 1.0", "linalg.norm(x - 1.0)"]),
        ("a, b = x + 1, x + 2\nreturn a", ["x + 1", "x + 2"]),
        ("a, b = divmod(x, 2.0)\nreturn a", ["divmod(x, 2.0)"]),
        ("return concatenate((x, x * 2))", ["x * 2", "concatenate((x, x * 2))"]),
        ("return add.reduce(x, axis=None)", ["add.reduce(x, axis=None)"]),
        ("return array([2.0, 1.0])", []),
        ("return minimum(x, -inf)", ["-inf", "minimum(x, -inf)"]),
        ("return x[0:2]", []),
        ("return zeros(3)", []),
        ("return sum(x, where=x > 1.0)", ["sum(x, where=x > 1.0)"]),
    ],
)  # fmt: skip
def test_operations_are_shown_in_the_order_of_the_text(body: str, texts: list[str]) -> None:
    assert [text for text, _, _ in shown(body, x=X)[1]] == texts


def test_loops_and_conditions_show_each_step() -> None:
    body = "y = x\nfor t in reversed(range(2)):\n    y = y * x[t]\nreturn y"
    assert [text for text, _, _ in shown(body, x=X)[1]] == ["y * x[t]"] * 2
    body = "while x.dot(x) < 50.0:\n    x = x * 2.0\nreturn x"
    assert [text for text, _, _ in shown(body, x=X)[1]] == ["x.dot(x)", "x * 2.0", "x.dot(x)"]


def test_operands_are_those_before_an_update_in_place() -> None:
    found = shown("y = x * 2.0\nexp(y, y)\ny *= y\nreturn y", x=X)[1]
    for (_, _, result), (text, operands, _) in pairwise(found):
        assert np.array_equal(operands[0], result), text
    part = shown("y = x + 0.0\nadd(y[1:], y[:-1], y[:-1])\nreturn y", x=X)[1][-1]
    assert np.array_equal(part[1][0], X[1:]) and np.array_equal(part[1][1], X[:-1])


def test_an_array_that_is_only_written_to_is_no_operand() -> None:
    (found,) = shown("y = empty((3, 3))\nm.dot(m, y)\nreturn y", m=M)[1]
    assert len(found[1]) == 2
    (found,) = shown("y = empty(3)\nadd(x, x, out=y)\nreturn y", x=X)[1]
    assert len(found[1]) == 2


def gradients(text: str, name: str = "value_and_grad") -> list[str]:
    """The statements of a function that only gradients depend on."""
    tree = ast.parse(text)
    (function,) = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    space = {"__name__": "tracejit.kernels.f__x__00000000", **vars(np)}
    local = {"x", "w", "out", "h", "x_bar", "a", "t"}
    found = Dependence(space, local).gradient_statements(function)
    return [ast.unparse(one) for one in ast.walk(function) if one in found]


def test_the_statements_of_the_gradient_are_those_that_no_value_depends_on() -> None:
    text = """def value_and_grad(x, w):
    h = x.dot(w)
    tanh(h, h)
    a = h * h
    out = h.dot(h)
    x_bar = h * 2.0
    subtract(1.0, a, a)
    x_bar *= a
    return out, x_bar
"""
    found = gradients(text)
    assert found == ["a = h * h", "x_bar = h * 2.0", "subtract(1.0, a, a)", "x_bar *= a"]


def test_a_name_used_again_by_the_gradient_is_followed_to_its_last_value() -> None:
    text = """def value_and_grad(x):
    h = x * 2.0
    for t in range(3):
        a = h
        h = a * x
    out = h.dot(x)
    h = x * 3.0
    for t in range(3):
        h = h * x
    return out, h
"""
    assert gradients(text) == ["h = x * 3.0", "for t in range(3):\n    h = h * x", "h = h * x"]


def test_all_of_backward_is_the_gradient_and_nothing_of_forward() -> None:
    text = "def backward(residuals, out_bar=1.0):\n    x_bar = out_bar * 2.0\n    return x_bar\n"
    assert "x_bar = out_bar * 2.0" in gradients(text)
    text = "def forward(x):\n    x_bar = x * 2.0\n    return x_bar\n"
    assert gradients(text) == []
