"""Objects that were built anew take the places of those that were read, where all of that is the
same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.convert.running import define
from tests.rows import each_row
from tests.trace.reads.running import recorded
from tracejit.trace.guards.guards import Is, OfType
from tracejit.trace.reads.repair import repaired

X = np.array([1.0, 2.0])
HEAD = """
import functools
import numpy as np
class Layer:
    def __init__(self, w): self.w, self.uses = w, 0
    def scaled(self, x): return x * self.w[0]
def scaling(k): return lambda x: x * k
"""


@each_row(
    "text, change, other",
    [
        ("l = [1.0, 2.0]\ndef f(x): return x * l[1]", "l = [5.0, 2.0]", "l[1] = 3.0"),
        (
            "n = [Layer([2.0])]\ndef f(x): return sum(one.scaled(x) for one in n)",
            "n = [Layer([2.0, 7.0])]",
            "n[0].w[0] = 4.0",
        ),
        ("h = scaling(2.0)\ndef f(x): return h(x)", "h = scaling(2.0)", "h = scaling(3.0)"),
        (
            "h = functools.partial(np.multiply, 2.0)\ndef f(x): return h(x)",
            "h = functools.partial(np.multiply, 2.0)",
            "h = functools.partial(np.multiply, 3.0)",
        ),
        (
            "d = {'a': (1.0, [2.0])}\ndef f(x): return x * d['a'][1][0]",
            "d = {'a': (1.0, [2.0]), 'b': 3.0}",
            "d['a'][1][0] = 3.0",
        ),
        (
            "w = np.array([3, 1])\ndef f(x): return x[np.argsort(w)]",
            "w = np.array([3, 1])",
            "w[1] = 5",
        ),
    ],
)
def test_a_kernel_serves_on(text: str, change: str, other: str) -> None:
    """After the change nothing is recorded, also not when it is made again; after the other one
    the function is."""
    module = define(HEAD + text)
    compiled = tj.function(module["f"])
    for edit, recordings in (("", 1), (change, 1), (change, 1), (other, 2)):
        exec(edit, module)
        np.testing.assert_array_equal(compiled(X), module["f"](X))
        assert compiled.tracing_count == recordings


def test_all_paths_of_a_kernel_are_repaired() -> None:
    text = "l = [2.0, 3.0]\ndef f(x): return x * l[0] if (x[0] > 0).__bool__() else x * l[1]"
    module = define(text)
    compiled = tj.function(module["f"])
    for _ in range(3):
        module["l"] = [*module["l"], 0.0]
        for x in (X, -X):
            np.testing.assert_array_equal(compiled(x), module["f"](x))
    assert compiled.tracing_count == 2
    module["l"] = [2.0, 4.0]
    np.testing.assert_array_equal(compiled(-X), -X * 4.0)


@each_row(
    "name, text, edit",
    [
        ("global", "def f(x): return x @ w", "w = w * 2.0 - 1.0"),
        ("in a dict", "def f(x): return x @ d['w']", "d['w'] = d['w'] + 0.5"),
        ("in a tuple", "def f(x): return x @ t[1][0]", "t = (1.0, [t[1][0] * 3.0])"),
        ("of an object", "def f(x): return x @ one.w", "one = Layer(one.w - 1.0)"),
    ],
)
def test_arrays_that_are_operands_are_read_at_their_places(name: str, text: str, edit: str) -> None:
    """Values, gradients and tapes see the new array, and nothing is recorded."""
    head = HEAD + "w = np.ones(2)\nd, t, one = {'w': w + 1}, (1.0, [w + 2]), Layer(w + 3)\n"
    module = define(head + text)
    value, slope = tj.function(module["f"]), tj.grad(tj.function(module["f"]))
    step = np.eye(2)
    for _ in range(4):
        np.testing.assert_array_equal(value(X), module["f"](X))
        expected = [module["f"](row) for row in step]
        np.testing.assert_array_equal(slope(X), expected)
        x = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = value(x)
        np.testing.assert_array_equal(tape.gradient(y, x), expected)
        exec(edit, module)
    assert len(value.kernels) == 1
    assert value.tracing_count <= 2
    exec("w = w.astype('f4'); d['w'] = w; t = (1.0, [w]); one = Layer(w)", module)
    assert value(X.astype("f4")).dtype == np.float32


def test_an_array_in_another_order_is_another_one() -> None:
    module = define("import numpy as np\nw = np.arange(6.0).reshape(2, 3)\ndef f(x): return x @ w")
    compiled = tj.function(module["f"])
    for w in (np.ones((2, 3)), np.asfortranarray(np.ones((2, 3)) * 2), np.ones((4, 3))[::2]):
        compiled(X)
        module["w"] = w
        np.testing.assert_array_equal(compiled(X), X @ w)


def test_an_export_has_the_array_of_now(tmp_path: Path) -> None:
    module = define("import numpy as np\nw = np.ones(2)\ndef f(x): return x @ w")
    compiled = tj.function(module["f"])
    compiled(X)
    module["w"] = np.array([3.0, 4.0])
    np.testing.assert_array_equal(compiled(X), X @ module["w"])
    assert compiled.tracing_count == 1
    path = tmp_path / "exported.py"
    tj.export(compiled, X, path=path)
    exported: dict[str, Any] = {}
    exec(path.read_text("utf-8"), exported)
    np.testing.assert_array_equal(exported["call"](X)[0], X @ module["w"])


def test_what_stands_at_a_place_is_of_the_same_class() -> None:
    module = define(HEAD + "l = Layer([2.0])\ndef f(x): return l.scaled(x)")
    kernel = recorded(module["f"], X)
    former = module["l"]
    module["l"] = type("Other", (module["Layer"],), {})([2.0])
    assert kernel.repaired() is None
    module["l"] = module["Layer"]([2.0])
    found = kernel.repaired()
    assert found is not None and found.guard is not None
    guards = [guard for _, guard in found.guard.conditions]
    assert OfType(module["Layer"]) in guards
    assert not any(type(one) is Is and one.wanted is former for one in guards)


@pytest.mark.parametrize("fixed", [True, False])
def test_what_is_fixed_stays(fixed: bool) -> None:
    module = define("l = [1.0]\ndef f(x): return x * l[0]")
    kernel = recorded(module["f"], X)
    assert kernel.guard is not None
    one: Any = module["l"]
    module["l"] = [1.0]
    found = repaired(kernel.guard.conditions, {id(one)} if fixed else ())
    assert (found is None) is fixed


@each_row(
    "text",
    [
        "def f(x):\n    l.append(1.0)\n    return x * len(m)",
        "def f(x):\n    l[0] = 5.0\n    return x * m[0]",
        "class A: n = 0\na = A()\na.n = 0\ndef f(x):\n    a.n += 1\n    return x * m[0] * a.n",
    ],
)
def test_a_function_that_changes_something_is_not_repaired(text: str) -> None:
    """The new object may be the one that it changes."""
    module, twin = (define("l, m = [1.0], [1.0]\n" + text) for _ in range(2))
    compiled = tj.function(module["f"])
    for edit in ("", "", "m = l", "", "m = [1.0]", ""):
        exec(edit, module)
        exec(edit, twin)
        np.testing.assert_array_equal(compiled(X), twin["f"](X))
