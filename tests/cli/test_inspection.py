"""`tracejit show`, `diff` and `explain`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit as tj
from tracejit.cli import inspection

ROOT = Path(tj.__file__).parents[1]


@pytest.mark.parametrize("digits", [None, 8, 6, 64])
def test_show_prints_a_kernel_by_name_or_key(run, kernels, digits):
    kernel = kernels[1]
    key = kernel.name if digits is None else kernel.key[:digits]
    assert run("show", key) == (0, kernel.source, "")


def test_show_prints_a_damaged_kernel_too(run, kernels, damage):
    damage(kernels[0])
    assert run("show", kernels[0].name) == (0, kernels[0].source + "# edited\n", "")


@pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")
def test_a_reader_that_leaves_early_is_no_error(kernels):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        command = [sys.executable, "-m", "tracejit", "show", kernels[0].name]
        done = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_show_of_8_gigabytes_is_refused(run, kernels):
    os.truncate(kernels[0].path, 2**33)
    code, out, err = run("show", kernels[0].name)
    assert (code, out) == (1, "")
    assert f"it takes {2**33} bytes" in err


SPEC = "w=f8[3], x=f8[n,3]"


def test_show_prints_the_users_code_and_the_module(run, train):
    code, out, err = run("show", "train:loss", "--spec", SPEC)
    assert (code, err) == (0, "importing train\n")
    head, _, source = out.partition("\n\n")
    assert head.splitlines() == [
        "# train.py:12  loss",
        "@tj.function",
        "def loss(w, x, rate=0.5):",
        "    h = helper(x, w)",
        "    return np.sum(h * rate)",
    ]
    assert source.startswith('"""loss: forward and backward, specialised.')
    assert "def backward(" in source


def test_show_as_json(run, train):
    code, out, _ = run("show", "train.py:loss", "--spec", SPEC, "--json")
    found = json.loads(out)
    assert code == 0 and found["function"] == "loss"
    assert found["user_code"]["line"] == 12
    (kernel,) = found["kernels"]
    assert kernel["signature"]["gradient"] == ["w"]
    assert kernel["signature"]["inputs"] == {"w": "f8[3]", "x": "f8[n,3]"}
    assert Path(kernel["path"]).read_text() == kernel["source"]


@pytest.mark.parametrize(
    ("wrt", "gradient"), [("1", ["x"]), ("x", ["x"]), ("w,x", ["w", "x"]), ("1,0", ["x", "w"])]
)
def test_show_by_other_arguments(run, train, wrt, gradient):
    out = run("show", "train:loss", "--spec", SPEC, "--wrt", wrt, "--json")[1]
    assert sorted(json.loads(out)["kernels"][0]["signature"]["gradient"]) == sorted(gradient)


def test_show_of_a_function_without_a_gradient(run, train):
    code, out, err = run("show", "train:cumulated", "--spec", "x=f8[3]")
    assert code == 0 and "def backward" not in out
    assert "tracejit: no gradient: tj.value_and_grad(cumulated) needs a scalar result" in err
    code, out, err = run("show", "train:cumulated", "--spec", "x=f8[3]", "--wrt", "x")
    assert (code, out) == (1, "")
    assert run("show", "train:cumulated", "--spec", "x=f8[3]", "--forward")[2] == ""


def test_show_uses_what_describes_the_arguments(run, train):
    assert "x f8[4]" in run("show", "train:described")[1]
    assert "x f8[3]" in run("show", "train:ready")[1]
    assert "def forward()" in run("show", "train:nothing")[1]
    assert "x * 2.0" in run("show", "train:Model.scaled", "--spec", "x=f8[3]")[1]


def test_show_without_arguments_says_how(run, train):
    code, out, err = run("show", "train:loss")
    assert (code, out) == (2, "")
    assert 'tracejit show train:loss --spec "w=f8[10,3], x=f8[10,3]"' in err


def test_show_several_at_once(run, train):
    out = run("show", "train:ready", "train:described", "--json")[1]
    assert [one["function"] for one in json.loads(out)] == ["ready", "described"]


def test_show_the_graph(run, train):
    code, out, _ = run("show", "train:described", "--graph")
    assert code == 0 and "def " not in out and "multiply" in out


def test_show_where_the_function_raises(run, train):
    code, _, err = run("show", "train:failing", "--spec", "x=f8[3]")
    assert code == 1
    assert "recording failing failed:" in err and "ValueError: no (3,)" in err
    assert "/tracejit/" not in err


@pytest.mark.parametrize("kind", [[], ["--forward"]])
def test_show_readable(run, train, kind):
    code, out, err = run("show", "train:loss", "--spec", SPEC, "--readable", *kind)
    assert (code, err) == (0, "importing train\n")
    assert "    readable     in the benchmarks of tracejit" in out
    assert ("return value, backward(residuals)" in out) == (not kind)


@pytest.mark.parametrize("option", ["--graph", "--profile", "--readable"])
def test_a_kernel_of_the_cache_is_text_alone(run, kernels, option):
    code, _, err = run("show", kernels[0].name, option)
    assert code == 2 and f"{option} needs a function" in err


def test_show_beside_each_other_on_a_wide_terminal(run, train, monkeypatch):
    monkeypatch.setattr(inspection, "terminal_width", lambda: 120)
    code, out, _ = run("show", "train:loss", "--spec", SPEC)
    lines = out.splitlines()
    assert code == 0 and lines[0].startswith("loss__f8_3__f8_nx3__")
    (row,) = [line for line in lines if "return np.sum(h * rate)" in line]
    assert row.startswith("  15      return np.sum(h * rate)") and "│ out = " in row
    assert max(map(len, lines)) < 120
    assert lines[-1] == "The module has value_and_grad, too: `tracejit show ... | less`"
    monkeypatch.setattr(inspection, "terminal_width", lambda: 80)
    assert "│" not in run("show", "train:loss", "--spec", SPEC)[1]


def test_diff_of_two_kernels(run, kernels):
    code, out, _ = run("diff", kernels[0].key[:8], kernels[1].name)
    assert code == 1
    assert f"--- {kernels[0].name}" in out and "-    signature    x f8[3]  ->  f8[3]" in out
    assert "sha256" not in out
    code, out, _ = run("diff", kernels[0].name, kernels[0].name, "--json")
    assert code == 0
    assert json.loads(out)["differ"] is False


def test_explain_of_a_function(run, train):
    assert "explain train:loss --spec" in run("explain", "train:loss")[2]
    code, out, _ = run("explain", "train:loss", "--spec", SPEC)
    assert code == 0
    assert out.startswith("loss has 1 kernel.\nKernel 1 was made for the first call: w f8[3]")
    code, out, _ = run("explain", "train:ready", "--json")
    assert json.loads(out)["explanation"][0] == "ready has 1 kernel."


with_profiles = pytest.mark.skipif(not hasattr(tj.Kernel, "profile"), reason="not there yet")
with_pages = pytest.mark.skipif(not hasattr(tj.Kernel, "to_html"), reason="not there yet")


@with_profiles
def test_show_a_profile(run, train):
    code, out, _ = run("show", "train:loss", "--spec", SPEC, "--profile")
    assert code == 0 and "return np.tanh(x @ w)" in out and "value_and_grad: " in out
    out = run("show", "train:loss", "--spec", SPEC, "--profile", "--json")[1]
    (kernel,) = json.loads(out)["kernels"]
    assert {"place", "text", "seconds"} <= set(kernel["profile"]["lines"][0])


@with_pages
def test_show_writes_a_page(run, train):
    path = train.with_name("page.html")
    code, out, _ = run("show", "train:loss", "--spec", SPEC, "--html", path)
    assert (code, out) == (0, f"wrote {path}\n")
    assert path.read_text().startswith("<!doctype html>")
    found = json.loads(run("show", "train:ready", "--html", path, "--json")[1])
    assert found["html"] == str(path) and len(found["kernels"]) == 1


def test_a_page_shows_one_function(run, train):
    code, _, err = run("show", "train:ready", "train:described", "--html", "page.html")
    assert code == 2 and "--html writes the page of one function" in err


def test_a_function_that_goes_by_values_is_shown_with_random_arrays(run, train):
    code, out, err = run("show", "train:branching", "--spec", "x=f8[3]")
    assert code == 0 and "1 recorded" in out
    assert (
        "tracejit: branching branches on values: this is the branch that random arrays take" in err
    )
    code, out, err = run("explain", "train:branching", "--spec", "x=f8[n]")
    assert code == 0 and "1 recorded trace" in out


def test_a_random_generator_can_be_described(run, train):
    out = run("show", "train:drawing", "--spec", "x=f8[3], rng=Generator", "--json")[1]
    inputs = json.loads(out)["kernels"][0]["signature"]["inputs"]
    assert inputs == {"x": "f8[3]", "rng": "handle"}


def test_a_method_of_a_class_needs_an_object(run, train):
    text = "class Net:\n    def loss(self, x):\n        return x.sum()\n\n\nnet = Net()\n"
    train.with_name("elsewhere.py").write_text(text)
    code, _, err = run("show", "elsewhere:Net.loss", "--spec", "x=f8[3]")
    assert code == 2 and "It is a method: name it through an object" in err
    code, out, _ = run("show", "elsewhere:net.loss", "--spec", "x=f8[3]")
    assert code == 0 and "def loss(self, x):" in out
