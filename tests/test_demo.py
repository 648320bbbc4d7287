"""The demo: what it learns, how little is compiled for it, and that its kernel stands alone."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit import demo

# Runs a kernel on saved arguments where neither tracejit nor astor can be imported.
STAND_ALONE = """
import importlib.abc, runpy, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tracejit", "astor"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import numpy as np

path, given, found = sys.argv[1:]
kernel = runpy.run_path(path)
with np.load(given) as arrays:
    arguments = {name: arrays[name] for name in arrays} | {"rate": float(arrays["rate"])}
results = kernel["forward"](*(arguments[name] for name in kernel["SIGNATURE"]["inputs"]))
np.savez(found, *results)
assert not {"tracejit", "astor"} & set(sys.modules)
"""

DATA = demo.digits()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and a step that nobody has called."""
    for name in ("TRACEJIT_CACHE", "TRACEJIT_DISABLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(demo, "step", tj.function(demo.step.python))


def test_it_keeps_what_it_promises(capsys):
    assert demo.main() == 0
    out, err = capsys.readouterr()
    said = dict(re.findall(r"^([a-z ]+?)  +(\S.*)$", out, re.MULTILINE))
    assert float(said["test accuracy"].rstrip("%")) >= 96.0
    assert int(said["kernels made"]) == 2
    assert float(said["steps per second"].partition(",")[0]) > 0
    path = Path(said["path"])
    assert path.read_text() in out
    assert len(err.splitlines()) == 20


def test_too_few_epochs_are_a_failure(capsys):
    assert demo.main(epochs=1) == 1
    assert "accuracy is below 96% after 1 epochs" in capsys.readouterr().err


def test_it_runs_without_a_cache(capsys, monkeypatch):
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    demo.main(epochs=1)
    assert "path              none: it is kept in memory\n" in capsys.readouterr().out


def test_it_says_that_kernels_are_disabled(capsys, monkeypatch):
    monkeypatch.setenv("TRACEJIT_DISABLE", "1")
    assert demo.main(epochs=1) == 1
    assert "TRACEJIT_DISABLE=1" in capsys.readouterr().err


def test_the_learning_rate_retraces_once():
    trained = demo.train(DATA, epochs=3)
    assert len(trained.kernels) == demo.step.tracing_count == 2
    again = demo.train(DATA, epochs=2)
    assert again.kernels == trained.kernels


def test_the_same_numbers_come_out_again():
    first, second = demo.train(DATA, epochs=2), demo.train(DATA, epochs=2)
    assert first.accuracy == second.accuracy
    for name, array in first.parameters.items():
        np.testing.assert_array_equal(array, second.parameters[name], strict=True)


def test_float32_stays_float32():
    trained = demo.train(DATA, epochs=1)
    assert {array.dtype for array in trained.parameters.values()} == {np.dtype("f4")}
    for kernel in trained.kernels:
        found = [value.type for node in kernel.graph.nodes for value in node.results]
        assert {kind.dtype for kind in found if kind.form != "weak"} <= {
            np.dtype("f4"),
            np.dtype(bool),
        }


def test_the_kernel_cites_the_demo():
    source = demo.train(DATA, epochs=1).kernels[-1].source
    assert '# scores:2  h = np.tanh(x @ p["w1"] + p["b1"])' in source
    assert "import" not in source.replace("from numpy import", "")


def test_the_step_is_gradient_descent():
    """Against a gradient of the plain loss by central differences, in float64."""
    rng = np.random.default_rng(7)
    p = {name: array.astype(float) for name, array in demo.start(rng).items()}
    x = DATA.x[:5].astype(float)
    y = np.eye(10)[DATA.digit[:5]]
    value, new = demo.step(p, x, y, 1.0)
    np.testing.assert_allclose(value, plain_loss(p, x, y), rtol=1e-12)
    for name, array in p.items():
        direction = rng.normal(size=array.shape)
        ahead, behind = (
            plain_loss({**p, name: array + shift * direction}, x, y) for shift in (1e-5, -1e-5)
        )
        slope = np.sum((array - new[name]) * direction)
        np.testing.assert_allclose(slope, (ahead - behind) / 2e-5, rtol=1e-6, atol=1e-9)


def plain_loss(p, x, y):
    logits = demo.scores(p, x)
    error = np.mean(np.log(np.sum(np.exp(logits), axis=1)) - np.sum(y * logits, axis=1))
    return error + demo.PENALTY * (np.sum(p["w1"] ** 2) + np.sum(p["w2"] ** 2))


def test_the_kernel_runs_without_tracejit(tmp_path):
    trained = demo.train(DATA, epochs=1)
    kernel = trained.kernels[-1]
    x, y = DATA.x[: demo.BATCH], np.eye(10, dtype="f4")[DATA.digit[: demo.BATCH]]
    arguments = {**trained.parameters, "x": x, "y": y, "rate": 0.125}
    expected = kernel.forward(*(arguments[name] for name in kernel.signature["inputs"]))
    given, found = tmp_path / "given.npz", tmp_path / "found.npz"
    np.savez(given, **arguments)
    command = [sys.executable, "-I", "-W", "error", "-c", STAND_ALONE]
    command += map(str, (kernel.path, given, found))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(found) as results:
        for name, array in zip(results, expected, strict=True):
            np.testing.assert_array_equal(results[name], array)
            assert results[name].dtype == np.dtype("f4")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_one_line_on_a_terminal():
    terminal = Terminal()
    for number in (1, 10, 20):
        demo.progress(demo.Epoch(number, 0.5, 100 * number, 0.1 * number), 20, terminal)
    bars = terminal.getvalue().split("\r")[1:]
    assert [bar.count("#") for bar in bars] == [1, 15, 30]
    assert terminal.getvalue().count("\n") == 1 and bars[-1].endswith("steps/s\n")
    assert "epoch 20/20" in bars[-1] and "loss 0.5000" in bars[-1] and "1000 steps/s" in bars[-1]


@pytest.mark.parametrize("count", [1, 7, 20, 21, 300])
def test_progress_is_a_few_lines_elsewhere(count):
    file = io.StringIO()
    for number in range(1, count + 1):
        demo.progress(demo.Epoch(number, 0.5, 100 * number, 0.1 * number), count, file)
    lines = file.getvalue().splitlines()
    assert min(count, 10) <= len(lines) <= 20
    assert lines[-1] == f"epoch {count}/{count}  loss 0.5000    1000 steps/s"
