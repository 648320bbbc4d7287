"""Python 3.14 and later, simulated: what their `ast` and `inspect` have no more, or do otherwise.

`tests/trace/source/test_bytecode.py` has their bytecode.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.processes import ROOT, python
from tracejit.trace.arguments import signature

WITHOUT_OLD_NODES = """
import ast, warnings

warnings.simplefilter("error")
for name in ("Num", "Str", "Bytes", "NameConstant", "Ellipsis"):
    vars(ast).pop(name, None)
vars(ast).pop("__getattr__", None)  # which answers them with a warning, up to Python 3.13
for name in ("n", "s"):
    if name in vars(ast.Constant):
        delattr(ast.Constant, name)
for visit in [name for name in vars(ast.NodeVisitor) if name == "visit_Constant"]:
    delattr(ast.NodeVisitor, visit)  # which hands on to visit_Num and its kin
assert not hasattr(ast, "Num") and not hasattr(ast.Constant(1), "n")

import numpy as np
import tracejit as tj


@tj.function
def loss(w, x):
    if np.sum(w) > 10.0:
        return np.sum(np.tanh(x @ w) ** 2)
    for k in range(3):
        x = np.where(x > 0.5, x, -0.1 * x)
    return np.sum(x[1:] @ w) / 3 - 1


w, x = np.ones(3), np.linspace(0.0, 1.0, 12).reshape(4, 3)
value, slope = tj.value_and_grad(loss)(w, x)
tj.value_and_grad(loss)(20 * w, x)
print(repr(float(value)), slope.tolist())
"""


def test_code_is_generated_without_the_old_nodes_of_ast() -> None:
    kept = WITHOUT_OLD_NODES.partition("import numpy")
    assert python(WITHOUT_OLD_NODES) == python("import numpy" + kept[2])


def test_no_module_names_an_old_node_of_ast() -> None:
    old = ("ast.Num", "ast.Str", "ast.Bytes", "ast.NameConstant", "ast.Ellipsis")
    for path in Path(tj.__file__).parent.rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            code = line.partition("#")[0]
            assert not any(f"{name}(" in code or f"{name})" in code for name in old), (path, number)


def test_annotations_are_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    def annotated(x: Any) -> Any:
        return x + 1.0

    if sys.version_info >= (3, 14):
        space: dict[str, Any] = {}
        exec("def annotated(x: NotThere) -> NorThis:\n    return x + 1.0", space)
        annotated = space["annotated"]
    else:
        plain = inspect.signature

        def lazily(function: Any, *, annotation_format: Any = None, **options: Any) -> Any:
            if function is annotated and annotation_format is None:
                raise NameError("name 'NotThere' is not defined")
            return plain(function, **options)

        monkeypatch.setattr(inspect, "signature", lazily)
        monkeypatch.setattr(signature, "LAZILY", {"annotation_format": "FORWARDREF"})
    assert tj.function(annotated)(np.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is of Python 3.11")
def test_no_version_of_python_is_shut_out() -> None:
    tomllib = importlib.import_module("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.10"
