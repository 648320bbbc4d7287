"""`tracejit check`: right and wrong modules."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tracejit as tj


def saved(tmp_path, f, *args, name="loss"):
    path = tmp_path / f"{name}.py"
    f.kernel(*args).save(path)
    return path


@tj.custom_gradient
def lying(x):
    return np.sum(x * x), lambda g: g * 3.0 * x


def test_a_right_module(run, tmp_path):
    f = tj.value_and_grad(lambda w, x: np.sum(np.tanh(x @ w)), argnums=(0, 1))
    path = saved(tmp_path, f, tj.TensorSpec((3,)), tj.TensorSpec((None, 3)))
    code, out, err = run("check", path, "--size", "n=5", "--elements", 7)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "kernel      loss"
    assert lines[1] == "arguments   w f8[3]  x f8[n,3]  (standard normal)"
    assert lines[2:4] == [
        "gradient    w: 3 elements agree with finite differences",
        "gradient    x: 7 elements agree with finite differences",
    ]
    assert lines[4].startswith("time        forward ") and "value_and_grad" in lines[4]


def test_a_wrong_module(run, tmp_path):
    path = saved(tmp_path, tj.value_and_grad(lambda x: lying(x)), np.ones(3))
    code, out, _ = run("check", path)
    assert code == 1 and "gradient    x: 3 of 3 elements are wrong; x[" in out
    code, out, _ = run("check", path, "--json")
    found = json.loads(out)
    assert code == 1 and found["right"] is False
    assert found["gradient"]["x"]["wrong"] == 3
    assert set(found["seconds"]) == {"forward", "backward", "value_and_grad"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_dtypes(run, tmp_path, dtype):
    f = tj.value_and_grad(lambda x: np.sum(np.abs(x * x + 1.0)))
    assert run("check", saved(tmp_path, f, np.ones(4, dtype)))[0] == 0


def test_scalars_and_numbers(run, tmp_path):
    f = tj.value_and_grad(lambda a, x: np.sum(np.exp(a * x)), argnums=(0, 1))
    assert run("check", saved(tmp_path, f, np.float64(0.5), np.ones(4)))[0] == 0


def test_a_corner_is_no_mistake(run, tmp_path):
    f = tj.value_and_grad(lambda x: np.sum(np.where(np.floor(x) > 3.0, x, x * x)))
    assert run("check", saved(tmp_path, f, np.ones(4)))[0] == 0


def test_a_value_alone_is_timed(run, tmp_path):
    code, out, _ = run("check", saved(tmp_path, tj.function(np.sin), np.ones(3)))
    assert code == 0 and "none: it computes only the value" in out


def test_given_arguments(run, tmp_path):
    np.savez(tmp_path / "data.npz", x=np.array([3.0, 4.0]))
    f = tj.value_and_grad(lambda x: np.sum(np.sqrt(x - 2.0)))
    path = saved(tmp_path, f, np.ones(2))
    code, out, _ = run("check", path, "--arguments", tmp_path / "data.npz")
    assert code == 0 and "(given)" in out


@pytest.mark.parametrize("given", ["n", "n=", "n=x", "=3"])
def test_a_wrong_size_is_said(run, tmp_path, given):
    path = saved(tmp_path, tj.function(np.sin), tj.TensorSpec((None,)))
    code, _, err = run("check", path, "--size", given)
    assert code == 2 and "is not NAME=N" in err


def test_what_is_no_kernel_is_said(run, tmp_path):
    (tmp_path / "plain.py").write_text("x = 1\n")
    code, _, err = run("check", tmp_path / "plain.py")
    assert code == 1 and "it does not end in a seal" in err
    assert run("check", tmp_path / "none.py")[0] == 1


def test_a_function_is_no_module(run):
    code, _, err = run("check", "model.py:loss")
    assert code == 2 and "`tracejit export model.py:loss`" in err
