"""Kernels: what a generated module offers, where it is kept, and that it is the same everywhere."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.support.compare import assert_same
from tests.support.processes import finished, python
from tracejit.cache.store import CacheWarning
from tracejit.support.errors import KernelError

ROOT = Path(__file__).parents[2]
X = np.array([[1.0, -2.0, 3.5], [0.25, 0.0, -0.0]])
W = np.array([2.0, -0.5, 4.0])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: None) -> Path:
    """A cache folder for one test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(folder))
    return folder


def loss(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    return np.sum(h * h)


SLOPE = 2 * np.tanh(X @ W) / np.cosh(X @ W) ** 2 @ X


# Kernels of a function


def test_the_kernel_for_a_call_is_made_once_and_not_run() -> None:
    compiled = tj.function(loss)
    kernel = compiled.kernel(X, W)
    assert compiled.kernels == [kernel]
    assert_same(compiled(X, W), loss(X, W))
    assert compiled.kernel(X, w=W) is kernel
    assert compiled.kernel(tj.TensorSpec((2, 3)), tj.TensorSpec([3], float, "w")) is kernel
    assert compiled.kernel(X + 1.0, W * 2.0) is kernel
    assert len(compiled.kernels) == 1


def test_a_large_constant_is_held_once() -> None:
    first, second = np.eye(40), np.ones((40, 40))
    second[0, 0] = -0.0
    compiled = tj.function(lambda x: x @ first + x @ second + np.eye(40), exact=True)
    x = np.linspace(0.0, 1.0, 1600).reshape(40, 40)
    for _ in range(2):
        kernel = compiled.kernel(x)
        held = [one for one in vars(kernel.module).values() if isinstance(one, np.ndarray)]
        constants = [constant.data for constant in kernel.graph.constants()]
        assert held and all(any(one is data for data in constants) for one in held)
        assert_same(compiled(x), compiled.python(x))
        compiled = tj.function(compiled.python, exact=True)  # from disk


def test_specs_describe_other_kernels() -> None:
    compiled = tj.function(lambda x, k: x * k)
    single = compiled.kernel(tj.TensorSpec((4,), np.float32), 2.0)
    assert single.signature["outputs"] == ("f4[4]",)
    assert_same(compiled(np.ones(4, np.float32), 2.0), np.full(4, 2.0, np.float32))
    assert compiled.kernels == [single]
    assert compiled.kernel(tj.TensorSpec((4,)), 2.0) is not single
    assert compiled.kernel(tj.TensorSpec(()), 2.0) is not compiled.kernel(np.float64(1.0), 2.0)
    assert len(compiled.kernels) == 4


def test_a_kernel_after_a_change_of_what_is_read_is_another() -> None:
    state = {"k": 2.0}
    compiled = tj.function(lambda x: x * state["k"])
    first = compiled.kernel(X)
    state["k"] = 3.0
    second = compiled.kernel(X)
    assert second is not first
    assert_same(second.forward(X, 3.0), X * 3.0)


def test_clearing_forgets_kernels() -> None:
    compiled = tj.function(loss)
    kernel = compiled.kernel(X, W)
    compiled.cache_clear()
    assert compiled.kernels == []
    assert_same(compiled(X, W), loss(X, W))
    assert compiled.kernels[0] is not kernel
    assert compiled.kernels[0].key == kernel.key


def test_source_is_that_of_the_newest_kernel() -> None:
    compiled = tj.function(lambda x: x * 2.0)
    with pytest.raises(AttributeError, match="no kernel yet"):
        _ = compiled.source
    compiled(X)
    compiled(W)
    assert compiled.source == compiled.kernels[1].source
    assert "x f8[3]" in compiled.source


# What a kernel offers


def test_a_kernel_of_a_value_has_forward_alone() -> None:
    kernel = tj.function(loss).kernel(X, W)
    assert_same(kernel.forward(X, W), loss(X, W))
    for name in ("backward", "value_and_grad"):
        with pytest.raises(AttributeError, match="computes only the value"):
            getattr(kernel, name)
    with pytest.raises(AttributeError, match=r"tj\.value_and_grad\(f\)\.kernel"):
        kernel.residuals()


def test_a_kernel_of_a_gradient_has_forward_backward_and_both_in_one() -> None:
    kernel = tj.value_and_grad(loss, argnums=1).kernel(X, W)
    out, residuals = kernel.forward(X, W)
    assert_same(out, loss(X, W))
    slope = kernel.backward(residuals)
    assert np.allclose(slope, SLOPE, rtol=1e-14)
    assert np.allclose(kernel.backward(residuals, np.float64(3.0)), 3.0 * slope, rtol=1e-14)
    assert kernel.value_and_grad is kernel.module.value_and_grad  # no check, nothing in between
    both = kernel.value_and_grad(X, W)
    assert_same(both[0], out)
    assert np.allclose(both[1], slope, rtol=1e-14)
    assert kernel.signature["gradient"] == ("w",)
    assert set(kernel.residuals()) <= {"x", "w", "h", "out_1"}
    assert kernel.residuals() == kernel.signature["residuals"]


@pytest.mark.parametrize("size", [3, 1000])
def test_backward_leaves_residuals_and_cotangent_alone(size: int) -> None:
    def f(x: Any) -> Any:
        h = np.exp(x)
        return np.sum(h * np.tanh(h) * x)

    kernel = tj.value_and_grad(f).kernel(tj.TensorSpec((size,)))
    x = np.linspace(0.1, 1.0, size)
    _, residuals = kernel.forward(x)
    before = [np.copy(residual) for residual in residuals]
    first = kernel.backward(residuals)
    kept = first.copy()
    first[:] = 99.0
    assert_same(kernel.backward(residuals), kept)
    assert_same([np.copy(residual) for residual in residuals], before)


def test_residuals_do_not_change_when_results_do() -> None:
    def f(x: Any) -> Any:
        h = np.exp(x)
        return np.sum(h * x), h

    compiled = tj.value_and_grad(f, has_aux=True)
    kernel = compiled.kernel(W)
    (_, h), residuals = kernel.forward(W)
    expected = kernel.backward(residuals)
    h[:] = 0.0
    assert_same(kernel.backward(residuals), expected)


def test_the_graph_is_printed_as_it_was_recorded() -> None:
    kernel = tj.value_and_grad(loss).kernel(X, W)
    text = str(kernel.graph) if hasattr(kernel.graph, "__str__") else ""
    assert "loss" in text
    assert kernel.graph.name == "loss"


def test_a_kernel_says_what_it_is() -> None:
    kernel = tj.function(loss).kernel(X, W)
    assert re.fullmatch(r"loss__f8_2x3__f8_3__[0-9a-f]{8}", kernel.name)
    assert kernel.name.endswith(kernel.key[:8])
    assert re.fullmatch(r"[0-9a-f]{64}", kernel.key)
    assert repr(kernel) == f"<kernel {kernel.name}>"
    assert kernel.source.startswith('"""loss: forward, specialised.')


def test_a_kernel_imports_numpy_alone() -> None:
    kernel = tj.value_and_grad(loss, argnums=(0, 1)).kernel(X, W)
    imports = [line for line in kernel.source.splitlines() if re.match(r"\s*(from|import) ", line)]
    assert len(imports) == 1
    assert imports[0].startswith("from numpy import ")


# Saved and loaded


def test_a_saved_kernel_is_loaded_again(tmp_path: Path) -> None:
    kernel = tj.value_and_grad(loss, argnums=1).kernel(X, W)
    kernel.save(tmp_path / "kernels" / "loss.py")
    loaded = tj.load(tmp_path / "kernels" / "loss.py")
    assert loaded.source == kernel.source
    assert loaded.key == kernel.key
    assert loaded.signature == kernel.signature
    assert loaded.path == tmp_path / "kernels" / "loss.py"
    assert_same(loaded.value_and_grad(X, W), kernel.value_and_grad(X, W))
    with pytest.raises(AttributeError, match="holds no graph"):
        _ = loaded.graph


def test_a_saved_kernel_runs_where_tracejit_is_not(tmp_path: Path) -> None:
    table = np.random.default_rng(1).normal(size=(2, 500))

    def f(x: Any) -> Any:
        return np.sum(np.tanh(x) @ (table * 1.0))

    kernel = tj.value_and_grad(f).kernel(np.ones(2))
    kernel.save(tmp_path / "saved.py")
    assert (tmp_path / "saved.npz").exists()
    script = (
        "import sys, json, numpy as np\n"
        "sys.modules['tracejit'] = None\n"
        "import saved\n"
        "value, slope = saved.value_and_grad(np.array([0.5, 1.5]))\n"
        "print(json.dumps([value.hex(), [s.hex() for s in slope.tolist()]]))\n"
    )
    value, slope = json.loads(python(script, cwd=tmp_path))
    here, there = kernel.value_and_grad(np.array([0.5, 1.5]))
    assert value == here.hex()
    assert slope == [number.hex() for number in there.tolist()]


@pytest.mark.parametrize("damage", ["edited", "cut", "empty", "foreign", "missing", "no constants"])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str) -> None:
    kernel = tj.function(lambda x: x @ np.random.default_rng(1).normal(size=(3, 99))).kernel(W)
    path = tmp_path / "saved.py"
    kernel.save(path)
    text = path.read_text()
    if damage == "edited":
        path.write_text(text.replace("x @", "2 * x @"))
    elif damage == "cut":
        path.write_text(text[: len(text) // 2])
    elif damage == "empty":
        path.write_text("")
    elif damage == "foreign":
        path.write_text("def forward(x):\n    return x\n")
    elif damage == "missing":
        path.unlink()
    else:
        path.with_suffix(".npz").unlink()
    with pytest.raises(ImportError, match=r"^kernel saved cannot be used: ") as caught:
        tj.load(path)
    assert isinstance(caught.value, KernelError)


def test_a_kernel_in_the_cache_is_imported_by_name() -> None:
    kernel = tj.function(loss).kernel(X, W)
    module = importlib.import_module(f"tracejit.kernels.{kernel.name}")
    assert_same(module.forward(X, W), loss(X, W))
    assert module.SIGNATURE == kernel.signature
    assert kernel.path == Path(module.__file__ or "")


# The cache


def test_a_second_function_finds_the_kernel_on_disk(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACEJIT_DUMP", "source")
    tj.function(loss)(X, W)
    assert "--- source" in capfd.readouterr().err
    (path,) = cache.glob("*.py")
    changed = path.stat().st_mtime_ns
    assert_same(tj.function(loss)(X, W), loss(X, W))
    assert "--- source" not in capfd.readouterr().err
    assert path.stat().st_mtime_ns == changed


def test_without_the_cache_nothing_is_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tj.function(loss, cache=False).kernel(X, W)
    assert kernel.path is None
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    compiled = tj.function(loss)
    assert_same(compiled(X, W), loss(X, W))
    assert compiled.kernels[0].path is None
    assert not cache.exists()


def test_disabled_it_is_the_python_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_DISABLE", "1")
    seen: list[Any] = []

    @tj.function
    def f(x: Any) -> Any:
        seen.append(type(x))
        return x

    assert f(X) is X
    assert f(X) is X
    assert seen == [np.ndarray] * 2
    assert not f.kernels


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text(path.read_text().replace("h * h", "h * 3")),
        lambda path: path.write_text(path.read_text()[:200]),
        lambda path: path.write_bytes(b"\xff\x00"),
        lambda path: path.write_text(""),
        lambda path: path.chmod(0o666),
    ],
    ids=["edited", "cut", "binary", "empty", "writable by all"],
)
def test_a_damaged_entry_is_a_miss_with_one_warning(cache: Path, damage: Any) -> None:
    tj.function(loss)(X, W)
    (path,) = cache.glob("*.py")
    damage(path)
    with pytest.warns(CacheWarning) as caught:
        assert_same(tj.function(loss)(X, W), loss(X, W))
    assert len(caught) == 1
    assert_same(tj.function(loss)(X, W), loss(X, W))


def test_a_folder_that_cannot_be_written_keeps_kernels_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(CacheWarning):
        compiled = tj.function(loss)
        assert_same(compiled(X, W), loss(X, W))
    assert compiled.kernels[0].path is None


RULE = """
import numpy as np
import tracejit as tj

@tj.custom_gradient
def f(x):
    def grad(g):
        return g * {factor}
    return x * 2.0, grad

def loss(x):
    return np.sum(f(x))

both = tj.value_and_grad(loss)
print(both(np.ones(3))[1].tolist())
"""


def ran(text: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh process."""
    script = folder / "script.py"
    script.write_text(text)
    return finished(script, cwd=folder, **environment)


def test_an_edited_rule_does_not_serve_the_old_kernel(tmp_path: Path, cache: Path) -> None:
    for factor, expected in (("5.0", 5.0), ("7.0", 7.0), ("5.0", 5.0)):
        run = ran(RULE.format(factor=factor), tmp_path)
        assert json.loads(run.stdout) == [expected] * 3
    assert len(list(cache.glob("*.py"))) == 2


PROGRAM = '''
import numpy as np
import tracejit as tj

scale = {"b": 2.0, "a": 3.0}
table = np.linspace(0.0, 1.0, 200)
words = {"one", "two", "three"}


class Model:
    def __init__(self):
        self.w = np.linspace(0.0, 1.0, 12).reshape(3, 4)
        self.layers = [np.ones((2, 4)), np.zeros(4)]

    def __call__(self, x):
        h = np.tanh(
            x @ self.w
        )
        for layer in self.layers:
            h = np.exp(-h) * 0.5 + layer
        return h


model = Model()


@tj.custom_gradient
def clipped(x):
    return x, lambda g: np.clip(g, -1.0, 1.0)


@tj.function
def loss(x, params, *, rate=0.5):
    """A loss with "quotes" and \\\\ in it."""
    h = clipped(model(x)) * rate
    parts = [np.sum(h * k) for k in scale.values()] + [
        np.sum(np.tanh(row) * 2.0)
        for row in np.exp(x)
        for _ in range(2)
    ]
    h = tj.recompute_grad(lambda a: np.sin(a) * a)(h)
    named = {word: h[:, 0] for word in sorted(words)}
    total = sum(parts) + np.sum(
        np.where(h > 0, h, 0.1 * h)
    ) + np.sum(table) * np.mean(params["v"] ** 2) + sum(v.sum() for v in named.values())
    return np.sum(total * np.sum(np.outer(table, params["v"])))


both = tj.value_and_grad(loss, argnums=(0, 1))
x = np.linspace(0.0, 1.0, 6).reshape(2, 3)
both(x, {"v": np.arange(3.0), "a": np.float64(1.0)})
tj.grad(lambda x: np.sum(tj.grad(lambda y: np.sum(np.tanh(y) ** 3))(x) ** 2))(x)
'''


def texts(cache: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(cache.glob("*.py"))}


def test_every_process_writes_the_same_bytes(tmp_path: Path) -> None:
    written = []
    places = [
        ("0", "one", "."),
        ("2", "two/deep down", ".."),
        ("1", "one", "/"),
        ("3", "one", ".."),
    ]
    for number, (seed, folder, place) in enumerate(places[: by_day(2, 4)]):
        home = tmp_path / folder
        home.mkdir(parents=True, exist_ok=True)
        script = home / "script.py"
        script.write_text(PROGRAM)
        cache = tmp_path / f"cache{number}"
        cwd = (home / place).resolve()
        finished(script, cwd=cwd, PYTHONHASHSEED=seed, TRACEJIT_CACHE_DIR=str(cache))
        written.append(texts(cache))
        assert len(written[-1]) == 2
    assert all(other == written[0] for other in written[1:])


def test_a_second_process_emits_nothing(tmp_path: Path, cache: Path) -> None:
    first = ran(PROGRAM, tmp_path, TRACEJIT_DUMP="source,plan")
    assert first.stderr.count("--- source") == 2
    assert first.stderr.count("--- plan") == 2
    before = texts(cache)
    changed = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    second = ran(PROGRAM, tmp_path, TRACEJIT_DUMP="source,plan")
    assert second.stderr == ""
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == changed
    ran("\n\n# a comment\n" + PROGRAM, tmp_path)
    assert texts(cache) == before, "a line inserted above changes nothing"


@pytest.mark.skipif(not os.environ.get("TRACEJIT_PYTHONS"), reason="TRACEJIT_PYTHONS is not set")
def test_every_python_writes_the_same_module(tmp_path: Path) -> None:
    """TRACEJIT_PYTHONS lists interpreters, separated by colons, that have NumPy and astor."""
    (tmp_path / "script.py").write_text(PROGRAM)
    written = {}
    for python_ in [sys.executable, *os.environ["TRACEJIT_PYTHONS"].split(":")]:
        cache = tmp_path / f"cache{len(written)}"
        environment = {"PYTHON": python_, "TRACEJIT_CACHE_DIR": str(cache)}
        finished(tmp_path / "script.py", cwd=tmp_path, **environment)
        # The key covers NumPy's version, and the names of files and the seal cover the key.
        varying = r"^    (key|made for) .*|^# tracejit sha256 .*"
        written[python_] = [
            re.sub(varying, "", text, flags=re.MULTILINE) for text in texts(cache).values()
        ]
    one, *others = (sorted(found) for found in written.values())
    assert all(other == one for other in others)


def test_backward_without_a_cotangent_keeps_every_dtype() -> None:
    kernel = tj.value_and_grad(lambda x, y: np.sum(x * y), (0, 1)).kernel(
        np.ones(3, np.float32), np.float64(0.1)
    )
    _, residuals = kernel.forward(np.ones(3, np.float32), np.float64(0.1))
    x_bar, y_bar = kernel.backward(residuals)
    assert x_bar.dtype == np.float32
    assert type(y_bar) is np.float64
    assert "out_bar=float64(1.0)" in kernel.source
