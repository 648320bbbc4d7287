"""`tracejit export`, and `check` of what it wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tracejit as tj
from tests.support.processes import python

SPEC = "w=f8[3], x=f8[n,3]"


def test_export_and_check(run, train):
    path = train.with_name("out") / "loss.py"
    code, out, _ = run("export", "train:loss", "--spec", SPEC, "-o", path)
    assert code == 0
    assert out == f"wrote {path}, {path.with_suffix('.pyi')}; try: tracejit check {path}\n"
    value, slope = tj.load(path).module.call(np.ones(3), np.eye(3))
    assert float(value) == pytest.approx(1.5 * np.tanh(1.0)) and slope.shape == (3,)
    code, out, _ = run("check", path)
    assert code == 0 and "w: 3 elements agree" in out


def test_export_of_other_gradients(run, train):
    path = train.with_name("loss.py")
    code, out, _ = run("export", "train:loss", "--spec", SPEC, "-o", path, "--wrt", "x", "--json")
    assert code == 0 and json.loads(out)["files"][0] == str(path)
    assert tj.load(path).signature["gradient"] == ("x",)
    code, _, err = run("export", "train:cumulated", "--spec", "x=f8[3]", "-o", path)
    assert code == 1 and "--no-grad" not in err and "grad=False" in err
    assert run("export", "train:cumulated", "--spec", "x=f8[3]", "-o", path, "--no-grad")[0] == 0
    assert "gradient" not in tj.load(path).signature


def test_a_file_of_the_users_is_not_overwritten(run, train):
    path = train.with_name("mine.py")
    path.write_text("x = 1\n")
    code, _, err = run("export", "train:loss", "--spec", SPEC, "-o", path)
    assert code == 1 and path.read_text() == "x = 1\n" and "mine.py" in err
    assert run("export", "train:loss", "--spec", SPEC, "-o", path, "--overwrite")[0] == 0


def test_an_export_needs_numpy_alone(run, train):
    path = train.with_name("alone.py")
    run("export", "train:loss", "--spec", SPEC, "-o", path)
    script = "import sys; sys.modules['tracejit'] = None; import alone, numpy as np\n"
    script += "print(alone.call(np.zeros(3), np.ones((2, 3)))[1])"
    assert python(script, cwd=train.parent) == "[1. 1. 1.]\n"


def test_check_of_a_package(run, tmp_path):
    def loss(x):
        return np.sum(x * x)

    tj.export({"loss": [(loss, np.ones(3)), (loss, np.ones((2, 2)))]}, path=tmp_path / "pack")
    code, out, _ = run("check", tmp_path / "pack")
    assert code == 0 and out.count("kernel      ") == 2
    assert len(json.loads(run("check", tmp_path / "pack", "--json")[1])) == 2
    (tmp_path / "empty").mkdir()
    assert run("check", tmp_path / "empty")[0] == 2


def test_export_without_arguments_says_how(run, train):
    code, _, err = run("export", "train:loss", "-o", "loss.py")
    assert code == 2 and 'tracejit export train:loss -o loss.py --spec "w=f8[10,3], ' in err
