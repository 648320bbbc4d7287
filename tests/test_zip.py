"""The package imported from a zip file."""

from __future__ import annotations

import zipfile
from pathlib import Path

import tracejit
from tests.support.processes import python

PROGRAM = """
import numpy as np
import scipy.linalg
import tracejit as tj

assert ".zip" in tj.__file__

def loss(w):
    return np.sum(np.tanh(w) ** 2)

f = tj.value_and_grad(loss)
f(np.ones(3))
assert "<style>" in f.to_html()
try:
    tj.grad(tj.as_is(lambda a: scipy.linalg.cholesky(a)[0, 0]))(np.eye(2))
except TypeError as error:
    print(error)
"""


def test_pages_and_hints_need_no_files(tmp_path: Path) -> None:
    root = Path(tracejit.__file__).parent
    packed = tmp_path / "tracejit.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in root.rglob("*"):
            if file.is_file() and file.suffix != ".pyc":
                archive.write(file, file.relative_to(root.parent))
    printed = python(PROGRAM, cwd=tmp_path, PYTHONPATH=str(packed), TRACEJIT_CACHE="0")
    assert "tracejit.scipy.linalg.cholesky" in printed
