"""`tracejit demo`, without training."""

from __future__ import annotations

import importlib
import json
import sys


def test_demo_passes_epochs_on(run, monkeypatch):
    demo = importlib.import_module("tracejit.demo")
    seen = []
    monkeypatch.setattr(demo, "main", lambda *epochs: seen.append(epochs) or 1)
    assert run("demo")[0] == 1 and run("demo", "--epochs", 3)[0] == 1
    assert seen == [(), (3,)]


def test_demo_without_scikit_learn_names_the_extra(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    monkeypatch.delitem(sys.modules, "tracejit.demo", raising=False)
    code, out, err = run("demo")
    assert (code, out) == (1, "")
    assert err == "tracejit: the demo needs scikit-learn: pip install 'tracejit[demo]'\n"


def test_demo_as_json(run, monkeypatch):
    demo = importlib.import_module("tracejit.demo")
    trained = demo.Trained({}, 0.5, 10.0, 2.0, [])
    monkeypatch.setattr(demo, "train", lambda data, epochs, report: trained)
    code, out, _ = run("demo", "--json", "--epochs", "3")
    found = json.loads(out)
    assert code == 1 and (found["epochs"], found["accuracy"]) == (3, 0.5)
