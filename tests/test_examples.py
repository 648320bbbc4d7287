"""The examples, run as a reader would run them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    for name in ("TRACEJIT_CACHE", "TRACEJIT_DISABLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))


def example(name):
    """The module of examples/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_digits(capsys):
    digits = example("digits")
    accuracy, parameters = digits.main()
    assert accuracy >= 0.96
    assert {array.dtype for array in parameters.values()} == {np.dtype("f4")}
    assert len(digits.step.kernels) == 2
    assert str(digits.step.kernels[-1].path) in capsys.readouterr().out


def test_digits_is_short():
    assert len((EXAMPLES / "digits.py").read_text().splitlines()) < 60


def test_logreg_scipy(capsys):
    logreg = example("logreg_scipy")
    result, accuracy = logreg.main()
    assert result.success
    assert np.max(np.abs(result.jac)) < 1e-4
    assert result.jac.dtype == np.dtype("f8") and isinstance(result.fun, float)
    assert accuracy >= 0.98
    assert f"{result.nit} iterations" in capsys.readouterr().out
