"""What a type checker knows of functions that have been transformed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import tracejit as tj

def f(x: float, k: int = 2) -> float:
    return x * k

@tj.function
def g(x: float) -> float:
    return x

reveal_type(tj.value_and_grad(f)(1.0))
reveal_type(tj.vmap(f)(1.0, k=3))
reveal_type(g(1.0))
tj.grad(f)("text")
tj.jacobian(f)()
tj.hessian(g)(1.0, other=2)
"""


def test_parameters_and_results_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.lstrip(), "utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict", str(path)]
    root = Path(__file__).parents[1]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=root)
    told = [line.rsplit("program.py:", 1)[-1] for line in ran.stdout.splitlines()]
    assert '11: note: Revealed type is "tuple[float, Any]"' in told, ran.stdout
    assert any(line.startswith("12: note") and '"float"' in line for line in told), ran.stdout
    assert any(line.startswith("13: note") and '"float"' in line for line in told), ran.stdout
    wrong = [line.split(":")[0] for line in told if "error" in line and line[0].isdigit()]
    assert wrong == ["14", "15", "16"], ran.stdout
