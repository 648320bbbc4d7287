"""`tracejit doctor`: versions, settings, and the health of the cache."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import tracejit as tj


def test_doctor_names_versions_and_the_cache(run, kernels, folder):
    code, out, err = run("doctor")
    said = {line.split()[0]: line.split(maxsplit=1)[1] for line in out.splitlines()}
    assert (code, err) == (0, "")
    assert said["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert said["numpy"] == np.__version__
    assert said["tracejit"] == tj.__version__
    assert said["astor"][0].isdigit()
    assert said["blas"]
    assert said["cache"] == str(folder)
    assert said["kernels"].startswith("2 kernels, ")


def test_doctor_reports_damage(run, kernels, damage):
    damage(kernels[0])
    code, out, _ = run("doctor")
    assert code == 1 and "1 damaged" in out and "it does not end in a seal" in out


def test_doctor_of_a_cache_that_is_off(run, monkeypatch):
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    code, out, _ = run("doctor")
    assert code == 0 and "the cache is off" in out


@pytest.mark.parametrize(
    ("setting", "said"),
    [("", "1.0 GB"), ("500M", "500.0 MB"), ("0", "none (TRACEJIT_CACHE_SIZE=0)")],
)
def test_doctor_says_how_much_the_cache_may_hold(run, monkeypatch, setting, said):
    monkeypatch.setenv("TRACEJIT_CACHE_SIZE", setting)
    code, out, _ = run("doctor")
    assert code == 0 and f"limit         {said}\n" in out


def test_doctor_names_unknown_variables(run, monkeypatch):
    monkeypatch.setenv("TRACEJIT_THREAD", "2")
    code, out, _ = run("doctor")
    assert code == 1
    assert "TRACEJIT_THREAD is not a setting of tracejit. Did you mean TRACEJIT_THREADS?" in out


def test_doctor_names_wrong_values(run, monkeypatch):
    monkeypatch.setenv("TRACEJIT_LOG", "compiled")
    code, out, _ = run("doctor")
    assert code == 1 and "TRACEJIT_LOG=compiled is not a choice of compile" in out


def test_doctor_of_a_wrong_switch_of_the_cache(run, monkeypatch):
    monkeypatch.setenv("TRACEJIT_CACHE", "perhaps")
    code, out, _ = run("doctor")
    assert code == 1 and out.count("TRACEJIT_CACHE=perhaps is not 0 or 1") == 1


def test_doctor_as_json(run, kernels, monkeypatch):
    monkeypatch.setenv("TRACEJIT_THREADS", "2")
    code, out, _ = run("doctor", "--json")
    found = json.loads(out)
    assert code == 0 and found["problems"] == []
    assert found["numpy"] == np.__version__
    threads = found["settings"]["threads"]
    assert (threads["value"], threads["source"]) == (2, "TRACEJIT_THREADS=2")
    assert found["settings"]["check"]["source"] == "default"
