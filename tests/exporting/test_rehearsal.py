"""The rehearsal of exported modules: what does not answer as the function is not put in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.exporting import exporter
from tracejit.support.errors import NotImportableError

X = np.array([0.5, -1.0, 2.0])
SCALE = np.arange(200.0)


def loss(x: Any, mode: str = "a") -> Any:
    return {"value": np.sum(x[:, None] * SCALE), "mode": mode}


def spoiled(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Let what is written of a module have `new` for `old`."""
    write = exporter.exported_text

    def text(*args: Any) -> str:
        written = write(*args)
        assert old in written
        return written.replace(old, new)

    monkeypatch.setattr(exporter, "exported_text", text)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("def misfit(", "def misfit((", "cannot be imported: SyntaxError"),
        ("load, ndarray", "load, ndarrays", "cannot be imported: ImportError"),
        ('constants["baked_', 'constants["raw_', "cannot be imported: KeyError"),
        ('"mode": "a"', '"mode": other', "cannot be called: NameError"),
        ('"mode": "a"', '"mode": "b"', "returns another result than loss"),
        ("= forward(x,", "= forward(x + 1,", "does not hand the arguments of loss"),
        ("    return None\n", "    return 'no'\n", "cannot be called: TypeError"),
    ],
)
@pytest.mark.parametrize("given", [X, tj.TensorSpec((3,)), tj.TensorSpec((None,))])
def test_what_is_not_the_function_leaves_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, problem: str, given: Any
) -> None:
    path = tj.export(loss, X, "b", path=tmp_path / "loss.py", grad=False)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    spoiled(monkeypatch, old, new)
    with pytest.raises(NotImportableError, match=problem):
        tj.export(loss, given, "a", path=path, grad=False)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_call_that_raises_as_the_function_does_is_no_mistake(tmp_path: Path) -> None:
    tj.export(np.linalg.inv, np.zeros((2, 2)), path=tmp_path / "inverse.py", grad=False)


def test_a_module_for_huge_arrays_is_not_called(tmp_path: Path) -> None:
    huge = tj.TensorSpec((10**9, 10**9))
    tj.export(lambda x: x * 2, huge, path=tmp_path / "double.py", grad=False)


def test_a_generator_draws_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tj.export(lambda x, r: x * r.normal(size=3), X, rng, path=tmp_path / "noisy.py", grad=False)
    assert rng.normal() == np.random.default_rng(0).normal()
