"""Whole modules: they need NumPy alone, run, and read as agreed."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tests.support.processes import python
from tests.support.running import kernel_of
from tracejit.compiler.kernel import Kernel

BIG = np.linspace(-1.0, 1.0, 60).reshape(20, 3)


def mlp(x, w, b):
    h = np.tanh(x @ w + b)
    q = tj.grad_pass_through(np.rint)(h * 4.0)
    return np.sum(q * q) * 0.5


X, W, B = (np.sin(np.arange(n)).reshape(s) for n, s in ((640, (40, 16)), (128, (16, 8)), (8, (8,))))


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    """A kernel with statements in place, a marker and several lines."""
    return kernel_of(mlp, X, W, B, argnums=(1, 2))


def functions(kernel: Kernel) -> dict[str, ast.FunctionDef]:
    """The functions of a module."""
    tree = ast.parse(kernel.source)
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_a_module_imports_numpy_alone(kernel: Kernel) -> None:
    tree = ast.parse(kernel.source)
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [getattr(node, "module", None) for node in imports] == ["numpy"]
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.If))]


def test_it_has_three_functions_with_docstrings(kernel: Kernel) -> None:
    found = functions(kernel)
    assert list(found) == ["forward", "backward", "value_and_grad"]
    assert {name: ast.get_docstring(node) for name, node in found.items()} == {
        "forward": "Return (out, residuals).",
        "backward": "Return (w_bar, b_bar), the gradients, from forward's residuals.",
        "value_and_grad": "Return out and (w_bar, b_bar), as forward and backward in one.",
    }


def test_parameters_are_the_users(kernel: Kernel) -> None:
    found = {name: [a.arg for a in node.args.args] for name, node in functions(kernel).items()}
    assert found["forward"] == found["value_and_grad"] == ["x", "w", "b"]
    assert found["backward"] == ["residuals", "out_bar"]


def test_a_value_alone_has_only_forward() -> None:
    kernel = tj.function(mlp, cache=False).kernel(X, W, B)
    assert list(functions(kernel)) == ["forward"]
    assert_same(kernel.forward(X, W, B), mlp(X, W, B))
    with pytest.raises(AttributeError, match="computes only the value"):
        _ = kernel.backward


def test_forward_and_backward_are_value_and_grad(kernel: Kernel) -> None:
    out, residuals = kernel.forward(X, W, B)
    fused, gradients = kernel.value_and_grad(X, W, B)
    assert_same(out, fused)
    for split, whole in zip(kernel.backward(residuals), gradients, strict=True):
        assert_same(split, whole)
    for split, whole in zip(kernel.backward(residuals, 2.0), gradients, strict=True):
        np.testing.assert_allclose(split, 2.0 * whole)


def test_backward_may_be_called_again_and_again(kernel: Kernel) -> None:
    _, residuals = kernel.forward(X, W, B)
    before = [np.copy(value) for value in residuals]
    first = kernel.backward(residuals)
    for gradient in first:
        gradient[...] = np.nan
    second = kernel.backward(residuals)
    for kept, value in zip(before, residuals, strict=True):
        assert_same(np.asarray(kept), np.asarray(value))
    for found, expected in zip(second, kernel.value_and_grad(X, W, B)[1], strict=True):
        assert_same(found, expected)


def test_an_array_cotangent_is_not_written_to() -> None:
    kernel = kernel_of(lambda x: (np.sin(x) * 2.0).reshape(()), np.ones(1))
    _, residuals = kernel.forward(np.ones(1))
    out_bar = np.array(3.0)
    kernel.backward(residuals, out_bar)
    assert out_bar == 3.0


def test_every_line_of_the_users_is_cited_once_per_run(kernel: Kernel) -> None:
    lines = kernel.source.splitlines()
    comments = [line.strip() for line in lines if line.startswith("    # ")]
    forward = comments[:3]
    assert forward == [
        "# mlp:1  h = np.tanh(x @ w + b)",
        "# mlp:2  q = tj.grad_pass_through(np.rint)(h * 4.0)",
        "# mlp:3  return np.sum(q * q) * 0.5",
    ]
    backward = comments[3:6]
    assert [line.split()[1] for line in backward] == ["mlp:3", "mlp:2", "mlp:1"]
    assert backward[1].endswith("    [straight-through]")
    for text in kernel.source.split("\ndef ")[1:]:
        cited = re.findall(r"^    # (.*)", text, re.MULTILINE)
        assert all(one != other for one, other in pairwise(cited))


def test_every_imported_name_is_used(kernel: Kernel) -> None:
    tree = ast.parse(kernel.source)
    (imported,) = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = [alias.name for alias in imported.names]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names == sorted(names)
    assert set(names) <= used


def test_lines_fit_the_page(kernel: Kernel) -> None:
    lines = kernel.source.splitlines()
    assert max(len(line) for line in lines if not line.startswith("# tracejit sha256")) <= 100


def test_constants_small_and_large(tmp_path: Path) -> None:
    small = np.array([1.0, -2.0, 0.5])

    def f(x):
        return np.sum(x * np.linspace(-1.0, 1.0, 60).reshape(20, 3) * np.array([1.0, -2.0, 0.5]))

    x = np.ones((20, 3))
    kernel = kernel_of(f, x)
    assert re.search(r"^c_\d = array\(\[1\.0, -2\.0, 0\.5\]\)$", kernel.source, re.MULTILINE)
    assert re.search(r'^    (c_\d) = constants\["\1"\]$', kernel.source, re.MULTILINE)
    assert_same(kernel.value_and_grad(x)[1], BIG * small)
    kernel.save(tmp_path / "f.py")
    assert (tmp_path / "f.npz").is_file()
    assert_same(tj.load(tmp_path / "f.py").value_and_grad(x)[1], BIG * small)


def test_the_same_constant_in_several_functions_is_defined_once() -> None:
    kernel = kernel_of(lambda x: np.sum(np.tanh(x * np.array([1.0, 2.0, 3.0]))), np.ones(3))
    assert kernel.source.count("array([1.0, 2.0, 3.0])") == 1


def test_a_module_of_nothing() -> None:
    kernel = tj.function(lambda x: (), cache=False).kernel(np.ones(3))
    assert kernel.forward(np.ones(3)) == ()
    one = tj.function(lambda x: {"a": 1.5, "x": x}, cache=False)
    assert one(np.ones(2))["a"] == 1.5


def test_values_of_zero_dimensions_keep_their_class() -> None:
    kernel = kernel_of(lambda x: x * x, np.array(3.0))
    value, gradient = kernel.value_and_grad(np.array(3.0))
    assert type(value) is np.float64
    assert type(gradient) is np.ndarray and gradient.shape == ()
    assert type(kernel.backward(kernel.forward(np.array(3.0))[1])) is np.ndarray


def test_a_saved_module_runs_without_tracejit(kernel: Kernel, tmp_path: Path) -> None:
    kernel.save(tmp_path / "mlp.py")
    np.savez(tmp_path / "data.npz", x=X, w=W, b=B)
    script = (
        "import sys, numpy as np\n"
        "sys.modules['tracejit'] = None\n"
        "import mlp\n"
        "data = np.load('data.npz')\n"
        "out, (w, b) = mlp.value_and_grad(data['x'], data['w'], data['b'])\n"
        "np.savez('found.npz', out=out, w=w, b=b)\n"
    )
    python(script, cwd=tmp_path)
    found = np.load(tmp_path / "found.npz")
    out, (w_bar, b_bar) = kernel.value_and_grad(X, W, B)
    assert_same(np.asarray(out), found["out"])
    assert_same(w_bar, found["w"])
    assert_same(b_bar, found["b"])


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from tests.targets.numpy.text.test_module import *\n"
        "sys.stdout.write(kernel_of(mlp, X, W, B, argnums=(1, 2)).source)\n"
    )
    texts = [
        python(script, PYTHONHASHSEED=seed, TRACEJIT_CACHE_DIR=str(tmp_path / seed))
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1] != ""


def test_a_value_that_has_no_name_is_refused_and_nothing_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Should a word ever come past the graph: the emitter refuses it."""
    monkeypatch.setattr("tracejit.ir.value_names.identifier", str)
    monkeypatch.setattr("tracejit.ir.graph.identifier", str)
    word = "a=__import__('builtins').canary()"
    held = {word: np.arange(3.0)}
    with pytest.raises(tj.TracejitError, match="is not a valid name, and is not written into code"):
        tj.function(lambda x: np.sum(x * held[word]))(np.ones(3))
