"""An empty cache, two kernels in it, and commands as the console script runs them."""

from __future__ import annotations

import os
import sys

import pytest

import tracejit as tj
from tracejit.cli import gradient_check, main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    for name in ("TRACEJIT_CACHE", "TRACEJIT_DISABLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """No check of gradients takes its time."""
    monkeypatch.setattr(gradient_check, "SECONDS", 0.002)


@pytest.fixture
def kernels():
    """Two kernels in it, the older first."""
    made = [
        tj.function(double).kernel(tj.TensorSpec((3,))),
        tj.function(double).kernel(tj.TensorSpec((5,))),
    ]
    os.utime(made[0].path, (1e9, 1e9))
    return made


def double(x):
    return x + x


@pytest.fixture
def run(capsys):
    """Run a command: (exit code, stdout, stderr)."""

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def damage():
    """Edit the file of a kernel."""

    def edit(kernel):
        kernel.path.write_text(kernel.source + "# edited\n")

    return edit


TRAIN = """
import numpy as np
import tracejit as tj

print("importing train")


def helper(x, w):
    return np.tanh(x @ w)


@tj.function
def loss(w, x, rate=0.5):
    h = helper(x, w)
    return np.sum(h * rate)


def cumulated(x):
    return np.cumsum(x)


@tj.function(input_signature=[tj.TensorSpec((4,))])
def described(x):
    return np.sum(x * x)


@tj.function
def ready(x):
    return np.sum(x)


ready(np.ones(3))


def nothing():
    return np.sum(np.ones(3))


class Model:
    def scaled(x):
        return np.sum(x * 2.0)


def failing(x):
    raise ValueError(f"no {x.shape}")


def branching(x):
    return np.sum(x) if (np.sum(x) > 0.0).__bool__() else np.sum(x * x)


def drawing(x, rng):
    return np.sum(x * rng.normal(size=x.shape))


number = 3
"""


@pytest.fixture
def train(tmp_path, monkeypatch):
    """The current folder has train.py, which no process has imported yet."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path / "work" / "train.py"
    for name in ("train", "_train_of_tracejit", "broken", "elsewhere"):
        sys.modules.pop(name, None)
